/* last_end.h -- the end of the last run of a stored session, as an event. */
#ifndef CH_CLI_LAST_END_H
#define CH_CLI_LAST_END_H
#include "chela/event.h"
#include "chela/store.h"

/* Calls on_event with the RUN_END of the last run of the session, read from its journal.
 * text: the answer. Returns 1 if there was one, 0 if no run has ended, or an error. */
int ch_last_end_tell(chela_store *store, const char *key, const char *text,
                     void (*on_event)(const struct chela_event *ev, void *user), void *user,
                     struct chela_error *err);

#endif
