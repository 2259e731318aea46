/* feishu_line.c -- the long connection: receives events over an outgoing WebSocket.
 *
 *       RESTING --time--> ASKING --an address--> OPENING --101--> OPEN
 *          ^-- no address, refused, lost, silent ------------------/
 *
 * Each connection uses a new address, requested with the app's secret. While the connection
 * is open, pings are sent; the service answers each and may change the interval. Without
 * any data within PONG_MS after a ping, the connection counts as dead. The delay before a
 * reconnect is random and grows with each failure, so that gateways which lost the service
 * together do not reconnect together.
 *
 * An event is acknowledged by its own frame when the receiver calls ch_feishu_line_ack. If
 * the connection was lost in between, the service sends the event again on the next one. */
#include "channel/feishu_line.h"

#include "base/base64.h"
#include "base/log.h"
#include "channel/feishu.h"
#include "channel/feishu_api.h"
#include "channel/feishu_frame.h"
#include "json/writer.h"
#include "net/ws.h"

#define ENDPOINT "/callback/ws/endpoint"
#define PONG_MS 15000
#define PING_S 120 /* until the service sets another value */

struct ch_feishu_line {
    const struct chela_channel_host *host; /* borrowed */
    chela_runtime *rt;
    struct ch_feishu_api *api; /* borrowed */
    char *app_id, *secret;     /* owned */
    ch_feishu_event_fn *fn;
    void *user;
    struct ch_ws *ws; /* NULL: none */
    int32_t service;  /* service id of the address */
    int64_t ping_s;
    unsigned failures; /* in a row */
    bool is_open;
    bool leaving; /* do not reconnect */
    struct ch_buf trouble; /* last error; empty if connected or not tried */
    struct ch_timer rest, ping, pong;
    struct ch_feishu_gather gather;
    struct ch_list acks;
    size_t nacks;
};

struct ch_feishu_ack {
    struct ch_link link;
    struct ch_feishu_line *line;
    struct ch_ws *ws; /* connection of the event; only compared, never used */
    char *frame;      /* owned */
    size_t n;
    int64_t began;
};

static void feishu_line_on_rested(struct ch_timer *t);

static int64_t feishu_line_mono(const struct ch_feishu_line *l) {
    return ch_mono_ms(ch_loop_clock(l->rt->loop));
}

static void feishu_line_hang_up(struct ch_feishu_line *l) {
    struct ch_loop *loop = l->rt->loop;
    ch_timer_stop(loop, &l->ping);
    ch_timer_stop(loop, &l->pong);
    ch_ws_close(CH_TAKE(l->ws));
    l->is_open = false;
    ch_feishu_gather_release(&l->gather);
    for (CH_LIST_EACH(k, &l->acks))
        CH_CONTAINER(k, struct ch_feishu_ack, link)->ws = NULL;
}

static void feishu_line_try_later(struct ch_feishu_line *l, const char *why) {
    if (l->leaving)
        return;
    int64_t ms = l->host->back_off(l->failures++, l->host->user);
    ch_log(CH_LOG_WARN, "feishu", "the long connection is closed, next attempt in %lld ms: %s",
           (long long)ms, why);
    ch_buf_clear(&l->trouble);
    ch_buf_add_str(&l->trouble, why);
    l->host->trouble(why, l->host->user);
    feishu_line_hang_up(l);
    ch_timer_start(l->rt->loop, &l->rest, ms, feishu_line_on_rested);
}

/* --- settings that the service sends with an address, and with pongs */

static void take_settings(struct ch_feishu_line *l, const struct ch_json *v) {
    int64_t s = ch_json_int(ch_json_get(v, "PingInterval"), 0);
    if (s > 0)
        l->ping_s = CH_MIN(s, 600);
}

static void take_pong(struct ch_feishu_line *l, struct ch_sv payload) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    if (payload.n && ch_json_parse(&arena, payload, CH_JSON_REPLACE, &v, NULL, NULL) == 0)
        take_settings(l, v);
}

/* --- keep-alive */

static void on_silent(struct ch_timer *t) {
    feishu_line_try_later(CH_CONTAINER(t, struct ch_feishu_line, pong), "no answer to a ping");
}

