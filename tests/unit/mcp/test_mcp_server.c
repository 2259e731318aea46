/* test_mcp_server.c -- a server and a client at the end of a pipe, in both eras. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/handle/runtime.h"
#include "base/limits.h"
#include "chela/mcp_server.h"
#include "json/json.h"
#include "mcp/mcp_protocol.h"

#define META \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}"

static struct world {
    chela_runtime *rt;
    chela_mcp_server *server;
    chela_mcp_connection *c;
    struct ch_buf received;
    size_t lines, wanted;
    bool there;
    int runs, released, cancelled;
    chela_mcp_call *open;
    struct ch_arena arena;
} w;

/* --- functions of the server */

static int echo(chela_mcp_call *call, void *user) {
    (void)user;
    chela_mcp_result_printf(call, "%s", chela_mcp_call_argument(call, "text"));
    return 0;
}

static int ask(chela_mcp_call *call, void *user) {
    (void)user;
    w.runs++;
    chela_mcp_call_keep(call, "runs", w.runs == 1 ? "1" : "2");
    const char *answer = chela_mcp_call_ask(
        call, "who", "elicitation/create",
        "{\"message\":\"Who?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"n\":{"
        "\"type\":\"integer\"}},\"required\":[\"n\"]}}");
    const char *kept = chela_mcp_call_kept(call, "runs");
    if (answer)
        chela_mcp_result_printf(call, "%s kept %s", answer, kept ? kept : "nothing");
    return 0;
}

static int report(chela_mcp_call *call, void *user) {
    (void)user;
    chela_mcp_call_log(call, CHELA_MCP_DEBUG, "too fine");
    chela_mcp_call_log(call, CHELA_MCP_WARNING, "a line");
    chela_mcp_call_progress(call, 1, 2, NULL);
    chela_mcp_call_progress(call, 1, 2, "does not grow");
    chela_mcp_result_json(call, "{\"a\":1}");
    return 0;
}

/* Lines that are too long to be sent: they are left out, the others are not. */
static int shout(chela_mcp_call *call, void *user) {
    static char line[CH_LIMIT_MCP_NOTICES + 1];
    (void)user;
    memset(line, 'x', sizeof(line) - 1);
    for (int i = 0; i < 3; i++)
        chela_mcp_call_log(call, CHELA_MCP_WARNING, line);
    chela_mcp_call_log(call, CHELA_MCP_WARNING, "heard");
    chela_mcp_result_text(call, "done", 4);
    return 0;
}

static void on_cancel(chela_mcp_call *call, void *user) {
    (void)user;
    w.cancelled++;
    w.open = NULL;
    chela_mcp_call_finish(call);
}

static int hold(chela_mcp_call *call, void *user) {
    (void)user;
    w.open = call;
    chela_mcp_call_defer(call);
    chela_mcp_call_on_cancel(call, on_cancel, NULL);
    return 0;
}

static int hold_not(chela_mcp_call *call, void *user) {
    (void)user;
    chela_mcp_call_defer(call);
    chela_mcp_result_text(call, "at once", 7);
    chela_mcp_call_finish(call);
    return 0;
}

static int huge(chela_mcp_call *call, void *user) {
    static char block[CH_MB];
    (void)user;
    memset(block, 'x', sizeof(block));
    for (int i = 0; i < 20; i++)
        chela_mcp_result_text(call, block, sizeof(block));
    return 0;
}

/* The first result is too large; the second one, after an answer, is not. */
static int draw(chela_mcp_call *call, void *user) {
    static char picture[CH_LIMIT_RPC_MESSAGE];
    (void)user;
    if (chela_mcp_call_ask(call, "which", "roots/list", NULL))
        chela_mcp_result_text(call, "small", 5);
    else
        chela_mcp_result_media(call, "image/png", picture, sizeof(picture));
    return 0;
}

static int failing(chela_mcp_call *call, void *user) {
    (void)call;
    (void)user;
    return CHELA_ENET;
}

