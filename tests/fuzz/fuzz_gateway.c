/* fuzz_gateway.c -- requests of a client that has the token of the gateway.
 *
 * Input: requests, separated by the byte 30. The first line of a request is "POST /path" or its
 * like, and the remaining lines are the body; a '!' before the method adds the headers
 * Idempotency-Key and X-Chela-Session. A gateway with a scripted model answers them all.
 *
 * No request is an internal error, bodies of responses with the type of JSON are JSON, and the
 * gateway stays alive. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/handle/runtime.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "chela.h"
#include "io/loop.h"
#include "json/json.h"

#define TOKEN "0123456789abcdef"
#define SEPARATOR 30
#define MOST_REQUESTS 8
#define WAIT_MS 100 /* for a response; a run that waits for a person does not end */

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static char home[] = "/tmp/chela-fuzz-XXXXXX";
static const char *const files[] = {"rules.yaml", "chela.yaml", "chela.yaml.previous"};
static const char rules[] =
    "rules:\n"
    "  - when: {user: touch, after: none}\n"
    "    call: {tool: touch, args: {name: x}}\n"
    "  - when: {user: change, after: none}\n"
    "    call: {tool: change, args: {}}\n"
    "  - say: The answer.\n";

static chela_runtime *rt;
static chela_store *store;
static chela_gateway *gw;

static void need(bool holds, const char *what, struct ch_sv text) {
    if (holds)
        return;
    fprintf(stderr, "%s: %.*s\n", what, CH_SV_FMT(text));
    abort();
}

static const char *path_of(const char *name) {
    static char path[64];
    snprintf(path, sizeof(path), "%s/%s", home, name);
    return path;
}

static void write_file(const char *name, const char *text) {
    int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    need(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "write",
         ch_sv_str(name));
    close(fd);
}

static void remove_home(void) {
    for (size_t i = 0; i < CH_LEN(files); i++)
        unlink(path_of(files[i]));
    rmdir(home);
}

/* --- the gateway */

static int answer(chela_call *call, void *user) {
    (void)user;
    chela_result_text(call, "touched", 7);
    return 0;
}

static const char *no_environment(const char *name, void *user) {
    (void)name;
    (void)user;
    return NULL;
}

static chela_agent *open_agent(struct chela_error *err) {
    char model[96];
    chela_agent *agent = NULL;
    struct chela_tool_opts touch = CHELA_TOOL_OPTS(
        .name = "touch", .description = "Touches.", .fn = answer,
        .schema = "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}",
        .permission = CHELA_PERM_READ);
    struct chela_tool_opts change =
        CHELA_TOOL_OPTS(.name = "change", .description = "Changes.", .fn = answer,
                        .schema = "{\"type\":\"object\"}", .permission = CHELA_PERM_ADMIN);
    snprintf(model, sizeof(model), "scripted/%s", path_of("rules.yaml"));
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.id = "main", .model = model, .system = "Be brief.");
    need(chela_agent_new(rt, &opts, &agent, err) == 0 &&
             chela_agent_add_tool(agent, &touch, err) == 0 &&
             chela_agent_add_tool(agent, &change, err) == 0,
         "agent", ch_sv_str(err->message));
    return agent;
}

static void open_gateway(void) {
    struct chela_error err = {0};
    struct chela_runtime_opts ro = CHELA_RUNTIME_OPTS(.env = no_environment);
    const struct chela_gateway_hook hook =
        CHELA_GATEWAY_HOOK(.name = "hook", .secret = TOKEN, .session = "h");
    const struct chela_gateway_hook *const hooks[] = {&hook, NULL};
    const struct chela_gateway_mcp mcp = CHELA_GATEWAY_MCP(.agent = NULL);
    write_file("rules.yaml", rules);
    write_file("chela.yaml", "model: scripted/demo\n");
    need(chela_runtime_new(&ro, &rt, &err) == 0 &&
             chela_store_open("memory:", NULL, &store, &err) == 0 &&
             chela_runtime_store(rt, store, CHELA_DURABILITY_FULL, &err) == 0,
         "runtime", ch_sv_str(err.message));
    chela_agent *const agents[] = {open_agent(&err), NULL};
    struct chela_gateway_opts go =
        CHELA_GATEWAY_OPTS(.listen = "127.0.0.1:0", .token = TOKEN, .agents = agents,
                           .store = store, .hooks = hooks, .mcp = &mcp,
                           .config_file = path_of("chela.yaml"));
    need(chela_gateway_new(rt, &go, &gw, &err) == 0, "gateway", ch_sv_str(err.message));
}

static void close_gateway(void) {
    chela_gateway_close(gw);
    chela_runtime_close(rt);
    chela_store_close(store);
}

/* --- the client */

static int dial(void) {
    const char *colon = strrchr(chela_gateway_address(gw), ':');
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)atoi(colon + 1))};
    const struct linger at_once = {.l_onoff = 1}; /* ports are free again when closed */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0, "connect", CH_SV("refused"));
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

