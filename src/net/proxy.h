/* proxy.h -- which requests go through a proxy, and how to speak to it.
 *
 * http targets are asked for in absolute form; https targets through a CONNECT
 * tunnel. The proxy's credentials come from its URL, go to the proxy alone,
 * and are registered for redaction. Only http:// proxies are spoken to. */
#ifndef CH_NET_PROXY_H
#define CH_NET_PROXY_H
#include "base/buf.h"
#include "net/url.h"

struct ch_proxy {
    char *host; /* owned */
    uint16_t port;
    char *auth; /* owned: the value of Proxy-Authorization, or NULL */
};

/* url: "http://user:password@host:3128"; the scheme may be left out. */
int ch_proxy_new(const char *url, struct ch_proxy **out, struct chela_error *err);
void ch_proxy_free(struct ch_proxy *p);

/* Is the host exempt? Loopback always is. list: entries between commas or
 * spaces, each a host, a .suffix (the domain and all below it), an address, a
 * network in CIDR form or "*", all but the last optionally with ":port". */
bool ch_proxy_bypass(struct ch_sv list, const struct ch_url *url);

/* The request that asks for a tunnel to host:port. */
int ch_proxy_add_connect(struct ch_buf *out, const struct ch_proxy *p, const char *host,
                         uint16_t port);

/* What a refusal of the tunnel means. */
int ch_proxy_refused(const struct ch_proxy *p, int status, const char *target,
                     struct chela_error *err);

#endif
