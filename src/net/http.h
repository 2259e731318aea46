/* http.h -- the HTTP/1.1 client: keep-alive, TLS, proxies, four timeouts.
 *
 * Connections are pooled per origin and reused. If the server had already
 * closed a reused connection and no byte of a response came, the request is
 * sent once more on a new connection. Redirects are not followed: a 3xx is
 * returned like any status, so credentials never go to another host. Bytes
 * after a complete response close the connection and are not an error. A module
 * provides TLS; it is loaded at the first https request.
 *
 * Requests through a proxy use the absolute form for http targets and CONNECT
 * for https targets. Loopback targets never use a proxy. */
#ifndef CH_NET_HTTP_H
#define CH_NET_HTTP_H
#include "io/loop.h"
#include "net/transport.h"

struct ch_http;

struct ch_http_opts {
    /* Proxies for http and https targets: "http://[user:password@]host[:port]";
     * NULL or "": none. Calls that would use an invalid proxy report it. */
    const char *proxy_http, *proxy_https;
    /* Hosts that are contacted directly, separated by commas: host, .suffix,
     * address, network/bits, "*"; host:port for one port only. */
    const char *no_proxy;
    const char *ca_file;     /* NULL: the system's trust store */
    const char *module_path; /* colon-separated directories tried first; may be NULL */
};

/* opts (NULL: all defaults) and its strings are copied. */
struct ch_http *ch_http_new(struct ch_loop *loop, const struct ch_http_opts *opts);

/* Cancels all calls and closes all connections; may be called in any callback.
 * Memory that libuv still uses is freed as the loop runs or is closed. */
void ch_http_close(struct ch_http *h);

struct ch_transport *ch_http_transport(struct ch_http *h);

#endif
