/* resolve.h -- resolve host names, with one lookup for all callers.
 *
 * getaddrinfo blocks, so libuv runs it on one of its few threads. A thousand
 * agents that start together resolve the same host: they share one lookup,
 * whose result is cached for a short time. Failures are not cached. */
#ifndef CH_NET_RESOLVE_H
#define CH_NET_RESOLVE_H
#include <netinet/in.h>

#include "base/limits.h"
#include "io/loop.h"

union ch_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct ch_addresses {
    union ch_address at[CH_LIMIT_ADDRESSES]; /* in the order to try; port 0 */
    size_t n;
};

struct ch_resolver;

struct ch_resolver *ch_resolver_new(struct ch_loop *loop);
void ch_resolver_free(struct ch_resolver *r); /* no lookup may be waiting */

/* A caller that waits for a result; embedded. */
struct ch_name_lookup {
    struct ch_name_lookup **link, *next; /* private; link is NULL when not waiting */
    /* Called once, unless cancelled. list is borrowed; NULL on failure, with
     * libuv's error. */
    void (*fn)(struct ch_name_lookup *l, const struct ch_addresses *list, int error);
};

/* If the addresses are cached: returns 0 with *out (borrowed until the loop
 * continues). Otherwise returns 0 with *out NULL, and l->fn will be called; or
 * returns libuv's error. */
int ch_resolver_ask(struct ch_resolver *r, const char *host, struct ch_name_lookup *l,
                    const struct ch_addresses **out);
void ch_lookup_cancel(struct ch_name_lookup *l);

/* Drop the cached addresses, because none of them works. */
void ch_resolver_forget(struct ch_resolver *r, const char *host);

#endif
