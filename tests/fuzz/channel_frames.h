/* channel_frames.h -- a host for the module of a channel, for fuzzing: no network, no clock.
 *
 * Input: lines. "H JSON" answers the oldest HTTP call, "T" lets all timers fire, "G" ends the
 * connection, "S" stores what arrived, "X" does not; any other line is a frame of the WebSocket.
 * A message that reaches the host has an id, a chat and a sender. What a call answers with unless
 * the input says otherwise connects the channel. */
#ifndef CH_TESTS_CHANNEL_FRAMES_H
#define CH_TESTS_CHANNEL_FRAMES_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sha256.h"
#include "base/sv.h"
#include "chela/sys/channel.h"

#define FRAMES_MOST 64 /* calls, timers and stored messages at once */

struct chela_channel_socket {
    const struct chela_channel_socket_events *events;
    void *tag;
};

struct chela_channel_timer {
    void (*fn)(void *tag); /* NULL: stopped */
    void *tag;
};

static struct frames {
    struct chela_channel_socket *socket;
    struct chela_channel_timer *timers[FRAMES_MOST];
    size_t ntimers, ncalls, nstored;
    struct {
        chela_channel_response_fn *done;
        void *tag;
    } calls[FRAMES_MOST];
    struct {
        chela_accepted_fn *done;
        void *tag;
    } stored[FRAMES_MOST];
} frames;

static int frames_message(const struct chela_channel_message *m, chela_accepted_fn *done, void *tag,
                          void *user) {
    (void)user;
    if (!m->id || !m->chat || !m->sender)
        abort();
    if (m->program || frames.nstored == FRAMES_MOST)
        return 0;
    frames.stored[frames.nstored].done = done;
    frames.stored[frames.nstored++].tag = tag;
    return 1;
}

static void frames_decide(const struct chela_channel_decision *d, chela_channel_decided_fn *done,
                          void *tag, void *user) {
    (void)user;
    if (!d->approval || !d->word || !d->by)
        abort();
    done((struct chela_text){"done\nsettled", 12}, tag);
}

static void frames_note(const char *id, struct chela_text data, chela_accepted_fn *done, void *tag,
                        void *user) {
    (void)id;
    (void)data;
    (void)user;
    if (done)
        done(0, NULL, tag);
}

static void frames_log(enum chela_log_level level, const char *line, void *user) {
    (void)level;
    (void)user;
    if (!line)
        abort();
}

static void frames_text(const char *why, void *user) {
    (void)why;
    (void)user;
}

static void frames_nothing(void *user) {
    (void)user;
}

static void frames_http(const struct chela_channel_request *r, chela_channel_response_fn *done,
                        void *tag, void *user) {
    (void)user;
    if (!r->method || !r->url)
        abort();
    if (frames.ncalls == FRAMES_MOST)
        return;
    frames.calls[frames.ncalls].done = done;
    frames.calls[frames.ncalls++].tag = tag;
}

static int frames_open(const char *url, const struct chela_channel_socket_events *events, void *tag,
                       struct chela_channel_socket **out, struct chela_error *err, void *user) {
    (void)url;
    (void)err;
    (void)user;
    struct chela_channel_socket *s = calloc(1, sizeof(*s));
    s->events = events;
    s->tag = tag;
    *out = frames.socket = s;
    return 0;
}

static int frames_send(struct chela_channel_socket *s, struct chela_text text, void *user) {
    (void)text;
    (void)user;
    if (!s)
        abort();
    return 0;
}

static int frames_ping(struct chela_channel_socket *s, void *user) {
    return frames_send(s, (struct chela_text){NULL, 0}, user);
}

static void frames_close(struct chela_channel_socket *s, int code, void *user) {
    (void)code;
    (void)user;
    if (s && s == frames.socket)
        frames.socket = NULL;
    free(s);
}

static void frames_timer(struct chela_channel_timer **timer, int64_t ms, void (*fn)(void *tag),
                         void *tag, void *user) {
    (void)user;
    if (ms < 0)
        abort();
    if (!*timer) {
        if (frames.ntimers == FRAMES_MOST)
            abort();
        *timer = frames.timers[frames.ntimers++] = calloc(1, sizeof(**timer));
    }
    (*timer)->fn = fn;
    (*timer)->tag = tag;
}

