/* test_loop.c -- tasks, posts, holds, running and closing, in a loop of our
 * own and in a host's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "io/loop.h"

static struct ch_loop *loop;
static char order[64];
static size_t norder;
static bool stop;

static int setup(void **state) {
    (void)state;
    norder = 0;
    order[0] = '\0';
    stop = false;
    return ch_loop_new(NULL, NULL, &loop, NULL);
}

static int teardown(void **state) {
    (void)state;
    ch_loop_close(loop, NULL, NULL);
    return 0;
}

static void note(char c) {
    order[norder++] = c;
    order[norder] = '\0';
}

/* --- tasks */

struct named {
    struct ch_task task;
    struct ch_timer timer;
    struct ch_post post;
    char name;
    struct named *other;
};

#define NAMED(c, f) \
    { .name = c, .task.fn = f }

static void note_task(struct ch_task *t) {
    assert_false(ch_task_queued(t));
    note(CH_CONTAINER(t, struct named, task)->name);
}

static void note_and_stop(struct ch_task *t) {
    note_task(t);
    stop = true;
}

static void test_tasks_run_later_in_order(void **state) {
    (void)state;
    struct named a = NAMED('a', note_task), b = NAMED('b', note_task);

    ch_task_defer(loop, &a.task);
    ch_task_defer(loop, &b.task);
    ch_task_defer(loop, &a.task); /* queued already */
    assert_true(ch_task_queued(&a.task));
    assert_string_equal(order, "");
    ch_loop_tick(loop);
    assert_string_equal(order, "ab");
    ch_loop_tick(loop);
    assert_string_equal(order, "ab");
}

static void defer_again(struct ch_task *t) {
    note_task(t);
    ch_task_defer(loop, t);
}

static void test_task_from_task_waits_its_turn(void **state) {
    (void)state;
    struct named a = NAMED('a', defer_again), b = NAMED('b', note_task);

    ch_task_defer(loop, &a.task);
    ch_task_defer(loop, &b.task);
    ch_loop_tick(loop);
    assert_string_equal(order, "ab");
    ch_loop_tick(loop);
    assert_string_equal(order, "aba");
    ch_task_cancel(loop, &a.task);
    ch_task_cancel(loop, &a.task);
    ch_loop_tick(loop);
    assert_string_equal(order, "aba");
}

static void cancel_other(struct ch_task *t) {
    note_task(t);
    ch_task_cancel(loop, &CH_CONTAINER(t, struct named, task)->other->task);
}

static void test_task_cancels_task(void **state) {
    (void)state;
    struct named c = NAMED('c', note_task), b = NAMED('b', note_task), a = NAMED('a', cancel_other);

    a.other = &b;
    ch_task_defer(loop, &a.task);
    ch_task_defer(loop, &b.task);
    ch_task_defer(loop, &c.task);
    ch_loop_tick(loop);
    assert_string_equal(order, "ac");
    assert_false(ch_task_queued(&b.task));
    ch_task_defer(loop, &b.task);
    ch_loop_tick(loop);
    assert_string_equal(order, "acb");
}

static void free_itself(struct ch_task *t) {
    note_task(t);
    free(CH_CONTAINER(t, struct named, task));
}

static void test_task_frees_itself(void **state) {
    (void)state;
    struct named *a = calloc(1, sizeof(*a)), b = NAMED('b', note_task);

    *a = (struct named)NAMED('a', free_itself);
    ch_task_defer(loop, &a->task);
    ch_task_defer(loop, &b.task);
    ch_loop_tick(loop);
    assert_string_equal(order, "ab");
}

/* Queued tasks are work: run must not block on anything else first. */
static void test_run_does_not_block_while_tasks_wait(void **state) {
    (void)state;
    struct named a = NAMED('a', note_and_stop);

    ch_loop_hold(loop);
    ch_task_defer(loop, &a.task);
    assert_int_equal(ch_loop_run(loop, &stop), 0);
    assert_string_equal(order, "a");
    ch_loop_release(loop);
}

