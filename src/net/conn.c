/* conn.c -- see conn.h for the states.
 *
 * A plain socket writes head and body pieces in one gather call without
 * copying. With TLS the message is encrypted one record at a time, as fast as
 * the kernel takes data, so that neither a large body nor a slow peer makes
 * memory grow. Only data that the kernel does not take at once is copied. */
#include "net/conn.h"

#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/sigpipe.h"
#include "net/response.h"

/* A write that libuv completes, with a copy of the bytes if needed. */
struct ch_conn_write {
    uv_write_t req;
    struct ch_conn *conn;
    char bytes[];
};

struct ch_tunnel {
    struct ch_response response; /* response to CONNECT */
    int status;
};

static const char *const state_names[] = {"dialing", "tunnel", "handshake", "open", "closed"};

static void conn_enter(struct ch_conn *c, enum ch_conn_state next) {
    CH_TRACE("net", "%s: %s -> %s", c->label, state_names[c->state], state_names[next]);
    c->state = next;
}

/* c may be freed when this returns. */
static void report_gone(struct ch_conn *c, const struct chela_error *err) {
    if (c->tcp)
        uv_read_stop((uv_stream_t *)c->tcp);
    c->events->gone(c, err, c->user);
}

/* --- sending */

static void conn_on_written(uv_write_t *req, int status);

/* Send what the kernel takes at once. uv_try_write is not used: it raises
 * SIGPIPE if the peer has gone, and a request may start outside the loop's
 * SIGPIPE guard. A failure counts as nothing sent; the next write reports it
 * too. */
static size_t conn_send_now(struct ch_conn *c, uv_buf_t *bufs, size_t n) {
    struct msghdr msg = {.msg_iov = (struct iovec *)bufs, .msg_iovlen = CH_MIN(n, IOV_MAX)};
    uv_os_fd_t fd;

    if (uv_fileno((uv_handle_t *)c->tcp, &fd) < 0)
        return 0;
    ssize_t k = sendmsg(fd, &msg, MSG_NOSIGNAL);
    return k > 0 ? (size_t)k : 0;
}

static void conn_send_later(struct ch_conn *c, struct ch_conn_write *w, const uv_buf_t *bufs,
                            size_t n) {
    struct ch_sigpipe guard;

    w->conn = c;
    c->writing = w;
    ch_sigpipe_block(&guard);
    /* Fails only for a socket that is closed or was never connected. */
    uv_write(&w->req, (uv_stream_t *)c->tcp, bufs, (unsigned)n, conn_on_written);
    ch_sigpipe_restore(&guard);
}

static void message_sent(struct ch_conn *c) {
    c->sending = false;
    ch_buf_release(&c->head);
}

/* The next part of the message, at most max bytes. */
static struct ch_sv conn_next_part(struct ch_conn *c, size_t max) {
    while (c->sending && c->piece <= c->nbody) {
        struct ch_sv all = c->piece == 0 ? ch_buf_sv(&c->head) : c->body[c->piece - 1];
        if (c->offset < all.n) {
            size_t n = CH_MIN(all.n - c->offset, max);
            c->offset += n;
            return ch_sv(all.p + c->offset - n, n);
        }
        c->piece++;
        c->offset = 0;
    }
    return ch_sv("", 0);
}

/* Write the encrypted data of the TLS object. True if all of it was sent. */
static bool conn_flush(struct ch_conn *c) {
    struct ch_shared *s = c->shared;
    long n;

    if (c->writing)
        return false;
    while ((n = s->tls->drain(c->tls, s->cipher, CH_CIPHER_SIZE)) > 0) {
        uv_buf_t buf = {.base = s->cipher, .len = (size_t)n};
        size_t taken = conn_send_now(c, &buf, 1);
        if (taken == buf.len)
            continue;
        buf.len -= taken;
        struct ch_conn_write *w = ch_malloc(sizeof(*w) + buf.len);
        buf.base = memcpy(w->bytes, s->cipher + taken, buf.len);
        conn_send_later(c, w, &buf, 1);
        return false;
    }
    return true;
}