static int read_file(chela_mcp_call *call, void *user) {
    (void)user;
    if (strcmp(chela_mcp_call_argument(call, "path"), "none") == 0)
        return chela_mcp_result_not_found(call);
    chela_mcp_result_printf(call, "content of %s", chela_mcp_call_argument(call, "path"));
    return 0;
}

static int list_files(chela_mcp_call *call, void *user) {
    (void)user;
    chela_mcp_result_link(call, "file:///a%20b", "a b", "text/plain", NULL);
    return 0;
}

static void on_release(void *user) {
    (void)user;
    w.released++;
}

/* --- the client */

static void on_write(const char *p, size_t n, void *user) {
    (void)user;
    ch_buf_add(&w.received, p, n);
    for (size_t i = 0; i < n; i++)
        w.lines += p[i] == '\n';
    w.there = w.lines >= w.wanted;
}

/* Feed a message and wait for so many lines. Returns the last one. */
static const char *talk(const char *message, size_t lines) {
    w.wanted = w.lines + lines;
    w.there = lines == 0;
    ch_buf_clear(&w.received);
    assert_int_equal(chela_mcp_connection_feed(w.c, message, strlen(message), NULL), 0);
    assert_int_equal(chela_mcp_connection_feed(w.c, "\n", 1, NULL), 0);
    ch_loop_hold(w.rt->loop);
    assert_int_equal(ch_loop_run(w.rt->loop, &w.there), 0);
    ch_loop_release(w.rt->loop);
    return ch_buf_str(&w.received);
}

static void hear(const char *message, const char *part) {
    const char *answer = talk(message, 1);
    if (!strstr(answer, part))
        fail_msg("%s\nhas no %s", answer, part);
}

static void add_tool(const char *name, chela_mcp_fn *fn, const char *schema, unsigned flags) {
    struct chela_mcp_tool_opts o = CHELA_MCP_TOOL_OPTS(
        .name = name, .fn = fn, .schema = schema, .flags = flags, .release = on_release);
    assert_int_equal(chela_mcp_server_tool(w.server, &o, NULL), 0);
}

static int structured(chela_mcp_call *call, void *user) {
    if (user)
        chela_mcp_result_json(call, user);
    else
        chela_mcp_result_text(call, "text", 4);
    return 0;
}

static void add_structured(const char *name, const char *result, const char *schema) {
    struct chela_mcp_tool_opts o = CHELA_MCP_TOOL_OPTS(
        .name = name, .fn = structured, .output_schema = schema, .user = (void *)(uintptr_t)result);
    assert_int_equal(chela_mcp_server_tool(w.server, &o, NULL), 0);
}

