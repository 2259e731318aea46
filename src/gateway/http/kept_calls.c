/* kept_calls.c -- see kept_calls.h. */
#include "gateway/http/kept_calls.h"

#include <poll.h>
#include <stdlib.h>

#include "agent/run/act.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/request/auth.h"
#include "gateway/request/gateway_state.h"
#include "json/writer.h"
#include "model/message/ids.h"
#include "model/message/message_json.h"
#include "net/server.h"
#include "store/store.h"

#define STORED "calls/" /* prefix of a name in the sessions' store */
#define RANDOM_ID 16    /* bytes of an id that no other call has */
#define LOOKS 5         /* another worker may be storing the newest call just now */
#define LOOK_MS 20
#define HEX (2 * CH_SHA256_SIZE)

struct kept_record {
    unsigned refs;
    size_t n;
    char json[];
};

struct kept_name {
    unsigned char name[CH_SHA256_SIZE];
    struct kept_record *record; /* NULL: nothing is kept for the call */
    int64_t until;              /* ms, wall clock */
};

struct ch_kept_calls {
    struct kept_name all[CH_LIMIT_KEPT_CALLS]; /* a ring */
    size_t first, n, bytes;
};

/* --- names */

struct ch_kept_scope ch_kept_calls_scope(const struct ch_request *req, const char *agent,
                                         const struct ch_client_history *h) {
    struct ch_kept_scope s = {.gw = req->gw};
    struct ch_sha256 sha;
    if (req->x)
        ch_auth_shown(ch_exchange_inbound(req->x), s.who);
    ch_sha256_init(&sha);
    ch_sha256_add(&sha, s.who, sizeof(s.who));
    ch_sha256_add(&sha, agent, strlen(agent));
    ch_sha256_end(&sha, s.who);
    for (size_t i = 0; i < h->n; i++)
        s.before = ch_kept_calls_fold(s.before, h->msgs[i]);
    return s;
}

uint64_t ch_kept_calls_fold(uint64_t before, const struct ch_msg *m) {
    char kind = (char)m->kind;
    before = ch_hash(before, ch_sv(&kind, 1));
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        char type = (char)b->type;
        if (b->type == CH_BLOCK_REASONING || b->type == CH_BLOCK_OPAQUE)
            continue;
        before = ch_hash(before, ch_sv(&type, 1));
        before = ch_hash(before, b->id);
        before = ch_hash(before, b->type == CH_BLOCK_TOOL_RESULT ? CH_SV("") : b->name);
        before = ch_hash(before, ch_sv_trim(b->text));
    }
    return before;
}

/* before NULL: the name without the conversation. */
static void kept_name_of(const struct ch_kept_scope *s, const uint64_t *before, struct ch_sv id,
                         unsigned char out[CH_SHA256_SIZE]) {
    struct ch_sha256 sha;
    ch_sha256_init(&sha);
    ch_sha256_add(&sha, s->who, sizeof(s->who));
    ch_sha256_add(&sha, before ? "c" : "i", 1);
    if (before)
        ch_sha256_add(&sha, before, sizeof(*before));
    ch_sha256_add(&sha, id.p, id.n);
    ch_sha256_end(&sha, out);
}

/* --- memory */

static void kept_unref(struct ch_kept_calls *k, struct kept_record *r) {
    if (!r || --r->refs)
        return;
    k->bytes -= r->n;
    ch_free(r);
}

static void kept_drop_oldest(struct ch_kept_calls *k) {
    kept_unref(k, k->all[k->first].record);
    k->first = (k->first + 1) % CH_LIMIT_KEPT_CALLS;
    k->n--;
}

void ch_kept_calls_free(struct ch_kept_calls *k) {
    while (k && k->n)
        kept_drop_oldest(k);
    ch_free(k);
}

static struct kept_name *kept_find(const struct ch_kept_scope *s,
                                   const unsigned char name[CH_SHA256_SIZE]) {
    struct ch_kept_calls *k = s->gw->kept_calls;
    int64_t now = ch_now_ms(ch_loop_clock(s->gw->rt->loop));
    for (size_t i = k ? k->n : 0; i-- > 0;) {
        struct kept_name *e = &k->all[(k->first + i) % CH_LIMIT_KEPT_CALLS];
        if (memcmp(e->name, name, CH_SHA256_SIZE) == 0)
            return e->until > now ? e : NULL;
    }
    return NULL;
}

