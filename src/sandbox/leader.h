/* leader.h -- the process that stands for the command outside. */
#ifndef CH_SANDBOX_LEADER_H
#define CH_SANDBOX_LEADER_H
#include "sandbox/box.h"

/* Have the command run in its box, and wait. True: *wait_status is how it
 * ended. False: it did not run, or its end is not known; the report says. */
bool ch_leader_run(struct ch_box *box, int *wait_status);

/* End the way it did. */
_Noreturn void ch_leader_end(int wait_status);

#endif
