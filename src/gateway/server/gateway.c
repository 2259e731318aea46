/* gateway.c -- the gateway's life: begin to listen, serve, drain, end. */
#include "gateway/request/gateway_state.h"

#include "agent/journal/journal.h"
#include "agent/journal/mailbox.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/chat/chat_service.h"
#include "gateway/http/health.h"
#include "gateway/http/routes.h"
#include "gateway/http/ui_stream.h"
#include "gateway/lane/delivery.h"
#include "gateway/lane/health_state.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/orphans.h"
#include "gateway/lane/send_tool.h"
#include "gateway/schedule/schedules.h"
#include "gateway/server/orphan_scan.h"
#include "net/wire.h"
#include "store/store.h"

#define DEFAULT_LISTEN "127.0.0.1:8787"

/* --- stopping */

static void gateway_finish(chela_gateway *gw) {
    gw->over = gw->return_from_run = true;
}

static void gateway_on_drained(struct ch_timer *t) {
    gateway_finish(CH_CONTAINER(t, chela_gateway, drain));
}

/* Who follows the events of a session that rests is not waited for. */
static bool gateway_is_busy(const chela_gateway *gw) {
    for (CH_LIST_EACH(k, &gw->requests))
        if (!CH_CONTAINER(k, struct ch_request, link)->streams)
            return true;
    return ch_lanes_busy(gw) || ch_outbox_is_sending(gw->rt);
}

/* Looked at again and again until nobody is left, or time is up. */
static void gateway_on_drain_check(struct ch_timer *t) {
    chela_gateway *gw = CH_CONTAINER(t, chela_gateway, drain);
    if (!gateway_is_busy(gw)) {
        gateway_on_drained(t);
        return;
    }
    int64_t left = atomic_load(&gw->drain_ms) - CH_DEFAULT_DRAIN_LOOK_MS;
    atomic_store(&gw->drain_ms, left);
    ch_timer_start(gw->rt->loop, t, CH_DEFAULT_DRAIN_LOOK_MS,
                   left > 0 ? gateway_on_drain_check : gateway_on_drained);
}

static void gateway_on_stop(struct ch_post *p) {
    chela_gateway *gw = CH_CONTAINER(p, chela_gateway, stop);
    if (gw->server)
        ch_server_drain(gw->server);
    gw->draining = true;
    ch_session_sockets_close(gw, false);
    ch_timer_start(gw->rt->loop, &gw->drain, 0, gateway_on_drain_check);
}

static void gateway_on_stop_now(struct ch_post *p) {
    gateway_finish(CH_CONTAINER(p, chela_gateway, stop_now));
}

void chela_gateway_stop(chela_gateway *gw, int64_t drain_ms) {
    unsigned before = atomic_fetch_add(&gw->stops, 1);
    if (before == 0)
        atomic_store(&gw->drain_ms, drain_ms);
    if (before < 2)
        ch_loop_post(gw->rt->loop, before ? &gw->stop_now : &gw->stop);
}

static void gateway_on_interrupt(struct ch_post *p) {
    chela_gateway *gw = CH_CONTAINER(p, chela_gateway, interrupt);
    atomic_store(&gw->interrupts, 0);
    gw->interrupted = gw->return_from_run = true;
}

/* --- other agents */

static chela_agent **copy_agents(chela_agent *const *agents, size_t *n) {
    *n = 0;
    while (agents && agents[*n])
        (*n)++;
    return *n ? ch_memdup(agents, (*n + 1) * sizeof(*agents)) : NULL;
}

static bool agent_is_used(const chela_gateway *gw, const chela_agent *a) {
    for (CH_LIST_EACH(k, &gw->lanes))
        if (CH_CONTAINER(k, struct ch_lane, link)->agent->base == a)
            return true;
    return gw->ninvocations > 0 || !ch_list_empty(&a->sessions); /* another's call */
}

static void free_retired(chela_gateway *gw) {
    size_t n = 0;
    for (size_t i = 0; i < gw->nretired; i++) {
        if (agent_is_used(gw, gw->retired[i]))
            gw->retired[n++] = gw->retired[i];
        else
            ch_agent_free(gw->retired[i]);
    }
    gw->nretired = n;
}

static void retire_agents(chela_gateway *gw) {
    size_t n = 0;
    while (gw->agents[n])
        n++;
    gw->retired = ch_realloc(gw->retired, (gw->nretired + n) * sizeof(*gw->retired));
    memcpy(gw->retired + gw->nretired, gw->agents, n * sizeof(*gw->agents));
    gw->nretired += n;
    ch_free(gw->agents);
}

/* *out NULL: no TLS. */
static int gateway_load_identity(const chela_gateway *gw, const struct chela_gateway_opts *o,
                                 struct ch_identity **out, struct chela_error *err) {
    *out = NULL;
    if (!o->tls_cert && !o->tls_key)
        return 0;
    if (!o->tls_cert || !o->tls_key)
        return ch_fail(err, CHELA_ECONFIG, "TLS needs both a certificate and its key");
    return ch_identity_new(o->tls_cert, o->tls_key, gw->rt->module_path, out, err);
}

