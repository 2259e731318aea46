/* compacted.c -- see compacted.h. */
#include "model/codec/compacted.h"

#include "base/arena.h"
#include "base/mem.h"
#include "json/json.h"

#define TOLD "Summary of the conversation so far:\n\n"

/* The readable content of a compaction; empty if it has another content, or none. */
static struct ch_sv summary_of(const struct ch_block *b, struct ch_arena *a, bool *has_content) {
    const struct ch_json *v = NULL;
    *has_content = false;
    if (ch_json_parse(a, b->text, CH_JSON_STRICT, &v, NULL, NULL) < 0 ||
        !ch_json_is(v, CH_JSON_OBJECT))
        return CH_SV("");
    struct ch_sv content = ch_sv_trim(ch_json_get_str(v, "content"));
    *has_content = content.n || ch_json_get_str(v, "encrypted_content").n;
    return content;
}

uint32_t ch_compacted_at(const struct ch_msg *m) {
    for (uint32_t i = m->nblocks; m->kind == CH_MSG_ASSISTANT && i > 0; i--) {
        CH_ARENA_AUTO arena = {0};
        bool has_content = false;
        if (ch_block_is_compaction(&m->blocks[i - 1]))
            summary_of(&m->blocks[i - 1], &arena, &has_content);
        if (has_content)
            return i - 1;
    }
    return m->nblocks;
}

bool ch_compacted_empty(const struct ch_msg *m) {
    bool found = false;
    for (uint32_t i = 0; i < m->nblocks; i++)
        found |= ch_block_is_compaction(&m->blocks[i]);
    return found && !ch_compacted_in(m);
}

static bool is_readable(const struct ch_model_request *req, const struct ch_msg *m) {
    const struct ch_codec *codec = req->endpoint->codec;
    if (codec->reads_compaction && codec->reads_compaction(req, m))
        return true;
    struct ch_msg *text = ch_compacted_text(m);
    ch_msg_free(text);
    return text != NULL;
}

void ch_compacted_settle(struct ch_model_request *req) {
    req->from = 0;
    req->compacted = false;
    for (size_t i = req->nmessages; i > 0 && !req->compacted; i--) {
        const struct ch_msg *m = req->messages[i - 1];
        req->compacted = ch_compacted_in(m) && is_readable(req, m);
        req->from = req->compacted ? i - 1 : 0;
    }
}

struct ch_msg *ch_compacted_text(const struct ch_msg *m) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    uint32_t at = ch_compacted_at(m);
    bool has_content;
    struct ch_sv summary =
        at < m->nblocks ? summary_of(&m->blocks[at], &arena, &has_content) : CH_SV("");
    if (!summary.n)
        return NULL;
    CH_BUF_LIT(&text, TOLD);
    ch_buf_add_sv(&text, summary);
    return ch_msg_text(CH_MSG_EVENT, ch_buf_sv(&text), m->ts);
}

struct ch_msg *ch_compacted_without(const struct ch_msg *m) {
    CH_AUTOFREE struct ch_block *kept = ch_alloc((m->nblocks + 1u) * sizeof(*kept));
    size_t n = 0;
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (!ch_block_is_compaction(&m->blocks[i]))
            kept[n++] = m->blocks[i];
    return n ? ch_msg_like(m, m->kind, kept, n) : NULL;
}
