/* test_option_sizes.c -- every public struct with a `size`, passed with a size
 * that is too small: each function that takes it refuses the call, says so, and
 * names the struct. Nothing of such a struct may be dropped without a word.
 *
 * tests/lint checks that every public struct with a `size` has a case here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/opts.h"
#include "chela.h"

/* What the calls are made with. */
struct world {
    chela_runtime *rt;
    chela_agent *agent, *other;
    chela_session *session;
    chela_store *store;
    chela_config *cfg;
};

static int tool(chela_call *call, void *user) {
    (void)call, (void)user;
    return 0;
}

static int on_send(chela_call *call, const struct chela_message *m, void *user) {
    (void)call, (void)m, (void)user;
    return 0;
}

static void on_accepted(int rc, const struct chela_error *err, void *user) {
    (void)rc, (void)err, (void)user;
}

static void on_simulated(const struct chela_simulated *s, void *user) {
    (void)s, (void)user;
}

/* A call that returns text: its code is that of err. */
static int failed(char *text, const struct chela_error *err) {
    int rc = text ? 0 : err->code;
    chela_free(text);
    return rc;
}

#define CASE(type) \
    static int with_##type(struct world *w, size_t size, struct chela_error *err)
#define UNUSED (void)w

CASE(chela_runtime_opts) {
    struct chela_runtime_opts o = {.size = size};
    chela_runtime *rt = NULL;
    UNUSED;
    int rc = chela_runtime_new(&o, &rt, err);
    chela_runtime_close(rt);
    return rc;
}

CASE(chela_provider_opts) {
    struct chela_provider_opts o = {.size = size, .name = "mine", .api = "openai"};
    return chela_runtime_provider(w->rt, &o, err);
}

CASE(chela_mcp_opts) {
    struct chela_mcp_opts o = {.size = size, .name = "m", .url = "http://127.0.0.1:1/mcp"};
    chela_mcp *mcp = NULL;
    int rc = chela_mcp_new(w->rt, &o, &mcp, err);
    chela_mcp_close(mcp);
    return rc;
}

static int mcp_nothing(chela_mcp_call *call, void *user) {
    (void)call;
    (void)user;
    return 0;
}

CASE(chela_mcp_server_opts) {
    struct chela_mcp_server_opts o = {.size = size, .name = "m", .version = "1"};
    chela_mcp_server *s = NULL;
    int rc = chela_mcp_server_new(w->rt, &o, &s, err);
    chela_mcp_server_close(s);
    return rc;
}

static chela_mcp_server *mcp_server(struct world *w) {
    struct chela_mcp_server_opts o = CHELA_MCP_SERVER_OPTS(.name = "m", .version = "1");
    chela_mcp_server *s = NULL;
    assert_int_equal(chela_mcp_server_new(w->rt, &o, &s, NULL), 0);
    return s;
}

CASE(chela_mcp_tool_opts) {
    struct chela_mcp_tool_opts o = {.size = size, .name = "t", .fn = mcp_nothing};
    chela_mcp_server *s = mcp_server(w);
    int rc = chela_mcp_server_tool(s, &o, err);
    chela_mcp_server_close(s);
    return rc;
}

CASE(chela_mcp_resource_opts) {
    struct chela_mcp_resource_opts o = {.size = size, .uri = "t://a", .fn = mcp_nothing};
    chela_mcp_server *s = mcp_server(w);
    int rc = chela_mcp_server_resource(s, &o, err);
    chela_mcp_server_close(s);
    return rc;
}

CASE(chela_mcp_prompt_opts) {
    struct chela_mcp_prompt_opts o = {.size = size, .name = "p", .fn = mcp_nothing};
    chela_mcp_server *s = mcp_server(w);
    int rc = chela_mcp_server_prompt(s, &o, err);
    chela_mcp_server_close(s);
    return rc;
}

CASE(chela_price) {
    struct chela_price o = {.size = size, .input = 1};
    return chela_runtime_price(w->rt, "p", "m", &o, err);
}

CASE(chela_queue_opts) {
    struct chela_queue_opts o = {.size = size};
    return chela_session_queue(w->session, &o, err);
}

static int agent_with(struct world *w, const struct chela_agent_opts *o, struct chela_error *err) {
    chela_agent *agent;
    return chela_agent_new(w->rt, o, &agent, err);
}

