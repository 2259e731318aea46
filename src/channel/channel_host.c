/* channel_host.c -- see channel_host.h. */
#include "channel/channel_host.h"

#include <sys/random.h>

#include "base/say.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/sha1.h"
#include "base/sha256.h"
#include "channel/arrival.h"
#include "channel/kit.h"
#include "chela/sys/tls.h"
#include "io/module.h"
#include "net/http_route.h"
#include "net/ws.h"

#define CALL_MS 30000
#define BACK_OFF_MS 1000
#define BACK_OFF_LONGEST_MS 60000

static struct ch_loop *host_loop(const struct ch_channel *c) {
    return c->gateway.rt->loop;
}

/* --- functions of the gateway */

static void host_arrived(const struct chela_channel_arrival *in, chela_channel_arena *a,
                         chela_accepted_fn *done, void *tag, void *user) {
    struct ch_channel *c = user;
    c->gateway.arrived(in, a, done, tag, c->gateway.user);
}

static void host_overheard(const struct chela_channel_arrival *in, void *user) {
    struct ch_channel *c = user;
    if (c->gateway.overheard)
        c->gateway.overheard(in, c->gateway.user);
}

static void *host_alloc(chela_channel_arena *a, size_t n, void *user) {
    (void)user;
    return ch_arena_zalloc(a, n);
}

static void host_respond(void *respond_to, int status, const char *type, struct chela_text body,
                         void *user) {
    struct ch_channel *c = user;
    c->gateway.respond(respond_to, status, type, ch_sv_of(body));
}

static void host_decide(const struct chela_channel_decision *d, chela_channel_decided_fn *done,
                        void *tag, void *user) {
    struct ch_channel *c = user;
    if (d->by && (c->ops->is_owner || ch_rules_is_owner(&c->rules, d->by))) {
        c->gateway.decide(d, done, tag, c->gateway.user);
        return;
    }
    ch_log(CH_LOG_WARN, c->ops->name, "%s, who may not decide, pressed a button",
           d->by ? d->by : "somebody without an id");
    done(ch_text(ch_sv_str(ch_say(CH_SAY_ONLY_OWNER_DECIDES, c->asked_in))), tag);
}

static void host_note(const char *id, struct chela_text data, chela_accepted_fn *done, void *tag,
                      void *user) {
    struct ch_channel *c = user;
    c->gateway.note(id, ch_sv_of(data), done, tag, c->gateway.user);
}

static const char *host_workspace(void *user) {
    struct ch_channel *c = user;
    return c->gateway.workspace(c->gateway.user);
}

static void host_ready(void *user) {
    struct ch_channel *c = user;
    c->gateway.ready(c, c->gateway.user);
}

static int host_is_owner(const char *id, void *user) {
    return ch_channel_is_owner(user, id);
}

static void host_log(enum chela_log_level level, const char *line, void *user) {
    struct ch_channel *c = user;
    ch_log((enum ch_log_level)level, c->ops->name, "%s", line);
}

static void host_trouble(const char *why, void *user) {
    struct ch_channel *c = user;
    ch_free(c->trouble);
    c->trouble = ch_strdup(why);
    if (!why)
        return;
    ch_free(c->last_error);
    c->last_error = ch_strdup(why);
}

static void host_seen(void *user) {
    struct ch_channel *c = user;
    c->last_seen = ch_now_ms(ch_loop_clock(host_loop(c)));
}

/* --- HTTP */

struct host_call {
    struct ch_link link; /* in the channel's calls */
    chela_channel_response_fn *done;
    void *tag;
};

static struct chela_text response_header(const struct chela_channel_response *r, const char *name) {
    const struct ch_web_answer *a = r->headers;
    return ch_text(ch_header_find(a->headers, a->nheaders, name));
}

static void host_on_response(const struct ch_web_answer *a, void *user) {
    struct host_call call = *(struct host_call *)user;
    struct chela_channel_response r = {.status = a->status,
                                       .why = a->why,
                                       .body = ch_text(a->text),
                                       .header = response_header,
                                       .headers = a};
    ch_list_del(&((struct host_call *)user)->link);
    ch_free(user);
    if (call.done)
        call.done(&r, call.tag);
}

static void host_http(const struct chela_channel_request *r, chela_channel_response_fn *done,
                      void *tag, void *user) {
    struct ch_channel *c = user;
    struct host_call *call = ch_alloc(sizeof(*call));
    struct ch_buf body = {0};
    *call = (struct host_call){.done = done, .tag = tag};
    ch_list_add(&c->calls, &call->link);
    ch_buf_add(&body, r->body, r->n);
    ch_web_start(&c->web,
                 &(struct ch_web_request){.method = r->method,
                                          .url = r->url,
                                          .body = &body,
                                          .headers = r->headers,
                                          .most = r->most ? r->most : CH_LIMIT_CHANNEL_ANSWER,
                                          .wait_ms = r->wait_ms ? r->wait_ms : CALL_MS,
                                          .once = r->once},
                 host_on_response, call);
}

