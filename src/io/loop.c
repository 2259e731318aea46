/* loop.c -- tasks, posts, running and closing; timers are in timer.c.
 *
 * A runtime uses three libuv handles. `idle` is active while tasks are queued
 * (an active idle handle makes libuv poll without blocking). `wake` delivers
 * posts from other threads. The timers' `alarm` fires for the earliest timer.
 *
 * One reference decides whether the loop is alive, here or in a host's uv_run:
 * `wake` is referenced while the loop is held and unreferenced otherwise.
 * `alarm` is never referenced, `idle` always.
 *
 * The struct outlives every callback: libuv's close callbacks free it (host's
 * loop), or the end of ch_loop_run (own loop). Dispatchers may therefore read
 * loop->closing after a callback. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "io/loop_private.h"
#include "io/sigpipe.h"

/* --- threads */

static const char *this_thread(void) {
    static _Thread_local char mark;
    return &mark;
}

bool ch_loop_is_here(const struct ch_loop *loop) {
    const char *thread = atomic_load_explicit(&loop->thread, memory_order_relaxed);
    return !thread || thread == this_thread();
}

/* A host may run its loop in one thread after the other. */
static void loop_is_run(struct ch_loop *loop, bool here) {
    if (loop->uv != &loop->own)
        atomic_store_explicit(&loop->thread, here ? this_thread() : NULL, memory_order_relaxed);
}

/* --- tasks */

static void move_tasks(struct ch_list *to, struct ch_list *from) {
    struct ch_link *first = from->head.next, *last = from->head.prev;
    if (ch_list_empty(from))
        return;
    first->prev = to->head.prev;
    last->next = &to->head;
    to->head.prev->next = first;
    to->head.prev = last;
    ch_list_init(from);
}

static void drop_tasks(struct ch_list *l) {
    while (!ch_list_empty(l))
        ch_list_del(l->head.next);
}

/* Call at most `most` tasks from the front of a list that the tasks may change. */
static void call_tasks(struct ch_list *l, size_t most) {
    while (!ch_list_empty(l) && most--) {
        struct ch_task *t = CH_LIST_FIRST(l, struct ch_task, link);
        ch_list_del(&t->link);
        t->fn(t);
    }
}

/* Tasks called between two polls of the sockets. Without this limit, a thousand
 * runs that begin at once would all begin before the first could send a byte. */
#define TASKS_A_PASS 16

static void on_idle(uv_idle_t *idle) {
    struct ch_loop *loop = idle->data;
    CH_LOOP_CALLBACK(loop);

    move_tasks(&loop->batch, &loop->queued);
    call_tasks(&loop->batch, TASKS_A_PASS);
    if (ch_list_empty(&loop->batch) && ch_list_empty(&loop->queued) && !loop->closing)
        uv_idle_stop(&loop->idle);
}

void ch_task_defer(struct ch_loop *loop, struct ch_task *t) {
    if (loop->closing || ch_task_queued(t))
        return;
    if (ch_list_empty(&loop->queued))
        uv_idle_start(&loop->idle, on_idle);
    ch_list_add(&loop->queued, &t->link);
}

void ch_task_cancel(struct ch_loop *loop, struct ch_task *t) {
    (void)loop; /* an idle handle left active costs one empty pass */
    ch_list_del(&t->link);
}

void ch_loop_at_close(struct ch_loop *loop, struct ch_task *t) {
    ch_list_add(&loop->closers, &t->link);
}

/* --- posts */

void ch_loop_post(struct ch_loop *loop, struct ch_post *p) {
    p->next = NULL;
    pthread_mutex_lock(&loop->lock);
    if (!loop->deaf) {
        bool first = !loop->posts;
        *loop->posts_end = p;
        loop->posts_end = &p->next;
        if (first)
            uv_async_send(&loop->wake);
    }
    pthread_mutex_unlock(&loop->lock);
}

static struct ch_post *take_posts(struct ch_loop *loop) {
    pthread_mutex_lock(&loop->lock);
    struct ch_post *all = loop->posts;
    loop->posts = NULL;
    loop->posts_end = &loop->posts;
    pthread_mutex_unlock(&loop->lock);
    return all;
}

