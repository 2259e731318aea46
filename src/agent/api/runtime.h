/* runtime.h -- makes runtimes from options, and frees what was closed. */
#ifndef CH_AGENT_RUNTIME_H
#define CH_AGENT_RUNTIME_H
#include "agent/handle/runtime.h"

/* Frees closed runs, sessions and agents. These may be closed inside their own callbacks:
 * closing stops them at once and puts them on a list, and only this function frees them. It
 * is called on the loop's next turn, and by functions that must not be called from a
 * callback. Does nothing while a callback is on the stack. */
void ch_runtime_free_closed(chela_runtime *rt);
/* chela_runtime_new with a given clock. */
int ch_runtime_open(const struct chela_runtime_opts *opts, const struct ch_clock *clock,
                    chela_runtime **out, struct chela_error *err);

#endif