static void send_ping(struct ch_timer *t) {
    struct ch_feishu_line *l = CH_CONTAINER(t, struct ch_feishu_line, ping);
    struct ch_feishu_frame f = {.service = l->service,
                                .method = CH_FEISHU_CONTROL,
                                .headers = {{CH_SV("type"), CH_SV("ping")}},
                                .nheaders = 1};
    CH_BUF_AUTO out = {0};
    ch_feishu_frame_write(&f, &out);
    ch_ws_send(l->ws, CH_WS_BINARY, ch_buf_sv(&out));
    ch_timer_start(l->rt->loop, &l->ping, l->ping_s * 1000, send_ping);
    ch_timer_start(l->rt->loop, &l->pong, CH_MIN(PONG_MS, l->ping_s * 1000), on_silent);
}

/* --- events */

static void free_ack(struct ch_feishu_ack *a) {
    a->line->nacks--;
    ch_list_del(&a->link);
    ch_free(a->frame);
    ch_free(a);
}

/* {"code":200}, with the answer in base64. */
static void write_answer(struct ch_buf *out, int code, struct ch_sv answer) {
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "code", code);
    if (answer.n) {
        ch_base64_add(&data, answer);
        ch_jw_kstr(&w, "data", ch_buf_sv(&data));
    }
    ch_jw_end(&w, '}');
}

void ch_feishu_line_ack(struct ch_feishu_ack *a, int code, struct ch_sv answer) {
    struct ch_feishu_line *l = a->line;
    struct ch_feishu_frame f;
    CH_BUF_AUTO out = {0}, payload = {0}, took = {0};
    if (a->ws && a->ws == l->ws && ch_feishu_frame_read(ch_sv(a->frame, a->n), &f, NULL) == 0) {
        write_answer(&payload, code, answer);
        ch_buf_addf(&took, "%lld", (long long)(feishu_line_mono(l) - a->began));
        if (f.nheaders < CH_LIMIT_FRAME_HEADERS)
            f.headers[f.nheaders++] =
                (struct ch_feishu_field){CH_SV("biz_rt"), ch_buf_sv(&took)};
        f.payload = ch_buf_sv(&payload);
        ch_feishu_frame_write(&f, &out);
        ch_ws_send(l->ws, CH_WS_BINARY, ch_buf_sv(&out));
    }
    free_ack(a);
}

static struct ch_feishu_ack *new_ack(struct ch_feishu_line *l, struct ch_sv frame) {
    struct ch_feishu_ack *a = ch_alloc(sizeof(*a));
    a->line = l;
    a->ws = l->ws;
    a->frame = ch_memdup(frame.p, frame.n);
    a->n = frame.n;
    a->began = feishu_line_mono(l);
    ch_list_add(&l->acks, &a->link);
    l->nacks++;
    return a;
}

static void feishu_line_take_event(struct ch_feishu_line *l, const struct ch_feishu_frame *f,
                                   struct ch_sv frame) {
    CH_BUF_AUTO event = {0};
    enum ch_feishu_gathered what = ch_feishu_gather(&l->gather, f, feishu_line_mono(l), &event);
    if (what == CH_FEISHU_PART)
        return;
    struct ch_feishu_ack *a = new_ack(l, frame);
    if (what == CH_FEISHU_USELESS)
        ch_log(CH_LOG_WARN, "feishu",
               "the fragments of an event do not fit together, or are too large");
    if (what == CH_FEISHU_USELESS || l->nacks > CH_LIMIT_UNACKED)
        ch_feishu_line_ack(a, 500, ch_sv(NULL, 0));
    else
        l->fn(ch_buf_sv(&event), a, l->user);
}

static void feishu_line_on_message(struct ch_ws *ws, enum ch_ws_kind kind, struct ch_sv data,
                                   void *user) {
    struct ch_feishu_line *l = user;
    struct ch_feishu_frame f;
    struct chela_error err = {0};
    (void)ws;
    ch_timer_stop(l->rt->loop, &l->pong);
    l->failures = 0; /* connected */
    if (kind != CH_WS_BINARY || ch_feishu_frame_read(data, &f, &err) < 0) {
        ch_log(CH_LOG_WARN, "feishu", "the long connection brings no protobuf frames: %s",
               err.code ? err.message : "a text");
        return;
    }
    struct ch_sv type = ch_feishu_frame_header(&f, "type");
    if (f.method == CH_FEISHU_CONTROL && ch_sv_is(type, "pong"))
        take_pong(l, f.payload);
    else if (f.method == CH_FEISHU_DATA)
        feishu_line_take_event(l, &f, data);
}

/* --- a connection */

