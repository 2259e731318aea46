/* smtpd.c -- see smtpd.h. */
#include "support/smtpd.h"

#include <assert.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <strings.h>

#include "base/base64.h"
#include "base/mem.h"

struct conn {
    uv_tcp_t tcp;
    struct smtpd *server;
    void *layer;      /* TLS, once begun */
    bool data;        /* a message is being received */
    bool welcomed;    /* the greeting was sent */
    struct ch_buf in; /* plain bytes that are not processed yet */
    struct conn *next;
};

struct smtpd {
    uv_tcp_t tcp;
    struct smtpd_opts opts;
    unsigned port, connections, messages;
    struct ch_buf commands, message;
    bool encrypted;
    struct conn *conns;
    bool closing;
    unsigned handles;
};

struct write {
    uv_write_t req;
    char bytes[];
};

static void unref(struct smtpd *s) {
    if (--s->handles > 0)
        return;
    ch_buf_release(&s->commands);
    ch_buf_release(&s->message);
    free(s);
}

static void on_conn_closed(uv_handle_t *h) {
    struct conn *c = h->data;
    struct smtpd *s = c->server;
    struct conn **at = &s->conns;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    if (c->layer)
        s->opts.tls->close(c->layer);
    ch_buf_release(&c->in);
    free(c);
    unref(s);
}

static void hang_up(struct conn *c) {
    if (!uv_is_closing((uv_handle_t *)&c->tcp))
        uv_close((uv_handle_t *)&c->tcp, on_conn_closed);
}

static void on_server_closed(uv_handle_t *h) {
    unref(h->data);
}

void smtpd_close(struct smtpd *s) {
    if (!s)
        return;
    for (struct conn *c = s->conns; c; c = c->next)
        hang_up(c);
    uv_close((uv_handle_t *)&s->tcp, on_server_closed);
}

static void on_written(uv_write_t *req, int status) {
    (void)status;
    free(CH_CONTAINER(req, struct write, req));
}

static void write_raw(struct conn *c, struct ch_sv bytes) {
    struct write *w = malloc(sizeof(*w) + bytes.n);
    uv_buf_t buf = {.base = w->bytes, .len = bytes.n};

    memcpy(w->bytes, bytes.p, bytes.n);
    if (bytes.n == 0 || uv_write(&w->req, (uv_stream_t *)&c->tcp, &buf, 1, on_written) < 0)
        free(w);
}

static void say(struct conn *c, const char *text) {
    CH_BUF_AUTO line = {0}, sealed = {0};

    ch_buf_addf(&line, "%s\r\n", text);
    if (c->layer)
        c->server->opts.tls->seal(c->layer, ch_buf_sv(&line), &sealed);
    write_raw(c, c->layer ? ch_buf_sv(&sealed) : ch_buf_sv(&line));
}

static void greet(struct conn *c) {
    const struct smtpd_opts *o = &c->server->opts;

    say(c, "250-test.example");
    if (o->tls && !o->implicit && !c->layer)
        say(c, "250-STARTTLS");
    if (o->login)
        say(c, "250-AUTH PLAIN");
    say(c, "250 8BITMIME");
}

static void log_in(struct conn *c, struct ch_sv word) {
    const char *login = c->server->opts.login;
    CH_BUF_AUTO plain = {0}, want = {0};

    ch_buf_addc(&plain, '\0');
    ch_buf_add(&plain, login, strlen(login) + 1);
    ch_buf_add_str(&plain, login + strlen(login) + 1);
    ch_base64_add(&want, ch_buf_sv(&plain));
    say(c, ch_sv_eq(word, ch_buf_sv(&want)) ? "235 2.7.0 welcome" : "535 5.7.8 who are you");
}

static void obey(struct conn *c, struct ch_sv line) {
    struct smtpd *s = c->server;
    const struct smtpd_opts *o = &s->opts;

    ch_buf_addf(&s->commands, "%.*s\n", CH_SV_FMT(line));
    if (o->refuse && ch_sv_starts(line, o->refuse)) {
        say(c, o->refusal);
    } else if (ch_sv_starts(line, "EHLO")) {
        greet(c);
    } else if (ch_sv_starts(line, "STARTTLS") && o->tls) {
        say(c, "220 go ahead");
        c->layer = o->tls->open(o->tls_arg);
    } else if (ch_sv_starts(line, "AUTH PLAIN ")) {
        log_in(c, ch_sv(line.p + 11, line.n - 11));
    } else if (ch_sv_starts(line, "AUTH PLAIN")) {
        say(c, "334 ");
    } else if (ch_sv_is(line, "DATA")) {
        say(c, "354 end with .");
        c->data = true;
        s->encrypted = c->layer != NULL;
        ch_buf_clear(&s->message);
    } else if (ch_sv_starts(line, "QUIT")) {
        say(c, "221 bye");
    } else if (o->login && !ch_sv_starts(line, "MAIL") && !ch_sv_starts(line, "RCPT") &&
               !ch_sv_starts(line, "HELO") && !ch_sv_starts(line, "RSET")) {
        log_in(c, line);
    } else {
        say(c, "250 ok");
    }
}

