/* gateway.c -- what `chela serve` costs, and what its clients wait for.
 *
 *   gateway PROGRAM [idle|sse|sse=N|tls|chats|chats2|accept|halfopen|hostile]...  none: all
 *
 * idle      memory of a gateway with one agent that does nothing
 * sse       memory of each of 10,000 clients that follow a session, and how long a
 *           new request takes beside them; sse=N: N clients, or as many as the limit of open
 *           files allows, printed as n=CLIENTS kb_each=KB
 * tls       memory of each of 500 that do so over TLS
 * chats     200 streams at once, a piece every 20 ms: how long a piece is on its way,
 *           through the gateway and straight from the service; CPU
 * chats2    the same over HTTP/2, on 4 connections
 * accept    signed events of 64 senders: how many syncs an event costs; and with
 *           all syncs held back, that none is acknowledged
 * halfopen  how long a request takes beside 1,000 clients that never finish theirs
 * hostile   the same beside 20 that send HTTP/2 headers of 4 KB by reference, 16,000 in a
 *           frame, a megabyte at a time, and come back as soon as they are thrown out
 *
 * Each line ends with what is aimed at. Clients, service and gateway share the machine,
 * so times are medians, or stand beside what the same costs without the gateway;
 * the load is printed with them. Where others use the machine, `chrt -r 20 gateway
 * PROGRAM chats` leaves their part out. PROGRAM is chela; accept makes its gateway with the
 * library instead, in a process whose syncs can be counted (CHELA_MODULE_PATH). */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chela.h>
#include <chela/gateway.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/sha256.h"

#define TOKEN "bench-bench-bench-bench"
#define AUTH "Host: localhost\r\nAuthorization: Bearer " TOKEN "\r\n"
#define SSE_CLIENTS 10000
#define SSE_MOST 100000
#define OTHER_FILES 200 /* of a process, beside the clients; the gateway keeps 128 */
#define PORTS 20000     /* clients of one address: there are not many more ports for it */
#define TLS_CLIENTS 500
#define CHATS 200
#define PIECES 150
#define CONNECTIONS 4 /* of HTTP/2 */
#define PIECE_MS 20
#define SENDERS 64
#define EVENTS 6400
#define HALF_OPEN 1000
#define ASKED 101
#define HOSTILE 20
#define REFERENCES 16000 /* of one frame */

static struct {
    const char *program;
    char dir[64];
    pid_t gateway, service;
    int port, service_port;
    int clients; /* N of sse=N; 0: not given */
} b;

/* Of the process that syncs, which is not the one that looks. */
static struct shared {
    atomic_long syncs;
    atomic_int held;
    atomic_int port;
} * shared;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void rest(double ms) {
    poll(NULL, 0, (int)ms);
}

static int by_size(const void *a, const void *c) {
    double d = *(const double *)a - *(const double *)c;
    return d < 0 ? -1 : d > 0;
}

static double at_share(double *all, size_t n, double share) {
    qsort(all, n, sizeof(*all), by_size);
    return n ? all[(size_t)((double)(n - 1) * share)] : 0;
}

static const char *load(void) {
    static char text[16];
    double one = 0;
    if (getloadavg(&one, 1) == 1)
        snprintf(text, sizeof(text), "%.1f", one);
    return text;
}

/* --- syncs: in place of the C library's, also for modules */

static void count_sync(void) {
    while (shared && atomic_load(&shared->held))
        rest(1);
    if (shared)
        atomic_fetch_add(&shared->syncs, 1);
}

int fsync(int fd) {
    count_sync();
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
    count_sync();
    return (int)syscall(SYS_fdatasync, fd);
}

/* --- processes */

static void write_file(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", b.dir, name);
    FILE *f = fopen(path, "w");
    if (!f)
        die(path);
    fputs(text, f);
    fclose(f);
}

static int find_port(const char *log) {
    char line[512], *at;
    int port = 0;
    FILE *f = fopen(log, "r");
    while (f && !port && fgets(line, sizeof(line), f))
        if (strstr(line, "listening on http") && (at = strstr(line, "//127.0.0.1:")))
            port = (int)strtol(at + strlen("//127.0.0.1:"), NULL, 10);
    if (f)
        fclose(f);
    return port;
}

