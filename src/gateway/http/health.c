/* health.c -- is it alive, and can it work; if not, what fails.
 *
 * GET /healthz says that the process turns. GET /readyz looks at what the gateway
 * depends on:
 *
 *   store     a question is put to it. Without it nothing can be promised: 503
 *   model     how the last model call went
 *   channels  whether messages of a chat service cannot be sent, or do not come
 *   config    whether a new configuration was refused, and the last good one holds
 *
 * The last three do not make it unready: another node would fare no better.
 *
 * Both routes are open, so they name what fails and say no more; why it does is
 * told to those who show the token. Anybody may ask as often as they like: the
 * store is asked once in a while, for all who wait, and one that does not answer
 * is not waited for. */
#include "gateway/http/health.h"

#include "agent/journal/mailbox.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/chat/channels.h"
#include "gateway/http/routes.h"
#include "io/worker.h"

struct probe {
    struct ch_work work;
    struct ch_health *health; /* NULL: the gateway was closed */
    chela_store *store;
    struct chela_error err;
};

struct ch_health {
    chela_gateway *gw;
    struct ch_list waiting;
    struct ch_timer patience;
    struct probe *probe;      /* under way; NULL */
    int64_t asked;            /* when the store had answered; 0: never */
    struct chela_error store; /* what is wrong with it; code 0: nothing */
    struct ch_buf model;      /* likewise, in words */
    struct ch_buf config;     /* likewise */
};

struct waiting {
    struct ch_link link;
    struct ch_visit *visit;
};

/* --- telling */

static void say(struct ch_visit *v, int status, const char *text) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "status", text);
    ch_jw_end(&w, '}');
    ch_visit_json(v, status, &out);
}

/* why NULL: it is well. */
static void row(struct ch_jw *w, const char *name, const char *why, bool tell) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", name);
    ch_jw_kcstr(w, "status", why ? "failing" : "ok");
    if (why && tell)
        ch_jw_kcstr(w, "detail", why);
    ch_jw_end(w, '}');
}

static bool add_channels(struct ch_jw *w, const chela_gateway *gw, bool tell) {
    bool failing = false;
    for (CH_LIST_EACH(k, &gw->chats)) {
        struct ch_channel *c = CH_CONTAINER(k, struct ch_chat, link)->channel;
        const char *trouble = c->ops->trouble ? c->ops->trouble(c) : NULL;
        size_t n = ch_outbox_stuck(gw->rt, c->ops->name);
        CH_BUF_AUTO why = {0};
        if (n)
            ch_buf_addf(&why, "%zu messages could not be sent so far%s", n, trouble ? "; " : "");
        ch_buf_add_str(&why, trouble ? trouble : "");
        row(w, c->ops->name, why.n ? ch_buf_str(&why) : NULL, tell);
        failing = failing || why.n;
    }
    return failing;
}

static void tell(struct ch_visit *v) {
    const struct ch_health *h = v->gw->health;
    bool may_know = ch_door_knows(&v->gw->door, ch_exchange_inbound(v->x));
    bool bad = !ch_health_store_works(h), poor = !ch_health_model_works(h);
    CH_BUF_AUTO out = {0}, checks = {0};
    struct ch_jw w = ch_jw(&out), c = ch_jw(&checks);
    ch_jw_begin(&c, '[');
    if (v->gw->store)
        row(&c, "store", bad ? h->store.message : NULL, may_know);
    row(&c, "model", poor ? ch_buf_str(&h->model) : NULL, may_know);
    poor = add_channels(&c, v->gw, may_know) || poor;
    row(&c, "config", h->config.n ? ch_buf_str(&h->config) : NULL, may_know);
    poor = h->config.n || poor;
    ch_jw_end(&c, ']');
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "status", bad ? "failing" : poor ? "degraded" : "ok");
    ch_jw_key(&w, "checks");
    ch_jw_raw(&w, ch_buf_sv(&checks));
    ch_jw_end(&w, '}');
    ch_visit_json(v, bad ? 503 : 200, &out);
}

