/* pool.h -- idle connections that wait for their next request.
 *
 * The newest connection is taken first: the peer is least likely to have closed
 * it, and the others may expire. A connection that ends or receives data while
 * idle is closed. The number and the age of idle connections are bounded. */
#ifndef CH_NET_POOL_H
#define CH_NET_POOL_H
#include "net/conn.h"

struct ch_pool {
    struct ch_loop *loop;
    struct ch_list idle; /* struct ch_conn, the oldest first */
    size_t count;
    struct ch_timer expiry; /* due when the oldest connection may expire */
};

void ch_pool_init(struct ch_pool *p, struct ch_loop *loop);
void ch_pool_release(struct ch_pool *p); /* closes all */

/* Takes ownership of c. */
void ch_pool_put(struct ch_pool *p, struct ch_conn *c);

/* An idle connection along the route, which the caller then owns, or NULL. */
struct ch_conn *ch_pool_get(struct ch_pool *p, const struct ch_conn_route *route);

#endif
