/* test_mcp_client.c -- a client and a server that changes its mind: lists, notices, closing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/handle/agent.h"
#include "base/limits.h"
#include "json/json.h"
#include "mcp/mcp_client.h"
#include "mcp/mcp_sampling.h"
#include "mcp/mcp_tools.h"
#include "support/httpd.h"
#include "support/stage.h"
#include "tool/call/call.h"

#define META "io.modelcontextprotocol/"

static struct {
    struct stage stage;
    struct httpd *server;
    char dir[32], path[64], url[64];
    unsigned lists, listens;
    bool two;       /* the server has a second tool */
    unsigned more;  /* number of further tools */
    bool announces; /* the first list is followed by a notice, in the same answer */
    bool breaks;    /* lists have no tools */
    unsigned asks;  /* number of inputs that the answer to prompts/get asks for */
    bool refuses;   /* every request needs a log-in */
    bool is_legacy;
    const char *version; /* that the server agrees to; NULL: 2025-11-25 */
    bool batches;        /* responses are in a batch, after a notification */
    bool streams;   /* a listening stream ends at once, without an event */
    bool fails;     /* a listening stream is refused for now */
    bool together;  /* the answer to skills/list is followed by that to `ping` */
    int64_t ping;   /* id of the request */
    unsigned pings;
    chela_mcp *mcp;
    unsigned done;
} w;

/* --- the server */

static void send_http(struct httpd_conn *c, const char *type, struct ch_sv body) {
    CH_BUF_AUTO out = {0};

    ch_buf_addf(&out, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nMcp-Session-Id: one\r\n"
                "Content-Length: %zu\r\n\r\n", type, body.n);
    ch_buf_add_sv(&out, body);
    httpd_send(c, ch_buf_sv(&out));
}

static void add_tools(struct ch_buf *out) {
    if (w.breaks) {
        ch_buf_add_str(out, "\"tools\":7");
        return;
    }
    ch_buf_add_str(out, "\"tools\":[{\"name\":\"one\",\"inputSchema\":{\"type\":\"object\"}}");
    if (w.two)
        ch_buf_add_str(out, ",{\"name\":\"two\",\"inputSchema\":{\"type\":\"object\"}}");
    for (unsigned i = 0; i < w.more; i++)
        ch_buf_addf(out, ",{\"name\":\"tool%u\",\"inputSchema\":{\"type\":\"object\"}}", i);
    ch_buf_add_str(out, "]");
}

static void add_result(struct ch_buf *out, const struct ch_json *request) {
    struct ch_sv method = ch_json_get_str(request, "method");

    ch_buf_addf(out, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"resultType\":\"%s\",",
                (long long)ch_json_int(ch_json_get(request, "id"), 0),
                w.asks && ch_sv_is(method, "prompts/get") ? "input_required" : "complete");
    if (ch_sv_is(method, "server/discover"))
        ch_buf_addf(out, "\"supportedVersions\":[\"%s\"],\"capabilities\":{\"tools\":{"
                    "\"listChanged\":true}}", w.is_legacy ? "2025-11-25" : "2026-07-28");
    else if (ch_sv_is(method, "initialize"))
        ch_buf_addf(out, "\"protocolVersion\":\"%s\",\"capabilities\":{}",
                    w.version ? w.version : "2025-11-25");
    else if (ch_sv_is(method, "tools/list"))
        add_tools(out);
    else if (w.asks) {
        ch_buf_add_str(out, "\"inputRequests\":{");
        for (unsigned i = 0; i < w.asks; i++)
            ch_buf_addf(out, "%s\"%u\":{\"method\":\"roots/list\"}", i ? "," : "", i);
        ch_buf_add_str(out, "}");
    } else
        ch_buf_add_str(out, "\"ok\":true");
    ch_buf_add_str(out, "}}");
}

