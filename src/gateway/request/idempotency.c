/* idempotency.c -- see idempotency.h.
 *
 * A claim and the answer that replaces it are one text of the store (CHELA_STORE_KEEP):
 *
 *   {"print","event","owner","beat"}                       in progress
 *   {"print","status","type","headers","body"}             answered
 *   {"print","too_long":true}                              answered, but not kept
 *   (empty)                                                answered; its session was deleted
 *
 * A claim without an answer is taken over if its process is dead, or if its process did not
 * renew it for a while. */
#include "gateway/request/idempotency.h"

#include "agent/journal/journal.h"
#include "base/error.h"
#include "base/random_id.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/sha256.h"
#include "io/worker.h"
#include "store/owner.h"
#include "store/pending.h"
#include "store/store.h"

#define LOOK_MS 100                  /* interval of looks at the claim of another gateway */
#define BEAT_MS 10000                /* interval of renewals of a claim */
#define STALE_MS (3 * BEAT_MS)       /* a claim of this age belongs to a failed process */
#define HEX (2 * CH_SHA256_SIZE + 1)

struct ch_idempotent { /* the requests with one key in this process */
    struct ch_link link; /* in the gateway's idempotents */
    chela_gateway *gw;
    char id[HEX + 4], print[HEX]; /* name in the store; digest of the content */
    struct ch_buf event, session; /* session: to which the answer belongs; empty: none */
    ch_http_route_fn *run;
    struct ch_request *request; /* the first one; NULL: its client has left */
    struct ch_list repeats;     /* struct repeat: requests that wait for its answer */
    bool runs;                  /* the handler has the request */
    unsigned pending;           /* calls of the store in progress */
    bool closed;                /* the gateway was closed */
    int status;                 /* status of the answer; 0: none yet */
    struct ch_buf type, headers, body; /* headers: members of a JSON object */
    bool too_long;
    struct ch_timer timer;
};

struct repeat {
    struct ch_link link; /* in repeats of the first request */
    struct ch_request *request;
};

static int64_t idempotent_now(const struct ch_idempotent *e) {
    return ch_now_ms(ch_loop_clock(e->gw->rt->loop));
}

static void idempotent_free(struct ch_idempotent *e) {
    ch_list_del(&e->link);
    if (!e->closed)
        ch_timer_stop(e->gw->rt->loop, &e->timer);
    ch_buf_release(&e->event);
    ch_buf_release(&e->session);
    ch_buf_release(&e->type);
    ch_buf_release(&e->headers);
    ch_buf_release(&e->body);
    ch_free(e);
}

/* --- answering */

static bool has_repeats(const struct ch_idempotent *e) {
    return !ch_list_empty(&e->repeats);
}

static struct ch_request *next_repeat(struct ch_idempotent *e) {
    struct repeat *r = CH_LIST_FIRST(&e->repeats, struct repeat, link);
    struct ch_request *req = r ? r->request : NULL;
    if (!r)
        return NULL;
    ch_list_del(&r->link);
    ch_free(r);
    req->on_disconnect = NULL;
    return req;
}

static void add_kept_headers(struct ch_idempotent *e, struct ch_request *req) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO members = {0};
    const struct ch_json *headers = NULL;
    ch_buf_addf(&members, "{%s}", ch_buf_str(&e->headers));
    ch_json_parse(&arena, ch_buf_sv(&members), CH_JSON_REPLACE, &headers, NULL, NULL);
    for (CH_JSON_MEMBERS(k, v, headers))
        ch_request_add_header(req, ch_arena_str(&arena, ch_json_str(k)),
                              ch_arena_str(&arena, ch_json_str(v)));
    if (!e->too_long)
        ch_request_add_header(req, "Idempotent-Replayed", "true");
}

static void answer_one(struct ch_idempotent *e, struct ch_request *req, bool again) {
    req->idempotent = NULL;
    if (again)
        add_kept_headers(e, req);
    if (again && e->too_long)
        ch_request_fail(req, 409, "idempotency_answer_too_long",
                        "the answer to the first request with this Idempotency-Key was too long "
                        "to be kept");
    else
        ch_request_respond(req, e->status, e->type.n ? ch_buf_str(&e->type) : NULL,
                           ch_buf_sv(&e->body));
}

/* Answers all waiting requests, and frees e. again: the answer is a repetition. */
static void answer_all(struct ch_idempotent *e, bool again) {
    struct ch_request *req = CH_TAKE(e->request);
    if (req)
        answer_one(e, req, again);
    while ((req = next_repeat(e)))
        answer_one(e, req, true);
    idempotent_free(e);
}

