/* renames.h -- answers the renames of a command in a layer (move.h says why).
 *
 * A filter stops rename, renameat and renameat2 of the command and its descendants until init has
 * looked at them. What is no directory goes on. A directory is moved by a process of its own, with
 * the rights of the command: what the command names cannot lead further than the command itself
 * comes. Without such filters (Linux before 5.5, another listener outside), renames fail as
 * overlayfs lets them fail. */
#ifndef CH_SANDBOX_RENAMES_H
#define CH_SANDBOX_RENAMES_H
#include <sys/types.h>

#include "base/limits.h"
#include "sandbox/box.h"

struct ch_renames {
    const struct ch_box *box;
    int listener; /* readable: a rename waits; -1: none */
    struct {
        pid_t pid; /* 0: free */
        uint64_t id;
    } moves[CH_LIMIT_BOX_MOVES];
};

/* For the command: install the filter, and send its listener over the socket to init. */
void ch_renames_begin(int socket);

/* For init: take the listener. */
void ch_renames_open(struct ch_renames *r, const struct ch_box *box, int socket);

/* For init, if the listener is readable. */
void ch_renames_answer(struct ch_renames *r);

/* For init: a child process that is not the command has ended. */
void ch_renames_ended(struct ch_renames *r, pid_t pid, int status);

#endif
