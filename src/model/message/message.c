/* message.c -- messages and transcripts; see message.h.
 *
 * A message is one allocation: the struct, its blocks, struct names if the message has an
 * author, then every text with a terminating NUL: the texts of the author (api, asked,
 * model), then the texts of the blocks. A message is immutable after ch_msg_new, so it may be
 * shared and pointed into as long as it exists. */
#include "model/message/message.h"

#include "base/error.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"

/* Lengths of the names of an author. */
struct names {
    uint32_t asked, model;
};

static const char *const kind_names[] = {
    [CH_MSG_USER] = "user",   [CH_MSG_ASSISTANT] = "assistant", [CH_MSG_RESULTS] = "results",
    [CH_MSG_EVENT] = "event", [CH_MSG_TIMER] = "timer",         [CH_MSG_WEBHOOK] = "webhook",
};

static const char *const kind_prefixes[] = {
    [CH_MSG_EVENT] = "[event] ",
    [CH_MSG_TIMER] = "[timer] ",
    [CH_MSG_WEBHOOK] = "[webhook] ",
};

static const char *const block_names[] = {
    [CH_BLOCK_TEXT] = "text",           [CH_BLOCK_REASONING] = "reasoning",
    [CH_BLOCK_REFUSAL] = "refusal",     [CH_BLOCK_IMAGE] = "image",
    [CH_BLOCK_AUDIO] = "audio",         [CH_BLOCK_DOCUMENT] = "document",
    [CH_BLOCK_TOOL_CALL] = "tool_call", [CH_BLOCK_TOOL_RESULT] = "tool_result",
    [CH_BLOCK_OPAQUE] = "opaque",       [CH_BLOCK_CONTEXT] = "context",
};

const char *ch_msg_kind_name(enum ch_msg_kind k) {
    return kind_names[k];
}

const char *ch_msg_kind_prefix(enum ch_msg_kind k) {
    return k < CH_LEN(kind_prefixes) ? kind_prefixes[k] : NULL;
}

const char *ch_block_type_name(enum ch_block_type t) {
    return block_names[t];
}

static size_t text_room(struct ch_sv s) {
    return s.n ? s.n + 1 : 0;
}

static size_t block_room(const struct ch_block *b) {
    return text_room(b->text) + text_room(b->id) + text_room(b->name) + text_room(b->extra);
}

/* Copy s to *at and advance *at; an empty text needs no room. */
static struct ch_sv place_text(char **at, struct ch_sv s) {
    if (!s.n)
        return CH_SV("");
    char *p = *at;
    memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    *at += s.n + 1;
    return ch_sv(p, s.n);
}

/* The name of the model is usually the end of `asked`, and needs no copy then. */
static bool ends_with(struct ch_sv s, struct ch_sv end) {
    return end.n && s.n >= end.n && memcmp(s.p + s.n - end.n, end.p, end.n) == 0;
}

static void place_author(char **at, const struct ch_msg_author *by, bool shared) {
    *(struct names *)*at = (struct names){(uint32_t)by->asked.n, (uint32_t)by->model.n};
    *at += sizeof(struct names);
    place_text(at, ch_sv_str(by->api));
    place_text(at, by->asked);
    if (!shared)
        place_text(at, by->model);
}

struct ch_msg *ch_msg_by(enum ch_msg_kind kind, const struct ch_block *blocks, size_t n,
                         const struct ch_msg_author *by, int64_t ts) {
    struct ch_sv api_text = ch_sv_str(by->api);
    size_t size = sizeof(struct ch_msg) + n * sizeof(struct ch_block);
    for (size_t i = 0; i < n; i++)
        size += block_room(&blocks[i]);
    bool shared = ends_with(by->asked, by->model);
    size_t author =
        text_room(api_text) + text_room(by->asked) + (shared ? 0 : text_room(by->model));
    size += author ? sizeof(struct names) + author : 0;

    struct ch_msg *m = ch_malloc(size);
    *m = (struct ch_msg){.kind = (uint8_t)kind,
                         .has_author = author > 0,
                         .has_api = api_text.n > 0,
                         .shares_model = shared,
                         .nblocks = (uint32_t)n,
                         .ts = ts,
                         .size = size};
    char *at = (char *)&m->blocks[n];
    if (author)
        place_author(&at, by, shared);
    for (size_t i = 0; i < n; i++) {
        const struct ch_block *b = &blocks[i];
        m->blocks[i] = (struct ch_block){
            .type = b->type,
            .flags = b->flags,
            .span = b->span,
            .runner = b->type == CH_BLOCK_OPAQUE ? CH_RUN_VENDOR : b->runner,
            .text = place_text(&at, b->text),
            .id = place_text(&at, b->id),
            .name = place_text(&at, b->name),
            .extra = place_text(&at, b->extra),
        };
    }
    return m;
}