static int setup(void **state) {
    struct chela_mcp_server_opts o = CHELA_MCP_SERVER_OPTS(.name = "unit", .version = "1");
    struct chela_mcp_resource_opts file = CHELA_MCP_RESOURCE_OPTS(
        .uri = "file:///{+path}", .fn = read_file, .list = list_files, .mime_type = "text/plain");
    struct chela_mcp_prompt_opts prompt = CHELA_MCP_PROMPT_OPTS(
        .name = "p", .fn = echo, .arguments = "[{\"name\":\"text\",\"required\":true}]");
    (void)state;
    memset(&w, 0, sizeof(w));
    ch_buf_init(&w.received, 64 * CH_MB);
    assert_int_equal(chela_runtime_new(NULL, &w.rt, NULL), 0);
    assert_int_equal(chela_mcp_server_new(w.rt, &o, &w.server, NULL), 0);
    add_tool("echo", echo,
             "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":["
             "\"text\"]}", 0);
    add_tool("ask", ask, NULL, 0);
    add_tool("report", report, NULL, 0);
    add_tool("hold", hold, NULL, CHELA_MCP_ON_LOOP);
    add_tool("hold_not", hold_not, NULL, CHELA_MCP_ON_LOOP);
    add_tool("huge", huge, NULL, 0);
    add_tool("fail", failing, NULL, 0);
    add_tool("shout", shout, NULL, CHELA_MCP_ON_LOOP);
    add_tool("draw", draw, NULL, 0);
    assert_int_equal(chela_mcp_server_resource(w.server, &file, NULL), 0);
    assert_int_equal(chela_mcp_server_prompt(w.server, &prompt, NULL), 0);
    assert_int_equal(chela_mcp_server_open(w.server, on_write, NULL, "me", &w.c, NULL), 0);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    chela_runtime_close(w.rt);
    ch_buf_release(&w.received);
    ch_arena_release(&w.arena);
    return 0;
}

#define REQUEST(id, method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"
#define CALL(id, name, rest) REQUEST(id, "tools/call", "\"name\":\"" name "\"" rest)

static void initialize(const char *capabilities) {
    char text[300];
    snprintf(text, sizeof(text),
             REQUEST("0", "initialize", "\"protocolVersion\":\"2025-11-25\",\"capabilities\":%s"),
             capabilities);
    hear(text, "\"protocolVersion\":\"2025-11-25\"");
}

/* --- tests */

static void a_client_with_a_handshake(void **state) {
    (void)state;
    hear(REQUEST("1", "tools/list", ""), "-32602"); /* neither era */
    initialize("{}");
    hear(REQUEST("\"x\"", "ping", ""), "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}");
    hear(CALL("2", "echo", ",\"arguments\":{\"text\":\"hi\"}"), "\"text\":\"hi\"");
    hear(CALL("3", "echo", ",\"arguments\":{\"text\":5}"), "\"isError\":true");
    hear(CALL("4", "echo", ",\"arguments\":7"), "-32602");
    hear(CALL("5", "none", ""), "-32602");
    hear(CALL("6", "fail", ""), "\"isError\":true");
    hear(REQUEST("7", "prompts/get", "\"name\":\"p\""), "is missing");
    hear(REQUEST("8", "prompts/get", "\"name\":\"p\",\"arguments\":{\"text\":1}"), "not a string");
    hear(REQUEST("9", "prompts/get", "\"name\":\"p\",\"arguments\":{\"text\":\"t\"}"),
         "{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"t\"}}");
    hear(REQUEST("10", "server/discover", ""), "-32601");
    hear(REQUEST("11", "logging/setLevel", "\"level\":\"loud\""), "-32602");
    hear(REQUEST("12", "tools/list", "\"cursor\":\"x\""), "-32602");
}

static void resources_of_a_template(void **state) {
    (void)state;
    initialize("{}");
    hear(REQUEST("1", "resources/list", ""), "file:///a%20b");
    hear(REQUEST("2", "resources/read", "\"uri\":\"file:///a%20b/c\""), "content of a b/c");
    hear(REQUEST("3", "resources/read", "\"uri\":\"file:///none\""), "-32002");
    hear(REQUEST("4", "resources/read", "\"uri\":\"other:///x\""), "-32002");
    hear(REQUEST("5", "resources/read", "\"uri\":\"file:///none\"," META), "-32602");
    hear(REQUEST("6", "resources/read", ""), "-32602");
}

static void a_request_of_the_new_era(void **state) {
    (void)state;
    hear(REQUEST("1", "server/discover", META), "\"supportedVersions\":[\"2026-07-28\"]");
    hear(CALL("2", "echo", ",\"arguments\":{\"text\":\"hi\"}," META), "\"resultType\":"
                                                                      "\"complete\"");
    hear(REQUEST("3", "ping", META), "-32601");
    hear(REQUEST("4", "tools/list",
                 "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2027-01-01\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{}}"),
         "-32022");
    hear(REQUEST("5", "tools/list",
                 "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"),
         "-32602");
}

/* The state of the answer. */
static const char *state_of(const char *answer) {
    const struct ch_json *v;
    assert_int_equal(ch_json_parse(&w.arena, ch_sv_str(answer), CH_JSON_STRICT, &v, NULL, NULL), 0);
    return ch_arena_str(&w.arena, ch_json_str(ch_json_path(v, "result", "requestState", NULL)));
}

static void a_question_of_the_new_era(void **state) {
    char text[4000];
    (void)state;
    const char *token = state_of(talk(CALL("1", "ask", "," META), 1));
    assert_non_null(strchr(token, '.'));
    snprintf(text, sizeof(text),
             CALL("2", "ask",
                  ",\"inputResponses\":{\"who\":{\"action\":\"accept\",\"content\":{\"n\":5}}},"
                  "\"requestState\":\"%s\"," META),
             token);
    hear(text, "kept 1");
    /* an answer that is not valid against the schema is asked for again */
    hear(CALL("3", "ask",

                               ",\"inputResponses\":{\"who\":{\"action\":\"accept\","
                               "\"content\":{\"n\":\"x\"}}}," META),
         "input_required");
    hear(CALL("4", "ask", ",\"inputResponses\":{\"who\":7}," META), "-32602");
    /* the state of another request, and a changed one */
    snprintf(text, sizeof(text), CALL("5", "report", ",\"requestState\":\"%s\"," META), token);
    hear(text, "-32602");
    char *changed = ch_strdup(token);
    changed[3] = changed[3] == 'A' ? 'B' : 'A';
    snprintf(text, sizeof(text), CALL("6", "ask", ",\"requestState\":\"%s\"," META), changed);
    hear(text, "-32602");
    ch_free(changed);
    hear(CALL("7", "ask", ",\"requestState\":5," META), "-32602");
    hear(CALL("8", "ask", ",\"requestState\":\".\"," META), "-32602");
}

static void a_question_within_a_call(void **state) {
    (void)state;
    initialize("{\"elicitation\":{}}");
    hear(CALL("1", "ask", ""), "\"method\":\"elicitation/create\"");
    hear("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"accept\",\"content\":{\"n\":5}}}",
         "kept 1");
    assert_int_equal(w.runs, 2);
    hear(CALL("2", "ask", ""), "elicitation/create");
    hear("{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-1,\"message\":\"no\"}}",
         "did not answer who: no");
    /* asked, then cancelled: the client is told, and the request is not answered */
    hear(CALL("3", "ask", ""), "elicitation/create");
    hear("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
         "\"requestId\":3}}",
         "notifications/cancelled");
    assert_false(chela_mcp_connection_busy(w.c));
    /* a wrong id is ignored */
    hear(CALL("4", "ask", ""), "elicitation/create");
    talk("{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}", 0);
    assert_true(chela_mcp_connection_busy(w.c));
}

static void a_client_that_cannot_answer(void **state) {
    (void)state;
    initialize("{}");
    hear(CALL("1", "ask", ""), "does not support elicitation");
    hear(CALL("2", "ask",
              ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
              "\"io.modelcontextprotocol/clientCapabilities\":{}}"),
         "\"requiredCapabilities\":{\"elicitation\":{}}");
}

static void log_and_progress(void **state) {
    (void)state;
    initialize("{}");
    const char *all = talk(CALL("1", "report", ",\"_meta\":{\"progressToken\":\"t\"}"), 3);
    assert_non_null(strstr(all, "\"level\":\"warning\""));
    assert_null(strstr(all, "too fine"));
    assert_non_null(strstr(all, "\"progressToken\":\"t\",\"progress\":1"));
    assert_null(strstr(all, "does not grow"));
    assert_non_null(strstr(all, "\"structuredContent\":{\"a\":1}"));
    /* 2026-07-28: nothing is logged unless the request asks */
    all = talk(CALL("2", "report", "," META), 1);
    assert_null(strstr(all, "a line"));
}

/* A tool with an output schema always sends a structured result. */
static void a_result_of_a_schema(void **state) {
    static const char *const list = "[1,2]", *const wrong = "{\"a\":\"x\"}";
    (void)state;
    add_structured("none", NULL, "{\"type\":\"object\"}");
    add_structured("wrong", wrong, "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
                                   "\"integer\"}}}");
    add_structured("list", list, "{\"type\":\"array\"}");
    hear(CALL("1", "none", "," META), "result is missing\"}],\"isError\":true");
    hear(CALL("2", "wrong", "," META), "result is invalid\"}],\"isError\":true");
    hear(CALL("3", "list", "," META), "\"structuredContent\":[1,2]");
    hear(REQUEST("4", "tools/list", META), "\"outputSchema\":{\"type\":\"array\"}");
}

/* Up to 2025-11-25 structured results and their schemas are objects: clients refuse the whole
 * list of tools otherwise. */
static void a_result_that_is_no_object(void **state) {
    (void)state;
    add_structured("list", "[1,2]", "{\"type\":\"array\"}");
    add_structured("object", "{\"a\":1}", "{\"type\":\"object\"}");
    initialize("{}");
    const char *answer = talk(CALL("1", "list", ""), 1);
    assert_non_null(strstr(answer, "{\"content\":[{\"type\":\"text\",\"text\":\"[1,2]\"}]}"));
    hear(CALL("2", "object", ""), "\"structuredContent\":{\"a\":1}");
    answer = talk(REQUEST("3", "tools/list", ""), 1);
    assert_non_null(strstr(answer, "\"name\":\"list\""));
    assert_null(strstr(answer, "\"array\""));
    assert_non_null(strstr(answer, "\"outputSchema\":{\"type\":\"object\"}"));
}

static void a_call_is_cancelled(void **state) {
    (void)state;
    initialize("{}");
    hear(CALL("9", "hold_not", ""), "at once");
    talk(CALL("1", "hold", ""), 0);
    hear(REQUEST("2", "ping", ""), "{}");
    assert_non_null(w.open);
    hear(CALL("1", "echo", ",\"arguments\":{\"text\":\"a\"}"), "-32600"); /* the id is open */
    talk("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
         "\"requestId\":1}}",
         0);
    hear(REQUEST("3", "ping", ""), "{}");
    assert_int_equal(w.cancelled, 1);
    assert_false(chela_mcp_connection_busy(w.c));
}

static void a_client_leaves(void **state) {
    (void)state;
    initialize("{}");
    talk(CALL("1", "hold", ""), 0);
    hear(REQUEST("2", "ping", ""), "{}");
    chela_mcp_connection_close(w.c);
    w.c = NULL;
    ch_loop_tick(w.rt->loop);
    ch_loop_tick(w.rt->loop);
    assert_int_equal(w.cancelled, 1);
    chela_mcp_server_close(w.server);
    assert_int_equal(w.released, 9);
}

static void lists_that_change(void **state) {
    (void)state;
    hear(REQUEST("1", "subscriptions/listen",
                 "\"notifications\":{\"toolsListChanged\":true,\"resourceSubscriptions\":["
                 "\"file:///x\"]}," META),
         "subscriptions/acknowledged");
    chela_mcp_server_remove_tool(w.server, "echo");
    const char *notice = talk("", 1);
    assert_non_null(strstr(notice, "tools/list_changed"));
    assert_non_null(strstr(notice, "\"io.modelcontextprotocol/subscriptionId\":1"));
    chela_mcp_server_updated(w.server, "file:///y");
    chela_mcp_server_updated(w.server, "file:///x");
    assert_non_null(strstr(talk("", 1), "\"uri\":\"file:///x\""));
    talk("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
         "\"requestId\":1}}",
         0);
    chela_mcp_server_updated(w.server, "file:///x");
    hear(REQUEST("2", "server/discover", META), "\"id\":2");
    assert_int_equal(chela_mcp_server_remove_tool(w.server, "echo"), CHELA_ENOENT);
}

static void a_large_result_before_an_answer(void **state) {
    (void)state;
    initialize("{\"roots\":{}}");
    hear(CALL("1", "draw", ""), "roots/list");
    hear("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"roots\":[]}}", "\"small\"");
}

static void hostile_messages(void **state) {
    static const char *const bad[] = {
        "nonsense", "[]", "{}", "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":[]}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\u0000\"}"};
    (void)state;
    initialize("{}");
    for (size_t i = 0; i < CH_LEN(bad); i++)
        hear(bad[i], "\"error\"");
    hear(CALL("1", "huge", ""), "too large");
    hear(CALL("3", "shout", ""), "\"data\":\"heard\"");
    hear(REQUEST("2", "ping", ""), "{}");
    CH_BUF_AUTO flood = {0};
    ch_buf_init(&flood, 64 * CH_MB);
    while (flood.n <= CH_LIMIT_RPC_MESSAGE)
        ch_buf_add(&flood, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 32);
    assert_int_equal(chela_mcp_connection_feed(w.c, flood.p, flood.n, NULL), CHELA_ELIMIT);
}