/* --- running */

static void run_inside(struct ch_task *t) {
    bool never = false;
    note_task(t);
    assert_int_equal(ch_loop_run(loop, &never), CHELA_EBUSY);
    ch_loop_tick(loop);
    stop = true;
}

static void test_run_is_not_reentrant(void **state) {
    (void)state;
    struct named a = NAMED('a', run_inside), b = NAMED('b', note_task);
    ch_task_defer(loop, &a.task);
    ch_task_defer(loop, &b.task);
    assert_int_equal(ch_loop_run(loop, &stop), 0);
    assert_string_equal(order, "ab");
}

static void test_run_says_when_nothing_is_left(void **state) {
    (void)state;
    assert_int_equal(ch_loop_run(loop, &stop), CHELA_ESTATE);
    struct named a = NAMED('a', note_task);
    ch_task_defer(loop, &a.task);
    assert_int_equal(ch_loop_run(loop, &stop), CHELA_ESTATE);
    assert_string_equal(order, "a");
    stop = true;
    assert_int_equal(ch_loop_run(loop, &stop), 0);
}

static void release_in_timer(struct ch_timer *t) {
    (void)t;
    ch_loop_release(loop);
}

/* The last hold goes in a timer that fires before libuv polls. */
static void test_run_ends_when_released(void **state) {
    (void)state;
    struct named a = {.name = 'a'};

    ch_loop_hold(loop);
    ch_loop_hold(loop);
    ch_timer_start(loop, &a.timer, 0, release_in_timer);
    ch_loop_release(loop);
    assert_int_equal(ch_loop_run(loop, &stop), CHELA_ESTATE);
}

static void ignore_timer(uv_timer_t *t) {
    (void)t;
}

/* All there was goes away in the pass that was to wait for it. */
static void test_run_ends_with_the_last_handle(void **state) {
    (void)state;
    uv_timer_t other;

    uv_timer_init(ch_loop_uv(loop), &other);
    uv_timer_start(&other, ignore_timer, 0, 0);
    assert_int_equal(ch_loop_run(loop, &stop), CHELA_ESTATE);
    uv_close((uv_handle_t *)&other, NULL);
    ch_loop_tick(loop);
}

static void write_to_closed_pipe(struct ch_task *t) {
    int fds[2];
    note_task(t);
    assert_int_equal(pipe(fds), 0);
    close(fds[0]);
    assert_int_equal(write(fds[1], "x", 1), -1);
    close(fds[1]);
    stop = true;
}

static void block_usr1(struct ch_task *t) {
    sigset_t set;
    note_task(t);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    stop = true;
}

/* A callback may block signals of its thread. */
static void test_signals_of_a_callback(void **state) {
    (void)state;
    struct named a = NAMED('a', block_usr1);
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    ch_task_defer(loop, &a.task);
    ch_loop_run(loop, &stop);
    pthread_sigmask(SIG_SETMASK, &before, &after);
    assert_true(sigismember(&after, SIGUSR1));
    assert_false(sigismember(&after, SIGPIPE));
}

static volatile sig_atomic_t pipes_broken;

static void on_sigpipe(int sig) {
    (void)sig;
    pipes_broken++;
}

static void test_no_sigpipe_while_running(void **state) {
    (void)state;
    struct named a = NAMED('a', write_to_closed_pipe);
    struct sigaction act = {.sa_handler = on_sigpipe}, old;

    sigaction(SIGPIPE, &act, &old);
    pipes_broken = 0;
    ch_task_defer(loop, &a.task);
    assert_int_equal(ch_loop_run(loop, &stop), 0);
    assert_int_equal(pipes_broken, 0);
    raise(SIGPIPE);
    assert_int_equal(pipes_broken, 1);
    sigaction(SIGPIPE, &old, NULL);
}

/* --- closing */

