/* socket.h -- replies of the Responses API over a WebSocket, as a transport.
 *
 *   POST /responses {..}   ->  {"type":"response.create",..} on wss://.../responses
 *   an event               <-  a text message; handed on as a server-sent event
 *
 * A run has one connection, which lasts from request to request. A request that continues the last
 * reply contains only what the service does not hold (responses_held.h); if the service refuses it,
 * or holds nothing, the whole request is sent. A request goes over HTTP instead
 * if the connection cannot be opened, or ends before the first event of the reply. A connection
 * that ends later is a failure of the request, as over HTTP. */
#ifndef CH_MODEL_SOCKET_H
#define CH_MODEL_SOCKET_H
#include "net/http.h"

struct ch_socket;

/* h: for the connection; also carries what goes over HTTP. */
struct ch_socket *ch_socket_new(struct ch_http *h);
/* Closes the connection. No call may be open. NULL: does nothing. */
void ch_socket_free(struct ch_socket *s);
/* Requests that are started from now on have items of this number: those of an earlier request with
 * the same number are the begin of theirs. 0: nothing is known about them. */
void ch_socket_history(struct ch_socket *s, uint64_t history);
struct ch_transport *ch_socket_transport(struct ch_socket *s);
/* Why requests go over HTTP from now on; empty: they do not. */
const char *ch_socket_failure(const struct ch_socket *s);

#endif
