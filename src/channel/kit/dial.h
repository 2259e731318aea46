/* dial.h -- a WebSocket of a channel that is opened again after it was lost.
 *
 *   connect --ch_dial_open--> open --ch_dial_ready--> ready
 *      ^-- a while -- failed, lost, silent --------------'
 *
 * The delays grow up to a minute and are random. They begin again after a connection that
 * lasted, or that brought a new message (ch_dial_works). A message that was already stored
 * is not progress: otherwise a service that repeats one message and closes the connection
 * would be dialled every second. */
#ifndef CH_CHANNEL_KIT_DIAL_H
#define CH_CHANNEL_KIT_DIAL_H
#include "base/sv.h"
#include "chela/sys/channel.h"
#include "json/json.h"

struct ch_dial_ops {
    /* Find the address, at once or later; then ch_dial_open, or ch_dial_lost. */
    void (*connect)(void *user);
    void (*open)(void *user);
    void (*message)(const struct ch_json *v, void *user);
    void (*beat)(void *user); /* send a sign of life; NULL: a ping */
    void (*gone)(void *user); /* the connection has ended; may be NULL */
    int64_t beat_ms, silent_ms;
};

struct ch_dial {
    const struct chela_channel_host *host;
    const struct ch_dial_ops *ops;
    void *user;
    struct chela_channel_socket *socket; /* NULL: none */
    unsigned number;                     /* number of the connection; an acknowledgement belongs
                                          * to one connection */
    struct chela_channel_timer *again, *beat;
    unsigned failures;
    int64_t alive, since; /* ms: time of the last frame; time when the connection became ready,
                           * 0: not ready */
    bool left;            /* not opened any more */
};

void ch_dial_init(struct ch_dial *w, const struct chela_channel_host *host,
                  const struct ch_dial_ops *ops, void *user);
void ch_dial_start(struct ch_dial *w, int64_t in_ms);
void ch_dial_open(struct ch_dial *w, const char *url);
void ch_dial_ready(struct ch_dial *w); /* the service has accepted the connection */
void ch_dial_works(struct ch_dial *w);
/* Hang up and connect again later: after wait_ms, if that is more than the usual delay. */
void ch_dial_lost(struct ch_dial *w, const char *why, int64_t wait_ms);
/* The service asks for a new connection: connect again, at once if the old one lasted. */
void ch_dial_renew(struct ch_dial *w);
/* False: there is no connection, or its queue is full. */
bool ch_dial_send(struct ch_dial *w, struct ch_sv text);
void ch_dial_leave(struct ch_dial *w); /* do not connect again */
void ch_dial_hang_up(struct ch_dial *w);

#endif
