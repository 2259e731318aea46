/* lookup.h -- asking the store for a visit, off the loop.
 *
 * The store's calls block. So a question is put on a worker thread, with its
 * data copied in, and its answer comes back to the loop: unless the client has
 * left meanwhile. */
#ifndef CH_GATEWAY_LOOKUP_H
#define CH_GATEWAY_LOOKUP_H
#include "gateway/request/gateway.h"
#include "io/worker.h"

struct ch_lookup {
    struct ch_work work;
    struct ch_visit *visit; /* NULL: nobody waits any more */
    chela_store *store;
    char *key;  /* owned: what is asked about; may be NULL */
    int64_t number; /* likewise, for whoever needs one */
    int64_t now;    /* ms since the epoch, when it was asked */
    /* On a worker thread. */
    int (*ask)(struct ch_lookup *l, struct chela_error *err);
    /* On the loop: v is to be answered. */
    void (*told)(struct ch_visit *v, struct ch_lookup *l);
    int rc;
    struct chela_error err;
    struct ch_buf out, more;
    char *found; /* owned; may be NULL */
};

/* Asks, and answers v itself when that fails; else calls told. */
void ch_lookup(struct ch_visit *v, struct ch_sv key, int64_t number,
               int (*ask)(struct ch_lookup *l, struct chela_error *err),
               void (*told)(struct ch_visit *v, struct ch_lookup *l));

#endif