/* chela.yaml with one agent; more: lines that are added. */
static void start_gateway(const char *model, const char *more) {
    CH_BUF_AUTO yaml = {0};
    char log[128];
    ch_buf_addf(&yaml,
                "store: \"sqlite:chela.db\"\nagents:\n  list:\n    - { id: a, model: %s }\n%s",
                model, more);
    write_file("chela.yaml", ch_buf_str(&yaml));
    write_file("rules.yaml", "rules:\n  - { say: \"yes\" }\n");
    snprintf(log, sizeof(log), "%s/log", b.dir);
    b.gateway = fork();
    if (b.gateway == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int fd = open(log, O_CREAT | O_TRUNC | O_WRONLY, 0600);
        if (fd < 0 || chdir(b.dir) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
            die(b.dir);
        setenv("CHELA_TOKEN", TOKEN, 1);
        execl(b.program, "chela", "serve", "--config", "chela.yaml", "--listen", "127.0.0.1:0",
              (char *)NULL);
        die(b.program);
    }
    for (int i = 0; i < 2000 && !(b.port = find_port(log)); i++)
        rest(5);
    if (!b.port) {
        fprintf(stderr, "gateway: %s serve does not start: see %s\n", b.program, log);
        kill(b.gateway, SIGKILL);
        exit(1);
    }
}

static void stop(pid_t *pid) {
    if (*pid <= 0)
        return;
    kill(*pid, SIGKILL);
    waitpid(*pid, NULL, 0);
    *pid = 0;
}

static long of_smaps(pid_t pid, const char *name) {
    char path[64], line[256];
    long kb = 0;
    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, name, strlen(name)) == 0)
            kb = strtol(line + strlen(name), NULL, 10);
    if (f)
        fclose(f);
    return kb;
}

static double cpu_ms(pid_t pid) {
    char path[64];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                    &system) != 2)
        user = system = 0;
    if (f)
        fclose(f);
    return (double)(user + system) * 1000 / (double)sysconf(_SC_CLK_TCK);
}

/* --- clients */

/* From the address 127.0.0.(1 + nth). */
static int dial_from(int port, int nth) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in from = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)nth)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), later = 1;
    if (fd < 0 ||
        setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &later, sizeof(later)) < 0 ||
        bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0 ||
        connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
        die("connect");
    return fd;
}

static int dial(int port) {
    return dial_from(port, 0);
}

static void say(int fd, const char *text) {
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        die("send");
}

/* Reads until `word` has come. */
static bool hear(int fd, const char *word) {
    CH_BUF_AUTO got = {0};
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (poll(&p, 1, 20000) == 1) {
        char *to = ch_buf_reserve(&got, 4096);
        ssize_t n = read(fd, to, 4096);
        if (n <= 0)
            return false;
        ch_buf_commit(&got, (size_t)n);
        if (strstr(ch_buf_str(&got), word))
            return true;
    }
    return false;
}

/* A request on a connection of its own, to its last byte; ms. */
static double ask(void) {
    double began = now_ms();
    int fd = dial(b.port);
    say(fd, "GET /v1/models HTTP/1.1\r\n" AUTH "\r\n");
    if (!hear(fd, "]}")) {
        fprintf(stderr, "gateway: a request was not answered\n");
        exit(1);
    }
    close(fd);
    return now_ms() - began;
}

static void ask_often(double *median, double *most) {
    double all[ASKED];
    for (int i = 0; i < ASKED; i++)
        all[i] = ask();
    *median = at_share(all, ASKED, 0.5);
    *most = all[ASKED - 1];
}

/* --- idle */

static void idle(void) {
    start_gateway("scripted/rules.yaml", "");
    ask();
    rest(200);
    printf("idle      anonymous %ld KB (5120), resident %ld KB (18432)\n",
           of_smaps(b.gateway, "Anonymous:"), of_smaps(b.gateway, "Rss:"));
}

/* --- sse */

