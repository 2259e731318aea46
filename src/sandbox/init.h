/* init.h -- process 1 of the box, and how it tells the outside what became of
 * the command. */
#ifndef CH_SANDBOX_INIT_H
#define CH_SANDBOX_INIT_H
#include "sandbox/box.h"

#define CH_NOTE_PID_MAX "pid_max" /* for the probe: the number of processes is bounded */

/* A pipe whose writing end becomes `fd`, for processes to come; returns the
 * reading end, which is none of theirs. */
int ch_pipe_to(int fd);

/* How a process ended, as wait reports it, through the pipe CH_FD_STATUS. */
void ch_status_write(int wait_status);
bool ch_status_read(int fd, int *wait_status); /* false: nothing was written */

/* Run the command, wait for it, report, end. In a box with namespaces. Once
 * SIGTERM would reach the command, a byte goes to CH_FD_READY. */
_Noreturn void ch_init(const struct ch_box *box);

/* Stand on /dev/null: a pipe that the command's reader waits for must not be
 * held open by us. */
void ch_null_stdio(void);

#endif
