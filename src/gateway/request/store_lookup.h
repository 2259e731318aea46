/* store_lookup.h -- reads the store for a request, on a worker thread.
 *
 * Calls of the store block. The query runs on a worker thread with a copy of its arguments;
 * the response is made on the loop, unless the client has left meanwhile. */
#ifndef CH_GATEWAY_STORE_LOOKUP_H
#define CH_GATEWAY_STORE_LOOKUP_H
#include "gateway/request/request.h"
#include "io/worker.h"

struct ch_store_lookup {
    struct ch_work work;
    struct ch_link link;        /* in gw->lookups */
    chela_gateway *gw;          /* NULL: closed meanwhile */
    struct ch_request *request; /* NULL: the client has left */
    chela_store *store;
    char *key;      /* owned; the query's argument, may be NULL */
    int64_t number; /* a second argument */
    int64_t after;  /* of a page: begin behind this number */
    int64_t before; /* a third argument */
    int64_t last;   /* a result: the number of a record */
    int64_t now;    /* ms since the epoch, when the lookup began */
    /* On a worker thread. */
    int (*query)(struct ch_store_lookup *l, struct chela_error *err);
    /* On the loop, after a successful query, also if the client has left; may be NULL. */
    void (*settle)(chela_gateway *gw, const struct ch_store_lookup *l);
    /* On the loop, after a successful query: must respond to req. */
    void (*respond)(struct ch_request *req, struct ch_store_lookup *l);
    int rc;
    struct chela_error err;
    struct ch_buf out, more; /* results */
    char *found;             /* owned; a result, may be NULL */
};

/* Runs query, then respond. If the query fails, the request is answered with its error. */
void ch_store_lookup_start(struct ch_request *req, struct ch_sv key, int64_t number,
                           int (*query)(struct ch_store_lookup *l, struct chela_error *err),
                           void (*respond)(struct ch_request *req, struct ch_store_lookup *l));

/* The same with a third argument. */
void ch_store_lookup_start_before(struct ch_request *req, struct ch_sv key, int64_t number,
                                  int64_t before,
                                  int (*query)(struct ch_store_lookup *l, struct chela_error *err),
                                  void (*respond)(struct ch_request *req,
                                                  struct ch_store_lookup *l));

/* The same for a page of a list: number, after and before are the parameters `limit`, `after` and
 * `before` of the request. */
void ch_store_lookup_start_page(struct ch_request *req, struct ch_sv key,
                                int (*query)(struct ch_store_lookup *l, struct chela_error *err),
                                void (*respond)(struct ch_request *req,
                                                struct ch_store_lookup *l));

/* Sets `settle` of the lookup that was started for req. */
void ch_store_lookup_settle(struct ch_request *req,
                            void (*settle)(chela_gateway *gw, const struct ch_store_lookup *l));
/* The gateway is about to be freed. */
void ch_store_lookups_close(chela_gateway *gw);

#endif