static void close_loop(struct ch_task *t) {
    note_task(t);
    ch_loop_close(loop, NULL, NULL);
}

static void test_close_from_callback(void **state) {
    (void)state;
    struct named a = NAMED('a', close_loop), b = NAMED('b', note_task);
    bool *freed_by_callback = malloc(sizeof(bool));

    *freed_by_callback = false;
    ch_task_defer(loop, &a.task);
    ch_task_defer(loop, &b.task);
    assert_int_equal(ch_loop_run(loop, freed_by_callback), CHELA_ECANCELED);
    assert_string_equal(order, "a");
    assert_false(ch_task_queued(&b.task));
    free(freed_by_callback);
    assert_int_equal(ch_loop_new(NULL, NULL, &loop, NULL), 0);
}

static void mark(void *user) {
    *(bool *)user = true;
}

static void test_close_drops_what_is_queued(void **state) {
    (void)state;
    struct named a = NAMED('a', note_task);
    bool done = false;

    ch_task_defer(loop, &a.task);
    ch_loop_close(loop, mark, &done);
    assert_true(done);
    assert_false(ch_task_queued(&a.task));
    assert_string_equal(order, "");
    ch_loop_close(NULL, NULL, NULL);
    assert_int_equal(ch_loop_new(NULL, NULL, &loop, NULL), 0);
}

static void on_other_closed(uv_handle_t *h) {
    note('x');
    free(h);
}

/* Others close their handles just before: their callbacks still come. */
static void test_close_waits_for_closing_handles(void **state) {
    (void)state;
    uv_timer_t *other = malloc(sizeof(*other));

    uv_timer_init(ch_loop_uv(loop), other);
    uv_close((uv_handle_t *)other, on_other_closed);
    ch_loop_close(loop, NULL, NULL);
    assert_string_equal(order, "x");
    assert_int_equal(ch_loop_new(NULL, NULL, &loop, NULL), 0);
}

static unsigned count_entries(const char *dir) {
    DIR *d = opendir(dir);
    unsigned n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void test_cheap_and_leaves_nothing(void **state) {
    (void)state;
    unsigned fds = count_entries("/proc/self/fd"), threads = count_entries("/proc/self/task");
    int64_t t0 = (int64_t)uv_hrtime();

    for (int i = 0; i < 200; i++) {
        struct ch_loop *l;
        assert_int_equal(ch_loop_new(NULL, NULL, &l, NULL), 0);
        if (i == 0)
            assert_int_equal(count_entries("/proc/self/task"), threads);
        ch_loop_close(l, NULL, NULL);
    }
    print_message("# new + close: %.1f us\n", (double)((int64_t)uv_hrtime() - t0) / 200 / 1000);
    assert_int_equal(count_entries("/proc/self/fd"), fds);
}

/* A host that has closed its standard streams. */
static void test_closed_standard_streams(void **state) {
    (void)state;
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        struct ch_loop *l;
        for (int fd = 0; fd <= 2; fd++)
            close(fd);
        if (ch_loop_new(NULL, NULL, &l, NULL) < 0)
            _exit(1);
        ch_loop_close(l, NULL, NULL);
        _exit(write(1, "x", 1) == 1 ? 2 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* The first loop of a process, with any number of free descriptors: it is refused, or works. The
 * test must come first: libuv keeps what it opens for the first loop. */
static void test_first_loop(void **state) {
    (void)state;
    int refused = 0;
    int next = dup(0);
    close(next);
    for (int free = 0; free < 10; free++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            struct ch_loop *l;
            setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)(next + free), 1000});
            int rc = ch_loop_new(NULL, NULL, &l, NULL);
            if (rc == 0)
                ch_loop_close(l, NULL, NULL);
            _exit(rc == CHELA_EIO ? 1 : rc == 0 ? 0 : 2);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(status == 0 || status == 1 << 8);
        refused += status != 0;
    }
    assert_in_range(refused, 4, 9);
}

