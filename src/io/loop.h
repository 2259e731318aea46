/* loop.h -- the one loop thread that owns all state of a runtime.
 *
 * A runtime makes its own libuv loop or lives in one its host gives it. On top
 * of libuv this file adds three things that make lifetimes simple:
 *
 *   deferred tasks  run on the next iteration, so that no callback ever fires
 *                   inside the call that started the work;
 *   timers          embedded structs in a heap, armed and stopped at will and
 *                   never "closed"; they follow the loop's clock, so a test
 *                   can hold or advance time;
 *   posts           work handed to the loop from any other thread.
 *
 * All functions but ch_loop_post are for the loop thread only. */
#ifndef CH_IO_LOOP_H
#define CH_IO_LOOP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h" /* CH_CONTAINER: tasks, timers and posts are embedded */
#include "chela/error.h"

struct ch_loop;
struct uv_loop_s;

/* host: a uv_loop_t to live in, or NULL for a loop of our own. clock: NULL for
 * the system's; otherwise borrowed, and timers fire only in ch_loop_run and
 * ch_loop_tick as that clock advances. No thread is started. */
int ch_loop_new(struct uv_loop_s *host, const struct ch_clock *clock, struct ch_loop **out,
                struct chela_error *err);

/* Close every handle and free; done (may be NULL) is called last. With an own
 * loop this is synchronous: it runs the loop until handles that others have
 * closed are gone too. Called from a callback of the own loop, it is completed
 * by the ch_loop_run or ch_loop_tick in progress. In a host's loop the memory
 * goes once libuv has closed the handles, so the host must run its loop again.
 * Timers, tasks and posts still queued are dropped. By now whoever put handles
 * into the loop has closed them, and no thread posts any more. */
void ch_loop_close(struct ch_loop *loop, void (*done)(void *), void *user);

struct uv_loop_s *ch_loop_uv(struct ch_loop *loop);
/* Where whatever runs in the loop logs to; borrowed; NULL: nowhere. Before anything
 * does. */
void ch_loop_log_to(struct ch_loop *loop, const struct ch_log_sink *sink);
const struct ch_log_sink *ch_loop_log(const struct ch_loop *loop);

/* Every function that libuv calls, and that calls others, begins with CH_LOOP_CALLBACK:
 * until it returns ch_loop_in_callback is true, and logs are the loop's. loop may be
 * NULL: what the function was for is closed. */
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

/* Run until *stop becomes true (0) or nothing is left that could make it so
 * (CHELA_ESTATE): no active handle or request, no task, no post, no hold.
 * CHELA_ECANCELED if a callback closed the loop: stop is not read any more.
 * Not re-entrant: CHELA_EBUSY from inside a callback.
 *
 * With a test's clock time stands still while this runs: it fires what is due,
 * waits for real I/O and for threads (ch_loop_hold_thread), and returns
 * CHELA_ESTATE as soon as only the clock could bring the next event, held or
 * not. The test then advances its clock (by ch_loop_next_due, say) and calls
 * again.
 *
 * While this runs, SIGPIPE is blocked in the calling thread: a peer that hangs
 * up gives EPIPE. In a host's own uv_run that is the host's business, as libuv
 * asks of every program. */
int ch_loop_run(struct ch_loop *loop, const bool *stop);

/* Is this a callback of the loop? */
bool ch_loop_in_callback(const struct ch_loop *loop);

/* May the caller wait in ch_loop_run? CHELA_ESTATE: the loop is a host's.
 * CHELA_EBUSY: this is a callback of the loop. To be asked before work is started
 * that lives on the caller's stack. */
int ch_loop_may_run(const struct ch_loop *loop, struct chela_error *err);

/* One pass without blocking: due timers, tasks, posts, ready I/O. Does nothing
 * from inside a callback. */
void ch_loop_tick(struct ch_loop *loop);

/* While held, the loop counts as having work (a run is in progress) even if
 * only a timer or another thread can wake it. Without a hold, timers and posts
 * do not keep ch_loop_run or a host's uv_run going. Calls nest. */
void ch_loop_hold(struct ch_loop *loop);
void ch_loop_release(struct ch_loop *loop);

/* The same for work on another thread that is sure to post: unlike a plain
 * hold it makes ch_loop_run wait also while a test holds the clock. */
void ch_loop_hold_thread(struct ch_loop *loop);
void ch_loop_release_thread(struct ch_loop *loop);

/* --- deferred tasks: embedded, zero-initialised, run once, in order, on the
 * next iteration. A task may cancel others and free itself. */
struct ch_task {
    struct ch_task *prev, *next; /* NULL while not queued */
    void (*fn)(struct ch_task *t);
};
void ch_task_defer(struct ch_loop *loop, struct ch_task *t); /* no-op if queued */
void ch_task_cancel(struct ch_loop *loop, struct ch_task *t);
static inline bool ch_task_queued(const struct ch_task *t) {
    return t->next != NULL;
}

/* --- timers: embedded, zero-initialised */
struct ch_timer {
    int64_t due;  /* on the monotonic clock */
    size_t place; /* 1 + index in the heap; 0 when not armed */
    void (*fn)(struct ch_timer *t);
};
/* Arm or re-arm; fires once after ms (0: on the next iteration). Pushing an
 * armed timer back costs a clock read and nothing else. A timer may free
 * itself when it fires. */
void ch_timer_start(struct ch_loop *loop, struct ch_timer *t, int64_t ms,
                    void (*fn)(struct ch_timer *t));
void ch_timer_stop(struct ch_loop *loop, struct ch_timer *t);
static inline bool ch_timer_armed(const struct ch_timer *t) {
    return t->place != 0;
}
/* Milliseconds until the earliest timer, -1 if none. For tests that advance
 * their own clock. */
int64_t ch_loop_next_due(const struct ch_loop *loop);

/* --- posts: thread safe. fn runs on the loop thread; after ch_loop_close it
 * is not run. Posts are delivered in order; fn may free p or post it again. */
struct ch_post {
    struct ch_post *next;
    void (*fn)(struct ch_post *p);
};
void ch_loop_post(struct ch_loop *loop, struct ch_post *p);

/* Take back a post that was not delivered yet; false: there was none. Loop
 * thread only, and no other thread may be posting p. */
bool ch_loop_unpost(struct ch_loop *loop, struct ch_post *p);

#endif
