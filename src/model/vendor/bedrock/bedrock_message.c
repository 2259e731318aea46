/* bedrock_message.c -- encodes neutral messages as blocks of Converse messages.
 *
 * Roles must alternate, so consecutive messages of one role are merged. For this, the last
 * wire message is left open: the next message continues or closes it, and the tail closes
 * it for the current request. So later messages never change earlier bytes. The head opens
 * the first message, a user message. Assistant blocks are followed by a blank, so that the
 * end of the buffer shows the role.
 *
 * Models other than Claude and Nova refuse other blocks beside calls or results in one
 * message. For them a short message of the other role goes in between; a tab after
 * results shows where.
 *
 * Thinking blocks are sent back unchanged, including the signature, but only to the model
 * that made them; the same holds for service-specific blocks. */
#include "model/vendor/bedrock/bedrock_message.h"

#include <stdio.h>

#include "model/vendor/bedrock/bedrock.h"
#include "model/catalog/model_facts.h"
#include "model/codec/encode.h"
#include "model/message/ids.h"
#include "model/vendor/bedrock/bedrock_encode.h"

#define NO_OUTPUT "(no output)"
#define SEE_DOCUMENT "See the attached document."
#define GO_ON "(go on)"
#define NOTED "(noted)"

/* State while writing the content blocks of one message. */
struct writing {
    struct ch_jw w;
    const struct ch_msg *m;
    bool rich;     /* Claude, Nova: media and errors in results, text beside calls */
    bool pictures; /* replies may hold media */
    const char *prefix; /* prefix of the message kind, until the first text */
    enum ch_id_rule ids;
    bool own;      /* made by this API: service-specific blocks may be sent back */
    bool thoughts; /* made by this model, which verifies them: reasoning may be sent back */
    size_t blocks, texts, documents;
};

static struct writing writing_of(const struct ch_model_request *req, const struct ch_msg *m,
                                 struct ch_buf *out) {
    struct writing x = {.w = ch_jw(out), .m = m};
    unsigned maker = ch_request_facts(req)->maker;
    bool short_ids = maker == CH_MAKER_MISTRAL || req->endpoint->quirks & CH_Q_ID9;
    x.prefix = ch_msg_kind_prefix(m->kind);
    x.ids = short_ids ? CH_ID_9 : CH_ID_64;
    x.own = ch_encode_is_own(req, m, "bedrock");
    x.rich = maker == CH_MAKER_ANTHROPIC || maker == CH_MAKER_AMAZON;
    x.pictures = maker == CH_MAKER_AMAZON;
    x.thoughts = maker == CH_MAKER_ANTHROPIC && ch_encode_wrote(req, m, "bedrock");
    return x;
}

/* Before the first block: continue the open message, or begin the next one. */
static void open_message(struct writing *x) {
    struct ch_buf *out = x->w.out;
    bool assistant = x->m->kind == CH_MSG_ASSISTANT;
    bool before = out->n && out->p[out->n - 1] == ' ';
    x->w.comma = out->n > 0;
    if (assistant == before)
        return;
    if (!out->n)
        ch_buf_add_str(out, "{\"text\":\"" CH_ENCODE_CONTINUED "\"}");
    ch_buf_addf(out, "]},{\"role\":\"%s\",\"content\":[", assistant ? "assistant" : "user");
    x->w.comma = false;
}

/* End the open message, and put a text of the other role between it and the next. */
static void split_message(struct writing *x, const char *role, const char *text, const char *next) {
    ch_buf_addf(x->w.out,
                "]},{\"role\":\"%s\",\"content\":[{\"text\":\"%s\"}]},"
                "{\"role\":\"%s\",\"content\":[",
                role, text, next);
    x->w.comma = false;
}

/* A call follows no text, and results are followed by no other block. The first block of an
 * assistant message continues a text, because calls are followed by results. */
static void keep_apart(struct writing *x, const char *member, bool continues) {
    struct ch_buf *out = x->w.out;
    bool result = strcmp(member, "toolResult") == 0, call = strcmp(member, "toolUse") == 0;
    if (!x->rich && call && (x->texts || continues)) {
        split_message(x, "user", GO_ON, "assistant");
        x->texts = 0;
    } else if (!x->rich && !result && out->n && out->p[out->n - 1] == '\t') {
        split_message(x, "assistant", NOTED, "user");
    }
}