/* record: borrowed; NULL: nothing is kept. */
static void kept_remember(chela_gateway *gw, const unsigned char name[CH_SHA256_SIZE],
                          struct kept_record *record, int64_t until) {
    struct ch_kept_calls *k = gw->kept_calls;
    if (k->n == CH_LIMIT_KEPT_CALLS)
        kept_drop_oldest(k);
    struct kept_name *e = &k->all[(k->first + k->n++) % CH_LIMIT_KEPT_CALLS];
    memcpy(e->name, name, CH_SHA256_SIZE);
    e->record = record;
    e->until = until;
    if (record)
        record->refs++;
}

/* A record that the caller has to unref. */
static struct kept_record *kept_make(chela_gateway *gw, struct ch_sv json) {
    struct kept_record *r = ch_malloc(sizeof(*r) + json.n);
    if (!gw->kept_calls)
        gw->kept_calls = ch_alloc(sizeof(*gw->kept_calls));
    struct ch_kept_calls *k = gw->kept_calls;
    while (k->n && k->bytes + json.n > CH_LIMIT_KEPT_BYTES)
        kept_drop_oldest(k);
    k->bytes += json.n;
    r->refs = 1;
    r->n = json.n;
    memcpy(r->json, json.p, json.n);
    return r;
}

/* --- a run that has paused */

static bool kept_has_result(const struct ch_msg *results, struct ch_sv id) {
    for (uint32_t i = 0; i < results->nblocks; i++)
        if (results->blocks[i].type == CH_BLOCK_TOOL_RESULT &&
            ch_sv_eq(results->blocks[i].id, id))
            return true;
    return false;
}

static bool kept_is_clients(const struct ch_block *b, const struct ch_msg *results) {
    return b->type == CH_BLOCK_TOOL_CALL && b->id.n && !kept_has_result(results, b->id);
}

/* Writes the messages of the run from the first one. False: they have no call that the client does
 * not know. */
static bool kept_write(const chela_run *run, const struct ch_msg *results, size_t first,
                       struct ch_buf *out) {
    const struct ch_transcript *t = &run->session->transcript;
    const struct ch_msg *reply = run->reply;
    bool any = results->nblocks > 0;
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "calls", '[');
    for (uint32_t i = 0; i < reply->nblocks; i++)
        if (kept_is_clients(&reply->blocks[i], results))
            ch_jw_str(&w, reply->blocks[i].id);
    ch_jw_end(&w, ']');
    ch_jw_kbegin(&w, "messages", '[');
    for (size_t i = first; i < t->n && t->msgs[i] != reply; i++) {
        any |= t->msgs[i]->kind == CH_MSG_RESULTS;
        ch_msg_write(t->msgs[i], &w);
    }
    ch_msg_write(reply, &w);
    if (results->nblocks)
        ch_msg_write(results, &w);
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    return any;
}

/* As much of the run as may be kept: all its messages, or the last reply with its results. n 0:
 * nothing. */
static void kept_collect(const chela_run *run, const struct ch_msg *results, size_t began,
                         struct ch_buf *out) {
    const struct ch_transcript *t = &run->session->transcript;
    size_t last = began;
    while (last < t->n && t->msgs[last] != run->reply)
        last++;
    if (last >= t->n || ch_run_did(run, CH_RUN_REWROTE))
        began = last = t->n;
    bool any = kept_write(run, results, began, out);
    if (any && out->n > CH_LIMIT_KEPT_REPLY && began < last) {
        ch_buf_clear(out);
        any = kept_write(run, results, last, out);
    }
    if (any && out->n > CH_LIMIT_KEPT_REPLY)
        ch_log(CH_LOG_WARN, "gateway",
               "calls beside the calls of a client are too large to be kept for its next request");
    if (!any || out->n > CH_LIMIT_KEPT_REPLY)
        ch_buf_clear(out);
}

