/* forward.c -- see forward.h.
 *
 *     HEAD --allowed--> DIALING --connected--> RELAY --both sides ended--> CLOSED
 *        \--refused, fault--> ANSWER ------------------------------------> CLOSED
 *                      \--no connection--/
 *
 * libuv keeps a handle until its close callback. A connection is freed when its handles and its
 * writes are gone; from CLOSED on it has no owner. */
#include "net/forward.h"

#include <netinet/in.h>
#include <unistd.h>
#include <uv.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/mem.h"
#include "net/dial.h"
#include "net/http1.h"

#define BACKLOG 128
#define CHUNK (64 * CH_KB)

enum forward_state { HEAD, DIALING, RELAY, ANSWER, CLOSED };

struct forward_side {
    uv_tcp_t *tcp; /* owned; NULL: not there */
    bool ended;    /* it sends no more */
    bool stopped;  /* it is not read, because the other side does not take more */
};

struct forward_conn {
    struct ch_link link; /* in owner->conns, until CLOSED */
    struct ch_forward *owner;
    enum forward_state state;
    unsigned busy; /* handles and requests that libuv keeps */
    struct forward_side client, server;
    struct ch_http1 request;
    bool tunnel;
    struct ch_buf address; /* of the destination, as the client wrote it; `to` points into it */
    struct ch_url to;
    bool named;
    struct ch_address_filter filter;
    struct ch_dial *dial;
    struct ch_buf early; /* bytes of the client after the head, until the server is there */
    struct ch_timer patience;
};

struct ch_forward {
    struct ch_forward_opts opts;
    struct ch_resolver *resolver; /* owned */
    uv_tcp_t *listener;           /* owned */
    struct ch_list conns;
    size_t nconns;
    char chunk[CHUNK]; /* what was read last */
};

/* A write that libuv could not do at once. */
struct forward_write {
    uv_write_t req;
    struct forward_conn *conn;
    char data[];
};

/* --- the end of a connection ------------------------------------------------------------- */

static void forward_release(struct forward_conn *c) {
    if (c->busy || c->state != CLOSED)
        return;
    ch_http1_release(&c->request);
    ch_buf_release(&c->address);
    ch_buf_release(&c->early);
    ch_free(c);
}

static void forward_on_closed(uv_handle_t *h) {
    struct forward_conn *c = h->data;

    ch_free(h);
    c->busy--;
    forward_release(c);
}

static void close_side(struct forward_conn *c, struct forward_side *side) {
    uv_tcp_t *tcp = CH_TAKE(side->tcp);

    if (!tcp)
        return;
    tcp->data = c;
    uv_close((uv_handle_t *)tcp, forward_on_closed);
}

static void conn_close(struct forward_conn *c) {
    if (c->state == CLOSED)
        return;
    c->state = CLOSED;
    ch_list_del(&c->link);
    c->owner->nconns--;
    ch_timer_stop(c->owner->opts.loop, &c->patience);
    ch_dial_cancel(CH_TAKE(c->dial));
    close_side(c, &c->client);
    close_side(c, &c->server);
    forward_release(c);
}

static void on_impatient(struct ch_timer *t) {
    conn_close(CH_CONTAINER(t, struct forward_conn, patience));
}

static void be_patient(struct forward_conn *c) {
    ch_timer_start(c->owner->opts.loop, &c->patience,
                   c->state == HEAD ? CH_LIMIT_FORWARD_HEAD_MS : CH_LIMIT_FORWARD_IDLE_MS,
                   on_impatient);
}

/* --- bytes from one side to the other ------------------------------------------------------ */

static void forward_read(struct forward_conn *c, struct forward_side *side);

static struct forward_side *other_side(struct forward_conn *c, struct forward_side *side) {
    return side == &c->client ? &c->server : &c->client;
}

static void on_shut(uv_shutdown_t *req, int status) {
    struct forward_conn *c = req->data;
    struct ch_loop *loop = c->state == CLOSED ? NULL : c->owner->opts.loop;
    CH_LOOP_CALLBACK(loop);

    (void)status;
    ch_free(req);
    c->busy--;
    bool over = c->state == ANSWER || (c->client.ended && c->server.ended);
    if (c->state != CLOSED && over)
        conn_close(c);
    else
        forward_release(c);
}

/* Nothing more is written to this side. */
static void shut_side(struct forward_conn *c, struct forward_side *side) {
    uv_shutdown_t *req = ch_alloc(sizeof(*req));

    req->data = c;
    c->busy++;
    if (uv_shutdown(req, (uv_stream_t *)side->tcp, on_shut) == 0)
        return;
    ch_free(req);
    c->busy--;
    conn_close(c);
}

