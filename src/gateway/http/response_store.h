/* response_store.h -- the responses of POST /v1/responses, by id.
 *
 * Clients refer to an earlier response (previous_response_id), to one of its items
 * (item_reference), or fetch it again. Recent responses are in memory, bounded. The sessions' store
 * has each for a day, so that they survive a restart and other workers have them. Of a background
 * response the store has the place of its run (response_run.h) until the response is complete. Loop
 * thread only. */
#ifndef CH_GATEWAY_RESPONSE_STORE_H
#define CH_GATEWAY_RESPONSE_STORE_H
#include "base/sv.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/http_route.h"

struct ch_json;
struct ch_response_store;
struct ch_store_lookup;

/* Remembers a response. session: key of the stored session with which the response is deleted;
 * NULL: none. object: the response as JSON; items: input and output, JSON items, comma separated.
 * The oldest responses are dropped. A response that is too large is not remembered. */
void ch_response_store_put(chela_gateway *gw, const char *id, const char *session,
                           struct ch_sv object, struct ch_sv items);
/* Keeps where a background response is: what ch_response_run_read reads. */
void ch_response_store_keep_run(chela_gateway *gw, const char *id, const char *session,
                                struct ch_sv run);
/* If the store may have the response, or those of the items to which the list `input` refers:
 * looks for them, remembers them, calls respond, and returns true. id may be empty, input NULL. */
bool ch_response_store_fetch(struct ch_request *req, struct ch_sv id, const struct ch_json *input,
                             void (*respond)(struct ch_request *req, struct ch_store_lookup *l));
/* Input and output of a response; p NULL: unknown. Borrowed until the next put. */
struct ch_sv ch_response_store_items(const chela_gateway *gw, struct ch_sv id);
/* One item of the output of any response, as JSON in the arena; p NULL: unknown. */
struct ch_sv ch_response_store_item(const chela_gateway *gw, struct ch_arena *a, struct ch_sv id);
void ch_response_store_free(struct ch_response_store *s);

/* GET and DELETE /v1/responses/{id}, POST .../cancel, GET .../input_items. */
ch_http_route_fn ch_response_store_get, ch_response_store_delete, ch_response_store_cancel,
    ch_response_store_input;
/* Responds with a stream of events, from the first one or from ?starting_after=. */
void ch_response_store_stream(struct ch_request *req, const char *id);

#endif
