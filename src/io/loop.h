/* loop.h -- the event loop; the loop thread owns all state of a runtime.
 *
 * A runtime creates its own libuv loop or uses a loop of its host. This file
 * adds three things to libuv that simplify lifetimes:
 *
 *   deferred tasks  run on the next iteration, so that no callback ever fires
 *                   inside the call that started the work;
 *   timers          embedded structs in a heap, armed and stopped at any time and
 *                   never "closed"; they follow the loop's clock, so a test can
 *                   stop or advance time;
 *   posts           work handed to the loop from any other thread.
 *
 * All functions except ch_loop_post are for the loop thread only. */
#ifndef CH_IO_LOOP_H
#define CH_IO_LOOP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h" /* CH_CONTAINER: tasks, timers and posts are embedded */
#include "chela/error.h"

struct ch_loop;
struct uv_loop_s;

/* host: a uv_loop_t to use, or NULL to create one. clock: NULL for the system's
 * clock; otherwise borrowed, and timers fire only in ch_loop_run and
 * ch_loop_tick as that clock advances. No thread is started. */
int ch_loop_new(struct uv_loop_s *host, const struct ch_clock *clock, struct ch_loop **out,
                struct chela_error *err);

/* Close every handle and free the loop; done (may be NULL) is called last. An
 * own loop is closed synchronously: the call runs the loop until handles that
 * others have closed are gone too. Called from a callback of an own loop, the
 * ch_loop_run or ch_loop_tick in progress completes the close. In a host's loop
 * the memory is freed once libuv has closed the handles, so the host must run
 * its loop again. Queued timers, tasks and posts are dropped. Before this call,
 * the owners of other handles in the loop must have closed them, and no thread
 * may post any more. */
void ch_loop_close(struct ch_loop *loop, void (*done)(void *), void *user);

/* False: the calling thread is not the loop thread. An own loop belongs to the thread that created
 * it, a host's loop to the thread that polls it or is in a callback; in between, to any. Any
 * thread. */
bool ch_loop_is_here(const struct ch_loop *loop);

struct uv_loop_s *ch_loop_uv(struct ch_loop *loop);
/* Sets the log of the code that runs in the loop, before any such code logs. sink: borrowed;
 * NULL: no log. */
void ch_loop_log_to(struct ch_loop *loop, const struct ch_log_sink *sink);
const struct ch_log_sink *ch_loop_log(const struct ch_loop *loop);

/* Every function that libuv calls, and that calls others, begins with CH_LOOP_CALLBACK:
 * until the function returns, ch_loop_in_callback is true, and log messages go to the loop's
 * sink. loop NULL: the object of the callback is closed. */
struct ch_loop_scope {
    struct ch_loop *loop;
    const struct ch_log_sink *before;
};
struct ch_loop_scope ch_loop_enter(struct ch_loop *loop);
void ch_loop_exit(const struct ch_loop_scope *scope);
#define CH_LOOP_CALLBACK(loop)                                                 \
    __attribute__((cleanup(ch_loop_exit), unused))                             \
    const struct ch_loop_scope loop_scope_ = ch_loop_enter(loop)
const struct ch_clock *ch_loop_clock(const struct ch_loop *loop);

/* Run the loop until *stop is true (returns 0) or nothing is left that could
 * set it (CHELA_ESTATE): no active handle or request, task, post or hold.
 * CHELA_ECANCELED: a callback closed the loop; stop is no longer read.
 * CHELA_EBUSY: called from inside a callback.
 *
 * With a test's clock, time stands still during the call. The call fires due
 * timers, waits for real I/O and for threads (ch_loop_hold_thread), and returns
 * CHELA_ESTATE as soon as only the clock could bring the next event, with or
 * without a hold. The test then advances its clock (for example by
 * ch_loop_next_due) and calls again.
 *
 * During the call SIGPIPE is blocked in the calling thread, so writing to a
 * closed peer gives EPIPE. A host that calls uv_run itself must handle SIGPIPE,
 * as libuv requires of every program. */
int ch_loop_run(struct ch_loop *loop, const bool *stop);

/* Whether the caller runs inside a callback of the loop. */
bool ch_loop_in_callback(const struct ch_loop *loop);

/* 0 if the caller may wait in ch_loop_run. CHELA_ESTATE: the loop belongs to a
 * host. CHELA_EBUSY: the caller is a callback of the loop. Check before
 * starting work that lives on the caller's stack. */
int ch_loop_may_run(const struct ch_loop *loop, struct chela_error *err);

/* One pass without blocking: due timers, tasks, posts, ready I/O. No-op inside
 * a callback. */
void ch_loop_tick(struct ch_loop *loop);

/* While held, the loop counts as having work (a run is in progress) even if
 * only a timer or another thread can wake it. Without a hold, timers and posts
 * do not keep ch_loop_run or a host's uv_run alive. Calls nest. */
void ch_loop_hold(struct ch_loop *loop);
void ch_loop_release(struct ch_loop *loop);

/* A hold for work on another thread that is certain to post. Unlike
 * ch_loop_hold, ch_loop_run also waits while a test stops the clock. */
void ch_loop_hold_thread(struct ch_loop *loop);
void ch_loop_release_thread(struct ch_loop *loop);

/* --- deferred tasks: embedded, zero-initialised, run once, in order, on the
 * next iteration. A task may cancel other tasks and free itself. */
struct ch_task {
    struct ch_link link;
    void (*fn)(struct ch_task *t);
};
void ch_task_defer(struct ch_loop *loop, struct ch_task *t); /* no-op if queued */
void ch_task_cancel(struct ch_loop *loop, struct ch_task *t);
static inline bool ch_task_queued(const struct ch_task *t) {
    return t->link.next != NULL;
}

/* --- timers: embedded, zero-initialised */
struct ch_timer {
    int64_t due;  /* time on the monotonic clock */
    size_t place; /* 1 + index in the heap; 0 when not armed */
    void (*fn)(struct ch_timer *t);
};
/* Arm or re-arm; fires once after ms (0: on the next iteration). Moving an
 * armed timer to a later time costs only a clock read. A timer may free itself
 * when it fires. */
void ch_timer_start(struct ch_loop *loop, struct ch_timer *t, int64_t ms,
                    void (*fn)(struct ch_timer *t));
/* The same with a time on the monotonic clock, for a caller that has read the clock. */
void ch_timer_start_at(struct ch_loop *loop, struct ch_timer *t, int64_t due,
                       void (*fn)(struct ch_timer *t));
void ch_timer_stop(struct ch_loop *loop, struct ch_timer *t);
static inline bool ch_timer_armed(const struct ch_timer *t) {
    return t->place != 0;
}
/* Milliseconds until the earliest timer, -1 if none. For tests with their own
 * clock. */
int64_t ch_loop_next_due(const struct ch_loop *loop);

/* --- posts: thread safe. fn runs on the loop thread, and not after
 * ch_loop_close. Posts are delivered in order; fn may free p or post it again. */
struct ch_post {
    struct ch_post *next;
    void (*fn)(struct ch_post *p);
};
void ch_loop_post(struct ch_loop *loop, struct ch_post *p);

/* Take back a post that was not yet delivered; false: p was not posted. Loop
 * thread only; no other thread may be posting p. */
bool ch_loop_unpost(struct ch_loop *loop, struct ch_post *p);

#endif
