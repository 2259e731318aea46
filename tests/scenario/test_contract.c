/* test_contract.c -- the rules that chela.h states for all functions: a failure
 * leaves NULL in what would be returned, `err` may be NULL, a value that a set does
 * not have is refused, and functions that wait refuse a callback and a host's loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

#include "chela.h"

#define NOWHERE "/nonexistent/chela"
#define WRONG 99 /* a value that no set has */

static int tool(chela_call *call, void *user) {
    (void)call, (void)user;
    return 0;
}

static int mcp_tool(chela_mcp_call *call, void *user) {
    (void)call, (void)user;
    return 0;
}

struct world {
    chela_runtime *rt;
    chela_agent *agent;
    chela_session *session;
    chela_gateway *gateway; /* of keep_and_serve */
};

/* Give the runtime a store and a gateway. */
static void keep_and_serve(struct world *w) {
    chela_store *store = NULL;
    chela_agent *agents[] = {w->agent, NULL};
    struct chela_gateway_opts opts = CHELA_GATEWAY_OPTS(
        .listen = "127.0.0.1:0", .token = "0123456789abcdef", .agents = agents);
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    assert_int_equal(chela_runtime_store(w->rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    chela_store_close(store);
    assert_int_equal(chela_gateway_new(w->rt, &opts, &w->gateway, NULL), 0);
}

static int open_world(void **state) {
    struct world *w = calloc(1, sizeof(*w));
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "scripted/demo");
    assert_int_equal(chela_runtime_new(NULL, &w->rt, NULL), 0);
    assert_int_equal(chela_agent_new(w->rt, &opts, &w->agent, NULL), 0);
    assert_int_equal(chela_session_new(w->agent, "one", &w->session, NULL), 0);
    *state = w;
    return 0;
}

static int close_world(void **state) {
    struct world *w = *state;
    chela_gateway_close(w->gateway);
    chela_runtime_close(w->rt);
    free(w);
    return 0;
}

/* --- what a failure leaves behind ---------------------------------------------------- */

/* The call fails, without err too, and *out is NULL both times. */
#define FAILS(type, call)                      \
    do {                                       \
        struct chela_error error = {0}, *err;  \
        type *out = (type *)state;             \
        err = &error;                          \
        int rc = (call);                       \
        assert_true(rc < 0);                   \
        assert_null(out);                      \
        assert_int_equal(error.code, rc);      \
        assert_true(error.message[0]);         \
        out = (type *)state;                   \
        err = NULL;                            \
        assert_true((call) < 0);               \
        assert_null(out);                      \
    } while (0)

static void nothing_is_returned_by_a_failure(void **state) {
    struct world *w = *state;
    struct chela_runtime_opts both = CHELA_RUNTIME_OPTS(.record = "a", .replay = "b");
    struct chela_agent_opts nobody = CHELA_AGENT_OPTS(.model = "nobody");
    struct chela_run_opts run = {.size = 1};
    struct chela_gateway_opts gateway = CHELA_GATEWAY_OPTS(.listen = "127.0.0.1:0");
    chela_agent *agents[] = {w->agent, NULL};
    struct chela_gateway_opts endless =
        CHELA_GATEWAY_OPTS(.listen = "127.0.0.1:0", .token = "0123456789abcdef",
                           .agents = agents, .retention_days = -1);
    struct chela_channel_opts nameless = CHELA_CHANNEL_OPTS(.name = NULL);
    const struct chela_channel_opts *const channels[] = {&nameless, NULL};
    struct chela_gateway_opts channel =
        CHELA_GATEWAY_OPTS(.listen = "127.0.0.1:0", .token = "0123456789abcdef",
                           .agents = agents, .channels = channels);
    struct chela_willing_opts willing = {.size = 1};
    chela_store *store = NULL;
    char too_long[258] = {0};
    int fd = -1;

    memset(too_long, 'k', sizeof(too_long) - 1);
    FAILS(chela_runtime, chela_runtime_new(&both, &out, err));
    FAILS(chela_agent, chela_agent_new(w->rt, &nobody, &out, err));
    FAILS(chela_session, chela_session_new(w->agent, "one", &out, err));
    FAILS(chela_session, chela_session_new(w->agent, "", &out, err));
    FAILS(chela_session, chela_session_new(w->agent, "\xff", &out, err));
    FAILS(chela_session, chela_session_new(w->agent, too_long, &out, err));
    FAILS(chela_run, chela_run_start(w->session, "hi", 2, &run, &out, err));
    FAILS(chela_run, chela_session_compact(w->session, NULL, &run, &out, err));
    FAILS(chela_run, chela_run_wake(w->session, NULL, &out, err));
    FAILS(chela_run, chela_run_resume(w->session, NULL, &out, err));
    FAILS(chela_gateway, chela_gateway_new(w->rt, &gateway, &out, err));
    FAILS(chela_gateway, chela_gateway_new(w->rt, &endless, &out, err));
    endless.retention_days = INT64_MAX;
    FAILS(chela_gateway, chela_gateway_new(w->rt, &endless, &out, err));
    FAILS(chela_gateway, chela_gateway_new(w->rt, &channel, &out, err));
    FAILS(chela_config, chela_config_load(NOWHERE, NULL, NULL, &out, err));
    FAILS(chela_schema, chela_schema_new("[", 1, NULL, &out, err));
    FAILS(chela_tool_index, chela_tool_index_new("[]", 2, &out, err));
    FAILS(chela_willing, chela_willing_new(CHELA_CHAT_GROUP, &willing, NULL, &out, err));
    FAILS(chela_store, chela_store_open("nothing:", NULL, &out, err));
    FAILS(char, chela_skill_add(NOWHERE, NULL, NULL, &out, err));
    FAILS(char, chela_gateway_listen("nowhere", &fd, &out, err));

    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    FAILS(char, chela_store_show(store, "none", &out, err));
    FAILS(char, chela_store_import(store, "x", 1, NULL, &out, err));
    FAILS(char, chela_trace_request(store, "none", 1, CHELA_REQUEST_JSON, &out, NULL, err));
    FAILS(char, chela_telemetry_past(store, "none", NULL, NULL, &out, err));
    FAILS(chela_follow, chela_follow_new(store, "none", &out, err));
    FAILS(char, chela_schema_clean("{}", 2, "nobody", &out, err) ? 0 : -1);
    chela_store_close(store);
}

/* A code that a lower part of the library has found becomes the code of the function. */
static void the_code_in_err_is_the_result(void **state) {
    struct world *w = *state;
    chela_mcp_server *server;
    struct chela_mcp_server_opts opts = CHELA_MCP_SERVER_OPTS(.name = "s", .version = "1");
    struct chela_mcp_tool_opts wrong[] = {
        CHELA_MCP_TOOL_OPTS(.name = "t", .fn = mcp_tool, .schema = "{"),
        CHELA_MCP_TOOL_OPTS(.name = "t", .fn = mcp_tool, .output_schema = "{"),
        CHELA_MCP_TOOL_OPTS(.name = "t", .fn = mcp_tool, .annotations = "{"),
    };
    struct chela_mcp_prompt_opts prompt =
        CHELA_MCP_PROMPT_OPTS(.name = "p", .fn = mcp_tool, .arguments = "[");
    struct chela_error err;

    assert_int_equal(chela_mcp_wait(w->rt, INT64_MAX, NULL), 0);
    assert_int_equal(chela_mcp_server_new(w->rt, &opts, &server, NULL), 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(chela_mcp_server_tool(server, &wrong[i], &err), CHELA_EINVAL);
        assert_int_equal(err.code, CHELA_EINVAL);
        assert_int_equal(chela_mcp_server_tool(server, &wrong[i], NULL), CHELA_EINVAL);
    }
    assert_int_equal(chela_mcp_server_prompt(server, &prompt, &err), CHELA_EINVAL);
    assert_int_equal(err.code, CHELA_EINVAL);
}

static int count_simulated;
static void on_simulated(const struct chela_simulated *s, void *user) {
    (void)s, (void)user;
    count_simulated++;
}

/* The functions that only return a code. */
static void an_error_needs_no_place(void **state) {
    struct world *w = *state;
    struct chela_prompt_test_opts cases =
        CHELA_PROMPT_TEST_OPTS(.name = "router", .cases = "x", .cases_len = 1, .dry_run = 1);
    struct chela_gateway_opts opts = CHELA_GATEWAY_OPTS(.listen = NULL);
    struct chela_gateway_opts stale = {.size = 1};
    struct chela_prompt_query nameless = CHELA_PROMPT_QUERY(.name = NULL);
    struct chela_tool_opts program = CHELA_TOOL_OPTS(.name = "program", .description = "D.");
    const char *const argv[] = {"", NULL};
    struct chela_command_opts empty = CHELA_COMMAND_OPTS(.tool = &program, .argv = argv);
    size_t n = 0;

    assert_int_equal(chela_schedule_run(w->rt, &opts, "none", NULL, NULL, &n, NULL),
                     CHELA_ECONFIG);
    assert_int_equal(chela_schedule_run(w->rt, &stale, "none", NULL, NULL, &n, NULL),
                     CHELA_EINVAL);
    assert_int_equal(chela_gateway_work(w->rt, &opts, "k", "hi", 2, NULL, NULL), CHELA_ECONFIG);
    assert_null(chela_prompt_test(w->rt, &cases, NULL));
    cases.name = NULL;
    assert_null(chela_prompt_test(w->rt, &cases, NULL));
    assert_null(chela_prompt_render(w->rt, NULL, "{}", 2, NULL));
    assert_null(chela_prompt_render(w->rt, &nameless, "{}", 2, NULL));
    assert_null(chela_prompt_json(w->rt, &nameless, NULL));
    assert_int_equal(chela_agent_add_command(w->agent, &empty, NULL), CHELA_EINVAL);
    assert_null(chela_models_json(w->rt, "nobody", NULL));
    assert_null(chela_wire_decode("nobody", 200, NULL, "{}", 2, NULL));
    assert_null(chela_ask(NULL, "hi", NULL));
    assert_int_equal(chela_heartbeat_simulate("x", 1, NULL, on_simulated, NULL, NULL),
                     CHELA_EPARSE);
    assert_int_equal(count_simulated, 0);
    assert_int_equal(chela_inbox_settle(w->rt, "x", NULL), CHELA_ESTATE);
    assert_int_equal(chela_outbox_receipt(w->rt, "x", CHELA_RECEIPT_SENT, NULL, 0, NULL),
                     CHELA_ENOENT);
}

/* A schedule that is not there, in a runtime that has a store. */
static void a_schedule_that_is_missing(void **state) {
    struct world *w = *state;
    chela_store *store = NULL;
    chela_agent *agents[] = {w->agent, NULL};
    struct chela_error err = {0};
    size_t n = 7;
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    assert_int_equal(chela_runtime_store(w->rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    struct chela_gateway_opts opts = CHELA_GATEWAY_OPTS(.agents = agents, .store = store);
    assert_int_equal(chela_schedule_run(w->rt, &opts, "none", NULL, NULL, &n, &err), CHELA_ENOENT);
    assert_non_null(strstr(err.message, "none"));
    assert_int_equal(chela_schedule_run(w->rt, &opts, "none", NULL, NULL, &n, NULL), CHELA_ENOENT);
    chela_store_close(store);
}

/* --- values that a set does not have -------------------------------------------------- */

static void unknown_agent_values_are_refused(void **state) {
    struct world *w = *state;
    struct chela_request_opts cache =
        CHELA_REQUEST_OPTS(.cache = (enum chela_cache)WRONG);
    const struct chela_agent_opts wrong[] = {
        CHELA_AGENT_OPTS(.mode = (enum chela_mode)WRONG),
        CHELA_AGENT_OPTS(.approve = (enum chela_approve)WRONG),
        CHELA_AGENT_OPTS(.permission = (enum chela_permission)WRONG),
        CHELA_AGENT_OPTS(.reasoning = (enum chela_reasoning)WRONG),
        CHELA_AGENT_OPTS(.request = &cache),
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct chela_agent_opts opts = wrong[i];
        chela_agent *agent;
        opts.model = "scripted/demo";
        assert_int_equal(chela_agent_new(w->rt, &opts, &agent, NULL), CHELA_EINVAL);
    }
    assert_int_equal(chela_agent_policy(w->agent, NULL, NULL, (enum chela_permission)WRONG, NULL),
                     CHELA_EINVAL);
}

static void unknown_tool_values_are_refused(void **state) {
    struct world *w = *state;
    struct chela_tool_opts effect = CHELA_TOOL_OPTS(.name = "a", .description = "A.", .fn = tool,
                                                    .effect = (enum chela_effect)WRONG);
    struct chela_tool_opts permission =
        CHELA_TOOL_OPTS(.name = "a", .description = "A.", .fn = tool,
                        .permission = (enum chela_permission)WRONG);
    assert_int_equal(chela_agent_add_tool(w->agent, &effect, NULL), CHELA_EINVAL);
    assert_int_equal(chela_agent_add_tool(w->agent, &permission, NULL), CHELA_EINVAL);
}

static void unknown_run_values_are_refused(void **state) {
    struct world *w = *state;
    const struct chela_run_opts wrong[] = {
        CHELA_RUN_OPTS(.permission = (enum chela_permission)WRONG),
        CHELA_RUN_OPTS(.approve = (enum chela_approve)WRONG),
        CHELA_RUN_OPTS(.kind = (enum chela_input_kind)WRONG),
    };
    struct chela_queue_opts queue = CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_COLLECT);
    assert_int_equal(chela_session_queue(w->session, &queue, NULL), 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(chela_run_start(w->session, "hi", 2, &wrong[i], NULL, NULL),
                         CHELA_EINVAL);
        assert_int_equal(chela_session_send(w->session, "hi", 2, &wrong[i], NULL), CHELA_EINVAL);
    }
    assert_int_equal(chela_outbox_receipt(w->rt, "x", (enum chela_receipt)WRONG, NULL, 0, NULL),
                     CHELA_EINVAL);
}

static int no_item(const struct chela_store_item *item, void *user) {
    (void)item, (void)user;
    fail();
    return 0;
}

static void unknown_store_values_are_refused(void **state) {
    struct world *w = *state;
    chela_store *store = NULL;
    chela_follow *follow = NULL;
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    assert_int_equal(chela_store_items(store, (enum chela_store_box)WRONG, no_item, NULL, NULL),
                     CHELA_EINVAL);
    assert_int_equal(chela_runtime_store(w->rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    chela_session *session = NULL;
    assert_int_equal(chela_session_new(w->agent, "stored", &session, NULL), 0);
    assert_int_equal(chela_session_wait(session, NULL), 0);
    assert_int_equal(chela_follow_new(store, "stored", &follow, NULL), 0);
    assert_int_equal(chela_follow_decide(follow, "x", (enum chela_decision)WRONG, NULL, NULL),
                     CHELA_EINVAL);
    chela_follow_close(follow);
    chela_store_close(store);
}

static void unknown_mcp_values_are_refused(void **state) {
    struct world *w = *state;
    const struct chela_mcp_opts wrong[] = {
        CHELA_MCP_OPTS(.era = (enum chela_mcp_era)WRONG),
        CHELA_MCP_OPTS(.effect = (enum chela_effect)WRONG),
        CHELA_MCP_OPTS(.permission = (enum chela_permission)WRONG),
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct chela_mcp_opts opts = wrong[i];
        chela_mcp *mcp;
        opts.name = "m";
        opts.url = "http://127.0.0.1:1/";
        assert_int_equal(chela_mcp_new(w->rt, &opts, &mcp, NULL), CHELA_EINVAL);
    }
}

/* --- functions that wait -------------------------------------------------------------- */

static void show_nobody(const char *url, void *user) {
    (void)url, (void)user;
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

/* Every function whose comment says that it refuses a callback with CHELA_EBUSY
 * (tools/check_api): the code that each gives. */
static void expect_refusal(struct world *w, chela_run *run, int code) {
    static const char text[] = "cases: [{ name: a, input: x, checks: { status: done } }]";
    struct chela_eval_file file = {"a", text, sizeof(text) - 1};
    struct chela_eval_opts eval = CHELA_EVAL_OPTS(
        .files = &file, .nfiles = 1, .scratch = "/nowhere", .open = no_crew);
    struct chela_prompt_test_opts cases = CHELA_PROMPT_TEST_OPTS(.name = "router", .dry_run = 1);
    struct chela_gateway_opts opts = CHELA_GATEWAY_OPTS(.listen = NULL);
    struct chela_error err = {0};
    chela_session *unread = NULL;
    size_t n = 0;

    assert_int_equal(chela_session_new(w->agent, "unread", &unread, NULL), 0);
    assert_int_equal(chela_session_wait(unread, NULL), code);
    chela_session_close(unread);
    assert_int_equal(chela_gateway_run(w->gateway), code);
    assert_int_equal(chela_runtime_run(w->rt), code);
    assert_int_equal(chela_run_wait(run), code);
    assert_int_equal(chela_schedule_run(w->rt, &opts, NULL, NULL, NULL, &n, NULL), code);
    assert_int_equal(chela_gateway_work(w->rt, &opts, "k", "hi", 2, NULL, NULL), code);
    assert_null(chela_ask(w->agent, "hi", &err));
    assert_int_equal(err.code, code);
    struct chela_mcp_opts server = CHELA_MCP_OPTS(.name = "m", .url = "http://127.0.0.1:1/mcp");
    chela_mcp *mcp = NULL;
    assert_int_equal(chela_mcp_new(w->rt, &server, &mcp, NULL), 0);
    assert_int_equal(chela_mcp_wait(w->rt, 0, NULL), code);
    assert_int_equal(chela_mcp_refresh(mcp, 0, NULL), code);
    assert_int_equal(chela_mcp_login(mcp, show_nobody, NULL, NULL), code);
    assert_null(chela_mcp_skills_json(mcp, 0, &err));
    assert_int_equal(err.code, code);
    assert_null(chela_mcp_skill_read(mcp, "s", NULL, &err));
    assert_int_equal(err.code, code);
    assert_null(chela_mcp_request(mcp, "tools/list", NULL, &err));
    assert_int_equal(err.code, code);
    chela_mcp_close(mcp);
    struct chela_mcp_server_opts own = CHELA_MCP_SERVER_OPTS(.name = "m", .version = "1");
    chela_mcp_server *offers = NULL;
    assert_int_equal(chela_mcp_server_new(w->rt, &own, &offers, NULL), 0);
    assert_int_equal(chela_mcp_server_run(offers), code);
    chela_mcp_server_close(offers);
    assert_null(chela_agent_call_tool(w->agent, "a", NULL, &err));
    assert_int_equal(err.code, code);
    assert_null(chela_model_probe(w->rt, NULL, &err));
    assert_int_equal(err.code, code);
    assert_null(chela_models_json(w->rt, "ollama", &err));
    assert_int_equal(err.code, code);
    assert_null(chela_models_update(w->rt, "ollama", 1, &err));
    assert_int_equal(err.code, code);
    assert_null(chela_prompt_test(w->rt, &cases, &err));
    assert_int_equal(err.code, code);
    assert_null(chela_eval_run(w->rt, &eval, &err));
    assert_int_equal(err.code, code);
    assert_null(chela_why(w->rt, NULL, "k", NULL, &err));
    assert_int_equal(err.code, code);
}

struct heard {
    struct world *w;
    chela_run *run;
    unsigned starts;
};

static void on_event(const struct chela_event *ev, void *user) {
    struct heard *h = user;
    if (ev->type != CHELA_EV_RUN_START)
        return;
    h->starts++;
    expect_refusal(h->w, h->run, CHELA_EBUSY);
}

static void a_callback_cannot_wait(void **state) {
    struct world *w = *state;
    struct heard h = {.w = w};
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = on_event, .user = &h);
    keep_and_serve(w);
    assert_int_equal(chela_run_start(w->session, "hi", 2, &opts, &h.run, NULL), 0);
    assert_int_equal(chela_run_wait(h.run), 0);
    assert_int_equal(h.starts, 1);
    assert_int_equal(chela_run_status(h.run), CHELA_STATUS_DONE);
    chela_run_free(h.run);
}

static void a_host_loop_cannot_be_waited_for(void **state) {
    struct world w = {0};
    chela_run *run = NULL;
    uv_loop_t loop;
    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    struct chela_runtime_opts opts = CHELA_RUNTIME_OPTS(.uv_loop = &loop);
    struct chela_agent_opts agent = CHELA_AGENT_OPTS(.model = "scripted/demo");
    assert_int_equal(chela_runtime_new(&opts, &w.rt, NULL), 0);
    assert_int_equal(chela_agent_new(w.rt, &agent, &w.agent, NULL), 0);
    assert_int_equal(chela_session_new(w.agent, NULL, &w.session, NULL), 0);
    assert_int_equal(chela_run_start(w.session, "hi", 2, NULL, &run, NULL), 0);
    keep_and_serve(&w);
    expect_refusal(&w, run, CHELA_ESTATE);
    while (chela_run_status(run) == CHELA_STATUS_RUNNING)
        uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(chela_run_status(run), CHELA_STATUS_DONE);
    chela_run_free(run);
    chela_gateway_close(w.gateway);
    chela_runtime_close(w.rt);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_returned_by_a_failure),
        TEST(the_code_in_err_is_the_result),
        TEST(an_error_needs_no_place),
        TEST(a_schedule_that_is_missing),
        TEST(unknown_agent_values_are_refused),
        TEST(unknown_tool_values_are_refused),
        TEST(unknown_run_values_are_refused),
        TEST(unknown_store_values_are_refused),
        TEST(unknown_mcp_values_are_refused),
        TEST(a_callback_cannot_wait),
        TEST(a_host_loop_cannot_be_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
