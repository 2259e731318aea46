/* worker.c -- a thread pool that returns its results in one post.
 *
 * Finished items collect in a list. The first item posts to the loop, so many
 * results cost one wake-up. A thread that idled too long marks itself as gone
 * and posts too; the loop thread joins it. No thread is ever detached, so none
 * can outlive the library's code.
 *
 * Lock order: pool->lock, then the loop's own lock (inside ch_loop_post).
 * Callbacks are called with no lock held. */
#include "io/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "base/limits.h"

#define STACK_SIZE CH_MB /* address space; only touched pages use memory */
#define IDLE_S 5
#define RETRY_MS 50

struct thread {
    struct thread *next;
    struct ch_workers *pool;
    pthread_t id;
    bool gone; /* under lock: the thread returns, joining does not block */
};

struct queue {
    struct ch_work *head, **end;
    unsigned n;
};

struct ch_workers {
    struct ch_loop *loop;
    unsigned max;
    struct ch_timer retry; /* armed when no thread could be created */
    struct queue ready;    /* items being passed to their done callbacks */
    bool delivering, freed;

    pthread_mutex_t lock; /* for everything below */
    pthread_cond_t more;
    struct queue todo, finished;
    struct thread *threads; /* owned; threads that are not joined yet */
    unsigned alive, idle;
    bool ending, posted;
    struct ch_post post;
};

static void queue_init(struct queue *q) {
    *q = (struct queue){.end = &q->head};
}

static void worker_queue_add(struct queue *q, struct ch_work *w) {
    w->next = NULL;
    *q->end = w;
    q->end = &w->next;
    q->n++;
}

static struct ch_work *worker_queue_take(struct queue *q) {
    struct ch_work *w = q->head;

    q->head = w->next;
    if (!q->head)
        q->end = &q->head;
    q->n--;
    return w;
}

static void queue_move(struct queue *to, struct queue *from) {
    while (from->n > 0)
        worker_queue_add(to, worker_queue_take(from));
}

/* --- on the worker threads, with the lock held unless stated otherwise */

static void notify_loop(struct ch_workers *pool) {
    if (pool->posted || pool->ending)
        return;
    pool->posted = true;
    ch_loop_post(pool->loop, &pool->post);
}

/* Wait for work; false after idling too long. */
static bool worker_wait_for_work(struct ch_workers *pool) {
    struct timespec until;
    int rc = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += IDLE_S;
    pool->idle++;
    while (pool->todo.n == 0 && !pool->ending && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&pool->more, &pool->lock, &until);
    pool->idle--;
    return pool->todo.n > 0 && !pool->ending;
}

static void worker_run_one(struct ch_workers *pool) {
    struct ch_work *w = worker_queue_take(&pool->todo);

    pthread_mutex_unlock(&pool->lock);
    w->run(w);
    pthread_mutex_lock(&pool->lock);
    worker_queue_add(&pool->finished, w);
    notify_loop(pool);
}

