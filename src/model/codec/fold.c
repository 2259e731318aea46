/* fold.c -- accumulates a reply; see fold.h.
 *
 * Each block has its own growing buffers, so that a piece costs one copy and `so_far` is a
 * view. A table maps keys to blocks, so the cost of a piece does not depend on the number
 * of blocks. finish_call alone decides whether a call is executable: the codec closed it,
 * and its arguments are a JSON object. */
#include "model/codec/fold.h"

#include "base/base64.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "json/json.h"
#include "model/codec/encode.h"
#include "model/message/ids.h"

#define FEW_BLOCKS 2
#define FEW_SLOTS 16
#define FEW_NAMES 96 /* bytes of ids and names */

struct block {
    uint8_t type, flags, runner;
    bool closed;
    unsigned call; /* TOOL_CALL: ordinal among the calls */
    struct ch_buf text, extra;
    struct ch_sv id, name; /* in `names` of the fold */
};

struct ch_fold {
    ch_model_event_fn *fn;
    void *user;
    struct block *blocks; /* `few`, or owned */
    size_t n, cap;
    uint16_t *slots; /* by key: index of the block + 1, 0: none; `few_slots`, or owned */
    unsigned nslots;
    unsigned ncalls;
    size_t total; /* total bytes of all texts; includes ids and names that were replaced */
    struct ch_arena names;
    /* Most replies need no further memory for blocks. */
    struct block few[FEW_BLOCKS];
    uint16_t few_slots[FEW_SLOTS];
    char few_names[FEW_NAMES];
};

struct ch_fold *ch_fold_new(ch_model_event_fn *fn, void *user) {
    struct ch_fold *f = ch_alloc(sizeof(*f));
    f->fn = fn;
    f->user = user;
    f->blocks = f->few;
    f->cap = FEW_BLOCKS;
    f->slots = f->few_slots;
    f->nslots = FEW_SLOTS;
    f->names = (struct ch_arena)CH_ARENA_IN(f->few_names);
    return f;
}

void ch_fold_free(struct ch_fold *f) {
    if (!f)
        return;
    for (size_t i = 0; i < f->n; i++) {
        ch_buf_release(&f->blocks[i].text);
        ch_buf_release(&f->blocks[i].extra);
    }
    ch_arena_release(&f->names);
    if (f->blocks != f->few)
        ch_free(f->blocks);
    if (f->slots != f->few_slots)
        ch_free(f->slots);
    ch_free(f);
}

static struct block *fold_find(const struct ch_fold *f, unsigned key) {
    if (key >= f->nslots || !f->slots[key])
        return NULL;
    return &f->blocks[f->slots[key] - 1];
}

/* The array with room for `to` bytes, which has `from` bytes; `few` is not owned. */
static void *fold_grown(void *array, const void *few, size_t from, size_t to) {
    return array == few ? memcpy(ch_malloc(to), few, from) : ch_realloc(array, to);
}

static bool bind_key(struct ch_fold *f, unsigned key, size_t block) {
    if (key >= CH_FOLD_KEYS)
        return false;
    if (key >= f->nslots) {
        unsigned n = CH_MIN(2 * (key + 1), CH_FOLD_KEYS);
        f->slots = fold_grown(f->slots, f->few_slots, f->nslots * sizeof(*f->slots),
                              n * sizeof(*f->slots));
        memset(f->slots + f->nslots, 0, (n - f->nslots) * sizeof(*f->slots));
        f->nslots = n;
    }
    f->slots[key] = (uint16_t)(block + 1);
    return true;
}

static struct block *fold_new_block(struct ch_fold *f, unsigned key, enum ch_block_type type) {
    bool call = type == CH_BLOCK_TOOL_CALL;
    if (f->n == CH_LIMIT_REPLY_BLOCKS || (call && f->ncalls == CH_LIMIT_CALLS_READ) ||
        !bind_key(f, key, f->n))
        return NULL;
    if (f->n == f->cap) {
        f->blocks = fold_grown(f->blocks, f->few, f->n * sizeof(struct block),
                               2 * f->n * sizeof(struct block));
        f->cap *= 2;
    }
    struct block *b = &f->blocks[f->n++];
    *b = (struct block){
        .type = (uint8_t)type, .call = f->ncalls, .id = CH_SV(""), .name = CH_SV("")};
    f->ncalls += call;
    return b;
}

static struct block *open_block(struct ch_fold *f, unsigned key, enum ch_block_type type) {
    struct block *b = fold_find(f, key);
    return b && b->type == type ? b : fold_new_block(f, key, type);
}

