/* kept_replay.c -- see kept_replay.h. */
#include "gateway/http/kept_replay.h"

#include "base/grow.h"
#include "base/mem.h"
#include "json/json.h"
#include "model/message/message_json.h"

struct replay {
    struct ch_arena *arena;
    struct ch_msg **msgs; /* the new history: owned array of owned messages */
    size_t n, cap;
    const char **used; /* records; owned array */
    size_t nused, used_cap;
};

/* A record, read. */
struct kept {
    struct ch_msg **msgs; /* owned messages, in the arena */
    size_t n;             /* the last one: the reply, or results if there are any */
    const struct ch_msg *reply, *results; /* results NULL: none */
    const struct ch_json *calls;
};

static void replay_push(struct replay *r, struct ch_msg *m) {
    CH_GROW(r->msgs, r->n, r->cap, 16);
    r->msgs[r->n++] = m;
}

static void kept_release(struct kept *k) {
    for (size_t i = 0; i < k->n; i++)
        ch_msg_free(k->msgs[i]);
}

static bool kept_read(struct ch_arena *a, struct ch_sv json, struct kept *k) {
    const struct ch_json *v = NULL, *list;
    *k = (struct kept){0};
    if (ch_json_parse(a, ch_arena_sv(a, json), CH_JSON_STRICT, &v, NULL, NULL) < 0)
        return false;
    k->calls = ch_json_get(v, "calls");
    list = ch_json_get(v, "messages");
    if (!ch_json_is(list, CH_JSON_ARRAY) || !list->n)
        return false;
    k->msgs = ch_arena_alloc(a, list->n * sizeof(*k->msgs));
    for (CH_JSON_EACH(m, list)) {
        if (ch_msg_read(m, &k->msgs[k->n], NULL) < 0)
            return false;
        k->n++;
    }
    const struct ch_msg *last = k->msgs[k->n - 1];
    if (last->kind == CH_MSG_RESULTS && k->n > 1)
        k->results = last;
    k->reply = k->results ? k->msgs[k->n - 2] : last;
    return k->reply->kind == CH_MSG_ASSISTANT;
}

/* --- comparing */

static bool kept_is_call(const struct ch_block *b) {
    return b->type == CH_BLOCK_TOOL_CALL;
}

static bool kept_calls(const struct kept *k, const struct ch_block *b) {
    for (CH_JSON_EACH(id, k->calls))
        if (kept_is_call(b) && ch_sv_eq(ch_json_str(id), b->id))
            return true;
    return false;
}

static bool same_arguments(struct ch_arena *a, struct ch_sv x, struct ch_sv y) {
    const struct ch_json *v = NULL, *w = NULL;
    if (ch_sv_eq(ch_sv_trim(x), ch_sv_trim(y)))
        return true;
    return ch_json_parse(a, ch_arena_sv(a, x), CH_JSON_STRICT, &v, NULL, NULL) == 0 &&
           ch_json_parse(a, ch_arena_sv(a, y), CH_JSON_STRICT, &w, NULL, NULL) == 0 &&
           ch_json_equal(v, w);
}

/* Are the calls of the client all there, as they were, and no others? */
static bool same_calls(struct ch_arena *a, const struct kept *k, const struct ch_msg *posted) {
    uint32_t i = 0, j = 0;
    for (;; i++, j++) {
        while (i < posted->nblocks && !kept_is_call(&posted->blocks[i]))
            i++;
        while (j < k->reply->nblocks && !kept_calls(k, &k->reply->blocks[j]))
            j++;
        if (i == posted->nblocks || j == k->reply->nblocks)
            return i == posted->nblocks && j == k->reply->nblocks;
        const struct ch_block *p = &posted->blocks[i], *b = &k->reply->blocks[j];
        if (!ch_sv_eq(p->id, b->id) || !ch_sv_eq(p->name, b->name) ||
            !same_arguments(a, p->text, b->text))
            return false;
    }
}

/* Appends the words of a reply without spaces, which the protocols add between replies. */
static void kept_add_words(const struct ch_msg *m, struct ch_buf *out) {
    for (uint32_t i = 0; m->kind == CH_MSG_ASSISTANT && i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        for (size_t k = 0; b->type == CH_BLOCK_TEXT && k < b->text.n; k++)
            if ((unsigned char)b->text.p[k] > ' ')
                ch_buf_addc(out, b->text.p[k]);
    }
}

/* Has the reply the words that the client received: of the whole run, or of its last reply? */
static bool same_words(const struct kept *k, const struct ch_msg *posted) {
    CH_BUF_AUTO all = {0}, last = {0}, its = {0};
    for (size_t i = 0; i < k->n; i++)
        kept_add_words(k->msgs[i], &all);
    kept_add_words(k->reply, &last);
    kept_add_words(posted, &its);
    return ch_sv_eq(ch_buf_sv(&its), ch_buf_sv(&last)) ||
           ch_sv_eq(ch_buf_sv(&its), ch_buf_sv(&all));
}

/* --- a reply that the client changed */

/* The calls of an earlier reply of the run; its words and its reasoning were for another text. */
static void replay_push_calls(struct replay *r, const struct ch_msg *m) {
    struct ch_block *blocks = ch_arena_alloc(r->arena, (m->nblocks + 1) * sizeof(*blocks));
    size_t n = 0;
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (kept_is_call(&m->blocks[i]))
            blocks[n++] = m->blocks[i];
    if (n)
        replay_push(r, ch_msg_like(m, CH_MSG_ASSISTANT, blocks, n));
}

