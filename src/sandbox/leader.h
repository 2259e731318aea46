/* leader.h -- the process that represents the command towards the runtime. */
#ifndef CH_SANDBOX_LEADER_H
#define CH_SANDBOX_LEADER_H
#include "sandbox/box.h"

/* Run the command in its box and wait. True: *wait_status is its status. False:
 * the command did not run or its status is unknown; the report has the reason. */
bool ch_leader_run(struct ch_box *box, int *wait_status);

/* Exit with the command's exit code or signal. */
_Noreturn void ch_leader_end(int wait_status);

#endif
