/* gateway.c -- the life of a gateway: open, serve, reload, drain, close. */
#include "gateway/server/gateway.h"

#include "agent/api/agent.h"
#include "agent/handle/agent.h"
#include "agent/handle/guarded_files.h"
#include "agent/journal/journal.h"
#include "agent/journal/outbox.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/opts.h"
#include "config/rewrite.h"
#include "gateway/chat/chat_lifecycle.h"
#include "gateway/chat/chat_recovery.h"
#include "gateway/chat/reply_target.h"
#include "gateway/http/health.h"
#include "gateway/http/logs_api.h"
#include "gateway/http/mcp_api.h"
#include "gateway/http/metrics.h"
#include "gateway/http/notices.h"
#include "gateway/http/kept_calls.h"
#include "gateway/http/response_store.h"
#include "gateway/http/session_socket.h"
#include "gateway/http/ui_stream.h"
#include "gateway/http/webhooks.h"
#include "gateway/lane/delivery.h"
#include "gateway/lane/health_state.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/orphans.h"
#include "gateway/lane/send_tool.h"
#include "gateway/lane/tail.h"
#include "gateway/request/auth.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/idempotency.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"
#include "gateway/schedule/schedules.h"
#include "gateway/server/delivery_kinds.h"
#include "gateway/server/http_routes.h"
#include "gateway/server/orphan_scan.h"
#include "gateway/server/presence.h"
#include "gateway/server/retention.h"
#include "io/loop_entry.h"
#include "net/wire.h"
#include "store/store.h"

#define DEFAULT_LISTEN "127.0.0.1:8787"

/* A gateway with the members that this file alone uses. */
/* A call of chela_gateway_run. A callback may close the gateway in the meantime. */
struct gateway_wait {
    bool over;
    bool closed;
};

struct gateway_instance {
    chela_gateway gw;
    chela_agent **retired; /* owned array: agents to free when no lane uses them */
    size_t nretired;
    struct ch_timer keep_alive, drain, sample;
    struct ch_post stop, stop_now;
    atomic_uint stops; /* calls of chela_gateway_stop */
    atomic_llong drain_ms;
    bool over, interrupted;
    struct gateway_wait *wait; /* borrowed; NULL: chela_gateway_run was not called */
};

static struct gateway_instance *instance_of(const chela_gateway *gw) {
    return CH_CONTAINER(gw, struct gateway_instance, gw);
}

/* --- stopping */

static void return_from_run(struct gateway_instance *g) {
    if (g->wait)
        g->wait->over = true;
}

static void gateway_finish(struct gateway_instance *g) {
    g->over = true;
    return_from_run(g);
}

static void gateway_on_drained(struct ch_timer *t) {
    gateway_finish(CH_CONTAINER(t, struct gateway_instance, drain));
}

/* A client that only follows the events of an idle session does not delay the end. */
static bool gateway_is_busy(const chela_gateway *gw) {
    for (CH_LIST_EACH(k, &gw->requests))
        if (!CH_CONTAINER(k, struct ch_request, link)->streams)
            return true;
    return (gw->server && ch_server_asked(gw->server)) || ch_lanes_busy(gw) ||
           ch_outbox_is_sending(gw->rt) || ch_mcp_api_busy(gw->mcp);
}

/* Repeats until the gateway is idle or the time is up. */
static void gateway_on_drain_check(struct ch_timer *t) {
    struct gateway_instance *g = CH_CONTAINER(t, struct gateway_instance, drain);
    if (!gateway_is_busy(&g->gw)) {
        gateway_on_drained(t);
        return;
    }
    int64_t left = atomic_load(&g->drain_ms) - CH_DEFAULT_DRAIN_LOOK_MS;
    atomic_store(&g->drain_ms, left);
    ch_timer_start(g->gw.rt->loop, t, CH_DEFAULT_DRAIN_LOOK_MS,
                   left > 0 ? gateway_on_drain_check : gateway_on_drained);
}

