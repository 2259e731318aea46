/* health.c -- see health.h.
 *
 * GET /healthz shows that the loop runs. GET /readyz checks what the gateway depends on:
 *
 *   store     commits a write. Otherwise the response is 503: nothing can be stored
 *   model     the last model call succeeded
 *   channels  messages are received and sent
 *   config    the last reload succeeded
 *
 * A failure of the last three keeps the status 200: another node would not do better.
 *
 * Both routes need no token. The causes of failures are shown only to clients with the
 * token. Frequent requests are cheap: they share one query of the store, whose result is
 * reused for a while. */
#include "gateway/http/health.h"

#include "agent/handle/agent.h"
#include "agent/journal/outbox.h"
#include "base/limits.h"
#include "gateway/chat/chat_service.h"
#include "gateway/lane/health_state.h"
#include "gateway/request/auth.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "io/loop_entry.h"
#include "io/worker.h"
#include "store/store.h"

struct store_probe {
    struct ch_work work;
    struct ch_health *health; /* NULL: the gateway was closed */
    chela_store *store;
    struct chela_error err;
};

struct ch_health {
    chela_gateway *gw;
    struct ch_list waiting;
    struct ch_timer patience;
    struct store_probe *probe; /* in progress; else NULL */
    int64_t answered_at;       /* when the store last answered; 0: never */
    bool gave_up;             /* the store has not answered the probe in time */
};

struct health_waiter {
    struct ch_link link;
    struct ch_request *request;
};

/* --- responding */

static void health_respond_status(struct ch_request *req, int status, const char *text) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "status", text);
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, status, &out);
}

/* why NULL: healthy. */
static void health_write_row(struct ch_jw *w, const char *name, const char *why, bool tell) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", name);
    ch_jw_kcstr(w, "status", why ? "failing" : "ok");
    if (why && tell)
        ch_jw_kcstr(w, "detail", why);
    ch_jw_end(w, '}');
}

/* why NULL: healthy. */
static void health_write_channel(struct ch_jw *w, const struct ch_channel *c, const char *why,
                                 bool tell) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", c->ops->name);
    ch_jw_kcstr(w, "status", why ? "failing" : "ok");
    if (why && tell)
        ch_jw_kcstr(w, "detail", why);
    if (tell && c->last_seen)
        ch_jw_kint(w, "last_event", c->last_seen);
    if (tell && c->last_error)
        ch_jw_kcstr(w, "last_error", c->last_error);
    ch_jw_end(w, '}');
}

static bool health_add_channels(struct ch_jw *w, const chela_gateway *gw, bool tell) {
    bool failing = false;
    for (CH_LIST_EACH(k, &gw->chats)) {
        struct ch_channel *c = CH_CONTAINER(k, struct ch_chat_service, link)->channel;
        const char *trouble = ch_channel_trouble(c);
        int64_t next_ms;
        size_t n = ch_outbox_stuck(gw->rt, c->ops->name, &next_ms);
        CH_BUF_AUTO why = {0};
        if (n)
            ch_buf_addf(&why, "%zu messages are not sent yet, next attempt in %lld s%s", n,
                        (long long)((next_ms + 999) / 1000), trouble ? "; " : "");
        ch_buf_add_str(&why, trouble ? trouble : "");
        health_write_channel(w, c, why.n ? ch_buf_str(&why) : NULL, tell);
        failing = failing || why.n;
    }
    return failing;
}

static void health_respond(struct ch_request *req) {
    const struct ch_health_state *h = req->gw->health_state;
    const char *store = ch_health_state_store_error(h), *model = ch_health_state_model_error(h);
    const char *config = ch_health_state_config_error(h);
    bool may_know = ch_auth_has_token(&req->gw->auth, ch_exchange_inbound(req->x));
    bool poor = model || config;
    CH_BUF_AUTO out = {0}, checks = {0};
    struct ch_jw w = ch_jw(&out), c = ch_jw(&checks);
    ch_jw_begin(&c, '[');
    if (req->gw->store)
        health_write_row(&c, "store", store, may_know);
    health_write_row(&c, "model", model, may_know);
    poor = health_add_channels(&c, req->gw, may_know) || poor;
    health_write_row(&c, "config", config, may_know);
    ch_jw_end(&c, ']');
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "status", store ? "failing" : poor ? "degraded" : "ok");
    ch_jw_kraw(&w, "checks", ch_buf_sv(&checks));
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, store ? 503 : 200, &out);
}

