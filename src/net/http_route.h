/* http_route.h -- connections of the HTTP client for protocols that begin as
 * HTTP and then switch (ws.c). */
#ifndef CH_NET_HTTP_ROUTE_H
#define CH_NET_HTTP_ROUTE_H
#include "net/conn.h"
#include "net/http.h"

/* The route to url: direct or through a proxy. out borrows from both. */
int ch_http_route(const struct ch_http *h, const struct ch_url *url, struct ch_conn_route *out,
                  struct chela_error *err);
struct ch_shared *ch_http_shared(const struct ch_http *h);

#endif