/* Encrypt and write more. True if this completed the message. */
static bool conn_pump(struct ch_conn *c) {
    while (conn_flush(c)) {
        size_t queued = 0;
        while (queued < CH_PLAIN_SIZE) {
            struct ch_sv part = conn_next_part(c, CH_PLAIN_SIZE - queued);
            if (part.n == 0)
                break;
            if (c->shared->tls->write(c->tls, part.p, part.n, NULL) < 0)
                return false; /* reading reports the reason */
            queued += part.n;
        }
        if (queued)
            continue;
        bool completed = c->sending;
        if (completed)
            message_sent(c);
        return completed;
    }
    return false;
}

static size_t list_buffers(const struct ch_conn *c, uv_buf_t *bufs) {
    size_t n = 0;
    bufs[n++] = (uv_buf_t){.base = c->head.p, .len = c->head.n};
    for (size_t i = 0; i < c->nbody; i++)
        if (c->body[i].n)
            bufs[n++] = (uv_buf_t){.base = (char *)(uintptr_t)c->body[i].p, .len = c->body[i].n};
    return n;
}

static void send_plain(struct ch_conn *c) {
    uv_buf_t few[8], *many = NULL, *bufs = few;
    if (c->nbody + 1 > CH_LEN(few))
        bufs = many = ch_malloc((c->nbody + 1) * sizeof(*many));
    size_t n = list_buffers(c, bufs);

    size_t taken = conn_send_now(c, bufs, n);
    while (n && taken >= bufs->len) {
        taken -= bufs->len;
        bufs++;
        n--;
    }
    if (n == 0) {
        message_sent(c);
    } else {
        bufs->base += taken;
        bufs->len -= taken;
        conn_send_later(c, ch_malloc(sizeof(struct ch_conn_write)), bufs, n);
    }
    ch_free(many);
}

static void conn_on_written(uv_write_t *req, int status) {
    struct ch_conn *c = CH_CONTAINER(req, struct ch_conn_write, req)->conn;

    ch_free(CH_TAKE(c->writing));
    if (c->state == CH_CONN_CLOSED || status < 0)
        return; /* after a failure, the next read reports the state of the peer */
    CH_LOOP_CALLBACK(c->shared->loop);
    bool completed = true;
    if (c->tls)
        completed = conn_pump(c);
    else
        message_sent(c);
    if (completed && c->state == CH_CONN_OPEN)
        c->events->sent(c, c->user);
}

static void set_message(struct ch_conn *c, struct ch_buf *head, const struct ch_sv *body,
                        size_t nbody) {
    c->head = *head;
    *head = (struct ch_buf){0};
    c->body = body;
    c->nbody = nbody;
    c->piece = c->offset = 0;
    c->sending = true;
}

void ch_conn_send(struct ch_conn *c, struct ch_buf *head, const struct ch_sv *body, size_t nbody) {
    set_message(c, head, body, nbody);
    if (c->tls)
        conn_pump(c);
    else
        send_plain(c);
}

/* --- TLS */

static void tls_step(struct ch_conn *c) {
    const struct chela_tls_ops *tls = c->shared->tls;
    struct chela_error err = {0};
    int eof = 0;
    long n;

    if (c->state == CH_CONN_HANDSHAKE) {
        int rc = tls->handshake(c->tls, &err);
        conn_pump(c); /* also after a failure, to send the alert */
        if (rc < 0)
            report_gone(c, &err);
        if (rc <= 0)
            return;
        conn_enter(c, CH_CONN_OPEN);
        c->events->ready(c, c->user);
    }
    while (c->state == CH_CONN_OPEN &&
           (n = tls->read(c->tls, c->shared->plain, CH_PLAIN_SIZE, &eof, &err)) != 0) {
        if (n < 0) {
            report_gone(c, &err);
            return;
        }
        c->events->bytes(c, c->shared->plain, (size_t)n, c->user);
    }
    if (c->state == CH_CONN_CLOSED)
        return;
    if (eof) {
        report_gone(c, NULL);
        return;
    }
    if (conn_pump(c)) /* key updates may need an answer and may have blocked sending */
        c->events->sent(c, c->user);
}