static void loop_on_wake(uv_async_t *wake) {
    struct ch_loop *loop = wake->data;
    struct ch_post *p;
    CH_LOOP_CALLBACK(loop);

    loop->arrived = take_posts(loop);
    while ((p = loop->arrived)) {
        loop->arrived = p->next;
        p->fn(p);
    }
}

/* Unlink p from the list at *at; returns the new end of the list. */
static struct ch_post **without(struct ch_post **at, struct ch_post *p, bool *found) {
    while (*at) {
        if (*at == p) {
            *at = p->next;
            *found = true;
        } else {
            at = &(*at)->next;
        }
    }
    return at;
}

bool ch_loop_unpost(struct ch_loop *loop, struct ch_post *p) {
    bool found = false;

    without(&loop->arrived, p, &found);
    pthread_mutex_lock(&loop->lock);
    loop->posts_end = without(&loop->posts, p, &found);
    pthread_mutex_unlock(&loop->lock);
    return found;
}

static bool has_posts(struct ch_loop *loop) {
    pthread_mutex_lock(&loop->lock);
    bool any = loop->posts != NULL;
    pthread_mutex_unlock(&loop->lock);
    return any;
}

/* --- holds */

/* With a test's clock a plain hold does not count: the loop would wait for a
 * time that never comes. */
static void update_ref(struct ch_loop *loop) {
    if (loop->closing)
        return;
    if (loop->thread_holds > 0 || (loop->holds > 0 && !loop->manual))
        uv_ref((uv_handle_t *)&loop->wake);
    else
        uv_unref((uv_handle_t *)&loop->wake);
}

void ch_loop_hold(struct ch_loop *loop) {
    loop->holds++;
    update_ref(loop);
}

void ch_loop_release(struct ch_loop *loop) {
    assert(loop->holds > 0);
    loop->holds--;
    update_ref(loop);
}

void ch_loop_hold_thread(struct ch_loop *loop) {
    loop->thread_holds++;
    update_ref(loop);
}

void ch_loop_release_thread(struct ch_loop *loop) {
    assert(loop->thread_holds > 0);
    loop->thread_holds--;
    update_ref(loop);
}

/* --- a host's loop */

static void loop_before_poll(uv_prepare_t *h) {
    struct ch_loop *loop = h->data;
    ch_sigpipe_block(&loop->guard);
    loop->guarded = loop->polling = true;
    loop_is_run(loop, true);
}

static void loop_unguard(struct ch_loop *loop) {
    if (loop->guarded)
        ch_sigpipe_restore(&loop->guard);
    loop->guarded = false;
}

static void loop_after_poll(uv_check_t *h) {
    struct ch_loop *loop = h->data;
    loop->polling = false;
    loop_is_run(loop, false);
    loop_unguard(loop);
}

static unsigned loop_watch_host(struct ch_loop *loop) {
    if (loop->uv == &loop->own)
        return 0;
    uv_prepare_init(loop->uv, &loop->before_poll);
    uv_check_init(loop->uv, &loop->after_poll);
    loop->before_poll.data = loop->after_poll.data = loop;
    uv_prepare_start(&loop->before_poll, loop_before_poll);
    uv_check_start(&loop->after_poll, loop_after_poll);
    uv_unref((uv_handle_t *)&loop->before_poll);
    uv_unref((uv_handle_t *)&loop->after_poll);
    return 2;
}

/* --- making and closing */

/* libuv ends the process when it closes a descriptor below 3, so no file may take the place of
 * a closed standard stream. Writing to a closed stdout still fails. */
__attribute__((cold)) static void open_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int null = fcntl(fd, F_GETFD) < 0
                       ? open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY)
                       : fd;
        if (null > STDERR_FILENO) /* another thread was faster */
            close(null);
    }
}

/* libuv aborts if there is a descriptor for the first loop of the process but none for the pipe
 * of its signals. */