static void gateway_on_stop(struct ch_post *p) {
    struct gateway_instance *g = CH_CONTAINER(p, struct gateway_instance, stop);
    if (g->gw.server)
        ch_server_drain(g->gw.server);
    g->gw.draining = true;
    ch_session_sockets_close(&g->gw, false);
    ch_timer_start(g->gw.rt->loop, &g->drain, 0, gateway_on_drain_check);
}

static void gateway_on_stop_now(struct ch_post *p) {
    gateway_finish(CH_CONTAINER(p, struct gateway_instance, stop_now));
}

void chela_gateway_stop(chela_gateway *gw, int64_t drain_ms) {
    CH_NEEDS_OR(gw, NULL, );
    struct gateway_instance *g = instance_of(gw);
    unsigned before = atomic_fetch_add(&g->stops, 1);
    if (before == 0)
        atomic_store(&g->drain_ms, drain_ms);
    if (before < 2)
        ch_loop_post(gw->rt->loop, before ? &g->stop_now : &g->stop);
}

static void gateway_on_interrupt(struct ch_post *p) {
    struct gateway_instance *g = instance_of(CH_CONTAINER(p, chela_gateway, interrupt));
    atomic_store(&g->gw.interrupts, 0);
    g->interrupted = true;
    return_from_run(g);
}

/* --- agents */

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
    return !ch_list_empty(&a->sessions); /* sessions of a delegation */
}

static bool gateway_serves(const chela_gateway *gw, const chela_agent *agent) {
    for (chela_agent **a = gw->agents; a && *a; a++)
        if (*a == agent)
            return true;
    return false;
}

/* An agent outlives the gateway if its owner has not closed it, so its tool must not refer to the
 * gateway any more. */
static void free_retired(struct gateway_instance *g) {
    size_t n = 0;
    for (size_t i = 0; i < g->nretired; i++) {
        chela_agent *a = g->retired[i];
        if (agent_is_used(&g->gw, a)) {
            g->retired[n++] = a;
            continue;
        }
        if (!gateway_serves(&g->gw, a))
            ch_send_tool_remove(&g->gw, a);
        ch_agent_release(a);
    }
    g->nretired = n;
}

static void retire_agents(chela_gateway *gw) {
    struct gateway_instance *g = instance_of(gw);
    size_t n = 0;
    while (gw->agents[n])
        n++;
    g->retired = ch_realloc(g->retired, (g->nretired + n) * sizeof(*g->retired));
    memcpy(g->retired + g->nretired, gw->agents, n * sizeof(*gw->agents));
    g->nretired += n;
    ch_free(gw->agents);
}

/* Takes the gateway's tools from agents that the gateway does not serve after all. */
static void release_agents(const chela_gateway *gw, chela_agent **agents) {
    for (; agents && *agents; agents++)
        if (!gateway_serves(gw, *agents))
            ch_send_tool_remove(gw, *agents);
}

/* --- configuration */

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

#define MOST_RETENTION_DAYS 36500 /* a day in the future would delete every session */

/* Everything that a reload changes; built completely before the gateway is changed. */
struct gateway_config {
    struct ch_auth auth;
    chela_agent **agents;
    struct ch_webhooks *webhooks;
    struct ch_schedules *schedules;
    struct ch_identity *identity; /* NULL: no TLS */
    struct ch_chat_plan *chats;
    struct ch_mcp_plan *mcp; /* NULL: /mcp is not served */
    struct ch_budget_plan *budgets;
};

