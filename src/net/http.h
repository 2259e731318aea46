/* http.h -- the HTTP/1.1 client: keep-alive, TLS, proxies, four timeouts.
 *
 * Connections are pooled per origin and reused; a request on a reused
 * connection that the server had already closed is sent again once, on a new
 * one, if not a byte of a response had come. Redirects are not followed: a 3xx
 * is handed up like any status, so credentials never travel to another host.
 * Bytes after a complete response close the connection and are no error.
 * TLS comes from a module that is loaded at the first https request.
 *
 * A proxy is asked for http targets in absolute form and for https targets
 * with CONNECT. Loopback targets never go through one. */
#ifndef CH_NET_HTTP_H
#define CH_NET_HTTP_H
#include "io/loop.h"
#include "net/transport.h"

struct ch_http;

struct ch_http_opts {
    /* For http and for https targets: "http://[user:password@]host[:port]";
     * NULL or "": none. A bad one is reported by the calls that would use it. */
    const char *proxy_http, *proxy_https;
    /* Hosts that are asked directly, between commas: host, .suffix, address,
     * network/bits, "*"; host:port for one port only. */
    const char *no_proxy;
    const char *ca_file;     /* NULL: the system's trust store */
    const char *user_agent;  /* NULL: chela/VERSION */
    const char *module_path; /* colon list of directories tried first; may be NULL */
};

/* opts (NULL: all defaults) and its strings are copied. */
struct ch_http *ch_http_new(struct ch_loop *loop, const struct ch_http_opts *opts);

/* Cancels all calls and closes all connections; legal in any callback. What
 * libuv still holds is freed as the loop runs on or is closed. */
void ch_http_close(struct ch_http *h);

struct ch_transport *ch_http_transport(struct ch_http *h);

#endif
