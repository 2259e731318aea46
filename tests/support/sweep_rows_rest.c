/* sweep_rows_rest.c -- functions that work on stores, gateways, configurations, prompts and
 * values: a callback may call them during its run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/sweep.h"

#define SCHEMA "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}"

/* --- MCP --------------------------------------------------------------------------- */

static void show_nobody(const char *url, void *user) {
    (void)url, (void)user;
}

/* No server listens there; the client is closed before that is noticed. */
static void ignore_result(const char *result, const struct chela_error *err, void *user) {
    (void)result, (void)err, (void)user;
}

static void do_mcp(struct sweep *cx) {
    struct chela_mcp_opts opts = CHELA_MCP_OPTS(.name = "sweep", .url = "http://127.0.0.1:1/mcp");
    struct chela_error err = {0};
    chela_mcp *mcp = NULL;
    SWEEP_EXPECT(chela_mcp_new(cx->rt, &opts, &mcp, NULL) == 0);
    SWEEP_EXPECT(chela_mcp_find(cx->rt, "sweep") == mcp);
    if (cx->agent)
        SWEEP_EXPECT(chela_agent_mcp(cx->agent, mcp, NULL) == 0);
    SWEEP_REFUSED(chela_mcp_wait(cx->rt, 0, NULL));
    SWEEP_REFUSED(chela_mcp_refresh(mcp, 0, NULL));
    SWEEP_REFUSED(chela_mcp_login(mcp, show_nobody, NULL, NULL));
    SWEEP_EXPECT(chela_mcp_request(mcp, "ping", NULL, &err) == NULL);
    SWEEP_REFUSED(err.code);
    SWEEP_EXPECT(chela_mcp_send(mcp, "ping", "7", ignore_result, NULL, NULL) == CHELA_EINVAL);
    SWEEP_EXPECT(chela_mcp_send(mcp, "ping", NULL, ignore_result, NULL, NULL) == 0);
    SWEEP_EXPECT(chela_mcp_skills_json(mcp, 0, &err) == NULL);
    SWEEP_REFUSED(err.code);
    SWEEP_EXPECT(chela_mcp_skill_read(mcp, "s", NULL, &err) == NULL);
    SWEEP_REFUSED(err.code);
    char *state = chela_mcp_state_json(mcp);
    SWEEP_EXPECT(state != NULL);
    chela_free(state);
    chela_mcp_close(mcp);
}

/* Called while the server lists its resources: calls all functions that use a call. */
static int mcp_list(chela_mcp_call *call, void *user) {
    struct sweep *cx = user;
    SWEEP_EXPECT(strcmp(chela_mcp_call_name(call), "t://{x}") == 0);
    SWEEP_EXPECT(strcmp(chela_mcp_call_arguments(call), "{}") == 0);
    SWEEP_EXPECT(chela_mcp_call_argument(call, "x") == NULL);
    SWEEP_EXPECT(strcmp(chela_mcp_call_principal(call), "me") == 0);
    SWEEP_EXPECT(!chela_mcp_call_can_ask(call, "roots/list"));
    SWEEP_EXPECT(chela_mcp_call_ask(call, "k", "roots/list", "{}") == NULL);
    chela_mcp_call_keep(call, "k", "1");
    SWEEP_EXPECT(chela_mcp_call_kept(call, "k") == NULL);
    chela_mcp_call_log(call, CHELA_MCP_INFO, "text");
    chela_mcp_call_progress(call, 1, 2, "text");
    chela_mcp_call_hang_up(call, 1);
    SWEEP_EXPECT(!chela_mcp_call_cancelled(call));
    chela_mcp_call_defer(call);
    chela_mcp_call_on_cancel(call, NULL, cx);
    chela_mcp_call_finish(call);
    chela_mcp_result_error(call, "%s", "no");
    chela_mcp_result_not_found(call);
    chela_mcp_result_json(call, "{}");
    chela_mcp_result_role(call, "user");
    chela_mcp_result_text(call, "a", 1);
    chela_mcp_result_printf(call, "%d", 1);
    chela_mcp_result_media(call, "image/png", "a", 1);
    chela_mcp_result_resource(call, "t://b", NULL, "a", 1);
    chela_mcp_result_link(call, "t://a", "a", NULL, NULL);
    return CHELA_OK;
}

static void mcp_write(const char *p, size_t n, void *user) {
    (void)p;
    (void)n;
    (void)user;
}