bool ch_channel_is_safe_url(const char *url) {
    return ch_kit_is_safe_url(url) || ch_kit_is_safe_socket(url);
}

/* --- WebSocket */

struct chela_channel_socket {
    struct ch_link link;
    struct ch_ws *ws;
    const struct chela_channel_socket_events *events;
    void *tag;
};

static void socket_on_open(struct ch_ws *ws, void *user) {
    struct chela_channel_socket *s = user;
    (void)ws;
    s->events->open(s->tag);
}

static void socket_on_message(struct ch_ws *ws, enum ch_ws_kind kind, struct ch_sv data,
                              void *user) {
    struct chela_channel_socket *s = user;
    (void)ws;
    s->events->message(ch_text(data), kind == CH_WS_BINARY, s->tag);
}

static void socket_on_alive(struct ch_ws *ws, void *user) {
    struct chela_channel_socket *s = user;
    (void)ws;
    if (s->events->alive)
        s->events->alive(s->tag);
}

static void socket_on_gone(struct ch_ws *ws, const struct chela_error *err, void *user) {
    struct chela_channel_socket *s = user;
    s->events->gone((int)ch_ws_close_code(ws), err->message, s->tag);
}

static int host_socket_open(const char *url, const struct chela_channel_socket_events *events,
                            void *tag, struct chela_channel_socket **out, struct chela_error *err,
                            void *user) {
    static const struct ch_ws_events ws_events = {.open = socket_on_open,
                                                  .message = socket_on_message,
                                                  .gone = socket_on_gone,
                                                  .alive = socket_on_alive};
    struct ch_channel *c = user;
    if (!ch_channel_is_safe_url(url))
        return ch_fail(err, CHELA_EINVAL, "the address of the connection is not encrypted");
    struct chela_channel_socket *s = ch_alloc(sizeof(*s));
    s->events = events;
    s->tag = tag;
    int rc = ch_ws_open(c->gateway.rt->http, &(struct ch_ws_opts){.url = url}, &ws_events, s,
                        &s->ws, err);
    if (rc < 0) {
        ch_free(s);
        return rc;
    }
    ch_list_add(&c->sockets, &s->link);
    *out = s;
    return 0;
}

static int host_socket_send(struct chela_channel_socket *s, struct chela_text text, void *user) {
    (void)user;
    return ch_ws_send(s->ws, CH_WS_TEXT, ch_sv_of(text));
}

static int host_socket_ping(struct chela_channel_socket *s, void *user) {
    (void)user;
    return ch_ws_send(s->ws, CH_WS_PING, ch_sv("", 0));
}

static void host_socket_close(struct chela_channel_socket *s, int code, void *user) {
    (void)user;
    if (!s)
        return;
    ch_list_del(&s->link);
    if (code)
        ch_ws_close_with(s->ws, (unsigned)code);
    else
        ch_ws_close(s->ws);
    ch_free(s);
}

/* --- TCP */

struct chela_channel_stream {
    struct ch_link link;
    struct ch_conn *conn;
    bool open;
    struct ch_buf queue; /* bytes that wait while the connection sends others */
    const struct chela_channel_stream_events *events;
    void *tag;
};

static void stream_flush(struct chela_channel_stream *s) {
    if (!s->open || s->conn->sending || !s->queue.n)
        return;
    struct ch_buf out = s->queue;
    ch_buf_init(&s->queue, CH_LIMIT_WS_QUEUE);
    ch_conn_send(s->conn, &out, NULL, 0);
}

static void stream_on_ready(struct ch_conn *conn, void *user) {
    struct chela_channel_stream *s = user;
    (void)conn;
    s->open = true;
    s->events->open(s->tag);
}

static void stream_on_sent(struct ch_conn *conn, void *user) {
    (void)conn;
    stream_flush(user);
}

static void stream_on_bytes(struct ch_conn *conn, char *bytes, size_t n, void *user) {
    struct chela_channel_stream *s = user;
    (void)conn;
    s->events->bytes(ch_text(ch_sv(bytes, n)), s->tag);
}

static void stream_on_gone(struct ch_conn *conn, const struct chela_error *err, void *user) {
    struct chela_channel_stream *s = user;
    (void)conn;
    s->open = false;
    s->events->gone(err ? err->message : "the peer closed the connection", s->tag);
}

