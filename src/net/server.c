/* server.c -- see server.h.
 *
 * One connection answers one request at a time; a client that sends ahead has
 * its bytes kept, up to a bound. While an answer is under way the socket is
 * still read, because that is how one learns that the client has left.
 *
 * Writing: what the kernel takes at once is never copied. The rest is handed to
 * libuv with its bytes, and the sum of that is what the bound is about.
 *
 * No callback of the owner's fires inside a call of theirs: the end of an
 * exchange defers what comes next to the loop's next iteration. */
#include "net/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <uv.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/log.h"
#include "io/sigpipe.h"

#define BACKLOG 511
#define READ_SIZE (64 * CH_KB)

struct ch_server {
    struct ch_loop *loop;
    struct ch_server_opts opts;
    uv_tcp_t tcp;
    char *address;           /* owned */
    char *bytes;             /* owned: what is read lies here, for all of them */
    struct ch_list clients;  /* all */
    struct ch_list unknown;  /* of those, which have not shown a request; oldest first */
    size_t nclients, nunknown;
    bool draining, closed;
    unsigned handles; /* that libuv still has to close */
};

enum phase { READ_HEAD, READ_BODY, ANSWER, STREAM, LAST_WORDS, CLOSED };

struct ch_exchange {
    struct ch_server *server;
    struct ch_link link, waiting; /* in clients; in unknown */
    uv_tcp_t tcp;
    enum phase phase;
    struct ch_inbound in;
    struct ch_buf ahead; /* bytes that came before their turn */
    struct ch_buf headers;
    struct ch_timer deadline;
    struct ch_task next; /* goes on after an answer, or tells `gone` */
    uv_shutdown_t shutdown;
    void (*gone)(struct ch_exchange *x, void *user);
    void *user;
    bool keep, chunked, headless;
    bool left; /* by the client, or dropped: `gone` is due */
    char peer[INET6_ADDRSTRLEN];
};

struct writing {
    uv_write_t req;
    char bytes[];
};

static void feed(struct ch_exchange *x, struct ch_sv bytes);
static void on_deadline(struct ch_timer *t);

/* --- the end of a connection */

static void free_server(struct ch_server *s) {
    ch_free(s->address);
    ch_free(s->bytes);
    ch_free(s);
}

static void closed_one(struct ch_server *s) {
    if (--s->handles == 0 && s->closed)
        free_server(s);
}

static void on_closed(uv_handle_t *h) {
    struct ch_exchange *x = h->data;
    struct ch_server *s = x->server;
    ch_free(x);
    closed_one(s);
}

static void known(struct ch_exchange *x) {
    if (!x->waiting.next)
        return;
    ch_list_del(&x->waiting);
    x->server->nunknown--;
}

static void drop(struct ch_exchange *x);

/* One that shows nothing is welcome as long as there is room; the oldest of
 * these makes it. */
static void unknown(struct ch_exchange *x) {
    struct ch_server *s = x->server;
    ch_list_add(&s->unknown, &x->waiting);
    s->nunknown++;
    if (s->nunknown > CH_LIMIT_CLIENTS_UNKNOWN || s->nclients > CH_LIMIT_CLIENTS)
        drop(CH_LIST_FIRST(&s->unknown, struct ch_exchange, waiting));
}

static void drop(struct ch_exchange *x) {
    struct ch_server *s = x->server;
    if (x->phase == CLOSED)
        return;
    x->phase = CLOSED;
    known(x);
    ch_list_del(&x->link);
    s->nclients--;
    ch_timer_stop(s->loop, &x->deadline);
    ch_task_cancel(s->loop, &x->next);
    ch_inbound_release(&x->in);
    ch_buf_release(&x->ahead);
    ch_buf_release(&x->headers);
    uv_close((uv_handle_t *)&x->tcp, on_closed);
}

/* The owner, if they are at work on it, hears of it first. */
static void leave(struct ch_exchange *x) {
    void (*gone)(struct ch_exchange *, void *) = CH_TAKE(x->gone);
    if (gone && !x->server->closed)
        gone(x, x->user);
    drop(x);
}

static void leave_task(struct ch_task *t) {
    leave(CH_CONTAINER(t, struct ch_exchange, next));
}

static void leave_soon(struct ch_exchange *x) {
    x->left = true;
    uv_read_stop((uv_stream_t *)&x->tcp);
    x->next.fn = leave_task;
    ch_task_defer(x->server->loop, &x->next);
}

