/* mock.c -- a model service that costs little, for comparisons of agent runtimes.
 *
 *   mock            prints "port N" and serves 127.0.0.1:N until it is killed
 *
 * POST /KEY/VALUE.../v1/messages (Anthropic), .../v1/chat/completions or .../v1/responses
 * (OpenAI); the last one also over a WebSocket, where a request may continue the last reply. The
 * path says how the model behaves:
 *
 *   n  rounds of tool calls before the answer (0)     p  calls in a round (1)
 *   t  pieces of the answer (20)                      w  milliseconds before a reply (0)
 *
 * The service keeps no conversation, except that of a WebSocket: the number of tool results in
 * the request says which round it is. Call k is add({"a": k, "b": 1}); the answer is t times
 * "hello ". Replies are streamed, one chunk an event, as many events in a write as fit.
 *
 * GET /stats gives the number of requests and the most that waited at once; GET /reset
 * forgets them. One thread and one loop: the cost of the service is the same for everyone. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/sha.h>

#define OUT_MAX 65536  /* bytes collected for one write */
#define EVENT_MAX 1024 /* the largest event */
#define REQUEST_MAX (64 << 20)

enum api { ANTHROPIC, OPENAI, RESPONSES };

/* What the path and the body ask for. */
struct wish {
    enum api api;
    long rounds, calls, pieces, wait_ms;
    long done; /* tool results in the request */
};

struct client {
    int fd;
    char *in; /* owned: bytes of the request */
    size_t n, cap;
    char *out; /* owned; bytes from out_at to out_n are not sent yet */
    size_t out_n, out_at;
    struct wish wish;
    bool replying;
    bool framed;    /* a WebSocket */
    long continues; /* tool results before its last reply */
    long next;      /* event of the reply */
    int64_t due;
    struct client *later; /* queue of replies that wait */
};

static int events;
static struct client *first_waiting, *last_waiting;
static long requests, in_flight, most_in_flight;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* --- the reply, event by event */

static size_t frame_head(char *at, size_t n) {
    at[0] = (char)0x81;
    at[1] = (char)(n < 126 ? n : 126);
    at[2] = (char)(n >> 8);
    at[3] = (char)n;
    return n < 126 ? 2 : 4;
}

static void add_frame(struct client *c, const char *format, va_list ap) {
    char text[EVENT_MAX];
    int n = vsnprintf(text, sizeof(text), format, ap);
    c->out_n += frame_head(c->out + c->out_n, (size_t)n);
    memcpy(c->out + c->out_n, text, (size_t)n);
    c->out_n += (size_t)n;
}

/* Append one chunk, or one frame, with one event. */
static void add_event(struct client *c, const char *name, const char *format, ...) {
    char text[EVENT_MAX];
    if (c->framed) {
        va_list ap;
        va_start(ap, format);
        add_frame(c, format, ap);
        va_end(ap);
        return;
    }
    int n = name ? snprintf(text, sizeof(text), "event: %s\ndata: ", name)
                 : snprintf(text, sizeof(text), "data: ");
    va_list ap;
    va_start(ap, format);
    n += vsnprintf(text + n, sizeof(text) - (size_t)n, format, ap);
    va_end(ap);
    n += snprintf(text + n, sizeof(text) - (size_t)n, "\n\n");
    c->out_n += (size_t)sprintf(c->out + c->out_n, "%x\r\n%s\r\n", (unsigned)n, text);
}

static void add_start(struct client *c) {
    if (!c->framed)
        c->out_n += (size_t)sprintf(c->out + c->out_n,
                                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                                    "Transfer-Encoding: chunked\r\n\r\n");
    if (c->wish.api == ANTHROPIC)
        add_event(c, "message_start",
                  "{\"type\":\"message_start\",\"message\":{\"id\":\"msg_%ld\","
                  "\"type\":\"message\",\"role\":\"assistant\",\"model\":\"mock\","
                  "\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,"
                  "\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}",
                  requests);
    if (c->wish.api == RESPONSES)
        add_event(c, "response.created",
                  "{\"type\":\"response.created\",\"response\":{\"id\":\"resp_%ld\",\"object\":"
                  "\"response\",\"status\":\"in_progress\",\"model\":\"mock\",\"output\":[]}}",
                  requests);
}