static int host_stream_open(const char *name, int port, int tls,
                            const struct chela_channel_stream_events *events, void *tag,
                            struct chela_channel_stream **out, struct chela_error *err,
                            void *user) {
    static const struct ch_conn_events conn_events = {stream_on_ready, stream_on_sent,
                                                      stream_on_bytes, stream_on_gone};
    struct ch_channel *c = user;
    struct ch_conn_route route = {.host = ch_sv_str(name), .port = (uint16_t)port, .tls = tls};
    struct chela_channel_stream *s = ch_alloc(sizeof(*s));
    s->events = events;
    s->tag = tag;
    ch_buf_init(&s->queue, CH_LIMIT_WS_QUEUE);
    int rc = port < 1 || port > 65535 ? ch_fail(err, CHELA_EINVAL, "there is no port %d", port)
                                      : ch_conn_open(ch_http_shared(c->gateway.rt->http), &route,
                                                     &conn_events, s, &s->conn, err);
    if (rc < 0) {
        ch_free(s);
        return rc;
    }
    ch_list_add(&c->streams, &s->link);
    *out = s;
    return 0;
}

static int host_stream_send(struct chela_channel_stream *s, struct chela_text bytes, void *user) {
    (void)user;
    if (!s->open)
        return CHELA_ESTATE;
    if (ch_buf_add(&s->queue, bytes.p, bytes.n) < 0)
        return CHELA_ELIMIT;
    stream_flush(s);
    return 0;
}

static void host_stream_close(struct chela_channel_stream *s, void *user) {
    (void)user;
    if (!s)
        return;
    ch_list_del(&s->link);
    ch_conn_close(s->conn);
    ch_buf_release(&s->queue);
    ch_free(s);
}

/* --- time */

struct chela_channel_timer {
    struct ch_link link;
    struct ch_timer timer;
    void (*fn)(void *tag);
    void *tag;
};

static void host_on_timer(struct ch_timer *t) {
    struct chela_channel_timer *own = CH_CONTAINER(t, struct chela_channel_timer, timer);
    own->fn(own->tag);
}

static void host_timer_start(struct chela_channel_timer **timer, int64_t ms, void (*fn)(void *tag),
                             void *tag, void *user) {
    struct ch_channel *c = user;
    struct chela_channel_timer *t = *timer;
    if (!t) {
        t = *timer = ch_alloc(sizeof(*t));
        ch_list_add(&c->timers, &t->link);
    }
    t->fn = fn;
    t->tag = tag;
    ch_timer_start(host_loop(c), &t->timer, ms, host_on_timer);
}

static void host_timer_stop(struct chela_channel_timer *timer, void *user) {
    struct ch_channel *c = user;
    if (timer)
        ch_timer_stop(host_loop(c), &timer->timer);
}

static void host_random(void *out, size_t n, void *user) {
    (void)user;
    for (char *at = out; n;) {
        ssize_t some = getrandom(at, n, 0);
        at += some > 0 ? some : 0;
        n -= some > 0 ? (size_t)some : 0;
    }
}

static int64_t host_back_off(unsigned n, void *user) {
    int64_t ms = CH_MIN((int64_t)BACK_OFF_MS << CH_MIN(n, 10u), BACK_OFF_LONGEST_MS);
    uint32_t r;
    host_random(&r, sizeof(r), user);
    return ms / 4 + (int64_t)((uint64_t)ms * r >> 32);
}

static int64_t host_now(void *user) {
    return ch_now_ms(ch_loop_clock(host_loop(user)));
}

/* --- digests and ciphers */

static void host_sha1(struct chela_text text, unsigned char out[20], void *user) {
    (void)user;
    ch_sha1(ch_sv_of(text), out);
}

static void host_sha256(struct chela_text text, unsigned char out[32], void *user) {
    (void)user;
    ch_sha256_of(ch_sv_of(text), out);
}

static void host_hmac_sha256(struct chela_text key, struct chela_text text, unsigned char out[32],
                             void *user) {
    (void)user;
    ch_hmac_sha256(ch_sv_of(key), ch_sv_of(text), out);
}

static int host_same(struct chela_text a, struct chela_text b, void *user) {
    unsigned char of_a[CH_SHA256_SIZE], of_b[CH_SHA256_SIZE];
    (void)user;
    ch_sha256_of(ch_sv_of(a), of_a);
    ch_sha256_of(ch_sv_of(b), of_b);
    return ch_sha256_equal(of_a, of_b);
}

static const struct chela_tls_ops *host_cipher(struct ch_channel *c) {
    const void *ops = c->cipher;
    struct chela_error err = {0};
    if (!ops && ch_module_load("tls", "tls", c->gateway.rt->module_path, &ops, &err) < 0)
        ch_log(CH_LOG_ERROR, c->ops->name, "%s", err.message);
    c->cipher = ops;
    return ops;
}

