/* test_mcp_server_http.c -- sessions and their streams, with HTTP requests made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "chela/mcp_server.h"
#include "mcp/mcp_server_http.h"
#include "net/inbound.h"

#define REQUEST(id, method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"

/* One HTTP request and its answer. */
struct exchange {
    struct ch_inbound in;
    struct ch_mcp_stream *stream;
    int status; /* 0: not answered; 200 of a stream of events, too */
    bool ended;
    struct ch_buf sent;
};

static struct world {
    chela_runtime *rt;
    chela_mcp_server *server;
    char session[64];
    const char *version; /* of the next request */
} w;

static void on_attach(void *x, struct ch_mcp_stream *stream) {
    ((struct exchange *)x)->stream = stream;
}

static void on_header(void *x, const char *name, const char *value) {
    (void)x;
    if (strcmp(name, "Mcp-Session-Id") == 0)
        snprintf(w.session, sizeof(w.session), "%s", value);
}

static void on_respond(void *x, int status, const char *type, struct ch_sv body) {
    struct exchange *e = x;

    (void)type;
    e->status = status;
    e->ended = true;
    ch_buf_add_sv(&e->sent, body);
}

static void on_stream(void *x) {
    ((struct exchange *)x)->status = 200;
}

static int on_write(void *x, struct ch_sv bytes) {
    ch_buf_add_sv(&((struct exchange *)x)->sent, bytes);
    return 0;
}

static void on_end(void *x) {
    struct exchange *e = x;

    assert_int_equal(e->status, 200); /* of the stream that ends */
    e->ended = true;
}

static const struct ch_mcp_http_ops ops = {on_attach, on_header, on_respond,
                                           on_stream, on_write,  on_end};

static void serve(struct exchange *e, const char *method, const char *headers, const char *body) {
    CH_BUF_AUTO text = {0};
    size_t taken, at = 0;

    ch_buf_addf(&text,
                "%s /mcp HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                "MCP-Protocol-Version: %s\r\n%sContent-Length: %zu\r\n\r\n%s",
                method, w.version, headers, strlen(body), body);
    *e = (struct exchange){.status = 0};
    ch_inbound_init(&e->in);
    while (ch_inbound_feed(&e->in, ch_sv(text.p + at, text.n - at), &taken) == CH_INBOUND_HEAD)
        at += taken;
    assert_true(e->in.whole);
    ch_mcp_http_serve(w.server, &(struct ch_mcp_http_request){
                                    .ops = &ops, .x = e, .in = &e->in, .principal = ""});
}

/* A request of the session. last: the header Last-Event-ID; NULL: none. */
static void ask(struct exchange *e, const char *method, const char *last, const char *body) {
    char headers[200];

    snprintf(headers, sizeof(headers), "Mcp-Session-Id: %s\r\n%s%s%s", w.session,
             last ? "Last-Event-ID: " : "", last ? last : "", last ? "\r\n" : "");
    serve(e, method, headers, body);
}

static void release(struct exchange *e) {
    ch_inbound_release(&e->in);
    ch_buf_release(&e->sent);
}

static size_t count(const struct exchange *e, const char *part) {
    size_t n = 0;

    for (const char *p = ch_buf_str((struct ch_buf *)&e->sent); (p = strstr(p, part)); p++)
        n++;
    return n;
}

static int read_file(chela_mcp_call *call, void *user) {
    (void)call;
    (void)user;
    return 0;
}

static void open_session(const char *version) {
    struct exchange e;
    char text[200];

    w.version = version;
    snprintf(text, sizeof(text),
             REQUEST("1", "initialize", "\"protocolVersion\":\"%s\",\"capabilities\":{}"), version);
    serve(&e, "POST", "", text);
    assert_int_equal(e.status, 200);
    release(&e);
}

static int setup(void **state) {
    struct chela_mcp_server_opts o = CHELA_MCP_SERVER_OPTS(.name = "unit", .version = "1");
    struct chela_mcp_resource_opts file =
        CHELA_MCP_RESOURCE_OPTS(.uri = "file:///a", .fn = read_file);
    struct exchange e;

    (void)state;
    assert_int_equal(chela_runtime_new(NULL, &w.rt, NULL), 0);
    assert_int_equal(chela_mcp_server_new(w.rt, &o, &w.server, NULL), 0);
    assert_int_equal(chela_mcp_server_resource(w.server, &file, NULL), 0);
    open_session("2025-11-25");
    ask(&e, "POST", NULL, REQUEST("2", "resources/subscribe", "\"uri\":\"file:///a\""));
    assert_int_equal(e.status, 200);
    release(&e);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    chela_runtime_close(w.rt);
    return 0;
}