static void frames_stop(struct chela_channel_timer *timer, void *user) {
    (void)user;
    if (timer)
        timer->fn = NULL;
}

static int64_t frames_back_off(unsigned n, void *user) {
    (void)user;
    return n;
}

static int64_t frames_now(void *user) {
    (void)user;
    return 1700000000000;
}

static void frames_random(void *out, size_t n, void *user) {
    (void)user;
    memset(out, 7, n);
}

static int frames_owner(const char *id, void *user) {
    (void)user;
    return id != NULL;
}

static struct chela_text frames_header(const struct chela_channel_response *r, const char *name) {
    (void)r;
    (void)name;
    return (struct chela_text){NULL, 0};
}

static void frames_answer(struct ch_sv body) {
    struct chela_channel_response r = {
        .status = 200, .body = {body.p, body.n}, .header = frames_header};
    if (!frames.ncalls)
        return;
    chela_channel_response_fn *done = frames.calls[0].done;
    void *tag = frames.calls[0].tag;
    memmove(frames.calls, frames.calls + 1, --frames.ncalls * sizeof(frames.calls[0]));
    if (done)
        done(&r, tag);
}

static void frames_fire(void) {
    size_t n = frames.ntimers;
    for (size_t i = 0; i < n; i++) {
        void (*fn)(void *) = frames.timers[i]->fn;
        frames.timers[i]->fn = NULL;
        if (fn)
            fn(frames.timers[i]->tag);
    }
}

static void frames_store(int rc) {
    struct chela_error err = {.code = rc};
    while (frames.nstored) {
        chela_accepted_fn *done = frames.stored[--frames.nstored].done;
        if (done)
            done(rc, rc < 0 ? &err : NULL, frames.stored[frames.nstored].tag);
    }
}

static void frames_line(struct ch_sv line) {
    struct chela_channel_socket *s = frames.socket;
    if (line.n >= 2 && line.p[0] == 'H' && line.p[1] == ' ')
        frames_answer(ch_sv(line.p + 2, line.n - 2));
    else if (ch_sv_is(line, "T"))
        frames_fire();
    else if (ch_sv_is(line, "S") || ch_sv_is(line, "X"))
        frames_store(line.p[0] == 'S' ? 0 : CHELA_EIO);
    else if (s && ch_sv_is(line, "G"))
        s->events->gone(1006, "lost", s->tag);
    else if (s)
        s->events->message((struct chela_text){line.p, line.n}, 0, s->tag);
}

static int frames_play(const struct chela_channel_ops *ops, const struct chela_channel_opts *o,
                       const char *connects, const uint8_t *p, size_t n) {
    static const struct chela_channel_host host = {.message = frames_message,
                                                   .decide = frames_decide,
                                                   .note = frames_note,
                                                   .is_owner = frames_owner,
                                                   .log = frames_log,
                                                   .trouble = frames_text,
                                                   .seen = frames_nothing,
                                                   .http = frames_http,
                                                   .socket_open = frames_open,
                                                   .socket_send = frames_send,
                                                   .socket_ping = frames_ping,
                                                   .socket_close = frames_close,
                                                   .timer_start = frames_timer,
                                                   .timer_stop = frames_stop,
                                                   .back_off = frames_back_off,
                                                   .now = frames_now,
                                                   .random = frames_random};
    struct chela_error err = {0};
    struct ch_sv rest = ch_sv((const char *)p, n);
    void *self = NULL;
    memset(&frames, 0, sizeof(frames));
    if (ops->open(&host, o, &self, &err) < 0)
        abort();
    if (ops->reminded)
        ops->reminded(self);
    for (int i = 0; i < 4 && !frames.socket; i++) {
        frames_fire();
        frames_answer(ch_sv_str(connects));
    }
    if (frames.socket)
        frames.socket->events->open(frames.socket->tag);
    for (unsigned i = 0; rest.p && rest.n && i < 200; i++)
        frames_line(ch_sv_split(&rest, '\n'));
    ops->close(self);
    for (size_t i = 0; i < frames.ntimers; i++)
        free(frames.timers[i]);
    free(frames.socket);
    return 0;
}

#endif
