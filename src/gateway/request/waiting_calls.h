/* waiting_calls.h -- calls of paused sessions that wait for a person, as the store has them. */
#ifndef CH_GATEWAY_WAITING_CALLS_H
#define CH_GATEWAY_WAITING_CALLS_H
#include "json/json.h"
#include "store/store.h"

/* Receives one call: an element of "waiting" in the text of chela_store_show. A result other
 * than 0 ends the search. */
typedef int ch_waiting_call_fn(const char *session, const struct ch_json *agent,
                               const struct ch_json *call, void *user);

/* The waiting calls of the sessions whose keys begin with prefix (NULL: of all). Blocks: for a
 * worker thread. */
int ch_waiting_calls(chela_store *store, const char *prefix, ch_waiting_call_fn *fn, void *user,
                     struct chela_error *err);

#endif