static void wait_until(struct ch_exchange *x, int64_t ms) {
    ch_timer_start(x->server->loop, &x->deadline, ms, on_deadline);
}

/* --- writing */

static size_t unsent(const struct ch_exchange *x) {
    return uv_stream_get_write_queue_size((const uv_stream_t *)&x->tcp);
}

static void on_written(uv_write_t *req, int status) {
    struct ch_exchange *x = req->data;
    ch_free(CH_CONTAINER(req, struct writing, req));
    if (x->phase == CLOSED || x->left)
        return;
    if (status < 0)
        leave(x);
    else if (unsent(x) > 0)
        wait_until(x, CH_LIMIT_CLIENT_STALL_MS);
    else if (x->phase == LAST_WORDS)
        wait_until(x, CH_LIMIT_CLIENT_LINGER_MS);
    else if (x->phase >= ANSWER)
        ch_timer_stop(x->server->loop, &x->deadline);
}

static void write_later(struct ch_exchange *x, struct ch_sv bytes) {
    struct writing *w = ch_malloc(sizeof(*w) + bytes.n);
    struct ch_sigpipe guard;
    memcpy(w->bytes, bytes.p, bytes.n);
    w->req.data = x;
    uv_buf_t buf = {.base = w->bytes, .len = bytes.n};
    if (unsent(x) == 0)
        wait_until(x, CH_LIMIT_CLIENT_STALL_MS);
    ch_sigpipe_block(&guard);
    int rc = uv_write(&w->req, (uv_stream_t *)&x->tcp, &buf, 1, on_written);
    ch_sigpipe_restore(&guard);
    if (rc < 0)
        ch_free(w); /* reading will tell that nobody is there */
}

static void send_bytes(struct ch_exchange *x, struct ch_sv bytes) {
    uv_os_fd_t fd;
    if (unsent(x) == 0 && uv_fileno((uv_handle_t *)&x->tcp, &fd) == 0) {
        ssize_t n = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n > 0)
            bytes = ch_sv(bytes.p + n, bytes.n - (size_t)n);
    }
    if (bytes.n)
        write_later(x, bytes);
}

/* --- answers */

static const char *status_text(int status) {
    switch (status) {
#define TEXT(code, name, text) \
    case code:                 \
        return #text;
        HTTP_STATUS_MAP(TEXT)
#undef TEXT
    }
    return "Unknown";
}

static void add_date(struct ch_exchange *x, struct ch_buf *out) {
    char date[64];
    struct tm tm;
    time_t now = (time_t)(ch_now_ms(ch_loop_clock(x->server->loop)) / 1000);
    if (gmtime_r(&now, &tm) && strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm))
        ch_buf_addf(out, "Date: %s\r\n", date);
}

static void add_head(struct ch_exchange *x, struct ch_buf *out, int status, const char *type) {
    ch_buf_addf(out, "HTTP/1.1 %d %s\r\n", status, status_text(status));
    add_date(x, out);
    if (type)
        ch_buf_addf(out, "Content-Type: %s\r\n", type);
    ch_buf_add_sv(out, ch_buf_sv(&x->headers));
    ch_buf_clear(&x->headers);
    if (!x->keep)
        ch_buf_add_str(out, "Connection: close\r\n");
}

void ch_exchange_header(struct ch_exchange *x, const char *name, const char *value) {
    if (!strpbrk(value, "\r\n"))
        ch_buf_addf(&x->headers, "%s: %s\r\n", name, value);
}

/* A socket that is closed while bytes of the client lie unread is reset, and
 * the client may never see the answer. So: no more from us, and what still
 * comes is thrown away until they close or have had their time. */
static void linger(struct ch_exchange *x) {
    x->phase = LAST_WORDS;
    if (uv_shutdown(&x->shutdown, (uv_stream_t *)&x->tcp, NULL) < 0) {
        drop(x);
        return;
    }
    wait_until(x, unsent(x) ? CH_LIMIT_CLIENT_STALL_MS : CH_LIMIT_CLIENT_LINGER_MS);
}