/* The same events for a call of the Responses API. */
static void add_responses_call(struct client *c, long k, long at) {
    add_event(c, "response.output_item.added",
              "{\"type\":\"response.output_item.added\",\"output_index\":%ld,\"item\":{\"type\":"
              "\"function_call\",\"id\":\"fc_%024ld\",\"call_id\":\"call_%024ld\",\"name\":\"add\","
              "\"arguments\":\"\",\"status\":\"in_progress\"}}",
              at, k, k);
    add_event(c, "response.function_call_arguments.delta",
              "{\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"fc_%024ld\","
              "\"output_index\":%ld,\"delta\":\"{\\\"a\\\": %ld\"}",
              k, at, k);
    add_event(c, "response.function_call_arguments.delta",
              "{\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"fc_%024ld\","
              "\"output_index\":%ld,\"delta\":\", \\\"b\\\": 1}\"}",
              k, at);
    add_event(c, "response.output_item.done",
              "{\"type\":\"response.output_item.done\",\"output_index\":%ld,\"item\":{\"type\":"
              "\"function_call\",\"id\":\"fc_%024ld\",\"call_id\":\"call_%024ld\",\"name\":\"add\","
              "\"arguments\":\"{\\\"a\\\": %ld, \\\"b\\\": 1}\",\"status\":\"completed\"}}",
              at, k, k, k);
}

/* The start, two pieces of the arguments and the end of call `k`; `at` is its block. */
static void add_call(struct client *c, long k, long at) {
    if (c->wish.api == RESPONSES) {
        add_responses_call(c, k, at);
        return;
    }
    if (c->wish.api == OPENAI) {
        add_event(
            c, NULL,
            "{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"mock\","
            "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"tool_calls\":[{"
            "\"index\":%ld,\"id\":\"call_%024ld\",\"type\":\"function\",\"function\":{"
            "\"name\":\"add\",\"arguments\":\"\"}}]},\"finish_reason\":null}]}",
            at, k);
        add_event(
            c, NULL,
            "{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"mock\","
            "\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":%ld,\"function\":{"
            "\"arguments\":\"{\\\"a\\\": %ld, \\\"b\\\": 1}\"}}]},\"finish_reason\":null}]}",
            at, k);
        return;
    }
    add_event(c, "content_block_start",
              "{\"type\":\"content_block_start\",\"index\":%ld,\"content_block\":{\"type\":"
              "\"tool_use\",\"id\":\"toolu_%024ld\",\"name\":\"add\",\"input\":{}}}",
              at, k);
    add_event(c, "content_block_delta",
              "{\"type\":\"content_block_delta\",\"index\":%ld,\"delta\":{\"type\":"
              "\"input_json_delta\",\"partial_json\":\"{\\\"a\\\": %ld\"}}",
              at, k);
    add_event(c, "content_block_delta",
              "{\"type\":\"content_block_delta\",\"index\":%ld,\"delta\":{\"type\":"
              "\"input_json_delta\",\"partial_json\":\", \\\"b\\\": 1}\"}}",
              at);
    add_event(c, "content_block_stop", "{\"type\":\"content_block_stop\",\"index\":%ld}", at);
}

