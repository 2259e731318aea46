/* pending.h -- the data that a session's log writes next: records, the events that they take
 * up and the messages that they send. Zeroed: empty. Loop thread, then the writer's thread. */
#ifndef CH_STORE_PENDING_H
#define CH_STORE_PENDING_H
#include <stdbool.h>

#include "base/arena.h"
#include "base/sv.h"
#include "chela/sys/store.h"

typedef void ch_change_fn(int rc, const struct chela_error *err, void *user);

struct ch_pending_sender { /* the sender of a message for the outbox */
    ch_change_fn *done;    /* may be NULL */
    void *user;
};

struct ch_pending {
    struct chela_store_record *list; /* owned, as all lists; texts are in the arena */
    size_t n, cap;
    const char **takes; /* events */
    size_t ntakes;
    struct chela_store_send *sends;
    struct ch_pending_sender *senders; /* one for each of sends */
    size_t nsends;
    struct ch_arena data;
};

bool ch_pending_is_empty(const struct ch_pending *p);
void ch_pending_release(struct ch_pending *p);
/* The data is copied; the checksum is made here. */
void ch_pending_add(struct ch_pending *p, struct chela_store_record r);
void ch_pending_take(struct ch_pending *p, const char *event);
void ch_pending_send(struct ch_pending *p, const char *id, struct ch_sv data, ch_change_fn *done,
                     void *user);
/* Reports the outcome of messages to their senders. why NULL: the rc of each message is its
 * outcome. */
void ch_pending_answer(const struct ch_pending *p, const struct chela_error *why);

#endif
