/* sigpipe.c -- see sigpipe.h. */
#include "io/sigpipe.h"

#include <errno.h>
#include <time.h>

static sigset_t only_sigpipe(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    return set;
}

void ch_sigpipe_block(struct ch_sigpipe *g) {
    sigset_t set = only_sigpipe(), pending;

    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &set, &g->mask);
    g->ours = !sigismember(&g->mask, SIGPIPE) && !sigismember(&pending, SIGPIPE);
}

void ch_sigpipe_restore(struct ch_sigpipe *g) {
    sigset_t set = only_sigpipe();
    int saved = errno;

    if (g->ours)
        while (sigtimedwait(&set, NULL, &(struct timespec){0}) < 0 && errno == EINTR)
            ;
    if (!sigismember(&g->mask, SIGPIPE)) /* other signals may have been blocked meanwhile */
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    errno = saved;
}
