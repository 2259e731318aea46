/* telemetry.c -- what exporting costs, whether spans are lost, and the memory that a collector
 * which never answers takes.
 *
 * One process plays runs of several rounds (a request over HTTP, a call of a tool, and their
 * records in an SQLite store), in blocks with telemetry and blocks without it by turns, so that
 * both see the same machine. Two kinds of round are played: a usual one, whose reply has PIECES
 * pieces of text and whose tool reads a file of FILE_BYTES bytes; and an empty one, with a reply
 * that only calls a tool which only answers. Spans, metrics and log events are exported. Looked at
 * is the processor time of the process for a round, as the median ratio of neighbouring blocks, and
 * as the ratio of the fastest tenth of the blocks, which a busy machine disturbs less. Child
 * processes are the model and the collector, so that their time does not count. The collector
 * counts spans.
 *
 *     telemetry [BLOCKS [PROTOCOL]]   default 40 and http/json, or http/protobuf; fails above 3 %
 *                                     of a usual round, if a span is lost, or if the memory grows
 *                                     by more than 32 MB with a collector that never answers */
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chela.h>

#define RUNS 20    /* of a block */
#define ROUNDS 10  /* of a run */
#define PIECES 40  /* of text in a usual reply */
#define FILE_BYTES 4096
#define LIMIT 1.03 /* of a usual round without telemetry */
#define MEMORY_KB (32 * 1024)

static char place[] = "/tmp/telemetry-XXXXXX";

static void fail(const char *why) {
    fprintf(stderr, "telemetry: %s\n", why);
    exit(1);
}

static double cpu_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* --- the collector, and the model */

static long count_words(const char *text, const char *word) {
    long count = 0;
    for (const char *p = text; (p = strstr(p, word)); p++)
        count++;
    return count;
}

static uint64_t read_varint(const unsigned char **p, const unsigned char *end) {
    uint64_t v = 0;
    for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
        unsigned char byte = *(*p)++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            break;
    }
    return v;
}

/* ExportTraceServiceRequest.resource_spans = 1, .scope_spans = 2, .spans = 2: each level has
 * members with lengths only. */
static long count_spans(const unsigned char *p, const unsigned char *end, int level) {
    static const unsigned path[] = {1, 2, 2};
    long count = 0;
    while (p < end) {
        uint64_t tag = read_varint(&p, end), n = read_varint(&p, end);
        if ((tag & 7) != 2 || n > (uint64_t)(end - p))
            return 0;
        if (tag >> 3 == path[level])
            count += level == 2 ? 1 : count_spans(p, p + n, level + 1);
        p += n;
    }
    return count;
}

enum kind { COLLECTOR, SILENT, MODEL };

static bool usual; /* the kind of round */

static int respond(int fd, const char *type, const char *body) {
    char out[16384];
    int n = snprintf(out, sizeof(out),
                     "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s", type,
                     strlen(body), body);
    return write(fd, out, (size_t)n) == n;
}

/* Calls the tool until the conversation has enough results. */
static int respond_as_model(int fd, const char *body) {
    static const char call[] =
        "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":"
        "\"assistant\",\"tool_calls\":[{\"index\":0,\"id\":\"call_%ld\",\"type\":\"function\","
        "\"function\":{\"name\":\"look\",\"arguments\":\"{\\\"path\\\":\\\"a%ld.c\\\"}\"}}]}}]}\n\n"
        "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":"
        "\"tool_calls\"}],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10}}\n\n"
        "data: [DONE]\n\n";
    static const char say[] =
        "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":"
        "\"done\"}}]}\n\n"
        "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],"
        "\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10}}\n\n"
        "data: [DONE]\n\n";
    static const char piece[] =
        "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":"
        "\"word %ld %d \"}}]}\n\n";
    char text[12288];
    long results = count_words(body, "\"role\":\"tool\"");
    size_t n = 0;
    for (int i = 0; usual && i < PIECES; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, piece, results, i);
    if (results + 1 < ROUNDS)
        snprintf(text + n, sizeof(text) - n, call, results, results);
    else
        snprintf(text + n, sizeof(text) - n, "%s", say);
    return respond(fd, "text/event-stream", text);
}

/* Serves one connection; returns the number of spans. */
static long serve_one(int fd, enum kind kind) {
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
        if (kind == SILENT || !head || have < head + length)
            continue;
        if (buf[head] == '{')
            spans += count_words(buf + head, "\"endTimeUnixNano\"");
        else if (strncmp(buf, "POST /v1/traces ", 16) == 0)
            spans += count_spans((unsigned char *)buf + head, (unsigned char *)buf + have, 0);
        if (!(kind == MODEL ? respond_as_model(fd, buf + head) : respond(fd, "text/plain", "")))
            return spans;
        have = head = length = 0;
    }
}