CASE(chela_agent_opts) {
    struct chela_agent_opts o = {.size = size, .model = "scripted/demo"};
    return agent_with(w, &o, err);
}

static int probe(struct world *w, size_t size, struct chela_error *err) {
    struct chela_agent_opts o = {.size = size, .model = "scripted/demo"};
    return failed(chela_model_probe(w->rt, &o, err), err);
}

static int config_agent(struct world *w, size_t size, struct chela_error *err) {
    struct chela_agent_opts o = {.size = size};
    return chela_config_agent(w->cfg, NULL, &o, err);
}

CASE(chela_policy) {
    struct chela_policy p = {.size = size, .channel = "feishu"};
    const struct chela_policy *list[] = {&p, NULL};
    struct chela_agent_opts o = CHELA_AGENT_OPTS(
        .model = "scripted/demo",
        .approvals = &(struct chela_approval_opts)CHELA_APPROVAL_OPTS(.policies = list));
    return agent_with(w, &o, err);
}

CASE(chela_sandbox_opts) {
    struct chela_sandbox_opts p = {.size = size};
    struct chela_agent_opts o = CHELA_AGENT_OPTS(.model = "scripted/demo", .sandbox = &p);
    return agent_with(w, &o, err);
}

CASE(chela_heartbeat_opts) {
    struct chela_heartbeat_opts p = {.size = size};
    struct chela_agent_opts o =
        CHELA_AGENT_OPTS(.model = "scripted/demo", .mode = CHELA_MODE_HEARTBEAT, .heartbeat = &p);
    return agent_with(w, &o, err);
}

static int simulate(struct world *w, size_t size, struct chela_error *err) {
    struct chela_heartbeat_opts p = {.size = size};
    UNUSED;
    return chela_heartbeat_simulate("", 0, &p, on_simulated, NULL, err);
}

/* The groups of an agent's options. */
#define GROUP(type, member)                                                                  \
    CASE(type) {                                                                             \
        struct type group = {.size = size};                                                  \
        struct chela_agent_opts o =                                                          \
            CHELA_AGENT_OPTS(.model = "scripted/demo", .member = &group);                    \
        return agent_with(w, &o, err);                                                       \
    }
GROUP(chela_limits, limits)
GROUP(chela_loop_guard, loop_guard)
GROUP(chela_request_opts, request)
GROUP(chela_prompt_opts, prompt)
GROUP(chela_toolset_opts, toolset)
GROUP(chela_approval_opts, approvals)
GROUP(chela_compaction_opts, compaction)
GROUP(chela_planning_opts, planning)
GROUP(chela_team_opts, team)
GROUP(chela_agent_gateway_opts, gateway)

static int agents_queue(struct world *w, size_t size, struct chela_error *err) {
    struct chela_queue_opts group = {.size = size};
    struct chela_agent_opts o = CHELA_AGENT_OPTS(.model = "scripted/demo", .queue = &group);
    return agent_with(w, &o, err);
}

CASE(chela_sandbox_limits) {
    struct chela_sandbox_limits limits = {.size = size};
    struct chela_sandbox_opts p = CHELA_SANDBOX_OPTS(.limits = &limits);
    struct chela_agent_opts o = CHELA_AGENT_OPTS(.model = "scripted/demo", .sandbox = &p);
    return agent_with(w, &o, err);
}

CASE(chela_willing_opts) {
    struct chela_willing_opts p = {.size = size};
    chela_willing *made = NULL;
    UNUSED;
    int rc = chela_willing_new(CHELA_CHAT_GROUP, &p, NULL, &made, err);
    chela_willing_free(made);
    return rc;
}

static int willing_defaults(struct world *w, size_t size, struct chela_error *err) {
    struct chela_willing_opts p = {.size = size};
    UNUSED;
    return chela_willing_defaults(CHELA_CHAT_GROUP, &p, err);
}

static int heartbeat_group(struct world *w, size_t size, struct chela_error *err) {
    struct chela_willing_opts group = {.size = size};
    struct chela_heartbeat_opts p = CHELA_HEARTBEAT_OPTS(.group = &group);
    struct chela_agent_opts o =
        CHELA_AGENT_OPTS(.model = "scripted/demo", .mode = CHELA_MODE_HEARTBEAT, .heartbeat = &p);
    return agent_with(w, &o, err);
}

