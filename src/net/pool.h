/* pool.h -- connections that wait for their next request.
 *
 * The newest is taken first: it is the least likely to have been closed by the
 * peer, and the others may expire. A connection that ends or speaks while it
 * waits is closed. The number and the age of waiting connections are bounded. */
#ifndef CH_NET_POOL_H
#define CH_NET_POOL_H
#include "net/conn.h"

struct ch_pool {
    struct ch_loop *loop;
    struct ch_conn *newest, *oldest;
    size_t count;
    struct ch_timer expiry; /* due when the oldest may be too old */
};

void ch_pool_init(struct ch_pool *p, struct ch_loop *loop);
void ch_pool_release(struct ch_pool *p); /* closes all */

/* Takes c over. */
void ch_pool_put(struct ch_pool *p, struct ch_conn *c);

/* A connection along the route, now the caller's, or NULL. */
struct ch_conn *ch_pool_get(struct ch_pool *p, const struct ch_conn_route *route);

#endif
