/* recall.h -- what is written down about a run's input, told with it.
 *
 * If the operator set room for it, notes and past turns are looked through for
 * what the user says, before the first model call and beside the loop. What is
 * found stands at the end of the requests of that run, with its sources, and
 * never becomes history. */
#ifndef CH_AGENT_RECALL_H
#define CH_AGENT_RECALL_H
#include "agent/handle/driver.h"

/* false: it is being looked for, and ch_think follows. */
bool ch_recall_ready(chela_run *run);
void ch_recall_abort(chela_run *run); /* drop it, if any */

#endif
