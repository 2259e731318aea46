/* idempotency.h -- requests that a client may repeat: the header Idempotency-Key.
 *
 *   key --> claimed in the store --> handler --> answer kept in the store --> response
 *            |
 *            `-- claimed before: the kept answer, or the wait for it
 *
 * The first request with a key claims the key, for all gateways that share the store. The
 * claim names the event that the request stores, so that a request which takes over the
 * claim of a dead process stores no second one. A repeated request gets the first answer; a
 * request with the same key and another content is refused (409). Answers with a status of
 * 5xx, 408 or 429 are not kept, and release the key. When the session of an answer is deleted,
 * the answer goes, and its key stays: a repeated request runs nothing (409). Loop thread only. */
#ifndef CH_GATEWAY_IDEMPOTENCY_H
#define CH_GATEWAY_IDEMPOTENCY_H
#include "gateway/request/request.h"

/* Calls run(req) if the request has no key, or is the first one with its key; otherwise
 * answers the request. The sender must have been authenticated. event: id for the event of
 * the request, which becomes req->event; NULL: made here. */
void ch_idempotency_begin(struct ch_request *req, const char *event, ch_http_route_fn *run);

/* The answer will belong to this session instead of req->session. Nothing for a request without
 * a key. */
void ch_idempotency_belongs(struct ch_request *req, const char *session);

/* The functions below are for request.c; each does nothing for a request without a key. */

/* True: the response is sent when the store has it. */
bool ch_idempotency_keep(struct ch_request *req, int status, const char *type, struct ch_sv text);
void ch_idempotency_add_header(struct ch_request *req, const char *name, const char *value);
void ch_idempotency_add_bytes(struct ch_request *req, struct ch_sv bytes); /* of a stream */
void ch_idempotency_end_stream(struct ch_request *req);
/* The client has left, and the handler knows. */
void ch_idempotency_leave(struct ch_request *req);

/* The gateway is being closed. */
void ch_idempotency_close(chela_gateway *gw);

#endif