/* KB that each of n clients costs. */
static double connect_clients(int *fds, int n) {
    start_gateway("scripted/rules.yaml", "");
    int one = dial(b.port);
    say(one, "POST /api/sessions/s/messages HTTP/1.1\r\n" AUTH
             "Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"text\":\"hi\"}");
    if (!hear(one, "\r\n\r\n"))
        exit(1);
    close(one);
    rest(200);
    long before = of_smaps(b.gateway, "Rss:");
    for (int i = 0; i < n; i++) {
        fds[i] = dial_from(b.port, i / PORTS);
        say(fds[i], "GET /api/sessions/s/events HTTP/1.1\r\n" AUTH "\r\n");
        if (!hear(fds[i], ": listening"))
            exit(1);
    }
    return (double)(of_smaps(b.gateway, "Rss:") - before) / n;
}

static void sse(void) {
    static int fds[SSE_MOST];
    struct rlimit files;
    double median, most;
    getrlimit(RLIMIT_NOFILE, &files);
    int room = (int)CH_MIN(files.rlim_cur, SSE_MOST + OTHER_FILES) - OTHER_FILES;
    int n = CH_MIN(b.clients ? b.clients : SSE_CLIENTS, room);
    double kb = connect_clients(fds, n);
    if (b.clients) {
        printf("n=%d kb_each=%.3f\n", n, kb);
    } else {
        ask_often(&median, &most);
        printf("sse       %d clients: %.2f KB each (6), a new request %.2f ms, at most %.2f (50), "
               "load %s\n",
               n, kb, median, most, load());
    }
    for (int i = 0; i < n; i++)
        close(fds[i]);
}

/* --- tls */

static void make_certificate(void) {
    char key[128], cert[128];
    snprintf(key, sizeof(key), "%s/key.pem", b.dir);
    snprintf(cert, sizeof(cert), "%s/cert.pem", b.dir);
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 2);
        execlp("openssl", "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
               "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
               "-keyout", key, "-out", cert, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    if (status != 0) {
        fprintf(stderr, "gateway: openssl made no certificate\n");
        exit(1);
    }
}

static SSL *dial_tls(SSL_CTX *ctx) {
    SSL *ssl = SSL_new(ctx);
    int fd = dial(b.port), at_once = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
    SSL_set_fd(ssl, fd);
    if (SSL_connect(ssl) != 1)
        die("TLS");
    return ssl;
}

/* Asks, and reads until `word` has come. */
static void talk_tls(SSL *ssl, const char *request, const char *word) {
    CH_BUF_AUTO got = {0};
    SSL_write(ssl, request, (int)strlen(request));
    while (!strstr(ch_buf_str(&got), word)) {
        int n = SSL_read(ssl, ch_buf_reserve(&got, 4096), 4096);
        if (n <= 0)
            die("TLS");
        ch_buf_commit(&got, (size_t)n);
    }
}

static void tls(void) {
    static SSL *clients[TLS_CLIENTS];
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    make_certificate();
    start_gateway("scripted/rules.yaml", "gateway: { tls: { cert: cert.pem, key: key.pem } }\n");
    SSL *one = dial_tls(ctx);
    talk_tls(one, "POST /api/sessions/s/messages HTTP/1.1\r\n" AUTH
                  "Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"text\":\"hi\"}",
             "\r\n\r\n");
    rest(200);
    long before = of_smaps(b.gateway, "Rss:");
    double began = now_ms();
    for (int i = 0; i < TLS_CLIENTS; i++) {
        clients[i] = dial_tls(ctx);
        talk_tls(clients[i], "GET /api/sessions/s/events HTTP/1.1\r\n" AUTH "\r\n",
                 ": listening");
    }
    double took = now_ms() - began;
    printf("tls       %d clients: %.2f KB each, %.2f ms until one is there, load %s\n",
           TLS_CLIENTS, (double)(of_smaps(b.gateway, "Rss:") - before) / TLS_CLIENTS,
           took / TLS_CLIENTS, load());
}

/* --- halfopen */

static void halfopen(void) {
    static int fds[HALF_OPEN];
    double before, after, most;
    start_gateway("scripted/rules.yaml", "");
    ask_often(&before, &most);
    for (int i = 0; i < HALF_OPEN; i++) {
        fds[i] = dial(b.port);
        say(fds[i], "GET /v1/models HTTP/1.1\r\nHost: loc");
    }
    rest(200);
    ask_often(&after, &most);
    printf("halfopen  %d clients: a request %.2f ms, without them %.2f; at most %.2f (50 more), "
           "load %s\n",
           HALF_OPEN, after, before, most, load());
    for (int i = 0; i < HALF_OPEN; i++)
        close(fds[i]);
}