static int fold_append(struct ch_fold *f, struct ch_buf *to, struct ch_sv piece) {
    if (piece.n > CH_LIMIT_REPLY - f->total)
        return CHELA_ELIMIT;
    f->total += piece.n;
    return ch_buf_add_sv(to, piece);
}

/* Append raw JSON from the wire with invalid UTF-8 replaced, because messages contain only
 * UTF-8. */
static int append_raw(struct ch_fold *f, struct ch_buf *to, struct ch_sv piece) {
    CH_BUF_AUTO clean = {0};
    if (ch_utf8_valid(piece))
        return fold_append(f, to, piece);
    ch_utf8_add_valid(&clean, piece);
    return fold_append(f, to, ch_buf_sv(&clean));
}

static int fold_replace(struct ch_fold *f, struct ch_buf *to, struct ch_sv text) {
    f->total -= to->n;
    ch_buf_clear(to);
    return append_raw(f, to, text);
}

/* Set an id or a name. */
static int set_name(struct ch_fold *f, struct ch_sv *to, struct ch_sv text) {
    if (text.n > CH_LIMIT_REPLY - f->total)
        return CHELA_ELIMIT;
    f->total += text.n;
    *to = ch_arena_sv(&f->names, text);
    return CHELA_OK;
}

static int replace_name(struct ch_fold *f, struct ch_sv *to, struct ch_sv raw) {
    CH_BUF_AUTO clean = {0};
    if (ch_sv_eq(*to, raw))
        return CHELA_OK;
    ch_utf8_add_valid(&clean, raw);
    return set_name(f, to, ch_buf_sv(&clean));
}

static int fold_add_text(struct ch_fold *f, unsigned key, enum ch_block_type type,
                         enum ch_model_event_type event, struct ch_sv piece) {
    struct block *b = open_block(f, key, type);
    if (!b || fold_append(f, &b->text, piece) < 0)
        return CHELA_ELIMIT;
    if (piece.n && f->fn)
        f->fn(&(struct ch_model_event){.type = event, .text = piece, .so_far = ch_buf_sv(&b->text)},
              f->user);
    return CHELA_OK;
}

int ch_fold_text(struct ch_fold *f, unsigned key, struct ch_sv piece) {
    return fold_add_text(f, key, CH_BLOCK_TEXT, CH_MEV_TEXT, piece);
}

int ch_fold_reasoning(struct ch_fold *f, unsigned key, struct ch_sv piece) {
    return fold_add_text(f, key, CH_BLOCK_REASONING, CH_MEV_REASONING, piece);
}

int ch_fold_refusal(struct ch_fold *f, unsigned key, struct ch_sv piece) {
    struct block *b = open_block(f, key, CH_BLOCK_REFUSAL);
    return b ? fold_append(f, &b->text, piece) : CHELA_ELIMIT;
}

/* Set a text that is not set yet; returns the new part. A name past the limit makes the
 * call unusable; the call is kept, so that the model gets an error. */
static struct ch_sv set_once(struct ch_fold *f, struct block *b, struct ch_sv *to, struct ch_sv s,
                             size_t max) {
    if (!s.n || to->n)
        return ch_sv(NULL, 0);
    if (s.n > max) {
        b->flags |= CH_F_INVALID;
        s = ch_utf8_cut(s, max);
    }
    set_name(f, to, s);
    return *to;
}

int ch_fold_call(struct ch_fold *f, unsigned key, struct ch_sv id, struct ch_sv name,
                 struct ch_sv piece) {
    struct block *b = open_block(f, key, CH_BLOCK_TOOL_CALL);
    char shorter[CH_ID_ROOM];
    if (!b)
        return CHELA_ELIMIT;
    if (id.n > CH_LIMIT_CALL_ID)
        id = ch_id_for(CH_ID_64, id, shorter);
    struct ch_model_event ev = {.type = CH_MEV_CALL_DELTA, .index = b->call, .text = piece};
    ev.id = set_once(f, b, &b->id, id, CH_LIMIT_CALL_ID);
    ev.name = set_once(f, b, &b->name, name, CH_LIMIT_TOOL_NAME);
    if (fold_append(f, &b->text, piece) < 0)
        return CHELA_ELIMIT;
    ev.so_far = ch_buf_sv(&b->text);
    if (f->fn && (ev.id.n || ev.name.n || piece.n))
        f->fn(&ev, f->user);
    return CHELA_OK;
}

int ch_fold_opaque(struct ch_fold *f, unsigned key, struct ch_sv type, struct ch_sv json) {
    struct block *b = open_block(f, key, CH_BLOCK_OPAQUE);
    if (!b || replace_name(f, &b->name, type) < 0)
        return CHELA_ELIMIT;
    return fold_replace(f, &b->text, json);
}

