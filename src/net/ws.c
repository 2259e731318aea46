/* ws.c -- see ws.h.
 *
 * Data sent while the kernel takes a message waits in a queue. An owner may
 * close the socket in one of its events: the struct then stays allocated,
 * without a connection, until the reader has returned. */
#include "net/ws.h"

#include <sys/random.h>

#include "base/error.h"
#include "base/limits.h"
#include "net/http_route.h"

enum state { OPENING, ASKING, OPEN, GONE };

struct ch_ws {
    enum state state;
    struct ch_http *http;
    struct ch_loop *loop;
    const struct ch_ws_events *events;
    void *user;
    char *url; /* owned: with scheme http or https */
    struct ch_url parts;
    struct ch_conn *conn; /* NULL: closed */
    struct ch_timer timer;
    char key[25];
    struct ch_buf extra; /* headers of the request from the owner */
    struct ch_buf head; /* head of the response */
    struct ch_buf queue;
    struct ch_ws_reader reader;
    unsigned char masks[64]; /* random; the last nmasks bytes are not used yet */
    unsigned nmasks;
    bool reading, closed;
    unsigned code; /* for ch_ws_close_code */
};

static bool draw(void *out, size_t n) {
    return getrandom(out, n, 0) == (ssize_t)n;
}

static void free_ws(struct ch_ws *w) {
    ch_ws_reader_release(&w->reader);
    ch_buf_release(&w->extra);
    ch_buf_release(&w->head);
    ch_buf_release(&w->queue);
    ch_free(w->url);
    ch_free(w);
}

static void ws_end(struct ch_ws *w, const struct chela_error *err) {
    if (w->state == GONE)
        return;
    w->state = GONE;
    ch_timer_stop(w->loop, &w->timer);
    ch_conn_close(CH_TAKE(w->conn));
    w->events->gone(w, err, w->user);
}

/* --- timeout */

static void on_late(struct ch_timer *t) {
    struct ch_ws *w = CH_CONTAINER(t, struct ch_ws, timer);
    struct chela_error err = {0};
    ch_fail(&err, CHELA_ETIMEOUT, "timeout: no WebSocket connection to %s", w->conn->label);
    ws_end(w, &err);
}

/* --- sending */

static void ws_flush(struct ch_ws *w) {
    if (!w->conn || w->conn->sending || !w->queue.n)
        return;
    struct ch_buf out = w->queue;
    ch_buf_init(&w->queue, CH_LIMIT_WS_QUEUE);
    ch_conn_send(w->conn, &out, NULL, 0);
}

int ch_ws_send_parts(struct ch_ws *w, enum ch_ws_kind kind, const struct ch_sv *parts, size_t n) {
    if (w->state != OPEN)
        return CHELA_ESTATE;
    if (!w->nmasks && !draw(w->masks, sizeof(w->masks)))
        return CHELA_EIO;
    w->nmasks = (w->nmasks ? w->nmasks : sizeof(w->masks)) - 4;
    ch_ws_add_parts(&w->queue, kind, parts, n, w->masks + w->nmasks);
    if (w->queue.overflow)
        return CHELA_ELIMIT;
    ws_flush(w);
    return 0;
}

int ch_ws_send(struct ch_ws *w, enum ch_ws_kind kind, struct ch_sv data) {
    return ch_ws_send_parts(w, kind, &data, 1);
}

/* --- receiving */

static void say_goodbye(struct ch_ws *w, struct ch_sv payload) {
    struct chela_error err = {0};
    unsigned code = payload.n < 2
                        ? CH_WS_UNSAID
                        : (unsigned)(unsigned char)payload.p[0] << 8 | (unsigned char)payload.p[1];
    w->code = code;
    ch_ws_send(w, CH_WS_CLOSE, ch_sv(payload.p, payload.n < 2 ? 0 : 2));
    ch_fail(&err, CHELA_ENET, "%s closed the WebSocket (%u)", w->conn->label, code);
    ws_end(w, &err);
}

static bool ws_on_frame(enum ch_ws_kind kind, struct ch_sv payload, void *user) {
    struct ch_ws *w = user;
    if (w->events->alive)
        w->events->alive(w, w->user);
    if (w->closed || w->state != OPEN)
        return false;
    if (kind == CH_WS_TEXT || kind == CH_WS_BINARY) {
        w->events->message(w, kind, payload, w->user);
    } else if (kind == CH_WS_PING) {
        ch_ws_send(w, CH_WS_PONG, payload);
    } else if (kind == CH_WS_CLOSE) {
        say_goodbye(w, payload);
    }
    return !w->closed && w->state == OPEN;
}

static struct ch_sv ws_after(struct ch_sv s, size_t n) {
    return ch_sv(s.p + n, s.n - n);
}

/* Process the head of the response; *bytes keeps the data after it. */
static int ws_on_answer(struct ch_ws *w, struct ch_sv *bytes, struct chela_error *err) {
    size_t before = w->head.n;
    if (ch_buf_add_sv(&w->head, *bytes) < 0)
        return ch_fail(err, CHELA_ELIMIT, "the answer of %s has too many headers",
                       w->conn->label);
    size_t n = ch_ws_head_size(ch_buf_sv(&w->head));
    *bytes = n ? ws_after(*bytes, n - before) : ch_sv(NULL, 0);
    if (!n)
        return 0;
    w->head.n = n;
    int rc = ch_ws_accepted(ch_buf_sv(&w->head), w->key, err);
    if (rc < 0)
        return rc;
    w->state = OPEN;
    w->code = CH_WS_LOST;
    ch_timer_stop(w->loop, &w->timer);
    w->events->open(w, w->user);
    return 0;
}