static void fail_all(struct ch_idempotent *e, int status, const char *code, const char *why) {
    struct ch_request *req = CH_TAKE(e->request);
    do {
        if (!req)
            continue;
        req->idempotent = NULL;
        ch_request_fail(req, status, code, "%s", why);
    } while ((req = next_repeat(e)));
    idempotent_free(e);
}

#define OTHER_CONTENT                                                                            \
    "this Idempotency-Key was used before with another request: a key belongs to one method, "  \
    "path, session and body"

/* --- the store */

static void idempotent_store(struct ch_idempotent *e, struct ch_sv data, const char *session,
                             bool first, ch_change_fn *done) {
    struct ch_journal *j = e->gw->rt->journal;
    int64_t now = idempotent_now(e);
    struct chela_store_change c = {.kind = CHELA_STORE_KEEP,
                                   .id = e->id,
                                   .key = session,
                                   .data = data.p,
                                   .n = data.n,
                                   .token = first,
                                   .now = now,
                                   .until = data.n ? now + CH_DEFAULT_IDEMPOTENCY_MS : 0};
    e->pending += done != NULL;
    j->ops->change(j, &c, CH_SYNC_COMMIT, done, e);
}

/* beat: time of this renewal; 0: a repeated request takes the claim over at once. done: for a new
 * claim, which fails if there is one; NULL: replaces the claim. */
static void store_claim(struct ch_idempotent *e, int64_t beat, ch_change_fn *done) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "print", e->print);
    ch_jw_kcstr(&w, "event", ch_buf_str(&e->event));
    ch_jw_kcstr(&w, "owner", e->gw->claimant);
    ch_jw_kint(&w, "beat", beat);
    ch_jw_end(&w, '}');
    idempotent_store(e, ch_buf_sv(&text), NULL, done != NULL, done);
}

/* The key is free again. */
static void drop_claim(struct ch_idempotent *e) {
    idempotent_store(e, ch_sv(NULL, 0), NULL, false, NULL);
}

/* A call of the store has returned. False: the gateway was closed; the last call frees e. */
static bool store_returned(struct ch_idempotent *e) {
    e->pending--;
    if (e->closed) {
        if (!e->pending)
            idempotent_free(e);
        return false;
    }
    return true;
}

static bool is_deserted(const struct ch_idempotent *e) {
    return !e->request && !has_repeats(e);
}

/* --- running */

static void idempotent_on_beat(struct ch_timer *t) {
    struct ch_idempotent *e = CH_CONTAINER(t, struct ch_idempotent, timer);
    store_claim(e, idempotent_now(e), NULL);
    ch_timer_start(e->gw->rt->loop, t, BEAT_MS, idempotent_on_beat);
}

static void run_handler(struct ch_idempotent *e, bool repeats) {
    struct ch_request *req = e->request ? e->request : (e->request = next_repeat(e));
    if (repeats && req->route->flags & CH_ROUTE_ONCE) {
        fail_all(e, 409, "idempotency_outcome_unknown",
                 "the first request with this Idempotency-Key was interrupted; whether it took "
                 "effect is unknown");
        return;
    }
    e->runs = true;
    req->idempotent = e;
    req->event = ch_arena_str(&req->arena, ch_buf_sv(&e->event));
    req->repeats = repeats;
    req->unknown = repeats; /* until the store has said whether it has the event */
    ch_timer_start(e->gw->rt->loop, &e->timer, BEAT_MS, idempotent_on_beat);
    e->run(req);
}

/* --- the claim of another request */

struct look {
    struct ch_work work;
    struct ch_idempotent *of;
    chela_store *store;
    char id[HEX + 4];
    struct ch_buf text;
    bool dead; /* the process of the claim */
    int rc;
    struct chela_error err;
};

static int look_on_item(const struct chela_store_item *i, void *user) {
    struct look *k = user;
    ch_buf_add_sv(&k->text, ch_sv(i->data, i->n));
    return 0;
}

static void look_run(struct ch_work *w) {
    struct look *k = CH_CONTAINER(w, struct look, work);
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    k->rc = ch_store_kept(k->store, k->id, look_on_item, k, &k->err);
    if (k->rc == 0 &&
        ch_json_parse(&arena, ch_buf_sv(&k->text), CH_JSON_REPLACE, &v, NULL, NULL) == 0 &&
        ch_json_get_str(v, "owner").n)
        k->dead = ch_owner_is_dead(ch_arena_str(&arena, ch_json_get_str(v, "owner")));
}

