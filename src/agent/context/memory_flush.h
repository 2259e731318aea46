/* memory_flush.h -- writes notes to memory before messages are removed from the history.
 *
 * A note is written by a call of the tool memory_write, with the checks of every call. It is
 * written only if the agent has the tool, the run may use the tool, and the call needs no
 * approval. */
#ifndef CH_AGENT_MEMORY_FLUSH_H
#define CH_AGENT_MEMORY_FLUSH_H
#include "agent/handle/run.h"

struct ch_memory_flush;

/* NULL: the note is not written. Otherwise done is called once, later, whatever the
 * outcome. */
struct ch_memory_flush *ch_memory_flush_start(chela_run *run, struct ch_sv notes,
                                              void (*done)(void *user), void *user);
/* No callback after this; NULL is a no-op. */
void ch_memory_flush_cancel(struct ch_memory_flush *f);

#endif