/* Without a file descriptor for the timers a loop is refused, and leaves nothing. */
static void test_too_few_descriptors(void **state) {
    (void)state;
    struct rlimit before;
    struct ch_loop *l;

    assert_int_equal(ch_loop_new(NULL, NULL, &l, NULL), 0);
    int next = dup(0); /* behind the descriptors of the loop, the last of which is the timers' */
    close(next);
    ch_loop_close(l, NULL, NULL);
    unsigned fds = count_entries("/proc/self/fd");
    getrlimit(RLIMIT_NOFILE, &before);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)next - 1, before.rlim_max});
    int rc = ch_loop_new(NULL, NULL, &l, NULL);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(rc, CHELA_EIO);
    assert_int_equal(count_entries("/proc/self/fd"), fds);
}

/* --- posts */

#define POSTERS 4
#define POSTS 2000

struct numbered {
    struct ch_post post;
    int thread, number;
};
static int last_number[POSTERS], delivered;

static void on_numbered(struct ch_post *p) {
    struct numbered *n = CH_CONTAINER(p, struct numbered, post);

    assert_int_equal(n->number, last_number[n->thread] + 1);
    last_number[n->thread] = n->number;
    free(n);
    stop = ++delivered == POSTERS * POSTS;
}

static void *post_many(void *arg) {
    for (int i = 1; i <= POSTS; i++) {
        struct numbered *n = calloc(1, sizeof(*n));
        *n = (struct numbered){{.fn = on_numbered}, (int)(intptr_t)arg, i};
        ch_loop_post(loop, &n->post);
    }
    return NULL;
}

static void test_posts_from_threads_in_order(void **state) {
    (void)state;
    pthread_t threads[POSTERS];

    delivered = 0;
    memset(last_number, 0, sizeof(last_number));
    ch_loop_hold(loop);
    for (intptr_t i = 0; i < POSTERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, post_many, (void *)i), 0);
    assert_int_equal(ch_loop_run(loop, &stop), 0);
    for (int i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(delivered, POSTERS * POSTS);
    ch_loop_release(loop);
}

static void note_post(struct ch_post *p) {
    note(CH_CONTAINER(p, struct named, post)->name);
}

static void post_again(struct ch_post *p) {
    note_post(p);
    p->fn = note_post;
    ch_loop_post(loop, p);
}

static void test_post_from_post_and_without_hold(void **state) {
    (void)state;
    struct named a = {.name = 'a', .post.fn = post_again}, b = {.name = 'b', .post.fn = note_post};

    ch_loop_post(loop, &a.post);
    ch_loop_post(loop, &b.post);
    assert_string_equal(order, "");
    assert_int_equal(ch_loop_run(loop, &stop), CHELA_ESTATE);
    assert_string_equal(order, "aba");
}

static void unpost_other(struct ch_post *p) {
    note_post(p);
    ch_loop_unpost(loop, &CH_CONTAINER(p, struct named, post)->other->post);
}

static void test_unpost(void **state) {
    (void)state;
    struct named c = {.name = 'c', .post.fn = note_post}, b = {.name = 'b', .post.fn = note_post},
                 a = {.name = 'a', .post.fn = unpost_other, .other = &b};

    ch_loop_post(loop, &c.post);
    ch_loop_post(loop, &a.post);
    ch_loop_unpost(loop, &a.post); /* the last */
    ch_loop_unpost(loop, &c.post); /* the only one */
    ch_loop_unpost(loop, &b.post); /* none */
    ch_loop_post(loop, &a.post);
    ch_loop_post(loop, &b.post);
    ch_loop_post(loop, &c.post);
    ch_loop_tick(loop);
    assert_string_equal(order, "ac");
}

static void close_in_post(struct ch_post *p) {
    note_post(p);
    ch_loop_close(loop, NULL, NULL);
    ch_loop_post(loop, p); /* the loop is still there, and deaf */
}