static void add_piece(struct client *c, bool first) {
    if (c->wish.api == OPENAI) {
        add_event(
            c, NULL,
            "{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"mock\","
            "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello \"},"
            "\"finish_reason\":null}]}");
        return;
    }
    if (first && c->wish.api == RESPONSES)
        add_event(c, "response.output_item.added",
                  "{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":"
                  "\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"status\":\"in_progress\","
                  "\"content\":[]}}");
    else if (first)
        add_event(c, "content_block_start",
                  "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
                  "\"text\",\"text\":\"\"}}");
    /* Written once: the cost of the service is not what is measured. */
    static struct {
        char text[EVENT_MAX];
        size_t n;
    } pieces[RESPONSES + 1][2];
    size_t from = c->out_n, *n = &pieces[c->wish.api][c->framed].n;
    char *piece = pieces[c->wish.api][c->framed].text;
    if (*n) {
        memcpy(c->out + from, piece, *n);
        c->out_n += *n;
        return;
    }
    if (c->wish.api == RESPONSES)
        add_event(c, "response.output_text.delta",
                  "{\"type\":\"response.output_text.delta\",\"item_id\":\"msg_1\","
                  "\"output_index\":0,\"content_index\":0,\"delta\":\"hello \"}");
    else
        add_event(
            c, "content_block_delta",
            "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","
            "\"text\":\"hello \"}}");
    *n = c->out_n - from;
    memcpy(piece, c->out + from, *n);
}

static void add_end(struct client *c, bool calls) {
    if (c->wish.api == RESPONSES)
        add_event(
            c, "response.completed",
            "{\"type\":\"response.completed\",\"response\":{\"id\":\"resp_%ld\",\"object\":"
            "\"response\",\"status\":\"completed\",\"model\":\"mock\",\"output\":[],\"usage\":{"
            "\"input_tokens\":10,\"output_tokens\":10,\"total_tokens\":20}}}",
            requests);
    else if (c->wish.api == OPENAI) {
        add_event(
            c, NULL,
            "{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"mock\","
            "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"%s\"}],\"usage\":{"
            "\"prompt_tokens\":10,\"completion_tokens\":10,\"total_tokens\":20}}",
            calls ? "tool_calls" : "stop");
        add_event(c, NULL, "[DONE]");
    } else {
        if (!calls)
            add_event(c, "content_block_stop", "{\"type\":\"content_block_stop\",\"index\":0}");
        add_event(c, "message_delta",
                  "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"%s\",\"stop_sequence\":"
                  "null},\"usage\":{\"output_tokens\":10}}",
                  calls ? "tool_use" : "end_turn");
        add_event(c, "message_stop", "{\"type\":\"message_stop\"}");
    }
    if (!c->framed)
        c->out_n += (size_t)sprintf(c->out + c->out_n, "0\r\n\r\n");
}

/* Collect events up to OUT_MAX. Event 0 is the start, the last one the end. */
static void fill(struct client *c) {
    const struct wish *w = &c->wish;
    bool calls = w->done < w->rounds * w->calls;
    long parts = calls ? w->calls : w->pieces;
    c->out_n = c->out_at = 0;
    for (; c->next <= parts + 1 && c->out_n + 5 * EVENT_MAX < OUT_MAX; c->next++) {
        if (c->next == 0)
            add_start(c);
        else if (c->next > parts)
            add_end(c, calls);
        else if (calls)
            add_call(c, w->done + c->next - 1, c->next - 1);
        else
            add_piece(c, c->next == 1);
    }
}

/* --- sending */

static void watch(struct client *c, uint32_t what) {
    struct epoll_event e = {.events = what, .data.ptr = c};
    epoll_ctl(events, EPOLL_CTL_MOD, c->fd, &e);
}

static void hang_up(struct client *c) {
    close(c->fd);
    c->fd = -1;
    if (c->replying)
        in_flight--;
    free(c->in);
    free(c->out);
    c->in = c->out = NULL; /* the struct stays: it may be in the queue */
}

/* Send until the reply is complete or the kernel takes no more. */
static void send_reply(struct client *c) {
    while (c->replying) {
        if (c->out_at == c->out_n)
            fill(c);
        if (c->out_n == 0) {
            c->replying = false;
            in_flight--;
            watch(c, EPOLLIN);
            return;
        }
        ssize_t n =
            send(c->fd, c->out + c->out_at, c->out_n - c->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0) {
            watch(c, EPOLLIN | EPOLLOUT);
            return;
        }
        c->out_at += (size_t)n;
    }
}

