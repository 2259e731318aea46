/* httpd.c -- see httpd.h. */
#include "support/httpd.h"

#include <assert.h>
#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"

enum step_kind { SEND, PAUSE, END, CUT, RESET, TUNNEL };

struct step {
    enum step_kind kind;
    unsigned value;
    struct ch_buf bytes;
    struct step *next;
};

struct httpd_conn {
    uv_tcp_t tcp; /* must be first: libuv returns a pointer to it */
    uv_timer_t timer;
    struct httpd *server;
    struct httpd_conn *prev, *next;
    struct step *first, **last;
    struct ch_buf in;
    void *layer;
    unsigned number, turn;
    unsigned handles; /* handles that are not closed yet */
    bool playing, closing;
    uv_tcp_t *far; /* of a tunnel */
    uv_connect_t connect;
};

struct httpd {
    uv_tcp_t tcp;
    struct httpd_opts opts;
    struct httpd_conn *conns;
    unsigned port, accepted, requests, open;
    bool closing, listening;
};

struct write {
    uv_write_t req;
    char bytes[];
};

static void play(struct httpd_conn *c);

/* --- closing */

static void free_server(struct httpd *s) {
    if (s->closing && !s->listening && s->open == 0)
        free(s);
}

static void on_part_closed(uv_handle_t *h) {
    struct httpd_conn *c = h->data;
    struct httpd *s = c->server;

    if (--c->handles > 0)
        return;
    for (struct step *step; (step = c->first);) {
        c->first = step->next;
        ch_buf_release(&step->bytes);
        free(step);
    }
    *(c->prev ? &c->prev->next : &s->conns) = c->next;
    if (c->next)
        c->next->prev = c->prev;
    s->open--;
    if (c->layer)
        s->opts.layer->close(c->layer);
    ch_buf_release(&c->in);
    free(c->far);
    free(c);
    free_server(s);
}

static void close_conn(struct httpd_conn *c, bool reset) {
    if (c->closing)
        return;
    c->closing = true;
    if (!reset || uv_tcp_close_reset(&c->tcp, on_part_closed) < 0)
        uv_close((uv_handle_t *)&c->tcp, on_part_closed);
    uv_close((uv_handle_t *)&c->timer, on_part_closed);
    if (c->far)
        uv_close((uv_handle_t *)c->far, on_part_closed);
}

static void on_server_closed(uv_handle_t *h) {
    struct httpd *s = h->data;
    s->listening = false;
    free_server(s);
}

void httpd_close(struct httpd *s) {
    if (!s)
        return;
    s->closing = true;
    for (struct httpd_conn *c = s->conns, *next; c; c = next) {
        next = c->next;
        close_conn(c, false);
    }
    uv_close((uv_handle_t *)&s->tcp, on_server_closed);
}

/* --- writing */

static void on_written(uv_write_t *req, int status) {
    (void)status;
    free(CH_CONTAINER(req, struct write, req));
}

static void write_to(uv_tcp_t *tcp, struct ch_sv bytes) {
    struct write *w = malloc(sizeof(*w) + bytes.n);
    uv_buf_t buf = {.base = w->bytes, .len = bytes.n};
    memcpy(w->bytes, bytes.p, bytes.n);
    if (bytes.n == 0 || uv_write(&w->req, (uv_stream_t *)tcp, &buf, 1, on_written) < 0)
        free(w);
}

static void on_alloc(uv_handle_t *h, size_t hint, uv_buf_t *buf) {
    (void)h;
    *buf = (uv_buf_t){.base = malloc(hint), .len = hint};
}

/* --- a tunnel: bytes from either side go to the other */

static void on_far_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    struct httpd_conn *c = stream->data;
    if (n > 0)
        write_to(&c->tcp, ch_sv(buf->base, (size_t)n));
    free(buf->base);
    if (n < 0)
        close_conn(c, false);
}