static int build_config(chela_gateway *gw, const struct chela_gateway_opts *o,
                        struct gateway_config *c, struct chela_error *err) {
    chela_agent **before = gw->agents;
    size_t n;
    c->agents = copy_agents(o->agents, &n);
    if (!c->agents)
        return ch_fail(err, CHELA_EINVAL, "a gateway needs an agent");
    if (o->retention_days < 0 || o->retention_days > MOST_RETENTION_DAYS)
        return ch_fail(err, CHELA_EINVAL, "retention_days is not in 0..%d", MOST_RETENTION_DAYS);
    gw->agents = c->agents; /* the parts below look agents up by id */
    int rc = gw->headless ? 0 : ch_auth_init(&c->auth, o, err);
    if (rc == 0)
        rc = ch_budgets_plan(o, &c->budgets, err);
    if (rc == 0)
        rc = ch_webhooks_new(gw, o, &c->webhooks, err);
    if (rc == 0)
        rc = ch_schedules_new(gw, o, &c->schedules, err);
    if (rc == 0)
        rc = ch_send_tool_add(gw, c->agents, err);
    if (rc == 0 && !gw->headless)
        rc = gateway_load_identity(gw, o, &c->identity, err);
    if (rc == 0 && !gw->headless)
        rc = ch_chat_lifecycle_plan(gw, o, &c->chats, err);
    if (rc == 0 && !gw->headless)
        rc = ch_mcp_api_plan(gw, o, &c->mcp, err);
    gw->agents = before;
    return rc;
}

static void free_config(struct gateway_config *c) {
    ch_auth_release(&c->auth);
    ch_webhooks_free(c->webhooks);
    ch_schedules_free(c->schedules);
    ch_identity_unref(c->identity);
    ch_chat_lifecycle_drop_plan(c->chats);
    ch_mcp_api_drop_plan(c->mcp);
    ch_budgets_drop_plan(c->budgets);
    ch_free(c->agents);
}

static void use_config(chela_gateway *gw, struct gateway_config *c) {
    struct gateway_config before = {
        .auth = gw->auth, .webhooks = gw->webhooks, .schedules = gw->schedules};
    if (gw->agents)
        retire_agents(gw);
    gw->auth = c->auth;
    gw->agents = c->agents;
    for (chela_agent **a = gw->agents; *a; a++)
        ch_agent_hold(*a);
    gw->webhooks = c->webhooks;
    gw->schedules = c->schedules;
    ch_budgets_apply(gw->budgets, CH_TAKE(c->budgets));
    if (c->chats)
        ch_chat_lifecycle_apply(gw, CH_TAKE(c->chats));
    ch_mcp_api_apply(gw->mcp, CH_TAKE(c->mcp));
    free_config(&before);
}

/* Tools may not write the previous version of the file, which an owner may restore. */
static void set_config_file(chela_gateway *gw, const struct chela_gateway_opts *o) {
    CH_BUF_AUTO previous = {0};
    bool same = gw->config_file && o->config_file && strcmp(gw->config_file, o->config_file) == 0;
    if (same)
        return;
    ch_free(gw->config_file);
    gw->config_file = o->config_file ? ch_strdup(o->config_file) : NULL;
    if (!o->config_file)
        return;
    ch_config_previous(o->config_file, &previous);
    ch_runtime_hide_file(gw->rt, ch_buf_str(&previous));
}

static int gateway_check_workers(const struct chela_gateway_opts *o, struct chela_error *err) {
    if (o->workers > CH_LIMIT_WORKERS)
        return ch_fail(err, CHELA_EINVAL, "workers: at most %d", CH_LIMIT_WORKERS);
    if (o->worker == 0)
        return 0;
    if (o->worker > o->workers)
        return ch_fail(err, CHELA_EINVAL, "there is no worker %zu of %zu", o->worker, o->workers);
    if (!o->store || o->store->ops->flags & CHELA_STORE_INSTANT)
        return ch_fail(err, CHELA_ECONFIG,
                       "%zu workers need a store that processes can share: sqlite:, postgres:// or "
                       "redis://", o->workers);
    return 0;
}

