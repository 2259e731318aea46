/* large_calls.h -- calls whose arguments do not fit the conversation.
 *
 * Every later request contains the arguments of a call. Arguments that are larger than the model's
 * context window would end the run, and a compaction cannot help: the last reply stays. Such
 * arguments are left out, the call is not run, and the model is told so by its result. */
#ifndef CH_AGENT_LARGE_CALLS_H
#define CH_AGENT_LARGE_CALLS_H
#include "agent/handle/run.h"

/* Replaces the arguments that do not fit. Takes m, which may be NULL, and returns it or its
 * successor. */
struct ch_msg *ch_large_calls_omit(const chela_run *run, struct ch_msg *m);

#endif