static void look_free(struct ch_work *w) {
    struct look *k = CH_CONTAINER(w, struct look, work);
    ch_buf_release(&k->text);
    ch_free(k);
}

static void idempotent_claim(struct ch_idempotent *e);
static void idempotent_look(struct ch_idempotent *e);

static void idempotent_on_time(struct ch_timer *t) {
    idempotent_look(CH_CONTAINER(t, struct ch_idempotent, timer));
}

static void take_answer(struct ch_idempotent *e, const struct ch_json *v) {
    CH_BUF_AUTO headers = {0};
    struct ch_jw w = ch_jw(&headers);
    e->too_long = ch_json_bool(ch_json_get(v, "too_long"), false);
    e->status = (int)ch_json_int(ch_json_get(v, "status"), 0);
    ch_buf_add_sv(&e->type, ch_json_get_str(v, "type"));
    ch_buf_add_sv(&e->body, ch_json_get_str(v, "body"));
    ch_jw_value(&w, ch_json_get(v, "headers"));
    if (headers.n > 2)
        ch_buf_add_sv(&e->headers, ch_sv(headers.p + 1, headers.n - 2));
}

static void idempotent_found(struct ch_idempotent *e, const struct ch_json *v, bool dead) {
    int64_t age = idempotent_now(e) - ch_json_int(ch_json_get(v, "beat"), 0);
    struct ch_sv owner = ch_json_get_str(v, "owner");
    if (!ch_sv_is(ch_json_get_str(v, "print"), e->print)) {
        fail_all(e, 409, "idempotency_key_reused", OTHER_CONTENT);
    } else if (!owner.n) {
        take_answer(e, v);
        answer_all(e, true);
    } else if (dead || age > STALE_MS || ch_sv_is(owner, e->gw->claimant)) {
        ch_buf_clear(&e->event);
        ch_buf_add_sv(&e->event, ch_json_get_str(v, "event"));
        store_claim(e, idempotent_now(e), NULL);
        run_handler(e, true);
    } else {
        ch_timer_start(e->gw->rt->loop, &e->timer, LOOK_MS, idempotent_on_time);
    }
}

