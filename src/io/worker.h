/* worker.h -- threads for blocking work.
 *
 * Blocking C tools and file access run here, never on the loop and never in
 * libuv's small shared pool, so a slow tool cannot delay anything else.
 * Threads are started on demand up to a maximum and end after idling. All
 * signals but those of a crash are blocked in them.
 * Data is handed over, not shared: the submitter does not touch the work item
 * between submit and done. */
#ifndef CH_IO_WORKER_H
#define CH_IO_WORKER_H
#include "io/loop.h"

struct ch_workers;

struct ch_work {
    struct ch_work *next;            /* private */
    void (*run)(struct ch_work *w);  /* on a worker thread */
    void (*done)(struct ch_work *w); /* on the loop thread, exactly once */
    /* Optional, else NULL: called by ch_workers_free in place of done. */
    void (*dropped)(struct ch_work *w);
};

/* max_threads 0: CH_DEFAULT_PARALLEL. No thread is started yet. */
struct ch_workers *ch_workers_new(struct ch_loop *loop, unsigned max_threads);

/* Wait for running work to return, drop what has not started, join. `done` is
 * not called for anything after this. Blocks for as long as the slowest
 * running item takes: work that can be cancelled should be told first. May be
 * called from a done callback. NULL is a no-op. */
void ch_workers_free(struct ch_workers *w);

/* Queue w->run; items start in order. While work is pending the loop is held. */
void ch_work_submit(struct ch_workers *pool, struct ch_work *w);

#endif