static void test_posts_after_close_are_dropped(void **state) {
    (void)state;
    struct named a = {.name = 'a', .post.fn = close_in_post},
                 b = {.name = 'b', .post.fn = note_post};

    ch_loop_post(loop, &a.post);
    ch_loop_post(loop, &b.post);
    ch_loop_tick(loop);
    assert_string_equal(order, "a");
    assert_int_equal(ch_loop_new(NULL, NULL, &loop, NULL), 0);
}

/* --- a clock the test holds */

static int64_t stand_still(void *user) {
    (void)user;
    return 5;
}

static void note_and_release(struct ch_post *p) {
    note_post(p);
    ch_loop_release_thread(loop);
}

static void *post_later(void *arg) {
    usleep(20 * 1000);
    ch_loop_post(loop, arg);
    return NULL;
}

/* A held clock does not keep run from waiting for a thread that will post. */
static void test_held_clock_waits_for_threads(void **state) {
    (void)state;
    const struct ch_clock clock = {stand_still, stand_still, NULL};
    struct named a = {.name = 'a', .post.fn = note_and_release};
    struct ch_loop *real = loop;
    pthread_t thread;

    assert_int_equal(ch_loop_new(NULL, &clock, &loop, NULL), 0);
    ch_loop_hold(loop);
    assert_int_equal(ch_loop_run(loop, &stop), CHELA_ESTATE);
    ch_loop_hold_thread(loop);
    assert_int_equal(pthread_create(&thread, NULL, post_later, &a.post), 0);
    assert_int_equal(ch_loop_run(loop, &stop), CHELA_ESTATE);
    assert_string_equal(order, "a");
    pthread_join(thread, NULL);
    ch_loop_release(loop);
    ch_loop_close(loop, NULL, NULL);
    loop = real;
}

/* --- in a host's loop */

static void release_and_note(struct ch_timer *t) {
    note(CH_CONTAINER(t, struct named, timer)->name);
    ch_loop_release(loop);
}

static void in_host(void (*body)(uv_loop_t *)) {
    struct ch_loop *own = loop;
    uv_loop_t host;
    bool closed = false;

    assert_int_equal(uv_loop_init(&host), 0);
    assert_int_equal(ch_loop_new(&host, NULL, &loop, NULL), 0);
    assert_ptr_equal(ch_loop_uv(loop), &host);
    body(&host);
    ch_loop_close(loop, mark, &closed);
    assert_false(closed);
    uv_run(&host, UV_RUN_DEFAULT);
    assert_true(closed);
    assert_int_equal(uv_loop_close(&host), 0);
    loop = own;
}

static void host_returns_when_idle(uv_loop_t *host) {
    struct named a = NAMED('a', note_task), b = NAMED('b', NULL);

    assert_int_equal(uv_run(host, UV_RUN_DEFAULT), 0);
    ch_timer_start(loop, &b.timer, 60 * 1000, release_and_note);
    assert_int_equal(uv_run(host, UV_RUN_DEFAULT), 0);
    ch_task_defer(loop, &a.task);
    assert_int_equal(uv_run(host, UV_RUN_DEFAULT), 0);
    assert_string_equal(order, "a");
    ch_timer_stop(loop, &b.timer);
}

static void host_runs_while_held(uv_loop_t *host) {
    struct named a = NAMED('a', NULL);

    ch_loop_hold(loop);
    ch_timer_start(loop, &a.timer, 20, release_and_note);
    assert_int_equal(uv_run(host, UV_RUN_DEFAULT), 0);
    assert_string_equal(order, "a");
}

static void host_close_in_callback(uv_loop_t *host) {
    struct named a = NAMED('a', close_loop);

    ch_task_defer(loop, &a.task);
    uv_run(host, UV_RUN_DEFAULT);
    assert_string_equal(order, "a");
    assert_int_equal(ch_loop_new(host, NULL, &loop, NULL), 0);
    ch_task_defer(loop, &a.task);
    assert_int_equal(ch_loop_run(loop, &stop), CHELA_ECANCELED);
    assert_string_equal(order, "aa");
    assert_int_equal(ch_loop_new(host, NULL, &loop, NULL), 0);
}