static void look_done(struct ch_work *w) {
    struct look *k = CH_CONTAINER(w, struct look, work);
    struct ch_idempotent *e = k->of;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    if (!store_returned(e)) {
        look_free(w);
        return;
    }
    if (is_deserted(e))
        idempotent_free(e);
    else if (k->rc == CHELA_ENOENT)
        idempotent_claim(e); /* the claim was given up meanwhile */
    else if (k->rc < 0)
        fail_all(e, 503, "store_error", k->err.message);
    else if (!k->text.n)
        fail_all(e, 409, "idempotency_answer_deleted",
                 "the session of the first request with this Idempotency-Key was deleted, and the "
                 "answer with it");
    else if (ch_json_parse(&arena, ch_buf_sv(&k->text), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        fail_all(e, 500, "store_error", "the kept answer to this Idempotency-Key is damaged");
    else
        idempotent_found(e, v, k->dead);
    look_free(w);
}

static void look_dropped(struct ch_work *w) {
    store_returned(CH_CONTAINER(w, struct look, work)->of);
    look_free(w);
}

static void idempotent_look(struct ch_idempotent *e) {
    if (is_deserted(e)) {
        idempotent_free(e);
        return;
    }
    struct look *k = ch_alloc(sizeof(*k));
    k->work = (struct ch_work){.run = look_run, .done = look_done, .dropped = look_dropped};
    k->of = e;
    k->store = e->gw->store;
    memcpy(k->id, e->id, sizeof(k->id));
    e->pending++;
    ch_work_submit(e->gw->rt->workers, &k->work);
}

/* --- the claim */

static void idempotent_on_claimed(int rc, const struct chela_error *err, void *user) {
    struct ch_idempotent *e = user;
    if (!store_returned(e))
        return;
    if (rc == CHELA_EEXIST) {
        idempotent_look(e);
    } else if (rc < 0) {
        fail_all(e, 503, "store_error", err ? err->message : chela_error_text(rc));
    } else if (is_deserted(e)) {
        drop_claim(e);
        idempotent_free(e);
    } else {
        run_handler(e, false);
    }
}

static void idempotent_claim(struct ch_idempotent *e) {
    store_claim(e, idempotent_now(e), idempotent_on_claimed);
}

static void repeat_on_disconnect(struct ch_request *req) {
    struct repeat *r = req->user;
    ch_list_del(&r->link);
    ch_free(r);
}

static void wait_for_first(struct ch_idempotent *e, struct ch_request *req) {
    struct repeat *r = ch_alloc(sizeof(*r));
    r->request = req;
    req->user = r;
    req->on_disconnect = repeat_on_disconnect;
    ch_list_add(&e->repeats, &r->link);
}

static struct ch_idempotent *idempotent_find(const chela_gateway *gw, const char *id) {
    for (CH_LIST_EACH(k, &gw->idempotents)) {
        struct ch_idempotent *e = CH_CONTAINER(k, struct ch_idempotent, link);
        if (strcmp(e->id, id) == 0)
            return e;
    }
    return NULL;
}

static void digest_request(const struct ch_request *req, char out[HEX]) {
    unsigned char digest[CH_SHA256_SIZE];
    CH_BUF_AUTO text = {0};
    ch_buf_addf(&text, "%s %s %.*s\n%.*s\n", req->route->method, req->route->path,
                CH_SV_FMT(req->param), CH_SV_FMT(req->session));
    ch_buf_add_sv(&text, req->body);
    ch_sha256_of(ch_buf_sv(&text), digest);
    ch_sha256_hex(digest, out);
}

static const char *check_key(const struct ch_request *req, struct ch_sv key) {
    if (ch_inbound_count(ch_exchange_inbound(req->x), "idempotency-key") != 1)
        return "there must be one Idempotency-Key";
    if (!key.n || key.n > CH_LIMIT_IDEMPOTENCY_KEY)
        return "an Idempotency-Key has 1 to 255 characters";
    for (size_t i = 0; i < key.n; i++)
        if (key.p[i] <= ' ' || key.p[i] > '~')
            return "an Idempotency-Key consists of visible ASCII characters, without spaces";
    return NULL;
}

/* The claim of a key that this process does not know yet. */
static struct ch_idempotent *idempotent_new(struct ch_request *req, const char *event,
                                            ch_http_route_fn *run) {
    char random[24];
    if (!req->gw->claimant) {
        CH_BUF_AUTO owner = {0};
        ch_owner_make(&owner);
        req->gw->claimant = ch_buf_take(&owner);
    }
    struct ch_idempotent *e = ch_alloc(sizeof(*e));
    e->gw = req->gw;
    e->run = run;
    e->request = req;
    req->idempotent = e;
    ch_random_id("", random);
    ch_buf_add_str(&e->event, event ? event : random);
    ch_list_init(&e->repeats);
    ch_list_add(&req->gw->idempotents, &e->link);
    return e;
}

void ch_idempotency_begin(struct ch_request *req, const char *event, ch_http_route_fn *run) {
    struct ch_sv key = req->x ? ch_inbound_header(ch_exchange_inbound(req->x), "idempotency-key")
                              : ch_sv(NULL, 0);
    unsigned char digest[CH_SHA256_SIZE];
    char name[HEX + 4] = "key/", print[HEX];
    if (!key.p || !req->gw->store || !req->gw->rt->journal) {
        req->event = event;
        run(req);
        return;
    }
    const char *wrong = check_key(req, key);
    if (wrong) {
        ch_request_fail(req, 400, "invalid_idempotency_key", "%s", wrong);
        return;
    }
    ch_sha256_of(key, digest);
    ch_sha256_hex(digest, name + 4);
    digest_request(req, print);
    struct ch_idempotent *e = idempotent_find(req->gw, name);
    if (e && strcmp(e->print, print) != 0) {
        ch_request_fail(req, 409, "idempotency_key_reused", "%s", OTHER_CONTENT);
        return;
    }
    if (e) {
        wait_for_first(e, req);
        return;
    }
    e = idempotent_new(req, event, run);
    memcpy(e->id, name, sizeof(name));
    memcpy(e->print, print, sizeof(print));
    idempotent_claim(e);
}

/* --- the answer */

static void idempotent_on_kept(int rc, const struct chela_error *err, void *user) {
    struct ch_idempotent *e = user;
    if (!store_returned(e))
        return;
    if (rc < 0) /* the request took effect: its event is stored */
        ch_log(CH_LOG_WARN, "gateway", "the answer to an Idempotency-Key cannot be kept: %s",
               err ? err->message : chela_error_text(rc));
    answer_all(e, false);
}

static void store_answer(struct ch_idempotent *e) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "print", e->print);
    if (e->too_long) {
        ch_jw_kbool(&w, "too_long", true);
    } else {
        CH_BUF_AUTO headers = {0};
        ch_buf_addf(&headers, "{%s}", ch_buf_str(&e->headers));
        ch_jw_kint(&w, "status", e->status);
        ch_jw_kstr(&w, "type", ch_buf_sv(&e->type));
        ch_jw_kraw(&w, "headers", ch_buf_sv(&headers));
        ch_jw_kstr(&w, "body", ch_buf_sv(&e->body));
    }
    ch_jw_end(&w, '}');
    e->runs = false;
    ch_timer_stop(e->gw->rt->loop, &e->timer);
    idempotent_store(e, ch_buf_sv(&text), e->session.n ? ch_buf_str(&e->session) : NULL, false,
                     idempotent_on_kept);
}