static void serve(struct httpd_conn *c, struct ch_sv request, void *user) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO result = {0};
    CH_BUF_AUTO stream = {0};
    const struct ch_json *root = NULL;
    const char *body = memmem(request.p, request.n, "\r\n\r\n", 4);

    (void)user;
    if (w.streams && ch_sv_starts(request, "GET")) {
        w.listens++;
        if (w.fails)
            httpd_sends(c, "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n");
        else
            send_http(c, "text/event-stream", CH_SV(": over\n\n"));
        return;
    }
    if (w.refuses || !ch_sv_starts(request, "POST")) {
        httpd_sends(c, "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n");
        return;
    }
    body += 4;
    struct ch_sv text = ch_sv(body, request.n - (size_t)(body - request.p));
    assert_int_equal(ch_json_parse(&arena, text, CH_JSON_STRICT, &root, NULL, NULL), 0);
    add_result(&result, root);
    struct ch_sv method = ch_json_get_str(root, "method");
    if (w.batches && ch_sv_is(method, "tools/list")) {
        w.lists++;
        ch_buf_addf(&stream, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"},%s]",
                    ch_buf_str(&result));
        send_http(c, "application/json", ch_buf_sv(&stream));
    } else if (ch_sv_is(method, "subscriptions/listen")) {
        w.listens++;
        send_http(c, "text/event-stream", CH_SV(": over\n\n"));
    } else if (ch_sv_is(method, "tools/list") && ++w.lists == 1 && w.announces) {
        ch_buf_addf(&stream, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/"
                    "list_changed\"}\n\ndata: %s\n\n", ch_buf_str(&result));
        send_http(c, "text/event-stream", ch_buf_sv(&stream));
        w.two = true;
    } else if (ch_sv_is(method, "ping") && w.together) {
        w.ping = ch_json_int(ch_json_get(root, "id"), 0);
        w.pings++;
    } else if (ch_sv_is(method, "skills/list") && w.together) {
        ch_buf_addf(&stream, "data: %s\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{}}"
                    "\n\n", ch_buf_str(&result), (long long)w.ping);
        send_http(c, "text/event-stream", ch_buf_sv(&stream));
    } else
        send_http(c, "application/json", ch_buf_sv(&result));
}

/* --- the client */

static chela_mcp *make_client(const struct chela_mcp_opts *given) {
    struct chela_mcp_opts opts = CHELA_MCP_OPTS(.name = "s");
    chela_mcp *m;

    if (given)
        opts = *given;
    opts.name = "s";
    opts.url = w.url;
    opts.state_dir = w.dir;
    assert_int_equal(chela_mcp_new(w.stage.rt, &opts, &m, NULL), 0);
    return m;
}

static int world_open(void **state) {
    static const struct fake_reply none[] = {{0}};
    struct httpd_opts opts = {.on_request = serve};

    (void)state;
    memset(&w, 0, sizeof(w));
    stage_open(&w.stage, NULL, none, 0);
    w.server = httpd_new(ch_loop_uv(w.stage.rt->loop), &opts);
    snprintf(w.url, sizeof(w.url), "http://127.0.0.1:%u/mcp", httpd_port(w.server));
    snprintf(w.dir, sizeof(w.dir), "/tmp/chela-mcp-XXXXXX");
    assert_non_null(mkdtemp(w.dir));
    snprintf(w.path, sizeof(w.path), "%s/s.json", w.dir);
    return 0;
}

static int world_close(void **state) {
    (void)state;
    httpd_close(w.server);
    stage_close(&w.stage);
    if (unlink(w.path) < 0)
        rmdir(w.path);
    return rmdir(w.dir);
}

/* Runs the loop until a counter has this value, or nothing more happens. */
static void wait_for(const unsigned *counter, unsigned value) {
    for (int i = 0; i < 500 && *counter < value; i++) {
        ch_loop_tick(w.stage.rt->loop);
        usleep(1000);
    }
    for (int i = 0; i < 20; i++)
        ch_loop_tick(w.stage.rt->loop);
    assert_int_equal(*counter, value);
}

static bool has_tool(const chela_agent *agent, const char *name) {
    return ch_registry_find(&agent->registry, ch_sv_str(name)) != NULL;
}

/* --- lists */

static void test_change_during_refresh(void **state) {
    (void)state;
    w.announces = true;
    chela_mcp *m = make_client(NULL);
    assert_int_equal(chela_mcp_refresh(m, 0, NULL), 0);
    wait_for(&w.lists, 2); /* and not more */
    char *json = chela_mcp_state_json(m);
    assert_non_null(strstr(json, "\"two\""));
    chela_free(json);
}

/* A list that fails changes nothing. */
static void test_failed_list(void **state) {
    chela_agent *later;
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.id = "later", .model = "anthropic/fake-1", .api_key = "key");

    (void)state;
    chela_mcp *m = make_client(NULL);
    assert_int_equal(chela_agent_mcp(w.stage.agent, m, NULL), 0);
    assert_int_equal(chela_mcp_refresh(m, 0, NULL), 0);
    assert_true(has_tool(w.stage.agent, "s__one"));
    w.breaks = true;
    assert_int_equal(chela_mcp_refresh(m, 0, NULL), CHELA_EPROTO);
    assert_int_equal(chela_agent_new(w.stage.rt, &opts, &later, NULL), 0);
    assert_int_equal(chela_agent_mcp(later, m, NULL), 0);
    assert_true(has_tool(later, "s__one"));
}

/* A server may answer with a batch in 2025-03-26, and in no other version. */
static void test_batch_of_another_version(void **state) {
    (void)state;
    w.is_legacy = w.batches = true;
    assert_int_equal(chela_mcp_refresh(make_client(NULL), 0, NULL), CHELA_EPROTO);
}

