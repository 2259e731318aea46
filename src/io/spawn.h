/* spawn.h -- start a program: the part of child.c that makes the system calls.
 *
 * Reasons against uv_spawn: the program inherits every descriptor that the host
 * did not mark close-on-exec. Its pipes are sockets, so opening /dev/stdin
 * fails. The host's process needs a SIGCHLD handler. The leader is reaped at
 * once, after which killing its process group may hit an unrelated process. */
#ifndef CH_IO_SPAWN_H
#define CH_IO_SPAWN_H
#include <stdbool.h>
#include <sys/types.h>

#include "chela/error.h"

struct ch_child_opts;

#define CH_SPAWN_FDS 4 /* stdin, stdout, stderr, the report */

/* The descriptors of a program, -1 where there is none. All are close-on-exec
 * and above 3, so that they do not collide with the program's own descriptors. */
struct ch_spawn_fds {
    int ours[CH_SPAWN_FDS], theirs[CH_SPAWN_FDS];
    char tty[64]; /* path of a terminal used for 0, 1 and 2; "" if none */
};

/* Open the descriptors that opts require: pipes or a terminal; for stdin a file in memory
 * with the input, or /dev/null without input. On failure nothing stays open. */
int ch_spawn_fds_open(struct ch_spawn_fds *io, const struct ch_child_opts *opts,
                      struct chela_error *err);
void ch_spawn_fds_close_theirs(struct ch_spawn_fds *io);

/* Start opts->argv as leader of a new session and process group. The program
 * gets `theirs` as its only descriptors, default signal actions, and no blocked
 * signals. The caller must reap *pid. Blocks until exec has succeeded or
 * failed. */
int ch_spawn(const struct ch_child_opts *opts, const struct ch_spawn_fds *io, pid_t *pid,
             struct chela_error *err);

#endif
