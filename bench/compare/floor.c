/* floor.c -- the least that a client of mock.c can do.
 *
 *   floor URL AGENTS TOOL_MS
 *
 * Blocking or polled sockets, requests that grow as those of a real client do, and replies
 * that are read only for their end: no JSON, no tools, no schemas. What a runtime costs is
 * given beside what this program costs in the same run. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static const char opening[] =
    "{\"model\":\"mock\",\"max_tokens\":1024,\"stream\":true,\"tools\":[{\"name\":\"add\","
    "\"description\":\"Add two numbers.\",\"input_schema\":{\"type\":\"object\",\"properties\":{"
    "\"a\":{\"type\":\"number\"},\"b\":{\"type\":\"number\"}},\"required\":[\"a\",\"b\"]}}],"
    "\"messages\":[{\"role\":\"user\",\"content\":\"go\"}";
static const char closing[] = "]}";
static const char last[] = "\r\n0\r\n\r\n"; /* the end of a reply */

struct agent {
    int fd;
    long round;
    char *history; /* owned: the request so far */
    size_t n, cap;
    char tail[sizeof(last) - 1]; /* the last bytes that came */
};

static char path[256], room[1 << 18];
static long rounds, pieces = 20, calls_a_round = 1, tool_ms;
static long calls, sum, running;

static void add(struct agent *a, const char *text, size_t n) {
    if (a->n + n > a->cap) {
        a->cap = 2 * (a->n + n);
        a->history = realloc(a->history, a->cap);
    }
    memcpy(a->history + a->n, text, n);
    a->n += n;
}

static void add_text(struct agent *a, const char *text) {
    add(a, text, strlen(text));
}

static void fail(const char *why) {
    fprintf(stderr, "floor: %s\n", why);
    exit(1);
}

static void send_request(struct agent *a) {
    char head[512];
    int n = snprintf(head, sizeof(head),
                     "POST %s/v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nx-api-key: k\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                     path, a->n + sizeof(closing) - 1);
    struct iovec parts[] = {
        {head, (size_t)n}, {a->history, a->n}, {(void *)closing, sizeof(closing) - 1}};
    for (size_t i = 0; i < 3;) {
        ssize_t sent = writev(a->fd, parts + i, (int)(3 - i));
        if (sent < 0)
            fail("the request was not taken");
        for (; i < 3 && (size_t)sent >= parts[i].iov_len; i++)
            sent -= (ssize_t)parts[i].iov_len;
        if (i < 3) {
            parts[i].iov_base = (char *)parts[i].iov_base + sent;
            parts[i].iov_len -= (size_t)sent;
        }
    }
}

/* The calls of a round and their results become part of the history. */
static void add_round(struct agent *a) {
    char text[256];
    long from = a->round * calls_a_round, to = from + calls_a_round;
    add_text(a, ",{\"role\":\"assistant\",\"content\":[");
    for (long k = from; k < to; k++) {
        snprintf(text, sizeof(text),
                 "%s{\"type\":\"tool_use\",\"id\":\"toolu_%024ld\",\"name\":\"add\",\"input\":{"
                 "\"a\":%ld,\"b\":1}}",
                 k > from ? "," : "", k, k);
        add_text(a, text);
    }
    add_text(a, "]},{\"role\":\"user\",\"content\":[");
    for (long k = from; k < to; k++) {
        snprintf(
            text, sizeof(text),
            "%s{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_%024ld\",\"content\":\"%ld\"}",
            k > from ? "," : "", k, k + 1);
        add_text(a, text);
        sum += k + 1;
        calls++;
    }
    add_text(a, "]}");
    a->round++;
}

static void keep_tail(struct agent *a, size_t n) {
    size_t size = sizeof(a->tail);
    if (n >= size) {
        memcpy(a->tail, room + n - size, size);
        return;
    }
    memmove(a->tail, a->tail + n, size - n);
    memcpy(a->tail + size - n, room, n);
}

static void read_reply(struct agent *a) {
    ssize_t n = recv(a->fd, room, sizeof(room), 0);
    if (n <= 0)
        fail("the connection was lost");
    keep_tail(a, (size_t)n);
    if (memcmp(a->tail, last, sizeof(a->tail)) != 0)
        return;
    if (a->round == rounds) {
        close(a->fd);
        running--;
        return;
    }
    if (tool_ms)
        usleep((useconds_t)tool_ms * 1000);
    add_round(a);
    send_request(a);
}

static void read_path(void) {
    for (char *p = path; p[0] == '/' && p[1] && p[2] == '/';) {
        char key = p[1];
        long value = strtol(p + 3, &p, 10);
        if (key == 'n')
            rounds = value;
        else if (key == 't')
            pieces = value;
        else if (key == 'p')
            calls_a_round = value;
    }
}

int main(int argc, char **argv) {
    int port, one = 1;
    if (argc < 2 || sscanf(argv[1], "http://127.0.0.1:%d%255s", &port, path) < 1)
        return 2;
    long n = argc > 2 ? atol(argv[2]) : 1;
    tool_ms = argc > 3 ? atol(argv[3]) : 0;
    read_path();
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((unsigned short)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct agent *agents = calloc((size_t)n, sizeof(*agents));
    int events = epoll_create1(0);
    for (long i = 0; i < n; i++) {
        struct agent *a = &agents[i];
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = a};
        a->fd = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(a->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        if (connect(a->fd, (struct sockaddr *)&to, sizeof(to)) < 0)
            fail("no connection");
        if (n > 1)
            epoll_ctl(events, EPOLL_CTL_ADD, a->fd, &e);
        add(a, opening, sizeof(opening) - 1);
        send_request(a);
    }
    for (running = n; running > 0;) {
        struct epoll_event ready[256];
        int found = n > 1 ? epoll_wait(events, ready, 256, -1) : 0;
        if (n == 1)
            read_reply(agents);
        for (int i = 0; i < found; i++)
            read_reply(ready[i].data.ptr);
    }
    printf("tools=%ld sum=%ld text=%ld\n", calls, sum, 6 * pieces * n);
    return 0;
}
