/* adapt.c -- see adapt.h. */
#include "model/codec/adapt.h"

#include "base/mem.h"
#include "model/catalog/model_facts.h"
#include "model/codec/encode.h"
#include "model/catalog/provider.h"

/* --- ids */

static uint32_t mapped(enum ch_id_rule rule, struct ch_sv id) {
    char buf[CH_ID_ROOM];
    uint64_t whole = ch_hash(0, ch_id_for(rule, id, buf));
    uint32_t hash = (uint32_t)(whole ^ whole >> 32);
    return hash ? hash : 1; /* 0 marks a free slot */
}

/* Ids with equal hashes count as equal; at worst an id is replaced without need. */
static bool adapt_is_known(const struct ch_call_ids *ids, uint32_t hash) {
    for (size_t i = hash; ids->cap && ids->slots[i & (ids->cap - 1)]; i++)
        if (ids->slots[i & (ids->cap - 1)] == hash)
            return true;
    return false;
}

static void adapt_put(struct ch_call_ids *ids, uint32_t hash) {
    size_t i = hash;
    while (ids->slots[i & (ids->cap - 1)])
        i++;
    ids->slots[i & (ids->cap - 1)] = hash;
    ids->n++;
}

static void adapt_grow(struct ch_call_ids *ids) {
    struct ch_call_ids old = *ids;
    *ids = (struct ch_call_ids){.cap = old.cap ? 2 * old.cap : 8};
    ids->slots = ch_alloc(ids->cap * sizeof(*ids->slots));
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i])
            adapt_put(ids, old.slots[i]);
    ch_free(old.slots);
}

static void adapt_add(struct ch_call_ids *ids, uint32_t hash) {
    if (2 * (ids->n + 1) > ids->cap)
        adapt_grow(ids);
    adapt_put(ids, hash);
}

void ch_call_ids_release(struct ch_call_ids *ids) {
    ch_free(ids->slots);
    *ids = (struct ch_call_ids){0};
}

/* Makes an id that is not in the set and adds it. "call_1" of the twelfth message becomes
 * "call_1_12", then "call_1_12_2". *again only grows, so that no number is tried twice. */
static struct ch_sv free_id(struct ch_call_ids *ids, enum ch_id_rule rule, struct ch_sv id,
                            size_t at, unsigned *again, struct ch_arena *arena) {
    struct ch_sv old = id;
    uint32_t hash = mapped(rule, id);
    for (bool first = true; adapt_is_known(ids, hash); first = false) {
        id = ch_sv_str(first ? ch_arena_printf(arena, "%.*s_%zu", CH_SV_FMT(old), at)
                             : ch_arena_printf(arena, "%.*s_%zu_%u", CH_SV_FMT(old), at,
                                               (*again)++));
        hash = mapped(rule, id);
    }
    adapt_add(ids, hash);
    return id;
}

struct ch_msg *ch_call_ids_renew(struct ch_call_ids *ids, enum ch_id_rule rule,
                                 const struct ch_msg *m, size_t at) {
    CH_ARENA_AUTO arena = {0};
    CH_AUTOFREE struct ch_block *blocks = NULL;
    unsigned again = 2;
    for (uint32_t i = 0; i < m->nblocks; i++) {
        if (m->blocks[i].type != CH_BLOCK_TOOL_CALL)
            continue;
        struct ch_sv id = free_id(ids, rule, m->blocks[i].id, at, &again, &arena);
        if (id.p == m->blocks[i].id.p)
            continue;
        if (!blocks)
            blocks = ch_memdup(m->blocks, m->nblocks * sizeof(*blocks));
        blocks[i].id = id;
    }
    return blocks ? ch_msg_like(m, m->kind, blocks, m->nblocks) : NULL;
}

/* --- context */

/* Index of the last result; m->nblocks if there is none. */
static uint32_t last_result(const struct ch_msg *m) {
    for (uint32_t i = m->nblocks; i > 0; i--)
        if (m->blocks[i - 1].type == CH_BLOCK_TOOL_RESULT)
            return i - 1;
    return m->nblocks;
}

static void join_context(const struct ch_msg *m, struct ch_buf *out) {
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_CONTEXT)
            ch_buf_addf(out, "%s%.*s", out->n ? "\n\n" : "", CH_SV_FMT(m->blocks[i].text));
}

