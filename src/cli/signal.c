/* signal.c -- see signal.h. */
#include "cli/signal.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "cli/mem.h"

struct ch_signals {
    sigset_t set, before; /* what is waited for; the mask to restore */
    pthread_t waiter;
    int pipe[2]; /* written once, by the first signal */

    pthread_mutex_t lock; /* of what follows */
    chela_run *run;       /* borrowed; NULL before attach and after detach */
    bool caught;
    bool detached;
    bool stop;
};

/* Under the lock. */
static void first_signal(struct ch_signals *s) {
    s->caught = true;
    if (write(s->pipe[1], "", 1) < 0) {
        /* nobody polls a pipe that is full or gone */
    }
    if (s->run)
        chela_cancel(s->run, "interrupted");
}

static void *wait_for_signals(void *user) {
    struct ch_signals *s = user;
    for (;;) {
        int signo;
        if (sigwait(&s->set, &signo) != 0)
            continue;
        pthread_mutex_lock(&s->lock);
        if (s->stop) {
            pthread_mutex_unlock(&s->lock);
            return NULL;
        }
        /* _exit: a destructor might wait for the very thing that hangs */
        if (s->caught || s->detached)
            _exit(128 + signo);
        first_signal(s);
        pthread_mutex_unlock(&s->lock);
    }
}

static void choose_signals(sigset_t *set) {
    struct sigaction old;
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaddset(set, SIGHUP);
}

struct ch_signals *ch_signals_new(void) {
    struct ch_signals *s = ch_must(calloc(1, sizeof(*s)));

    choose_signals(&s->set);
    pthread_mutex_init(&s->lock, NULL);
    if (pipe2(s->pipe, O_CLOEXEC) < 0)
        goto no_pipe;
    pthread_sigmask(SIG_BLOCK, &s->set, &s->before);
    if (pthread_create(&s->waiter, NULL, wait_for_signals, s) == 0)
        return s;
    pthread_sigmask(SIG_SETMASK, &s->before, NULL);
    close(s->pipe[0]);
    close(s->pipe[1]);
no_pipe:
    pthread_mutex_destroy(&s->lock);
    free(s);
    return NULL;
}

void ch_signals_free(struct ch_signals *s) {
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_mutex_unlock(&s->lock);
    pthread_kill(s->waiter, SIGTERM); /* wakes that thread's sigwait, no more */
    pthread_join(s->waiter, NULL);
    pthread_sigmask(SIG_SETMASK, &s->before, NULL);
    close(s->pipe[0]);
    close(s->pipe[1]);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void ch_signals_attach(struct ch_signals *s, chela_run *run) {
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->run = run;
    if (s->caught)
        chela_cancel(run, "interrupted");
    pthread_mutex_unlock(&s->lock);
}

void ch_signals_detach(struct ch_signals *s) {
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->run = NULL;
    s->detached = true;
    pthread_mutex_unlock(&s->lock);
}

bool ch_signals_caught(struct ch_signals *s) {
    if (!s)
        return false;
    pthread_mutex_lock(&s->lock);
    bool caught = s->caught;
    pthread_mutex_unlock(&s->lock);
    return caught;
}

int ch_signals_fd(const struct ch_signals *s) {
    return s ? s->pipe[0] : -1;
}