/* What a reload changes, made anew before anything is touched. */
struct gateway_config {
    struct ch_auth door;
    chela_agent **agents;
    struct ch_webhooks hooks;
    struct ch_schedules *schedules;
    struct ch_identity *identity; /* NULL: no TLS */
    struct ch_chat_plan *chats;
};

static int build_config(chela_gateway *gw, const struct chela_gateway_opts *o,
                        struct gateway_config *f, struct chela_error *err) {
    chela_agent **before = gw->agents;
    size_t n;
    f->agents = copy_agents(o->agents, &n);
    if (!f->agents)
        return ch_fail(err, CHELA_EINVAL, "a gateway needs an agent");
    gw->agents = f->agents; /* they are looked up there */
    int rc = gw->headless ? 0 : ch_auth_init(&f->door, o, err);
    if (rc == 0)
        rc = ch_webhooks_init(gw, o, &f->hooks, err);
    if (rc == 0)
        rc = ch_schedules_new(gw, o, &f->schedules, err);
    if (rc == 0)
        rc = ch_send_tool_add(gw, f->agents, err);
    if (rc == 0 && !gw->headless)
        rc = gateway_load_identity(gw, o, &f->identity, err);
    if (rc == 0 && !gw->headless)
        rc = ch_chat_lifecycle_plan(gw, o, &f->chats, err);
    gw->agents = before;
    return rc;
}

static bool gateway_serves(const chela_gateway *gw, const chela_agent *agent) {
    for (chela_agent **a = gw->agents; a && *a; a++)
        if (*a == agent)
            return true;
    return false;
}

/* They are their owner's again, as they were. */
static void release_agents(const chela_gateway *gw, chela_agent **agents) {
    for (; agents && *agents; agents++)
        if (!gateway_serves(gw, *agents))
            ch_send_tool_remove(gw, *agents);
}

static void free_config(struct gateway_config *f) {
    ch_auth_release(&f->door);
    ch_webhooks_release(&f->hooks);
    ch_schedules_free(f->schedules);
    ch_identity_unref(f->identity);
    ch_chat_lifecycle_drop_plan(f->chats);
    ch_free(f->agents);
}

static void use_config(chela_gateway *gw, struct gateway_config *f) {
    struct gateway_config before = {
        .door = gw->auth, .hooks = gw->webhooks, .schedules = gw->schedules};
    if (gw->agents)
        retire_agents(gw);
    gw->auth = f->door;
    gw->agents = f->agents;
    gw->webhooks = f->hooks;
    gw->schedules = f->schedules;
    if (f->chats)
        ch_chat_lifecycle_apply(gw, CH_TAKE(f->chats));
    free_config(&before);
}

static void set_config_file(chela_gateway *gw, const struct chela_gateway_opts *o) {
    ch_free(gw->config_file);
    gw->config_file = o->config_file ? ch_strdup(o->config_file) : NULL;
}

int chela_gateway_reload(chela_gateway *gw, const struct chela_gateway_opts *given,
                         struct chela_error *err) {
    struct chela_gateway_opts opts = {0};
    struct gateway_config f = {0};
    memcpy(&opts, given, CH_MIN(given->size, sizeof(opts)));
    int rc = build_config(gw, &opts, &f, err);
    if (rc < 0) {
        release_agents(gw, f.agents);
        free_config(&f);
        return rc;
    }
    if (!ch_sha256_equal(f.door.token, gw->auth.token))
        ch_requests_expel(gw);
    ch_server_identify(gw->server, CH_TAKE(f.identity));
    use_config(gw, &f);
    ch_schedules_start(gw->schedules);
    ch_retention_set(gw, opts.retention_days);
    set_config_file(gw, &opts);
    ch_chat_recovery_start(gw); /* of a channel that is new, or was off for a while */
    return 0;
}

/* --- time */

static void gateway_on_keep_alive(struct ch_timer *t) {
    chela_gateway *gw = CH_CONTAINER(t, chela_gateway, keep_alive);
    ch_requests_keep_alive(gw);
    ch_lanes_close_idle(gw);
    free_retired(gw);
    ch_timer_start(gw->rt->loop, &gw->keep_alive, CH_DEFAULT_PULSE_MS, gateway_on_keep_alive);
}

/* --- life */

