/* responses_items.c -- see responses_items.h.
 *
 * The fold key of a block is its item's index; further parts of a message have keys
 * beyond those. */
#include "model/vendor/responses/responses_items.h"

#include "base/limits.h"
#include "base/mix.h"
#include "base/utf8.h"
#include "json/members.h"
#include "json/pull.h"
#include "json/writer.h"
#include "model/codec/encode.h"
#include "model/vendor/responses/responses_vendor.h"

#define PART_KEYS CH_LIMIT_REPLY_BLOCKS /* first key of parts */

void ch_responses_items_release(struct ch_responses_items *x) {
    ch_free(x->list);
    ch_buf_release(&x->scratch);
    ch_buf_release(&x->inner);
    ch_buf_release(&x->text);
}

static struct ch_responses_item *item_at(struct ch_responses_items *x, unsigned index) {
    if (index >= PART_KEYS)
        return NULL;
    if (index >= x->cap) {
        size_t cap = CH_MIN(CH_MAX(16, 2 * ((size_t)index + 1)), (size_t)PART_KEYS);
        x->list = ch_realloc(x->list, cap * sizeof(*x->list));
        memset(x->list + x->cap, 0, (cap - x->cap) * sizeof(*x->list));
        x->cap = cap;
    }
    x->n = CH_MAX(x->n, (size_t)index + 1);
    return &x->list[index];
}

/* The key of a part of an item; false: too many parts. Deltas usually belong to the part
 * opened last, so the search starts there. */
static bool responses_items_key_of(struct ch_responses_items *x, unsigned index, int64_t part,
                                   unsigned *key) {
    *key = index;
    if (part <= 0)
        return true;
    for (unsigned i = x->nparts; i-- > 0;)
        if (x->parts[i].item == index && x->parts[i].part == part) {
            *key = PART_KEYS + i;
            return true;
        }
    if (x->nparts == CH_RESPONSES_PARTS)
        return false;
    x->parts[x->nparts].item = index;
    x->parts[x->nparts].part = part;
    x->parts[x->nparts].matched = false;
    *key = PART_KEYS + x->nparts++;
    return true;
}

/* --- an item's JSON */

struct wire_item {
    struct ch_sv type, id, call_id, name, status, phase, text, encrypted, role;
    struct ch_sv image, format; /* data of an image_generation_call: base64; "png" */
    struct ch_sv summary, content, namespace, caller, action; /* JSON */
};

static bool responses_items_read_item(struct ch_responses_items *x, struct ch_sv json,
                                      struct wire_item *w) {
    static const struct ch_member members[] = {
        CH_MEMBER(struct wire_item, type, "type", CH_MEMBER_STR),
        CH_MEMBER(struct wire_item, id, "id", CH_MEMBER_STR),
        CH_MEMBER(struct wire_item, call_id, "call_id", CH_MEMBER_STR),
        CH_MEMBER(struct wire_item, name, "name", CH_MEMBER_STR),
        CH_MEMBER(struct wire_item, status, "status", CH_MEMBER_STR),
        CH_MEMBER(struct wire_item, phase, "phase", CH_MEMBER_STR),
        CH_MEMBER(struct wire_item, role, "role", CH_MEMBER_STR),
        CH_MEMBER(struct wire_item, encrypted, "encrypted_content", CH_MEMBER_STR),
        CH_MEMBER(struct wire_item, summary, "summary", CH_MEMBER_RAW),
        CH_MEMBER(struct wire_item, content, "content", CH_MEMBER_RAW),
        CH_MEMBER(struct wire_item, namespace, "namespace", CH_MEMBER_RAW),
        CH_MEMBER(struct wire_item, caller, "caller", CH_MEMBER_RAW),
        CH_MEMBER(struct wire_item, text, "arguments", CH_MEMBER_TEXT),
        CH_MEMBER(struct wire_item, text, "input", CH_MEMBER_TEXT),
        CH_MEMBER(struct wire_item, action, "action", CH_MEMBER_RAW),
        CH_MEMBER(struct wire_item, action, "operation", CH_MEMBER_RAW),
        CH_MEMBER(struct wire_item, image, "result", CH_MEMBER_STR),
        CH_MEMBER(struct wire_item, format, "output_format", CH_MEMBER_STR),
    };
    *w = (struct wire_item){0};
    return ch_members_read(json, &x->scratch, members, CH_LEN(members), w) && w->type.n;
}

