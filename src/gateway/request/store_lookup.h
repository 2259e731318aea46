/* store_lookup.h -- reads the store for a request, on a worker thread.
 *
 * Calls of the store block. The query runs on a worker thread with a copy of its arguments;
 * the response is made on the loop, unless the client has left meanwhile. */
#ifndef CH_GATEWAY_STORE_LOOKUP_H
#define CH_GATEWAY_STORE_LOOKUP_H
#include "gateway/request/request.h"
#include "io/worker.h"

struct ch_store_lookup;

/* Asks the store, on a worker thread. */
typedef int ch_store_query_fn(struct ch_store_lookup *l, struct chela_error *err);
/* Answers req, on the loop, after a successful query. */
typedef void ch_store_respond_fn(struct ch_request *req, struct ch_store_lookup *l);

struct ch_store_lookup {
    struct ch_work work;
    struct ch_link link;        /* in gw->lookups */
    chela_gateway *gw;          /* NULL: closed meanwhile */
    struct ch_request *request; /* NULL: the client has left */
    chela_store *store;
    ch_store_query_fn *query;
    ch_store_respond_fn *respond;
    /* On the loop, after a successful query, also if the client has left; may be NULL. */
    void (*settle)(chela_gateway *gw, const struct ch_store_lookup *l);
    /* The client has left; may be NULL. */
    void (*gone)(void *user);
    void *user; /* the handler's own */
    /* Arguments of the query; the query may use the numbers as variables. */
    char *key;      /* owned, may be NULL */
    int64_t number; /* of a page: its limit */
    int64_t after;  /* of a page: begin behind this number */
    int64_t before; /* of a page: end before this number; 0: no end */
    int64_t now;    /* ms since the epoch, when the lookup began */
    /* Results of the query. */
    int rc;
    struct chela_error err;
    int64_t last; /* the number of a record, or a count */
    struct ch_buf out, more;
    char *found; /* owned, may be NULL */
};

/* Runs query with key and number, then respond. If the query fails, the request is answered with
 * its error. */
void ch_store_lookup_start(struct ch_request *req, struct ch_sv key, int64_t number,
                           ch_store_query_fn *query, ch_store_respond_fn *respond);

/* The same for a page of a list: number, after and before are the parameters `limit`, `after` and
 * `before` of the request. */
void ch_store_lookup_start_page(struct ch_request *req, struct ch_sv key,
                                ch_store_query_fn *query, ch_store_respond_fn *respond);

/* On the worker thread: true if more than CH_LIMIT_LISTED sessions were changed since l->number, so
 * that an answer about the newest ones is not complete. */
bool ch_store_lookup_exceeds(struct ch_store_lookup *l);

/* Sets `settle` of the lookup that was started for req. */
void ch_store_lookup_settle(struct ch_request *req,
                            void (*settle)(chela_gateway *gw, const struct ch_store_lookup *l));
/* Sets `gone` and `user` of the lookup that was started for req. */
void ch_store_lookup_own(struct ch_request *req, void (*gone)(void *user), void *user);
/* The gateway is about to be freed. */
void ch_store_lookups_close(chela_gateway *gw);

#endif
