/* init.h -- process 1 of the box, and the pipe that reports the command's
 * status. */
#ifndef CH_SANDBOX_INIT_H
#define CH_SANDBOX_INIT_H
#include "sandbox/box.h"

#define CH_NOTE_PID_MAX "pid_max" /* for the probe: process numbers are bounded */
#define CH_NOTE_GROUP "cgroup"    /* for the probe: the box has its own cgroup */

/* Create a pipe whose writing end becomes `fd` for child processes; returns the
 * reading end, which children do not inherit. */
int ch_pipe_to(int fd);

/* Write the wait status of a process to the pipe CH_FD_STATUS. */
void ch_status_write(int wait_status);
bool ch_status_read(int fd, int *wait_status); /* false: nothing was written */

/* Run the command, wait for it, report its status, and exit. For a box with
 * namespaces. Writes a byte to CH_FD_READY once SIGTERM would reach the
 * command. */
_Noreturn void ch_init(struct ch_box *box);

/* Redirect stdin, stdout and stderr to /dev/null: this process must not keep
 * open a pipe that the command's reader waits for. */
void ch_null_stdio(void);

#endif