static void start_tls(struct ch_conn *c) {
    struct chela_error err = {0};

    conn_enter(c, CH_CONN_HANDSHAKE);
    if (c->shared->tls->open(c->shared->tls_context, c->host, &c->tls, &err) < 0)
        report_gone(c, &err);
    else
        tls_step(c);
}

static void tls_bytes(struct ch_conn *c, struct ch_sv bytes) {
    struct chela_error err = {0};
    if (c->shared->tls->feed(c->tls, bytes.p, bytes.n, &err) < 0)
        report_gone(c, &err);
    else
        tls_step(c);
}

/* --- the tunnel through a proxy */

static bool tunnel_head(const struct ch_http_head *head, void *user) {
    struct ch_tunnel *t = user;
    t->status = head->status;
    return true;
}

static bool tunnel_data(struct ch_sv data, void *user) {
    (void)data, (void)user;
    return true;
}

static const struct ch_response_events tunnel_events = {tunnel_head, tunnel_data};

static void start_tunnel(struct ch_conn *c) {
    struct ch_buf head = {0};

    conn_enter(c, CH_CONN_TUNNEL);
    c->tunnel = ch_alloc(sizeof(*c->tunnel));
    ch_response_init(&c->tunnel->response, "the proxy", &tunnel_events, c->tunnel);
    c->tunnel->response.skip_body = true;
    ch_proxy_add_connect(&head, c->proxy, c->host, c->port);
    set_message(c, &head, NULL, 0);
    send_plain(c);
}

static void drop_tunnel(struct ch_conn *c) {
    if (!c->tunnel)
        return;
    ch_response_release(&c->tunnel->response);
    ch_free(CH_TAKE(c->tunnel));
}

static void tunnel_bytes(struct ch_conn *c, char *bytes, size_t n) {
    struct chela_error err = {0};
    size_t used;
    int rc = ch_response_feed(&c->tunnel->response, bytes, n, &used, &err);

    if (rc == CH_RESPONSE_MORE)
        return;
    int status = c->tunnel->status;
    drop_tunnel(c);
    if (rc == CH_RESPONSE_DONE && status / 100 != 2)
        rc = ch_proxy_refused(c->proxy, status, c->label, &err);
    else if (rc == CH_RESPONSE_DONE && (used < n || c->sending))
        rc = ch_fail(&err, CHELA_EPROTO, "the proxy broke the CONNECT to %s", c->label);
    if (rc < 0)
        report_gone(c, &err);
    else
        start_tls(c);
}

/* --- receiving */

static void describe_end(const struct ch_conn *c, int rc, struct chela_error *err) {
    if (c->state == CH_CONN_TUNNEL)
        ch_fail(err, CHELA_ENET, "proxy %s:%u closed the connection to %s", c->proxy->host,
                c->proxy->port, c->label);
    else if (c->state == CH_CONN_HANDSHAKE)
        ch_fail(err, CHELA_ENET, "connection closed by %s during the TLS handshake", c->label);
    else if (rc == UV_EOF)
        ch_fail(err, CHELA_ENET, "connection closed by %s without a TLS close_notify", c->label);
    else if (rc == UV_ECONNRESET)
        ch_fail(err, CHELA_ENET, "connection reset by %s", c->label);
    else
        ch_fail(err, CHELA_ENET, "connection to %s failed: %s", c->label, uv_strerror(rc));
}

static void read_ended(struct ch_conn *c, int rc) {
    struct chela_error err = {0};

    if (rc == UV_EOF && c->state == CH_CONN_OPEN && !c->tls) {
        report_gone(c, NULL);
        return;
    }
    describe_end(c, rc, &err);
    report_gone(c, &err);
}

static void conn_on_alloc(uv_handle_t *handle, size_t hint, uv_buf_t *buf) {
    struct ch_conn *c = handle->data;
    (void)hint;
    *buf = (uv_buf_t){.base = c->shared->in, .len = CH_READ_SIZE};
}