static void feishu_line_on_open(struct ch_ws *ws, void *user) {
    struct ch_feishu_line *l = user;
    (void)ws;
    l->is_open = true;
    ch_buf_clear(&l->trouble);
    l->host->seen(l->host->user);
    ch_log(CH_LOG_INFO, "feishu", "the long connection is open");
    ch_timer_start(l->rt->loop, &l->ping, 0, send_ping);
}

static void feishu_line_on_gone(struct ch_ws *ws, const struct chela_error *err, void *user) {
    struct ch_feishu_line *l = user;
    CH_BUF_AUTO why = {0};
    struct ch_sv said = ch_ws_refusal(ws, "handshake-msg");
    ch_buf_add_str(&why, err->message);
    if (!l->is_open && said.n)
        ch_buf_addf(&why, " (%.*s: %.*s)", CH_SV_FMT(ch_ws_refusal(ws, "handshake-status")),
                    CH_SV_FMT(said));
    feishu_line_try_later(l, ch_buf_str(&why));
}

static int32_t feishu_line_service_of(struct ch_sv url) {
    int64_t n = 0;
    ch_sv_split(&url, '?');
    while (url.p) {
        struct ch_sv one = ch_sv_split(&url, '&');
        if (!ch_sv_starts(one, "service_id="))
            continue;
        for (size_t i = strlen("service_id="); i < one.n && n < INT32_MAX / 10; i++)
            n = one.p[i] >= '0' && one.p[i] <= '9' ? 10 * n + (one.p[i] - '0') : n;
    }
    return (int32_t)n;
}

static void on_address(const struct ch_feishu_answer *a, void *user) {
    static const struct ch_ws_events events = {.open = feishu_line_on_open,
                                               .message = feishu_line_on_message,
                                               .gone = feishu_line_on_gone};
    struct ch_feishu_line *l = user;
    struct chela_error err = {0};
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *data = ch_json_get(a->json, "data");
    struct ch_sv url = ch_json_get_str(data, "URL");
    if (l->leaving)
        return;
    if (a->code != 0 || !url.n) {
        feishu_line_try_later(l, a->why ? a->why : "the service gave no address");
        return;
    }
    struct ch_ws_opts opts = {.url = ch_arena_str(&arena, url)};
    take_settings(l, ch_json_get(data, "ClientConfig"));
    l->service = feishu_line_service_of(url);
    if (ch_ws_open(l->rt->http, &opts, &events, l, &l->ws, &err) < 0)
        feishu_line_try_later(l, err.message);
}

static void feishu_line_on_rested(struct ch_timer *t) {
    struct ch_feishu_line *l = CH_CONTAINER(t, struct ch_feishu_line, rest);
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "AppID", l->app_id);
    ch_jw_kcstr(&w, "AppSecret", l->secret);
    ch_jw_end(&w, '}');
    ch_feishu_ask(l->api, ENDPOINT, ch_buf_str(&body), on_address, l);
}

/* --- open and close */

struct ch_feishu_line *ch_feishu_line_new(const struct chela_channel_host *host,
                                          struct ch_feishu_api *api, const char *app_id,
                                          const char *secret, ch_feishu_event_fn *fn, void *user) {
    struct ch_feishu_line *l = ch_alloc(sizeof(*l));
    l->host = host;
    l->rt = host->rt;
    l->api = api;
    l->app_id = ch_strdup(app_id);
    l->secret = ch_strdup(secret);
    l->fn = fn;
    l->user = user;
    l->ping_s = PING_S;
    ch_feishu_gather_init(&l->gather);
    ch_list_init(&l->acks);
    ch_timer_start(l->rt->loop, &l->rest, 0, feishu_line_on_rested);
    return l;
}

bool ch_feishu_line_leave(struct ch_feishu_line *l) {
    l->leaving = true;
    feishu_line_hang_up(l);
    ch_timer_stop(l->rt->loop, &l->rest);
    return !l->nacks;
}

const char *ch_feishu_line_trouble(const struct ch_feishu_line *l) {
    return l->trouble.n ? ch_buf_str(&l->trouble) : NULL;
}

void ch_feishu_line_close(struct ch_feishu_line *l) {
    if (!l)
        return;
    feishu_line_hang_up(l);
    ch_timer_stop(l->rt->loop, &l->rest);
    for (struct ch_feishu_ack *a; (a = CH_LIST_FIRST(&l->acks, struct ch_feishu_ack, link));)
        free_ack(a);
    ch_buf_release(&l->trouble);
    ch_free(l->app_id);
    ch_free(l->secret);
    ch_free(l);
}