static void bedrock_message_begin_block(struct writing *x, const char *member) {
    struct ch_buf *out = x->w.out;
    bool assistant = x->m->kind == CH_MSG_ASSISTANT;
    bool continues = !x->blocks && assistant && out->n && out->p[out->n - 1] == ' ';
    if (!x->blocks++)
        open_message(x);
    keep_apart(x, member, continues);
    ch_jw_begin(&x->w, '{');
    ch_jw_key(&x->w, member);
}

static void bedrock_message_end_block(struct writing *x) {
    ch_jw_end(&x->w, '}');
}

static void bedrock_message_write_text(struct writing *x, struct ch_sv text) {
    CH_BUF_AUTO room = {0};
    if (ch_is_blank(text))
        return;
    bedrock_message_begin_block(x, "text");
    ch_jw_str(&x->w, ch_encode_prefixed(&x->prefix, text, &room));
    bedrock_message_end_block(x);
    x->texts++;
}

/* The service's format name of a media type; NULL: unsupported. */
static const char *bedrock_message_format_of(const struct ch_block *b) {
    static const struct {
        enum ch_block_type type;
        const char *media, *format;
    } formats[] = {
        {CH_BLOCK_IMAGE, "image/png", "png"},
        {CH_BLOCK_IMAGE, "image/jpeg", "jpeg"},
        {CH_BLOCK_IMAGE, "image/jpg", "jpeg"},
        {CH_BLOCK_IMAGE, "image/gif", "gif"},
        {CH_BLOCK_IMAGE, "image/webp", "webp"},
        {CH_BLOCK_DOCUMENT, "application/pdf", "pdf"},
        {CH_BLOCK_DOCUMENT, "text/csv", "csv"},
        {CH_BLOCK_DOCUMENT, "text/html", "html"},
        {CH_BLOCK_DOCUMENT, "text/markdown", "md"},
        {CH_BLOCK_DOCUMENT, "text/", "txt"},
        {CH_BLOCK_DOCUMENT, "application/json", "txt"},
        {CH_BLOCK_DOCUMENT, "application/xml", "txt"},
        {CH_BLOCK_DOCUMENT, "application/msword", "doc"},
        {CH_BLOCK_DOCUMENT, "application/vnd.openxmlformats-officedocument.wordprocessingml.",
         "docx"},
        {CH_BLOCK_DOCUMENT, "application/vnd.ms-excel", "xls"},
        {CH_BLOCK_DOCUMENT, "application/vnd.openxmlformats-officedocument.spreadsheetml.", "xlsx"},
    };
    bool url = b->flags & CH_F_URL && !ch_sv_starts(b->text, "s3://");
    for (size_t i = 0; i < CH_LEN(formats) && !url; i++)
        if (b->type == formats[i].type && ch_sv_starts(b->name, formats[i].media))
            return formats[i].format;
    return NULL;
}

static void bedrock_message_write_source(struct writing *x, const struct ch_block *b) {
    ch_jw_kbegin(&x->w, "source", '{');
    if (b->flags & CH_F_URL) {
        ch_jw_kbegin(&x->w, "s3Location", '{');
        ch_jw_kstr(&x->w, "uri", b->text);
        ch_jw_end(&x->w, '}');
    } else {
        ch_jw_kstr(&x->w, "bytes", b->text);
    }
    ch_jw_end(&x->w, '}');
}

/* Document names are generated, because the model reads them and a user's file name could
 * be taken as an instruction. A request must not contain a name twice, so a document that is
 * sent again gets a number. */
static void write_document_name(struct writing *x, const struct ch_block *b) {
    const struct ch_buf *out = x->w.out;
    unsigned long long hash = ch_hash(ch_hash(0, b->id), b->text);
    char name[48];
    int n = snprintf(name, sizeof(name), "\"document-%016llx\"", hash);
    for (unsigned i = 2; out->n && memmem(out->p, out->n, name, (size_t)n); i++)
        n = snprintf(name, sizeof(name), "\"document-%016llx-%u\"", hash, i);
    ch_jw_kraw(&x->w, "name", ch_sv(name, (size_t)n));
}

