/* session_socket.h -- GET /api/sessions/{key}/socket: a session over a WebSocket. */
#ifndef CH_GATEWAY_SESSION_SOCKET_H
#define CH_GATEWAY_SESSION_SOCKET_H
#include "gateway/request/request.h"

ch_http_route_fn ch_session_socket_open;
/* The gateway stops: closes the WebSockets whose session has no run in progress, or all of
 * them. The others are closed when the run ends. */
void ch_session_sockets_close(chela_gateway *gw, bool all);

#endif