static void test_batch_of_a_server(void **state) {
    (void)state;
    w.is_legacy = w.batches = true;
    w.version = "2025-03-26";
    chela_mcp *m = make_client(NULL);
    assert_int_equal(chela_agent_mcp(w.stage.agent, m, NULL), 0);
    assert_int_equal(chela_mcp_refresh(m, 0, NULL), 0);
    assert_true(has_tool(w.stage.agent, "s__one"));
}

/* Processor time in ns in which n more agents get the tools. */
static int64_t time_of_agents(chela_mcp *m, unsigned n) {
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "anthropic/fake-1", .api_key = "key");
    struct timespec from, to;
    int64_t ns = 0;
    chela_agent *agent;

    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(chela_agent_new(w.stage.rt, &opts, &agent, NULL), 0);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
        assert_int_equal(chela_agent_mcp(agent, m, NULL), 0);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
        ns += (to.tv_sec - from.tv_sec) * INT64_C(1000000000) + to.tv_nsec - from.tv_nsec;
        assert_true(has_tool(agent, "s__one") && has_tool(agent, "s__tool99"));
    }
    return ns;
}

/* The tools of an agent cost the same, however many agents have them already. */
static void test_many_agents(void **state) {
    (void)state;
    w.more = 100;
    chela_mcp *m = make_client(NULL);
    assert_int_equal(chela_mcp_refresh(m, 0, NULL), 0);
    int64_t first = time_of_agents(m, 20);
    time_of_agents(m, 160);
    assert_true(time_of_agents(m, 20) < 4 * first);
}

/* The stream of notices ended: changes until it is opened again are seen. */
static void test_gap_in_notices(void **state) {
    (void)state;
    chela_mcp *m = make_client(NULL);
    assert_int_equal(chela_agent_mcp(w.stage.agent, m, NULL), 0);
    wait_for(&w.listens, 1);
    assert_int_equal(w.lists, 1);
    w.two = true;
    w.stage.now += CH_DEFAULT_MCP_LISTEN_MS;
    wait_for(&w.listens, 2);
    wait_for(&w.lists, 2);
}

/* A server of the older versions may end a listening stream that has no news. */
static void test_idle_listening(void **state) {
    (void)state;
    w.is_legacy = w.streams = true;
    chela_mcp *m = make_client(NULL);
    assert_int_equal(chela_mcp_refresh(m, 0, NULL), 0);
    wait_for(&w.listens, 1);
    for (unsigned i = 1; i <= CH_LIMIT_MCP_RESUMES; i++) {
        w.stage.now += 1000;
        wait_for(&w.listens, i + 1);
    }
    w.stage.now += 1000; /* the next ones are rare */
    wait_for(&w.listens, CH_LIMIT_MCP_RESUMES + 1);
    for (unsigned i = 2; i <= 4; i++) {
        w.fails = i == 3;
        w.stage.now += CH_DEFAULT_MCP_LISTEN_MS;
        wait_for(&w.listens, CH_LIMIT_MCP_RESUMES + i);
    }
}

static void test_acceptance_that_is_not_stored(void **state) {
    struct chela_error err = {0};

    (void)state;
    assert_int_equal(mkdir(w.path, 0700), 0);
    chela_mcp *m = make_client(NULL);
    assert_int_equal(chela_mcp_refresh(m, 1, &err), CHELA_EIO);
}

/* What a person accepted is not known: nothing counts as accepted. */
static void test_damaged_file(void **state) {
    (void)state;
    FILE *f = fopen(w.path, "w");
    fputs("{\"v\":1,", f);
    fclose(f);
    chela_mcp *m = make_client(NULL);
    assert_int_equal(chela_agent_mcp(w.stage.agent, m, NULL), 0);
    assert_int_equal(chela_mcp_refresh(m, 0, NULL), 0);
    assert_false(has_tool(w.stage.agent, "s__one"));
    assert_int_equal(chela_mcp_refresh(m, 1, NULL), 0);
    assert_true(has_tool(w.stage.agent, "s__one"));
}

/* --- requests */

static void on_done(const struct ch_mcp_reply *r, void *user) {
    assert_int_equal(r->err.code, user ? CHELA_ESTATE : 0);
    w.done++;
}

/* Requests for a later time take no place of those that wait for the server. */
static void test_later_requests(void **state) {
    struct ch_mcp_request r = {
        .method = "ping", .after_ms = 1000, .done = on_done, .user = &w};

    (void)state;
    chela_mcp *m = make_client(NULL);
    for (int i = 0; i < 2 * CH_LIMIT_MCP_WAITING; i++)
        ch_mcp_start(m, &r);
    r.after_ms = 0;
    r.user = NULL;
    ch_mcp_start(m, &r);
    wait_for(&w.done, 1);
    assert_int_equal(m->nwaiting, 0);
    chela_mcp_close(m);
    assert_int_equal(w.done, 2 * CH_LIMIT_MCP_WAITING + 1);
}

