/* hooks.c -- POST /hooks/{name}: a program tells an agent that something
 * happened.
 *
 * The sender signs: X-Chela-Timestamp is the time in seconds, X-Chela-Signature
 * is "sha256=" and, in hexadecimal, the HMAC of timestamp, a full stop and the
 * body as it is sent. What is older than five minutes is refused, and what was
 * accepted before is not done again, in this process or another: the inbox of
 * the store knows every signature.
 *
 * An event is acknowledged once it is in the inbox. It leaves the inbox in the
 * transaction that makes it the first message of its session. What a process that
 * died has accepted, or was at work on, is taken up at the next start: nobody else
 * would. */
#include "agent/driver.h"
#include "agent/journal.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/proof.h"
#include "gateway/lane.h"
#include "gateway/lookup.h"
#include "gateway/routes.h"
#include "store/store.h"

#define PREFIX "hook/" /* of ids in the inbox */
#define SESSION_PREFIX "hook:"

/* --- an event on its way from the inbox to its session */

struct delivery {
    struct ch_link link; /* in the gateway's deliveries */
    struct ch_lane_wait wait;
    chela_gateway *gw;
    char *id, *key, *agent, *text; /* owned; id and text NULL: no event, but a run
                                      of the session may have been cut off */
};

static void free_delivery(struct delivery *d) {
    ch_list_del(&d->link);
    ch_list_del(&d->wait.link);
    ch_free(d->id);
    ch_free(d->key);
    ch_free(d->agent);
    ch_free(d->text);
    ch_free(d);
}

static void settle(const struct delivery *d) {
    struct ch_journal *j = d->gw->rt->journal;
    struct chela_store_change c = {
        .kind = CHELA_STORE_SETTLE, .id = d->id, .now = ch_now_ms(ch_loop_clock(d->gw->rt->loop))};
    j->ops->change(j, &c, CH_SYNC_COMMIT, NULL, NULL);
}

static void complain(const struct delivery *d, int rc, const struct chela_error *err) {
    if (!d->text && rc == CHELA_EBUSY) /* another process is at work on it */
        return;
    ch_log(CH_LOG_WARN, "gateway", "%s session %s %s: %s", d->text ? "an event for" : "the run of",
           d->key, d->text ? "waits" : "is not taken up",
           err->message[0] ? err->message : chela_error_text(rc));
}

/* Message and settling are of one iteration, so of one transaction. */
static int hand_in(const struct delivery *d, struct ch_lane *l, struct chela_error *err) {
    struct ch_sv text = ch_sv_str(d->text);
    int64_t now = ch_now_ms(ch_loop_clock(d->gw->rt->loop));
    int rc = l->running ? chela_run_follow_up(l->run, text.p, text.n)
                        : ch_lane_start(l, ch_msg_text(CH_MSG_WEBHOOK, text, now), "ask", err);
    if (rc == 0)
        settle(d);
    return rc;
}

/* A run that was cut off goes on first. One that cannot, because it was cut off
 * too often, does not keep an event from its session. */
static void on_ready(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *failed) {
    struct delivery *d = CH_CONTAINER(w, struct delivery, wait);
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    int rc = err.code;
    if (rc == 0 && !l->running && strcmp(chela_session_status(l->session), "running") == 0)
        rc = ch_lane_resume(l, "ask", &err);
    if (!failed && d->text)
        rc = hand_in(d, l, &err);
    if (rc < 0)
        complain(d, rc, &err);
    free_delivery(d);
}

static void deliver(struct delivery *d) {
    struct chela_error err = {0};
    chela_agent *agent = ch_gateway_agent(d->gw, ch_sv_str(d->agent));
    struct ch_lane_opts o = {.agent = agent ? agent : d->gw->agents[0], .key = d->key};
    struct ch_lane *lane = ch_lane_find(d->gw, ch_sv_str(d->key));
    d->wait.ready = on_ready;
    if (lane || ch_lane_use(d->gw, &o, &lane, &err) == 0) {
        ch_lane_when_ready(lane, &d->wait);
        return;
    }
    complain(d, err.code, &err);
    free_delivery(d);
}

static struct delivery *new_delivery(chela_gateway *gw, struct ch_sv id, struct ch_sv key,
                                     struct ch_sv agent, struct ch_sv text) {
    struct delivery *d = ch_alloc(sizeof(*d));
    d->gw = gw;
    d->id = ch_strndup(id.p, id.n);
    d->key = ch_strndup(key.p, key.n);
    d->agent = ch_strndup(agent.p, agent.n);
    d->text = ch_strndup(text.p, text.n);
    return d;
}

/* --- a call */

struct knock {
    struct ch_link link;       /* in the gateway's knocks */
    struct ch_visit *visit;    /* NULL: the client left */
    struct delivery *delivery; /* owned */
    bool closed;               /* the gateway was: nothing follows */
};

static void free_knock(struct knock *k) {
    ch_list_del(&k->link);
    ch_free(k);
}