static void health_respond_all(struct ch_health *h) {
    ch_timer_stop(h->gw->rt->loop, &h->patience);
    for (struct health_waiter *w; (w = CH_LIST_FIRST(&h->waiting, struct health_waiter, link));) {
        struct ch_request *req = w->request;
        ch_list_del(&w->link);
        ch_free(w);
        req->on_disconnect = NULL;
        health_respond(req);
    }
}

/* --- probing the store */

/* On a worker thread. A store that answers queries may still refuse writes: a full disk. */
static void store_probe_run(struct ch_work *w) {
    struct store_probe *p = CH_CONTAINER(w, struct store_probe, work);
    int64_t now = ch_store_now();
    struct chela_store_change c = {.kind = CHELA_STORE_KEEP,
                                   .id = "health",
                                   .data = "ok",
                                   .n = 2,
                                   .now = now,
                                   .until = now + CH_DEFAULT_IDEMPOTENCY_MS};
    ch_store_commit(p->store, &c, 1, false, &p->err);
}

static void store_probe_dropped(struct ch_work *w) {
    ch_free(CH_CONTAINER(w, struct store_probe, work));
}

static void store_probe_done(struct ch_work *w) {
    struct store_probe *p = CH_CONTAINER(w, struct store_probe, work);
    struct ch_health *h = p->health;
    if (h) {
        ch_health_state_set_store(h->gw->health_state, &p->err);
        h->gave_up = false;
        h->answered_at = ch_mono_ms(ch_loop_clock(h->gw->rt->loop));
        h->probe = NULL;
        health_respond_all(h);
    }
    ch_free(p);
}

static void store_probe_timed_out(struct ch_timer *t) {
    struct ch_health *h = CH_CONTAINER(t, struct ch_health, patience);
    struct chela_error silent = {.code = CHELA_ETIMEOUT, .message = "the store does not answer"};
    ch_health_state_set_store(h->gw->health_state, &silent);
    h->gave_up = true;
    health_respond_all(h);
}

static void store_probe_start(struct ch_health *h) {
    struct store_probe *p = ch_alloc(sizeof(*p));
    p->work = (struct ch_work){
        .run = store_probe_run, .done = store_probe_done, .dropped = store_probe_dropped};
    p->health = h;
    p->store = h->gw->store;
    h->probe = p;
    ch_timer_start(h->gw->rt->loop, &h->patience, CH_LIMIT_HEALTH_MS, store_probe_timed_out);
    ch_work_submit(h->gw->rt->workers, &p->work);
}

static void health_on_disconnect(struct ch_request *req) {
    struct health_waiter *w = req->user;
    ch_list_del(&w->link);
    ch_free(w);
}

/* --- the routes */

void ch_health_live(struct ch_request *req) {
    health_respond_status(req, 200, "ok");
}

void ch_health_ready(struct ch_request *req) {
    struct ch_health *h = req->gw->health;
    int64_t now = ch_mono_ms(ch_loop_clock(req->gw->rt->loop));
    bool known = !req->gw->store || (h->answered_at && now - h->answered_at < CH_DEFAULT_HEALTH_MS);
    if (req->gw->draining) {
        health_respond_status(req, 503, "stopping");
        return;
    }
    if (known || (h->probe && h->gave_up)) {
        health_respond(req);
        return;
    }
    struct health_waiter *w = ch_alloc(sizeof(*w));
    w->request = req;
    req->user = w;
    req->on_disconnect = health_on_disconnect;
    ch_list_add(&h->waiting, &w->link);
    if (!h->probe)
        store_probe_start(h);
}

void chela_gateway_trouble(chela_gateway *gw, const char *why) {
    CH_ENTER_OR(gw, gw->rt->loop, NULL, );
    ch_health_state_set_config(gw->health_state, why);
}

/* --- life */

struct ch_health *ch_health_new(chela_gateway *gw) {
    struct ch_health *h = ch_alloc(sizeof(*h));
    h->gw = gw;
    ch_list_init(&h->waiting);
    return h;
}

void ch_health_free(struct ch_health *h) {
    if (!h)
        return;
    if (h->probe)
        h->probe->health = NULL;
    ch_timer_stop(h->gw->rt->loop, &h->patience);
    ch_free(h);
}