static void on_written(uv_write_t *req, int status) {
    struct forward_write *w = CH_CONTAINER(req, struct forward_write, req);
    struct forward_conn *c = w->conn;
    struct ch_loop *loop = c->state == CLOSED ? NULL : c->owner->opts.loop;
    CH_LOOP_CALLBACK(loop);

    ch_free(w);
    c->busy--;
    if (c->state == CLOSED) {
        forward_release(c);
        return;
    }
    if (status < 0) {
        conn_close(c);
        return;
    }
    be_patient(c);
    struct forward_side *sides[] = {&c->client, &c->server};
    for (size_t i = 0; i < CH_LEN(sides) && c->state == RELAY; i++) {
        const struct forward_side *to = other_side(c, sides[i]);
        if (sides[i]->stopped && to->tcp &&
            uv_stream_get_write_queue_size((const uv_stream_t *)to->tcp) == 0)
            forward_read(c, sides[i]);
    }
}

/* Send bytes, which are copied if they have to wait. */
static void forward_send(struct forward_conn *c, struct forward_side *to, struct ch_sv bytes) {
    uv_buf_t buf = uv_buf_init((char *)bytes.p, (unsigned)bytes.n);
    int n = bytes.n ? uv_try_write((uv_stream_t *)to->tcp, &buf, 1) : 0;

    if (n < 0 && n != UV_EAGAIN) {
        conn_close(c);
        return;
    }
    bytes = ch_sv(bytes.p + CH_MAX(n, 0), bytes.n - (size_t)CH_MAX(n, 0));
    if (!bytes.n)
        return;
    struct forward_write *w = ch_alloc(sizeof(*w) + bytes.n);
    memcpy(w->data, bytes.p, bytes.n);
    w->conn = c;
    c->busy++;
    buf = uv_buf_init(w->data, (unsigned)bytes.n);
    if (uv_write(&w->req, (uv_stream_t *)to->tcp, &buf, 1, on_written) == 0)
        return;
    ch_free(w);
    c->busy--;
    conn_close(c);
}

static void hold_back(struct forward_conn *c, struct forward_side *from) {
    const struct forward_side *to = other_side(c, from);

    if (c->state != RELAY || !to->tcp ||
        uv_stream_get_write_queue_size((const uv_stream_t *)to->tcp) < CH_LIMIT_FORWARD_BUFFER)
        return;
    from->stopped = true;
    uv_read_stop((uv_stream_t *)from->tcp);
}

/* --- the answer of the proxy ---------------------------------------------------------------- */

static void forward_answer(struct forward_conn *c, int status, const char *phrase,
                           const char *text) {
    CH_BUF_AUTO out = {0};

    ch_buf_addf(&out,
                "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
                "Content-Length: %zu\r\nConnection: close\r\n\r\n%s\n",
                status, phrase, strlen(text) + 1, text);
    c->state = ANSWER;
    uv_read_stop((uv_stream_t *)c->client.tcp);
    forward_send(c, &c->client, ch_buf_sv(&out));
    if (c->state == ANSWER)
        shut_side(c, &c->client);
}

/* --- a plain request ------------------------------------------------------------------------ */

/* Headers that are between the client and this proxy, or that are written anew. */
static bool stays_here(struct ch_sv name) {
    static const char *const names[] = {"host",       "connection", "proxy-connection",
                                        "keep-alive", "upgrade",    "proxy-authorization",
                                        "te",         "trailer",    "transfer-encoding"};
    for (size_t i = 0; i < CH_LEN(names); i++)
        if (ch_sv_is(name, names[i]))
            return true;
    return false;
}

static void send_head(struct forward_conn *c) {
    CH_BUF_AUTO out = {0};
    struct ch_sv name, value;

    ch_buf_addf(&out, "%s ", c->request.method);
    ch_url_add_target(&out, &c->to);
    ch_buf_add_str(&out, " HTTP/1.1\r\nHost: ");
    ch_url_add_authority(&out, &c->to);
    ch_buf_add_str(&out, "\r\n");
    for (size_t i = 0; i < ch_http1_count(&c->request); i++) {
        ch_http1_header_at(&c->request, i, &name, &value);
        if (!stays_here(name))
            ch_buf_addf(&out, "%.*s: %.*s\r\n", CH_SV_FMT(name), CH_SV_FMT(value));
    }
    ch_buf_addf(&out, "%sConnection: close\r\n\r\n",
                c->request.chunked ? "Transfer-Encoding: chunked\r\n" : "");
    ch_http1_drop_head(&c->request);
    forward_send(c, &c->server, ch_buf_sv(&out));
}

static void send_part(struct forward_conn *c, struct ch_sv data) {
    CH_BUF_AUTO out = {0};

    if (c->request.chunked)
        ch_buf_addf(&out, "%zx\r\n", data.n);
    ch_buf_add_sv(&out, data);
    if (c->request.chunked)
        ch_buf_add_str(&out, "\r\n");
    forward_send(c, &c->server, ch_buf_sv(&out));
}