static void names_and_templates(void **state) {
    static const char *const names[] = {"", "a b", "ä", "x/y"};
    static const char *const uris[] = {"nothing", "t://{a}{b}", "t://{a", "t://{?q}", "t://}"};
    struct chela_error err;
    (void)state;
    for (size_t i = 0; i < CH_LEN(names); i++) {
        struct chela_mcp_tool_opts o = CHELA_MCP_TOOL_OPTS(.name = names[i], .fn = echo);
        assert_int_equal(chela_mcp_server_tool(w.server, &o, &err), CHELA_EINVAL);
    }
    for (size_t i = 0; i < CH_LEN(uris); i++) {
        struct chela_mcp_resource_opts o = CHELA_MCP_RESOURCE_OPTS(.uri = uris[i], .fn = echo);
        if (strcmp(uris[i], "t://}") == 0)
            continue; /* no template */
        assert_int_equal(chela_mcp_server_resource(w.server, &o, &err), CHELA_EINVAL);
    }
    struct chela_mcp_tool_opts twice = CHELA_MCP_TOOL_OPTS(.name = "echo", .fn = echo);
    assert_int_equal(chela_mcp_server_tool(w.server, &twice, &err), CHELA_EEXIST);
    struct chela_mcp_tool_opts bad =
        CHELA_MCP_TOOL_OPTS(.name = "bad", .fn = echo, .schema = "{\"type\":\"string\"}");
    assert_int_equal(chela_mcp_server_tool(w.server, &bad, &err), CHELA_EINVAL);
}