/* main: hexadecimal, the name that has the record; empty: this one gets it. */
static void kept_put_name(const struct ch_kept_scope *s, const uint64_t *before, struct ch_sv id,
                          struct kept_record *r, char main[HEX + 1]) {
    unsigned char name[CH_SHA256_SIZE];
    char hex[HEX + 1];
    chela_gateway *gw = s->gw;
    int64_t now = ch_now_ms(ch_loop_clock(gw->rt->loop));
    kept_name_of(s, before, id, name);
    kept_remember(gw, name, r->n ? r : NULL, now + CH_DEFAULT_KEPT_CALLS_MS);
    if (!r->n || !gw->store)
        return;
    ch_sha256_hex(name, hex);
    ch_gateway_keep(gw, STORED, ch_sv_str(hex), NULL,
                    *main ? ch_sv_str(main) : ch_sv(r->json, r->n),
                    CH_DEFAULT_KEPT_CALLS_MS);
    if (!*main)
        memcpy(main, hex, sizeof(hex));
}

/* A call for which nothing is kept is remembered as such: an earlier call may have had its id. */
void ch_kept_calls_put(const struct ch_kept_scope *s, chela_run *run, size_t began) {
    struct ch_msg *results = run->reply ? ch_act_results(run) : NULL;
    CH_BUF_AUTO json = {0};
    char main[HEX + 1] = "";
    if (!results)
        return;
    kept_collect(run, results, began, &json);
    struct kept_record *r = kept_make(s->gw, ch_buf_sv(&json));
    for (uint32_t i = 0; i < run->reply->nblocks; i++) {
        const struct ch_block *b = &run->reply->blocks[i];
        if (!kept_is_clients(b, results))
            continue;
        kept_put_name(s, &s->before, b->id, r, main);
        if (b->id.n >= RANDOM_ID)
            kept_put_name(s, NULL, b->id, r, main);
    }
    kept_unref(s->gw->kept_calls, r);
    ch_msg_free(results);
}

struct ch_sv ch_kept_calls_find(const struct ch_kept_scope *s, const struct ch_msg *reply,
                                uint64_t before) {
    unsigned char name[CH_SHA256_SIZE];
    for (int alone = 0; alone < 2; alone++)
        for (uint32_t i = 0; i < reply->nblocks; i++) {
            const struct ch_block *b = &reply->blocks[i];
            if (b->type != CH_BLOCK_TOOL_CALL || (alone && b->id.n < RANDOM_ID))
                continue;
            kept_name_of(s, alone ? NULL : &before, b->id, name);
            const struct kept_name *e = kept_find(s, name);
            if (e && e->record)
                return ch_sv(e->record->json, e->record->n);
        }
    return ch_sv(NULL, 0);
}

/* --- the store
 *
 * The query gets names in hexadecimal, separated by spaces, the newest call first. It gives a line
 * for each: the name, the end of its time and either the record, "=" with the name that has the
 * record and stands before, or nothing. */

static int kept_on_item(const struct chela_store_item *i, void *user) {
    struct ch_store_lookup *l = user;
    ch_buf_clear(&l->more);
    l->last = i->ts;
    if (i->ts > l->now)
        ch_buf_add_sv(&l->more, ch_sv(i->data, i->n));
    return 0;
}

/* Reads one name into l->more; false: the store has nothing, or failed. */
static bool kept_look(struct ch_store_lookup *l, struct ch_sv name, int64_t looks) {
    CH_BUF_AUTO id = {0};
    ch_buf_clear(&l->more);
    ch_buf_addf(&id, STORED "%.*s", CH_SV_FMT(name));
    for (int64_t i = 0; i < looks && !l->more.n; i++) {
        struct chela_error err = {0};
        if (i > 0)
            poll(NULL, 0, LOOK_MS);
        ch_store_kept(l->store, ch_buf_str(&id), kept_on_item, l, &err);
    }
    return l->more.n > 0;
}

static bool kept_listed(const struct ch_buf *out, struct ch_sv name) {
    struct ch_sv all = ch_buf_sv(out);
    while (all.n)
        if (ch_sv_starts(ch_sv_split(&all, '\n'), name.p))
            return true;
    return false;
}

static void kept_list(struct ch_store_lookup *l, struct ch_sv name, int64_t looks) {
    if (!kept_look(l, name, looks)) {
        ch_buf_addf(&l->out, "%.*s %lld \n", CH_SV_FMT(name),
                    (long long)(l->now + CH_DEFAULT_KEPT_CALLS_MS));
        return;
    }
    if (l->more.n != HEX) {
        ch_buf_addf(&l->out, "%.*s %lld %s\n", CH_SV_FMT(name), (long long)l->last,
                    ch_buf_str(&l->more));
        return;
    }
    char main[HEX + 1];
    int64_t until = l->last;
    memcpy(main, ch_buf_str(&l->more), sizeof(main));
    if (!kept_listed(&l->out, ch_sv_str(main)) && kept_look(l, ch_sv_str(main), 1))
        ch_buf_addf(&l->out, "%s %lld %s\n", main, (long long)l->last, ch_buf_str(&l->more));
    ch_buf_addf(&l->out, "%.*s %lld =%s\n", CH_SV_FMT(name), (long long)until, main);
}