static int simulate_direct(struct world *w, size_t size, struct chela_error *err) {
    struct chela_willing_opts direct = {.size = size};
    struct chela_heartbeat_opts p = CHELA_HEARTBEAT_OPTS(.direct = &direct);
    UNUSED;
    return chela_heartbeat_simulate("", 0, &p, on_simulated, NULL, err);
}

CASE(chela_willing_rules) {
    struct chela_willing_rules rules = {.size = size};
    chela_willing *made = NULL;
    UNUSED;
    int rc = chela_willing_new(CHELA_CHAT_GROUP, NULL, &rules, &made, err);
    chela_willing_free(made);
    return rc;
}

static int heartbeat_rules(struct world *w, size_t size, struct chela_error *err) {
    struct chela_willing_rules rules = {.size = size};
    struct chela_heartbeat_opts p = CHELA_HEARTBEAT_OPTS(.rules = &rules);
    struct chela_agent_opts o =
        CHELA_AGENT_OPTS(.model = "scripted/demo", .mode = CHELA_MODE_HEARTBEAT, .heartbeat = &p);
    return agent_with(w, &o, err);
}

static int on_session(const struct chela_store_session *s, void *user) {
    (void)s, (void)user;
    return 0;
}

CASE(chela_store_filter) {
    struct chela_store_filter f = {.size = size};
    return chela_store_list(w->store, &f, on_session, NULL, err);
}

CASE(chela_erase_opts) {
    struct chela_erase_opts o = {.size = size, .sender = "nobody"};
    char *receipt = NULL;
    int rc = chela_store_erase(w->store, &o, &receipt, err);
    chela_free(receipt);
    return rc;
}

CASE(chela_delegate_opts) {
    struct chela_delegate_opts o = {.size = size};
    return chela_agent_delegate(w->agent, w->other, &o, err);
}

CASE(chela_tool_opts) {
    struct chela_tool_opts o = {.size = size, .name = "t", .description = "d", .fn = tool};
    return chela_agent_add_tool(w->agent, &o, err);
}

static const char *const program[] = {"true", NULL};

CASE(chela_command_opts) {
    struct chela_tool_opts t = CHELA_TOOL_OPTS(.name = "c1", .description = "d");
    struct chela_command_opts o = {.size = size, .tool = &t, .argv = program};
    return chela_agent_add_command(w->agent, &o, err);
}

static int command_tool(struct world *w, size_t size, struct chela_error *err) {
    struct chela_tool_opts t = {.size = size, .name = "c2", .description = "d"};
    struct chela_command_opts o = CHELA_COMMAND_OPTS(.tool = &t, .argv = program);
    return chela_agent_add_command(w->agent, &o, err);
}

CASE(chela_hooks) {
    struct chela_hooks o = {.size = size};
    return chela_agent_hooks(w->agent, &o, err);
}

CASE(chela_channel) {
    struct chela_channel o = {.size = size, .name = "c", .send = on_send};
    return chela_session_channel(w->session, &o, err);
}

static void wait_for(chela_run *run) {
    if (run)
        chela_run_wait(run);
    chela_run_free(run);
}

CASE(chela_run_opts) {
    struct chela_run_opts o = {.size = size};
    chela_run *run = NULL;
    int rc = chela_run_start(w->session, "hi", 2, &o, &run, err);
    wait_for(run);
    return rc;
}

static int compact(struct world *w, size_t size, struct chela_error *err) {
    struct chela_run_opts o = {.size = size};
    chela_run *run = NULL;
    int rc = chela_session_compact(w->session, NULL, &o, &run, err);
    wait_for(run);
    return rc;
}

static int send_text(struct world *w, size_t size, struct chela_error *err) {
    struct chela_run_opts o = {.size = size};
    int rc = chela_session_send(w->session, "hi", 2, &o, err);
    chela_runtime_run(w->rt);
    return rc;
}

/* Nothing is paused and nothing happened: with a good size that is the error. */
static int without_state(int rc) {
    return rc == CHELA_ESTATE || rc == CHELA_ENOENT ? 0 : rc;
}

static int resume(struct world *w, size_t size, struct chela_error *err) {
    struct chela_run_opts o = {.size = size};
    return without_state(chela_run_resume(w->session, &o, NULL, err));
}

static int wake(struct world *w, size_t size, struct chela_error *err) {
    struct chela_run_opts o = {.size = size};
    return without_state(chela_run_wake(w->session, &o, NULL, err));
}