static long host_aes_decrypt(const unsigned char key[32], const unsigned char iv[16],
                             struct chela_text text, enum chela_channel_padding padding, void *out,
                             void *user) {
    const struct chela_tls_ops *cipher = host_cipher(user);
    unsigned char wrong = 0;
    if (!cipher || !text.n || text.n % 16 ||
        cipher->aes_blocks(0, key, iv, text.p, text.n, out) != (long)text.n)
        return -1;
    const unsigned char *end = (const unsigned char *)out + text.n;
    unsigned pad = end[-1];
    if (!pad || pad > (unsigned)padding || pad > text.n)
        return -1;
    for (unsigned i = 1; i <= pad; i++)
        wrong |= end[-(int)i] ^ (unsigned char)pad;
    return wrong ? -1 : (long)(text.n - pad);
}

static long host_aes_encrypt(const unsigned char key[32], const unsigned char iv[16],
                             struct chela_text text, enum chela_channel_padding padding, void *out,
                             void *user) {
    const struct chela_tls_ops *cipher = host_cipher(user);
    size_t pad = (size_t)padding - text.n % (size_t)padding;
    CH_BUF_AUTO in = {0};
    ch_buf_add(&in, text.p, text.n);
    for (size_t i = 0; i < pad; i++)
        ch_buf_addc(&in, (char)pad);
    return cipher ? cipher->aes_blocks(1, key, iv, in.p, in.n, out) : -1;
}

static int host_ed25519_verify(const unsigned char key[32], const unsigned char signature[64],
                               struct chela_text text, void *user) {
    const struct chela_tls_ops *cipher = host_cipher(user);
    return cipher && cipher->ed25519_verify(key, signature, text.p, text.n);
}

/* --- the table of functions */

void ch_channel_host_init(struct ch_channel *c) {
    ch_web_init(&c->web, c->gateway.rt);
    c->host = (struct chela_channel_host){.rt = c->gateway.rt,
                                          .user = c,
                                          .listens = c->gateway.listens,
                                          .others_fetch = c->gateway.others_fetch,
                                          .message = ch_arrival_message,
                                          .arrived = host_arrived,
                                          .overheard = host_overheard,
                                          .alloc = host_alloc,
                                          .respond = host_respond,
                                          .decide = host_decide,
                                          .note = host_note,
                                          .workspace = host_workspace,
                                          .ready = host_ready,
                                          .is_owner = host_is_owner,
                                          .log = host_log,
                                          .trouble = host_trouble,
                                          .seen = host_seen,
                                          .http = host_http,
                                          .socket_open = host_socket_open,
                                          .socket_send = host_socket_send,
                                          .socket_ping = host_socket_ping,
                                          .socket_close = host_socket_close,
                                          .stream_open = host_stream_open,
                                          .stream_send = host_stream_send,
                                          .stream_close = host_stream_close,
                                          .timer_start = host_timer_start,
                                          .timer_stop = host_timer_stop,
                                          .back_off = host_back_off,
                                          .now = host_now,
                                          .sha1 = host_sha1,
                                          .sha256 = host_sha256,
                                          .hmac_sha256 = host_hmac_sha256,
                                          .same = host_same,
                                          .aes_decrypt = host_aes_decrypt,
                                          .aes_encrypt = host_aes_encrypt,
                                          .ed25519_verify = host_ed25519_verify,
                                          .random = host_random};
}

void ch_channel_host_cancel(struct ch_channel *c) {
    for (CH_LIST_EACH(k, &c->timers))
        ch_timer_stop(host_loop(c), &CH_CONTAINER(k, struct chela_channel_timer, link)->timer);
}

void ch_channel_host_release(struct ch_channel *c) {
    ch_web_close(&c->web);
    for (struct host_call *call; (call = CH_LIST_FIRST(&c->calls, struct host_call, link));) {
        ch_list_del(&call->link);
        ch_free(call);
    }
    for (struct chela_channel_socket *s;
         (s = CH_LIST_FIRST(&c->sockets, struct chela_channel_socket, link));)
        host_socket_close(s, 0, c);
    for (struct chela_channel_stream *s;
         (s = CH_LIST_FIRST(&c->streams, struct chela_channel_stream, link));)
        host_stream_close(s, c);
    for (struct chela_channel_timer *t;
         (t = CH_LIST_FIRST(&c->timers, struct chela_channel_timer, link));) {
        ch_timer_stop(host_loop(c), &t->timer);
        ch_list_del(&t->link);
        ch_free(t);
    }
}