static void write_media_value(struct writing *x, const struct ch_block *b, const char *format) {
    ch_jw_begin(&x->w, '{');
    ch_jw_kcstr(&x->w, "format", format);
    if (b->type == CH_BLOCK_DOCUMENT)
        write_document_name(x, b);
    bedrock_message_write_source(x, b);
    ch_jw_end(&x->w, '}');
}

static void bedrock_message_write_media(struct writing *x, const struct ch_block *b) {
    /* of the models, only Nova makes pictures, and may see its own again */
    bool taken = x->m->kind != CH_MSG_ASSISTANT || x->pictures;
    const char *format = taken ? bedrock_message_format_of(b) : NULL;
    if (!format) {
        CH_BUF_AUTO note = {0};
        ch_encode_note(b, &note);
        bedrock_message_write_text(x, ch_buf_sv(&note));
        return;
    }
    bedrock_message_begin_block(x, b->type == CH_BLOCK_IMAGE ? "image" : "document");
    write_media_value(x, b, format);
    bedrock_message_end_block(x);
    x->documents += b->type == CH_BLOCK_DOCUMENT;
}

static void bedrock_message_write_reasoning(struct writing *x, const struct ch_block *b) {
    bedrock_message_begin_block(x, "reasoningContent");
    ch_jw_begin(&x->w, '{');
    if (b->flags & CH_F_REDACTED) {
        ch_jw_kstr(&x->w, "redactedContent", b->extra);
    } else {
        ch_jw_kbegin(&x->w, "reasoningText", '{');
        ch_jw_kstr(&x->w, "text", b->text);
        ch_jw_kstr(&x->w, "signature", b->extra);
        ch_jw_end(&x->w, '}');
    }
    ch_jw_end(&x->w, '}');
    bedrock_message_end_block(x);
}

/* The service rejects members with an empty name. Outside of strings, two quotes and a
 * colon are always such a member. */
static void name_members(struct ch_buf *json) {
    CH_BUF_AUTO out = {0};
    bool inside = false;
    if (!json->n || !memmem(json->p, json->n, "\"\"", 2))
        return;
    for (size_t i = 0; i < json->n; i++) {
        char c = json->p[i];
        bool empty = c == '"' && !inside && i + 1 < json->n && json->p[i + 1] == '"';
        size_t next = i + 2;
        while (empty && next < json->n && (unsigned char)json->p[next] <= ' ')
            next++;
        if (empty && next < json->n && json->p[next] == ':') {
            CH_BUF_LIT(&out, "\"_\"");
            i++;
            continue;
        }
        inside ^= c == '"';
        ch_buf_addc(&out, c);
        if (c == '\\' && inside && i + 1 < json->n)
            ch_buf_addc(&out, json->p[++i]);
    }
    ch_buf_clear(json);
    ch_buf_add_sv(json, ch_buf_sv(&out));
}

static void bedrock_message_write_call(struct writing *x, const struct ch_block *b) {
    char id[CH_ID_ROOM], name[CH_NAME_ROOM];
    CH_BUF_AUTO input = {0};
    struct ch_jw w = ch_jw(&input);
    ch_encode_arguments(&w, b->text);
    name_members(&input);
    bedrock_message_begin_block(x, "toolUse");
    ch_jw_begin(&x->w, '{');
    ch_jw_kstr(&x->w, "toolUseId", ch_id_for(x->ids, b->id, id));
    ch_jw_kstr(&x->w, "name", ch_name_for(CH_BEDROCK_NAME, b->name, name));
    ch_jw_kraw(&x->w, "input", ch_buf_sv(&input));
    ch_jw_end(&x->w, '}');
    bedrock_message_end_block(x);
}

static void write_result_text(struct writing *x, struct ch_sv text) {
    ch_jw_begin(&x->w, '{');
    ch_jw_kstr(&x->w, "text", text);
    ch_jw_end(&x->w, '}');
}