int chela_gateway_reload(chela_gateway *gw, const struct chela_gateway_opts *given,
                         struct chela_error *err) {
    CH_ENTER(gw, gw->rt->loop, err);
    CH_LOG_SCOPE(gw->rt->sink);
    struct chela_gateway_opts opts;
    struct gateway_config c = {0};
    int rc = CH_OPTS_NEED(chela_gateway_opts, &opts, given, err);
    if (rc < 0)
        return rc;
    rc = gateway_check_workers(&opts, err);
    if (rc == 0)
        rc = build_config(gw, &opts, &c, err);
    if (rc < 0) {
        release_agents(gw, c.agents);
        free_config(&c);
        return rc;
    }
    if (!ch_sha256_equal(c.auth.token, gw->auth.token))
        ch_requests_expel(gw);
    ch_server_identify(gw->server, CH_TAKE(c.identity));
    use_config(gw, &c);
    ch_schedules_start(gw->schedules);
    ch_retention_set(gw->retention, opts.retention_days);
    set_config_file(gw, &opts);
    ch_chat_recovery_start(gw); /* for channels that are new, or were off for a while */
    return 0;
}

/* --- timer */

static void gateway_on_keep_alive(struct ch_timer *t) {
    struct gateway_instance *g = CH_CONTAINER(t, struct gateway_instance, keep_alive);
    ch_requests_keep_alive(&g->gw);
    ch_lanes_close_idle(&g->gw);
    free_retired(g);
    ch_timer_start(g->gw.rt->loop, t, CH_DEFAULT_PULSE_MS, gateway_on_keep_alive);
}

static void gateway_on_sample(struct ch_timer *t) {
    struct gateway_instance *g = CH_CONTAINER(t, struct gateway_instance, sample);
    ch_metrics_publish(&g->gw);
    ch_timer_start(g->gw.rt->loop, t, CH_DEFAULT_SAMPLE_MS, gateway_on_sample);
}

/* --- life */

static int gateway_start(chela_gateway *gw, const struct chela_gateway_opts *o,
                         struct chela_error *err) {
    struct gateway_config c = {0};
    int rc = build_config(gw, o, &c, err);
    if (rc < 0) {
        release_agents(gw, c.agents);
        free_config(&c);
        return rc;
    }
    use_config(gw, &c);
    if (gw->rt->journal)
        gw->rt->journal->ops->serve(gw->rt->journal);
    if (gw->headless)
        return 0;
    struct ch_identity *identity = c.identity;
    struct ch_server_opts server = {.listen = o->listen ? o->listen : DEFAULT_LISTEN,
                                    .taken = gw->board ? ch_metrics_taken(gw) : NULL,
                                    .module_path = gw->rt->module_path,
                                    .head = ch_request_on_head,
                                    .request = ch_request_on_complete,
                                    .refuse = ch_request_on_refuse,
                                    .user = gw};
    rc = ch_server_new(gw->rt->loop, &server, &gw->server, err);
    if (rc < 0)
        ch_identity_unref(identity);
    else
        ch_server_identify(gw->server, identity);
    return rc;
}