static enum ch_responses_kind kind_of_type(struct ch_sv type) {
    static const struct {
        const char *type;
        enum ch_responses_kind kind;
    } kinds[] = {
        {"message", CH_ITEM_MESSAGE},
        {"reasoning", CH_ITEM_REASONING},
        {"function_call", CH_ITEM_CALL},
    };
    for (size_t i = 0; i < CH_LEN(kinds); i++)
        if (ch_sv_is(type, kinds[i].type))
            return kinds[i].kind;
    return CH_ITEM_UNKNOWN;
}

static enum ch_responses_kind responses_items_kind_of(const struct ch_responses_items *x,
                                                      const struct wire_item *w) {
    const struct ch_responses_vendor *v = ch_responses_vendor(w->type);
    if (ch_sv_is(w->role, "user")) /* kept by a compaction */
        return CH_ITEM_UNKNOWN;
    if (!v)
        return kind_of_type(w->type);
    bool ours = ch_responses_vendor_is_ours(v, x->endpoint, x->server_tools, w->name);
    return ours ? CH_ITEM_VENDOR_CALL : CH_ITEM_SERVICE_CALL;
}

static uint64_t responses_items_id_of(const struct wire_item *w) {
    struct ch_sv id = w->id.n ? w->id : w->call_id;
    return id.n ? ch_mix_text(1, id) : 0;
}

/* A whole item under another id than the last was not announced. */
size_t ch_responses_find(struct ch_responses_items *x, struct ch_sv id, struct ch_sv json,
                         bool added, unsigned last) {
    struct wire_item w = {.id = id};
    if (added || !x->n)
        return x->n;
    if (json.n)
        responses_items_read_item(x, json, &w);
    uint64_t wanted = responses_items_id_of(&w);
    for (size_t i = x->n; wanted && i-- > 0;)
        if (x->list[i].id == wanted)
            return i;
    bool other = json.n && wanted && last < x->n && x->list[last].id;
    return other ? x->n : last;
}

static bool responses_items_is_call(enum ch_responses_kind kind) {
    return kind == CH_ITEM_CALL || kind == CH_ITEM_VENDOR_CALL;
}

/* --- pieces */

static int responses_items_fold_piece(struct ch_fold *f, unsigned key, enum ch_responses_delta kind,
                                      struct ch_sv piece) {
    switch (kind) {
    case CH_DELTA_TEXT:
        return ch_fold_text(f, key, piece);
    case CH_DELTA_REFUSAL:
        return ch_fold_refusal(f, key, piece);
    case CH_DELTA_REASONING:
        return ch_fold_reasoning(f, key, piece);
    case CH_DELTA_CALL:
        return ch_fold_call(f, key, CH_SV(""), CH_SV(""), piece);
    }
    CH_UNREACHABLE();
}

int ch_responses_add(struct ch_responses_items *x, struct ch_fold *f, unsigned index, int64_t part,
                     enum ch_responses_delta kind, struct ch_sv piece, unsigned *key) {
    struct ch_responses_item *item = item_at(x, index);
    bool parted = kind == CH_DELTA_TEXT || kind == CH_DELTA_REFUSAL;
    *key = index;
    if (item && item->kind == CH_ITEM_SERVICE_CALL)
        return CHELA_OK;
    if (!item || !responses_items_key_of(x, index, parted ? part : 0, key))
        return CHELA_ELIMIT;
    item->known = true;
    if (kind == CH_DELTA_REASONING && part != item->part) {
        item->part = part;
        if (ch_fold_block_text(f, *key).n && ch_fold_reasoning(f, *key, CH_SV("\n\n")) < 0)
            return CHELA_ELIMIT;
    }
    return responses_items_fold_piece(f, *key, kind, piece);
}

/* An empty final text is ignored: some servers omit at the end what they streamed. A block of
 * another kind with this key keeps its text: a refusal or reasoning does not replace an answer. */
