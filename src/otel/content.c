/* content.c -- see content.h. */
#include "otel/content.h"

#include "base/limits.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "json/writer.h"

/* Redacted before the cut: redaction would not recognize half a secret. */
void ch_otel_write_text(struct ch_buf *out, struct ch_sv text) {
    CH_BUF_AUTO shown = {0};
    ch_redact_copy(&shown, text);
    struct ch_sv cut = ch_utf8_cut(ch_buf_sv(&shown), CH_LIMIT_OTEL_TEXT);
    ch_buf_add_sv(out, cut);
    if (cut.n < shown.n)
        ch_buf_addf(out, " [%zu bytes cut]", shown.n - cut.n);
}

static void member(struct ch_jw *w, const char *key, struct ch_sv text) {
    CH_BUF_AUTO shown = {0};
    ch_otel_write_text(&shown, text);
    ch_jw_kstr(w, key, ch_buf_sv(&shown));
}

static const char *modality(const struct ch_block *b) {
    return b->type == CH_BLOCK_IMAGE ? "image" : b->type == CH_BLOCK_AUDIO ? "audio" : "document";
}

/* Arguments are JSON as the model wrote them, or not JSON at all; keys in them are redacted, so
 * they are written as text. */
static void write_part(struct ch_jw *w, const struct ch_block *b) {
    ch_jw_begin(w, '{');
    switch (b->type) {
    case CH_BLOCK_TOOL_CALL:
        ch_jw_kcstr(w, "type", "tool_call");
        ch_jw_kstr(w, "id", b->id);
        ch_jw_kstr(w, "name", b->name);
        member(w, "arguments", b->text);
        break;
    case CH_BLOCK_TOOL_RESULT:
        ch_jw_kcstr(w, "type", "tool_call_response");
        ch_jw_kstr(w, "id", b->id);
        member(w, "response", b->text);
        break;
    case CH_BLOCK_IMAGE:
    case CH_BLOCK_AUDIO:
    case CH_BLOCK_DOCUMENT:
        ch_jw_kcstr(w, "type", b->flags & CH_F_URL ? "uri" : "blob");
        ch_jw_kcstr(w, "modality", modality(b));
        ch_jw_kstr(w, "mime_type", b->name);
        if (b->flags & CH_F_URL && !ch_sv_starts(b->text, "data:"))
            member(w, "uri", b->text);
        else
            ch_jw_kcstr(w, "content", "");
        break;
    case CH_BLOCK_REASONING:
        ch_jw_kcstr(w, "type", "reasoning");
        member(w, "content", b->text);
        break;
    case CH_BLOCK_OPAQUE:
        ch_jw_kstr(w, "type", b->name);
        break;
    default:
        ch_jw_kcstr(w, "type", "text");
        member(w, "content", b->text);
    }
    ch_jw_end(w, '}');
}

static void write_message(struct ch_jw *w, const struct ch_msg *m, const char *finish) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "role",
                m->kind == CH_MSG_ASSISTANT ? "assistant"
                : m->kind == CH_MSG_RESULTS ? "tool"
                                            : "user");
    ch_jw_kbegin(w, "parts", '[');
    for (uint32_t i = 0; i < m->nblocks; i++)
        write_part(w, &m->blocks[i]);
    ch_jw_end(w, ']');
    if (finish)
        ch_jw_kcstr(w, "finish_reason", finish);
    ch_jw_end(w, '}');
}

bool ch_otel_write_messages(struct ch_buf *out, const struct ch_msg *const *msgs, size_t n) {
    struct ch_jw w = ch_jw(out);
    ch_buf_init(out, CH_LIMIT_OTEL_CONTENT);
    ch_jw_begin(&w, '[');
    for (size_t i = 0; i < n && !out->overflow; i++)
        write_message(&w, msgs[i], NULL);
    ch_jw_end(&w, ']');
    return !out->overflow;
}

bool ch_otel_write_reply(struct ch_buf *out, const struct ch_msg *reply, const char *finish) {
    struct ch_jw w = ch_jw(out);
    ch_buf_init(out, CH_LIMIT_OTEL_CONTENT);
    ch_jw_begin(&w, '[');
    write_message(&w, reply, finish);
    ch_jw_end(&w, ']');
    return !out->overflow;
}

bool ch_otel_write_instructions(struct ch_buf *out, struct ch_sv system) {
    struct ch_jw w = ch_jw(out);
    ch_buf_init(out, CH_LIMIT_OTEL_CONTENT);
    ch_jw_begin(&w, '[');
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", "text");
    member(&w, "content", system);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, ']');
    return !out->overflow;
}