static struct gateway_instance *instance_new(chela_runtime *rt,
                                             const struct chela_gateway_opts *o) {
    struct gateway_instance *g = ch_alloc(sizeof(*g));
    chela_gateway *gw = &g->gw;
    struct ch_list *lists[] = {&gw->lanes,      &gw->closed_lanes, &gw->requests,
                               &gw->idempotents, &gw->ui_streams,  &gw->deliveries,
                               &gw->chats,      &gw->tails,        &gw->lookups};
    for (size_t i = 0; i < CH_LEN(lists); i++)
        ch_list_init(lists[i]);
    gw->rt = rt;
    gw->store = o->store;
    gw->worker = o->worker;
    gw->workers = o->worker ? o->workers : 0;
    gw->board = o->worker ? o->board : NULL;
    gw->attempts.share = gw->workers;
    gw->routes = ch_http_routes;
    gw->attach_chat = ch_reply_target_attach_timer_run;
    gw->restore_event = ch_orphan_scan_restore;
    gw->delivery_kinds = ch_delivery_kinds;
    gw->health_state = ch_health_state_new();
    gw->health = ch_health_new(gw);
    gw->notices = ch_notices_new(gw);
    gw->mcp = ch_mcp_api_new(gw);
    gw->budgets = ch_budgets_new(gw);
    gw->session_changed = ch_notices_look_soon;
    gw->orphans = ch_orphans_new(gw);
    gw->orphan_scan = ch_orphan_scan_new(gw);
    gw->retention = ch_retention_new(gw);
    gw->presence = ch_presence_new(gw);
    gw->started = ch_mono_ms(ch_loop_clock(rt->loop));
    gw->interrupt.fn = gateway_on_interrupt;
    g->stop.fn = gateway_on_stop;
    g->stop_now.fn = gateway_on_stop_now;
    set_config_file(gw, o);
    ch_logs_api_keep(gw);
    return g;
}

static int gateway_open(chela_runtime *rt, const struct chela_gateway_opts *given, bool headless,
                        chela_gateway **out, struct chela_error *err) {
    struct chela_gateway_opts opts;
    *out = NULL;
    int rc = CH_OPTS_NEED(chela_gateway_opts, &opts, given, err);
    if (rc == 0)
        rc = gateway_check_workers(&opts, err);
    if (rc < 0)
        return rc;
    struct gateway_instance *g = instance_new(rt, &opts);
    chela_gateway *gw = &g->gw;
    gw->headless = headless;
    rc = gateway_start(gw, &opts, err);
    if (rc < 0) {
        chela_gateway_close(gw);
        return rc;
    }
    ch_timer_start(rt->loop, &g->keep_alive, CH_DEFAULT_PULSE_MS, gateway_on_keep_alive);
    ch_orphan_scan_start(gw->orphan_scan);
    ch_chat_recovery_start(gw);
    if (!headless) {
        ch_schedules_start(gw->schedules);
        ch_retention_set(gw->retention, opts.retention_days);
        ch_presence_start(gw->presence);
    }
    if (gw->board)
        gateway_on_sample(&g->sample);
    *out = gw;
    return 0;
}

int chela_gateway_new(chela_runtime *rt, const struct chela_gateway_opts *opts, chela_gateway **out,
                      struct chela_error *err) {
    CH_NEEDS_ARG(out, err);
    *out = NULL;
    CH_ENTER(rt, rt->loop, err);
    CH_LOG_SCOPE(rt->sink);
    return gateway_open(rt, opts, false, out, err);
}

int ch_gateway_open_headless(chela_runtime *rt, const struct chela_gateway_opts *opts,
                             chela_gateway **out, struct chela_error *err) {
    return gateway_open(rt, opts, true, out, err);
}

static void stop_timers(struct gateway_instance *g) {
    struct ch_loop *loop = g->gw.rt->loop;
    ch_timer_stop(loop, &g->keep_alive);
    ch_timer_stop(loop, &g->drain);
    ch_timer_stop(loop, &g->sample);
    ch_loop_unpost(loop, &g->stop);
    ch_loop_unpost(loop, &g->stop_now);
    ch_loop_unpost(loop, &g->gw.interrupt);
}

/* Ends the requests: handlers are called as if the clients had disconnected. */
static void free_requests(chela_gateway *gw) {
    for (struct ch_request *req; (req = CH_LIST_FIRST(&gw->requests, struct ch_request, link));) {
        ch_list_del(&req->link);
        if (req->on_disconnect) {
            req->x = NULL;
            req->on_disconnect(req);
        }
        ch_arena_release(&req->arena);
        ch_free(req);
    }
}

static void release_agent(chela_gateway *gw, chela_agent *agent) {
    ch_send_tool_remove(gw, agent);
    ch_agent_release(agent);
}