static int responses_items_settle(struct ch_fold *f, unsigned key, enum ch_responses_delta kind,
                                  struct ch_sv text) {
    int rc = text.n ? responses_items_fold_piece(f, key, kind, CH_SV("")) : CHELA_OK;
    if (!text.n || rc < 0)
        return rc;
    struct ch_sv have = ch_fold_block_text(f, key);
    if (have.n > text.n || (have.n && memcmp(have.p, text.p, have.n) != 0))
        return ch_fold_replace(f, key, text);
    return responses_items_fold_piece(f, key, kind, ch_sv(text.p + have.n, text.n - have.n));
}

int ch_responses_settle(struct ch_responses_items *x, struct ch_fold *f, unsigned index,
                        int64_t part, enum ch_responses_delta kind, struct ch_sv text) {
    struct ch_responses_item *item = item_at(x, index);
    bool call = kind == CH_DELTA_CALL;
    unsigned key;
    if (item && item->kind == CH_ITEM_SERVICE_CALL)
        return CHELA_OK;
    if (!item || !responses_items_key_of(x, index, call ? 0 : part, &key))
        return CHELA_ELIMIT;
    item->known = true;
    item->arguments_done |= call;
    return responses_items_settle(f, key, kind, text);
}

static int open_call(struct ch_responses_item *item, struct ch_fold *f, unsigned index,
                     const struct wire_item *w) {
    const struct ch_responses_vendor *v = ch_responses_vendor(w->type);
    struct ch_sv name = v && v->name ? ch_sv_str(v->name) : w->name;
    int rc = ch_fold_call(f, index, w->call_id.n ? w->call_id : w->id, name, CH_SV(""));
    if (v)
        ch_fold_runner(f, index, CH_RUN_RUNTIME);
    item->is_text = v && !v->name;
    return rc;
}

int ch_responses_begin(struct ch_responses_items *x, struct ch_fold *f, unsigned index,
                       struct ch_sv json) {
    struct wire_item w;
    struct ch_responses_item *item = item_at(x, index);
    if (!item)
        return CHELA_ELIMIT;
    if (!responses_items_read_item(x, json, &w))
        return CHELA_OK;
    item->known = true;
    item->id = responses_items_id_of(&w);
    item->kind = (uint8_t)responses_items_kind_of(x, &w);
    if (item->kind == CH_ITEM_REASONING)
        return ch_fold_reasoning(f, index, CH_SV(""));
    if (!responses_items_is_call(item->kind))
        return CHELA_OK;
    return open_call(item, f, index, &w);
}

/* --- whole items */

struct wire_part {
    struct ch_sv text, refusal;
    struct ch_sv annotations; /* JSON */
};

/* Read the next part of an array. */
static bool responses_items_next_part(struct ch_pull *p, struct wire_part *w) {
    static const struct ch_member members[] = {
        CH_MEMBER(struct wire_part, text, "text", CH_MEMBER_STR),
        CH_MEMBER(struct wire_part, refusal, "refusal", CH_MEMBER_STR),
        CH_MEMBER(struct wire_part, annotations, "annotations", CH_MEMBER_RAW),
    };
    *w = (struct wire_part){0};
    if (!ch_pull_item(p))
        return false;
    ch_members_pull(p, members, CH_LEN(members), w);
    return true;
}

static int keep_text_extra(struct ch_fold *f, unsigned key, const struct wire_item *item,
                           const struct wire_part *part) {
    CH_BUF_AUTO extra = {0};
    struct ch_jw w = ch_jw(&extra);
    bool cited = part->annotations.n > 2 && *part->annotations.p == '[';
    if (!item->id.n && !item->phase.n && !cited)
        return CHELA_OK;
    ch_jw_begin(&w, '{');
    if (item->id.n)
        ch_jw_kstr(&w, "id", item->id);
    if (item->phase.n)
        ch_jw_kstr(&w, "phase", item->phase);
    if (cited)
        ch_jw_kraw(&w, "annotations", part->annotations);
    ch_jw_end(&w, '}');
    return ch_fold_extra(f, key, ch_buf_sv(&extra));
}

/* --- parts of a whole message */