/* One part of a result; a note where its type is unsupported. */
static void write_result_part(struct writing *x, const struct ch_block *b) {
    CH_BUF_AUTO note = {0};
    const char *format = x->rich ? bedrock_message_format_of(b) : NULL;
    if (!format) {
        ch_encode_note(b, &note);
        write_result_text(x, ch_buf_sv(&note));
        return;
    }
    ch_jw_begin(&x->w, '{');
    ch_jw_key(&x->w, b->type == CH_BLOCK_IMAGE ? "image" : "document");
    write_media_value(x, b, format);
    ch_jw_end(&x->w, '}');
}

/* An error result may contain only text: its media follow after all results. Makers other
 * than these two reject the status; the text describes the error. */
static void bedrock_message_write_result(struct writing *x, const struct ch_block *b) {
    char id[CH_ID_ROOM];
    bool error = b->flags & CH_F_ERROR, inside = b->span && !error;
    bedrock_message_begin_block(x, "toolResult");
    ch_jw_begin(&x->w, '{');
    ch_jw_kstr(&x->w, "toolUseId", ch_id_for(x->ids, b->id, id));
    ch_jw_kbegin(&x->w, "content", '[');
    if (!ch_is_blank(b->text))
        write_result_text(x, b->text);
    else if (!inside)
        write_result_text(x, CH_SV(NO_OUTPUT));
    for (unsigned i = 1; inside && i <= b->span; i++)
        write_result_part(x, b + i);
    ch_jw_end(&x->w, ']');
    if (error && x->rich)
        ch_jw_kcstr(&x->w, "status", "error");
    ch_jw_end(&x->w, '}');
    bedrock_message_end_block(x);
    if (!x->rich)
        ch_buf_addc(x->w.out, '\t');
}

static void bedrock_message_write_results(struct writing *x) {
    const struct ch_msg *m = x->m;
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_TOOL_RESULT)
            bedrock_message_write_result(x, &m->blocks[i]);
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        for (unsigned k = 1; b->flags & CH_F_ERROR && k <= b->span; k++)
            bedrock_message_write_media(x, b + k);
    }
}

static void bedrock_message_write_block(struct writing *x, const struct ch_block *b) {
    switch (b->type) {
    case CH_BLOCK_TEXT:
    case CH_BLOCK_REFUSAL:
        bedrock_message_write_text(x, b->text);
        break;
    case CH_BLOCK_REASONING:
        if (x->thoughts && b->extra.n)
            bedrock_message_write_reasoning(x, b);
        break;
    case CH_BLOCK_IMAGE:
    case CH_BLOCK_AUDIO:
    case CH_BLOCK_DOCUMENT:
        bedrock_message_write_media(x, b);
        break;
    case CH_BLOCK_TOOL_CALL:
        bedrock_message_write_call(x, b);
        break;
    case CH_BLOCK_OPAQUE:
        if (x->own && ch_is_json(b->text, CH_JSON_OBJECT)) {
            if (!x->blocks++)
                open_message(x);
            ch_jw_raw(&x->w, b->text);
        }
        break;
    }
}

/* Write the blocks beside results; where they are kept apart, the calls come last. */
static void write_blocks(struct writing *x, bool calls, bool others) {
    const struct ch_msg *m = x->m;
    for (uint32_t i = 0, n = ch_encode_end_of(m); i < n; i++) {
        bool call = m->blocks[i].type == CH_BLOCK_TOOL_CALL;
        if (call ? calls : others)
            bedrock_message_write_block(x, &m->blocks[i]);
        i += m->blocks[i].span;
    }
}

static void bedrock_write_message(struct writing *x) {
    bedrock_message_write_results(x);
    write_blocks(x, x->rich, true);
    if (!x->rich)
        write_blocks(x, true, false);
    if (x->documents && !x->texts) /* a document needs an accompanying text */
        bedrock_message_write_text(x, CH_SV(SEE_DOCUMENT));
}

int ch_bedrock_message(const struct ch_model_request *req, const struct ch_msg *m,
                       struct ch_buf *out, struct chela_error *err CH_UNUSED) {
    struct writing x = writing_of(req, m, out);
    bedrock_write_message(&x);
    if (x.blocks && m->kind == CH_MSG_ASSISTANT)
        ch_buf_addc(out, ' ');
    return CHELA_OK;
}