/* --- chats: a service that says when it said something */

struct speaker {
    int fd;
    double next; /* ms; when it says something */
    int said;    /* -1: the request has not come */
    struct ch_buf heard;
};

static void send_piece(struct speaker *s) {
    char data[256], chunk[320];
    if (s->said == PIECES)
        snprintf(data, sizeof(data), "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\","
                 "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
                 "data: [DONE]\n\n");
    else
        snprintf(data, sizeof(data), "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\","
                 "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"@%.3f \"}}]}\n\n", now_ms());
    int n = snprintf(chunk, sizeof(chunk), "%zx\r\n%s\r\n%s", strlen(data), data,
                     s->said == PIECES ? "0\r\n\r\n" : "");
    if (send(s->fd, chunk, (size_t)n, MSG_NOSIGNAL) < 0)
        s->said = PIECES;
    s->said++;
    s->next += PIECE_MS;
}

static void take_request(struct speaker *s, int nth) {
    ssize_t n = read(s->fd, ch_buf_reserve(&s->heard, 65536), 65536);
    if (n <= 0) {
        close(s->fd);
        s->fd = -1;
        return;
    }
    ch_buf_commit(&s->heard, (size_t)n);
    char *body = strstr(ch_buf_str(&s->heard), "\r\n\r\n");
    char *length = strcasestr(ch_buf_str(&s->heard), "content-length: ");
    if (s->said >= 0 || !body || !length)
        return;
    if (strlen(body + 4) < strtoul(length + 16, NULL, 10))
        return;
    ch_buf_clear(&s->heard);
    say(s->fd, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
               "Transfer-Encoding: chunked\r\n\r\n");
    s->said = 0;
    s->next = now_ms() + nth % PIECE_MS; /* not all at the same moment */
}

static void speak(int listener) {
    static struct speaker all[4 * CHATS];
    static struct pollfd p[4 * CHATS + 1];
    size_t n = 0;
    for (;;) {
        double next = now_ms() + 1000;
        p[0] = (struct pollfd){.fd = listener, .events = POLLIN};
        for (size_t i = 0; i < n; i++) {
            bool speaks = all[i].fd >= 0 && all[i].said >= 0 && all[i].said <= PIECES;
            p[i + 1] = (struct pollfd){.fd = speaks ? -1 : all[i].fd, .events = POLLIN};
            if (speaks && all[i].next < next)
                next = all[i].next;
        }
        double wait = next - now_ms();
        struct timespec t = {.tv_nsec = wait > 0 ? (long)(wait * 1e6) % 1000000000 : 0};
        ppoll(p, n + 1, &t, NULL);
        for (size_t i = 0; i < n; i++) {
            struct speaker *s = &all[i];
            if (p[i + 1].fd >= 0 && p[i + 1].revents)
                take_request(s, (int)i);
            if (s->fd >= 0 && s->said > PIECES)
                s->said = -1;
            if (s->fd >= 0 && s->said >= 0 && s->next <= now_ms())
                send_piece(s);
        }
        if (p[0].revents && n < 4 * CHATS)
            all[n++] = (struct speaker){.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC),
                                        .said = -1};
    }
}

static void start_service(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, size) < 0 || listen(fd, 511) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &size) < 0)
        die("listen");
    b.service_port = ntohs(a.sin_port);
    b.service = fork();
    if (b.service == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        speak(fd);
    }
    close(fd);
}

#define CHAT \
    "{\"model\":\"a\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"go\"}]}"

struct listener {
    int fd;
    struct ch_buf got;
    bool over;
};

/* Takes the times out of what has come, up to the last whole one. */
static size_t take_times(struct listener *l, double *delays, size_t room) {
    double now = now_ms();
    size_t n = 0;
    char *at = l->got.n ? l->got.p : NULL, *end;
    while (at && (at = strchr(at, '@')) && (end = strchr(at, ' ')) && n < room) {
        delays[n++] = now - strtod(at + 1, NULL);
        at = end;
    }
    if (l->got.n && strstr(ch_buf_str(&l->got), "[DONE]"))
        l->over = true;
    if (!at)
        ch_buf_clear(&l->got);
    return n;
}

struct chat {
    struct listener all[CHATS];
    int begun, over, whole;
    double *delays;
    size_t n;
};