/* The measured process and the model share a processor, and the collector has another one. Else a
 * collector that works makes the scheduler move the model, which changes the cost of a round more
 * than telemetry does. */
static cpu_set_t processors;

static void stay_on(int which) {
    cpu_set_t one;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &processors) || which-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof(one), &one);
        return;
    }
}

struct collector {
    pid_t pid;
    int counts; /* read: the number of spans, when a connection ended */
    char url[64];
};

static struct collector start_collector(enum kind kind) {
    struct collector c;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    int out[2], fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, n) < 0 || listen(fd, 16) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &n) < 0 || pipe(out) < 0)
        fail("no server");
    c.pid = fork();
    if (c.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        stay_on(kind != MODEL);
        signal(SIGPIPE, SIG_IGN);
        signal(SIGCHLD, SIG_IGN);
        for (int conn; (conn = accept(fd, NULL, NULL)) >= 0; close(conn)) {
            if (fork() != 0)
                continue;
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            long spans = serve_one(conn, kind);
            _exit(write(out[1], &spans, sizeof(spans)) < 0);
        }
        _exit(0);
    }
    close(fd);
    close(out[1]);
    c.counts = out[0];
    snprintf(c.url, sizeof(c.url), "http://127.0.0.1:%u%s", ntohs(at.sin_port),
             kind == MODEL ? "/v1" : "");
    return c;
}

/* Its children end with it. */
static void stop_collector(struct collector *c) {
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    close(c->counts);
}

/* --- runs */

static const char *endpoint; /* NULL: no telemetry */
static const char *protocol; /* NULL: the default */

static const char *variable(const char *name, void *user) {
    (void)user;
    return strcmp(name, "OTEL_EXPORTER_OTLP_ENDPOINT") == 0   ? endpoint
           : strcmp(name, "OTEL_EXPORTER_OTLP_PROTOCOL") == 0 ? protocol
                                                              : NULL;
}

static int look(chela_call *call, void *user) {
    char path[64], text[FILE_BYTES] = "";
    (void)user;
    if (!usual) {
        chela_result_printf(call, "static int part(const struct item *it);\n");
        return 0;
    }
    snprintf(path, sizeof(path), "%s/file", place);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof(text), f) : 0;
    if (n != sizeof(text))
        fail(path);
    fclose(f);
    chela_result_printf(call, "%.*s", (int)n, text);
    return 0;
}

struct side {
    chela_runtime *rt;
    chela_agent *agent;
    chela_store *store;
    double us;
};

static struct side open_side(const char *url, const char *model_url) {
    static const char schema[] = "{\"type\":\"object\",\"properties\":{\"path\":{}}}";
    struct chela_runtime_opts o = CHELA_RUNTIME_OPTS(.env = variable);
    struct chela_error err = {0};
    struct side s = {0};
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = "look", .description = "Look at a file.", .schema = schema,
                        .fn = look, .effect = CHELA_EFFECT_READ, .permission = CHELA_PERM_READ,
                        .flags = CHELA_TOOL_ON_LOOP);
    endpoint = url;
    struct chela_provider_opts provider =
        CHELA_PROVIDER_OPTS(.name = "bench", .api = "openai", .base_url = model_url,
                            .api_key = "none");
    struct chela_store_opts so = CHELA_STORE_OPTS(.module_path = getenv("CHELA_MODULE_PATH"));
    char path[64];
    snprintf(path, sizeof(path), "sqlite:%s/%s%d.db", place, url ? "on" : "off", usual);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .model = "bench/m", .limits = &(struct chela_limits)CHELA_LIMITS(.max_turns = -1,
                                                                       .max_tool_calls = -1));
    if (chela_runtime_new(&o, &s.rt, &err) < 0 || chela_telemetry_start(s.rt, NULL, &err) < 0 ||
        chela_runtime_provider(s.rt, &provider, &err) < 0 ||
        chela_store_open(path, &so, &s.store, &err) < 0 ||
        chela_runtime_store(s.rt, s.store, CHELA_DURABILITY_TURN, &err) < 0 ||
        chela_agent_new(s.rt, &opts, &s.agent, &err) < 0 ||
        chela_agent_add_tool(s.agent, &tool, &err) < 0)
        fail(err.message);
    return s;
}

static void close_side(struct side *s) {
    chela_runtime_close(s->rt);
    chela_store_close(s->store);
}

static void on_event(const struct chela_event *ev, void *user) {
    (void)user;
    if (ev->type == CHELA_EV_RUN_END && ev->end.status != CHELA_STATUS_DONE) {
        fprintf(stderr, "%.*s\n", (int)ev->end.error.n, ev->end.error.p);
        fail(chela_reason_name(ev->end.reason));
    }
}