/* l->number: looks for the newest name. A store that fails has no calls. */
static int kept_query(struct ch_store_lookup *l, struct chela_error *err) {
    struct ch_sv names = ch_sv_str(l->key);
    int64_t looks = l->number;
    (void)err;
    while (names.n && l->out.n < CH_LIMIT_KEPT_BYTES) {
        kept_list(l, ch_sv_split(&names, ' '), looks);
        looks = 1;
    }
    return 0;
}

static struct kept_record *kept_take(chela_gateway *gw, const struct ch_kept_scope *s,
                                     struct ch_sv value) {
    unsigned char main[CH_SHA256_SIZE];
    if (!ch_sv_starts(value, "="))
        return kept_make(gw, value);
    const struct kept_name *e =
        ch_sha256_read(ch_sv(value.p + 1, value.n - 1), main) ? kept_find(s, main) : NULL;
    struct kept_record *r = e && e->record ? e->record : kept_make(gw, CH_SV(""));
    r->refs += e && e->record;
    return r;
}

static void kept_fetched(chela_gateway *gw, const struct ch_store_lookup *l) {
    const struct ch_kept_scope s = {.gw = gw};
    struct ch_sv all = ch_buf_sv(&l->out);
    while (all.n) {
        struct ch_sv line = ch_sv_split(&all, '\n'), name = ch_sv_split(&line, ' ');
        int64_t until = strtoll(ch_sv_split(&line, ' ').p, NULL, 10);
        unsigned char digest[CH_SHA256_SIZE];
        struct kept_record *r = kept_take(gw, &s, line);
        if (ch_sha256_read(name, digest))
            kept_remember(gw, digest, r->n ? r : NULL, until);
        kept_unref(gw->kept_calls, r);
    }
}

static void kept_want(const struct ch_kept_scope *s, const uint64_t *before, struct ch_sv id,
                      struct ch_buf *names) {
    unsigned char name[CH_SHA256_SIZE];
    char hex[HEX + 1];
    kept_name_of(s, before, id, name);
    if (names->n >= CH_LIMIT_KEPT_LOOKS * (HEX + 1) || kept_find(s, name))
        return;
    ch_sha256_hex(name, hex);
    ch_buf_addf(names, "%s%s", names->n ? " " : "", hex);
}

/* The names of the calls of a reply that this process has never seen. */
static void kept_want_reply(const struct ch_kept_scope *s, const struct ch_msg *m, uint64_t before,
                            struct ch_buf *names) {
    if (ch_kept_calls_find(s, m, before).p)
        return;
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (b->type != CH_BLOCK_TOOL_CALL)
            continue;
        kept_want(s, &before, b->id, names);
        if (b->id.n >= RANDOM_ID)
            kept_want(s, NULL, b->id, names);
    }
}

bool ch_kept_calls_fetch(struct ch_request *req, const struct ch_kept_scope *s,
                         const struct ch_client_history *h, ch_store_respond_fn *respond,
                         void (*gone)(void *user), void *user) {
    CH_BUF_AUTO names = {0};
    if (!req->gw->store || !h->n)
        return false;
    uint64_t *before = ch_arena_alloc(&req->arena, h->n * sizeof(*before));
    before[0] = 0;
    for (size_t i = 1; i < h->n; i++)
        before[i] = ch_kept_calls_fold(before[i - 1], h->msgs[i - 1]);
    for (size_t i = h->n; i-- > 0;)
        if (h->msgs[i]->kind == CH_MSG_ASSISTANT)
            kept_want_reply(s, h->msgs[i], before[i], &names);
    if (!names.n)
        return false;
    ch_store_lookup_start(req, ch_buf_sv(&names), ch_gateway_is_shared(req->gw) ? LOOKS : 1,
                          kept_query, respond);
    ch_store_lookup_settle(req, kept_fetched);
    ch_store_lookup_own(req, gone, user);
    return true;
}
