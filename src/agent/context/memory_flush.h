/* memory_flush.h -- notes written by the runtime itself, before it forgets.
 *
 * A note takes the path of every call: it is written by the tool memory_write,
 * if the agent has it, the run may use it, and nobody has to be asked. */
#ifndef CH_AGENT_MEMORY_FLUSH_H
#define CH_AGENT_MEMORY_FLUSH_H
#include "agent/handle/run.h"

struct ch_memory_flush;

/* NULL: it is not to be written. Else done follows, once, never from inside;
 * whatever came of it. */
struct ch_memory_flush *ch_memory_flush_start(chela_run *run, struct ch_sv notes,
                                              void (*done)(void *user), void *user);
/* No callback after this; NULL is a no-op. */
void ch_memory_flush_cancel(struct ch_memory_flush *f);

#endif