static void tell_all(struct ch_health *h) {
    ch_timer_stop(h->gw->rt->loop, &h->patience);
    for (struct waiting *w; (w = CH_LIST_FIRST(&h->waiting, struct waiting, link));) {
        struct ch_visit *v = w->visit;
        ch_list_del(&w->link);
        ch_free(w);
        v->left = NULL;
        tell(v);
    }
}

/* --- asking the store */

static int nothing(const struct chela_store_session *s, void *user) {
    (void)s, (void)user;
    return 0;
}

/* On a worker thread. That there is no such session is an answer. */
static void ask(struct ch_work *w) {
    struct probe *p = CH_CONTAINER(w, struct probe, work);
    if (chela_store_session(p->store, "chela:health", nothing, NULL, &p->err) == CHELA_ENOENT)
        p->err.code = 0;
}

static void dropped(struct ch_work *w) {
    ch_free(CH_CONTAINER(w, struct probe, work));
}

static void answered(struct ch_work *w) {
    struct probe *p = CH_CONTAINER(w, struct probe, work);
    struct ch_health *h = p->health;
    if (h) {
        h->store = p->err;
        h->asked = ch_mono_ms(ch_loop_clock(h->gw->rt->loop));
        h->probe = NULL;
        tell_all(h);
    }
    ch_free(p);
}

static void on_impatience(struct ch_timer *t) {
    struct ch_health *h = CH_CONTAINER(t, struct ch_health, patience);
    h->store = (struct chela_error){.code = CHELA_ETIMEOUT, .message = "it does not answer"};
    tell_all(h);
}

static void begin(struct ch_health *h) {
    struct probe *p = ch_alloc(sizeof(*p));
    p->work = (struct ch_work){.run = ask, .done = answered, .dropped = dropped};
    p->health = h;
    p->store = h->gw->store;
    h->probe = p;
    ch_timer_start(h->gw->rt->loop, &h->patience, CH_LIMIT_HEALTH_MS, on_impatience);
    ch_work_submit(h->gw->rt->workers, &p->work);
}

static void on_left(struct ch_visit *v) {
    struct waiting *w = v->user;
    ch_list_del(&w->link);
    ch_free(w);
}

/* --- the routes */

void ch_health_live(struct ch_visit *v) {
    say(v, 200, "ok");
}

void ch_health_ready(struct ch_visit *v) {
    struct ch_health *h = v->gw->health;
    int64_t now = ch_mono_ms(ch_loop_clock(v->gw->rt->loop));
    bool known = !v->gw->store || (h->asked && now - h->asked < CH_DEFAULT_HEALTH_MS);
    bool given_up = h->probe && h->store.code == CHELA_ETIMEOUT;
    if (v->gw->draining) {
        say(v, 503, "stopping");
        return;
    }
    if (known || given_up) {
        tell(v);
        return;
    }
    struct waiting *w = ch_alloc(sizeof(*w));
    w->visit = v;
    v->user = w;
    v->left = on_left;
    ch_list_add(&h->waiting, &w->link);
    if (!h->probe)
        begin(h);
}

bool ch_health_store_works(const struct ch_health *h) {
    return h->store.code == 0;
}

bool ch_health_model_works(const struct ch_health *h) {
    return h->model.n == 0;
}

/* --- what is seen of models */

void ch_health_hear(struct ch_health *h, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_TURN_END)
        ch_buf_clear(&h->model);
    if (ev->type == CHELA_EV_RETRY) {
        ch_buf_clear(&h->model);
        ch_buf_add(&h->model, ev->retry.reason.p, ev->retry.reason.n);
    }
    if (ev->type == CHELA_EV_RUN_END && strcmp(ev->end.reason, "model_error") == 0) {
        ch_buf_clear(&h->model);
        ch_buf_add(&h->model, ev->end.error.p, ev->end.error.n);
    }
}

void chela_gateway_trouble(chela_gateway *gw, const char *why) {
    struct ch_buf *told = &gw->health->config;
    ch_buf_clear(told);
    ch_redact_copy(told, ch_sv_str(why ? why : ""));
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
    ch_buf_release(&h->model);
    ch_buf_release(&h->config);
    ch_free(h);
}
