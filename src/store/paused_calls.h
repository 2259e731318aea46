/* paused_calls.h -- calls of paused sessions that wait for a person, as the store has them.
 *
 * A journal is read once for each of its states: the text of its waiting calls stays in memory
 * until the session's row changes. Other processes may change the rows. All functions may be
 * called from any thread and may block. */
#ifndef CH_STORE_PAUSED_CALLS_H
#define CH_STORE_PAUSED_CALLS_H
#include "json/json.h"
#include "store/store.h"

/* Receives one call: an element of "waiting" in the text of chela_store_show. A result other
 * than 0 ends the search. */
typedef int ch_paused_call_fn(const char *session, const struct ch_json *agent,
                              const struct ch_json *call, void *user);

struct ch_paused_search {
    const char *prefix;   /* of the keys of sessions; NULL: all */
    const char *approval; /* only the call with this approval id; NULL: all */
    ch_paused_call_fn *fn;
    void *user;
};
int ch_paused_calls(chela_store *store, const struct ch_paused_search *search,
                    struct chela_error *err);

/* Frees the texts; for chela_store_close. */
void ch_paused_sessions_release(struct ch_paused_sessions *s);

#endif
