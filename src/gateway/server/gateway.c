/* gateway.c -- the gateway's life: begin to listen, serve, drain, end. */
#include "gateway/request/gateway.h"

#include "agent/journal/journal.h"
#include "agent/journal/mailbox.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/opts.h"
#include "gateway/lane/delivery.h"
#include "gateway/http/health.h"
#include "gateway/lane/lane.h"
#include "gateway/schedule/schedules.h"
#include "gateway/server/orphan_scan.h"
#include "gateway/http/routes.h"
#include "store/store.h"
#include "gateway/http/ui_stream.h"
#include "net/wire.h"

#define DEFAULT_LISTEN "127.0.0.1:8787"

chela_agent *ch_gateway_agent(const chela_gateway *gw, struct ch_sv id) {
    if (!id.n)
        return gw->agents[0];
    for (chela_agent **a = gw->agents; *a; a++)
        if (ch_sv_is(id, (*a)->id))
            return *a;
    return NULL;
}

bool ch_gateway_is_shared(const chela_gateway *gw) {
    return gw->store && gw->store->ops->flags & CHELA_STORE_SHARED;
}

/* --- stopping */

static void finish(chela_gateway *gw) {
    gw->over = gw->leave = true;
}

static void on_drained(struct ch_timer *t) {
    finish(CH_CONTAINER(t, chela_gateway, drain));
}

/* Who follows the events of a session that rests is not waited for. */
static bool is_busy(const chela_gateway *gw) {
    for (CH_LIST_EACH(k, &gw->visits))
        if (!CH_CONTAINER(k, struct ch_visit, link)->streams)
            return true;
    return ch_lanes_busy(gw) || ch_outbox_is_sending(gw->rt);
}

/* Looked at again and again until nobody is left, or time is up. */
static void on_draining(struct ch_timer *t) {
    chela_gateway *gw = CH_CONTAINER(t, chela_gateway, drain);
    if (!is_busy(gw)) {
        on_drained(t);
        return;
    }
    int64_t left = atomic_load(&gw->drain_ms) - CH_DEFAULT_DRAIN_LOOK_MS;
    atomic_store(&gw->drain_ms, left);
    ch_timer_start(gw->rt->loop, t, CH_DEFAULT_DRAIN_LOOK_MS, left > 0 ? on_draining : on_drained);
}

static void on_stop(struct ch_post *p) {
    chela_gateway *gw = CH_CONTAINER(p, chela_gateway, stop);
    if (gw->server)
        ch_server_drain(gw->server);
    gw->draining = true;
    ch_sockets_close(gw, false);
    ch_timer_start(gw->rt->loop, &gw->drain, 0, on_draining);
}

static void on_stop_now(struct ch_post *p) {
    finish(CH_CONTAINER(p, chela_gateway, stop_now));
}

void chela_gateway_stop(chela_gateway *gw, int64_t drain_ms) {
    unsigned before = atomic_fetch_add(&gw->stops, 1);
    if (before == 0)
        atomic_store(&gw->drain_ms, drain_ms);
    if (before < 2)
        ch_loop_post(gw->rt->loop, before ? &gw->stop_now : &gw->stop);
}

static void on_interrupt(struct ch_post *p) {
    chela_gateway *gw = CH_CONTAINER(p, chela_gateway, interrupt);
    atomic_store(&gw->interrupts, 0);
    gw->interrupted = gw->leave = true;
}

void chela_gateway_interrupt(chela_gateway *gw) {
    if (atomic_exchange(&gw->interrupts, 1) == 0)
        ch_loop_post(gw->rt->loop, &gw->interrupt);
}

/* --- other agents */

static chela_agent **copy_agents(chela_agent *const *agents, size_t *n) {
    *n = 0;
    while (agents && agents[*n])
        (*n)++;
    return *n ? ch_memdup(agents, (*n + 1) * sizeof(*agents)) : NULL;
}

static bool is_used(const chela_gateway *gw, const chela_agent *a) {
    for (CH_LIST_EACH(k, &gw->lanes))
        if (CH_CONTAINER(k, struct ch_lane, link)->agent->base == a)
            return true;
    return gw->ninvocations > 0 || !ch_list_empty(&a->sessions); /* another's call */
}

static void free_retired(chela_gateway *gw) {
    size_t n = 0;
    for (size_t i = 0; i < gw->nretired; i++) {
        if (is_used(gw, gw->retired[i]))
            gw->retired[n++] = gw->retired[i];
        else
            ch_agent_release(gw->retired[i]); /* its owner may have closed it */
    }
    gw->nretired = n;
}

static void retire(chela_gateway *gw) {
    size_t n = 0;
    while (gw->agents[n])
        n++;
    gw->retired = ch_realloc(gw->retired, (gw->nretired + n) * sizeof(*gw->retired));
    memcpy(gw->retired + gw->nretired, gw->agents, n * sizeof(*gw->agents));
    gw->nretired += n;
    ch_free(gw->agents);
}

