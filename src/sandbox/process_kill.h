/* process_kill.h -- processes without a namespace around them. */
#ifndef CH_SANDBOX_PROCESS_KILL_H
#define CH_SANDBOX_PROCESS_KILL_H
#include <stdint.h>

/* Send a signal to every descendant. */
void ch_descendants_signal(int sig);

/* End every descendant, also those that left their parents, and reap them. The
 * caller is a subreaper: whoever loses its parent becomes its child. */
void ch_descendants_end(void);

/* How many processes and threads this user has now, 0 if unknown: where
 * RLIMIT_NPROC counts all of them, it has to start from there. */
uint64_t ch_tasks_of_user(void);

#endif
