/* fuzz_mcp_server.c -- a client of an MCP server at the end of a pipe.
 *
 * Input: four bytes that say how the state of a request is changed, then bytes that the client
 * sends. A changed state is refused. Whatever the client sends, the server answers with lines of
 * valid JSON. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/handle/runtime.h"
#include "base/limits.h"
#include "chela/mcp_server.h"
#include "json/json.h"
#include "json/writer.h"

#define HEX 64 /* digits of the signature */
#define META \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}"

static chela_runtime *rt;
static chela_mcp_server *server;
static struct ch_buf received;
static struct ch_timer timer;
static bool over;

static int answer(chela_mcp_call *call, void *user) {
    (void)user;
    chela_mcp_result_printf(call, "%s", chela_mcp_call_arguments(call));
    return 0;
}

static int ask(chela_mcp_call *call, void *user) {
    (void)user;
    chela_mcp_call_keep(call, "step", "1");
    if (chela_mcp_call_ask(call, "who", "elicitation/create",
                           "{\"message\":\"Who?\",\"requestedSchema\":{\"type\":\"object\","
                           "\"properties\":{\"n\":{\"type\":\"integer\"}}}}"))
        chela_mcp_result_text(call, "done", 4);
    return 0;
}

static void on_write(const char *p, size_t n, void *user) {
    (void)user;
    ch_buf_add(&received, p, n);
}

static void on_timer(struct ch_timer *t) {
    (void)t;
    over = true;
}

/* Let the server work on what was sent; c NULL: nobody waits. A request that waits for the client
 * stays open. */
static void work(const chela_mcp_connection *c) {
    for (int i = 0; i < 4 && (i == 0 || (c && chela_mcp_connection_busy(c))); i++) {
        over = false;
        ch_timer_start(rt->loop, &timer, 0, on_timer);
        ch_loop_hold(rt->loop);
        ch_loop_run(rt->loop, &over);
        ch_loop_release(rt->loop);
    }
}

static void offer(void) {
    struct chela_error err = {0};
    struct chela_mcp_server_opts opts = CHELA_MCP_SERVER_OPTS(.name = "fuzz", .version = "1");
    struct chela_mcp_tool_opts echo = CHELA_MCP_TOOL_OPTS(
        .name = "echo", .fn = answer, .flags = CHELA_MCP_ON_LOOP,
        .schema = "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\","
                  "\"x-mcp-header\":\"Text\"}}}");
    struct chela_mcp_tool_opts asks =
        CHELA_MCP_TOOL_OPTS(.name = "ask", .fn = ask, .flags = CHELA_MCP_ON_LOOP);
    struct chela_mcp_resource_opts files = CHELA_MCP_RESOURCE_OPTS(
        .uri = "file:///{+path}", .fn = answer, .complete = answer, .flags = CHELA_MCP_ON_LOOP);
    struct chela_mcp_prompt_opts prompt = CHELA_MCP_PROMPT_OPTS(
        .name = "greet", .arguments = "[{\"name\":\"who\",\"required\":true}]", .fn = answer,
        .flags = CHELA_MCP_ON_LOOP);

    if (chela_runtime_new(NULL, &rt, &err) < 0 ||
        chela_mcp_server_new(rt, &opts, &server, &err) < 0 ||
        chela_mcp_server_tool(server, &echo, &err) < 0 ||
        chela_mcp_server_tool(server, &asks, &err) < 0 ||
        chela_mcp_server_resource(server, &files, &err) < 0 ||
        chela_mcp_server_prompt(server, &prompt, &err) < 0)
        abort();
}

/* Close everything, so that a search for leaks finds nothing. */
static void close_all(void) {
    chela_runtime_close(rt);
    ch_buf_release(&received);
}

static void send(chela_mcp_connection *c, struct ch_sv text) {
    ch_buf_clear(&received);
    if (chela_mcp_connection_feed(c, text.p, text.n, NULL) == 0)
        work(c);
}

static void call_ask(chela_mcp_connection *c, struct ch_sv state) {
    CH_BUF_AUTO line = {0};
    struct ch_jw w = ch_jw(&line);

    ch_buf_add_str(&line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                          "\"name\":\"ask\",\"arguments\":{}");
    if (state.p) {
        ch_buf_add_str(&line, ",\"requestState\":");
        w = ch_jw(&line);
        ch_jw_str(&w, state);
    }
    ch_buf_add_str(&line, "," META "}}\n");
    send(c, ch_buf_sv(&line));
}

static void change_state(chela_mcp_connection *c, const uint8_t *how) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO changed = {0};
    const struct ch_json *v;

    call_ask(c, ch_sv(NULL, 0));
    if (ch_json_parse(&arena, ch_arena_sv(&arena, ch_buf_sv(&received)), CH_JSON_STRICT, &v, NULL,
                      NULL) < 0)
        abort();
    struct ch_sv state = ch_json_str(ch_json_path(v, "result", "requestState", NULL));
    if (state.n <= HEX)
        abort();
    size_t at = (size_t)(how[1] * 256 + how[2]) % state.n;
    ch_buf_add_sv(&changed, state);
    if (how[0] % 3 == 0)
        changed.p[at] = (char)how[3];
    else if (how[0] % 3 == 1)
        changed.n = at;
    else
        ch_buf_addc(&changed, (char)how[3]);
    bool same = ch_sv_eq(state, ch_buf_sv(&changed));
    call_ask(c, ch_buf_sv(&changed));
    if (strstr(ch_buf_str(&received), same ? "input_required" : "-32602"))
        return;
    fprintf(stderr, "%s: %s", same ? "the same state" : "a changed state", ch_buf_str(&received));
    abort();
}

static void check_lines(void) {
    struct ch_sv rest = ch_buf_sv(&received);

    while (rest.n) {
        CH_ARENA_AUTO arena = {0};
        struct ch_sv line = ch_sv_split(&rest, '\n');
        const struct ch_json *v;
        if (ch_json_parse(&arena, ch_arena_sv(&arena, line), CH_JSON_STRICT, &v, NULL, NULL) < 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    chela_mcp_connection *c;

    if (!server) {
        offer();
        atexit(close_all);
    }
    if (size < 4 || chela_mcp_server_open(server, on_write, NULL, "fuzz", &c, NULL) < 0)
        return 0;
    change_state(c, data);
    send(c, ch_sv((const char *)data + 4, size - 4));
    check_lines();
    send(c, CH_SV("\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n"));
    check_lines();
    chela_mcp_connection_close(c);
    work(NULL);
    return 0;
}
