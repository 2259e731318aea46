/* worker.h -- a pool of threads for blocking work.
 *
 * Blocking C tools and file access run here, never on the loop thread and never
 * in libuv's small shared pool, so a slow tool delays nothing else. Threads
 * start on demand up to a maximum and end after idling. All signals except
 * those of a crash are blocked in them. The submitter must not touch a work
 * item between ch_work_submit and done. */
#ifndef CH_IO_WORKER_H
#define CH_IO_WORKER_H
#include "io/loop.h"

struct ch_workers;

struct ch_work {
    struct ch_work *next;            /* private */
    void (*run)(struct ch_work *w);  /* on a worker thread */
    void (*done)(struct ch_work *w); /* on the loop thread, exactly once */
    /* Optional (may be NULL): ch_workers_free calls it instead of done. */
    void (*dropped)(struct ch_work *w);
};

/* max_threads 0: CH_DEFAULT_PARALLEL. Starts no thread. */
struct ch_workers *ch_workers_new(struct ch_loop *loop, unsigned max_threads);

/* Wait for running items, drop items that have not started, and join the
 * threads. `done` is not called after this. Blocks as long as the slowest
 * running item: cancel work first where possible. May be called from a done
 * callback. NULL is a no-op. */
void ch_workers_free(struct ch_workers *w);

/* Queue w->run; items start in order. The loop is held while work is pending. */
void ch_work_submit(struct ch_workers *pool, struct ch_work *w);

#endif