/* The client lost the stream of the session's notifications and continues it. */
static void a_lost_stream_continues(void **state) {
    struct exchange a, b, c;
    char id[32] = "";

    (void)state;
    ask(&a, "GET", NULL, "");
    assert_int_equal(sscanf(ch_buf_str(&a.sent), "id: %30s", id), 1);
    ch_mcp_http_gone(a.stream);
    chela_mcp_server_updated(w.server, "file:///a");
    ask(&b, "GET", id, "");
    assert_int_equal(count(&b, "resources/updated"), 1); /* sent in between */
    chela_mcp_server_updated(w.server, "file:///a");
    assert_int_equal(count(&b, "resources/updated"), 2);
    ask(&c, "GET", NULL, "");
    assert_int_equal(c.status, 409);
    release(&c);
    ch_mcp_http_gone(b.stream);
    ask(&c, "GET", NULL, ""); /* a new stream begins with new messages */
    assert_int_equal(count(&c, "resources/updated"), 0);
    chela_mcp_server_updated(w.server, "file:///a");
    assert_int_equal(count(&c, "resources/updated"), 1);
    assert_false(c.ended);
    ch_mcp_http_gone(c.stream);
    release(&a);
    release(&b);
    release(&c);
}

/* Headers that repeat arguments of 2026-07-28: a number may be written in another way. */
static void headers_repeat_arguments(void **state) {
    static const struct {
        const char *headers;
        int status; /* 0: the call has begun */
    } cases[] = {{"Mcp-Param-N: 7\r\nMcp-Param-T: 7\r\n", 0},
                 {"Mcp-Param-N: 007\r\nMcp-Param-T: 7\r\n", 0},
                 {"Mcp-Param-N: 8\r\nMcp-Param-T: 7\r\n", 400},
                 {"Mcp-Param-N: 007\r\nMcp-Param-N: 8\r\nMcp-Param-T: 7\r\n", 400},
                 {"Mcp-Param-N: 7\r\nMcp-Param-T: 007\r\n", 400},
                 {"Mcp-Param-N: 7\r\n", 400}};
    struct chela_mcp_tool_opts tool = CHELA_MCP_TOOL_OPTS(
        .name = "t", .fn = read_file, .flags = CHELA_MCP_ON_LOOP,
        .schema = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\","
                  "\"x-mcp-header\":\"N\"},\"t\":{\"type\":\"string\",\"x-mcp-header\":\"T\"}}}");

    (void)state;
    assert_int_equal(chela_mcp_server_tool(w.server, &tool, NULL), 0);
    w.version = "2026-07-28";
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct exchange e;
        char headers[200];
        snprintf(headers, sizeof(headers), "Mcp-Method: tools/call\r\nMcp-Name: t\r\n%s",
                 cases[i].headers);
        serve(&e, "POST", headers,
              REQUEST("1", "tools/call",
                      "\"name\":\"t\",\"arguments\":{\"n\":7,\"t\":\"7\"},\"_meta\":{"
                      "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                      "\"io.modelcontextprotocol/clientCapabilities\":{}}"));
        assert_int_equal(e.status, cases[i].status);
        if (!e.status)
            ch_mcp_http_gone(e.stream);
        release(&e);
    }
}