static void values_of_headers(void **state) {
    static const struct {
        const char *value, *text; /* NULL: invalid */
    } cases[] = {
        {"plain", "plain"},
        {"=?base64?SGVsbG8=?=", "Hello"},
        {"=?base64?SGVsbG8?=", NULL},
        {"=?base64?SGVs!!!bG8=?=", NULL},
        {"=?base64?SGVsbG8=", "=?base64?SGVsbG8="},
        {"SGVsbG8=?=", "SGVsbG8=?="},
        {"=?base64?" "?=", ""},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO out = {0};
        bool ok = ch_mcp_header_decode(&out, ch_sv_str(cases[i].value));
        assert_int_equal(ok, cases[i].text != NULL);
        if (ok)
            assert_string_equal(ch_buf_str(&out), cases[i].text);
    }
}

/* The runtime closes a server that offers an agent. */
static void an_agent_of_a_closed_runtime(void **state) {
    struct chela_mcp_server_opts opts = CHELA_MCP_SERVER_OPTS(.name = "test", .version = "1");
    struct chela_agent_opts of = CHELA_AGENT_OPTS(.model = "scripted/demo");
    chela_runtime *rt;
    chela_agent *agent;
    chela_mcp_server *server;
    (void)state;
    assert_int_equal(chela_runtime_new(NULL, &rt, NULL), 0);
    assert_int_equal(chela_agent_new(rt, &of, &agent, NULL), 0);
    assert_int_equal(chela_mcp_server_new(rt, &opts, &server, NULL), 0);
    assert_int_equal(chela_mcp_server_agent(server, agent, CHELA_MCP_OFFER_AGENT, NULL), 0);
    chela_runtime_close(rt);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH(a_client_with_a_handshake), WITH(resources_of_a_template),
        WITH(a_request_of_the_new_era),  WITH(a_question_of_the_new_era),
        WITH(a_question_within_a_call),  WITH(a_client_that_cannot_answer),
        WITH(log_and_progress),          WITH(a_call_is_cancelled),
        WITH(a_result_of_a_schema),      WITH(a_result_that_is_no_object),
        WITH(a_client_leaves),           WITH(lists_that_change),
        WITH(hostile_messages),          WITH(names_and_templates),
        WITH(a_large_result_before_an_answer),
        cmocka_unit_test(values_of_headers), cmocka_unit_test(an_agent_of_a_closed_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