CASE(chela_inbound) {
    struct chela_inbound in = {.size = size};
    struct chela_run_opts o = CHELA_RUN_OPTS(.inbound = &in);
    chela_run *run = NULL;
    int rc = chela_run_start(w->session, "hi", 2, &o, &run, err);
    wait_for(run);
    return rc;
}

CASE(chela_group) {
    struct chela_group group = {.size = size};
    struct chela_inbound in = CHELA_INBOUND(.group = &group);
    struct chela_run_opts o = CHELA_RUN_OPTS(.inbound = &in);
    chela_run *run = NULL;
    int rc = chela_run_start(w->session, "hi", 2, &o, &run, err);
    wait_for(run);
    return rc;
}

static int inbound_line(struct world *w, size_t size, struct chela_error *err) {
    struct chela_inbound in = {.size = size};
    UNUSED;
    return failed(chela_inbound_line(&in, "hi", 2, err), err);
}

CASE(chela_inbox_event) {
    struct chela_inbox_event o = {.size = size, .id = "e", .session = "s", .data = "", .n = 0};
    return chela_inbox_accept(w->rt, &o, on_accepted, NULL, err);
}

CASE(chela_outbound) {
    struct chela_outbound o = {
        .size = size, .key = "k", .session = "s", .channel = "c", .text = "t"};
    return chela_outbox_put(w->rt, &o, NULL, NULL, err);
}

CASE(chela_prompt_query) {
    struct chela_prompt_query q = {.size = size, .name = "router"};
    return failed(chela_prompt_json(w->rt, &q, err), err);
}

static int render(struct world *w, size_t size, struct chela_error *err) {
    struct chela_prompt_query q = {.size = size, .name = "none"};
    return without_state(failed(chela_prompt_render(w->rt, &q, "{}", 2, err), err));
}

CASE(chela_prompt_test_opts) {
    struct chela_prompt_test_opts o = {.size = size, .name = "none", .dry_run = 1};
    return without_state(failed(chela_prompt_test(w->rt, &o, err), err));
}

CASE(chela_telemetry_opts) {
    struct chela_telemetry_opts o = {.size = size};
    return chela_telemetry_start(w->rt, &o, err);
}

static int config_telemetry(struct world *w, size_t size, struct chela_error *err) {
    struct chela_telemetry_opts o = {.size = size};
    return chela_config_telemetry(w->cfg, &o, err);
}

static int telemetry_past(struct world *w, size_t size, struct chela_error *err) {
    struct chela_telemetry_opts o = {.size = size};
    chela_store *s = NULL;
    char *out = NULL;
    int rc = chela_store_open("memory:", NULL, &s, err);
    (void)w;
    if (rc == 0)
        rc = chela_telemetry_past(s, "k", NULL, &o, &out, err);
    chela_free(out);
    chela_store_close(s);
    return rc == CHELA_ENOENT ? 0 : rc;
}

CASE(chela_review_opts) {
    struct chela_review_opts o = {.size = size, .session = "no such session"};
    char *json;
    (void)w;
    int rc = chela_review(&o, &json, err);
    return rc == CHELA_ENOENT ? 0 : rc; /* it has no changes */
}

CASE(chela_why_opts) {
    struct chela_why_opts o = {.size = size};
    chela_store *s = NULL;
    int rc = chela_store_open("memory:", NULL, &s, err);
    if (rc == 0)
        rc = failed(chela_why(w->rt, s, "k", &o, err), err);
    chela_store_close(s);
    return rc == CHELA_ENOENT ? 0 : rc;
}

static int no_crew(const struct chela_eval_request *request, chela_agent *const **agents,
                   void **handle, void *user, struct chela_error *err) {
    (void)request;
    (void)agents;
    (void)handle;
    (void)user;
    (void)err;
    return CHELA_ENOENT;
}

CASE(chela_eval_opts) {
    static const char text[] = "cases: [{ name: a, input: x, checks: { status: done } }]";
    struct chela_eval_file file = {"a", text, sizeof(text) - 1};
    struct chela_eval_opts o = {.size = size, .files = &file, .nfiles = 1, .scratch = "/nowhere",
                                .open = no_crew};
    return failed(chela_eval_run(w->rt, &o, err), err);
}

CASE(chela_schedule) {
    struct chela_schedule o = {.size = size, .name = "s", .when = "@daily", .prompt = "go"};
    UNUSED;
    return chela_schedule_check(&o, err);
}

