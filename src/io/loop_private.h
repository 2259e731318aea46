/* loop_private.h -- struct ch_loop, for loop.c, timer.c and child.c. */
#ifndef CH_IO_LOOP_PRIVATE_H
#define CH_IO_LOOP_PRIVATE_H
#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "io/loop.h"
#include "io/sigpipe.h"

/* An armed timer. `at` is a lower bound of timer->due: a timer moved to a later
 * time keeps its place in the heap until the old time comes. */
struct ch_due {
    int64_t at;
    uint64_t seq; /* order of arming, for equal times */
    struct ch_timer *timer;
};

struct ch_timers {
    struct ch_due *heap; /* owned; the earliest first */
    size_t n, cap;
    uint64_t next_seq;
    uv_poll_t alarm;   /* of alarm_fd; not used with a test's clock; never ref'ed */
    int alarm_fd;      /* owned: a timerfd; -1: none, and alarm is no handle */
    int64_t alarm_set; /* when the alarm fires; INT64_MAX: not set */
};

struct ch_loop {
    uv_loop_t *uv; /* &own, or borrowed from the host */
    uv_loop_t own;
    const struct ch_clock *clock; /* borrowed */
    const struct ch_log_sink *log; /* borrowed; NULL: silent */
    bool manual;                  /* a test holds the clock */

    _Atomic(const char *) thread; /* a mark of the loop thread; NULL: not known */
    bool polling;                 /* a host's loop is between before_poll and after_poll */
    bool running;     /* inside ch_loop_run or ch_loop_tick */
    bool closing;     /* ch_loop_close was called */
    unsigned calling; /* depth of callbacks */
    unsigned holds, thread_holds;

    uv_idle_t idle;         /* active while tasks are queued, so libuv does not block */
    struct ch_list queued;  /* struct ch_task, as in the next two */
    struct ch_list batch;   /* taken from queued; called next */
    struct ch_list closers; /* run by ch_loop_close */

    struct ch_timers timers;

    uv_async_t wake; /* referenced while held: keeps the loop alive */
    pthread_mutex_t lock;
    struct ch_post *posts, **posts_end; /* under lock */
    bool deaf;                          /* under lock: closing, posts are dropped */
    struct ch_post *arrived;            /* taken off posts, not yet called */

    /* In a host's loop: libuv writes what a socket did not take at once while it polls. */
    uv_prepare_t before_poll;
    uv_check_t after_poll;
    struct ch_sigpipe guard;
    bool guarded; /* guard is in use */

    unsigned handles; /* own handles that libuv has not closed yet */
    void (*done)(void *);
    void *user;
};

int ch_timers_init(struct ch_loop *loop);  /* 0, or an error of libuv */
void ch_timers_fire(struct ch_loop *loop); /* fire the due timers */
bool ch_timers_due(struct ch_loop *loop);  /* whether a timer is due */
/* Disarm all, free the heap, close the alarm. */
void ch_timers_close(struct ch_loop *loop, uv_close_cb closed);

/* Register a task that ch_loop_close calls, for objects that outlive their
 * owner in the loop. ch_task_cancel removes it. */
void ch_loop_at_close(struct ch_loop *loop, struct ch_task *t);

#endif