/* The connection reads the next request, or ends. */
static void go_on(struct ch_task *t) {
    struct ch_exchange *x = CH_CONTAINER(t, struct ch_exchange, next);
    if (!x->keep || x->server->draining) {
        linger(x);
        return;
    }
    ch_inbound_init(&x->in);
    x->phase = READ_HEAD;
    if (unsent(x) == 0)
        wait_until(x, CH_LIMIT_INBOUND_IDLE_MS);
    unknown(x);
    if (x->phase == CLOSED)
        return;
    struct ch_buf ahead = x->ahead;
    x->ahead = (struct ch_buf){0};
    if (ahead.n)
        feed(x, ch_buf_sv(&ahead));
    ch_buf_release(&ahead);
}

static void answered(struct ch_exchange *x) {
    x->gone = NULL;
    x->phase = ANSWER;
    ch_inbound_release(&x->in);
    x->next.fn = go_on;
    ch_task_defer(x->server->loop, &x->next);
}

/* A request that was not read to its end leaves bytes behind that would be
 * taken for the next one. */
static void settle_keeping(struct ch_exchange *x) {
    x->keep = x->keep && x->in.whole && !x->server->draining;
    x->headless = x->in.has_head && strcmp(ch_inbound_method(&x->in), "HEAD") == 0;
    known(x);
    if (unsent(x) == 0)
        ch_timer_stop(x->server->loop, &x->deadline);
}

void ch_exchange_respond(struct ch_exchange *x, int status, const char *type, struct ch_sv body) {
    CH_BUF_AUTO out = {0};
    if (x->phase == CLOSED || x->left)
        return;
    settle_keeping(x);
    add_head(x, &out, status, type);
    if (status != 204)
        ch_buf_addf(&out, "Content-Length: %zu\r\n", body.n);
    ch_buf_add_str(&out, "\r\n");
    if (!x->headless)
        ch_buf_add_sv(&out, body);
    send_bytes(x, ch_buf_sv(&out));
    answered(x);
}

void ch_exchange_stream(struct ch_exchange *x, int status, const char *type) {
    CH_BUF_AUTO out = {0};
    if (x->phase == CLOSED || x->left)
        return;
    x->chunked = !ch_inbound_is_old(&x->in);
    settle_keeping(x);
    x->keep = x->keep && x->chunked;
    add_head(x, &out, status, type);
    ch_buf_add_str(&out, x->chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
    x->phase = STREAM;
    ch_inbound_release(&x->in);
    ch_buf_release(&x->headers);
    send_bytes(x, ch_buf_sv(&out));
}

int ch_exchange_write(struct ch_exchange *x, struct ch_sv bytes) {
    CH_BUF_AUTO out = {0};
    if (x->phase != STREAM || x->left)
        return CHELA_ESTATE;
    if (bytes.n == 0 || x->headless)
        return 0;
    if (unsent(x) > CH_LIMIT_CLIENT_BUFFER) {
        leave_soon(x);
        return CHELA_ELIMIT;
    }
    if (!x->chunked) {
        send_bytes(x, bytes);
        return 0;
    }
    ch_buf_addf(&out, "%zx\r\n", bytes.n);
    ch_buf_add_sv(&out, bytes);
    ch_buf_add_str(&out, "\r\n");
    send_bytes(x, ch_buf_sv(&out));
    return 0;
}

void ch_exchange_end(struct ch_exchange *x) {
    if (x->phase != STREAM || x->left)
        return;
    if (x->chunked)
        send_bytes(x, CH_SV("0\r\n\r\n"));
    answered(x);
}

void ch_exchange_abort(struct ch_exchange *x) {
    if (x->phase == CLOSED)
        return;
    x->gone = NULL;
    leave_soon(x);
}

/* --- reading */

static void refuse(struct ch_exchange *x, int status, const char *why) {
    CH_BUF_AUTO body = {0};
    x->keep = false;
    ch_buf_addf(&body, "%s\n", why);
    ch_exchange_respond(x, status, "text/plain; charset=utf-8", ch_buf_sv(&body));
}

static void on_deadline(struct ch_timer *t) {
    struct ch_exchange *x = CH_CONTAINER(t, struct ch_exchange, deadline);
    bool began = x->in.text.n > 0;
    if (x->left || x->phase == CLOSED)
        return;
    if ((x->phase == READ_HEAD && began) || x->phase == READ_BODY)
        refuse(x, 408, "the request took too long");
    else
        leave(x);
}

/* The owner looks at the head; they may answer at once. */
static void show_head(struct ch_exchange *x) {
    x->keep = ch_inbound_keeps_alive(&x->in);
    x->phase = READ_BODY;
    wait_until(x, CH_LIMIT_INBOUND_BODY_MS);
    struct ch_sv expect = ch_inbound_header(&x->in, "expect");
    x->server->opts.head(x, x->server->opts.user);
    if (x->phase == READ_BODY)
        known(x);
    if (x->phase == READ_BODY && ch_sv_eq_nocase(expect, CH_SV("100-continue")))
        send_bytes(x, CH_SV("HTTP/1.1 100 Continue\r\n\r\n"));
}

static void show_request(struct ch_exchange *x) {
    x->phase = ANSWER;
    ch_timer_stop(x->server->loop, &x->deadline);
    x->server->opts.request(x, x->server->opts.user);
}

/* What cannot be looked at yet is kept, within a bound. */
static void keep_ahead(struct ch_exchange *x, struct ch_sv bytes) {
    if (x->phase == LAST_WORDS || !x->keep)
        return;
    if (x->ahead.n + bytes.n > CH_LIMIT_INBOUND_AHEAD)
        leave_soon(x);
    else
        ch_buf_add_sv(&x->ahead, bytes);
}

static void feed(struct ch_exchange *x, struct ch_sv bytes) {
    size_t taken;
    while (bytes.n && !x->left && (x->phase == READ_HEAD || x->phase == READ_BODY)) {
        if (x->phase == READ_HEAD && x->in.text.n == 0)
            wait_until(x, CH_LIMIT_INBOUND_HEAD_MS);
        enum ch_inbound_state state = ch_inbound_feed(&x->in, bytes, &taken);
        bytes = ch_sv(bytes.p + taken, bytes.n - taken);
        if (state == CH_INBOUND_REFUSED) {
            refuse(x, x->in.refused, x->in.why);
            return;
        }
        if (state == CH_INBOUND_HEAD)
            show_head(x);
        else if (state == CH_INBOUND_WHOLE)
            show_request(x);
    }
    if (bytes.n && !x->left && x->phase != CLOSED)
        keep_ahead(x, bytes);
}

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf) {
    struct ch_exchange *x = h->data;
    (void)suggested;
    *buf = (uv_buf_t){.base = x->server->bytes, .len = READ_SIZE};
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    struct ch_exchange *x = stream->data;
    if (x->left || x->phase == CLOSED)
        return;
    if (n > 0)
        feed(x, ch_sv(buf->base, (size_t)n));
    else if (n < 0)
        leave(x);
}