static void accepted(int rc, const struct chela_error *err, void *user) {
    struct knock *k = user;
    struct ch_visit *v = k->visit;
    struct delivery *d = k->delivery;
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    bool closed = k->closed;
    free_knock(k);
    if (v) {
        v->left = NULL;
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "session", d->key);
        ch_jw_kbool(&w, "duplicate", rc == CHELA_EEXIST);
        ch_jw_end(&w, '}');
        if (rc == 0 || rc == CHELA_EEXIST)
            ch_visit_json(v, rc == 0 ? 202 : 200, &out);
        else
            ch_visit_fail(v, 503, NULL, "the event cannot be stored: %s",
                          err ? err->message : chela_error_text(rc));
    }
    if (rc < 0 || closed) { /* what was accepted and not delivered is recovered */
        free_delivery(d);
        return;
    }
    ch_list_add(&d->gw->deliveries, &d->link);
    deliver(d);
}

static void on_left(struct ch_visit *v) {
    ((struct knock *)v->user)->visit = NULL;
}

/* What the inbox holds: enough to deliver it later. */
static void write_item(struct ch_buf *out, const struct delivery *d) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "agent", d->agent);
    ch_jw_kcstr(&w, "text", d->text);
    ch_jw_end(&w, '}');
}

static void accept_event(struct ch_visit *v, struct delivery *d) {
    struct ch_journal *j = v->gw->rt->journal;
    struct knock *k = ch_alloc(sizeof(*k));
    CH_BUF_AUTO data = {0};
    write_item(&data, d);
    ch_list_add(&v->gw->knocks, &k->link);
    k->visit = v;
    k->delivery = d;
    v->user = k;
    v->left = on_left;
    struct chela_store_change c = {.kind = CHELA_STORE_ACCEPT,
                                   .id = d->id,
                                   .key = d->key,
                                   .data = data.p,
                                   .n = data.n,
                                   .now = ch_now_ms(ch_loop_clock(v->gw->rt->loop))};
    j->ops->change(j, &c, j->gate, accepted, k);
}

/* *signature: as it was shown, in hexadecimal. */
static bool is_signed(struct ch_visit *v, const char *secret, struct ch_sv *signature) {
    const struct ch_inbound *in = ch_exchange_inbound(v->x);
    struct ch_sv timestamp = ch_inbound_header(in, "x-chela-timestamp");
    struct ch_sv shown = ch_inbound_header(in, "x-chela-signature");
    unsigned char its[CH_SHA256_SIZE], ours[CH_SHA256_SIZE];
    CH_BUF_AUTO text = {0};
    if (!ch_sv_starts(shown, "sha256=") || ch_inbound_count(in, "x-chela-signature") != 1)
        return false;
    *signature = ch_arena_sv(&v->arena, ch_sv(shown.p + 7, shown.n - 7));
    if (!ch_sha256_read(*signature, its))
        return false;
    ch_buf_addf(&text, "%.*s.", CH_SV_FMT(timestamp));
    ch_buf_add_sv(&text, v->body);
    ch_hmac_sha256(ch_sv_str(secret), ch_buf_sv(&text), ours);
    return ch_sha256_equal(its, ours) &&
           ch_proof_fresh(timestamp, ch_now_ms(ch_loop_clock(v->gw->rt->loop)) / 1000);
}

static const struct ch_hook *find(const chela_gateway *gw, struct ch_sv name) {
    for (size_t i = 0; i < gw->nhooks; i++)
        if (ch_sv_is(name, gw->hooks[i].name))
            return &gw->hooks[i];
    return NULL;
}

void ch_hook_call(struct ch_visit *v) {
    const struct ch_hook *h = find(v->gw, v->param);
    struct ch_sv signature;
    CH_BUF_AUTO id = {0}, key = {0}, text = {0};
    if (!h || !is_signed(v, h->secret, &signature)) {
        v->gw->counters.refused++;
        ch_visit_fail(v, 401, NULL, "there is no such hook, or the signature is not its own");
        return;
    }
    ch_buf_addf(&id, PREFIX "%s/%.*s", h->name, CH_SV_FMT(signature));
    if (h->session)
        ch_buf_add_str(&key, h->session);
    else
        ch_buf_addf(&key, SESSION_PREFIX "%s:%.16s", h->name, signature.p);
    ch_buf_addf(&text, "%s: %.*s", h->name, CH_SV_FMT(v->body));
    accept_event(v, new_delivery(v->gw, ch_buf_sv(&id), ch_buf_sv(&key),
                                 ch_sv_str(h->agent ? h->agent : ""), ch_buf_sv(&text)));
}

/* --- what an earlier process accepted */

struct recovery {
    struct ch_work work;
    chela_gateway *gw;
    chela_store *store;
    struct ch_list found; /* struct delivery */
};

