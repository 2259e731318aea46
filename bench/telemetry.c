/* telemetry.c -- what exporting costs, whether spans are lost, and the memory that a collector
 * which never answers takes.
 *
 * One process plays runs of several rounds (a request and a call of a tool), in blocks with
 * telemetry and blocks without it by turns, so that both see the same machine. Looked at is the
 * processor time of the thread for a round, as the median ratio of neighbouring blocks. A child
 * process is the collector, so that its time does not count; it counts spans by their ids.
 *
 *     telemetry [BLOCKS]   default 40; fails above 3 %, if a span is lost, or if the memory
 *                          grows by more than 32 MB with a collector that never answers */
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chela.h>

#define RUNS 20    /* of a block */
#define ROUNDS 10  /* of a run */
#define LIMIT 1.03 /* of a round without telemetry */
#define MEMORY_KB (32 * 1024)

static char rules[] = "/tmp/telemetry-XXXXXX.yaml", model[64];

static void fail(const char *why) {
    fprintf(stderr, "telemetry: %s\n", why);
    exit(1);
}

static double cpu_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* --- the collector */

static long count_spans(const char *body, size_t n) {
    static const char word[] = "\"endTimeUnixNano\"";
    long count = 0;
    for (const char *p = body; (p = memmem(p, n - (size_t)(p - body), word, sizeof(word) - 1)); p++)
        count++;
    return count;
}

/* Serves one connection; returns the number of spans. */
static long serve_one(int fd, int silent) {
    static char *buf;
    static size_t cap;
    size_t have = 0, head = 0, length = 0;
    long spans = 0;
    for (;;) {
        if (cap - have < 65536)
            buf = realloc(buf, cap = cap * 2 + (1 << 20));
        ssize_t n = read(fd, buf + have, cap - have - 1);
        if (n <= 0)
            return spans;
        have += (size_t)n;
        buf[have] = '\0';
        char *end = head ? NULL : strstr(buf, "\r\n\r\n");
        if (end) {
            head = (size_t)(end - buf) + 4;
            const char *at = strcasestr(buf, "content-length:");
            length = at ? strtoul(at + 15, NULL, 10) : 0;
        }
        if (silent || !head || have < head + length)
            continue;
        spans += count_spans(buf + head, length);
        static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        if (write(fd, ok, sizeof(ok) - 1) < 0)
            return spans;
        have = head = length = 0;
    }
}

struct collector {
    pid_t pid;
    int counts; /* read: the number of spans, when the connection ended */
    char url[64];
};

static struct collector start_collector(int silent) {
    struct collector c;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    int out[2], fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, n) < 0 || listen(fd, 16) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &n) < 0 || pipe(out) < 0)
        fail("no collector");
    c.pid = fork();
    if (c.pid == 0) {
        signal(SIGPIPE, SIG_IGN);
        for (int conn; (conn = accept(fd, NULL, NULL)) >= 0; close(conn)) {
            long spans = serve_one(conn, silent);
            if (write(out[1], &spans, sizeof(spans)) < 0)
                _exit(1);
        }
        _exit(0);
    }
    close(fd);
    close(out[1]);
    c.counts = out[0];
    snprintf(c.url, sizeof(c.url), "http://127.0.0.1:%u/v1/traces", ntohs(at.sin_port));
    return c;
}

static void stop_collector(struct collector *c) {
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    close(c->counts);
}

/* --- runs */

static const char *endpoint; /* NULL: no telemetry */