static void do_mcp_server(struct sweep *cx) {
    static const char hello[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
        "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/list\"}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n";
    struct chela_mcp_server_opts opts = CHELA_MCP_SERVER_OPTS(.name = "sweep", .version = "1");
    struct chela_mcp_tool_opts tool =
        CHELA_MCP_TOOL_OPTS(.name = "t", .fn = mcp_list, .user = cx);
    struct chela_mcp_resource_opts resource =
        CHELA_MCP_RESOURCE_OPTS(.uri = "t://{x}", .fn = mcp_list, .list = mcp_list, .user = cx);
    struct chela_mcp_prompt_opts prompt =
        CHELA_MCP_PROMPT_OPTS(.name = "p", .fn = mcp_list, .user = cx);
    chela_mcp_server *s = NULL;
    chela_mcp_connection *c = NULL;
    SWEEP_EXPECT(chela_mcp_server_new(cx->rt, &opts, &s, NULL) == 0);
    SWEEP_EXPECT(chela_mcp_server_tool(s, &tool, NULL) == 0);
    SWEEP_EXPECT(chela_mcp_server_resource(s, &resource, NULL) == 0);
    SWEEP_EXPECT(chela_mcp_server_prompt(s, &prompt, NULL) == 0);
    if (cx->agent)
        SWEEP_EXPECT(chela_mcp_server_agent(s, cx->agent, 0, NULL) == 0);
    SWEEP_EXPECT(chela_mcp_server_address(s) == NULL);
    SWEEP_EXPECT(chela_mcp_server_listen(s, "127.0.0.1:0", NULL) == 0);
    SWEEP_REFUSED(chela_mcp_server_run(s));
    SWEEP_EXPECT(chela_mcp_server_open(s, mcp_write, cx, "me", &c, NULL) == 0);
    SWEEP_EXPECT(chela_mcp_connection_feed(c, hello, sizeof(hello) - 1, NULL) == 0);
    SWEEP_EXPECT(chela_mcp_connection_busy(c));
    chela_mcp_server_updated(s, "t://a");
    chela_mcp_server_stop(s);
    SWEEP_EXPECT(chela_mcp_server_remove_tool(s, "t") == 0);
    SWEEP_EXPECT(chela_mcp_server_remove_resource(s, "t://{x}") == 0);
    SWEEP_EXPECT(chela_mcp_server_remove_prompt(s, "p") == 0);
    chela_mcp_connection_close(c);
    chela_mcp_server_close(s);
}

static void do_config_mcp(struct sweep *cx) {
    chela_config *cfg = NULL;
    char path[512];
    snprintf(path, sizeof(path), "%s/chela.yaml", cx->dir);
    SWEEP_EXPECT(chela_config_load(path, NULL, NULL, &cfg, NULL) == 0);
    SWEEP_EXPECT(chela_config_mcp_name(cfg, 0) == NULL);
    SWEEP_EXPECT(chela_config_mcp(cfg, cx->rt, cx->dir, CHELA_SANDBOX_DEFAULT, NULL) == 0);
    chela_config_free(cfg);
    snprintf(path, sizeof(path), "%s/none/mcp.json", cx->dir);
    SWEEP_EXPECT(chela_config_mcp_edit(path, "x", NULL, NULL) == CHELA_ENOENT);
}

/* --- stores ------------------------------------------------------------------------ */

/* The case's store, or a temporary one: its session is "kept". */
static chela_store *borrow(struct sweep *cx) {
    static const char journal[] = "{\"key\":\"kept\",\"agent\":\"main\"}\n";
    chela_store *store = cx->store;
    if (!store)
        SWEEP_EXPECT(chela_store_open("memory:", NULL, &store, NULL) == 0);
    chela_store_import(store, journal, strlen(journal), "kept", NULL, NULL);
    return store;
}

static void give_back(struct sweep *cx, chela_store *store) {
    if (store != cx->store)
        chela_store_close(store);
}

static const char *key_of(const struct sweep *cx) {
    return cx->session && cx->store ? chela_session_key(cx->session) : "kept";
}

static void do_store_open(struct sweep *cx) {
    struct chela_store_opts how = CHELA_STORE_OPTS(.module_path = cx->modules);
    chela_store *store = NULL;
    SWEEP_EXPECT(chela_store_open(cx->store_url ? cx->store_url : "memory:", &how, &store, NULL) ==
                 0);
    chela_store_close(store);
}

static void do_store_close(struct sweep *cx) {
    chela_store_close(cx->store);
    cx->store = NULL;
}

static void do_store_note(struct sweep *cx) {
    chela_store *store = borrow(cx);
    chela_store_note(store);
    give_back(cx, store);
}

static int show_session(const struct chela_store_session *s, void *user) {
    (void)user;
    char *json = chela_store_session_json(s);
    SWEEP_EXPECT(json != NULL);
    chela_free(json);
    return 0;
}

static void do_store_list(struct sweep *cx) {
    chela_store *store = borrow(cx);
    struct chela_store_filter filter = CHELA_STORE_FILTER(.limit = 3);
    SWEEP_EXPECT(chela_store_list(store, &filter, show_session, NULL, NULL) == 0);
    give_back(cx, store);
}

static void do_store_session(struct sweep *cx) {
    chela_store *store = borrow(cx);
    chela_store_session(store, key_of(cx), show_session, NULL, NULL);
    give_back(cx, store);
}

static int see_record(const struct chela_store_record *r, void *user) {
    (void)user;
    SWEEP_EXPECT(chela_store_record_name(r->type) != NULL);
    return 0;
}

static void do_store_records(struct sweep *cx) {
    chela_store *store = borrow(cx);
    chela_store_records(store, key_of(cx), 0, see_record, NULL, NULL);
    give_back(cx, store);
}

static void do_store_record_name(struct sweep *cx) {
    (void)cx;
    SWEEP_EXPECT(chela_store_record_name(1) != NULL);
}

static void do_store_title(struct sweep *cx) {
    chela_store *store = borrow(cx);
    chela_store_title(store, key_of(cx), "a title", NULL);
    give_back(cx, store);
}

/* A session with a run in progress is not deleted. */
static void do_store_delete(struct sweep *cx) {
    chela_store *store = borrow(cx);
    chela_store_delete(store, key_of(cx), NULL);
    chela_store_delete(store, "kept", NULL);
    give_back(cx, store);
}

static void do_store_prune(struct sweep *cx) {
    chela_store *store = borrow(cx);
    size_t n = 0;
    SWEEP_EXPECT(chela_store_prune(store, INT64_MAX, &n, NULL) == 0);
    give_back(cx, store);
}

static void do_store_erase(struct sweep *cx) {
    chela_store *store = borrow(cx);
    struct chela_erase_opts opts = CHELA_ERASE_OPTS(.sender = "nobody");
    char *receipt = NULL;
    SWEEP_EXPECT(chela_store_erase(store, &opts, &receipt, NULL) == 0);
    chela_free(receipt);
    give_back(cx, store);
}

static void do_store_held(struct sweep *cx) {
    chela_store *store = borrow(cx);
    char *list = NULL;
    SWEEP_EXPECT(chela_store_held(store, &list, NULL) == 0);
    chela_free(list);
    SWEEP_EXPECT(chela_store_release(store, "nobody", 0, NULL) == CHELA_ENOENT);
    give_back(cx, store);
}

static void do_store_remember(struct sweep *cx) {
    chela_store *store = borrow(cx);
    SWEEP_EXPECT(chela_store_remember(store, "/nowhere/at/all", NULL) <= 0);
    SWEEP_EXPECT(chela_store_compare("memory:", NULL, "/nowhere/at/all", NULL) == 0);
    give_back(cx, store);
}

static void do_store_recovered(struct sweep *cx) {
    chela_store *store = borrow(cx);
    size_t n = 0;
    SWEEP_EXPECT(chela_store_recovered(store, &n, NULL) == 0);
    give_back(cx, store);
}

static void do_store_check(struct sweep *cx) {
    chela_store *store = borrow(cx);
    SWEEP_EXPECT(chela_store_check(store, NULL, NULL) == 0);
    give_back(cx, store);
}

static int show_hit(const struct chela_store_hit *h, void *user) {
    (void)user;
    chela_free(chela_store_hit_json(h));
    return 0;
}

static void do_store_search(struct sweep *cx) {
    chela_store *store = borrow(cx);
    SWEEP_EXPECT(chela_store_search(store, "go", NULL, 5, show_hit, NULL, NULL) == 0);
    give_back(cx, store);
}

static int see_item(const struct chela_store_item *i, void *user) {
    (void)i;
    (void)user;
    return 0;
}

static void do_store_items(struct sweep *cx) {
    chela_store *store = borrow(cx);
    SWEEP_EXPECT(chela_store_items(store, CHELA_STORE_INBOX, see_item, NULL, NULL) == 0);
    SWEEP_EXPECT(chela_store_items(store, CHELA_STORE_OUTBOX, see_item, NULL, NULL) == 0);
    give_back(cx, store);
}

static void do_store_session_json(struct sweep *cx) {
    struct chela_store_session s = {.key = "k", .agent = "a", .status = "idle", .title = "t",
                                    .parent = "", .owner = ""};
    (void)cx;
    show_session(&s, NULL);
}

static void do_store_hit_json(struct sweep *cx) {
    struct chela_store_hit h = {.key = "k", .title = "t", .seq = 1, .excerpt = "a \x01hit\x02"};
    (void)cx;
    show_hit(&h, NULL);
}

static void do_store_show(struct sweep *cx) {
    chela_store *store = borrow(cx);
    char *out = NULL;
    if (chela_store_show(store, key_of(cx), &out, NULL) == 0)
        chela_free(out);
    give_back(cx, store);
}

static int skip_span(const struct chela_span *span, void *user) {
    (void)user;
    return !span;
}

static int skip_part(const struct chela_setup_part *part, void *user) {
    (void)user;
    return !part;
}

static void do_trace_spans(struct sweep *cx) {
    chela_store *store = borrow(cx);
    chela_trace_spans(store, key_of(cx), NULL, skip_span, NULL, NULL);
    give_back(cx, store);
}

static void do_trace_request(struct sweep *cx) {
    chela_store *store = borrow(cx);
    char *out = NULL;
    if (chela_trace_request(store, key_of(cx), 0, CHELA_REQUEST_JSON, &out, NULL, NULL) == 0)
        chela_free(out);
    give_back(cx, store);
}

static void do_trace_setups(struct sweep *cx) {
    chela_store *store = borrow(cx);
    chela_trace_setups(store, key_of(cx), skip_part, NULL, NULL);
    give_back(cx, store);
}

static int skip_call(const struct chela_model_call *call, void *user) {
    (void)user;
    return !call;
}

static void do_trace_calls(struct sweep *cx) {
    chela_store *store = borrow(cx);
    chela_trace_calls(store, 0, 0, skip_call, NULL, NULL);
    give_back(cx, store);
}

static int skip_budget(const struct chela_budget_use *use, void *user) {
    (void)user;
    return !use;
}

static void do_store_budgets(struct sweep *cx) {
    chela_store *store = borrow(cx);
    chela_store_budgets(store, 0, skip_budget, NULL, NULL);
    give_back(cx, store);
}

static void do_telemetry_past(struct sweep *cx) {
    chela_store *store = borrow(cx);
    char *out = NULL;
    chela_telemetry_past(store, key_of(cx), NULL, NULL, &out, NULL);
    chela_free(out);
    give_back(cx, store);
}

static void do_telemetry_start(struct sweep *cx) {
    struct chela_telemetry_opts o = CHELA_TELEMETRY_OPTS(.endpoint = "http://127.0.0.1:1");
    SWEEP_EXPECT(chela_telemetry_start(cx->rt, &o, NULL) == 0);
    SWEEP_EXPECT(chela_telemetry_start(cx->rt, NULL, NULL) == 0);
}

static void do_telemetry_flush(struct sweep *cx) {
    struct chela_telemetry_opts o = CHELA_TELEMETRY_OPTS(.endpoint = "http://127.0.0.1:1");
    chela_telemetry_start(cx->rt, &o, NULL);
    chela_telemetry_flush(cx->rt, 1);
}

static void do_why(struct sweep *cx) {
    chela_store *store = borrow(cx);
    struct chela_error err = {0};
    struct chela_why_opts opts = CHELA_WHY_OPTS(.calls = 3);
    char *out = chela_why(cx->rt, store, key_of(cx), &opts, &err);
    SWEEP_EXPECT(!out);
    SWEEP_REFUSED(err.code);
    chela_free(out);
    give_back(cx, store);
}

static void do_why_versus(struct sweep *cx) {
    chela_store *store = borrow(cx);
    chela_free(chela_why_versus(store, key_of(cx), key_of(cx), NULL));
    give_back(cx, store);
}

static void do_store_fork(struct sweep *cx) {
    chela_store *store = borrow(cx);
    chela_store_fork(store, key_of(cx), -1, "forked", NULL);
    chela_store_delete(store, "forked", NULL);
    give_back(cx, store);
}

static void do_store_fork_before(struct sweep *cx) {
    chela_store *store = borrow(cx);
    chela_store_fork_before(store, key_of(cx), 1, "forked", NULL);
    chela_store_delete(store, "forked", NULL);
    give_back(cx, store);
}

static int see_line(const char *p, size_t n, void *user) {
    (void)p;
    (void)user;
    return n ? 0 : 1;
}

static void do_store_export(struct sweep *cx) {
    chela_store *store = borrow(cx);
    chela_store_export(store, key_of(cx), see_line, NULL, NULL);
    give_back(cx, store);
}

static void do_store_import(struct sweep *cx) {
    give_back(cx, borrow(cx));
}

static void see_step(const struct chela_replay_step *step, void *user) {
    (void)step;
    (void)user;
}

static void do_replay(struct sweep *cx) {
    chela_store *store = borrow(cx);
    chela_replay(cx->agent, store, key_of(cx), see_step, NULL, NULL);
    give_back(cx, store);
}

static void do_session_root(struct sweep *cx) {
    (void)cx;
    SWEEP_EXPECT(chela_session_root("a") == 1);
}

/* --- schedules and pairings ----------------------------------------------------------- */

static const struct chela_schedule daily =
    CHELA_SCHEDULE(.name = "daily", .when = "@daily", .timezone = "UTC", .prompt = "work");

static void do_schedule_check(struct sweep *cx) {
    (void)cx;
    SWEEP_EXPECT(chela_schedule_check(&daily, NULL) == 0);
}

static void do_schedule_next(struct sweep *cx) {
    int64_t at = 0;
    (void)cx;
    SWEEP_EXPECT(chela_schedule_next(&daily, 0, &at, NULL) == 0);
}

static void do_schedule_time(struct sweep *cx) {
    (void)cx;
    chela_free(chela_schedule_time(&daily, 0));
}

static void do_schedule_add(struct sweep *cx) {
    chela_store *store = borrow(cx);
    int rc = chela_schedule_add(store, &daily, NULL, NULL);
    SWEEP_EXPECT(rc == 0 || rc == CHELA_EEXIST);
    give_back(cx, store);
}

static void do_schedule_remove(struct sweep *cx) {
    chela_store *store = borrow(cx);
    chela_schedule_remove(store, "daily", NULL);
    give_back(cx, store);
}

static int show_row(const struct chela_schedule_row *row, void *user) {
    (void)user;
    chela_free(chela_schedule_row_json(row));
    return 0;
}

static void do_schedule_list(struct sweep *cx) {
    const struct chela_schedule *const all[] = {&daily, NULL};
    chela_store *store = borrow(cx);
    SWEEP_EXPECT(chela_schedule_list(store, all, show_row, NULL, NULL) == 0);
    give_back(cx, store);
}

static void do_schedule_row_json(struct sweep *cx) {
    struct chela_schedule_row row = {.schedule = &daily, .of_session = ""};
    (void)cx;
    show_row(&row, NULL);
}

static void do_schedule_tool(struct sweep *cx) {
    if (cx->store)
        chela_schedule_tool(cx->agent, cx->store, NULL);
}

static int see_pairing(const struct chela_pairing *p, void *user) {
    (void)p;
    (void)user;
    return 0;
}

static void do_pairing_list(struct sweep *cx) {
    chela_store *store = borrow(cx);
    SWEEP_EXPECT(chela_pairing_list(store, see_pairing, NULL, NULL) == 0);
    give_back(cx, store);
}

static void do_pairing_approve(struct sweep *cx) {
    chela_store *store = borrow(cx);
    SWEEP_EXPECT(chela_pairing_approve(store, "ABCDEFGH", see_pairing, NULL, NULL) ==
                 CHELA_ENOENT);
    give_back(cx, store);
}

static void do_pairing_remove(struct sweep *cx) {
    chela_store *store = borrow(cx);
    SWEEP_EXPECT(chela_pairing_remove(store, "feishu", "ou_1", NULL) == CHELA_ENOENT);
    give_back(cx, store);
}

/* --- gateway --------------------------------------------------------------------------- */

static chela_agent *serving[2];

static void acp_write(const char *p, size_t n, void *user) {
    (void)p;
    *(size_t *)user += n;
}

static int acp_enter(const char *cwd, struct chela_acp_place *out, struct chela_error *err,
                     void *user) {
    (void)cwd;
    (void)out;
    (void)user;
    err->code = CHELA_ENOENT;
    return CHELA_ENOENT;
}

static void acp_leave(void *handle, void *user) {
    (void)handle;
    (void)user;
}

static int acp_trust(void *handle, struct chela_error *err, void *user) {
    (void)handle;
    (void)err;
    (void)user;
    return CHELA_OK;
}

static int acp_agent(void *handle, const struct chela_acp_choice *choice, chela_agent **out,
                     void **hold, struct chela_error *err, void *user) {
    (void)handle;
    (void)choice;
    (void)out;
    (void)hold;
    (void)err;
    (void)user;
    return CHELA_ENOENT;
}

static void do_acp(struct sweep *cx) {
    static const char hello[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
                                "\"params\":{\"protocolVersion\":1}}\n"
                                "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/new\","
                                "\"params\":{\"cwd\":\"/\",\"mcpServers\":[]}}\n";
    size_t written = 0;
    chela_acp *acp = NULL;
    struct chela_acp_opts opts =
        CHELA_ACP_OPTS(.user = &written, .write = acp_write, .enter = acp_enter,
                       .leave = acp_leave, .trust = acp_trust, .agent = acp_agent,
                       .drop = acp_leave);
    SWEEP_EXPECT(chela_acp_new(cx->rt, &opts, &acp, NULL) == CHELA_OK);
    SWEEP_EXPECT(chela_acp_feed(acp, hello, sizeof(hello) - 1, NULL) == CHELA_OK);
    SWEEP_EXPECT(written > 0);
    SWEEP_EXPECT(!chela_acp_busy(acp));
    chela_acp_close(acp);
}

static const struct chela_gateway_opts *gateway_opts(struct sweep *cx) {
    static struct chela_gateway_opts opts;
    serving[0] = cx->agent;
    opts = (struct chela_gateway_opts)CHELA_GATEWAY_OPTS(
            .listen = "127.0.0.1:0", .token = SWEEP_TOKEN, .agents = serving,
            .store = cx->store);
    return &opts;
}

static chela_gateway *gateway(struct sweep *cx) {
    struct chela_error err = {0};
    chela_gateway *gw = NULL;
    if (chela_gateway_new(cx->rt, gateway_opts(cx), &gw, &err) < 0)
        sweep_problem("gateway: %s", err.message);
    return gw;
}

/* The gateway is closed when the case is idle. */
static void do_gateway_new(struct sweep *cx) {
    cx->gateway = gateway(cx);
}

static void do_gateway_close(struct sweep *cx) {
    chela_gateway_close(gateway(cx));
}

static void do_gateway_address(struct sweep *cx) {
    chela_gateway *gw = gateway(cx);
    SWEEP_EXPECT(chela_gateway_address(gw) != NULL);
    chela_gateway_close(gw);
}

static void do_gateway_listen(struct sweep *cx) {
    struct chela_error err = {0};
    char *address = NULL;
    int fd = -1;
    (void)cx;
    SWEEP_EXPECT(chela_gateway_listen("127.0.0.1:0", &fd, &address, &err) == 0);
    close(fd);
    chela_free(address);
}

static void do_gateway_run(struct sweep *cx) {
    chela_gateway *gw = gateway(cx);
    SWEEP_REFUSED(chela_gateway_run(gw));
    chela_gateway_close(gw);
}

static void do_gateway_interrupt(struct sweep *cx) {
    chela_gateway *gw = gateway(cx);
    chela_gateway_interrupt(gw);
    chela_gateway_close(gw);
}

static void do_gateway_tools(struct sweep *cx) {
    if (cx->agent)
        SWEEP_EXPECT(chela_gateway_tools(cx->agent, NULL) == 0);
}

static void do_gateway_wants_restart(struct sweep *cx) {
    chela_gateway *gw = gateway(cx);
    SWEEP_EXPECT(!chela_gateway_wants_restart(gw));
    chela_gateway_close(gw);
}

static void do_gateway_patched(struct sweep *cx) {
    chela_gateway *gw = gateway(cx);
    SWEEP_EXPECT(!chela_gateway_patched(gw));
    chela_gateway_close(gw);
}

static void sweep_on_followed(const struct chela_event *ev, void *user) {
    (void)ev;
    (void)user;
}

static void do_gateway_work(struct sweep *cx) {
    chela_gateway *gw = gateway(cx);
    SWEEP_REFUSED(chela_gateway_work(cx->rt, gateway_opts(cx), "worked", "hi", 2, NULL, NULL));
    chela_gateway_close(gw);
}

static void do_follow(struct sweep *cx) {
    chela_follow *f = NULL;
    enum chela_holder holder;
    if (!cx->session || cx->closed ||
        chela_follow_new(cx->store, chela_session_key(cx->session), &f, NULL) < 0)
        return;
    SWEEP_EXPECT(chela_follow_read(f, sweep_on_followed, cx, NULL) == 0);
    SWEEP_EXPECT(chela_follow_holder(f, &holder, NULL) == 0);
    SWEEP_EXPECT(chela_follow_say(f, "hi", 2, NULL) == 0);
    SWEEP_EXPECT(chela_follow_cancel(f, NULL) == 0);
    SWEEP_EXPECT(chela_follow_decide(f, "ap_none", CHELA_DENY, "no", NULL) == 0);
    SWEEP_EXPECT(chela_follow_answer(f, "call", "yes", 3, NULL) == 0);
    chela_follow_close(f);
}

static void do_skill_add(struct sweep *cx) {
    char *out = NULL;
    SWEEP_EXPECT(chela_skill_add("/nonexistent/skill", NULL, NULL, &out, NULL) == CHELA_ENOENT);
    SWEEP_EXPECT(chela_skill_remove(cx->dir, "none", NULL) == CHELA_ENOENT);
}

static void do_gateway_reload(struct sweep *cx) {
    chela_gateway *gw = gateway(cx);
    SWEEP_EXPECT(chela_gateway_reload(gw, gateway_opts(cx), NULL) == 0);
    chela_gateway_close(gw);
}

static void do_gateway_trouble(struct sweep *cx) {
    chela_gateway *gw = gateway(cx);
    chela_gateway_trouble(gw, "a wrong file");
    chela_gateway_trouble(gw, NULL);
    chela_gateway_close(gw);
}

static void do_gateway_stop(struct sweep *cx) {
    chela_gateway *gw = gateway(cx);
    chela_gateway_stop(gw, 0);
    chela_gateway_close(gw);
}

static void do_gateway_survey(struct sweep *cx) {
    chela_free(chela_gateway_survey(cx->rt, "http://127.0.0.1:9", NULL));
}

static void do_channel_survey(struct sweep *cx) {
    struct chela_channel_opts opts = CHELA_CHANNEL_OPTS(
            .name = "feishu", .account = "a", .secret = "b", .domain = "http://127.0.0.1:9");
    chela_free(chela_channel_survey(cx->rt, &opts, NULL));
}

static void do_channel_describe(struct sweep *cx) {
    chela_free(chela_channel_describe(cx->rt, "feishu", NULL));
}

static void do_channel_test(struct sweep *cx) {
    struct chela_channel_opts opts = CHELA_CHANNEL_OPTS(
            .name = "feishu", .account = "a", .secret = "b", .domain = "http://127.0.0.1:9");
    chela_free(chela_channel_test(cx->rt, &opts, NULL, "http://127.0.0.1:9", "t", NULL));
}

static void do_schedule_run(struct sweep *cx) {
    size_t n = 0;
    struct chela_error err = {0};
    const struct chela_schedule *const all[] = {&daily, NULL};
    struct chela_gateway_opts opts = *gateway_opts(cx);
    opts.schedules = all;
    int rc = chela_schedule_run(cx->rt, &opts, "daily", NULL, NULL, &n, &err);
    if (cx->store)
        SWEEP_REFUSED(rc);
}

/* --- configuration ------------------------------------------------------------------------ */

static chela_config *config(struct sweep *cx) {
    char path[512];
    chela_config *cfg = NULL;
    struct chela_error err = {0};
    snprintf(path, sizeof(path), "%s/chela.yaml", cx->dir);
    if (chela_config_load(path, NULL, NULL, &cfg, &err) < 0)
        sweep_problem("config: %s", err.message);
    return cfg;
}
#define WITH_CONFIG(name, body)                      \
    static void do_config_##name(struct sweep *cx) { \
        chela_config *cfg = config(cx);              \
        body;                                        \
        chela_config_free(cfg);                      \
    }

static void see_option(const char *key, const char *value, int from_file, void *user) {
    (void)key;
    (void)value;
    (void)from_file;
    (void)user;
}

WITH_CONFIG(load, )
WITH_CONFIG(apply, SWEEP_EXPECT(chela_config_apply(cfg, cx->rt, NULL) == 0))
WITH_CONFIG(agent, struct chela_agent_opts o = CHELA_AGENT_OPTS(.id = NULL);
            SWEEP_EXPECT(chela_config_agent(cfg, "main", &o, NULL) == 0))
WITH_CONFIG(tools, SWEEP_EXPECT(chela_config_tools(cfg, "main", cx->agent, NULL) == 0))
WITH_CONFIG(store, chela_config_store(cfg))
WITH_CONFIG(place, SWEEP_EXPECT(!chela_config_place(cfg, "sqlite:none")))
WITH_CONFIG(durability, chela_config_durability(cfg))
WITH_CONFIG(language, chela_config_language(cfg))
WITH_CONFIG(telemetry, struct chela_telemetry_opts o = CHELA_TELEMETRY_OPTS(.endpoint = NULL);
            chela_config_telemetry(cfg, &o, NULL))
WITH_CONFIG(calls, SWEEP_EXPECT(!chela_config_calls(cfg, "main", 0)))
WITH_CONFIG(takers, SWEEP_EXPECT(!chela_config_takers(cfg, "main", 0)))
WITH_CONFIG(agent_id, SWEEP_EXPECT(chela_config_agent_id(cfg, 0) != NULL))
WITH_CONFIG(gateway, struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(.listen = NULL);
            chela_config_gateway(cfg, &o, NULL, NULL, NULL))
WITH_CONFIG(token, const char *token = NULL; chela_config_token(cfg, &token, NULL))
WITH_CONFIG(hook, struct chela_gateway_hook h = CHELA_GATEWAY_HOOK(.name = NULL);
            const char *env;
            SWEEP_EXPECT(chela_config_hook(cfg, 0, &h, &env, NULL) == CHELA_ENOENT))
WITH_CONFIG(schedule, struct chela_schedule s = CHELA_SCHEDULE(.name = NULL);
            SWEEP_EXPECT(chela_config_schedule(cfg, 0, &s, NULL) == CHELA_ENOENT))
WITH_CONFIG(schedule_tool, chela_config_schedule_tool(cfg, "main"))
WITH_CONFIG(channel, struct chela_channel_opts o = CHELA_CHANNEL_OPTS(.name = NULL);
            struct chela_channel_env env = CHELA_CHANNEL_ENV(.secret = NULL);
            SWEEP_EXPECT(chela_config_channel(cfg, 0, &o, &env, NULL) == CHELA_ENOENT))
WITH_CONFIG(channel_secrets, struct chela_channel_opts o = CHELA_CHANNEL_OPTS(.name = "feishu");
            chela_config_channel_secrets(cfg, &o, NULL))
WITH_CONFIG(show, chela_config_show(cfg, see_option, NULL))

static void see_claim(const char *kind, const char *key, const char *value, void *user) {
    (void)kind;
    (void)key;
    (void)value;
    (void)user;
}
static void see_change(int change, const char *kind, const char *key, const char *value,
                       void *user) {
    (void)change;
    see_claim(kind, key, value, user);
}
static int see_trusted(const struct chela_trusted *t, void *user) {
    (void)t;
    (void)user;
    return 0;
}

WITH_CONFIG(claims, chela_config_claims(cfg, see_claim, NULL))
WITH_CONFIG(restrict, chela_config_restrict(cfg, NULL))
WITH_CONFIG(same_rights, SWEEP_EXPECT(chela_config_same_rights(cfg, cfg)))
WITH_CONFIG(trust, char dir[512]; char file[512]; snprintf(dir, sizeof(dir), "%s/trust", cx->dir);
            snprintf(file, sizeof(file), "%s/chela.yaml", cx->dir);
            SWEEP_EXPECT(chela_trust_add(dir, cfg, NULL) == 0);
            SWEEP_EXPECT(chela_trust_check(dir, cfg, NULL) == 0);
            SWEEP_EXPECT(chela_trust_compare(dir, cfg, see_change, NULL, NULL) == 0);
            SWEEP_EXPECT(chela_trust_list(dir, see_trusted, NULL, NULL) == 0);
            SWEEP_EXPECT(chela_trust_remove(dir, file, NULL) == 0))

static void do_trust_skills(struct sweep *cx) {
    char dir[512];
    snprintf(dir, sizeof(dir), "%s/trust", cx->dir);
    SWEEP_EXPECT(chela_trust_skills_add(dir, cx->dir, NULL, see_claim, NULL, NULL) ==
                 CHELA_ENOENT);
    SWEEP_EXPECT(chela_trust_skills(dir, cx->dir, cx->rt, NULL) == CHELA_ENOENT);
}

static void do_config_open(struct sweep *cx) {
    struct chela_config_opts o = CHELA_CONFIG_OPTS(.strict = 1);
    char path[512];
    chela_config *cfg = NULL;
    snprintf(path, sizeof(path), "%s/chela.yaml", cx->dir);
    SWEEP_EXPECT(chela_config_open(path, &o, &cfg, NULL) == 0);
    chela_config_free(cfg);
}

static void do_config_schema(struct sweep *cx) {
    (void)cx;
    chela_free(chela_config_schema());
}

/* --- models and prompts ---------------------------------------------------------------------- */

static void do_models_json(struct sweep *cx) {
    struct chela_error err = {0};
    chela_free(chela_models_json(cx->rt, NULL, &err));
    SWEEP_EXPECT(!chela_models_json(cx->rt, "ollama", &err));
    SWEEP_REFUSED(err.code);
}

static void do_models_update(struct sweep *cx) {
    struct chela_error err = {0};
    SWEEP_EXPECT(!chela_models_update(cx->rt, "/dev/null/none", 1, &err));
    if (err.code != CHELA_ENOENT && err.code != CHELA_EIO)
        SWEEP_REFUSED(err.code);
}

static void do_model_probe(struct sweep *cx) {
    struct chela_error err = {0};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "scripted/demo");
    SWEEP_EXPECT(!chela_model_probe(cx->rt, &opts, &err));
    SWEEP_REFUSED(err.code);
}