/* The match flag of a part of an item, and its key; NULL: the part is one of another item. i: 0
 * for the first part, up to x->nparts for others in stream order. */
static bool *match_flag(struct ch_responses_items *x, unsigned index, unsigned i, unsigned *key,
                        int64_t *part) {
    *key = index;
    *part = 0;
    if (i == 0)
        return &x->list[index].matched;
    *key = PART_KEYS + i - 1;
    *part = x->parts[i - 1].part;
    return x->parts[i - 1].item == index ? &x->parts[i - 1].matched : NULL;
}

/* Find the streamed part that a part of the whole item repeats: the one with the same
 * content_index, or else one whose text is the beginning of this text. Some servers count
 * content_index from 1. */
static bool find_streamed(struct ch_responses_items *x, const struct ch_fold *f, unsigned index,
                          int64_t at, struct ch_sv text, unsigned *key) {
    for (int pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i <= x->nparts; i++) {
            int64_t part;
            bool *matched = match_flag(x, index, i, key, &part);
            struct ch_sv have = ch_fold_block_text(f, *key);
            if (!matched || *matched || !have.n || (pass == 0 && part != at))
                continue;
            if (pass == 1 && (have.n > text.n || memcmp(have.p, text.p, have.n) != 0))
                continue;
            return *matched = true;
        }
    }
    return false;
}

static void forget_matches(struct ch_responses_items *x, unsigned index) {
    int64_t part;
    unsigned key;
    for (unsigned i = 0; i <= x->nparts; i++) {
        bool *matched = match_flag(x, index, i, &key, &part);
        if (matched)
            *matched = false;
    }
}

static int done_message(struct ch_responses_items *x, struct ch_fold *f, unsigned index,
                        const struct wire_item *item, bool keep) {
    struct ch_pull p;
    struct wire_part part;
    int rc = CHELA_OK;
    ch_pull_init(&p, item->content, &x->inner);
    if (!ch_pull_enter(&p, '['))
        return CHELA_OK;
    forget_matches(x, index);
    for (int64_t i = 0; rc == CHELA_OK && responses_items_next_part(&p, &part); i++) {
        unsigned key;
        if (!part.text.n && !part.refusal.n)
            continue;
        struct ch_sv text = part.text.n ? part.text : part.refusal;
        if (!find_streamed(x, f, index, i, text, &key) &&
            !responses_items_key_of(x, index, i, &key))
            return CHELA_ELIMIT;
        if (!part.text.n)
            rc = responses_items_settle(f, key, CH_DELTA_REFUSAL, part.refusal);
        else if ((rc = responses_items_settle(f, key, CH_DELTA_TEXT, part.text)) == CHELA_OK &&
                 keep)
            rc = keep_text_extra(f, key, item, &part);
    }
    return rc;
}

/* Join the texts of an array of parts with blank lines. */
static void join_parts(struct ch_responses_items *x, struct ch_sv array) {
    struct ch_pull p;
    struct wire_part part;
    ch_pull_init(&p, array, &x->inner);
    if (!ch_pull_enter(&p, '['))
        return;
    while (responses_items_next_part(&p, &part)) {
        if (x->text.n && part.text.n)
            CH_BUF_LIT(&x->text, "\n\n");
        ch_buf_add_sv(&x->text, part.text);
    }
}

/* Copy an item without a member, and without those that are null, to x->text. Servers in front
 * of the service write such members, which it refuses in a request. False: the item is nested
 * too deep. */