static void conn_on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    struct ch_conn *c = stream->data;
    CH_LOOP_CALLBACK(c->shared->loop);

    if (n == 0)
        return;
    if (n < 0)
        read_ended(c, (int)n);
    else if (c->tunnel)
        tunnel_bytes(c, buf->base, (size_t)n);
    else if (c->tls)
        tls_bytes(c, ch_sv(buf->base, (size_t)n));
    else
        c->events->bytes(c, buf->base, (size_t)n, c->user);
}

/* --- opening and closing */

static void on_dialed(uv_tcp_t *tcp, const struct chela_error *err, void *user) {
    struct ch_conn *c = user;

    c->dial = NULL;
    if (!tcp) {
        report_gone(c, err);
        return;
    }
    c->tcp = tcp;
    tcp->data = c;
    uv_read_start((uv_stream_t *)tcp, conn_on_alloc, conn_on_read);
    if (c->wants_tls && c->proxy) {
        start_tunnel(c);
    } else if (c->wants_tls) {
        start_tls(c);
    } else {
        conn_enter(c, CH_CONN_OPEN);
        c->events->ready(c, c->user);
    }
}

/* A connection with the names of its route. */
static struct ch_conn *conn_alloc(const struct ch_conn_route *route) {
    size_t n = route->host.n, label = n + sizeof("[]:65535");
    struct ch_conn *c = ch_alloc(sizeof(*c) + n + 1 + label);
    bool v6 = n && memchr(route->host.p, ':', n);
    if (n)
        memcpy(c->names, route->host.p, n);
    c->host = c->names;
    c->label = c->names + n + 1;
    snprintf(c->names + n + 1, label, v6 ? "[%s]:%u" : "%s:%u", c->host, route->port);
    return c;
}

int ch_conn_open(struct ch_shared *shared, const struct ch_conn_route *route,
                 const struct ch_conn_events *events, void *user, struct ch_conn **out,
                 struct chela_error *err) {
    struct ch_conn *c = conn_alloc(route);

    c->shared = ch_shared_ref(shared);
    c->port = route->port;
    c->wants_tls = route->tls;
    c->proxy = route->proxy;
    ch_conn_hold(c, events, user);
    struct ch_dial_opts to = {shared->loop, shared->resolver, c->host,      c->port,
                              "",           route->filter,    route->socket};
    if (c->proxy) {
        to.host = c->proxy->host;
        to.port = c->proxy->port;
        to.what = "proxy ";
    }
    c->dial = ch_dial_start(&to, on_dialed, c);
    /* While dialing: loading the module takes milliseconds. */
    int rc = route->tls ? ch_shared_need_tls(shared, err) : CHELA_OK;
    if (rc < 0)
        ch_conn_close(c);
    else
        *out = c;
    return rc;
}

static void free_conn(struct ch_conn *c) {
    ch_free(c->writing);
    ch_free(c->tcp);
    ch_shared_unref(c->shared);
    ch_free(c);
}

static void conn_on_closed(uv_handle_t *handle) {
    free_conn(handle->data);
}

void ch_conn_close(struct ch_conn *c) {
    if (!c || c->state == CH_CONN_CLOSED)
        return;
    conn_enter(c, CH_CONN_CLOSED);
    ch_dial_cancel(CH_TAKE(c->dial));
    drop_tunnel(c);
    if (c->tls)
        c->shared->tls->close(CH_TAKE(c->tls));
    message_sent(c);
    if (c->tcp)
        uv_close((uv_handle_t *)c->tcp, conn_on_closed);
    else
        free_conn(c);
}

void ch_conn_hold(struct ch_conn *c, const struct ch_conn_events *events, void *user) {
    c->events = events;
    c->user = user;
}

void ch_conn_set_idle(struct ch_conn *c, bool idle) {
    if (idle)
        uv_unref((uv_handle_t *)c->tcp);
    else
        uv_ref((uv_handle_t *)c->tcp);
}

bool ch_conn_leads_to(const struct ch_conn *c, const struct ch_conn_route *route) {
    if (c->wants_tls != route->tls || c->proxy != route->proxy)
        return false;
    if (c->proxy && !c->wants_tls)
        return true; /* the proxy is the peer, whatever the target */
    return c->port == route->port && ch_sv_eq_nocase(ch_sv_str(c->host), route->host);
}