static int gateway_start(chela_gateway *gw, const struct chela_gateway_opts *o,
                         struct chela_error *err) {
    struct gateway_config f = {0};
    int rc = build_config(gw, o, &f, err);
    if (rc < 0) {
        release_agents(gw, f.agents);
        free_config(&f);
        return rc;
    }
    use_config(gw, &f);
    gw->orphan_scan = ch_orphan_scan_new(gw);
    if (gw->rt->journal)
        gw->rt->journal->ops->serve(gw->rt->journal);
    if (gw->headless)
        return 0;
    struct ch_identity *identity = f.identity;
    struct ch_server_opts server = {.listen = o->listen ? o->listen : DEFAULT_LISTEN,
                                    .module_path = gw->rt->module_path,
                                    .head = ch_request_on_head,
                                    .request = ch_request_on_complete,
                                    .user = gw};
    rc = ch_server_new(gw->rt->loop, &server, &gw->server, err);
    if (rc < 0)
        ch_identity_unref(identity);
    else
        ch_server_identify(gw->server, identity);
    return rc;
}

static int gateway_open(chela_runtime *rt, const struct chela_gateway_opts *given, bool headless,
                        chela_gateway **out, struct chela_error *err) {
    struct chela_gateway_opts opts = {0};
    memcpy(&opts, given, CH_MIN(given->size, sizeof(opts)));
    chela_gateway *gw = ch_alloc(sizeof(*gw));
    gw->rt = rt;
    gw->routes = ch_http_routes;
    gw->attach_chat = ch_reply_target_attach_timer_run;
    gw->store = opts.store;
    gw->health_state = ch_health_state_new();
    gw->health = ch_health_new(gw);
    gw->orphans = ch_orphans_new(gw);
    gw->headless = headless;
    set_config_file(gw, &opts);
    gw->started = ch_mono_ms(ch_loop_clock(rt->loop));
    gw->stop.fn = gateway_on_stop;
    gw->stop_now.fn = gateway_on_stop_now;
    gw->interrupt.fn = gateway_on_interrupt;
    ch_list_init(&gw->lanes);
    ch_list_init(&gw->requests);
    ch_list_init(&gw->ui_streams);
    ch_list_init(&gw->deliveries);
    ch_list_init(&gw->webhook_calls);
    ch_list_init(&gw->chats);
    int rc = gateway_start(gw, &opts, err);
    if (rc < 0) {
        chela_gateway_close(gw);
        return rc;
    }
    ch_timer_start(rt->loop, &gw->keep_alive, CH_DEFAULT_PULSE_MS, gateway_on_keep_alive);
    ch_orphan_scan_start(gw->orphan_scan);
    ch_chat_recovery_start(gw);
    if (!headless)
        ch_schedules_start(gw->schedules);
    if (!headless)
        ch_retention_set(gw, opts.retention_days);
    *out = gw;
    return 0;
}

int chela_gateway_new(chela_runtime *rt, const struct chela_gateway_opts *opts,
                      chela_gateway **out, struct chela_error *err) {
    return gateway_open(rt, opts, false, out, err);
}

int ch_gateway_open_headless(chela_runtime *rt, const struct chela_gateway_opts *opts,
                             chela_gateway **out, struct chela_error *err) {
    return gateway_open(rt, opts, true, out, err);
}

void chela_gateway_close(chela_gateway *gw) {
    if (!gw)
        return;
    ch_session_sockets_close(gw, true);
    ch_timer_stop(gw->rt->loop, &gw->keep_alive);
    ch_timer_stop(gw->rt->loop, &gw->drain);
    ch_retention_stop(gw);
    ch_loop_unpost(gw->rt->loop, &gw->stop);
    ch_loop_unpost(gw->rt->loop, &gw->stop_now);
    ch_loop_unpost(gw->rt->loop, &gw->interrupt);
    ch_schedules_free(gw->schedules);
    ch_orphan_scan_free(gw->orphan_scan);
    ch_webhooks_abandon_calls(gw);
    ch_deliveries_free(gw);
    ch_webhooks_release(&gw->webhooks);
    ch_chat_lifecycle_close_all(gw);
    ch_ui_streams_close(gw);
    ch_lanes_close(gw);
    for (struct ch_request *req; (req = CH_LIST_FIRST(&gw->requests, struct ch_request, link));) {
        ch_list_del(&req->link);
        if (req->on_disconnect) {
            req->x = NULL;
            req->on_disconnect(req);
        }
        ch_arena_release(&req->arena);
        ch_free(req);
    }
    if (gw->server)
        ch_server_close(gw->server);
    ch_health_free(gw->health);
    ch_health_state_free(gw->health_state);
    ch_orphans_free(gw->orphans);
    ch_auth_release(&gw->auth);
    for (size_t i = 0; i < gw->nretired; i++)
        ch_send_tool_remove(gw, gw->retired[i]);
    for (chela_agent **a = gw->agents; a && *a; a++)
        ch_send_tool_remove(gw, *a);
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
    gw->return_from_run = gw->over;
    gw->interrupted = false;
    /* At its end it may wait for nothing but a thread or a timer. */
    ch_loop_hold(gw->rt->loop);
    int rc = ch_loop_run(gw->rt->loop, &gw->return_from_run);
    if (rc == CHELA_ECANCELED)
        return rc; /* the loop is gone */
    ch_loop_release(gw->rt->loop);
    return rc < 0 ? rc : gw->interrupted && !gw->over;
}
