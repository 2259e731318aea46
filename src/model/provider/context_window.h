/* context_window.h -- asks a local server for the size of its context window.
 *
 * The size is a setting of the server's owner, so the built-in table does not have it. The
 * request is sent beside the first model call to the server, and the model call does not
 * wait. Until the answer arrives, or if there is none, the size is unknown. The answer holds
 * for all runs of the runtime. */
#ifndef CH_MODEL_CONTEXT_WINDOW_H
#define CH_MODEL_CONTEXT_WINDOW_H
#include "model/provider/target.h"

/* Called before each model call to t. Asks the server of t unless the size is known or was
 * asked for recently. now: the monotonic time. */
void ch_context_window_ask(struct ch_providers *ps, struct ch_target *t, int64_t now);

/* In tokens; 0: unknown. */
int64_t ch_context_window_of(const struct ch_context_window *w);

/* t is freed: its request is cancelled. */
void ch_context_window_leave(const struct ch_target *t);

/* Frees all sizes. Call after the targets were freed. */
void ch_context_windows_free(struct ch_context_window *list);

#endif