/* Batches exist in 2025-03-26 only. */
static void batches_of_one_version(void **state) {
#define PING REQUEST("1", "ping", "")
#define NOTE "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}"
    static const struct {
        const char *version, *body;
        int status;
        const char *part;
    } cases[] = {
        {"2025-03-26", "[" PING "," NOTE "," REQUEST("2", "tools/none", "") "]", 200,
         "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":2,\"error\""},
        {"2025-03-26", " [" REQUEST("2", "tools/none", "") "]", 200, "[{"},
        {"2025-03-26", "[" NOTE "," NOTE "]", 202, ""},
        {"2025-03-26", "[{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}]", 202, ""},
        {"2025-03-26", "[" REQUEST("3", "initialize", "\"protocolVersion\":\"2025-03-26\"") "]",
         200, "must not be part of a batch"},
        {"2025-03-26", "[]", 400, "the batch is empty"},
        {"2025-03-26", "[" PING ",7]", 400, "not a JSON object"},
        {"2025-03-26", "[" PING ",[" PING "]]", 400, "is a batch"},
        {"2025-03-26", "[" PING, 400, "-32700"},
        {"2025-06-18", "[" PING "]", 400, "is a batch"},
        {"2025-11-25", "[" PING "]", 400, "is a batch"},
        {"2024-11-05", "[" PING "]", 400, "is a batch"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct exchange e;
        open_session(cases[i].version);
        ask(&e, "POST", NULL, cases[i].body);
        assert_int_equal(e.status, cases[i].status);
        assert_true(e.ended && (!*cases[i].part || count(&e, cases[i].part) == 1));
        release(&e);
    }
}

static int finish_later(chela_mcp_call *call, void *user) {
    *(chela_mcp_call **)user = call;
    chela_mcp_call_defer(call);
    return 0;
}

/* The answer to a batch waits for its slowest request, even if that is cancelled. */
static void a_batch_waits(void **state) {
    chela_mcp_call *call = NULL;
    struct chela_mcp_tool_opts tool = CHELA_MCP_TOOL_OPTS(
        .name = "t", .fn = finish_later, .user = &call, .flags = CHELA_MCP_ON_LOOP);
    struct exchange e, cancel;

    (void)state;
    assert_int_equal(chela_mcp_server_tool(w.server, &tool, NULL), 0);
    open_session("2025-03-26");
    ask(&e, "POST", NULL, "[" REQUEST("5", "tools/call", "\"name\":\"t\"") "," PING "]");
    ch_loop_tick(w.rt->loop);
    assert_int_equal(e.status, 0);
    ask(&cancel, "POST", NULL, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                               "\"params\":{\"requestId\":5}}");
    chela_mcp_call_finish(call);
    ch_loop_tick(w.rt->loop);
    assert_int_equal(e.status, 200);
    assert_true(count(&e, "\"id\":1,") == 1 && count(&e, "\"id\":5,") == 0);
    release(&e);
    release(&cancel);
}

/* A client that continues the stream of a request whose connection still waits: the request of
 * that connection ends, so that its end does not concern the stream any more. */
static void a_waiting_request_continues(void **state) {
    chela_mcp_call *call = NULL;
    struct chela_mcp_tool_opts tool = CHELA_MCP_TOOL_OPTS(
        .name = "t", .fn = finish_later, .user = &call, .flags = CHELA_MCP_ON_LOOP);
    struct exchange first, second;

    (void)state;
    assert_int_equal(chela_mcp_server_tool(w.server, &tool, NULL), 0);
    open_session("2025-11-25");
    ask(&first, "POST", NULL, REQUEST("5", "tools/call", "\"name\":\"t\""));
    ch_loop_tick(w.rt->loop);
    assert_int_equal(first.status, 0);
    ask(&second, "GET", "2-0", "");
    assert_true(first.ended && first.status == 202);
    chela_mcp_call_finish(call);
    ch_loop_tick(w.rt->loop);
    assert_true(second.ended && count(&second, "\"id\":5,\"result\"") == 1);
    release(&first);
    release(&second);
}

/* Call the tool, lose the connection, and let the call end with `bytes` of text. */
static void lose_result(chela_mcp_call **call, size_t bytes) {
    CH_BUF_AUTO text = {0};
    struct exchange e;

    for (size_t i = 0; i < bytes; i++)
        ch_buf_addc(&text, 'x');
    ask(&e, "POST", NULL,
        REQUEST("5", "tools/call", "\"name\":\"t\",\"_meta\":{\"progressToken\":1}"));
    ch_loop_tick(w.rt->loop);
    chela_mcp_call_progress(*call, 1, 2, NULL);
    ch_loop_tick(w.rt->loop);
    assert_int_equal(e.status, 200);
    ch_mcp_http_gone(e.stream);
    release(&e);
    chela_mcp_result_text(*call, text.p, text.n);
    chela_mcp_call_finish(*call);
    ch_loop_tick(w.rt->loop);
}

/* A client that comes back gets the result of any size that a message can have. */
static void a_large_result_waits(void **state) {
    chela_mcp_call *call = NULL;
    struct chela_mcp_tool_opts tool = CHELA_MCP_TOOL_OPTS(
        .name = "t", .fn = finish_later, .user = &call, .flags = CHELA_MCP_ON_LOOP);
    char sessions[6][sizeof(w.session)];
    struct exchange e;

    (void)state;
    assert_int_equal(chela_mcp_server_tool(w.server, &tool, NULL), 0);
    for (int i = 0; i < 6; i++) {
        open_session("2025-11-25");
        memcpy(sessions[i], w.session, sizeof(w.session));
        lose_result(&call, 12 * CH_MB);
    }
    for (int i = 0; i < 6; i++) { /* all together are too large */
        memcpy(w.session, sessions[i], sizeof(w.session));
        ask(&e, "GET", "2-1", "");
        assert_int_equal(e.status, i == 0 ? 404 : 200);
        assert_true(count(&e, "\"id\":5,\"result\"") == (i > 0) && e.ended);
        release(&e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(batches_of_one_version, setup, teardown),
        cmocka_unit_test_setup_teardown(a_batch_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(a_waiting_request_continues, setup, teardown),
        cmocka_unit_test_setup_teardown(a_large_result_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(headers_repeat_arguments, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lost_stream_continues, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