static void replay_push_before(struct replay *r, const struct kept *k) {
    for (size_t i = 0; i + 1 < k->n && k->msgs[i] != k->reply; i++) {
        const struct ch_msg *m = k->msgs[i];
        if (m->kind == CH_MSG_ASSISTANT && ch_msg_has_calls(m))
            replay_push_calls(r, m);
        else if (m->kind == CH_MSG_RESULTS)
            replay_push(r, ch_msg_like(m, CH_MSG_RESULTS, m->blocks, m->nblocks));
    }
}

/* Appends the kept calls from *at to the next call of the client. */
static size_t replay_add_calls(const struct kept *k, uint32_t *at, struct ch_sv stop,
                               struct ch_block *out) {
    size_t n = 0;
    for (; *at < k->reply->nblocks; ++*at) {
        const struct ch_block *b = &k->reply->blocks[*at];
        if (stop.n && kept_is_call(b) && ch_sv_eq(b->id, stop))
            break;
        if (kept_is_call(b) && !kept_calls(k, b))
            out[n++] = *b;
    }
    return n;
}

/* The posted reply with the kept calls in the places that they had beside the client's. */
static void replay_push_changed(struct replay *r, const struct kept *k,
                                const struct ch_msg *posted) {
    size_t most = (size_t)posted->nblocks + k->reply->nblocks, n = 0;
    struct ch_block *blocks = ch_arena_alloc(r->arena, most * sizeof(*blocks));
    uint32_t at = 0, last = 0;
    for (uint32_t i = 0; i < posted->nblocks; i++)
        if (kept_calls(k, &posted->blocks[i]))
            last = i;
    for (uint32_t i = 0; i < posted->nblocks; i++) {
        if (kept_calls(k, &posted->blocks[i]))
            n += replay_add_calls(k, &at, posted->blocks[i].id, blocks + n);
        blocks[n++] = posted->blocks[i];
        if (i == last)
            n += replay_add_calls(k, &at, CH_SV(""), blocks + n);
    }
    replay_push(r, ch_msg_like(posted, CH_MSG_ASSISTANT, blocks, n));
}

/* --- a history */

static void replay_push_results(struct replay *r, const struct kept *k,
                                const struct ch_msg *posted) {
    size_t kept = k->results ? k->results->nblocks : 0, n = kept + posted->nblocks;
    struct ch_block *blocks = ch_arena_alloc(r->arena, (n + 1) * sizeof(*blocks));
    if (kept)
        memcpy(blocks, k->results->blocks, kept * sizeof(*blocks));
    memcpy(blocks + kept, posted->blocks, posted->nblocks * sizeof(*blocks));
    replay_push(r, ch_msg_like(posted, CH_MSG_RESULTS, blocks, n));
}

static bool replay_has_call(const struct kept *k, const struct ch_msg *posted) {
    for (uint32_t i = 0; i < posted->nblocks; i++)
        if (kept_calls(k, &posted->blocks[i]))
            return true;
    return false;
}

static bool replay_once(struct replay *r, const char *record) {
    for (size_t i = 0; i < r->nused; i++)
        if (r->used[i] == record)
            return false;
    CH_GROW(r->used, r->nused, r->used_cap, 8);
    r->used[r->nused++] = record;
    return true;
}

/* True: reply and results are in the new history. */
static bool replay_reply(struct replay *r, struct ch_sv record, const struct ch_msg *reply,
                         const struct ch_msg *results) {
    struct kept k;
    bool fits = kept_read(r->arena, record, &k) && replay_has_call(&k, reply);
    if (fits && same_calls(r->arena, &k, reply) && same_words(&k, reply)) {
        for (size_t i = 0; i < k.n && k.msgs[i] != k.results; i++)
            replay_push(r, ch_msg_like(k.msgs[i], (enum ch_msg_kind)k.msgs[i]->kind,
                                       k.msgs[i]->blocks, k.msgs[i]->nblocks));
    } else if (fits) {
        replay_push_before(r, &k);
        replay_push_changed(r, &k, reply);
    }
    if (fits)
        replay_push_results(r, &k, results);
    kept_release(&k);
    return fits;
}

void ch_kept_replay(const struct ch_kept_scope *s, struct ch_client_history *h) {
    struct replay r = {.arena = h->arena};
    uint64_t before = 0;
    ch_client_history_settle(h);
    for (size_t i = 0; i < h->n; i++) {
        struct ch_msg *m = h->msgs[i], *next = i + 1 < h->n ? h->msgs[i + 1] : NULL;
        bool answered = m->kind == CH_MSG_ASSISTANT && next && next->kind == CH_MSG_RESULTS;
        struct ch_sv record = answered ? ch_kept_calls_find(s, m, before) : CH_SV("");
        before = ch_kept_calls_fold(before, m);
        if (!record.n || !replay_once(&r, record.p) || !replay_reply(&r, record, m, next)) {
            replay_push(&r, m);
            continue;
        }
        before = ch_kept_calls_fold(before, next);
        ch_msg_free(m);
        ch_msg_free(next);
        i++;
    }
    ch_free(h->msgs);
    ch_free(r.used);
    h->msgs = r.msgs;
    h->n = r.n;
    h->cap = r.cap;
}