/* --- accepting */

static void on_connection(uv_stream_t *listener, int status) {
    struct ch_server *s = listener->data;
    if (status < 0 || s->draining) {
        if (status < 0)
            ch_log(CH_LOG_WARN, "server", "cannot accept a connection: %s", uv_strerror(status));
        return;
    }
    struct ch_exchange *x = ch_alloc(sizeof(*x));
    x->server = s;
    uv_tcp_init(ch_loop_uv(s->loop), &x->tcp);
    x->tcp.data = x;
    s->handles++;
    s->nclients++;
    ch_list_add(&s->clients, &x->link);
    ch_inbound_init(&x->in);
    if (uv_accept(listener, (uv_stream_t *)&x->tcp) < 0) {
        drop(x);
        return;
    }
    uv_tcp_nodelay(&x->tcp, 1);
    wait_until(x, CH_LIMIT_INBOUND_HEAD_MS);
    if (uv_read_start((uv_stream_t *)&x->tcp, on_alloc, on_read) < 0)
        drop(x);
    else
        unknown(x);
}

/* --- life */

static int read_address(const char *text, struct sockaddr_storage *out, struct chela_error *err) {
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    long port = colon && colon[1] ? strtol(colon + 1, &end, 10) : -1;
    if (port < 0 || port > 65535 || *end || colon == text)
        return ch_fail(err, CHELA_EINVAL, "'%s' is no address to listen at: use HOST:PORT", text);
    bool bracketed = text[0] == '[' && colon[-1] == ']';
    CH_AUTOFREE char *host = bracketed ? ch_strndup(text + 1, (size_t)(colon - text) - 2)
                                       : ch_strndup(text, (size_t)(colon - text));
    const char *ip = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    if (bracketed ? uv_ip6_addr(ip, (int)port, (struct sockaddr_in6 *)out) == 0
                  : uv_ip4_addr(ip, (int)port, (struct sockaddr_in *)out) == 0)
        return 0;
    return ch_fail(err, CHELA_EINVAL,
                   "'%s' is no address to listen at: the host is an IP address ([::1] for IPv6) "
                   "or localhost",
                   text);
}

