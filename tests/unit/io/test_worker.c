/* test_worker.c -- blocking work on threads; also run under the thread
 * sanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io/worker.h"

static struct ch_loop *loop;
static bool stop;
static int ndone, want;

struct job {
    struct ch_work work;
    int in, out, order;
    pthread_t ran_on;
};

static int setup(void **state) {
    (void)state;
    stop = false;
    ndone = 0;
    return ch_loop_new(NULL, NULL, &loop, NULL);
}

static int teardown(void **state) {
    (void)state;
    ch_loop_close(loop, NULL, NULL);
    return 0;
}

static void square(struct ch_work *w) {
    struct job *j = CH_CONTAINER(w, struct job, work);
    j->out = j->in * j->in;
    j->ran_on = pthread_self();
}

static void count_done(struct ch_work *w) {
    struct job *j = CH_CONTAINER(w, struct job, work);
    j->order = ndone++;
    stop = ndone == want;
}

static void test_results_come_back(void **state) {
    (void)state;
    struct ch_workers *pool = ch_workers_new(loop, 3);
    static struct job jobs[500];

    want = CH_LEN(jobs);
    for (int i = 0; i < want; i++) {
        jobs[i] = (struct job){.work = {.run = square, .done = count_done}, .in = i};
        ch_work_submit(pool, &jobs[i].work);
    }
    assert_int_equal(ndone, 0);
    assert_int_equal(ch_loop_run(loop, &stop), 0);
    for (int i = 0; i < want; i++) {
        assert_int_equal(jobs[i].out, i * i);
        assert_false(pthread_equal(jobs[i].ran_on, pthread_self()));
    }
    /* Nothing pending: the loop is not held any more. */
    stop = false;
    assert_int_equal(ch_loop_run(loop, &stop), CHELA_ESTATE);
    ch_workers_free(pool);
}

static void test_one_thread_keeps_order(void **state) {
    (void)state;
    struct ch_workers *pool = ch_workers_new(loop, 1);
    struct job jobs[20];

    want = CH_LEN(jobs);
    for (int i = 0; i < want; i++) {
        jobs[i] = (struct job){.work = {.run = square, .done = count_done}, .in = i};
        ch_work_submit(pool, &jobs[i].work);
    }
    assert_int_equal(ch_loop_run(loop, &stop), 0);
    for (int i = 0; i < want; i++) {
        assert_int_equal(jobs[i].order, i);
        assert_true(pthread_equal(jobs[i].ran_on, jobs[0].ran_on));
    }
    ch_workers_free(pool);
}

/* --- as many threads as needed, not more than allowed */

static atomic_int inside, most;
static pthread_barrier_t together;

static void meet(struct ch_work *w) {
    (void)w;
    int now = ++inside, seen = most;
    while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now))
        ;
    pthread_barrier_wait(&together); /* hangs unless four are here at once */
    inside--;
}

static void test_threads_up_to_the_maximum(void **state) {
    (void)state;
    struct ch_workers *pool = ch_workers_new(loop, 4);
    struct job jobs[40];

    pthread_barrier_init(&together, NULL, 4);
    inside = most = 0;
    want = CH_LEN(jobs);
    for (int i = 0; i < want; i++) {
        jobs[i] = (struct job){.work = {.run = meet, .done = count_done}};
        ch_work_submit(pool, &jobs[i].work);
    }
    assert_int_equal(ch_loop_run(loop, &stop), 0);
    assert_int_equal(most, 4);
    ch_workers_free(pool);
    pthread_barrier_destroy(&together);
}

static unsigned count_threads(void) {
    DIR *d = opendir("/proc/self/task");
    unsigned n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void test_idle_threads_end(void **state) {
    (void)state;
    unsigned before = count_threads();
    struct ch_workers *pool = ch_workers_new(loop, 2);
    assert_int_equal(count_threads(), before);
    struct job a = {.work = {.run = square, .done = count_done}, .in = 3};

    want = 1;
    ch_work_submit(pool, &a.work);
    assert_int_equal(ch_loop_run(loop, &stop), 0);
    assert_false(pthread_equal(a.ran_on, pthread_self()));
    for (int i = 0; i < 1000 && count_threads() > before; i++)
        usleep(10 * 1000);
    assert_int_equal(count_threads(), before);
    ch_loop_tick(loop); /* joins it */

    /* And the pool still works. */
    stop = false;
    want = 2;
    ch_work_submit(pool, &a.work);
    assert_int_equal(ch_loop_run(loop, &stop), 0);
    assert_int_equal(a.out, 9);
    ch_workers_free(pool);
}

static void read_mask(struct ch_work *w) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    CH_CONTAINER(w, struct job, work)->out =
        sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM) && sigismember(&mask, SIGPIPE) &&
        sigismember(&mask, SIGCHLD) && !sigismember(&mask, SIGSEGV);
}

