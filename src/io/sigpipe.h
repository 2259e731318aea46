/* sigpipe.h -- write to pipes and sockets without being killed by SIGPIPE.
 *
 * A library may not ignore a signal for the whole process, so it is blocked in
 * the calling thread for as long as it writes, and one that arrived meanwhile
 * is taken away: SIGPIPE is always sent to the thread that wrote. Guards nest. */
#ifndef CH_IO_SIGPIPE_H
#define CH_IO_SIGPIPE_H
#include <signal.h>
#include <stdbool.h>

struct ch_sigpipe {
    sigset_t mask; /* as it was */
    bool ours;     /* not blocked and not pending before, so ours to clear */
};

void ch_sigpipe_block(struct ch_sigpipe *g);
void ch_sigpipe_restore(struct ch_sigpipe *g);

#endif