static int schedule_next(struct world *w, size_t size, struct chela_error *err) {
    struct chela_schedule o = {.size = size, .name = "s", .when = "@daily", .prompt = "go"};
    int64_t at;
    UNUSED;
    return chela_schedule_next(&o, 0, &at, err);
}

static int schedule_add(struct world *w, size_t size, struct chela_error *err) {
    struct chela_schedule o = {.size = size, .name = "s", .when = "@daily", .prompt = "go"};
    return chela_schedule_add(w->store, &o, NULL, err);
}

static int config_schedule(struct world *w, size_t size, struct chela_error *err) {
    struct chela_schedule o = {.size = size};
    return chela_config_schedule(w->cfg, 0, &o, err);
}

CASE(chela_schema_opts) {
    struct chela_schema_opts o = {.size = size};
    chela_schema *s = NULL;
    UNUSED;
    int rc = chela_schema_new("{}", 2, &o, &s, err);
    chela_schema_free(s);
    return rc;
}

CASE(chela_store_opts) {
    struct chela_store_opts o = {.size = size};
    chela_store *s = NULL;
    UNUSED;
    int rc = chela_store_open("memory:", &o, &s, err);
    chela_store_close(s);
    return rc;
}

/* --- editors */

static void acp_write(const char *p, size_t n, void *user) {
    (void)p, (void)n, (void)user;
}
static int acp_enter(const char *cwd, struct chela_acp_place *out, struct chela_error *err,
                     void *user) {
    (void)cwd, (void)out, (void)err, (void)user;
    return CHELA_ENOENT;
}
static void acp_leave(void *handle, void *user) {
    (void)handle, (void)user;
}
static int acp_trust(void *handle, struct chela_error *err, void *user) {
    (void)handle, (void)err, (void)user;
    return CHELA_ENOENT;
}
static int acp_agent(void *handle, const struct chela_acp_choice *choice, chela_agent **out,
                     void **hold, struct chela_error *err, void *user) {
    (void)handle, (void)choice, (void)out, (void)hold, (void)err, (void)user;
    return CHELA_ENOENT;
}

CASE(chela_acp_opts) {
    struct chela_acp_opts o = {.size = size, .write = acp_write, .enter = acp_enter,
                               .leave = acp_leave, .trust = acp_trust, .agent = acp_agent,
                               .drop = acp_leave};
    chela_acp *acp = NULL;
    int rc = chela_acp_new(w->rt, &o, &acp, err);
    chela_acp_close(acp);
    return rc;
}

/* --- gateway */

static int gateway_with(struct world *w, struct chela_gateway_opts *o, struct chela_error *err) {
    chela_agent *agents[] = {w->other, NULL};
    chela_gateway *gw = NULL;
    o->listen = "127.0.0.1:0";
    o->token = "0123456789abcdef";
    o->agents = agents;
    o->store = w->store;
    int rc = chela_gateway_new(w->rt, o, &gw, err);
    chela_gateway_close(gw);
    return rc;
}

CASE(chela_gateway_opts) {
    struct chela_gateway_opts o = {.size = size};
    return gateway_with(w, &o, err);
}

static int reload(struct world *w, size_t size, struct chela_error *err) {
    chela_agent *agents[] = {w->other, NULL};
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(
        .listen = "127.0.0.1:0", .token = "0123456789abcdef", .agents = agents, .store = w->store);
    chela_gateway *gw = NULL;
    int rc = chela_gateway_new(w->rt, &o, &gw, err);
    o.size = size;
    if (rc == 0)
        rc = chela_gateway_reload(gw, &o, err);
    chela_gateway_close(gw);
    return rc;
}

static int schedule_run(struct world *w, size_t size, struct chela_error *err) {
    chela_agent *agents[] = {w->other, NULL};
    struct chela_gateway_opts o = {.size = size, .agents = agents, .store = w->store};
    size_t n;
    return chela_schedule_run(w->rt, &o, NULL, NULL, NULL, &n, err);
}

static int config_gateway(struct world *w, size_t size, struct chela_error *err) {
    struct chela_gateway_opts o = {.size = size};
    return chela_config_gateway(w->cfg, &o, NULL, NULL, err);
}

CASE(chela_gateway_hook) {
    struct chela_gateway_hook h = {.size = size, .name = "h", .secret = "0123456789abcdef"};
    const struct chela_gateway_hook *list[] = {&h, NULL};
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(.hooks = list);
    return gateway_with(w, &o, err);
}