static void on_far_connected(uv_connect_t *req, int status) {
    struct httpd_conn *c = CH_CONTAINER(req, struct httpd_conn, connect);
    if (status == 0)
        uv_read_start((uv_stream_t *)c->far, on_alloc, on_far_read);
}

static void open_tunnel(struct httpd_conn *c, unsigned port) {
    struct sockaddr_in to;
    c->far = calloc(1, sizeof(*c->far));
    uv_ip4_addr("127.0.0.1", (int)port, &to);
    uv_tcp_init(c->tcp.loop, c->far);
    c->far->data = c;
    c->handles++;
    uv_tcp_connect(&c->connect, c->far, (struct sockaddr *)&to, on_far_connected);
}

/* --- steps */

static struct step *add_step(struct httpd_conn *c, enum step_kind kind, unsigned value) {
    struct step *step = calloc(1, sizeof(*step));
    step->kind = kind;
    step->value = value;
    *c->last = step;
    c->last = &step->next;
    return step;
}

void httpd_send(struct httpd_conn *c, struct ch_sv bytes) {
    ch_buf_add_sv(&add_step(c, SEND, 0)->bytes, bytes);
}

void httpd_sends(struct httpd_conn *c, const char *text) {
    httpd_send(c, ch_sv_str(text));
}

void httpd_pause(struct httpd_conn *c, unsigned ms) {
    add_step(c, PAUSE, ms);
}

void httpd_end(struct httpd_conn *c) {
    add_step(c, END, 0);
}

void httpd_cut(struct httpd_conn *c) {
    add_step(c, CUT, 0);
}

void httpd_reset(struct httpd_conn *c) {
    add_step(c, RESET, 0);
}

void httpd_tunnel(struct httpd_conn *c, unsigned port) {
    add_step(c, TUNNEL, port);
}

static void on_pause_over(uv_timer_t *timer) {
    struct httpd_conn *c = timer->data;
    c->playing = false;
    play(c);
}

static void send_bytes(struct httpd_conn *c, struct ch_sv bytes) {
    CH_BUF_AUTO out = {0};
    if (c->layer)
        c->server->opts.layer->seal(c->layer, bytes, &out);
    write_to(&c->tcp, c->layer ? ch_buf_sv(&out) : bytes);
}

/* libuv writes data at once as far as the kernel takes it, so a close after a send does not
 * overtake small answers; large answers must not end this way. */
static void end_stream(struct httpd_conn *c) {
    CH_BUF_AUTO out = {0};
    if (c->layer) {
        c->server->opts.layer->end(c->layer, &out);
        write_to(&c->tcp, ch_buf_sv(&out));
    }
    close_conn(c, false);
}

static void play_step(struct httpd_conn *c, const struct step *step) {
    switch (step->kind) {
    case SEND:
        send_bytes(c, ch_buf_sv(&step->bytes));
        break;
    case PAUSE:
        c->playing = true;
        uv_timer_start(&c->timer, on_pause_over, step->value, 0);
        break;
    case END:
        end_stream(c);
        break;
    case CUT:
        close_conn(c, false);
        break;
    case RESET:
        close_conn(c, true);
        break;
    case TUNNEL:
        open_tunnel(c, step->value);
        break;
    }
}

static void play(struct httpd_conn *c) {
    while (c->first && !c->playing && !c->closing) {
        struct step *step = c->first;
        c->first = step->next;
        if (!c->first)
            c->last = &c->first;
        play_step(c, step);
        ch_buf_release(&step->bytes);
        free(step);
    }
}

/* --- requests */

static size_t find_end_of_head(struct ch_sv s) {
    const char *at = s.n ? memmem(s.p, s.n, "\r\n\r\n", 4) : NULL;
    return at ? (size_t)(at - s.p) + 4 : 0;
}

