/* context_window.h -- how much context a server on this machine gives its model.
 *
 * No table knows: it is what its owner set. The server is asked beside the
 * first model call that goes to it; the call does not wait, and until there is
 * an answer the size is unknown, as it stays if there is none. What was found
 * holds for all runs of the runtime. */
#ifndef CH_MODEL_CONTEXT_WINDOW_H
#define CH_MODEL_CONTEXT_WINDOW_H
#include "model/provider/target.h"

/* A model call goes to t: ask its server, if there is something to find out. */
void ch_context_window_ask(struct ch_providers *ps, struct ch_target *t);

/* In tokens; 0: unknown. */
int64_t ch_context_window_of(const struct ch_context_window *w);

/* Abandon what is asked, forget what was found. Before the targets are gone. */
void ch_context_windows_free(struct ch_context_window *list);

#endif
