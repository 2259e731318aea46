/* process_kill.h -- find and kill descendants without a PID namespace. */
#ifndef CH_SANDBOX_PROCESS_KILL_H
#define CH_SANDBOX_PROCESS_KILL_H
#include <stdint.h>

/* Send a signal to every descendant. */
void ch_descendants_signal(int sig);

/* Kill every descendant, including orphaned ones, and reap them. The caller
 * must be a subreaper, so that orphans become its children. */
void ch_descendants_end(void);

/* The number of processes and threads of this user, 0 if unknown. Where
 * RLIMIT_NPROC counts all of them, the limit must be raised by this number. */
uint64_t ch_tasks_of_user(void);

#endif
