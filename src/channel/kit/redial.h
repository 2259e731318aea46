/* redial.h -- a WebSocket of a channel that is opened again after it was lost.
 *
 *   connect --ch_redial_open--> open --ch_redial_ready--> ready
 *      ^-- a while -- failed, lost, silent --------------'
 *
 * The delays grow up to a minute and are random. They begin again after a connection that
 * lasted, or that brought a new message (ch_redial_works). A message that was already stored
 * is not progress: otherwise a service that repeats one message and closes the connection
 * would be dialled every second. */
#ifndef CH_CHANNEL_KIT_REDIAL_H
#define CH_CHANNEL_KIT_REDIAL_H
#include "base/sv.h"
#include "chela/sys/channel.h"
#include "json/json.h"

struct ch_redial_ops {
    /* Find the address, at once or later; then ch_redial_open, or ch_redial_lost. */
    void (*connect)(void *user);
    void (*open)(void *user);
    void (*message)(const struct ch_json *v, void *user);
    void (*beat)(void *user); /* send a sign of life; NULL: a ping */
    void (*gone)(void *user); /* the connection has ended; may be NULL */
    int64_t beat_ms, silent_ms;
};

struct ch_redial {
    const struct chela_channel_host *host;
    const struct ch_redial_ops *ops;
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

void ch_redial_init(struct ch_redial *w, const struct chela_channel_host *host,
                    const struct ch_redial_ops *ops, void *user);
void ch_redial_start(struct ch_redial *w, int64_t in_ms);
void ch_redial_open(struct ch_redial *w, const char *url);
void ch_redial_ready(struct ch_redial *w); /* the service has accepted the connection */
void ch_redial_works(struct ch_redial *w);
/* Hang up and connect again later: after wait_ms, if that is more than the usual delay. */
void ch_redial_lost(struct ch_redial *w, const char *why, int64_t wait_ms);
/* The service asks for a new connection: connect again, at once if the old one lasted. */
void ch_redial_renew(struct ch_redial *w);
/* False: there is no connection, or its queue is full. */
bool ch_redial_send(struct ch_redial *w, struct ch_sv text);
void ch_redial_leave(struct ch_redial *w); /* do not connect again */
void ch_redial_hang_up(struct ch_redial *w);

#endif
