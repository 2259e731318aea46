/* spawn.h -- start a program: the part of child.c that talks to the system.
 *
 * Why not uv_spawn: it hands every descriptor that the host forgot to mark
 * close-on-exec to the program, gives it sockets for pipes (opening /dev/stdin
 * then fails), needs a SIGCHLD handler in the host's process, and reaps the
 * leader at once, after which killing its process group may hit a stranger. */
#ifndef CH_IO_SPAWN_H
#define CH_IO_SPAWN_H
#include <stdbool.h>
#include <sys/types.h>

#include "chela/error.h"

struct ch_child_opts;

#define CH_STDIO_N 4 /* stdin, stdout, stderr, the report */

/* The descriptors of a program, -1 where there is none. All are close-on-exec
 * and above 3, so that none is in the way of the program's own. */
struct ch_stdio {
    int ours[CH_STDIO_N], theirs[CH_STDIO_N];
    char tty[64]; /* path of a terminal that is 0, 1 and 2 instead; "" if none */
};

/* What opts ask for: pipes or a terminal; for stdin /dev/null if nothing is to
 * be fed. On failure nothing is left open. */
int ch_stdio_open(struct ch_stdio *io, const struct ch_child_opts *opts, struct chela_error *err);
void ch_stdio_close_theirs(struct ch_stdio *io);

/* Start opts->argv as leader of a new session and process group, with `theirs`
 * as its only descriptors, default signal actions and none blocked. The caller
 * must reap *pid. Blocks until the program is loaded or has failed to. */
int ch_spawn(const struct ch_child_opts *opts, const struct ch_stdio *io, pid_t *pid,
             struct chela_error *err);

#endif