/* The body ends where this proxy says that it ends: more bytes are no second request. */
static void send_body(struct forward_conn *c, struct ch_sv bytes) {
    while (c->state == RELAY && !c->client.ended) {
        struct ch_sv data = {0};
        size_t taken = 0;
        enum ch_http1_state state = ch_http1_feed(&c->request, bytes, &taken, &data);
        bytes = ch_sv(bytes.p + taken, bytes.n - taken);
        if (state == CH_HTTP1_FAULT) {
            conn_close(c);
        } else if (state == CH_HTTP1_DATA) {
            send_part(c, data);
        } else if (state == CH_HTTP1_DONE) {
            if (c->request.chunked)
                forward_send(c, &c->server, CH_SV("0\r\n\r\n"));
            c->client.ended = true;
        } else {
            return;
        }
    }
}

/* --- the destination -------------------------------------------------------------------------- */

static const char *forward_refuse(const struct sockaddr *at, void *user) {
    const struct forward_conn *c = user;
    const struct ch_forward_opts *o = &c->owner->opts;

    return o->refuses(&c->to, at, c->named, o->user);
}

static void begin_relay(struct forward_conn *c) {
    CH_BUF_AUTO early = c->early;

    c->early = (struct ch_buf){0};
    c->state = RELAY;
    if (c->tunnel) {
        forward_send(c, &c->client, CH_SV("HTTP/1.1 200 Connection established\r\n\r\n"));
        if (c->state == RELAY)
            forward_send(c, &c->server, ch_buf_sv(&early));
    } else {
        send_head(c);
        send_body(c, ch_buf_sv(&early));
    }
    if (c->state == RELAY && !c->client.ended)
        forward_read(c, &c->client);
    if (c->state == RELAY)
        forward_read(c, &c->server);
}

static void forward_on_dialled(uv_tcp_t *tcp, const struct chela_error *err, void *user) {
    struct forward_conn *c = user;

    c->dial = NULL;
    if (!tcp) {
        CH_BUF_AUTO text = {0};
        ch_buf_addf(&text, "chela: %s", err->message);
        bool refused = err->code == CHELA_EPERM;
        forward_answer(c, refused ? 403 : 502, refused ? "Forbidden" : "Bad Gateway",
                       ch_buf_str(&text));
        return;
    }
    c->server.tcp = tcp;
    c->busy++;
    begin_relay(c);
}

static bool read_destination(struct forward_conn *c) {
    struct ch_http1 *r = &c->request;

    c->tunnel = strcmp(r->method, "CONNECT") == 0;
    ch_buf_add(&c->address, ch_buf_str(&r->text) + r->target, r->target_n);
    struct ch_sv text = ch_buf_sv(&c->address);
    if (!c->tunnel)
        return ch_url_parse(text, &c->to, NULL) == 0 && !c->to.tls && !c->to.userinfo.p;
    if (ch_url_parse_host(text, true, &c->to) < 0)
        return false;
    c->to.tls = c->to.port != 80;
    return true;
}

static void dial(struct forward_conn *c) {
    CH_AUTOFREE char *host = ch_strndup(c->to.host.p, c->to.host.n);

    c->state = DIALING;
    be_patient(c);
    uv_read_stop((uv_stream_t *)c->client.tcp);
    c->filter = (struct ch_address_filter){forward_refuse, c};
    struct ch_dial_opts opts = {.loop = c->owner->opts.loop,
                                .resolver = c->owner->resolver,
                                .host = host,
                                .port = c->to.port,
                                .what = "",
                                .filter = &c->filter};
    c->dial = ch_dial_start(&opts, forward_on_dialled, c);
}

static void forward_on_head(struct forward_conn *c) {
    const struct ch_forward_opts *o = &c->owner->opts;
    CH_BUF_AUTO why = {0};

    if (!read_destination(c))
        forward_answer(c, 400, "Bad Request", "chela: the destination is no http:// URL or host");
    else if (!o->allows(&c->to, &c->named, &why, o->user))
        forward_answer(c, 403, "Forbidden", ch_buf_str(&why));
    else
        dial(c);
}

/* --- reading --------------------------------------------------------------------------------- */

/* The last byte of the head is taken by the call after the head; a tunnel's bytes follow. */
static void keep_rest(struct forward_conn *c, struct ch_sv rest) {
    if (c->tunnel && rest.n)
        rest = ch_sv(rest.p + 1, rest.n - 1);
    ch_buf_add_sv(&c->early, rest);
}