static void free_instance(struct gateway_instance *g) {
    chela_gateway *gw = &g->gw;
    for (size_t i = 0; i < g->nretired; i++)
        release_agent(gw, g->retired[i]);
    for (chela_agent **a = gw->agents; a && *a; a++)
        release_agent(gw, *a);
    ch_free(gw->agents);
    ch_free(g->retired);
    ch_free(gw->config_file);
    ch_free(g);
}

void chela_gateway_close(chela_gateway *gw) {
    CH_ENTER_OR(gw, gw->rt->loop, NULL, );
    CH_LOG_SCOPE(gw->rt->sink);
    struct gateway_instance *g = instance_of(gw);
    ch_session_sockets_close(gw, true);
    ch_mcp_api_free(gw->mcp);
    ch_idempotency_close(gw);
    stop_timers(g);
    ch_retention_free(gw->retention);
    ch_presence_free(gw->presence);
    ch_schedules_free(gw->schedules);
    free_requests(gw); /* they use everything below */
    ch_orphan_scan_free(gw->orphan_scan);
    ch_deliveries_stop(gw);
    ch_webhooks_free(gw->webhooks);
    ch_response_store_free(gw->responses);
    ch_kept_calls_free(gw->kept_calls);
    ch_chat_lifecycle_close_all(gw);
    ch_ui_streams_close(gw);
    ch_tails_close(gw);
    ch_lanes_close(gw);
    ch_deliveries_free(gw);
    ch_store_lookups_close(gw);
    if (gw->server)
        ch_server_close(gw->server);
    ch_budgets_free(gw->budgets);
    ch_health_free(gw->health);
    ch_notices_free(gw->notices);
    ch_health_state_free(gw->health_state);
    ch_orphans_free(gw->orphans);
    ch_auth_release(&gw->auth);
    ch_attempts_release(&gw->attempts);
    if (g->wait)
        *g->wait = (struct gateway_wait){.over = true, .closed = true};
    free_instance(g);
}

int chela_gateway_listen(const char *listen, int *fd, char **address, struct chela_error *err) {
    CH_NEEDS_ARG(fd, err);
    CH_NEEDS_ARG(address, err);
    return ch_server_listen(listen ? listen : DEFAULT_LISTEN, fd, address, err);
}

const char *chela_gateway_address(const chela_gateway *gw) {
    CH_ENTER_OR(gw, gw->rt->loop, NULL, NULL);
    return ch_server_address(gw->server);
}

int chela_gateway_tools(chela_agent *agent, struct chela_error *err) {
    CH_ENTER(agent, agent->rt->loop, err);
    chela_agent *const agents[] = {agent, NULL};
    return ch_send_tool_add(NULL, agents, err);
}

int chela_gateway_wants_restart(const chela_gateway *gw) {
    CH_ENTER_OR(gw, gw->rt->loop, NULL, 0);
    return gw->wants_restart;
}

int chela_gateway_patched(chela_gateway *gw) {
    CH_ENTER_OR(gw, gw->rt->loop, NULL, 0);
    bool was = gw->patched;
    gw->patched = false;
    return was;
}

int chela_gateway_run(chela_gateway *gw) {
    CH_ENTER(gw, gw->rt->loop, NULL);
    struct gateway_instance *g = instance_of(gw);
    struct ch_loop *loop = gw->rt->loop;
    struct gateway_wait wait = {.over = g->over};
    int rc = ch_loop_may_run(loop, NULL);
    if (rc < 0)
        return rc;
    g->wait = &wait;
    g->interrupted = false;
    /* A gateway that ends may wait for a worker thread or a timer alone, and these do not
     * keep the loop running. */
    ch_loop_hold(loop);
    rc = ch_loop_run(loop, &wait.over);
    ch_loop_release(loop);
    if (wait.closed)
        return 0;
    g->wait = NULL;
    return rc < 0 ? rc : g->interrupted && !g->over;
}