struct ch_msg_author ch_msg_author(const struct ch_msg *m) {
    struct ch_msg_author by = {.model = CH_SV(""), .asked = CH_SV("")};
    if (!m->has_author)
        return by;
    const struct names *n = (const void *)&m->blocks[m->nblocks];
    const char *at = (const char *)(n + 1);
    by.api = m->has_api ? at : NULL;
    at += m->has_api ? strlen(at) + 1 : 0;
    if (n->asked)
        by.asked = ch_sv(at, n->asked);
    at += text_room(by.asked);
    if (m->shares_model)
        at = by.asked.p + n->asked - n->model;
    if (n->model)
        by.model = ch_sv(at, n->model);
    return by;
}

struct ch_msg *ch_msg_new(enum ch_msg_kind kind, const struct ch_block *blocks, size_t n,
                          int64_t ts) {
    return ch_msg_by(kind, blocks, n, &(struct ch_msg_author){0}, ts);
}

struct ch_msg *ch_msg_like(const struct ch_msg *m, enum ch_msg_kind kind,
                           const struct ch_block *blocks, size_t n) {
    struct ch_msg_author by = ch_msg_author(m);
    return ch_msg_by(kind, blocks, n, &by, m->ts);
}

void ch_msg_free(struct ch_msg *m) {
    ch_free(m);
}

size_t ch_msg_call_index(const struct ch_msg *m, const struct ch_block *call) {
    size_t n = 0;
    for (const struct ch_block *b = m->blocks; b < m->blocks + m->nblocks && b != call; b++) {
        if (b->type == CH_BLOCK_TOOL_CALL && ch_sv_eq(b->id, call->id))
            break;
        n += b->type == CH_BLOCK_TOOL_CALL;
    }
    return n;
}

struct ch_msg *ch_msg_text(enum ch_msg_kind kind, struct ch_sv text, int64_t ts) {
    struct ch_block b = {.type = CH_BLOCK_TEXT, .text = text};
    return ch_msg_new(kind, &b, 1, ts);
}

struct ch_sv ch_msg_words(const struct ch_msg *m) {
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_TEXT)
            return m->blocks[i].text;
    return CH_SV("");
}

bool ch_msg_has_calls(const struct ch_msg *m) {
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_TOOL_CALL)
            return true;
    return false;
}

void ch_transcript_release(struct ch_transcript *t) {
    for (size_t i = 0; i < t->n; i++)
        ch_msg_free(t->msgs[i]);
    ch_free(t->msgs);
    *t = (struct ch_transcript){0};
}

static bool holds_compaction(const struct ch_msg *m) {
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (ch_block_is_compaction(&m->blocks[i]))
            return true;
    return false;
}

void ch_transcript_cut(struct ch_transcript *t, size_t n) {
    while (t->n > n) {
        struct ch_msg *m = t->msgs[--t->n];
        t->bytes -= m->size;
        ch_msg_free(m);
    }
    t->compacted = CH_MIN(t->compacted, t->n);
    while (t->compacted && !holds_compaction(t->msgs[t->compacted - 1]))
        t->compacted--;
}

int ch_transcript_amend(struct ch_transcript *t, struct ch_sv text) {
    struct ch_msg *old = t->msgs[t->n - 1];
    struct ch_block *blocks = ch_alloc((old->nblocks + 1u) * sizeof(*blocks));
    memcpy(blocks, old->blocks, old->nblocks * sizeof(*blocks));
    blocks[old->nblocks] = (struct ch_block){.type = CH_BLOCK_CONTEXT, .text = text};
    struct ch_msg *m = ch_msg_like(old, old->kind, blocks, old->nblocks + 1u);
    ch_free(blocks);
    if (m->size - old->size > CH_LIMIT_HISTORY - t->bytes) {
        ch_msg_free(m);
        return CHELA_ELIMIT;
    }
    t->bytes += m->size - old->size;
    t->msgs[t->n - 1] = m;
    ch_msg_free(old);
    return CHELA_OK;
}

int ch_transcript_insert(struct ch_transcript *t, size_t at, struct ch_msg *m) {
    if (m->size > CH_LIMIT_HISTORY - t->bytes) {
        ch_msg_free(m);
        return CHELA_ELIMIT;
    }
    CH_GROW(t->msgs, t->n, t->cap, 16);
    at = CH_MIN(at, t->n);
    memmove(t->msgs + at + 1, t->msgs + at, (t->n++ - at) * sizeof(struct ch_msg *));
    t->msgs[at] = m;
    t->bytes += m->size;
    t->compacted += t->compacted > at;
    if (holds_compaction(m))
        t->compacted = CH_MAX(t->compacted, at + 1);
    return CHELA_OK;
}

int ch_transcript_add(struct ch_transcript *t, struct ch_msg *m) {
    return ch_transcript_insert(t, t->n, m);
}

int ch_transcript_add_results(struct ch_transcript *t, struct ch_msg *m) {
    int rc = ch_transcript_add(t, m);
    if (rc < 0)
        ch_transcript_cut(t, t->n - 1);
    return rc;
}