static char *name_of(const struct sockaddr_storage *a) {
    char ip[INET6_ADDRSTRLEN] = "";
    CH_BUF_AUTO out = {0};
    const struct sockaddr_in6 *six = (const void *)a;
    const struct sockaddr_in *four = (const void *)a;
    if (a->ss_family == AF_INET6) {
        uv_ip6_name(six, ip, sizeof(ip));
        ch_buf_addf(&out, "[%s]:%d", ip, ntohs(six->sin6_port));
    } else {
        uv_ip4_name(four, ip, sizeof(ip));
        ch_buf_addf(&out, "%s:%d", ip, ntohs(four->sin_port));
    }
    return ch_buf_take(&out);
}

static void on_listener_closed(uv_handle_t *h) {
    closed_one(h->data);
}

static int begin_listening(struct ch_server *s, const struct sockaddr_storage *a,
                           struct chela_error *err) {
    struct sockaddr_storage real = {0};
    int n = sizeof(real);
    int rc = uv_tcp_bind(&s->tcp, (const struct sockaddr *)a, 0);
    if (rc == 0)
        rc = uv_listen((uv_stream_t *)&s->tcp, BACKLOG, on_connection);
    if (rc == 0)
        rc = uv_tcp_getsockname(&s->tcp, (struct sockaddr *)&real, &n);
    if (rc < 0)
        return ch_fail(err, CHELA_EIO, "cannot listen at %s: %s", s->opts.listen, uv_strerror(rc));
    s->address = name_of(&real);
    return 0;
}

int ch_server_new(struct ch_loop *loop, const struct ch_server_opts *opts, struct ch_server **out,
                  struct chela_error *err) {
    struct sockaddr_storage address = {0};
    int rc = read_address(opts->listen, &address, err);
    if (rc < 0)
        return rc;
    struct ch_server *s = ch_alloc(sizeof(*s));
    s->loop = loop;
    s->opts = *opts;
    s->bytes = ch_malloc(READ_SIZE);
    ch_list_init(&s->clients);
    ch_list_init(&s->unknown);
    uv_tcp_init(ch_loop_uv(loop), &s->tcp);
    s->tcp.data = s;
    s->handles = 1;
    rc = begin_listening(s, &address, err);
    if (rc < 0)
        ch_server_close(s);
    else
        *out = s;
    return rc;
}

const char *ch_server_address(const struct ch_server *s) {
    return s->address;
}

size_t ch_server_clients(const struct ch_server *s) {
    return s->nclients;
}

static void close_listener(struct ch_server *s) {
    if (!uv_is_closing((uv_handle_t *)&s->tcp))
        uv_close((uv_handle_t *)&s->tcp, on_listener_closed);
}

void ch_server_drain(struct ch_server *s) {
    s->draining = true;
    close_listener(s);
    struct ch_link *k = s->clients.head.next, *next;
    for (; k != &s->clients.head; k = next) {
        struct ch_exchange *x = CH_CONTAINER(k, struct ch_exchange, link);
        next = k->next;
        if (x->phase == READ_HEAD && x->in.text.n == 0)
            drop(x);
    }
}

void ch_server_close(struct ch_server *s) {
    if (!s)
        return;
    s->closed = true;
    for (struct ch_exchange *x; (x = CH_LIST_FIRST(&s->clients, struct ch_exchange, link));)
        drop(x);
    close_listener(s);
}

const struct ch_inbound *ch_exchange_inbound(const struct ch_exchange *x) {
    return &x->in;
}

const char *ch_exchange_peer(struct ch_exchange *x) {
    struct sockaddr_storage a = {0};
    int n = sizeof(a);
    if (x->peer[0] || uv_tcp_getpeername(&x->tcp, (struct sockaddr *)&a, &n) < 0)
        return x->peer;
    if (a.ss_family == AF_INET6)
        uv_ip6_name((const struct sockaddr_in6 *)&a, x->peer, sizeof(x->peer));
    else
        uv_ip4_name((const struct sockaddr_in *)&a, x->peer, sizeof(x->peer));
    return x->peer;
}

void ch_exchange_attach(struct ch_exchange *x, void (*gone)(struct ch_exchange *x, void *user),
                        void *user) {
    x->gone = gone;
    x->user = user;
}