static void do_prompts_load(struct sweep *cx) {
    chela_prompts_load(cx->rt, cx->dir, NULL);
}

static void do_prompts_pin(struct sweep *cx) {
    SWEEP_EXPECT(chela_prompts_pin(cx->rt, "planner", "1.0", NULL) == 0);
}

static void do_prompts_rollout(struct sweep *cx) {
    chela_prompts_rollout(cx->rt, "planner", "1.0", 50, NULL);
}

static void do_prompts_json(struct sweep *cx) {
    chela_free(chela_prompts_json(cx->rt, NULL));
}

static const struct chela_prompt_query planner = CHELA_PROMPT_QUERY(.name = "planner");

static void do_prompt_json(struct sweep *cx) {
    chela_free(chela_prompt_json(cx->rt, &planner, NULL));
}

static void do_prompt_render(struct sweep *cx) {
    chela_free(chela_prompt_render(cx->rt, &planner, "{}", 2, NULL));
}

static void do_prompt_test(struct sweep *cx) {
    struct chela_error err = {0};
    struct chela_agent_opts agent = CHELA_AGENT_OPTS(.model = "scripted/demo");
    struct chela_prompt_test_opts opts =
        CHELA_PROMPT_TEST_OPTS(.name = "planner", .agent = &agent, .runs = 1);
    char *out = chela_prompt_test(cx->rt, &opts, &err);
    SWEEP_EXPECT(!out);
    SWEEP_REFUSED(err.code);
    chela_free(out);
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

static void do_eval_run(struct sweep *cx) {
    static const char text[] = "cases: [{ name: a, input: x, checks: { status: done } }]";
    struct chela_eval_file file = {"a", text, sizeof(text) - 1};
    struct chela_eval_opts opts = CHELA_EVAL_OPTS(.files = &file, .nfiles = 1,
                                                  .scratch = "/nowhere", .open = no_crew);
    struct chela_error err = {0};
    char *out = chela_eval_run(cx->rt, &opts, &err);
    SWEEP_EXPECT(!out);
    SWEEP_REFUSED(err.code);
    chela_free(out);
}

static void do_eval_texts(struct sweep *cx) {
    static const char row[] = "{\"input\":\"a\",\"ideal\":\"b\"}";
    (void)cx;
    chela_free(chela_eval_compare("{}", "{}", NULL));
    chela_free(chela_eval_render("{\"summary\":{}}", CHELA_EVAL_TEXT, NULL));
    chela_free(chela_eval_import(row, sizeof(row) - 1, "a.jsonl", NULL));
}

static void do_trace_export(struct sweep *cx) {
    chela_store *store = borrow(cx);
    char *text = NULL;
    chela_trace_export(store, key_of(cx), CHELA_EXPORT_ATIF, &text, NULL);
    chela_free(text);
    give_back(cx, store);
}

static void do_eval_add(struct sweep *cx) {
    chela_store *store = borrow(cx);
    chela_free(chela_eval_add(store, key_of(cx), 0, NULL));
    give_back(cx, store);
}

static void do_prompt_compare(struct sweep *cx) {
    (void)cx;
    chela_free(chela_prompt_compare("{}", "{}", NULL));
}

static void do_runtime_survey(struct sweep *cx) {
    chela_free(chela_runtime_survey(cx->rt, NULL));
}

/* --- values --------------------------------------------------------------------------------- */

static void do_error_name(struct sweep *cx) {
    (void)cx;
    SWEEP_EXPECT(strcmp(chela_error_name(CHELA_EBUSY), "EBUSY") == 0);
}

static void do_error_text(struct sweep *cx) {
    (void)cx;
    SWEEP_EXPECT(chela_error_text(CHELA_EBUSY) != NULL);
}

static void do_redact(struct sweep *cx) {
    char text[] = "Bearer sk-0123456789abcdef0123456789abcdef";
    (void)cx;
    chela_redact(text);
}

static void do_edits(struct sweep *cx) {
    (void)cx;
    SWEEP_EXPECT(chela_edits("a", 1, "b", 1) == 1);
}

static void do_event_name(struct sweep *cx) {
    (void)cx;
    SWEEP_EXPECT(chela_event_name(CHELA_EV_RUN_END) != NULL);
}

static void do_inbound_line(struct sweep *cx) {
    struct chela_inbound in = CHELA_INBOUND(.message_id = "om_1", .sender = "Ann");
    (void)cx;
    chela_free(chela_inbound_line(&in, "hello", 5, NULL));
}

static void do_json_get(struct sweep *cx) {
    (void)cx;
    chela_free(chela_json_get("{\"a\":1}", 7, "/a", NULL));
}

static void do_json_get_all(struct sweep *cx) {
    static const char *const pointers[] = {"/a", "/b"};
    char *values[2];
    (void)cx;
    chela_json_get_all("{\"a\":1}", 7, pointers, values, 2);
    chela_free(values[0]);
    chela_free(values[1]);
}

static void do_json_each(struct sweep *cx) {
    (void)cx;
    chela_json_each("[1,2]", 5, see_line, NULL);
}

static void do_heard_line(struct sweep *cx) {
    (void)cx;
    chela_free(chela_heard_line(0, 0, "om_1", "Ann", (struct chela_str){"hello", 5}));
}

static void see_simulated(const struct chela_simulated *s, void *user) {
    (void)user;
    chela_free(chela_simulated_json(s));
}

static void do_heartbeat_simulate(struct sweep *cx) {
    static const char line[] = "{\"ts\":1,\"text\":\"hello\"}\n";
    (void)cx;
    SWEEP_EXPECT(chela_heartbeat_simulate(line, strlen(line), NULL, see_simulated, NULL, NULL) ==
                 0);
}

static void do_willing_defaults(struct sweep *cx) {
    struct chela_willing_opts opts = CHELA_WILLING_OPTS(.text = 0);
    (void)cx;
    SWEEP_EXPECT(chela_willing_defaults(CHELA_CHAT_GROUP, &opts, NULL) == 0);
}

static void do_willing(struct sweep *cx) {
    struct chela_heard line = {.at = 1, .text = {"hello", 5}};
    struct chela_urge urge;
    (void)cx;
    chela_willing *w = NULL;
    SWEEP_EXPECT(chela_willing_new(CHELA_CHAT_GROUP, NULL, NULL, &w, NULL) == 0);
    chela_willing_hear(w, &line, &urge);
    SWEEP_EXPECT(chela_urge_name(urge.reason) != NULL);
    chela_willing_turn(w, 2);
    chela_willing_said(w, 3, 1);
    (void)chela_willing_at(w, 4);
    char *saved = chela_willing_save(w);
    SWEEP_EXPECT(chela_willing_restore(w, saved, strlen(saved), 5, NULL) == 0);
    chela_free(saved);
    chela_willing_free(w);
}

static void do_quiet_hours_read(struct sweep *cx) {
    int from, to;
    (void)cx;
    SWEEP_EXPECT(chela_quiet_hours_read("23:00-07:30", &from, &to, NULL) == 0);
}

static void do_utc_offset_read(struct sweep *cx) {
    int minutes;
    (void)cx;
    SWEEP_EXPECT(chela_utc_offset_read("+08:00", &minutes, NULL) == 0);
}

static void do_schema(struct sweep *cx) {
    chela_schema *s = NULL;
    (void)cx;
    SWEEP_EXPECT(chela_schema_new(SCHEMA, strlen(SCHEMA), NULL, &s, NULL) == 0);
    SWEEP_EXPECT(chela_schema_valid(s, "{\"n\":1}", 7) == 1);
    chela_free(chela_schema_report(s, "{\"n\":\"x\"}", 9, NULL));
    chela_free(chela_schema_coerce(s, "{\"n\":\"1\"}", 9, 0, NULL));
    chela_schema_free(s);
}

static void do_schema_clean(struct sweep *cx) {
    (void)cx;
    chela_free(chela_schema_clean(SCHEMA, strlen(SCHEMA), "gemini", NULL, NULL));
}

static void do_schema_lint(struct sweep *cx) {
    (void)cx;
    chela_free(chela_schema_lint(SCHEMA, strlen(SCHEMA), NULL));
}

static void do_tool_index(struct sweep *cx) {
    static const char tools[] = "[{\"name\":\"stamp\",\"description\":\"Stamps letters.\"}]";
    chela_tool_index *ix = NULL;
    (void)cx;
    SWEEP_EXPECT(chela_tool_index_new(tools, strlen(tools), &ix, NULL) == 0);
    SWEEP_EXPECT(chela_tool_index_size(ix) == 1);
    chela_free(chela_tool_index_select(ix, "letters", 7, 1));
    chela_free(chela_tool_index_deferred(ix, "letters", 7, 0));
    chela_tool_index_free(ix);
}

static void do_wire_decode(struct sweep *cx) {
    (void)cx;
    chela_free(chela_wire_decode("anthropic", 0, NULL, "{}", 2, NULL));
}

static void do_wire_encode(struct sweep *cx) {
    (void)cx;
    chela_free(chela_wire_encode("anthropic", "m", "{\"messages\":[]}", 15, NULL));
}

static void do_wire_apis(struct sweep *cx) {
    (void)cx;
    SWEEP_EXPECT(chela_wire_apis() != NULL);
}

static void do_review(struct sweep *cx) {
    struct chela_review_opts o = CHELA_REVIEW_OPTS(.session = "no such session");
    struct chela_error err = {0};
    char *json;

    (void)cx;
    SWEEP_EXPECT(chela_review(&o, &json, &err) < 0);
    chela_free(json);
}

static void do_version(struct sweep *cx) {
    (void)cx;
    SWEEP_EXPECT(chela_version() != NULL);
}

static void do_choice_name(struct sweep *cx) {
    (void)cx;
    SWEEP_EXPECT(strcmp(chela_mode_name(CHELA_MODE_PLAN), "plan") == 0);
}

static void do_choice_read(struct sweep *cx) {
    enum chela_mode mode = CHELA_MODE_DEFAULT;
    (void)cx;
    SWEEP_EXPECT(chela_mode_read("plan", &mode, NULL) == 0 && mode == CHELA_MODE_PLAN);
}

static void do_version_number(struct sweep *cx) {
    (void)cx;
    SWEEP_EXPECT(chela_version_number() == CHELA_VERSION_NUMBER);
}

static void do_free(struct sweep *cx) {
    (void)cx;
    chela_free(NULL);
}

#define SHARED SWEEP_SHARED
#define PURE SWEEP_PURE
static const struct sweep_row rows[] = {
    {"chela_store_open", do_store_open, SHARED, NULL},
    {"chela_store_close", do_store_close, SWEEP_STORED, NULL},
    {"chela_store_note", do_store_note, SHARED, NULL},
    {"chela_store_list", do_store_list, SHARED, NULL},
    {"chela_store_session", do_store_session, SHARED, NULL},
    {"chela_store_records", do_store_records, SHARED, NULL},
    {"chela_store_record_name", do_store_record_name, PURE, NULL},
    {"chela_store_title", do_store_title, SHARED, NULL},
    {"chela_store_delete", do_store_delete, SWEEP_ROUND, NULL},
    {"chela_store_remember", do_store_remember, SWEEP_ROUND, NULL},
    {"chela_store_compare", do_store_remember, SWEEP_ROUND, NULL},
    {"chela_store_recovered", do_store_recovered, SWEEP_ROUND, NULL},
    {"chela_store_held", do_store_held, SWEEP_ROUND, NULL},
    {"chela_store_release", do_store_held, SWEEP_ROUND, NULL},
    {"chela_store_check", do_store_check, SWEEP_ROUND, NULL},
    {"chela_store_prune", do_store_prune, SWEEP_ROUND, NULL},
    {"chela_store_erase", do_store_erase, SWEEP_ROUND, NULL},
    {"chela_store_budgets", do_store_budgets, SHARED, NULL},
    {"chela_store_search", do_store_search, SHARED, NULL},
    {"chela_store_items", do_store_items, SHARED, NULL},
    {"chela_store_session_json", do_store_session_json, PURE, NULL},
    {"chela_store_hit_json", do_store_hit_json, PURE, NULL},
    {"chela_store_show", do_store_show, SHARED, NULL},
    {"chela_store_fork", do_store_fork, SHARED, NULL},
    {"chela_store_fork_before", do_store_fork_before, SHARED, NULL},
    {"chela_store_export", do_store_export, SHARED, NULL},
    {"chela_store_import", do_store_import, SHARED, NULL},
    {"chela_replay", do_replay, SHARED, NULL},
    {"chela_trace_spans", do_trace_spans, SHARED, NULL},
    {"chela_trace_request", do_trace_request, SHARED, NULL},
    {"chela_trace_setups", do_trace_setups, SHARED, NULL},
    {"chela_trace_calls", do_trace_calls, SHARED, NULL},
    {"chela_telemetry_start", do_telemetry_start, 0, NULL},
    {"chela_telemetry_flush", do_telemetry_flush, 0, NULL},
    {"chela_telemetry_past", do_telemetry_past, SHARED, NULL},
    {"chela_why", do_why, SWEEP_ROUND, NULL},
    {"chela_why_versus", do_why_versus, SHARED, NULL},
    {"chela_session_root", do_session_root, PURE, NULL},
    {"chela_schedule_check", do_schedule_check, PURE, NULL},
    {"chela_schedule_next", do_schedule_next, PURE, NULL},
    {"chela_schedule_time", do_schedule_time, PURE, NULL},
    {"chela_schedule_add", do_schedule_add, SHARED, NULL},
    {"chela_schedule_remove", do_schedule_remove, SHARED, NULL},
    {"chela_schedule_list", do_schedule_list, SHARED, NULL},
    {"chela_schedule_row_json", do_schedule_row_json, PURE, NULL},
    {"chela_schedule_tool", do_schedule_tool, SWEEP_STORED | SWEEP_ROUND, NULL},
    {"chela_schedule_run", do_schedule_run, SWEEP_ROUND, NULL},
    {"chela_pairing_list", do_pairing_list, SHARED, NULL},
    {"chela_pairing_approve", do_pairing_approve, SHARED, NULL},
    {"chela_pairing_remove", do_pairing_remove, SHARED, NULL},
    {"chela_gateway_new", do_gateway_new, 0, NULL},
    {"chela_gateway_close", do_gateway_close, SWEEP_ROUND, NULL},
    {"chela_gateway_address", do_gateway_address, SHARED, NULL},
    {"chela_gateway_listen", do_gateway_listen, PURE, NULL},
    {"chela_gateway_run", do_gateway_run, SWEEP_ROUND, NULL},
    {"chela_gateway_interrupt", do_gateway_interrupt, SHARED, NULL},
    {"chela_gateway_tools", do_gateway_tools, SHARED, NULL},
    {"chela_gateway_wants_restart", do_gateway_wants_restart, SHARED, NULL},
    {"chela_gateway_patched", do_gateway_patched, SHARED, NULL},
    {"chela_skill_add", do_skill_add, SHARED, NULL},
    {"chela_skill_remove", do_skill_add, SHARED, NULL},
    {"chela_gateway_work", do_gateway_work, SWEEP_ROUND, NULL},
    {"chela_follow_new", do_follow, SWEEP_STORED | SWEEP_ROUND, NULL},
    {"chela_follow_read", do_follow, SWEEP_STORED | SWEEP_ROUND, NULL},
    {"chela_follow_holder", do_follow, SWEEP_STORED | SWEEP_ROUND, NULL},
    {"chela_follow_say", do_follow, SWEEP_STORED | SWEEP_ROUND, NULL},
    {"chela_follow_cancel", do_follow, SWEEP_STORED | SWEEP_ROUND, NULL},
    {"chela_follow_decide", do_follow, SWEEP_STORED | SWEEP_ROUND, NULL},
    {"chela_follow_answer", do_follow, SWEEP_STORED | SWEEP_ROUND, NULL},
    {"chela_follow_close", do_follow, SWEEP_STORED | SWEEP_ROUND, NULL},
    {"chela_gateway_reload", do_gateway_reload, SHARED, NULL},
    {"chela_gateway_trouble", do_gateway_trouble, SHARED, NULL},
    {"chela_gateway_stop", do_gateway_stop, SWEEP_ROUND, NULL},
    {"chela_gateway_survey", do_gateway_survey, SHARED, NULL},
    {"chela_channel_survey", do_channel_survey, SHARED, NULL},
    {"chela_channel_describe", do_channel_describe, SHARED, NULL},
    {"chela_channel_test", do_channel_test, SHARED, NULL},
    {"chela_config_load", do_config_load, SHARED, NULL},
    {"chela_config_free", do_config_load, SHARED, NULL},
    {"chela_config_apply", do_config_apply, SHARED, NULL},
    {"chela_config_agent", do_config_agent, SHARED, NULL},
    {"chela_config_tools", do_config_tools, SHARED, NULL},
    {"chela_mcp_new", do_mcp, SHARED, NULL},
    {"chela_mcp_close", do_mcp, SHARED, NULL},
    {"chela_mcp_find", do_mcp, SHARED, NULL},
    {"chela_agent_mcp", do_mcp, SHARED, NULL},
    {"chela_mcp_wait", do_mcp, SHARED, NULL},
    {"chela_mcp_request", do_mcp, SHARED, NULL},
    {"chela_mcp_send", do_mcp, SHARED, NULL},
    {"chela_mcp_refresh", do_mcp, SHARED, NULL},
    {"chela_mcp_skills_json", do_mcp, SHARED, NULL},
    {"chela_mcp_skill_read", do_mcp, SHARED, NULL},
    {"chela_mcp_login", do_mcp, SHARED, NULL},
    {"chela_mcp_state_json", do_mcp, SHARED, NULL},
    {"chela_mcp_server_new", do_mcp_server, SHARED, NULL},
    {"chela_mcp_server_close", do_mcp_server, SHARED, NULL},
    {"chela_mcp_server_tool", do_mcp_server, SHARED, NULL},
    {"chela_mcp_server_resource", do_mcp_server, SHARED, NULL},
    {"chela_mcp_server_prompt", do_mcp_server, SHARED, NULL},
    {"chela_mcp_server_remove_tool", do_mcp_server, SHARED, NULL},
    {"chela_mcp_server_remove_resource", do_mcp_server, SHARED, NULL},
    {"chela_mcp_server_remove_prompt", do_mcp_server, SHARED, NULL},
    {"chela_mcp_server_agent", do_mcp_server, SHARED, NULL},
    {"chela_mcp_server_updated", do_mcp_server, SHARED, NULL},
    {"chela_mcp_server_listen", do_mcp_server, SHARED, NULL},
    {"chela_mcp_server_address", do_mcp_server, SHARED, NULL},
    {"chela_mcp_server_run", do_mcp_server, SHARED, NULL},
    {"chela_mcp_server_stop", do_mcp_server, SHARED, NULL},
    {"chela_mcp_server_open", do_mcp_server, SHARED, NULL},
    {"chela_mcp_connection_feed", do_mcp_server, SHARED, NULL},
    {"chela_mcp_connection_busy", do_mcp_server, SHARED, NULL},
    {"chela_mcp_connection_close", do_mcp_server, SHARED, NULL},
    {"chela_mcp_call_name", do_mcp_server, SHARED, NULL},
    {"chela_mcp_call_arguments", do_mcp_server, SHARED, NULL},
    {"chela_mcp_call_argument", do_mcp_server, SHARED, NULL},
    {"chela_mcp_call_principal", do_mcp_server, SHARED, NULL},
    {"chela_mcp_call_can_ask", do_mcp_server, SHARED, NULL},
    {"chela_mcp_call_ask", do_mcp_server, SHARED, NULL},
    {"chela_mcp_call_keep", do_mcp_server, SHARED, NULL},
    {"chela_mcp_call_kept", do_mcp_server, SHARED, NULL},
    {"chela_mcp_call_log", do_mcp_server, SHARED, NULL},
    {"chela_mcp_call_progress", do_mcp_server, SHARED, NULL},
    {"chela_mcp_call_hang_up", do_mcp_server, SHARED, NULL},
    {"chela_mcp_call_cancelled", do_mcp_server, SHARED, NULL},
    {"chela_mcp_call_defer", do_mcp_server, SHARED, NULL},
    {"chela_mcp_call_on_cancel", do_mcp_server, SHARED, NULL},
    {"chela_mcp_call_finish", do_mcp_server, SHARED, NULL},
    {"chela_mcp_result_text", do_mcp_server, SHARED, NULL},
    {"chela_mcp_result_printf", do_mcp_server, SHARED, NULL},
    {"chela_mcp_result_media", do_mcp_server, SHARED, NULL},
    {"chela_mcp_result_resource", do_mcp_server, SHARED, NULL},
    {"chela_mcp_result_link", do_mcp_server, SHARED, NULL},
    {"chela_mcp_result_json", do_mcp_server, SHARED, NULL},
    {"chela_mcp_result_role", do_mcp_server, SHARED, NULL},
    {"chela_mcp_result_error", do_mcp_server, SHARED, NULL},
    {"chela_mcp_result_not_found", do_mcp_server, SHARED, NULL},
    {"chela_config_mcp", do_config_mcp, SHARED, NULL},
    {"chela_config_mcp_name", do_config_mcp, SHARED, NULL},
    {"chela_config_mcp_edit", do_config_mcp, SHARED, NULL},
    {"chela_config_store", do_config_store, SHARED, NULL},
    {"chela_config_place", do_config_place, SHARED, NULL},
    {"chela_config_durability", do_config_durability, SHARED, NULL},
    {"chela_config_language", do_config_language, SHARED, NULL},
    {"chela_config_telemetry", do_config_telemetry, SHARED, NULL},
    {"chela_config_calls", do_config_calls, SHARED, NULL},
    {"chela_config_takers", do_config_takers, SHARED, NULL},
    {"chela_config_agent_id", do_config_agent_id, SHARED, NULL},
    {"chela_config_gateway", do_config_gateway, SHARED, NULL},
    {"chela_config_token", do_config_token, SHARED, NULL},
    {"chela_config_hook", do_config_hook, SHARED, NULL},
    {"chela_config_schedule", do_config_schedule, SHARED, NULL},
    {"chela_config_schedule_tool", do_config_schedule_tool, SHARED, NULL},
    {"chela_config_channel", do_config_channel, SHARED, NULL},
    {"chela_config_channel_secrets", do_config_channel_secrets, SHARED, NULL},
    {"chela_config_show", do_config_show, SHARED, NULL},
    {"chela_config_schema", do_config_schema, PURE, NULL},
    {"chela_config_open", do_config_open, SHARED, NULL},
    {"chela_config_claims", do_config_claims, SHARED, NULL},
    {"chela_config_restrict", do_config_restrict, SHARED, NULL},
    {"chela_config_same_rights", do_config_same_rights, SHARED, NULL},
    {"chela_trust_add", do_config_trust, SHARED, NULL},
    {"chela_trust_check", do_config_trust, SHARED, NULL},
    {"chela_trust_compare", do_config_trust, SHARED, NULL},
    {"chela_trust_list", do_config_trust, SHARED, NULL},
    {"chela_trust_remove", do_config_trust, SHARED, NULL},
    {"chela_trust_skills", do_trust_skills, SHARED, NULL},
    {"chela_trust_skills_add", do_trust_skills, SHARED, NULL},
    {"chela_models_json", do_models_json, SHARED, NULL},
    {"chela_models_update", do_models_update, SHARED, NULL},
    {"chela_model_probe", do_model_probe, SWEEP_ROUND, NULL},
    {"chela_prompts_load", do_prompts_load, SHARED, NULL},
    {"chela_prompts_pin", do_prompts_pin, SHARED, NULL},
    {"chela_prompts_rollout", do_prompts_rollout, SHARED, NULL},
    {"chela_prompts_json", do_prompts_json, SHARED, NULL},
    {"chela_prompt_json", do_prompt_json, SHARED, NULL},
    {"chela_prompt_render", do_prompt_render, SHARED, NULL},
    {"chela_prompt_test", do_prompt_test, SWEEP_ROUND, NULL},
    {"chela_prompt_compare", do_prompt_compare, PURE, NULL},
    {"chela_eval_run", do_eval_run, SWEEP_ROUND, NULL},
    {"chela_eval_compare", do_eval_texts, PURE, NULL},
    {"chela_eval_render", do_eval_texts, PURE, NULL},
    {"chela_eval_import", do_eval_texts, PURE, NULL},
    {"chela_eval_add", do_eval_add, SHARED, NULL},
    {"chela_trace_export", do_trace_export, SHARED, NULL},
    {"chela_runtime_survey", do_runtime_survey, SHARED, NULL},
    {"chela_error_name", do_error_name, PURE, NULL},
    {"chela_error_text", do_error_text, PURE, NULL},
    {"chela_redact", do_redact, PURE, NULL},
    {"chela_edits", do_edits, PURE, NULL},
    {"chela_event_name", do_event_name, PURE, NULL},
    {"chela_inbound_line", do_inbound_line, PURE, NULL},
    {"chela_json_get", do_json_get, PURE, NULL},
    {"chela_json_get_all", do_json_get_all, PURE, NULL},
    {"chela_json_each", do_json_each, PURE, NULL},
    {"chela_heard_line", do_heard_line, PURE, NULL},
    {"chela_heartbeat_simulate", do_heartbeat_simulate, PURE, NULL},
    {"chela_simulated_json", do_heartbeat_simulate, PURE, NULL},
    {"chela_willing_defaults", do_willing_defaults, PURE, NULL},
    {"chela_willing_new", do_willing, PURE, NULL},
    {"chela_willing_free", do_willing, PURE, NULL},
    {"chela_willing_hear", do_willing, PURE, NULL},
    {"chela_willing_turn", do_willing, PURE, NULL},
    {"chela_willing_said", do_willing, PURE, NULL},
    {"chela_willing_at", do_willing, PURE, NULL},
    {"chela_willing_save", do_willing, PURE, NULL},
    {"chela_willing_restore", do_willing, PURE, NULL},
    {"chela_urge_name", do_willing, PURE, NULL},
    {"chela_quiet_hours_read", do_quiet_hours_read, PURE, NULL},
    {"chela_utc_offset_read", do_utc_offset_read, PURE, NULL},
    {"chela_schema_new", do_schema, PURE, NULL},
    {"chela_schema_free", do_schema, PURE, NULL},
    {"chela_schema_valid", do_schema, PURE, NULL},
    {"chela_schema_report", do_schema, PURE, NULL},
    {"chela_schema_coerce", do_schema, PURE, NULL},
    {"chela_schema_clean", do_schema_clean, PURE, NULL},
    {"chela_schema_lint", do_schema_lint, PURE, NULL},
    {"chela_tool_index_new", do_tool_index, PURE, NULL},
    {"chela_tool_index_free", do_tool_index, PURE, NULL},
    {"chela_tool_index_size", do_tool_index, PURE, NULL},
    {"chela_tool_index_select", do_tool_index, PURE, NULL},
    {"chela_tool_index_deferred", do_tool_index, PURE, NULL},
    {"chela_wire_decode", do_wire_decode, PURE, NULL},
    {"chela_wire_encode", do_wire_encode, PURE, NULL},
    {"chela_wire_apis", do_wire_apis, PURE, NULL},
    {"chela_review", do_review, PURE, NULL},
    {"chela_version", do_version, PURE, NULL},
    {"chela_version_number", do_version_number, PURE, NULL},
    {"chela_choice_name", do_choice_name, PURE, NULL},
    {"chela_choice_read", do_choice_read, PURE, NULL},
    {"chela_acp_new", do_acp, SHARED, NULL},
    {"chela_acp_feed", do_acp, SHARED, NULL},
    {"chela_acp_busy", do_acp, SHARED, NULL},
    {"chela_acp_close", do_acp, SHARED, NULL},
    {"chela_free", do_free, PURE, NULL},
    {"chela_set_allocator", NULL, 0,
     "Replace malloc for the whole process, once, before anything else."},
};
const struct sweep_rows sweep_rows_rest = {rows, sizeof(rows) / sizeof(rows[0])};
