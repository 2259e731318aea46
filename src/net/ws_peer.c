/* ws_peer.c -- see ws_peer.h.
 *
 * One timer serves three purposes. It checks whether data came since the last
 * check and pings the client if not. It closes the connection if a ping is not
 * answered. After a close frame was sent, it limits the wait for the client's
 * close frame. */
#include "net/ws_peer.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"

#define MOST_REASON 123 /* bytes after the code of a close frame */
#define KEY_SIZE 24     /* 16 bytes in base64 */

struct ch_ws_peer {
    struct ch_loop *loop;
    struct ch_exchange *x;
    const struct ch_ws_peer_events *events;
    void *user;
    struct ch_ws_reader reader;
    struct ch_timer timer;
    unsigned code;      /* code of the close frame; 0: none sent or received */
    bool heard, pinged; /* data since the last timer; ping sent without data since */
    bool answered;      /* the client's close frame came */
};

/* --- the request */

static bool lists(struct ch_sv list, const char *word) {
    while (list.p)
        if (ch_sv_eq_nocase(ch_sv_trim(ch_sv_split(&list, ',')), ch_sv_str(word)))
            return true;
    return false;
}

static bool ws_peer_is_key(struct ch_sv key) {
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (key.n != KEY_SIZE || key.p[22] != '=' || key.p[23] != '=')
        return false;
    for (size_t i = 0; i < 22; i++)
        if (!memchr(digits, key.p[i], sizeof(digits) - 1))
            return false;
    return true;
}

int ch_ws_peer_check(const struct ch_inbound *in, const char **why) {
    *why = NULL;
    if (ch_inbound_is_old(in) || strcmp(ch_inbound_method(in), "GET") != 0 ||
        !lists(ch_inbound_header(in, "upgrade"), "websocket") ||
        !lists(ch_inbound_header(in, "connection"), "upgrade")) {
        *why = "this path is a WebSocket: ask for an upgrade to it";
        return 426;
    }
    if (!ch_sv_is(ch_inbound_header(in, "sec-websocket-version"), "13")) {
        *why = "only version 13 of WebSocket is spoken";
        return 426;
    }
    if (ch_inbound_count(in, "sec-websocket-key") != 1 ||
        !ws_peer_is_key(ch_inbound_header(in, "sec-websocket-key"))) {
        *why = "Sec-WebSocket-Key must be 16 bytes in base64";
        return 400;
    }
    return 0;
}

/* If there is more than one header, none is used. */
static struct ch_sv offers(const struct ch_inbound *in) {
    bool once = ch_inbound_count(in, "sec-websocket-protocol") == 1;
    return once ? ch_inbound_header(in, "sec-websocket-protocol") : ch_sv(NULL, 0);
}

bool ch_ws_peer_offers(const struct ch_inbound *in, const char *protocol) {
    struct ch_sv list = offers(in);
    while (list.p)
        if (ch_sv_is(ch_sv_trim(ch_sv_split(&list, ',')), protocol))
            return true;
    return false;
}

struct ch_sv ch_ws_peer_offer(const struct ch_inbound *in, const char *prefix) {
    struct ch_sv list = offers(in);
    size_t n = strlen(prefix);
    while (list.p) {
        struct ch_sv word = ch_sv_trim(ch_sv_split(&list, ','));
        if (ch_sv_starts(word, prefix))
            return ch_sv(word.p + n, word.n - n);
    }
    return ch_sv(NULL, 0);
}

/* --- sending */

static void ws_peer_on_time(struct ch_timer *t);

static int ws_peer_put(struct ch_ws_peer *p, enum ch_ws_kind kind, struct ch_sv payload) {
    CH_BUF_AUTO frame = {0};
    ch_ws_add_frame(&frame, kind, payload, NULL);
    return ch_exchange_write(p->x, ch_buf_sv(&frame));
}

void ch_ws_peer_close(struct ch_ws_peer *p, enum ch_ws_code code, const char *why) {
    CH_BUF_AUTO payload = {0};
    if (p->code)
        return;
    p->code = code;
    ch_buf_addc(&payload, (char)(code >> 8));
    ch_buf_addc(&payload, (char)code);
    ch_buf_add(&payload, why, CH_MIN(strlen(why), MOST_REASON));
    ws_peer_put(p, CH_WS_CLOSE, ch_buf_sv(&payload));
    ch_timer_start(p->loop, &p->timer, CH_LIMIT_CLIENT_LINGER_MS, ws_peer_on_time);
}

/* Send a frame unless too much data is waiting; then only a close frame is
 * sent. */