static void test_signals_are_blocked(void **state) {
    (void)state;
    struct ch_workers *pool = ch_workers_new(loop, 1);
    struct job a = {.work = {.run = read_mask, .done = count_done}};
    sigset_t before, after;

    want = 1;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    ch_work_submit(pool, &a.work);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&before, SIGINT), sigismember(&after, SIGINT));
    assert_int_equal(ch_loop_run(loop, &stop), 0);
    assert_true(a.out);
    ch_workers_free(pool);
}

/* --- ending */

static atomic_int started, returned;

static void slow(struct ch_work *w) {
    started++;
    usleep(50 * 1000);
    CH_CONTAINER(w, struct job, work)->out = 1;
    returned++;
}

static void must_not_come(struct ch_work *w) {
    (void)w;
    fail_msg("done after ch_workers_free");
}

static void test_free_waits_and_drops(void **state) {
    (void)state;
    struct ch_workers *pool = ch_workers_new(loop, 1);
    struct job a = {.work = {.run = slow, .done = must_not_come}}, b = a;

    started = 0;
    ch_work_submit(pool, &a.work);
    ch_work_submit(pool, &b.work);
    while (started == 0)
        usleep(1000);
    ch_workers_free(pool);
    assert_int_equal(a.out, 1);   /* it was waited for */
    assert_int_equal(started, 1); /* the other never began */
    assert_int_equal(ch_loop_run(loop, &stop), CHELA_ESTATE);
    ch_workers_free(NULL);
}

/* Finished, but not delivered yet. */
static void test_free_before_delivery(void **state) {
    (void)state;
    struct ch_workers *pool = ch_workers_new(loop, 2);
    struct job a = {.work = {.run = slow, .done = must_not_come}}, b = a;

    returned = 0;
    ch_work_submit(pool, &a.work);
    ch_work_submit(pool, &b.work);
    while (returned < 2)
        usleep(1000);
    usleep(10 * 1000); /* and posted */
    ch_workers_free(pool);
    assert_int_equal(ch_loop_run(loop, &stop), CHELA_ESTATE);
}

static struct ch_workers *doomed;

static void free_pool(struct ch_work *w) {
    count_done(w);
    ch_workers_free(doomed);
}

static void test_free_in_done(void **state) {
    (void)state;
    doomed = ch_workers_new(loop, 2);
    struct job a = {.work = {.run = square, .done = free_pool}}, b = a;

    want = 1; /* whichever comes first, the other must not */
    ch_work_submit(doomed, &a.work);
    ch_work_submit(doomed, &b.work);
    usleep(50 * 1000); /* most often both are finished and come in one delivery */
    assert_int_equal(ch_loop_run(loop, &stop), 0);
    assert_int_equal(ndone, 1);
    stop = false;
    assert_int_equal(ch_loop_run(loop, &stop), CHELA_ESTATE);
}

static struct ch_workers *chain_pool;

static void submit_again(struct ch_work *w) {
    count_done(w);
    if (!stop)
        ch_work_submit(chain_pool, w);
}

static void test_submit_in_done(void **state) {
    (void)state;
    chain_pool = ch_workers_new(loop, 2);
    struct job a = {.work = {.run = square, .done = submit_again}, .in = 2};

    want = 100;
    ch_work_submit(chain_pool, &a.work);
    assert_int_equal(ch_loop_run(loop, &stop), 0);
    assert_int_equal(ndone, 100);
    ch_workers_free(chain_pool);
}

/* --- a system without room for a thread */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifndef SANITIZED
static struct rlimit room_before;

static void give_room(struct ch_timer *t) {
    (void)t;
    setrlimit(RLIMIT_AS, &room_before);
}
#endif

static void test_waits_for_a_thread(void **state) {
    (void)state;
#ifdef SANITIZED
    skip(); /* sanitizers need the address space */
#else
    const char *preload = getenv("LD_PRELOAD");
    if (preload && strstr(preload, "vgpreload"))
        skip(); /* and so does valgrind */
    struct ch_workers *pool = ch_workers_new(loop, 1);
    struct job a = {.work = {.run = square, .done = count_done}, .in = 5};
    struct ch_timer room = {0};

    want = 1;
    getrlimit(RLIMIT_AS, &room_before);
    ch_timer_start(loop, &room, 20, give_room);
    setrlimit(RLIMIT_AS, &(struct rlimit){1 << 20, room_before.rlim_max});
    ch_work_submit(pool, &a.work);
    assert_int_equal(ch_loop_run(loop, &stop), 0);
    assert_int_equal(a.out, 25);
    ch_workers_free(pool);
#endif
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(test_waits_for_a_thread), /* first: no stack is cached yet */
        T(test_results_come_back),
        T(test_one_thread_keeps_order),
        T(test_threads_up_to_the_maximum),
        T(test_signals_are_blocked),
        T(test_free_waits_and_drops),
        T(test_free_before_delivery),
        T(test_free_in_done),
        T(test_submit_in_done),
        T(test_idle_threads_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