static const char *variable(const char *name, void *user) {
    (void)user;
    return strcmp(name, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == 0 ? endpoint
           : strcmp(name, "OTEL_BSP_MAX_QUEUE_SIZE") == 0          ? "60000"
                                                                    : NULL;
}

static int look(chela_call *call, void *user) {
    (void)user;
    chela_result_printf(call, "static int part(const struct item *it);\n");
    return 0;
}

struct side {
    chela_runtime *rt;
    chela_agent *agent;
    double us;
};

static struct side open_side(const char *url) {
    static const char schema[] = "{\"type\":\"object\",\"properties\":{\"path\":{}}}";
    struct chela_runtime_opts o = CHELA_RUNTIME_OPTS(.env = variable);
    struct chela_error err = {0};
    struct side s = {0};
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = "look", .description = "Look at a file.", .schema = schema,
                        .fn = look, .effect = CHELA_EFFECT_READ, .permission = CHELA_PERM_READ,
                        .flags = CHELA_TOOL_ON_LOOP);
    endpoint = url;
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .model = model, .limits = &(struct chela_limits)CHELA_LIMITS(.max_turns = -1,
                                                                       .max_tool_calls = -1));
    if (chela_runtime_new(&o, &s.rt, &err) < 0 || chela_telemetry_start(s.rt, NULL, &err) < 0 ||
        chela_agent_new(s.rt, &opts, &s.agent, &err) < 0 ||
        chela_agent_add_tool(s.agent, &tool, &err) < 0)
        fail(err.message);
    return s;
}

static void play_block(struct side *s) {
    double from = cpu_us();
    for (int i = 0; i < RUNS; i++) {
        struct chela_error err = {0};
        chela_session *session = NULL;
        if (chela_session_new(s->agent, NULL, &session, &err) < 0 ||
            chela_run_start(session, "go", 2, NULL, NULL, &err) < 0 ||
            chela_runtime_run(s->rt) < 0)
            fail(err.message);
        chela_session_close(session);
    }
    s->us = cpu_us() - from;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static long memory_kb(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*d %ld", &pages) != 1)
        fail("/proc/self/statm");
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static double measure(long blocks, double *plain_us) {
    struct collector c = start_collector(0);
    struct side plain = open_side(NULL), on = open_side(c.url);
    double *ratios = calloc((size_t)blocks, sizeof(double));
    long got = 0, part, want = (blocks + 1) * RUNS * (2 * ROUNDS);
    play_block(&plain);
    play_block(&on);
    for (long i = 0; i < blocks; i++) {
        play_block(i % 2 ? &on : &plain);
        play_block(i % 2 ? &plain : &on);
        ratios[i] = on.us / plain.us;
        *plain_us = plain.us / (RUNS * ROUNDS);
    }
    if (chela_telemetry_flush(on.rt, 20000) != 0)
        fail("the collector did not take everything");
    chela_runtime_close(on.rt);
    chela_runtime_close(plain.rt);
    if (read(c.counts, &part, sizeof(part)) == sizeof(part))
        got += part;
    stop_collector(&c);
    printf("spans: %ld of %ld\n", got, want);
    if (got != want)
        fail("spans were lost");
    qsort(ratios, (size_t)blocks, sizeof(double), compare);
    double median = ratios[blocks / 2];
    free(ratios);
    return median;
}

static void measure_silence(void) {
    struct collector c = start_collector(1);
    struct side on = open_side(c.url);
    play_block(&on);
    long before = memory_kb();
    for (int i = 0; i < 200; i++)
        play_block(&on);
    long grown = memory_kb() - before;
    printf("a collector that never answers: %ld KB for %d spans\n", grown, 200 * RUNS * 2 * ROUNDS);
    chela_runtime_close(on.rt);
    stop_collector(&c);
    if (grown > MEMORY_KB)
        fail("the memory grew");
}

int main(int argc, char **argv) {
    long blocks = argc > 1 ? strtol(argv[1], NULL, 10) : 40;
    double us = 0;
    int fd = mkstemps(rules, 5);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f || blocks < 1)
        fail("cannot write the rules");
    fprintf(f,
            "rules:\n"
            "  - when: { turn: %d }\n"
            "    say: done\n"
            "  - call: { tool: look, args: { path: \"src/file_{{turn}}.c\" } }\n",
            ROUNDS);
    fclose(f);
    snprintf(model, sizeof(model), "scripted/%s", rules);
    double ratio = measure(blocks, &us);
    printf("a round: %.1f us without, %.2f %% more with telemetry\n", us, 100 * (ratio - 1));
    measure_silence();
    unlink(rules);
    return ratio > LIMIT;
}