CASE(chela_gateway_mcp) {
    struct chela_gateway_mcp m = {.size = size};
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(.mcp = &m);
    return gateway_with(w, &o, err);
}

CASE(chela_budget) {
    struct chela_budget b = {.size = size, .name = "b", .tokens = 1};
    const struct chela_budget *list[] = {&b, NULL};
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(.budgets = list);
    return gateway_with(w, &o, err);
}

static int config_hook(struct world *w, size_t size, struct chela_error *err) {
    struct chela_gateway_hook h = {.size = size};
    const char *env;
    return chela_config_hook(w->cfg, 0, &h, &env, err);
}

/* A channel that does not exist is found out once its options were read. */
static int unknown_channel(int rc) {
    return rc == CHELA_ECONFIG ? 0 : rc;
}

CASE(chela_channel_opts) {
    struct chela_channel_opts c = {.size = size, .name = "none"};
    const struct chela_channel_opts *list[] = {&c, NULL};
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(.channels = list);
    return unknown_channel(gateway_with(w, &o, err));
}

static int channel_survey(struct world *w, size_t size, struct chela_error *err) {
    struct chela_channel_opts c = {.size = size, .name = "none"};
    return failed(chela_channel_survey(w->rt, &c, err), err);
}

static int channel_secrets(struct world *w, size_t size, struct chela_error *err) {
    struct chela_channel_opts c = {.size = size, .name = "feishu"};
    return chela_config_channel_secrets(w->cfg, &c, err);
}

static int config_channel(struct world *w, size_t size, struct chela_error *err) {
    struct chela_channel_opts c = {.size = size};
    struct chela_channel_env env = CHELA_CHANNEL_ENV(.secret = NULL);
    return chela_config_channel(w->cfg, 0, &c, &env, err);
}

CASE(chela_channel_env) {
    struct chela_channel_opts c = CHELA_CHANNEL_OPTS(.name = NULL);
    struct chela_channel_env env = {.size = size};
    return chela_config_channel(w->cfg, 0, &c, &env, err);
}

CASE(chela_config_opts) {
    struct chela_config_opts o = {.size = size};
    chela_config *cfg = NULL;
    int rc = chela_config_open("/dev/null", &o, &cfg, err);
    (void)w;
    chela_config_free(cfg);
    return rc;
}

/* --- all of them */

#define OWN(type) {#type, with_##type, CH_FIRST_##type, sizeof(struct type)}
#define ALSO(type, fn) {#type, fn, CH_FIRST_##type, sizeof(struct type)}

static const struct {
    const char *name;
    int (*call)(struct world *w, size_t size, struct chela_error *err);
    size_t first, whole;
} cases[] = {
    OWN(chela_acp_opts),
    OWN(chela_agent_opts), ALSO(chela_agent_opts, probe), ALSO(chela_agent_opts, config_agent),
    OWN(chela_budget),
    OWN(chela_channel),
    OWN(chela_channel_env),
    OWN(chela_channel_opts), ALSO(chela_channel_opts, channel_survey),
    ALSO(chela_channel_opts, channel_secrets), ALSO(chela_channel_opts, config_channel),
    OWN(chela_command_opts),
    OWN(chela_config_opts),
    OWN(chela_delegate_opts),
    OWN(chela_gateway_hook), ALSO(chela_gateway_hook, config_hook),
    OWN(chela_gateway_mcp), OWN(chela_gateway_opts), ALSO(chela_gateway_opts, reload),
    ALSO(chela_gateway_opts, schedule_run), ALSO(chela_gateway_opts, config_gateway),
    OWN(chela_heartbeat_opts), ALSO(chela_heartbeat_opts, simulate),
    OWN(chela_hooks),
    OWN(chela_group),
    OWN(chela_inbound), ALSO(chela_inbound, inbound_line),
    OWN(chela_inbox_event),
    OWN(chela_mcp_opts),
    OWN(chela_mcp_server_opts),
    OWN(chela_mcp_tool_opts),
    OWN(chela_mcp_resource_opts),
    OWN(chela_mcp_prompt_opts),
    OWN(chela_outbound),
    OWN(chela_policy),
    OWN(chela_price),
    OWN(chela_prompt_query), ALSO(chela_prompt_query, render),
    OWN(chela_prompt_test_opts),
    OWN(chela_telemetry_opts), ALSO(chela_telemetry_opts, config_telemetry),
    ALSO(chela_telemetry_opts, telemetry_past),
    OWN(chela_review_opts),
    OWN(chela_why_opts),
    OWN(chela_erase_opts),
    OWN(chela_eval_opts),
    OWN(chela_provider_opts),
    OWN(chela_queue_opts),
    OWN(chela_run_opts), ALSO(chela_run_opts, compact), ALSO(chela_run_opts, send_text),
    ALSO(chela_run_opts, resume), ALSO(chela_run_opts, wake),
    OWN(chela_runtime_opts),
    OWN(chela_sandbox_opts),
    OWN(chela_schedule), ALSO(chela_schedule, schedule_next), ALSO(chela_schedule, schedule_add),
    ALSO(chela_schedule, config_schedule),
    OWN(chela_schema_opts),
    OWN(chela_store_opts),
    OWN(chela_tool_opts), ALSO(chela_tool_opts, command_tool),
    OWN(chela_limits),
    OWN(chela_loop_guard),
    OWN(chela_request_opts),
    OWN(chela_prompt_opts),
    OWN(chela_toolset_opts),
    OWN(chela_approval_opts),
    OWN(chela_compaction_opts),
    OWN(chela_planning_opts),
    OWN(chela_team_opts),
    OWN(chela_agent_gateway_opts),
    ALSO(chela_queue_opts, agents_queue),
    OWN(chela_sandbox_limits),
    OWN(chela_store_filter),
    OWN(chela_willing_opts), ALSO(chela_willing_opts, willing_defaults),
    ALSO(chela_willing_opts, heartbeat_group), ALSO(chela_willing_opts, simulate_direct),
    OWN(chela_willing_rules), ALSO(chela_willing_rules, heartbeat_rules),
};