static bool is_final(int status) {
    return status < 500 && status != 408 && status != 429;
}

void ch_idempotency_belongs(struct ch_request *req, const char *session) {
    struct ch_idempotent *e = req->idempotent;
    if (!e)
        return;
    ch_buf_clear(&e->session);
    ch_buf_add_str(&e->session, session);
}

static void belong_to_default(struct ch_idempotent *e, const struct ch_request *req) {
    if (!e->session.n)
        ch_buf_add_sv(&e->session, req->session);
}

bool ch_idempotency_keep(struct ch_request *req, int status, const char *type,
                         struct ch_sv text) {
    struct ch_idempotent *e = req->idempotent;
    if (!e || !e->runs)
        return false;
    e->status = status;
    ch_buf_add_str(&e->type, type ? type : "");
    ch_buf_add_sv(&e->body, text);
    e->too_long = text.n > CH_LIMIT_IDEMPOTENT_ANSWER;
    if (is_final(status)) {
        belong_to_default(e, req);
        req->on_disconnect = NULL;
        store_answer(e);
        return true;
    }
    req->idempotent = NULL;
    e->request = NULL;
    if (req->unknown) /* a repeated request must not store a second event */
        store_claim(e, 0, NULL);
    else
        drop_claim(e);
    answer_all(e, false);
    return false;
}

void ch_idempotency_add_header(struct ch_request *req, const char *name, const char *value) {
    struct ch_idempotent *e = req->idempotent;
    if (!e || !e->runs)
        return;
    struct ch_jw w = ch_jw(&e->headers);
    w.comma = e->headers.n > 0;
    ch_jw_kcstr(&w, name, value);
}

void ch_idempotency_add_bytes(struct ch_request *req, struct ch_sv bytes) {
    struct ch_idempotent *e = req->idempotent;
    if (!e)
        return;
    e->too_long |= e->body.n + bytes.n > CH_LIMIT_IDEMPOTENT_ANSWER;
    if (!e->too_long)
        ch_buf_add_sv(&e->body, bytes);
}

void ch_idempotency_end_stream(struct ch_request *req) {
    struct ch_idempotent *e = req->idempotent;
    if (!e)
        return;
    belong_to_default(e, req);
    req->idempotent = NULL;
    e->request = NULL;
    e->status = req->status;
    ch_buf_add_str(&e->type, "text/event-stream");
    store_answer(e);
}

void ch_idempotency_leave(struct ch_request *req) {
    struct ch_idempotent *e = req->idempotent;
    if (!e)
        return;
    req->idempotent = NULL;
    e->request = NULL;
    if (e->status || !e->runs) /* a call of the store, or the timer, continues with e */
        return;
    ch_buf_clear(&e->body);
    ch_buf_clear(&e->headers);
    e->too_long = false;
    if (has_repeats(e))
        run_handler(e, true);
    else
        idempotent_free(e); /* a later request takes over the claim */
}

void ch_idempotency_close(chela_gateway *gw) {
    for (struct ch_idempotent *e;
         (e = CH_LIST_FIRST(&gw->idempotents, struct ch_idempotent, link));) {
        if (e->request)
            e->request->idempotent = NULL;
        while (next_repeat(e))
            continue;
        ch_timer_stop(gw->rt->loop, &e->timer);
        ch_list_del(&e->link);
        e->closed = true;
        if (!e->pending)
            idempotent_free(e);
    }
    ch_free(CH_TAKE(gw->claimant));
}