static bool copy_without(struct ch_responses_items *x, struct ch_sv json, const char *without) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    ch_buf_clear(&x->text);
    if (ch_json_parse(&arena, json, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return false;
    struct ch_jw w = ch_jw(&x->text);
    ch_jw_begin(&w, '{');
    for (CH_JSON_MEMBERS(key, value, v))
        if (!ch_sv_is(ch_json_str(key), without) && value->type != CH_JSON_NULL) {
            ch_jw_key_sv(&w, ch_json_str(key));
            ch_jw_value(&w, value);
        }
    ch_jw_end(&w, '}');
    return true;
}

static int done_reasoning(struct ch_responses_items *x, struct ch_fold *f, unsigned index,
                          const struct wire_item *item, struct ch_sv json) {
    struct ch_responses_item *state = &x->list[index];
    ch_buf_clear(&x->text);
    join_parts(x, item->summary);
    bool summary = x->text.n;
    if (!summary)
        join_parts(x, item->content);
    bool open = !summary && x->text.n; /* the reasoning itself, not a summary */
    int rc = responses_items_settle(f, index, CH_DELTA_REASONING, ch_buf_sv(&x->text));
    if (rc < 0 || state->kept || (!item->encrypted.n && !open))
        return rc;
    state->kept = true;
    rc = ch_fold_reasoning(f, index, CH_SV(""));
    if (!ch_fold_block_text(f, index).n)
        ch_fold_flag(f, index, CH_F_REDACTED);
    if (rc < 0 || !copy_without(x, json, "status")) /* the service refuses it in reasoning */
        return rc;
    return ch_fold_extra(f, index, ch_buf_sv(&x->text));
}

static int keep_call_extra(struct ch_fold *f, unsigned key, const struct wire_item *item) {
    CH_BUF_AUTO extra = {0};
    struct ch_jw w = ch_jw(&extra);
    bool vendor = ch_responses_vendor(item->type) != NULL;
    bool name = item->namespace.n && *item->namespace.p == '"';
    bool caller = item->caller.n && *item->caller.p == '{';
    if (!item->id.n && !name && !caller && !vendor)
        return CHELA_OK;
    ch_jw_begin(&w, '{');
    if (vendor)
        ch_jw_kstr(&w, "type", item->type);
    if (item->id.n)
        ch_jw_kstr(&w, "id", item->id);
    if (name)
        ch_jw_kraw(&w, "namespace", item->namespace);
    if (caller)
        ch_jw_kraw(&w, "caller", item->caller);
    ch_jw_end(&w, '}');
    return ch_fold_extra(f, key, ch_buf_sv(&extra));
}

/* The free text of a custom call becomes an object of arguments. */
static int wrap_text(struct ch_responses_items *x, struct ch_fold *f, unsigned index) {
    CH_BUF_AUTO object = {0};
    struct ch_jw w = ch_jw(&object);
    if (!x->list[index].is_text)
        return CHELA_OK;
    x->list[index].is_text = false;
    if (!x->endpoint) { /* a recording is shown as the service wrote it */
        ch_fold_flag(f, index, CH_F_INVALID);
        return CHELA_OK;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "input", ch_fold_block_text(f, index));
    ch_jw_end(&w, '}');
    return ch_fold_replace(f, index, ch_buf_sv(&object));
}

static int done_call(struct ch_responses_items *x, struct ch_fold *f, unsigned index,
                     const struct wire_item *item) {
    struct ch_responses_item *state = &x->list[index];
    struct ch_sv text = item->action.n ? item->action : item->text;
    if (!ch_utf8_valid(text)) { /* the bytes of an object were not validated yet */
        ch_buf_clear(&x->text);
        ch_utf8_add_valid(&x->text, text);
        text = ch_buf_sv(&x->text);
    }
    if (state->kept && ch_responses_vendor(item->type)) /* its text was wrapped */
        return CHELA_OK;
    int rc = open_call(state, f, index, item);
    if (rc == CHELA_OK)
        rc = responses_items_settle(f, index, CH_DELTA_CALL, text);
    if (rc == CHELA_OK && !state->kept)
        rc = keep_call_extra(f, index, item);
    state->kept = true;
    if (ch_sv_is(item->status, "incomplete"))
        return rc;
    if (rc == CHELA_OK)
        rc = wrap_text(x, f, index);
    ch_fold_close(f, index);
    return rc;
}

/* The image of an image_generation_call. The rest of the item is kept, because the item goes
 * back to the service whole. */
static int done_image(struct ch_responses_items *x, struct ch_fold *f, unsigned index,
                      const struct wire_item *item, struct ch_sv json) {
    CH_BUF_AUTO type = {0};
    if (x->list[index].kept)
        return CHELA_OK;
    x->list[index].kept = true;
    ch_buf_addf(&type, "image/%.*s",
                CH_SV_FMT(item->format.n && item->format.n < 16 ? item->format : CH_SV("png")));
    int rc = ch_fold_media(f, index, CH_BLOCK_IMAGE, ch_buf_sv(&type), item->image);
    if (rc < 0 || !copy_without(x, json, "result"))
        return rc;
    return ch_fold_extra(f, index, ch_buf_sv(&x->text));
}

int ch_responses_done(struct ch_responses_items *x, struct ch_fold *f, unsigned index,
                      struct ch_sv json) {
    struct wire_item w;
    struct ch_responses_item *item = item_at(x, index);
    if (!item)
        return CHELA_ELIMIT;
    if (!responses_items_read_item(x, json, &w))
        return CHELA_OK;
    bool first = !item->done;
    item->known = item->done = true;
    if (!item->id)
        item->id = responses_items_id_of(&w);
    item->kind = (uint8_t)responses_items_kind_of(x, &w);
    switch ((enum ch_responses_kind)item->kind) {
    case CH_ITEM_MESSAGE:
        return done_message(x, f, index, &w, first);
    case CH_ITEM_REASONING:
        return done_reasoning(x, f, index, &w, json);
    case CH_ITEM_CALL:
    case CH_ITEM_VENDOR_CALL:
        return done_call(x, f, index, &w);
    case CH_ITEM_SERVICE_CALL:
    case CH_ITEM_UNKNOWN:
        return ch_sv_is(w.type, "image_generation_call") && w.image.n
                   ? done_image(x, f, index, &w, json)
                   : ch_fold_opaque(f, index, w.type, json);
    }
    CH_UNREACHABLE();
}

/* --- the whole reply */

/* True if the end of the reply contains something new about an item: its encrypted form may
 * come only there (Azure). If all items were received, nothing is new; indices may differ
 * from those of the stream. */
static bool responses_items_is_news(const struct ch_responses_items *x, size_t at, size_t total,
                                    size_t known) {
    if (at >= x->n || !x->list[at].known)
        return known < total;
    const struct ch_responses_item *item = &x->list[at];
    return !item->done || (item->kind == CH_ITEM_REASONING && !item->kept);
}

static bool same_kind(const struct ch_responses_items *x, size_t at, struct ch_sv json) {
    static const struct ch_member members[] = {
        CH_MEMBER(struct wire_item, type, "type", CH_MEMBER_STR),
        CH_MEMBER(struct wire_item, name, "name", CH_MEMBER_STR),
    };
    CH_BUF_AUTO scratch = {0};
    struct wire_item item = {0};
    if (at >= x->n || !x->list[at].known)
        return true;
    ch_members_read(json, &scratch, members, CH_LEN(members), &item);
    return responses_items_kind_of(x, &item) == x->list[at].kind;
}

int ch_responses_output(struct ch_responses_items *x, struct ch_fold *f, struct ch_sv output) {
    CH_BUF_AUTO slices = {0}; /* struct ch_sv of each item */
    struct ch_pull p;
    struct ch_sv json;
    size_t total = 0, known = 0;
    int rc = CHELA_OK;
    for (size_t i = 0; i < x->n; i++)
        known += x->list[i].known;
    ch_pull_init(&p, output, &x->inner);
    if (ch_pull_enter(&p, '['))
        for (; ch_pull_item(&p) && ch_pull_raw(&p, &json); total++)
            ch_buf_add(&slices, (const char *)&json, sizeof(json));
    if (total > PART_KEYS)
        return CHELA_ELIMIT;
    for (size_t at = 0; rc == CHELA_OK && at < total; at++) {
        memcpy(&json, slices.p + at * sizeof(json), sizeof(json));
        if (responses_items_is_news(x, at, total, known) && same_kind(x, at, json))
            rc = ch_responses_done(x, f, (unsigned)at, json);
    }
    return rc;
}

void ch_responses_close(struct ch_responses_items *x, struct ch_fold *f) {
    for (size_t i = 0; i < x->n; i++)
        if (x->list[i].arguments_done) {
            wrap_text(x, f, (unsigned)i);
            ch_fold_close(f, (unsigned)i);
        }
}
