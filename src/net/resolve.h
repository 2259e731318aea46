/* resolve.h -- names to addresses, asked once however many want to know.
 *
 * getaddrinfo blocks, so libuv runs it on one of its few threads. A thousand
 * agents that start together ask for the same host: they share one lookup, and
 * its answer is remembered for a short while. Failures are not remembered. */
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
void ch_resolver_free(struct ch_resolver *r); /* nobody may be waiting */

/* Somebody who waits for an answer; embedded. */
struct ch_name_lookup {
    struct ch_name_lookup **link, *next; /* private; link is NULL when not waiting */
    /* Called once, unless cancelled: list is borrowed, or NULL and error is
     * libuv's. */
    void (*fn)(struct ch_name_lookup *l, const struct ch_addresses *list, int error);
};

/* 0 and *out (borrowed until the loop runs on) when the addresses are known; 0
 * and NULL when l->fn will be called; or libuv's error. */
int ch_resolver_ask(struct ch_resolver *r, const char *host, struct ch_name_lookup *l,
                    const struct ch_addresses **out);
void ch_lookup_cancel(struct ch_name_lookup *l);

/* None of the remembered addresses works: ask again next time. */
void ch_resolver_forget(struct ch_resolver *r, const char *host);

#endif