/* The bytes of the last, padded group of four move to the front of the next piece, so that
 * the whole text stays valid base64. */
static int join_base64(struct ch_fold *f, struct block *b, struct ch_buf *to,
                       struct ch_sv piece) {
    CH_BUF_AUTO bytes = {0};
    CH_BUF_AUTO text = {0};
    bool padded = to->n >= 4 && to->p[to->n - 1] == '=';
    if (padded && ch_base64_read(ch_sv(to->p + to->n - 4, 4), &bytes)) {
        to->n -= 4;
        f->total -= 4;
    }
    if (!ch_base64_read(piece, &bytes))
        b->flags |= CH_F_INVALID;
    ch_base64_add(&text, ch_buf_sv(&bytes));
    return fold_append(f, to, ch_buf_sv(&text));
}

int ch_fold_media(struct ch_fold *f, unsigned key, enum ch_block_type type,
                  struct ch_sv media_type, struct ch_sv data) {
    struct block *b = open_block(f, key, type);
    if (!b || (media_type.n && replace_name(f, &b->name, media_type) < 0))
        return CHELA_ELIMIT;
    return data.n ? join_base64(f, b, &b->text, data) : CHELA_OK;
}

int ch_fold_extra(struct ch_fold *f, unsigned key, struct ch_sv piece) {
    struct block *b = fold_find(f, key);
    if (!b || b->type == CH_BLOCK_OPAQUE || b->type == CH_BLOCK_REFUSAL)
        return CHELA_OK; /* these types have none */
    return append_raw(f, &b->extra, piece);
}

int ch_fold_extra_base64(struct ch_fold *f, unsigned key, struct ch_sv piece) {
    struct block *b = fold_find(f, key);
    return b ? join_base64(f, b, &b->extra, piece) : CHELA_OK;
}

int ch_fold_field(struct ch_fold *f, unsigned key, struct ch_sv name, struct ch_sv id) {
    struct block *b = fold_find(f, key);
    if (!b)
        return CHELA_OK;
    if (name.n && replace_name(f, &b->name, name) < 0)
        return CHELA_ELIMIT;
    return id.n ? replace_name(f, &b->id, id) : CHELA_OK;
}

void ch_fold_flag(struct ch_fold *f, unsigned key, unsigned flag) {
    struct block *b = fold_find(f, key);
    if (b)
        b->flags |= (uint8_t)flag;
}

void ch_fold_runner(struct ch_fold *f, unsigned key, enum ch_runner runner) {
    struct block *b = fold_find(f, key);
    if (b)
        b->runner = (uint8_t)runner;
}

int ch_fold_replace(struct ch_fold *f, unsigned key, struct ch_sv text) {
    struct block *b = fold_find(f, key);
    return b ? fold_replace(f, &b->text, text) : CHELA_OK;
}

void ch_fold_close(struct ch_fold *f, unsigned key) {
    struct block *b = fold_find(f, key);
    if (!b || b->closed)
        return;
    b->closed = true;
    if (b->type == CH_BLOCK_TOOL_CALL && !(b->flags & CH_F_INVALID) && f->fn)
        f->fn(&(struct ch_model_event){.type = CH_MEV_CALL_CLOSED,
                                       .index = b->call,
                                       .runner = b->runner,
                                       .id = b->id,
                                       .name = b->name,
                                       .so_far = ch_buf_sv(&b->text)},
              f->user);
}

void ch_fold_close_all(struct ch_fold *f) {
    for (size_t i = 0; i < f->n; i++)
        f->blocks[i].closed = true;
}

void ch_fold_release_key(struct ch_fold *f, unsigned key) {
    if (key < f->nslots)
        f->slots[key] = 0;
}

bool ch_fold_ends_cut(const struct ch_fold *f) {
    const struct block *last = f->n ? &f->blocks[f->n - 1] : NULL;
    return last && last->type == CH_BLOCK_TOOL_CALL &&
           !ch_is_json(ch_buf_sv(&last->text), CH_JSON_OBJECT);
}

void ch_fold_cut(struct ch_fold *f) {
    if (ch_fold_ends_cut(f))
        f->blocks[f->n - 1].closed = false;
}

void ch_fold_abandon(struct ch_fold *f) {
    for (size_t i = 0; i < f->n; i++)
        f->blocks[i].closed = false;
}

bool ch_fold_has(const struct ch_fold *f, enum ch_block_type type) {
    for (size_t i = 0; i < f->n; i++)
        if (f->blocks[i].type == type && f->blocks[i].text.n)
            return true;
    return false;
}