/* Sessions that asked for answers of the model long ago make room for new ones. */
static void test_many_sessions_sample(void **state) {
    struct ch_call_env env = {0};
    chela_call call = {.env = &env};
    const char *key = w.stage.session->key;
    struct chela_error err = {0};

    (void)state;
    chela_mcp *m = make_client(NULL);
    stage_start(&w.stage, "hello");
    env.session = key;
    env.run = w.stage.run->id;
    for (int i = 0; i <= CH_LIMIT_MCP_SAMPLED; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%d", i);
        w.stage.session->key = name;
        assert_true(ch_mcp_sampling_has_room(m, &call, &err));
    }
    w.stage.session->key = key;
}

/* --- closing */

static void test_lost_while_leaving(void **state) {
    struct chela_error err = {.code = CHELA_ENET};

    (void)state;
    w.is_legacy = true;
    chela_mcp *m = make_client(NULL);
    assert_int_equal(chela_mcp_refresh(m, 0, NULL), 0);
    ch_mcp_leave(m);
    assert_true(m->leaving);
    m->link->events->down(&err, m);
    assert_false(m->leaving);
}

static char *close_client(const char *method, const char *params, void *user) {
    (void)method;
    (void)params;
    (void)user;
    chela_mcp_close(w.mcp);
    return strdup("{\"roots\":[]}");
}

/* The function that answers the server closes the client. */
static void test_closed_by_input(void **state) {
    struct chela_mcp_opts opts = CHELA_MCP_OPTS(.input = close_client);
    struct chela_error err = {0};

    (void)state;
    w.asks = 2;
    w.mcp = make_client(&opts);
    assert_null(chela_mcp_request(w.mcp, "prompts/get", NULL, &err));
    assert_int_equal(err.code, CHELA_ESTATE);
    assert_null(chela_mcp_find(w.stage.rt, "s"));
}

static char *answer_input(const char *method, const char *params, void *user) {
    (void)method;
    (void)params;
    (void)user;
    w.done++;
    return strdup("{\"roots\":[]}");
}

static void test_too_many_questions(void **state) {
    struct chela_mcp_opts opts = CHELA_MCP_OPTS(.input = answer_input);
    struct chela_error err = {0};

    (void)state;
    w.asks = CH_LIMIT_MCP_QUESTIONS + 1;
    chela_mcp *m = make_client(&opts);
    assert_null(chela_mcp_request(m, "prompts/get", NULL, &err));
    assert_int_equal(err.code, CHELA_ELIMIT);
    assert_int_equal(w.done, 0);
}

static void open_url(const char *url, void *user) {
    (void)url;
    (void)user;
}

static void close_later(const char *result, const struct chela_error *err, void *user) {
    (void)result;
    (void)err;
    chela_mcp_close(user);
}

static void test_closed_while_logging_in(void **state) {
    (void)state;
    w.refuses = true;
    chela_mcp *m = make_client(NULL);
    assert_int_equal(chela_mcp_send(m, "ping", NULL, close_later, m, NULL), 0);
    assert_int_equal(chela_mcp_login(m, open_url, NULL, NULL), CHELA_ESTATE);
    assert_null(chela_mcp_find(w.stage.rt, "s"));
}

static void ask_and_close(const char *result, const struct chela_error *err, void *user) {
    (void)result;
    (void)err;
    assert_null(chela_mcp_skills_json(user, 0, NULL)); /* another one waits */
    chela_mcp_close(user);
}

/* A callback closes the client after the answer came, before the function that waits continues. */
static void test_closed_after_the_answer(void **state) {
    struct chela_error err = {0};

    (void)state;
    w.together = true;
    chela_mcp *m = make_client(NULL);
    assert_int_equal(chela_mcp_send(m, "ping", NULL, ask_and_close, m, NULL), 0);
    wait_for(&w.pings, 1);
    assert_null(chela_mcp_skills_json(m, 1, &err));
    assert_int_equal(err.code, CHELA_ESTATE);
    assert_null(chela_mcp_find(w.stage.rt, "s"));
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_open, world_close)
    const struct CMUnitTest tests[] = {
        TEST(test_change_during_refresh),
        TEST(test_failed_list),
        TEST(test_batch_of_another_version),
        TEST(test_batch_of_a_server),
        TEST(test_many_agents),
        TEST(test_gap_in_notices),
        TEST(test_idle_listening),
        TEST(test_acceptance_that_is_not_stored),
        TEST(test_damaged_file),
        TEST(test_later_requests),
        TEST(test_many_sessions_sample),
        TEST(test_lost_while_leaving),
        TEST(test_closed_while_logging_in),
        TEST(test_closed_by_input),
        TEST(test_closed_after_the_answer),
        TEST(test_too_many_questions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
