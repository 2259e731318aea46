/* signal.c -- see signal.h. */
#include "cli/support/signal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/support/mem.h"

#define DRAIN_S 10 /* seconds of a stored run after SIGTERM */
#define LEAVE_S 3  /* seconds until the program must end after its run was left */

struct ch_signals {
    sigset_t set, before; /* handled signals; the mask to restore */
    pthread_t waiter;
    int pipe[2]; /* written once, when `caught` or `left` becomes true */

    pthread_mutex_t lock; /* protects the following members */
    chela_run *run;       /* borrowed; NULL before attach and after detach */
    char *key;            /* owned: key of a stored session; NULL: none */
    bool caught;
    bool by_person; /* the signal that was caught is SIGINT */
    bool draining; /* SIGTERM was received; the run may still finish */
    bool left;     /* the drain time is over */
    bool detached;
    bool works;    /* a run without a handle is in progress; its end stops the program */
    bool stop;
};

/* The loop did not end in time. Everything needed to resume is stored, so leaving is safe
 * at any time. */
static void leave_now(const struct ch_signals *s) {
    char line[512];
    int n = snprintf(line, sizeof(line),
                     "chela: told to end; 'chela sessions resume %s' goes on\n", s->key);
    size_t most = sizeof(line) - 1;
    if ((!s->detached || s->draining) && n > 0 &&
        write(STDERR_FILENO, line, (size_t)n < most ? (size_t)n : most) < 0)
        _exit(0); /* stdout is not read any more */
    _exit(0);
}

/* Called under the lock. */
static void wake_pollers(const struct ch_signals *s) {
    if (write(s->pipe[1], "", 1) < 0) {
        /* a full pipe wakes the poller already; a closed pipe has no poller */
    }
}

static void signal_leave(struct ch_signals *s) {
    s->left = true;
    chela_run_leave(s->run);
    wake_pollers(s);
}

static void time_is_up(struct ch_signals *s) {
    if (s->left || s->works)
        leave_now(s);
    s->draining = !s->detached;
    if (s->draining)
        signal_leave(s);
}

static void first_signal(struct ch_signals *s, int signo) {
    s->draining = signo == SIGTERM && s->key && (s->run || s->works);
    if (s->draining)
        return;
    s->caught = true;
    s->by_person = signo == SIGINT;
    wake_pollers(s);
    if (s->run)
        chela_cancel(s->run, "interrupted");
}

static void signal_received(struct ch_signals *s, int signo) {
    /* _exit: a destructor might wait for the hanging operation */
    if (s->caught || s->left || s->detached || (s->works && signo != SIGTERM))
        _exit(128 + signo);
    if (s->draining && s->works)
        leave_now(s);
    if (s->draining)
        signal_leave(s);
    else
        first_signal(s, signo);
}

static void *signal_wait_for_signals(void *user) {
    struct ch_signals *s = user;
    for (bool stop = false; !stop;) {
        struct timespec patience = {.tv_sec = s->left ? LEAVE_S : DRAIN_S};
        int signo = s->draining ? sigtimedwait(&s->set, NULL, &patience)
                                : sigwaitinfo(&s->set, NULL);
        if (signo < 0 && errno != EAGAIN)
            continue;
        pthread_mutex_lock(&s->lock);
        stop = s->stop;
        if (!stop && signo < 0)
            time_is_up(s);
        else if (!stop)
            signal_received(s, signo);
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
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
    if (pthread_create(&s->waiter, NULL, signal_wait_for_signals, s) == 0)
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
    pthread_kill(s->waiter, SIGTERM); /* only wakes that thread's sigwait */
    pthread_join(s->waiter, NULL);
    pthread_sigmask(SIG_SETMASK, &s->before, NULL);
    close(s->pipe[0]);
    close(s->pipe[1]);
    pthread_mutex_destroy(&s->lock);
    free(s->key);
    free(s);
}

void ch_signals_drain(struct ch_signals *s, const char *key) {
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    free(s->key);
    s->key = ch_dup(key);
    pthread_mutex_unlock(&s->lock);
}

void ch_signals_work(struct ch_signals *s, const char *key, bool waits) {
    if (!s)
        return;
    ch_signals_drain(s, key);
    pthread_mutex_lock(&s->lock);
    s->works = !waits;
    s->detached = waits;
    if (waits && s->draining)
        leave_now(s);
    pthread_mutex_unlock(&s->lock);
}

void ch_signals_attach(struct ch_signals *s, chela_run *run) {
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->run = run;
    if (s->caught && run)
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

bool ch_signals_forget(struct ch_signals *s) {
    char byte;
    if (!s)
        return false;
    pthread_mutex_lock(&s->lock);
    bool forgets = s->caught && s->by_person && read(s->pipe[0], &byte, 1) == 1;
    s->caught &= !forgets;
    pthread_mutex_unlock(&s->lock);
    return forgets;
}

bool ch_signals_left(struct ch_signals *s) {
    if (!s)
        return false;
    pthread_mutex_lock(&s->lock);
    bool left = s->left;
    pthread_mutex_unlock(&s->lock);
    return left;
}

int ch_signals_fd(const struct ch_signals *s) {
    return s ? s->pipe[0] : -1;
}
