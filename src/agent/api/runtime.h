/* runtime.h -- runtimes, from options. */
#ifndef CH_AGENT_RUNTIME_H
#define CH_AGENT_RUNTIME_H
#include "agent/handle/runtime.h"

/* Runs, sessions and agents may be closed inside callbacks of their own. Closing stops
 * them at once and puts them on a list; this is the one place that frees them. It is
 * called on the loop's next turn, when no callback is on the stack, and by those who
 * may not be called from a callback themselves. */
void ch_runtime_free_closed(chela_runtime *rt); /* nothing while a callback is on the stack */
/* chela_runtime_new with a clock of the caller's. */
int ch_runtime_open(const struct chela_runtime_opts *opts, const struct ch_clock *clock,
                    chela_runtime **out, struct chela_error *err);

#endif