static bool has_context(const struct ch_msg *m) {
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_CONTEXT)
            return true;
    return false;
}

struct ch_msg *ch_with_context(const struct ch_msg *m) {
    CH_BUF_AUTO text = {0};
    if (!has_context(m))
        return NULL;
    struct ch_block *blocks = ch_alloc(m->nblocks * sizeof(*blocks));
    uint32_t result = last_result(m);
    size_t n = 0;
    if (result < m->nblocks)
        ch_buf_add_sv(&text, m->blocks[result].text);
    if (result < m->nblocks)
        join_context(m, &text);
    for (uint32_t i = 0; i < m->nblocks; i++) {
        struct ch_block b = m->blocks[i];
        bool context = b.type == CH_BLOCK_CONTEXT;
        if (context && result < m->nblocks)
            continue;
        if (context)
            b.type = CH_BLOCK_TEXT;
        if (i == result)
            b.text = ch_buf_sv(&text);
        blocks[n++] = b;
    }
    struct ch_msg *copy = ch_msg_like(m, m->kind, blocks, n);
    ch_free(blocks);
    return copy;
}

/* --- images */

/* An image that a model cannot read fails the request; of an unknown model, the service decides. */
static bool reads_images(const struct ch_model_request *req) {
    const struct ch_model_facts *f = ch_request_facts(req);
    return f->flags & CH_M_IMAGES || !(f->flags & CH_M_TEXT);
}

static bool takes_images(const struct ch_model_request *req) {
    return !(req->endpoint->quirks & CH_Q_NO_IMAGES) && reads_images(req);
}

static void adapt_add_note(struct ch_buf *text, const struct ch_block *image) {
    if (text->n)
        CH_BUF_LIT(text, "\n");
    ch_encode_note(image, text);
}

/* The images of a result become notes in its text; other blocks are kept. */
static size_t copy_result(const struct ch_block *b, struct ch_block *out, struct ch_arena *a) {
    CH_BUF_AUTO text = {0};
    size_t n = 1;
    ch_buf_add_sv(&text, b->text);
    for (unsigned k = 1; k <= b->span; k++)
        if (b[k].type == CH_BLOCK_IMAGE)
            adapt_add_note(&text, &b[k]);
        else
            out[n++] = b[k];
    out[0] = *b;
    out[0].span = (uint16_t)(n - 1);
    out[0].text = ch_arena_sv(a, ch_buf_sv(&text));
    return n;
}

/* True if block b of m is sent as a note: an image that the model cannot read, or a work of
 * a model that is not sent back to its author. */
static bool is_noted(const struct ch_model_request *req, const struct ch_msg *m,
                     const struct ch_block *b) {
    bool image = b->type == CH_BLOCK_IMAGE;
    if (m->kind != CH_MSG_ASSISTANT)
        return image && !takes_images(req);
    const struct ch_codec *codec = req->endpoint->codec;
    const char *api = codec->returns_images ? ch_msg_author(m).api : NULL;
    bool own = api && strcmp(api, codec->name) == 0;
    return b->type == CH_BLOCK_AUDIO || (image && !own);
}

static bool has_noted(const struct ch_model_request *req, const struct ch_msg *m) {
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (is_noted(req, m, &m->blocks[i]))
            return true;
    return false;
}

struct ch_msg *ch_without_images(const struct ch_model_request *req, const struct ch_msg *m) {
    if (!has_noted(req, m))
        return NULL;
    CH_ARENA_AUTO arena = {0};
    struct ch_block *blocks = ch_alloc((m->nblocks + 1) * sizeof(*blocks));
    size_t n = 0;
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (b->type == CH_BLOCK_TOOL_RESULT) {
            n += copy_result(b, &blocks[n], &arena);
            i += b->span;
        } else if (is_noted(req, m, b)) {
            CH_BUF_AUTO note = {0};
            adapt_add_note(&note, b);
            blocks[n++] = (struct ch_block){.type = CH_BLOCK_TEXT,
                                            .text = ch_arena_sv(&arena, ch_buf_sv(&note))};
        } else {
            blocks[n++] = *b;
        }
    }
    struct ch_msg *copy = ch_msg_like(m, m->kind, blocks, n);
    ch_free(blocks);
    return copy;
}