static void take_line(struct conn *c, struct ch_sv line) {
    struct smtpd *s = c->server;

    if (!c->data) {
        obey(c, line);
        return;
    }
    if (!ch_sv_is(line, ".")) {
        if (ch_sv_starts(line, "."))
            line = ch_sv(line.p + 1, line.n - 1);
        ch_buf_addf(&s->message, "%.*s\r\n", CH_SV_FMT(line));
        return;
    }
    c->data = false;
    s->messages++;
    if (s->opts.cut_after_data)
        hang_up(c);
    else if (!s->opts.silent_after_data)
        say(c, "250 2.0.0 taken");
}

static void take_lines(struct conn *c) {
    for (;;) {
        const char *end = c->in.n ? memmem(c->in.p, c->in.n, "\r\n", 2) : NULL;
        if (!end || uv_is_closing((uv_handle_t *)&c->tcp))
            return;
        size_t n = (size_t)(end - c->in.p);
        CH_AUTOFREE char *line = ch_strndup(c->in.p, n);
        ch_buf_consume(&c->in, n + 2);
        take_line(c, ch_sv(line, n));
    }
}

/* Sends the greeting. Over TLS only after the handshake. */
static void welcome(struct conn *c) {
    if (c->welcomed || (c->layer && !SSL_is_init_finished(c->layer)))
        return;
    c->welcomed = true;
    say(c, "220 test.example ESMTP");
}

static void on_alloc(uv_handle_t *h, size_t hint, uv_buf_t *buf) {
    (void)h;
    *buf = (uv_buf_t){.base = malloc(hint), .len = hint};
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    struct conn *c = stream->data;
    CH_BUF_AUTO out = {0};

    if (n > 0 && c->layer) {
        c->server->opts.tls->feed(c->layer, ch_sv(buf->base, (size_t)n), &c->in, &out);
        write_raw(c, ch_buf_sv(&out));
    } else if (n > 0) {
        ch_buf_add(&c->in, buf->base, (size_t)n);
    }
    free(buf->base);
    if (n < 0) {
        hang_up(c);
        return;
    }
    welcome(c);
    take_lines(c);
}

static void on_connection(uv_stream_t *listener, int status) {
    struct smtpd *s = listener->data;
    struct conn *c = calloc(1, sizeof(*c));

    assert(status == 0);
    (void)status;
    uv_tcp_init(listener->loop, &c->tcp);
    c->tcp.data = c;
    c->server = s;
    c->next = s->conns;
    s->conns = c;
    s->connections++;
    s->handles++;
    uv_accept(listener, (uv_stream_t *)&c->tcp);
    uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
    if (s->opts.implicit)
        c->layer = s->opts.tls->open(s->opts.tls_arg);
    welcome(c);
}

struct smtpd *smtpd_new(uv_loop_t *loop, const struct smtpd_opts *opts) {
    struct smtpd *s = calloc(1, sizeof(*s));
    struct sockaddr_storage at;
    int n = sizeof(at);

    s->opts = *opts;
    s->tcp.data = s;
    s->handles = 1;
    uv_ip4_addr("127.0.0.1", 0, (struct sockaddr_in *)&at);
    uv_tcp_init(loop, &s->tcp);
    int rc = uv_tcp_bind(&s->tcp, (struct sockaddr *)&at, 0);
    if (rc == 0)
        rc = uv_listen((uv_stream_t *)&s->tcp, 128, on_connection);
    assert(rc == 0);
    (void)rc;
    uv_tcp_getsockname(&s->tcp, (struct sockaddr *)&at, &n);
    s->port = ntohs(((struct sockaddr_in *)&at)->sin_port);
    return s;
}

unsigned smtpd_port(const struct smtpd *s) {
    return s->port;
}

unsigned smtpd_connections(const struct smtpd *s) {
    return s->connections;
}

unsigned smtpd_messages(const struct smtpd *s) {
    return s->messages;
}

const char *smtpd_commands(const struct smtpd *s) {
    return ch_buf_str(&s->commands);
}

const char *smtpd_message(const struct smtpd *s) {
    return ch_buf_str(&s->message);
}

bool smtpd_encrypted(const struct smtpd *s) {
    return s->encrypted;
}