static void ws_on_bytes(struct ch_conn *c, char *p, size_t n, void *user) {
    struct ch_ws *w = user;
    struct ch_sv bytes = ch_sv(p, n);
    struct chela_error err = {0};
    int rc = 0;
    (void)c;
    w->reading = true;
    if (w->state == ASKING)
        rc = ws_on_answer(w, &bytes, &err);
    if (rc == 0 && !w->closed && w->state == OPEN)
        rc = ch_ws_feed(&w->reader, bytes, &err);
    if (rc == 0 && !w->closed && w->state == OPEN && w->events->drained)
        w->events->drained(w, w->user);
    w->reading = false;
    if (w->closed)
        free_ws(w);
    else if (rc < 0)
        ws_end(w, &err);
}

static void ws_on_ready(struct ch_conn *c, void *user) {
    struct ch_ws *w = user;
    unsigned char nonce[CH_WS_NONCE];
    struct chela_error err = {0};
    struct ch_buf out = {0};
    if (!draw(nonce, sizeof(nonce))) {
        ch_fail(&err, CHELA_EIO, "the system has no random numbers");
        ws_end(w, &err);
        return;
    }
    w->state = ASKING;
    ch_ws_add_request(&out, &w->parts, nonce, w->key);
    out.n -= 2; /* the empty line */
    ch_buf_add_sv(&out, ch_buf_sv(&w->extra));
    CH_BUF_LIT(&out, "\r\n");
    ch_buf_release(&w->extra);
    ch_conn_send(c, &out, NULL, 0);
}

static void ws_on_sent(struct ch_conn *c, void *user) {
    (void)c;
    ws_flush(user);
}

static void ws_on_gone(struct ch_conn *c, const struct chela_error *err, void *user) {
    struct ch_ws *w = user;
    struct chela_error why = {0};
    if (!err)
        ch_fail(&why, CHELA_ENET, "%s closed the connection", c->label);
    ws_end(w, err ? err : &why);
}

/* --- opening and closing */

static int ws_read_url(struct ch_ws *w, const char *url, struct chela_error *err) {
    CH_BUF_AUTO text = {0};
    bool tls = strncmp(url, "wss://", 6) == 0;
    if (!tls && strncmp(url, "ws://", 5) != 0)
        return ch_fail(err, CHELA_EINVAL, "bad URL: it must begin with wss:// or ws://");
    ch_buf_addf(&text, "http%s", url + 2);
    w->url = ch_buf_take(&text);
    return ch_url_parse(ch_sv_str(w->url), &w->parts, err);
}

static bool ws_is_plain(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return false;
    return true;
}

static void add_headers(struct ch_ws *w, const struct ch_ws_opts *o) {
    for (size_t i = 0; i < o->nheaders; i++)
        if (ws_is_plain(o->headers[i].name) && ws_is_plain(o->headers[i].value))
            ch_buf_addf(&w->extra, "%.*s: %.*s\r\n", CH_SV_FMT(o->headers[i].name),
                        CH_SV_FMT(o->headers[i].value));
}

int ch_ws_open(struct ch_http *h, const struct ch_ws_opts *o, const struct ch_ws_events *events,
               void *user, struct ch_ws **out, struct chela_error *err) {
    static const struct ch_conn_events conn_events = {
        .ready = ws_on_ready, .sent = ws_on_sent, .bytes = ws_on_bytes, .gone = ws_on_gone};
    struct ch_ws *w = ch_alloc(sizeof(*w));
    struct ch_conn_route route;
    w->http = h;
    w->loop = ch_http_shared(h)->loop;
    w->events = events;
    w->user = user;
    add_headers(w, o);
    ch_buf_init(&w->head, CH_LIMIT_HTTP_HEADERS);
    ch_buf_init(&w->queue, CH_LIMIT_WS_QUEUE);
    ch_ws_reader_init(&w->reader, ws_on_frame, w);
    int rc = ws_read_url(w, o->url, err);
    if (rc == 0)
        rc = ch_http_route(h, &w->parts, &route, err);
    if (rc == 0 && route.proxy && !route.tls)
        rc = ch_fail(err, CHELA_EINVAL, "ws:// does not go through a proxy: use wss://");
    if (rc == 0)
        rc = ch_conn_open(ch_http_shared(h), &route, &conn_events, w, &w->conn, err);
    if (rc < 0) {
        free_ws(w);
        return rc;
    }
    ch_timer_start(w->loop, &w->timer, o->connect_ms ? o->connect_ms : CH_DEFAULT_CONNECT_MS,
                   on_late);
    *out = w;
    return 0;
}

void ch_ws_close(struct ch_ws *w) {
    if (!w || w->closed)
        return;
    w->closed = true;
    w->state = GONE;
    ch_timer_stop(w->loop, &w->timer);
    ch_conn_close(CH_TAKE(w->conn));
    if (!w->reading)
        free_ws(w);
}

void ch_ws_close_with(struct ch_ws *w, unsigned code) {
    const char payload[2] = {(char)(code >> 8), (char)code};
    if (w && w->state == OPEN)
        ch_ws_send(w, CH_WS_CLOSE, ch_sv(payload, sizeof(payload)));
    ch_ws_close(w);
}

unsigned ch_ws_close_code(const struct ch_ws *w) {
    return w->code;
}

struct ch_sv ch_ws_refusal(const struct ch_ws *w, const char *name) {
    return ch_ws_header(ch_buf_sv(&w->head), name);
}