static void answer_text(struct client *c, const char *status, const char *body) {
    char head[256];
    int n =
        snprintf(head, sizeof(head),
                 "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                 status, strlen(body), body);
    if (send(c->fd, head, (size_t)n, MSG_NOSIGNAL) < 0)
        perror("mock: send");
}

/* --- requests */

static long count(const char *text, size_t n, const char *word) {
    const char *end = text + n, *at = text;
    size_t size = strlen(word);
    long found = 0;
    for (; (at = memmem(at, (size_t)(end - at), word, size)); at += size)
        found++;
    return found;
}

/* Returns false for a path that is not of a model. */
static bool read_wish(char *path, const char *body, size_t n, struct wish *w) {
    *w = (struct wish){.calls = 1, .pieces = 20};
    while (path[0] == '/' && path[1] && path[2] == '/') {
        char key = path[1];
        long value = strtol(path + 3, &path, 10);
        *(key == 'n'   ? &w->rounds
          : key == 'p' ? &w->calls
          : key == 't' ? &w->pieces
                       : &w->wait_ms) = value;
    }
    if (strncmp(path, "/v1/messages", 12) == 0)
        w->done = count(body, n, "\"tool_result\"");
    else if (strncmp(path, "/v1/chat/completions", 20) == 0) {
        w->api = OPENAI;
        w->done = count(body, n, "\"tool_call_id\"");
    } else if (strncmp(path, "/v1/responses", 13) == 0) {
        w->api = RESPONSES;
        w->done = count(body, n, "\"function_call_output\"");
    } else
        return false;
    return true;
}

static void begin_reply(struct client *c) {
    requests++;
    c->replying = true;
    c->next = 0;
    c->out_n = c->out_at = 0;
    if (++in_flight > most_in_flight)
        most_in_flight = in_flight;
    if (!c->out)
        c->out = malloc(OUT_MAX);
    if (c->wish.wait_ms == 0) {
        send_reply(c);
        return;
    }
    c->due = now_ms() + c->wish.wait_ms; /* the same wait for all: the queue is in order */
    c->later = NULL;
    *(first_waiting ? &last_waiting->later : &first_waiting) = c;
    last_waiting = c;
}

/* The head is NUL-terminated. */
static void serve(struct client *c, char *head, const char *body, size_t n) {
    char *path = strchr(head, ' '), text[96];
    char *end = path ? strchr(path + 1, ' ') : NULL;
    if (!end) {
        answer_text(c, "400 Bad Request", "{}");
        return;
    }
    *end = '\0';
    path++;
    if (strcmp(path, "/stats") == 0) {
        snprintf(text, sizeof(text), "{\"requests\":%ld,\"most\":%ld}", requests, most_in_flight);
        answer_text(c, "200 OK", text);
    } else if (strcmp(path, "/reset") == 0) {
        requests = most_in_flight = 0;
        answer_text(c, "200 OK", "{}");
    } else if (read_wish(path, body, n, &c->wish)) {
        begin_reply(c);
    } else {
        answer_text(c, "404 Not Found", "{}");
    }
}

/* --- a WebSocket */

/* A request that continues the last reply has the results after that reply only. */
static void serve_message(struct client *c, char *text, size_t n) {
    long done = count(text, n, "\"function_call_output\"");
    bool rest = memmem(text, n < 200 ? n : 200, "\"previous_response_id\"", 22) != NULL;
    c->wish.done = c->continues = rest ? c->continues + done : done;
    begin_reply(c);
}

/* Serve the message in c->in if it is complete. */
static void take_message(struct client *c) {
    const unsigned char *p = (const unsigned char *)c->in;
    size_t head = 2, n;
    if (c->replying || c->n < 14)
        return;
    n = p[1] & 127;
    if (n == 126) {
        n = (size_t)p[2] << 8 | p[3];
        head = 4;
    } else if (n == 127) {
        n = (size_t)p[6] << 24 | (size_t)p[7] << 16 | (size_t)p[8] << 8 | p[9];
        head = 10;
    }
    if (c->n < head + 4 + n)
        return;
    char *text = c->in + head + 4;
    for (size_t i = 0; i < n; i++)
        text[i] = (char)(text[i] ^ (char)p[head + i % 4]);
    c->n = 0;
    if ((p[0] & 15) == 8)
        shutdown(c->fd, SHUT_RDWR);
    else
        serve_message(c, text, n);
}

/* Accept the WebSocket that a head asks for. */
static void upgrade(struct client *c, char *head) {
    static const char suffix[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    unsigned char text[64], digest[SHA_DIGEST_LENGTH], accept[32];
    char answer[256], *path = strchr(head, ' ') + 1;
    const char *key = strcasestr(head, "\r\nsec-websocket-key: ");
    if (!key || strlen(key) < 21 + 24)
        return;
    memcpy(text, key + 21, 24);
    memcpy(text + 24, suffix, sizeof(suffix) - 1);
    SHA1(text, 24 + sizeof(suffix) - 1, digest);
    EVP_EncodeBlock(accept, digest, sizeof(digest));
    int n = snprintf(answer, sizeof(answer),
                     "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                     "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
                     (const char *)accept);
    path[strcspn(path, " ")] = '\0';
    c->framed = read_wish(path, "", 0, &c->wish);
    if (send(c->fd, answer, (size_t)n, MSG_NOSIGNAL) < 0)
        perror("mock: send");
}

/* Serve the request in c->in if it is complete. */
static void take_request(struct client *c) {
    if (c->framed) {
        take_message(c);
        return;
    }
    c->in[c->n] = '\0';
    char *body = strstr(c->in, "\r\n\r\n");
    if (!body || c->replying)
        return;
    const char *length = strcasestr(c->in, "\r\ncontent-length:");
    size_t size = length && length < body ? strtoul(length + 17, NULL, 10) : 0;
    body += 4;
    if (c->n - (size_t)(body - c->in) < size)
        return;
    char *at = c->in;
    body[-1] = '\0';
    c->n = 0; /* one request at a time */
    if (strcasestr(at, "\r\nupgrade: websocket"))
        upgrade(c, at);
    else
        serve(c, at, body, size);
}

static void read_more(struct client *c) {
    if (c->n + 65536 + 1 > c->cap) {
        c->cap = 2 * c->cap + 65536 + 1;
        c->in = realloc(c->in, c->cap);
    }
    ssize_t n = c->cap > REQUEST_MAX ? 0 : recv(c->fd, c->in + c->n, c->cap - c->n - 1, 0);
    if (n <= 0) {
        hang_up(c);
        return;
    }
    c->n += (size_t)n;
    take_request(c);
}

static void accept_client(int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), one = 1;
    if (fd < 0)
        return;
    struct client *c = calloc(1, sizeof(*c));
    c->fd = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(events, EPOLL_CTL_ADD, fd, &e);
}

static int send_due(void) {
    while (first_waiting && first_waiting->due <= now_ms()) {
        struct client *c = first_waiting;
        first_waiting = c->later;
        if (c->fd >= 0)
            send_reply(c);
    }
    return first_waiting ? (int)(first_waiting->due - now_ms()) + 1 : -1;
}

int main(void) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    if (bind(listener, (struct sockaddr *)&at, size) < 0 || listen(listener, 4096) < 0 ||
        getsockname(listener, (struct sockaddr *)&at, &size) < 0)
        die("mock");
    events = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL}, ready[256];
    epoll_ctl(events, EPOLL_CTL_ADD, listener, &e);
    printf("port %d\n", ntohs(at.sin_port));
    fflush(stdout);
    for (;;) {
        int n = epoll_wait(events, ready, 256, send_due());
        for (int i = 0; i < n; i++) {
            struct client *c = ready[i].data.ptr;
            if (!c)
                accept_client(listener);
            else if (c->fd >= 0 && ready[i].events & EPOLLOUT)
                send_reply(c);
            else if (c->fd >= 0)
                read_more(c);
        }
    }
}