static void play_block(struct side *s) {
    static unsigned number;
    struct chela_run_opts run = CHELA_RUN_OPTS(.on_event = on_event);
    double from = cpu_us();
    for (int i = 0; i < RUNS; i++) {
        struct chela_error err = {0};
        chela_session *session = NULL;
        char key[32];
        snprintf(key, sizeof(key), "s%u", number++);
        if (chela_session_new(s->agent, key, &session, &err) < 0 ||
            chela_run_start(session, "go", 2, &run, NULL, &err) < 0 ||
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

static double fast_tenth(double *list, long n) {
    qsort(list, (size_t)n, sizeof(double), compare);
    return list[n / 10];
}

static double measure(long blocks, const char *model) {
    struct collector c = start_collector(COLLECTOR);
    struct side plain = open_side(NULL, model), on = open_side(c.url, model);
    double *ratios = calloc((size_t)blocks * 3, sizeof(double));
    double *without = ratios + blocks, *with = without + blocks;
    long got = 0, part, want = (blocks + 1) * RUNS * (2 * ROUNDS);
    play_block(&plain);
    play_block(&on);
    for (long i = 0; i < blocks; i++) {
        play_block(i % 2 ? &on : &plain);
        play_block(i % 2 ? &plain : &on);
        ratios[i] = on.us / plain.us;
        without[i] = plain.us / (RUNS * ROUNDS);
        with[i] = on.us / (RUNS * ROUNDS);
    }
    if (chela_telemetry_flush(on.rt, 20000) != 0)
        fail("the collector did not take everything");
    close_side(&on);
    close_side(&plain);
    /* one number for each connection that ended */
    struct pollfd wait = {.fd = c.counts, .events = POLLIN};
    while (got < want && poll(&wait, 1, 10000) == 1 &&
           read(c.counts, &part, sizeof(part)) == sizeof(part))
        got += part;
    stop_collector(&c);
    printf("spans: %ld of %ld\n", got, want);
    if (got != want)
        fail("spans were lost");
    qsort(ratios, (size_t)blocks, sizeof(double), compare);
    double median = ratios[blocks / 2], fast = fast_tenth(without, blocks);
    printf("%s round: %.1f us without, %.2f %% more with telemetry\n",
           usual ? "a usual" : "an empty", without[blocks / 2], 100 * (median - 1));
    printf("fastest tenth: %.1f us without, %.2f %% more with telemetry\n", fast,
           100 * (fast_tenth(with, blocks) / fast - 1));
    free(ratios);
    return median;
}

#define SILENT_BLOCKS 40

static void measure_silence(const char *model) {
    struct collector c = start_collector(SILENT);
    struct side on = open_side(c.url, model);
    play_block(&on);
    long before = memory_kb();
    for (int i = 0; i < SILENT_BLOCKS; i++)
        play_block(&on);
    long grown = memory_kb() - before;
    printf("a collector that never answers: %ld KB for %d spans\n", grown,
           SILENT_BLOCKS * RUNS * 2 * ROUNDS);
    close_side(&on);
    stop_collector(&c);
    if (grown > MEMORY_KB)
        fail("the memory grew");
}

static void make_file(void) {
    char path[64], line[64];
    snprintf(path, sizeof(path), "%s/file", place);
    FILE *f = fopen(path, "w");
    if (!f)
        fail(path);
    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    for (size_t n = 0; n < FILE_BYTES; n += sizeof(line))
        fwrite(line, 1, sizeof(line), f);
    fclose(f);
}

static void remove_files(void) {
    static const char *const names[] = {"off0.db", "off1.db", "on0.db", "on1.db", "file"};
    static const char *const tails[] = {"", "-wal", "-shm"};
    char path[64];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        for (size_t j = 0; j < sizeof(tails) / sizeof(tails[0]); j++) {
            snprintf(path, sizeof(path), "%s/%s%s", place, names[i], tails[j]);
            unlink(path);
        }
    rmdir(place);
}

int main(int argc, char **argv) {
    long blocks = argc > 1 ? strtol(argv[1], NULL, 10) : 40;
    double ratio = 0;
    protocol = argc > 2 ? argv[2] : NULL;
    if (blocks < 1 || !mkdtemp(place))
        fail("cannot make a directory");
    sched_getaffinity(0, sizeof(processors), &processors);
    stay_on(0);
    make_file();
    for (int i = 0; i < 2; i++) {
        usual = i == 1;
        struct collector model = start_collector(MODEL);
        ratio = measure(blocks, model.url);
        if (!usual)
            measure_silence(model.url);
        stop_collector(&model);
    }
    remove_files();
    return ratio > LIMIT;
}
