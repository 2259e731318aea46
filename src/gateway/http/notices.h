/* notices.h -- GET /api/events: tells pages that a session of the store has changed.
 *
 * While somebody listens, the gateway looks at the list of sessions in the store every few
 * seconds, and soon after an event of one of its own runs. If the list has changed, every
 * listener gets an event named `sessions`, so that a page need not poll. Loop thread only. */
#ifndef CH_GATEWAY_NOTICES_H
#define CH_GATEWAY_NOTICES_H
#include "gateway/request/gateway_state.h"
#include "gateway/request/http_route.h"

struct ch_notices;
struct ch_request;

/* A stream that receives notices; embedded in the struct of its owner. Zeroed: none. */
struct ch_notice_watcher {
    struct ch_link link;
    struct ch_request *request; /* NULL: not watching */
};

struct ch_notices *ch_notices_new(chela_gateway *gw);
void ch_notices_free(struct ch_notices *n);

/* req must have begun its stream. */
void ch_notices_watch(struct ch_notices *n, struct ch_notice_watcher *w, struct ch_request *req);
/* Does nothing if w is not watching. */
void ch_notices_unwatch(struct ch_notice_watcher *w);

/* A session may have changed: looks soon. */
void ch_notices_look_soon(chela_gateway *gw);

ch_http_route_fn ch_notices_get;

#endif