static const char yaml[] =
    "channels: {feishu: {appId: cli_1}}\n"
    "gateway: {hooks: {h: {secretEnv: S}}}\n"
    "schedules: {s: {when: '@daily', prompt: go}}\n";

static void open_world(struct world *w) {
    struct chela_error err = {0};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "scripted/demo");
    assert_int_equal(chela_runtime_new(NULL, &w->rt, &err), 0);
    assert_int_equal(chela_store_open("memory:", NULL, &w->store, &err), 0);
    assert_int_equal(chela_runtime_store(w->rt, w->store, CHELA_DURABILITY_DEFAULT, &err), 0);
    assert_int_equal(chela_agent_new(w->rt, &opts, &w->agent, &err), 0);
    opts.id = "other";
    assert_int_equal(chela_agent_new(w->rt, &opts, &w->other, &err), 0);
    assert_int_equal(chela_session_new(w->agent, "s", &w->session, &err), 0);
    assert_int_equal(chela_session_wait(w->session, &err), 0);
}

static void close_world(struct world *w) {
    chela_runtime_close(w->rt);
    chela_store_close(w->store);
    chela_config_free(w->cfg);
}

static void load_config(struct world *w) {
    char path[] = "/tmp/chela-sizes.XXXXXX";
    struct chela_error err = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, yaml, sizeof(yaml) - 1), sizeof(yaml) - 1);
    close(fd);
    if (chela_config_load(path, NULL, NULL, &w->cfg, &err) < 0)
        fail_msg("%s", err.message);
    unlink(path);
}

static void check_size(size_t i, size_t size, bool good) {
    struct world w = {0};
    struct chela_error err = {0};
    open_world(&w);
    load_config(&w);
    int rc = cases[i].call(&w, size, &err);
    close_world(&w);
    if (good && rc != 0)
        fail_msg("case %zu, %s of %zu bytes: %s", i, cases[i].name, size, err.message);
    if (good)
        return;
    if (rc != CHELA_EINVAL || err.code != CHELA_EINVAL)
        fail_msg("case %zu, %s of %zu bytes is not refused: %d", i, cases[i].name, size, rc);
    if (!strstr(err.message, cases[i].name) || !strstr(err.message, "size"))
        fail_msg("case %zu, %s: \"%s\" does not say why", i, cases[i].name, err.message);
}

static void test_too_small(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        check_size(i, 0, false);
        check_size(i, cases[i].first - 1, false);
    }
}

static void test_good(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        check_size(i, cases[i].first, true);
        check_size(i, cases[i].whole, true);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_small),
        cmocka_unit_test(test_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