static int init_own(uv_loop_t *own) {
    int fds[3], n = 0;
    while (n < 3 && (fds[n] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
        n++;
    int rc = n < 3 ? -errno : 0;
    while (n > 0)
        close(fds[--n]);
    return rc < 0 ? rc : uv_loop_init(own);
}

static int init_uv(struct ch_loop *loop, uv_loop_t *host, struct chela_error *err) {
    open_standard_streams();
    int rc = host ? 0 : init_own(&loop->own);
    if (rc < 0)
        return ch_fail(err, CHELA_EIO, "cannot create an event loop: %s", uv_strerror(rc));
    loop->uv = host ? host : &loop->own;
    if (!host)
        atomic_init(&loop->thread, this_thread());

    /* Creating the first async handle of a loop needs a file descriptor and may
     * fail. */
    rc = uv_async_init(loop->uv, &loop->wake, loop_on_wake);
    if (rc < 0) {
        if (!host)
            uv_loop_close(&loop->own);
        return ch_fail(err, CHELA_EIO, "cannot use the event loop: %s", uv_strerror(rc));
    }
    return 0;
}

int ch_loop_new(uv_loop_t *host, const struct ch_clock *clock, struct ch_loop **out,
                struct chela_error *err) {
    struct ch_loop *loop = ch_alloc(sizeof(*loop));

    int rc = init_uv(loop, host, err);
    if (rc < 0) {
        ch_free(loop);
        return rc;
    }
    loop->clock = clock ? clock : &ch_clock_system;
    loop->manual = clock && clock != &ch_clock_system;
    loop->wake.data = loop;
    uv_unref((uv_handle_t *)&loop->wake);
    uv_idle_init(loop->uv, &loop->idle);
    loop->idle.data = loop;
    pthread_mutex_init(&loop->lock, NULL);
    loop->posts_end = &loop->posts;
    ch_list_init(&loop->queued);
    ch_list_init(&loop->batch);
    ch_list_init(&loop->closers);
    rc = ch_timers_init(loop);
    loop->handles = (rc < 0 ? 2 : 3) + loop_watch_host(loop);
    if (rc < 0) {
        ch_loop_close(loop, NULL, NULL);
        return ch_fail(err, CHELA_EIO, "cannot use the event loop: %s", uv_strerror(rc));
    }
    *out = loop;
    return 0;
}

static void loop_destroy(struct ch_loop *loop) {
    void (*done)(void *) = loop->done;
    void *user = loop->user;

    pthread_mutex_destroy(&loop->lock);
    ch_free(loop);
    if (done)
        done(user);
}

static void on_handle_closed(uv_handle_t *h) {
    struct ch_loop *loop = h->data;

    loop->handles--;
    if (loop->handles == 0 && loop->uv != &loop->own && !loop->running)
        loop_destroy(loop);
}

/* A handle that its owner did not close is a bug, but must not become a hang. */
static void insist_on_closing(uv_handle_t *h, void *user) {
    (void)user;
    assert(uv_is_closing(h));
    if (!uv_is_closing(h))
        uv_close(h, NULL);
}

static void finish_own(struct ch_loop *loop) {
    uv_walk(loop->uv, insist_on_closing, NULL);
    uv_run(loop->uv, UV_RUN_DEFAULT);
    int rc = uv_loop_close(loop->uv);
    assert(rc == 0);
    if (rc == 0) /* otherwise leaked: libuv still points into it */
        loop_destroy(loop);
}

static void start_closing(struct ch_loop *loop) {
    call_tasks(&loop->closers, SIZE_MAX);
    loop->closing = true;
    drop_tasks(&loop->queued);
    drop_tasks(&loop->batch);
    pthread_mutex_lock(&loop->lock);
    loop->deaf = true;
    pthread_mutex_unlock(&loop->lock);
    take_posts(loop);
    loop->arrived = NULL;
    uv_close((uv_handle_t *)&loop->wake, on_handle_closed);
    uv_close((uv_handle_t *)&loop->idle, on_handle_closed);
    ch_timers_close(loop, on_handle_closed);
    if (loop->uv == &loop->own)
        return;
    loop_unguard(loop);
    uv_close((uv_handle_t *)&loop->before_poll, on_handle_closed);
    uv_close((uv_handle_t *)&loop->after_poll, on_handle_closed);
}

void ch_loop_close(struct ch_loop *loop, void (*done)(void *), void *user) {
    if (!loop || loop->closing)
        return;
    loop->done = done;
    loop->user = user;
    start_closing(loop);
    if (loop->uv == &loop->own && !loop->running)
        finish_own(loop);
}

uv_loop_t *ch_loop_uv(struct ch_loop *loop) {
    return loop->uv;
}

void ch_loop_log_to(struct ch_loop *loop, const struct ch_log_sink *sink) {
    loop->log = sink;
}

const struct ch_log_sink *ch_loop_log(const struct ch_loop *loop) {
    return loop->log;
}

struct ch_loop_scope ch_loop_enter(struct ch_loop *loop) {
    if (loop && loop->calling++ == 0)
        loop_is_run(loop, true);
    return (struct ch_loop_scope){loop, ch_log_bind(loop ? loop->log : NULL)};
}

void ch_loop_exit(const struct ch_loop_scope *scope) {
    ch_log_bind(scope->before);
    if (scope->loop && --scope->loop->calling == 0 && !scope->loop->polling)
        loop_is_run(scope->loop, false);
}

const struct ch_clock *ch_loop_clock(const struct ch_loop *loop) {
    return loop->clock;
}

/* --- running */

/* Let libuv make one pass. UV_RUN_NOWAIT does nothing in a loop that is not
 * alive, and posts do not make a loop alive, so this function adds a reference.
 * A pass that may block must not have the reference, or libuv would wait for
 * posts that never come. */
static void loop_pass(struct ch_loop *loop, uv_run_mode mode) {
    if (mode == UV_RUN_NOWAIT)
        uv_ref((uv_handle_t *)&loop->wake);
    uv_run(loop->uv, mode);
    update_ref(loop);
}

/* The work of a pass that libuv does not do, or not well: a test's timers, and the tasks. After
 * a pass in which the idle handle called tasks, libuv 1.44 polls without blocking; then the next
 * pass polls again. Tasks that are called before the pass need one system call less. */
static void before_pass(struct ch_loop *loop) {
    if (loop->manual)
        ch_timers_fire(loop);
    if (!loop->closing && !(ch_list_empty(&loop->queued) && ch_list_empty(&loop->batch)))
        on_idle(&loop->idle);
}

static int run_until(struct ch_loop *loop, const bool *stop) {
    while (!*stop) {
        before_pass(loop);
        if (loop->closing)
            return CHELA_ECANCELED;
        if (*stop)
            break;
        if ((loop->manual && ch_timers_due(loop)) || has_posts(loop))
            loop_pass(loop, UV_RUN_NOWAIT);
        else if (uv_loop_alive(loop->uv))
            loop_pass(loop, UV_RUN_ONCE);
        else
            return CHELA_ESTATE;
        if (loop->closing)
            return CHELA_ECANCELED;
    }
    return 0;
}

/* Leave ch_loop_run or ch_loop_tick. If the loop was closed meanwhile,
 * completes the close and frees the loop. */
static void loop_leave(struct ch_loop *loop, struct ch_sigpipe *guard) {
    loop->running = false;
    if (loop->closing && loop->uv == &loop->own)
        finish_own(loop);
    else if (loop->closing && loop->handles == 0)
        loop_destroy(loop);
    ch_sigpipe_restore(guard);
}

bool ch_loop_in_callback(const struct ch_loop *loop) {
    return loop->running || loop->calling > 0;
}

int ch_loop_may_run(const struct ch_loop *loop, struct chela_error *err) {
    if (loop->uv != &loop->own)
        return ch_fail(err, CHELA_ESTATE, "a blocking call is not possible in a host's loop");
    if (ch_loop_in_callback(loop))
        return ch_fail(err, CHELA_EBUSY, "a callback must not make a blocking call");
    return 0;
}

int ch_loop_run(struct ch_loop *loop, const bool *stop) {
    if (ch_loop_in_callback(loop))
        return CHELA_EBUSY;

    CH_LOG_SCOPE(ch_loop_log(loop));
    struct ch_sigpipe guard;
    ch_sigpipe_block(&guard);
    loop->running = true;
    int rc = run_until(loop, stop);
    loop_leave(loop, &guard);
    return rc;
}

void ch_loop_tick(struct ch_loop *loop) {
    if (ch_loop_in_callback(loop))
        return;

    CH_LOG_SCOPE(ch_loop_log(loop));
    struct ch_sigpipe guard;
    ch_sigpipe_block(&guard);
    loop->running = true;
    if (loop->manual)
        ch_timers_fire(loop);
    if (!loop->closing)
        loop_pass(loop, UV_RUN_NOWAIT);
    loop_leave(loop, &guard);
}