static void begin_chat(struct chat *c, int port) {
    char text[512];
    struct listener *l = &c->all[c->begun++];
    snprintf(text, sizeof(text), "POST /v1/chat/completions HTTP/1.1\r\n" AUTH
             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", strlen(CHAT), CHAT);
    *l = (struct listener){.fd = dial(port)};
    say(l->fd, text);
}

static void listen_to(struct chat *c, struct listener *l) {
    ssize_t got = read(l->fd, ch_buf_reserve(&l->got, 16384), 16384);
    if (got > 0) {
        ch_buf_commit(&l->got, (size_t)got);
        c->n += take_times(l, c->delays + c->n, (size_t)CHATS * PIECES - c->n);
    }
    if (got > 0 && !l->over)
        return;
    close(l->fd);
    l->fd = -1;
    ch_buf_release(&l->got);
    c->over++;
    c->whole += l->over;
}

/* All of them with whoever listens there: the delays, and how many came to their
 * end. They begin within the first second. */
static size_t chat(int port, double *delays, int *whole) {
    static struct chat c;
    struct pollfd p[CHATS];
    double began = now_ms();
    c = (struct chat){.delays = delays};
    while (c.over < CHATS) {
        if (c.begun < CHATS && now_ms() >= began + c.begun * 1000.0 / CHATS)
            begin_chat(&c, port);
        for (int i = 0; i < c.begun; i++)
            p[i] = (struct pollfd){.fd = c.all[i].fd, .events = POLLIN};
        if (poll(p, (nfds_t)c.begun, c.begun < CHATS ? 1 : 20000) <= 0 && c.begun == CHATS)
            break;
        for (int i = 0; i < c.begun; i++)
            if (p[i].fd >= 0 && p[i].revents)
                listen_to(&c, &c.all[i]);
    }
    *whole = c.whole;
    return c.n;
}

/* --- the same as streams of HTTP/2, frames written by hand */

struct connection {
    struct listener l; /* of all its streams: what they say does not need telling apart */
    struct ch_buf frames;
    int begun, over;
};

static void add_frame(struct ch_buf *out, int type, int flags, uint32_t id, struct ch_sv payload) {
    const char head[9] = {(char)(payload.n >> 16), (char)(payload.n >> 8), (char)payload.n,
                          (char)type, (char)flags, (char)(id >> 24), (char)(id >> 16),
                          (char)(id >> 8), (char)id};
    ch_buf_add(out, head, sizeof(head));
    ch_buf_add_sv(out, payload);
}

static void add_field(struct ch_buf *out, struct ch_sv name, struct ch_sv value) {
    ch_buf_addc(out, 0);
    ch_buf_addc(out, (char)name.n);
    ch_buf_add_sv(out, name);
    ch_buf_addc(out, (char)value.n);
    ch_buf_add_sv(out, value);
}

static void send_all_of(int fd, const struct ch_buf *out) {
    if (write(fd, out->p, out->n) != (ssize_t)out->n)
        die("write");
}

static void begin_connection(struct connection *c, int port) {
    CH_BUF_AUTO out = {0};
    ch_buf_add_str(&out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    add_frame(&out, 4, 0, 0, ch_sv("\0\4\x7f\xff\xff\xff", 6)); /* windows that never shut */
    add_frame(&out, 8, 0, 0, ch_sv("\x7f\xff\0\0", 4));
    *c = (struct connection){.l.fd = dial(port)};
    send_all_of(c->l.fd, &out);
}

static void begin_stream(struct connection *c) {
    CH_BUF_AUTO block = {0}, out = {0};
    uint32_t id = 2 * (uint32_t)c->begun++ + 1;
    add_field(&block, CH_SV(":method"), CH_SV("POST"));
    add_field(&block, CH_SV(":scheme"), CH_SV("http"));
    add_field(&block, CH_SV(":path"), CH_SV("/v1/chat/completions"));
    add_field(&block, CH_SV(":authority"), CH_SV("localhost"));
    add_field(&block, CH_SV("authorization"), CH_SV("Bearer " TOKEN));
    add_field(&block, CH_SV("content-type"), CH_SV("application/json"));
    add_frame(&out, 1, 4, id, ch_buf_sv(&block));
    add_frame(&out, 0, 1, id, ch_sv_str(CHAT));
    send_all_of(c->l.fd, &out);
}

static void take_frames(struct connection *c) {
    ssize_t got = read(c->l.fd, ch_buf_reserve(&c->frames, 65536), 65536);
    if (got <= 0)
        die("a connection was closed");
    ch_buf_commit(&c->frames, (size_t)got);
    size_t at = 0;
    while (c->frames.n - at >= 9) {
        const unsigned char *p = (const unsigned char *)c->frames.p + at;
        size_t n = (size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2];
        if (c->frames.n - at < 9 + n)
            break;
        if (p[3] == 0)
            ch_buf_add(&c->l.got, p + 9, n);
        c->over += (p[3] == 0 && p[4] & 1) || p[3] == 3;
        at += 9 + n;
    }
    ch_buf_consume(&c->frames, at);
}

/* The preface, a field of 4 KB that the server keeps, and frames that refer to it. */
static void add_references(struct ch_buf *out) {
    static const char wanted[] = "\x82\x86\x84\x01\x09localhost"; /* GET http / of localhost */
    CH_BUF_AUTO block = {0};
    char field[4000];
    memset(field, 'v', sizeof(field));
    ch_buf_add_str(out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    add_frame(out, 4, 0, 0, ch_sv("", 0));
    for (uint32_t id = 1; out->n < 1000000; id += 2) {
        ch_buf_clear(&block);
        ch_buf_add(&block, wanted, sizeof(wanted) - 1);
        if (id == 1) {
            ch_buf_add_str(&block, "\x40\x01x\x7f\xa1\x1e"); /* x, 4000 bytes */
            ch_buf_add(&block, field, sizeof(field));
        }
        while (block.n < REFERENCES)
            ch_buf_addc(&block, (char)(128 + 62));
        add_frame(out, 1, 5, id, ch_buf_sv(&block));
    }
}

static void attack(const struct ch_buf *all) {
    char heard[4096];
    for (;;) {
        int fd = dial(b.port);
        size_t sent = 0;
        for (ssize_t n = 0; n >= 0 && sent < all->n; sent += n > 0 ? (size_t)n : 0)
            n = send(fd, all->p + sent, all->n - sent, MSG_NOSIGNAL);
        shutdown(fd, SHUT_WR);
        while (read(fd, heard, sizeof(heard)) > 0)
            ;
        close(fd);
    }
}

static void hostile(void) {
    pid_t pids[HOSTILE];
    double before, after, most;
    CH_BUF_AUTO all = {0};
    add_references(&all);
    start_gateway("scripted/rules.yaml", "");
    ask_often(&before, &most);
    for (int i = 0; i < HOSTILE; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            attack(&all);
        }
    }
    rest(200);
    double cpu = cpu_ms(b.gateway), began = now_ms();
    ask_often(&after, &most);
    printf("hostile   %d clients: a request %.2f ms, without them %.2f; at most %.2f (50 more), "
           "CPU %.0f%%, load %s\n",
           HOSTILE, after, before, most, 100 * (cpu_ms(b.gateway) - cpu) / (now_ms() - began),
           load());
    for (int i = 0; i < HOSTILE; i++)
        stop(&pids[i]);
}

static size_t chat2(int port, double *delays, int *whole) {
    static struct connection all[CONNECTIONS];
    struct pollfd p[CONNECTIONS];
    double began = now_ms();
    int begun = 0;
    size_t n = 0;
    for (int i = 0; i < CONNECTIONS; i++)
        begin_connection(&all[i], port);
    for (*whole = 0; *whole < CHATS;) {
        if (begun < CHATS && now_ms() >= began + begun * 1000.0 / CHATS)
            begin_stream(&all[begun++ % CONNECTIONS]);
        for (int i = 0; i < CONNECTIONS; i++)
            p[i] = (struct pollfd){.fd = all[i].l.fd, .events = POLLIN};
        if (poll(p, CONNECTIONS, begun < CHATS ? 1 : 20000) <= 0 && begun == CHATS)
            break;
        *whole = 0;
        for (int i = 0; i < CONNECTIONS; i++) {
            if (p[i].revents)
                take_frames(&all[i]);
            n += take_times(&all[i].l, delays + n, (size_t)CHATS * PIECES - n);
            *whole += all[i].over;
        }
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        close(all[i].l.fd);
        ch_buf_release(&all[i].l.got);
        ch_buf_release(&all[i].frames);
    }
    return n;
}

static void compare(const char *name, size_t (*run)(int port, double *delays, int *whole)) {
    static double direct[CHATS * PIECES], through[CHATS * PIECES];
    char more[256], model[] = "bench/m";
    int whole, ignored;
    start_service();
    snprintf(more, sizeof(more), "providers:\n  bench: { api: openai, baseUrl: "
             "\"http://127.0.0.1:%d/v1\" }\n", b.service_port);
    start_gateway(model, more);
    size_t nd = chat(b.service_port, direct, &ignored);
    double began = now_ms(), cpu = cpu_ms(b.gateway);
    size_t nt = run(b.port, through, &whole);
    double took = now_ms() - began;
    cpu = cpu_ms(b.gateway) - cpu;
    double p99 = at_share(through, nt, 0.99), floor99 = at_share(direct, nd, 0.99);
    printf("%-9s %d of %d whole, %zu pieces (%d): %.2f ms, 99%% within %.2f; straight %.2f "
           "and %.2f; added %.2f (5); CPU %.0f%% of a core, %.1f us a piece, load %s\n",
           name, whole, CHATS, nt, CHATS * PIECES, at_share(through, nt, 0.5), p99,
           at_share(direct, nd, 0.5), floor99, p99 - floor99, 100 * cpu / took,
           1000 * cpu / (double)(nt ? nt : 1), load());
}

static void chats(void) {
    compare("chats", chat);
}

static void chats2(void) {
    compare("chats2", chat2);
}

/* --- accept: a gateway of the library's, so that its syncs are ours to count */

#define SECRET "bench-secret-bench-secret"

static void check(int rc, const struct chela_error *err) {
    if (rc == 0)
        return;
    fprintf(stderr, "gateway: %s\n", err->message);
    exit(1);
}

static void serve_hooks(void) {
    struct chela_error err = {0};
    chela_runtime *rt;
    chela_store *store;
    chela_agent *agents[2] = {0};
    chela_gateway *gw;
    char url[128], model[128];
    snprintf(url, sizeof(url), "sqlite:%s/hooks.db", b.dir);
    snprintf(model, sizeof(model), "scripted/%s/rules.yaml", b.dir);
    struct chela_store_opts so = CHELA_STORE_OPTS(.module_path = getenv("CHELA_MODULE_PATH"));
    struct chela_agent_opts ao = CHELA_AGENT_OPTS(.model = model, .system = "");
    struct chela_gateway_hook hook = CHELA_GATEWAY_HOOK(.name = "h", .secret = SECRET);
    const struct chela_gateway_hook *hooks[] = {&hook, NULL};
    check(chela_runtime_new(NULL, &rt, &err), &err);
    check(chela_store_open(url, &so, &store, &err), &err);
    check(chela_runtime_store(rt, store, CHELA_DURABILITY_DEFAULT, &err), &err);
    check(chela_agent_new(rt, &ao, &agents[0], &err), &err);
    struct chela_gateway_opts go = CHELA_GATEWAY_OPTS(
        .listen = "127.0.0.1:0", .token = TOKEN, .agents = agents, .store = store,
        .hooks = hooks);
    check(chela_gateway_new(rt, &go, &gw, &err), &err);
    atomic_store(&shared->port, (int)strtol(strrchr(chela_gateway_address(gw), ':') + 1, NULL, 10));
    chela_gateway_run(gw);
    exit(0);
}

static void send_event(int fd, int nth) {
    char body[64], text[512];
    unsigned char mac[CH_SHA256_SIZE];
    CH_BUF_AUTO sign = {0};
    long now = (long)time(NULL);
    int n = snprintf(body, sizeof(body), "{\"event\":%d}", nth);
    ch_buf_addf(&sign, "%ld.%s", now, body);
    ch_hmac_sha256(ch_sv_str(SECRET), ch_buf_sv(&sign), mac);
    ch_buf_clear(&sign);
    for (size_t i = 0; i < sizeof(mac); i++)
        ch_buf_addf(&sign, "%02x", mac[i]);
    snprintf(text, sizeof(text), "POST /hooks/h HTTP/1.1\r\nHost: localhost\r\n"
             "Content-Type: application/json\r\nX-Chela-Timestamp: %ld\r\n"
             "X-Chela-Signature: sha256=%s\r\nContent-Length: %d\r\n\r\n%s",
             now, ch_buf_str(&sign), n, body);
    say(fd, text);
}

/* Every sender has one event under way, until `events` were sent. */
static int send_all(const int *fds, int first, int events) {
    struct pollfd p[SENDERS];
    char got[1024];
    int sent = 0, acked = 0;
    for (int i = 0; i < SENDERS; i++) {
        send_event(fds[i], first + sent++);
        p[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    }
    while (acked < events && poll(p, SENDERS, 20000) > 0)
        for (int i = 0; i < SENDERS; i++) {
            if (!p[i].revents)
                continue;
            ssize_t n = read(fds[i], got, sizeof(got) - 1);
            if (n <= 0 || strncmp(got, "HTTP/1.1 202", 12) != 0)
                return acked;
            acked++;
            if (sent < events)
                send_event(fds[i], first + sent++);
            else
                p[i].fd = -1;
        }
    return acked;
}

/* No sync ends; is anything acknowledged? */
static int acked_while_held(const int *fds) {
    struct pollfd p[SENDERS];
    atomic_store(&shared->held, 1);
    for (int i = 0; i < SENDERS; i++) {
        send_event(fds[i], EVENTS + i);
        p[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    }
    int early = poll(p, SENDERS, 500);
    atomic_store(&shared->held, 0);
    return early;
}

static void accept_events(void) {
    int fds[SENDERS];
    write_file("rules.yaml", "rules:\n  - { say: \"yes\" }\n");
    atomic_store(&shared->port, 0);
    b.gateway = fork();
    if (b.gateway == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve_hooks();
    }
    for (int i = 0; i < 2000 && !(b.port = atomic_load(&shared->port)); i++)
        rest(5);
    if (!b.port)
        exit(1);
    for (int i = 0; i < SENDERS; i++)
        fds[i] = dial(b.port);
    long syncs = atomic_load(&shared->syncs);
    double began = now_ms();
    int acked = send_all(fds, 0, EVENTS);
    double took = now_ms() - began;
    syncs = atomic_load(&shared->syncs) - syncs;
    printf("accept    %d of %d events of %d senders: %.3f syncs each, with the runs they begin "
           "(0.1), %.0f a second; %d acknowledged before their sync (0), load %s\n",
           acked, EVENTS, SENDERS, (double)syncs / EVENTS, EVENTS / took * 1000,
           acked_while_held(fds), load());
    for (int i = 0; i < SENDERS; i++)
        close(fds[i]);
}

/* --- all of it */

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {{"idle", idle}, {"sse", sse}, {"tls", tls}, {"chats", chats}, {"chats2", chats2},
             {"accept", accept_events}, {"halfopen", halfopen}, {"hostile", hostile}};

static void measure(const char *name) {
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        if (name && strcmp(name, modes[i].name) != 0)
            continue;
        CH_BUF_AUTO clean = {0};
        snprintf(b.dir, sizeof(b.dir), "/tmp/chela-bench-XXXXXX");
        if (!mkdtemp(b.dir))
            die("mkdtemp");
        modes[i].run();
        fflush(stdout);
        stop(&b.gateway);
        stop(&b.service);
        ch_buf_addf(&clean, "%s", b.dir);
        pid_t pid = fork();
        if (pid == 0)
            execlp("rm", "rm", "-rf", ch_buf_str(&clean), (char *)NULL);
        waitpid(pid, NULL, 0);
    }
}

int main(int argc, char **argv) {
    struct rlimit files;
    if (argc < 2) {
        fprintf(stderr, "usage: gateway PROGRAM "
                        "[idle|sse|sse=N|tls|chats|chats2|accept|halfopen|hostile]...\n");
        return 2;
    }
    b.program = realpath(argv[1], NULL);
    if (!b.program)
        die(argv[1]);
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        die("mmap");
    for (int i = 2; i < argc; i++) {
        b.clients = strncmp(argv[i], "sse=", 4) == 0 ? atoi(argv[i] + 4) : 0;
        measure(b.clients ? "sse" : argv[i]);
    }
    if (argc == 2)
        measure(NULL);
    return 0;
}