static void on_request(struct forward_conn *c, struct ch_sv bytes) {
    struct ch_sv data;
    size_t taken = 0;
    enum ch_http1_state state = ch_http1_feed(&c->request, bytes, &taken, &data);

    if (state == CH_HTTP1_FAULT) {
        CH_BUF_AUTO text = {0};
        ch_buf_addf(&text, "chela: %s", c->request.why);
        forward_answer(c, c->request.fault, "Bad Request", ch_buf_str(&text));
        return;
    }
    if (state != CH_HTTP1_HEAD)
        return;
    forward_on_head(c);
    if (c->state == DIALING)
        keep_rest(c, ch_sv(bytes.p + taken, bytes.n - taken));
}

static void on_end(struct forward_conn *c, struct forward_side *from) {
    struct forward_side *to = other_side(c, from);

    from->ended = true;
    if (c->state != RELAY || !to->tcp) {
        conn_close(c);
        return;
    }
    uv_read_stop((uv_stream_t *)from->tcp);
    if (from == &c->server)
        c->client.ended = true; /* nobody reads what it sends */
    shut_side(c, to);
}

static void forward_on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    struct forward_conn *c = stream->data;
    CH_LOOP_CALLBACK(c->owner->opts.loop);
    struct forward_side *from = stream == (uv_stream_t *)c->client.tcp ? &c->client : &c->server;

    if (n == 0)
        return;
    if (n < 0) {
        if (n == UV_EOF)
            on_end(c, from);
        else
            conn_close(c);
        return;
    }
    struct ch_sv bytes = ch_sv(buf->base, (size_t)n);
    be_patient(c);
    if (c->state == HEAD)
        on_request(c, bytes);
    else if (from == &c->client && !c->tunnel)
        send_body(c, bytes);
    else
        forward_send(c, other_side(c, from), bytes);
    hold_back(c, from);
}

static void forward_alloc(uv_handle_t *h, size_t wanted, uv_buf_t *out) {
    struct forward_conn *c = h->data;

    (void)wanted;
    *out = uv_buf_init(c->owner->chunk, CHUNK);
}

static void forward_read(struct forward_conn *c, struct forward_side *side) {
    side->stopped = false;
    side->tcp->data = c;
    if (uv_read_start((uv_stream_t *)side->tcp, forward_alloc, forward_on_read) < 0)
        conn_close(c);
}

/* --- the listener -------------------------------------------------------------------------- */

static void forward_free_handle(uv_handle_t *h) {
    ch_free(h);
}

static void forward_on_connection(uv_stream_t *listener, int status) {
    struct ch_forward *f = listener->data;
    CH_LOOP_CALLBACK(f->opts.loop);

    if (status < 0)
        return;
    uv_tcp_t *tcp = ch_alloc(sizeof(*tcp));
    uv_tcp_init(listener->loop, tcp);
    if (uv_accept(listener, (uv_stream_t *)tcp) < 0 || f->nconns >= CH_LIMIT_FORWARD_CONNS) {
        uv_close((uv_handle_t *)tcp, forward_free_handle);
        return;
    }
    struct forward_conn *c = ch_alloc(sizeof(*c));
    c->owner = f;
    c->client.tcp = tcp;
    c->busy = 1;
    ch_http1_init(&c->request, false, CH_LIMIT_FORWARD_HEAD, CH_LIMIT_INBOUND_HEADER_COUNT);
    c->request.proxied = true;
    ch_list_add(&f->conns, &c->link);
    f->nconns++;
    be_patient(c);
    forward_read(c, &c->client);
}

static int forward_listen(struct ch_forward *f, struct chela_error *err) {
    f->listener = ch_alloc(sizeof(*f->listener));
    uv_tcp_init(ch_loop_uv(f->opts.loop), f->listener);
    f->listener->data = f;
    int rc = uv_tcp_open(f->listener, f->opts.socket);
    if (rc < 0)
        close(f->opts.socket);
    else
        rc = uv_listen((uv_stream_t *)f->listener, BACKLOG, forward_on_connection);
    uv_unref((uv_handle_t *)f->listener); /* the program keeps the loop alive */
    return rc < 0 ? ch_fail(err, CHELA_EIO, "the proxy cannot listen: %s", uv_strerror(rc)) : 0;
}

int ch_forward_new(const struct ch_forward_opts *opts, struct ch_forward **out,
                   struct chela_error *err) {
    struct ch_forward *f = ch_alloc(sizeof(*f));

    f->opts = *opts;
    ch_list_init(&f->conns);
    f->resolver = ch_resolver_new(opts->loop);
    int rc = forward_listen(f, err);
    if (rc < 0)
        ch_forward_close(f);
    else
        *out = f;
    return rc;
}

void ch_forward_close(struct ch_forward *f) {
    if (!f)
        return;
    for (struct forward_conn *c; (c = CH_LIST_FIRST(&f->conns, struct forward_conn, link));)
        conn_close(c);
    uv_close((uv_handle_t *)f->listener, forward_free_handle);
    ch_resolver_free(f->resolver);
    ch_free(f);
}