static int recall(const struct chela_store_item *i, void *user) {
    struct recovery *r = user;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    if (strncmp(i->id, PREFIX, strlen(PREFIX)) != 0 ||
        ch_json_parse(&arena, ch_sv(i->data, i->n), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return 0;
    struct delivery *d = ch_alloc(sizeof(*d));
    struct ch_sv agent = ch_json_get_str(v, "agent"), text = ch_json_get_str(v, "text");
    d->gw = r->gw;
    d->id = ch_strdup(i->id);
    d->key = ch_strdup(i->key);
    d->agent = ch_strndup(agent.p ? agent.p : "", agent.n);
    d->text = ch_strndup(text.p ? text.p : "", text.n);
    ch_list_add(&r->found, &d->link);
    return 0;
}

static int recall_session(const struct chela_store_session *s, void *user) {
    struct recovery *r = user;
    struct delivery *d = ch_alloc(sizeof(*d));
    d->gw = r->gw;
    d->key = ch_strdup(s->key);
    d->agent = ch_strdup(s->agent);
    ch_list_add(&r->found, &d->link);
    return 0;
}

static void look(struct ch_work *w) {
    struct recovery *r = CH_CONTAINER(w, struct recovery, work);
    struct chela_store_filter cut_off = {.status = "running", .limit = CH_LIMIT_LISTED};
    struct chela_error err = {0};
    if (chela_store_list(r->store, &cut_off, recall_session, r, &err) < 0)
        ch_log(CH_LOG_WARN, "gateway", "the sessions cannot be listed: %s", err.message);
    pthread_mutex_lock(&r->store->lock);
    if (r->store->ops->items(r->store->db, CHELA_STORE_INBOX, recall, r, &err) < 0)
        ch_log(CH_LOG_WARN, "gateway", "the inbox cannot be read: %s", err.message);
    pthread_mutex_unlock(&r->store->lock);
}

static void forget(struct ch_work *w) {
    struct recovery *r = CH_CONTAINER(w, struct recovery, work);
    for (struct delivery *d; (d = CH_LIST_FIRST(&r->found, struct delivery, link));)
        free_delivery(d);
    ch_free(r);
}

static bool is_of_hook(const chela_gateway *gw, const char *key) {
    for (size_t i = 0; i < gw->nhooks; i++) {
        const struct ch_hook *h = &gw->hooks[i];
        CH_BUF_AUTO beginning = {0};
        ch_buf_addf(&beginning, SESSION_PREFIX "%s:", h->name);
        if (h->session ? strcmp(key, h->session) == 0
                       : ch_sv_starts(ch_sv_str(key), ch_buf_str(&beginning)))
            return true;
    }
    return false;
}

static void looked(struct ch_work *w) {
    struct recovery *r = CH_CONTAINER(w, struct recovery, work);
    for (struct delivery *d; r->gw && (d = CH_LIST_FIRST(&r->found, struct delivery, link));) {
        if (!d->text && !is_of_hook(r->gw, d->key)) {
            free_delivery(d);
            continue;
        }
        ch_list_del(&d->link);
        ch_list_add(&r->gw->deliveries, &d->link);
        deliver(d);
    }
    if (r->gw)
        r->gw->recovery = NULL;
    forget(w);
}

void ch_hooks_recover(chela_gateway *gw) {
    if (!gw->nhooks || !gw->store)
        return;
    struct recovery *r = ch_alloc(sizeof(*r));
    r->work = (struct ch_work){.run = look, .done = looked, .dropped = forget};
    r->gw = gw;
    r->store = gw->store;
    ch_list_init(&r->found);
    gw->recovery = r;
    ch_work_submit(gw->rt->workers, &r->work);
}

/* --- life */

int ch_hooks_init(chela_gateway *gw, const struct chela_gateway_opts *o, struct chela_error *err) {
    if (o->nhooks && !gw->rt->journal)
        return ch_fail(err, CHELA_ECONFIG, "hooks need a store: an event must not be lost");
    gw->hooks = ch_alloc((o->nhooks + 1) * sizeof(*gw->hooks));
    for (size_t i = 0; i < o->nhooks; i++) {
        const struct chela_gateway_hook *h = &o->hooks[i];
        if (!h->secret || strlen(h->secret) < 16)
            return ch_fail(err, CHELA_ECONFIG,
                           "hook %s needs a secret of at least 16 bytes that its sender signs with",
                           h->name);
        ch_redact_add(h->secret);
        gw->hooks[gw->nhooks++] =
            (struct ch_hook){.name = ch_strdup(h->name),
                             .secret = ch_strdup(h->secret),
                             .agent = h->agent ? ch_strdup(h->agent) : NULL,
                             .session = h->session ? ch_strdup(h->session) : NULL};
    }
    return 0;
}

void ch_hooks_release(chela_gateway *gw) {
    if (gw->recovery)
        ((struct recovery *)gw->recovery)->gw = NULL;
    for (struct delivery *d; (d = CH_LIST_FIRST(&gw->deliveries, struct delivery, link));)
        free_delivery(d);
    for (struct knock *k; (k = CH_LIST_FIRST(&gw->knocks, struct knock, link));) {
        k->closed = true;
        ch_list_del(&k->link);
    }
    for (size_t i = 0; i < gw->nhooks; i++) {
        ch_free(gw->hooks[i].name);
        ch_free(gw->hooks[i].secret);
        ch_free(gw->hooks[i].agent);
        ch_free(gw->hooks[i].session);
    }
    ch_free(gw->hooks);
}
