/* sigpipe.h -- write to pipes and sockets without a SIGPIPE that kills the
 * process.
 *
 * A library must not ignore a signal for the whole process. The guard blocks
 * SIGPIPE in the calling thread while it writes, and then removes a SIGPIPE
 * that arrived meanwhile: SIGPIPE is always sent to the thread that wrote.
 * Guards nest. */
#ifndef CH_IO_SIGPIPE_H
#define CH_IO_SIGPIPE_H
#include <signal.h>
#include <stdbool.h>

struct ch_sigpipe {
    sigset_t mask; /* previous signal mask */
    bool ours;     /* SIGPIPE was neither blocked nor pending before: remove it */
};

void ch_sigpipe_block(struct ch_sigpipe *g);
void ch_sigpipe_restore(struct ch_sigpipe *g);

#endif