static size_t content_length(struct ch_sv head) {
    struct ch_sv rest = head;
    while (rest.p) {
        struct ch_sv line = ch_sv_split(&rest, '\n');
        struct ch_sv name = ch_sv_split(&line, ':');
        if (ch_sv_eq_nocase(name, CH_SV("content-length")))
            return strtoul(line.p, NULL, 10);
    }
    return 0;
}

static void take_requests(struct httpd_conn *c) {
    while (!c->closing && !c->far) {
        struct ch_sv all = ch_buf_sv(&c->in);
        size_t head = find_end_of_head(all);
        if (!head)
            return;
        size_t n = head + content_length(ch_sv(all.p, head));
        if (all.n < n)
            return;
        c->turn++;
        c->server->requests++;
        c->server->opts.on_request(c, ch_sv(all.p, n), c->server->opts.user);
        ch_buf_consume(&c->in, n);
        play(c);
    }
}

static void take_bytes(struct httpd_conn *c, struct ch_sv bytes) {
    CH_BUF_AUTO out = {0};
    if (c->far) {
        write_to(c->far, bytes);
        return;
    }
    if (!c->layer) {
        ch_buf_add_sv(&c->in, bytes);
    } else {
        c->server->opts.layer->feed(c->layer, bytes, &c->in, &out);
        write_to(&c->tcp, ch_buf_sv(&out));
    }
    take_requests(c);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    struct httpd_conn *c = stream->data;
    if (n > 0)
        take_bytes(c, ch_sv(buf->base, (size_t)n));
    free(buf->base);
    if (n < 0)
        close_conn(c, false);
}

/* --- connections */

static void on_connection(uv_stream_t *listener, int status) {
    struct httpd *s = listener->data;
    struct httpd_conn *c = calloc(1, sizeof(*c));

    assert(status == 0);
    uv_tcp_init(listener->loop, &c->tcp);
    uv_timer_init(listener->loop, &c->timer);
    c->tcp.data = c->timer.data = c;
    c->handles = 2;
    c->server = s;
    c->last = &c->first;
    c->number = ++s->accepted;
    c->next = s->conns;
    if (s->conns)
        s->conns->prev = c;
    s->conns = c;
    s->open++;
    if (s->opts.layer)
        c->layer = s->opts.layer->open(s->opts.layer_arg);
    int rc = uv_accept(listener, (uv_stream_t *)&c->tcp);
    assert(rc == 0);
    (void)rc;
    uv_tcp_nodelay(&c->tcp, 1);
    uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
    if (s->opts.on_accept) {
        s->opts.on_accept(c, CH_SV(""), s->opts.user);
        play(c);
    }
}

struct httpd *httpd_new(uv_loop_t *loop, const struct httpd_opts *opts) {
    struct httpd *s = calloc(1, sizeof(*s));
    struct sockaddr_storage at;
    int n = sizeof(at);

    s->opts = *opts;
    s->tcp.data = s;
    s->listening = true;
    uv_ip4_addr("127.0.0.1", 0, (struct sockaddr_in *)&at);
    uv_tcp_init(loop, &s->tcp);
    int rc = uv_tcp_bind(&s->tcp, (struct sockaddr *)&at, 0);
    if (rc == 0)
        rc = uv_listen((uv_stream_t *)&s->tcp, 1024, on_connection);
    assert(rc == 0);
    (void)rc;
    uv_tcp_getsockname(&s->tcp, (struct sockaddr *)&at, &n);
    s->port = ntohs(((struct sockaddr_in *)&at)->sin_port);
    return s;
}

unsigned httpd_port(const struct httpd *s) {
    return s->port;
}

unsigned httpd_accepted(const struct httpd *s) {
    return s->accepted;
}

unsigned httpd_requests(const struct httpd *s) {
    return s->requests;
}

unsigned httpd_open(const struct httpd *s) {
    return s->open;
}

unsigned httpd_turn(const struct httpd_conn *c) {
    return c->turn;
}

unsigned httpd_number(const struct httpd_conn *c) {
    return c->number;
}