static void *worker_thread_main(void *arg) {
    struct thread *th = arg;
    struct ch_workers *pool = th->pool;
    CH_LOG_SCOPE(ch_loop_log(pool->loop));

    pthread_mutex_lock(&pool->lock);
    while (!pool->ending && (pool->todo.n > 0 || worker_wait_for_work(pool)))
        worker_run_one(pool);
    pool->alive--;
    th->gone = true;
    notify_loop(pool);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* --- on the loop thread */

/* Block all signals except those that a crash raises: signals belong to the
 * host's threads. */
static void worker_block_signals(sigset_t *old) {
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t set;

    sigfillset(&set);
    for (size_t i = 0; i < CH_LEN(crashes); i++)
        sigdelset(&set, crashes[i]);
    pthread_sigmask(SIG_SETMASK, &set, old);
}

/* Call with the lock held. A thread inherits the signal mask of its creator. */
static bool worker_start_thread(struct ch_workers *pool) {
    struct thread *th = ch_alloc(sizeof(*th));
    pthread_attr_t attr;
    sigset_t old;

    th->pool = pool;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    worker_block_signals(&old);
    int rc = pthread_create(&th->id, &attr, worker_thread_main, th);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (rc != 0) {
        ch_free(th);
        return false;
    }
    th->next = pool->threads;
    pool->threads = th;
    pool->alive++;
    return true;
}

static void worker_on_retry(struct ch_timer *t);

/* Call with the lock held: make sure that there is a thread for the queue. */
static void staff(struct ch_workers *pool) {
    if (pool->todo.n <= pool->idle || pool->alive == pool->max)
        return;
    if (!worker_start_thread(pool) && pool->alive == 0)
        ch_timer_start(pool->loop, &pool->retry, RETRY_MS, worker_on_retry);
}

static void worker_on_retry(struct ch_timer *t) {
    struct ch_workers *pool = CH_CONTAINER(t, struct ch_workers, retry);

    pthread_mutex_lock(&pool->lock);
    staff(pool);
    pthread_mutex_unlock(&pool->lock);
}

void ch_work_submit(struct ch_workers *pool, struct ch_work *w) {
    ch_loop_hold_thread(pool->loop);
    pthread_mutex_lock(&pool->lock);
    worker_queue_add(&pool->todo, w);
    staff(pool);
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_signal(&pool->more); /* earlier, the thread would wait for the lock */
}

/* Unlink the threads that are gone, or all threads, from the list. */
static struct thread *take_threads(struct ch_workers *pool, bool all) {
    struct thread *taken = NULL, **at = &pool->threads;

    while (*at) {
        struct thread *th = *at;
        if (!all && !th->gone) {
            at = &th->next;
            continue;
        }
        *at = th->next;
        th->next = taken;
        taken = th;
    }
    return taken;
}

static void worker_join(struct thread *th) {
    while (th) {
        struct thread *next = th->next;
        pthread_join(th->id, NULL);
        ch_free(th);
        th = next;
    }
}

static void worker_deliver(struct ch_post *post) {
    struct ch_workers *pool = CH_CONTAINER(post, struct ch_workers, post);

    pthread_mutex_lock(&pool->lock);
    pool->posted = false;
    queue_move(&pool->ready, &pool->finished);
    struct thread *gone = take_threads(pool, false);
    pthread_mutex_unlock(&pool->lock);
    worker_join(gone);

    pool->delivering = true;
    while (pool->ready.n > 0) {
        struct ch_work *w = worker_queue_take(&pool->ready);
        ch_loop_release_thread(pool->loop);
        w->done(w);
    }
    pool->delivering = false;
    if (pool->freed)
        ch_free(pool);
}

struct ch_workers *ch_workers_new(struct ch_loop *loop, unsigned max_threads) {
    struct ch_workers *pool = ch_alloc(sizeof(*pool));
    pthread_condattr_t attr;

    pool->loop = loop;
    pool->max = max_threads ? max_threads : CH_DEFAULT_PARALLEL;
    pool->post.fn = worker_deliver;
    queue_init(&pool->todo);
    queue_init(&pool->finished);
    queue_init(&pool->ready);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->more, &attr);
    pthread_condattr_destroy(&attr);
    return pool;
}

static void worker_forget(struct ch_workers *pool, struct queue *q) {
    while (q->n > 0) {
        struct ch_work *w = worker_queue_take(q);
        ch_loop_release_thread(pool->loop);
        if (w->dropped)
            w->dropped(w);
    }
}

void ch_workers_free(struct ch_workers *pool) {
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    pthread_cond_broadcast(&pool->more);
    struct thread *all = take_threads(pool, true);
    pthread_mutex_unlock(&pool->lock);
    worker_join(all);

    ch_loop_unpost(pool->loop, &pool->post);
    ch_timer_stop(pool->loop, &pool->retry);
    worker_forget(pool, &pool->todo);
    worker_forget(pool, &pool->finished);
    worker_forget(pool, &pool->ready);
    pthread_cond_destroy(&pool->more);
    pthread_mutex_destroy(&pool->lock);
    if (pool->delivering)
        pool->freed = true;
    else
        ch_free(pool);
}
