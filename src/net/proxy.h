/* proxy.h -- decide which requests use a proxy, and build the requests to it.
 *
 * http targets are requested in absolute form, https targets through a CONNECT
 * tunnel. The proxy's credentials come from its URL, are sent only to the
 * proxy, and are registered for redaction. Only http:// proxies are supported. */
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

/* Whether the host is contacted directly. Loopback always is. list: entries
 * separated by commas or spaces, each a host, a .suffix (the domain and its
 * subdomains), an address, a network in CIDR form or "*", all but the last
 * optionally with ":port". */
bool ch_proxy_bypass(struct ch_sv list, const struct ch_url *url);

/* Append the CONNECT request for a tunnel to host:port. */
void ch_proxy_add_connect(struct ch_buf *out, const struct ch_proxy *p, const char *host,
                          uint16_t port);

/* Convert the proxy's refusal of a tunnel to an error. */
int ch_proxy_refused(const struct ch_proxy *p, int status, const char *target,
                     struct chela_error *err);

#endif