/* Sends what the socket takes and appends what has arrived; false: the connection is over. */
static bool exchange_some(int fd, struct ch_sv *out, struct ch_buf *in) {
    char bytes[16384];
    ssize_t sent = out->n ? send(fd, out->p, out->n, MSG_NOSIGNAL) : 0;
    if (sent > 0)
        *out = ch_sv(out->p + sent, out->n - (size_t)sent);
    ssize_t got = recv(fd, bytes, sizeof(bytes), 0);
    if (got > 0)
        ch_buf_add(in, bytes, (size_t)got);
    return got > 0 || (got < 0 && errno == EAGAIN);
}

static void exchange(struct ch_sv out, struct ch_buf *in) {
    int64_t end = ch_mono_ms(&ch_clock_system) + WAIT_MS;
    int fd = dial();
    while (exchange_some(fd, &out, in) && ch_mono_ms(&ch_clock_system) < end)
        ch_loop_tick(rt->loop);
    close(fd);
    ch_loop_tick(rt->loop);
}

static void check_response(struct ch_sv text, struct ch_sv request) {
    CH_ARENA_AUTO a = {0};
    static const char type[] = "\r\nContent-Type: application/json\r\n";
    const char *body = memmem(text.p, text.n, "\r\n\r\n", 4);
    const struct ch_json *v;
    if (!body)
        return; /* the gateway waits, for example for a person */
    size_t head = (size_t)(body - text.p);
    struct ch_sv json = ch_sv(body + 4, text.n - head - 4);
    need(text.n > 12 && memcmp(text.p, "HTTP/1.1 ", 9) == 0, "status", text);
    if (memcmp(text.p + 9, "500", 3) == 0)
        fprintf(stderr, "%.*s\n", CH_SV_FMT(request));
    need(memcmp(text.p + 9, "500", 3) != 0, "internal error", text);
    if (json.n && memmem(text.p, head + 2, type, sizeof(type) - 1))
        need(ch_utf8_valid(json) &&
                 ch_json_parse(&a, json, CH_JSON_STRICT, &v, NULL, NULL) == 0,
             "not JSON", json);
}

/* --- a request from the input */

static void add_escaped(struct ch_buf *out, struct ch_sv text) {
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c <= ' ' || c >= 0x7f || c == '#')
            ch_buf_addf(out, "%%%02x", c);
        else
            ch_buf_addc(out, (char)c);
    }
}

/* Streams that do not end by themselves would take the time of other inputs. */
static bool is_endless(struct ch_sv method, struct ch_sv target) {
    static const char *const ends[] = {"/events", "/stream", "/mcp", "/socket"};
    struct ch_sv path = ch_sv_split(&target, '?');
    if (!ch_sv_is(method, "GET"))
        return false;
    for (size_t i = 0; i < CH_LEN(ends); i++)
        if (path.n >= strlen(ends[i]) &&
            memcmp(path.p + path.n - strlen(ends[i]), ends[i], strlen(ends[i])) == 0)
            return true;
    return false;
}

static void request(struct ch_sv text) {
    CH_BUF_AUTO out = {0}, in = {0};
    bool keyed = text.p[0] == '!';
    if (keyed)
        text = ch_sv(text.p + 1, text.n - 1);
    struct ch_sv target = ch_sv_split(&text, '\n'), method = ch_sv_split(&target, ' ');
    bool posts = ch_sv_is(method, "POST");
    if (!target.n || is_endless(method, target))
        return;
    ch_buf_addf(&out, "%s ", posts ? "POST" : ch_sv_is(method, "DELETE") ? "DELETE" : "GET");
    add_escaped(&out, target);
    ch_buf_add_str(&out, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                         "Authorization: Bearer " TOKEN "\r\n"
                         "Accept: application/json, text/event-stream\r\n");
    if (keyed)
        ch_buf_add_str(&out, "Idempotency-Key: k\r\nX-Chela-Session: s\r\n");
    if (posts)
        ch_buf_addf(&out, "Content-Type: application/json\r\nContent-Length: %zu\r\n", text.n);
    ch_buf_add_str(&out, "\r\n");
    if (posts)
        ch_buf_add_sv(&out, text);
    exchange(ch_buf_sv(&out), &in);
    check_response(ch_buf_sv(&in), ch_buf_sv(&out));
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    struct ch_sv text = ch_sv((const char *)p, n);
    static bool made;
    CH_BUF_AUTO in = {0};
    if (!made) {
        need(mkdtemp(home) != NULL, "directory", ch_sv_str(home));
        atexit(remove_home);
        made = true;
    }
    open_gateway();
    for (int i = 0; i < MOST_REQUESTS && text.n; i++) {
        struct ch_sv one = ch_sv_split(&text, SEPARATOR);
        if (one.n)
            request(one);
    }
    exchange(CH_SV("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"), &in);
    need(strncmp(ch_buf_str(&in), "HTTP/1.1 200", 12) == 0, "not alive", ch_buf_sv(&in));
    close_gateway();
    return 0;
}