static int put_within(struct ch_ws_peer *p, enum ch_ws_kind kind, struct ch_sv payload) {
    if (p->code)
        return CHELA_ESTATE;
    if (ch_exchange_lag(p->x) <= CH_LIMIT_CLIENT_BUFFER)
        return ws_peer_put(p, kind, payload);
    ch_ws_peer_close(p, CH_WS_LATER, "client too slow: too much data waits to be sent");
    return CHELA_ELIMIT;
}

bool ch_ws_peer_is_open(const struct ch_ws_peer *p) {
    return p->code == 0;
}

int ch_ws_peer_send(struct ch_ws_peer *p, struct ch_sv text) {
    return put_within(p, CH_WS_TEXT, text);
}

/* --- timer */

static void ws_peer_on_time(struct ch_timer *t) {
    struct ch_ws_peer *p = CH_CONTAINER(t, struct ch_ws_peer, timer);
    if (p->code) {
        p->events->gone(p, p->code, p->user);
        return;
    }
    if (p->pinged && !p->heard) {
        ch_exchange_expel(p->x); /* the exchange's `gone` notifies the owner */
        return;
    }
    p->pinged = !p->heard;
    p->heard = false;
    if (p->pinged && put_within(p, CH_WS_PING, ch_sv("", 0)) < 0)
        return;
    ch_timer_start(p->loop, t, p->pinged ? CH_LIMIT_WS_PONG_MS : CH_DEFAULT_WS_PING_MS,
                   ws_peer_on_time);
}

/* --- receiving */

static unsigned code_in(struct ch_sv payload) {
    return payload.n < 2 ? CH_WS_UNSAID
                         : (unsigned)(unsigned char)payload.p[0] << 8 | (unsigned char)payload.p[1];
}

static bool ws_peer_on_frame(enum ch_ws_kind kind, struct ch_sv payload, void *user) {
    struct ch_ws_peer *p = user;
    if (kind == CH_WS_CLOSE) {
        unsigned code = code_in(payload);
        p->answered = true;
        if (!p->code) { /* answer with the same code */
            ws_peer_put(p, CH_WS_CLOSE, ch_sv(payload.p, payload.n < 2 ? 0 : 2));
            p->code = code;
        }
        return false;
    }
    if (p->code)
        return true; /* sent before the client read the close frame */
    if (kind == CH_WS_TEXT)
        p->events->message(p, payload, p->user);
    else if (kind == CH_WS_BINARY)
        ch_ws_peer_close(p, CH_WS_NO_BINARY, "only text messages are supported");
    else if (kind == CH_WS_PING)
        put_within(p, CH_WS_PONG, payload);
    return true;
}

static void ws_peer_on_bytes(struct ch_exchange *x, struct ch_sv bytes, void *user) {
    struct ch_ws_peer *p = user;
    struct chela_error err = {0};
    (void)x;
    p->heard = true;
    if (ch_ws_feed(&p->reader, bytes, &err) < 0) {
        ch_ws_peer_close(p, p->reader.verdict, err.message);
        p->answered = true; /* further data cannot be parsed */
    }
    if (p->answered)
        p->events->gone(p, p->code, p->user);
}

/* --- opening and closing */

int ch_ws_peer_accept(struct ch_loop *loop, struct ch_exchange *x, const char *protocol,
                      const struct ch_ws_peer_events *events, void *user,
                      struct ch_ws_peer **out) {
    CH_BUF_AUTO accept = {0};
    if (!ch_exchange_can_upgrade(x))
        return CHELA_ESTATE;
    struct ch_ws_peer *p = ch_alloc(sizeof(*p));
    *p = (struct ch_ws_peer){.loop = loop, .x = x, .events = events, .user = user};
    ch_ws_reader_init(&p->reader, ws_peer_on_frame, p);
    p->reader.of_client = true;
    ch_ws_add_accept(&accept, ch_inbound_header(ch_exchange_inbound(x), "sec-websocket-key"));
    ch_exchange_header(x, "Upgrade", "websocket");
    ch_exchange_header(x, "Connection", "Upgrade");
    ch_exchange_header(x, "Sec-WebSocket-Accept", ch_buf_str(&accept));
    if (protocol)
        ch_exchange_header(x, "Sec-WebSocket-Protocol", protocol);
    ch_exchange_upgrade(x, ws_peer_on_bytes, p);
    ch_timer_start(loop, &p->timer, CH_DEFAULT_WS_PING_MS, ws_peer_on_time);
    *out = p;
    return 0;
}

void ch_ws_peer_free(struct ch_ws_peer *p) {
    if (!p)
        return;
    ch_timer_stop(p->loop, &p->timer);
    ch_ws_reader_release(&p->reader);
    ch_free(p);
}