struct ch_sv ch_fold_block_text(const struct ch_fold *f, unsigned key) {
    const struct block *b = fold_find(f, key);
    return b ? ch_buf_sv(&b->text) : ch_sv(NULL, 0);
}

/* Classify a call's arguments. Some servers write "" or null for no arguments. */
static void finish_call(struct block *b) {
    if (!b->closed) {
        b->flags |= CH_F_CUT;
        return;
    }
    struct ch_sv text = ch_sv_trim(ch_buf_sv(&b->text));
    if (!text.n || ch_sv_is(text, "null")) {
        ch_buf_clear(&b->text);
        CH_BUF_LIT(&b->text, "{}");
        return;
    }
    if (ch_is_json(text, CH_JSON_OBJECT))
        return;
    CH_BUF_AUTO repaired = {0};
    if (!ch_json_repair(text, &repaired) || !ch_is_json(ch_buf_sv(&repaired), CH_JSON_OBJECT)) {
        b->flags |= CH_F_INVALID;
        return;
    }
    b->flags |= CH_F_REPAIRED;
    ch_buf_clear(&b->text);
    ch_buf_add_sv(&b->text, ch_buf_sv(&repaired));
}

static bool fold_id_taken(const struct ch_fold *f, size_t before, struct ch_sv id) {
    for (size_t i = 0; i < before; i++)
        if (f->blocks[i].type == CH_BLOCK_TOOL_CALL && ch_sv_eq(f->blocks[i].id, id))
            return true;
    return false;
}

/* Every call needs a unique id, because results are matched by id. The time distinguishes
 * generated ids of different turns. *again is the number for an id that occurs for the third
 * time or more often; it only grows, so that equal ids do not try all numbers again. */
static void finish_id(struct ch_fold *f, size_t at, int64_t ts, unsigned *again) {
    struct block *b = &f->blocks[at];
    if (!b->id.n)
        b->id = ch_sv_str(
            ch_arena_printf(&f->names, "call_%llx_%u", (unsigned long long)ts, b->call));
    struct ch_sv base = b->id;
    for (bool second = true; fold_id_taken(f, at, b->id); second = false)
        b->id = ch_sv_str(ch_arena_printf(&f->names, "%.*s_%u", CH_SV_FMT(base),
                                          second ? 2 : (*again)++));
}

/* True for blocks to drop: vendors reject empty text in a history. Reasoning may consist of
 * a signature alone. */
static bool fold_is_void(const struct block *b) {
    switch (b->type) {
    case CH_BLOCK_TEXT:
    case CH_BLOCK_REFUSAL:
    case CH_BLOCK_OPAQUE:
        return !b->text.n;
    case CH_BLOCK_IMAGE:
    case CH_BLOCK_AUDIO:
        return !b->text.n && !(b->flags & CH_F_INVALID);
    case CH_BLOCK_REASONING:
        return !b->text.n && !b->extra.n;
    default:
        return false;
    }
}

static struct ch_block fold_view(const struct block *b) {
    return (struct ch_block){
        .type = b->type,
        .flags = b->flags,
        .runner = b->runner,
        .text = ch_buf_sv(&b->text),
        .id = b->id,
        .name = b->name,
        .extra = ch_buf_sv(&b->extra),
    };
}

bool ch_fold_nth(const struct ch_fold *f, enum ch_block_type type, size_t n,
                 struct ch_block *out) {
    for (size_t i = 0; i < f->n; i++) {
        if (f->blocks[i].type != type || fold_is_void(&f->blocks[i]) || n-- > 0)
            continue;
        *out = fold_view(&f->blocks[i]);
        return true;
    }
    return false;
}

struct ch_msg *ch_fold_message(struct ch_fold *f, const struct ch_msg_author *by, int64_t ts) {
    char room[512]; /* most replies have few blocks */
    CH_ARENA_AUTO parts = CH_ARENA_IN(room);
    struct ch_block *out = ch_arena_alloc(&parts, f->n * sizeof(*out));
    size_t n = 0;
    unsigned again = 3;
    for (size_t i = 0; i < f->n; i++) {
        struct block *b = &f->blocks[i];
        if (fold_is_void(b))
            continue;
        if (b->type == CH_BLOCK_TOOL_CALL) {
            finish_call(b);
            finish_id(f, i, ts, &again);
        }
        out[n++] = fold_view(b);
    }
    return n ? ch_msg_by(CH_MSG_ASSISTANT, out, n, by, ts) : NULL;
}