static void host_close_with_work_queued(uv_loop_t *host) {
    (void)host;
    static struct named a = NAMED('a', note_task), b = {.name = 'b', .post.fn = note_post};
    ch_task_defer(loop, &a.task);
    ch_loop_post(loop, &b.post);
    ch_loop_hold(loop);
}

static void on_lost(uv_write_t *req, int status) {
    *(int *)req->data = status;
}

static void close_peer(uv_timer_t *t) {
    close(*(int *)t->data);
    uv_close((uv_handle_t *)t, NULL);
}

/* A peer leaves before it has read what waits to be written: libuv writes it in uv_run. 0: the
 * host lives, and its signals are as before. */
static int lose_peer(void) {
    static char bytes[1 << 22];
    int pair[2], lost = 0;
    uv_buf_t buf = {.base = bytes, .len = sizeof(bytes)};
    uv_loop_t host;
    uv_pipe_t pipe;
    uv_timer_t timer = {.data = &pair[1]};
    uv_write_t req = {.data = &lost};
    sigset_t mask;

    if (uv_loop_init(&host) < 0 || ch_loop_new(&host, NULL, &loop, NULL) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        return 1;
    uv_pipe_init(&host, &pipe, 0);
    uv_pipe_open(&pipe, pair[0]);
    uv_timer_init(&host, &timer);
    uv_timer_start(&timer, close_peer, 1, 0);
    uv_write(&req, (uv_stream_t *)&pipe, &buf, 1, on_lost);
    while (!lost)
        uv_run(&host, UV_RUN_ONCE);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    ch_loop_close(loop, NULL, NULL);
    uv_close((uv_handle_t *)&pipe, NULL);
    uv_run(&host, UV_RUN_DEFAULT);
    return lost != UV_EPIPE || sigismember(&mask, SIGPIPE) || uv_loop_close(&host) < 0 ? 2 : 0;
}

static void test_host_without_sigpipe(void **state) {
    (void)state;
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGPIPE, SIG_DFL);
        _exit(lose_peer());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_host_returns_when_idle(void **state) {
    (void)state;
    in_host(host_returns_when_idle);
}
static void test_host_runs_while_held(void **state) {
    (void)state;
    in_host(host_runs_while_held);
}
static void test_host_close_in_callback(void **state) {
    (void)state;
    in_host(host_close_in_callback);
}
static void test_host_close_with_work_queued(void **state) {
    (void)state;
    in_host(host_close_with_work_queued);
    assert_string_equal(order, "");
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_loop),
        T(test_tasks_run_later_in_order),
        T(test_task_from_task_waits_its_turn),
        T(test_task_cancels_task),
        T(test_task_frees_itself),
        T(test_run_does_not_block_while_tasks_wait),
        T(test_run_is_not_reentrant),
        T(test_run_says_when_nothing_is_left),
        T(test_run_ends_when_released),
        T(test_run_ends_with_the_last_handle),
        T(test_signals_of_a_callback),
        T(test_no_sigpipe_while_running),
        T(test_close_from_callback),
        T(test_close_drops_what_is_queued),
        T(test_close_waits_for_closing_handles),
        T(test_cheap_and_leaves_nothing),
        T(test_closed_standard_streams),
        T(test_too_few_descriptors),
        T(test_posts_from_threads_in_order),
        T(test_post_from_post_and_without_hold),
        T(test_unpost),
        T(test_posts_after_close_are_dropped),
        T(test_held_clock_waits_for_threads),
        cmocka_unit_test(test_host_without_sigpipe),
        T(test_host_returns_when_idle),
        T(test_host_runs_while_held),
        T(test_host_close_in_callback),
        T(test_host_close_with_work_queued),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
