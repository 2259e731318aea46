/* supervisor.h -- the keeper: creates the box, waits for its end, and cleans
 * up. */
#ifndef CH_SANDBOX_SUPERVISOR_H
#define CH_SANDBOX_SUPERVISOR_H
#include "sandbox/box.h"

#define CH_SIG_STOP SIGUSR2 /* from the leader: terminate the command */
#define CH_SIG_GONE SIGUSR1 /* the leader is gone: kill the box now */

/* Runs in a child of the leader, with both signals and SIGCHLD blocked. */
_Noreturn void ch_keeper(struct ch_box *box, pid_t leader);

#endif