/* *out NULL: no TLS. */
static int identify(const chela_gateway *gw, const struct chela_gateway_opts *o,
                    struct ch_identity **out, struct chela_error *err) {
    *out = NULL;
    if (!o->tls_cert && !o->tls_key)
        return 0;
    if (!o->tls_cert || !o->tls_key)
        return ch_fail(err, CHELA_ECONFIG, "TLS needs both a certificate and its key");
    return ch_identity_new(o->tls_cert, o->tls_key, gw->rt->module_path, out, err);
}

/* What a reload changes, made anew before anything is touched. */
struct fresh {
    struct ch_door door;
    chela_agent **agents;
    struct ch_hooks hooks;
    struct ch_schedules *schedules;
    struct ch_identity *identity; /* NULL: no TLS */
    struct ch_chats_plan *chats;
};

static int make_fresh(chela_gateway *gw, const struct chela_gateway_opts *o, struct fresh *f,
                      struct chela_error *err) {
    chela_agent **before = gw->agents;
    size_t n;
    f->agents = copy_agents(o->agents, &n);
    if (!f->agents)
        return ch_fail(err, CHELA_EINVAL, "a gateway needs an agent");
    gw->agents = f->agents; /* they are looked up there */
    int rc = gw->headless ? 0 : ch_door_init(&f->door, o, err);
    if (rc == 0)
        rc = ch_hooks_init(gw, o, &f->hooks, err);
    if (rc == 0)
        rc = ch_schedules_new(gw, o, &f->schedules, err);
    if (rc == 0)
        rc = ch_send_init(gw, f->agents, err);
    if (rc == 0 && !gw->headless)
        rc = identify(gw, o, &f->identity, err);
    if (rc == 0 && !gw->headless)
        rc = ch_chats_plan(gw, o, &f->chats, err);
    gw->agents = before;
    return rc;
}

static bool serves(const chela_gateway *gw, const chela_agent *agent) {
    for (chela_agent **a = gw->agents; a && *a; a++)
        if (*a == agent)
            return true;
    return false;
}

/* They are their owner's again, as they were. */
static void give_back(const chela_gateway *gw, chela_agent **agents) {
    for (; agents && *agents; agents++)
        if (!serves(gw, *agents))
            ch_send_release(gw, *agents);
}

static void drop_fresh(struct fresh *f) {
    ch_door_release(&f->door);
    ch_hooks_release(&f->hooks);
    ch_schedules_free(f->schedules);
    ch_identity_unref(f->identity);
    ch_chats_drop(f->chats);
    ch_free(f->agents);
}

static void use_fresh(chela_gateway *gw, struct fresh *f) {
    struct fresh before = {.door = gw->door, .hooks = gw->hooks, .schedules = gw->schedules};
    if (gw->agents)
        retire(gw);
    gw->door = f->door;
    gw->agents = f->agents;
    for (chela_agent **a = gw->agents; *a; a++)
        ch_agent_hold(*a);
    gw->hooks = f->hooks;
    gw->schedules = f->schedules;
    if (f->chats)
        ch_chats_use(gw, CH_TAKE(f->chats));
    drop_fresh(&before);
}

static void keep_file(chela_gateway *gw, const struct chela_gateway_opts *o) {
    ch_free(gw->config_file);
    gw->config_file = o->config_file ? ch_strdup(o->config_file) : NULL;
}

int chela_gateway_reload(chela_gateway *gw, const struct chela_gateway_opts *given,
                         struct chela_error *err) {
    struct chela_gateway_opts opts;
    struct fresh f = {0};
    int rc = CH_OPTS_NEED(chela_gateway_opts, &opts, given, err);
    if (rc < 0)
        return rc;
    rc = make_fresh(gw, &opts, &f, err);
    if (rc < 0) {
        give_back(gw, f.agents);
        drop_fresh(&f);
        return rc;
    }
    if (!ch_sha256_equal(f.door.token, gw->door.token))
        ch_visits_expel(gw);
    ch_server_identify(gw->server, CH_TAKE(f.identity));
    use_fresh(gw, &f);
    ch_schedules_start(gw->schedules);
    ch_retention_set(gw, opts.retention_days);
    keep_file(gw, &opts);
    ch_channels_recover(gw); /* of a channel that is new, or was off for a while */
    return 0;
}

/* --- time */

static void on_pulse(struct ch_timer *t) {
    chela_gateway *gw = CH_CONTAINER(t, chela_gateway, pulse);
    ch_visits_pulse(gw);
    ch_lanes_tidy(gw);
    free_retired(gw);
    ch_timer_start(gw->rt->loop, &gw->pulse, CH_DEFAULT_PULSE_MS, on_pulse);
}

/* --- life */

