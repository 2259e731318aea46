/* node.c -- a process with a gateway: what `chela serve` builds, without a configuration
 * file. Also how one process sees another one (owner.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/api/runtime.h"
#include "base/buf.h"
#include "model/provider/target.h"
#include "sim/sim.h"
#include "store/owner.h"
#include "store/store.h"

static void fail(const char *what, const struct chela_error *err) {
    fprintf(stderr, "sim: %s: %s\n", what, err->message);
    abort();
}

/* --- its log */

static void on_log(enum chela_log_level level, const char *area, const char *line, void *user) {
    struct sim_node *node = user;
    (void)level;
    if (strstr(line, "was taken over by another process"))
        node->told++;
    sim_note("log %s: %s", area, line);
}

/* --- its clock, for timers */

static int64_t node_now(void *user) {
    const struct sim_node *node = user;
    return 1700000000000 + (sim.now + node->skew) / SIM_MS;
}

static int64_t node_mono(void *user) {
    const struct sim_node *node = user;
    return (sim.now + node->uptime) / SIM_MS;
}

/* --- its agent */

static chela_agent *open_agent(struct sim_node *node) {
    struct chela_error err = {0};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .id = "main", .model = "anthropic/fake-1", .api_key = "test-key-0123456789",
        .system = "Be brief.", .approve = CHELA_APPROVE_AUTO);
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = "touch", .description = "Touches.",
                        .schema = "{\"type\":\"object\"}", .fn = sim_tool, .user = node,
                        .effect = CHELA_EFFECT_ONCE, .permission = CHELA_PERM_READ);
    chela_agent *agent;
    if (chela_agent_new(node->rt, &opts, &agent, &err) < 0 ||
        chela_agent_add_tool(agent, &tool, &err) < 0)
        fail("agent", &err);
    node->transport.ops = &sim_model;
    for (size_t i = 0; i < agent->ntargets; i++)
        agent->targets[i]->transport = &node->transport;
    return agent;
}

static const char *no_environment(const char *name, void *user) {
    (void)name;
    (void)user;
    return NULL;
}

void sim_node_start(struct sim_node *node) {
    static const char *const urls[] = {"sqlite:sim", "sqlite:sim", "postgres://sim/x",
                                       "redis://sim"};
    struct chela_error err = {0};
    struct chela_runtime_opts ro = CHELA_RUNTIME_OPTS(.env = no_environment, .log = on_log,
                                                      .max_threads = 8, .user = node);
    struct chela_store_opts so = CHELA_STORE_OPTS(.module_path = NULL);
    const struct chela_gateway_hook hook =
        CHELA_GATEWAY_HOOK(.name = "all", .secret = "0123456789abcdef", .session = "hook-all");
    const struct chela_channel_opts chat = CHELA_CHANNEL_OPTS(.name = "sim");
    node->clock = (struct ch_clock){node_now, node_mono, node};
    node->fenced = node->told = 0;
    if (ch_runtime_open(&ro, &node->clock, &node->rt, &err) < 0)
        fail("runtime", &err);
    if (chela_store_open(urls[sim.backend], &so, &node->store, &err) < 0 ||
        chela_runtime_store(node->rt, node->store, CHELA_DURABILITY_FULL, &err) < 0)
        fail("store", &err);
    chela_agent *agents[] = {open_agent(node), NULL};
    const struct chela_gateway_hook *hooks[] = {&hook, NULL};
    const struct chela_channel_opts *channels[] = {&chat, NULL};
    struct chela_gateway_opts go =
        CHELA_GATEWAY_OPTS(.listen = "127.0.0.1:0", .token = "0123456789abcdef", .agents = agents,
                           .store = node->store, .hooks = hooks, .channels = channels);
    if (chela_gateway_new(node->rt, &go, &node->gw, &err) < 0)
        fail("gateway", &err);
    sim_note("%s serves", node->name);
}

void sim_node_end(struct sim_node *node) {
    chela_gateway *gw = node->gw;
    node->gw = NULL; /* nothing more arrives */
    chela_gateway_close(gw);
    chela_runtime_close(node->rt);
    chela_store_close(node->store);
}

/* --- processes as others see them: "sim NODE LIFE [gateway]" */

void __wrap_ch_owner_make(struct ch_buf *out);
void __wrap_ch_owner_make(struct ch_buf *out) {
    const struct sim_node *node = sim_here();
    ch_buf_addf(out, "sim %u %u", node->index, node->life);
}

/* 1: lives, -1: dead, 0: on another machine */
static int look_at(const char *owner) {
    unsigned index, life;
    if (sscanf(owner, "sim %u %u", &index, &life) != 2 || index >= sim.nnodes)
        return 0;
    const struct sim_node *node = &sim.nodes[index], *here = sim_here();
    bool visible = here == node || (here->shared_machine && node->shared_machine);
    return !visible ? 0 : node->up && node->life == life ? 1 : -1;
}

bool __wrap_ch_owner_is_dead(const char *owner);
bool __wrap_ch_owner_is_dead(const char *owner) {
    return look_at(owner) < 0;
}

bool __wrap_ch_owner_lives(const char *owner);
bool __wrap_ch_owner_lives(const char *owner) {
    return look_at(owner) > 0;
}

bool __wrap_ch_owner_is_stopped(const char *owner);
bool __wrap_ch_owner_is_stopped(const char *owner) {
    unsigned index = 0;
    sscanf(owner, "sim %u", &index);
    return look_at(owner) > 0 && sim.now < sim.nodes[index].stopped;
}
