/* http_route.h -- the connections of the HTTP client, for protocols that begin
 * as HTTP and go on as something else (ws.c). */
#ifndef CH_NET_HTTP_ROUTE_H
#define CH_NET_HTTP_ROUTE_H
#include "net/conn.h"
#include "net/http.h"

/* How url is reached: through a proxy or not. out borrows from both. */
int ch_http_route(const struct ch_http *h, const struct ch_url *url, struct ch_conn_route *out,
                  struct chela_error *err);
struct ch_shared *ch_http_shared(const struct ch_http *h);
const char *ch_http_user_agent(const struct ch_http *h);

#endif