static int fill(chela_gateway *gw, const struct chela_gateway_opts *o, struct chela_error *err) {
    struct fresh f = {0};
    int rc = make_fresh(gw, o, &f, err);
    if (rc < 0) {
        give_back(gw, f.agents);
        drop_fresh(&f);
        return rc;
    }
    use_fresh(gw, &f);
    gw->lookout = ch_lookout_new(gw);
    if (gw->rt->journal)
        gw->rt->journal->ops->serve(gw->rt->journal);
    if (gw->headless)
        return 0;
    struct ch_identity *identity = f.identity;
    struct ch_server_opts server = {.listen = o->listen ? o->listen : DEFAULT_LISTEN,
                                    .module_path = gw->rt->module_path,
                                    .head = ch_visit_head,
                                    .request = ch_visit_request,
                                    .user = gw};
    rc = ch_server_new(gw->rt->loop, &server, &gw->server, err);
    if (rc < 0)
        ch_identity_unref(identity);
    else
        ch_server_identify(gw->server, identity);
    return rc;
}

static int open_gateway(chela_runtime *rt, const struct chela_gateway_opts *given, bool headless,
                        chela_gateway **out, struct chela_error *err) {
    struct chela_gateway_opts opts;
    int rc = CH_OPTS_NEED(chela_gateway_opts, &opts, given, err);
    if (rc < 0)
        return rc;
    chela_gateway *gw = ch_alloc(sizeof(*gw));
    gw->rt = rt;
    gw->store = opts.store;
    gw->health = ch_health_new(gw);
    gw->headless = headless;
    keep_file(gw, &opts);
    gw->began = ch_mono_ms(ch_loop_clock(rt->loop));
    gw->stop.fn = on_stop;
    gw->stop_now.fn = on_stop_now;
    gw->interrupt.fn = on_interrupt;
    ch_list_init(&gw->lanes);
    ch_list_init(&gw->visits);
    ch_list_init(&gw->talks);
    ch_list_init(&gw->deliveries);
    ch_list_init(&gw->knocks);
    ch_list_init(&gw->chats);
    rc = fill(gw, &opts, err);
    if (rc < 0) {
        chela_gateway_close(gw);
        return rc;
    }
    ch_timer_start(rt->loop, &gw->pulse, CH_DEFAULT_PULSE_MS, on_pulse);
    ch_lookout_start(gw->lookout);
    ch_channels_recover(gw);
    if (!headless)
        ch_schedules_start(gw->schedules);
    if (!headless)
        ch_retention_set(gw, opts.retention_days);
    *out = gw;
    return 0;
}

int chela_gateway_new(chela_runtime *rt, const struct chela_gateway_opts *opts,
                      chela_gateway **out, struct chela_error *err) {
    return open_gateway(rt, opts, false, out, err);
}

int ch_gateway_headless(chela_runtime *rt, const struct chela_gateway_opts *opts,
                        chela_gateway **out, struct chela_error *err) {
    return open_gateway(rt, opts, true, out, err);
}

static void let_go(chela_gateway *gw, chela_agent *agent) {
    ch_send_release(gw, agent);
    ch_agent_release(agent);
}

void chela_gateway_close(chela_gateway *gw) {
    if (!gw)
        return;
    ch_sockets_close(gw, true);
    ch_timer_stop(gw->rt->loop, &gw->pulse);
    ch_timer_stop(gw->rt->loop, &gw->drain);
    ch_retention_stop(gw);
    ch_loop_unpost(gw->rt->loop, &gw->stop);
    ch_loop_unpost(gw->rt->loop, &gw->stop_now);
    ch_loop_unpost(gw->rt->loop, &gw->interrupt);
    ch_schedules_free(gw->schedules);
    ch_lookout_free(gw->lookout);
    ch_knocks_forget(gw);
    ch_deliveries_free(gw);
    ch_hooks_release(&gw->hooks);
    ch_chats_close(gw);
    ch_ui_talks_close(gw);
    ch_lanes_close(gw);
    for (struct ch_visit *v; (v = CH_LIST_FIRST(&gw->visits, struct ch_visit, link));) {
        ch_list_del(&v->link);
        if (v->left) {
            v->x = NULL;
            v->left(v);
        }
        ch_arena_release(&v->arena);
        ch_free(v);
    }
    if (gw->server)
        ch_server_close(gw->server);
    ch_health_free(gw->health);
    ch_door_release(&gw->door);
    for (size_t i = 0; i < gw->nretired; i++)
        let_go(gw, gw->retired[i]);
    for (chela_agent **a = gw->agents; a && *a; a++)
        let_go(gw, *a);
    ch_free(gw->agents);
    ch_free(gw->retired);
    ch_free(gw->config_file);
    ch_free(gw);
}

const char *chela_gateway_address(const chela_gateway *gw) {
    return ch_server_address(gw->server);
}

int chela_gateway_wants_restart(const chela_gateway *gw) {
    return gw->wants_restart;
}

int chela_gateway_run(chela_gateway *gw) {
    if (!gw->rt->own_loop)
        return CHELA_ESTATE;
    gw->leave = gw->over;
    gw->interrupted = false;
    /* At its end it may wait for nothing but a thread or a timer. */
    ch_loop_hold(gw->rt->loop);
    int rc = ch_loop_run(gw->rt->loop, &gw->leave);
    if (rc == CHELA_ECANCELED)
        return rc; /* the loop is gone */
    ch_loop_release(gw->rt->loop);
    return rc < 0 ? rc : gw->interrupted && !gw->over;
}
