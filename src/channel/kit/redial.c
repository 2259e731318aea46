/* redial.c -- see redial.h. */
#include "channel/kit/redial.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "channel/kit.h"

#define STEADY_MS 30000 /* a connection that lasted this long is not counted as a failure */

static int64_t dial_now(const struct ch_redial *w) {
    return w->host->now(w->host->user);
}

void ch_redial_init(struct ch_redial *w, const struct chela_channel_host *host,
                    const struct ch_redial_ops *ops, void *user) {
    *w = (struct ch_redial){.host = host, .ops = ops, .user = user};
}

static void dial_connect(void *tag) {
    struct ch_redial *w = tag;
    if (!w->left)
        w->ops->connect(w->user);
}

void ch_redial_start(struct ch_redial *w, int64_t in_ms) {
    w->host->timer_start(&w->again, in_ms, dial_connect, w, w->host->user);
}

void ch_redial_hang_up(struct ch_redial *w) {
    bool was = w->socket;
    w->host->timer_stop(w->beat, w->host->user);
    w->host->socket_close(w->socket, w->since ? 1000 : 0, w->host->user);
    w->socket = NULL;
    w->number++;
    w->since = 0;
    if (was && w->ops->gone)
        w->ops->gone(w->user);
}

static bool dial_was_steady(const struct ch_redial *w) {
    return w->since && dial_now(w) - w->since >= STEADY_MS;
}

void ch_redial_lost(struct ch_redial *w, const char *why, int64_t wait_ms) {
    char line[400];
    w->failures = dial_was_steady(w) ? 0 : w->failures;
    snprintf(line, sizeof(line), "%s", why); /* `why` may be memory of the socket */
    ch_redial_hang_up(w);
    if (w->left)
        return;
    int64_t ms = w->host->back_off(w->failures++, w->host->user);
    ms = CH_MAX(ms, wait_ms);
    w->host->trouble(line, w->host->user);
    CH_BUF_AUTO told = {0};
    ch_buf_addf(&told, "not connected, next attempt in %lld ms: %s", (long long)ms, line);
    w->host->log(CHELA_LOG_WARN, ch_buf_str(&told), w->host->user);
    ch_redial_start(w, ms);
}

void ch_redial_renew(struct ch_redial *w) {
    bool steady = dial_was_steady(w);
    ch_redial_hang_up(w);
    if (!w->left)
        ch_redial_start(w, steady ? 0 : w->host->back_off(w->failures++, w->host->user));
}

static void dial_beat(void *tag) {
    struct ch_redial *w = tag;
    if (dial_now(w) - w->alive > w->ops->silent_ms) {
        ch_redial_lost(w, "the connection is silent", 0);
        return;
    }
    w->host->timer_start(&w->beat, w->ops->beat_ms, dial_beat, w, w->host->user);
    if (w->ops->beat)
        w->ops->beat(w->user);
    else
        w->host->socket_ping(w->socket, w->host->user);
}

static void dial_on_open(void *tag) {
    struct ch_redial *w = tag;
    w->alive = dial_now(w);
    w->ops->open(w->user);
}

static void dial_on_message(struct chela_text text, int binary, void *tag) {
    struct ch_redial *w = tag;
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v;
    if (binary || ch_json_parse(&a, ch_kit_sv(text), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        w->host->log(CHELA_LOG_WARN, "the connection received a message that is not JSON",
                     w->host->user);
    else
        w->ops->message(v, w->user);
}

static void dial_on_alive(void *tag) {
    struct ch_redial *w = tag;
    w->alive = dial_now(w);
}

static void dial_on_gone(int code, const char *why, void *tag) {
    (void)code;
    ch_redial_lost(tag, why, 0);
}

void ch_redial_open(struct ch_redial *w, const char *url) {
    static const struct chela_channel_socket_events events = {dial_on_open, dial_on_message,
                                                              dial_on_alive, dial_on_gone};
    struct chela_error err = {0};
    if (w->left)
        return;
    if (w->host->socket_open(url, &events, w, &w->socket, &err, w->host->user) < 0) {
        ch_redial_lost(w, err.message, 0);
        return;
    }
    w->number++;
    w->alive = dial_now(w);
    w->host->timer_start(&w->beat, w->ops->beat_ms, dial_beat, w, w->host->user);
}

void ch_redial_ready(struct ch_redial *w) {
    w->since = dial_now(w);
    w->host->trouble(NULL, w->host->user);
    w->host->seen(w->host->user);
    w->host->log(CHELA_LOG_INFO, "connected", w->host->user);
}

void ch_redial_works(struct ch_redial *w) {
    w->failures = 0;
}

bool ch_redial_send(struct ch_redial *w, struct ch_sv text) {
    return w->socket && w->host->socket_send(w->socket, ch_kit_text(text), w->host->user) == 0;
}

void ch_redial_leave(struct ch_redial *w) {
    w->left = true;
    w->host->timer_stop(w->again, w->host->user);
}
