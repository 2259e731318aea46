/* test_timer.c -- timers on a clock the test holds, and on the real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <uv.h>

#include "io/loop.h"

static int64_t held; /* the test's time */

static int64_t read_held(void *user) {
    (void)user;
    return held;
}

static const struct ch_clock test_clock = {read_held, read_held, NULL};

static struct ch_loop *new_loop(const struct ch_clock *clock) {
    struct ch_loop *loop = NULL;
    assert_int_equal(ch_loop_new(NULL, clock, &loop, NULL), 0);
    return loop;
}

static struct ch_loop *loop;
static char fired[64];
static size_t nfired;

struct named {
    struct ch_timer timer;
    char name;
};

static void note(struct ch_timer *t) {
    assert_false(ch_timer_armed(t));
    fired[nfired++] = CH_CONTAINER(t, struct named, timer)->name;
    fired[nfired] = '\0';
}

static int setup(void **state) {
    (void)state;
    held = 1000;
    nfired = 0;
    fired[0] = '\0';
    loop = new_loop(&test_clock);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    ch_loop_close(loop, NULL, NULL);
    return 0;
}

static void advance(int64_t ms) {
    held += ms;
    ch_loop_tick(loop);
}

static void test_fire_in_order_of_time(void **state) {
    (void)state;
    struct named a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'}, d = {.name = 'd'};

    assert_int_equal(ch_loop_next_due(loop), -1);
    ch_timer_start(loop, &a.timer, 30, note);
    ch_timer_start(loop, &b.timer, 10, note);
    ch_timer_start(loop, &c.timer, 20, note);
    ch_timer_start(loop, &d.timer, 10, note);
    assert_int_equal(ch_loop_next_due(loop), 10);
    ch_loop_tick(loop);
    assert_string_equal(fired, "");
    advance(9);
    assert_string_equal(fired, "");
    assert_int_equal(ch_loop_next_due(loop), 1);
    advance(1);
    assert_string_equal(fired, "bd");
    advance(100);
    assert_string_equal(fired, "bdca");
    assert_int_equal(ch_loop_next_due(loop), -1);
}

static void test_zero_fires_on_the_next_pass(void **state) {
    (void)state;
    struct named a = {.name = 'a'}, b = {.name = 'b'};

    ch_timer_start(loop, &a.timer, 0, note);
    ch_timer_start(loop, &b.timer, -5, note);
    assert_string_equal(fired, "");
    assert_int_equal(ch_loop_next_due(loop), 0);
    ch_loop_tick(loop);
    assert_string_equal(fired, "ab");
}

static void rearm(struct ch_timer *t) {
    fired[nfired++] = CH_CONTAINER(t, struct named, timer)->name;
    ch_timer_start(loop, t, 0, rearm);
}

static void test_rearming_does_not_starve(void **state) {
    (void)state;
    struct named a = {.name = 'a'}, b = {.name = 'b'};

    ch_timer_start(loop, &a.timer, 0, rearm);
    ch_timer_start(loop, &b.timer, 0, note);
    ch_loop_tick(loop);
    assert_string_equal(fired, "ab");
    ch_loop_tick(loop);
    ch_loop_tick(loop);
    assert_string_equal(fired, "abaa");
    ch_timer_stop(loop, &a.timer);
    ch_timer_stop(loop, &a.timer);
    ch_loop_tick(loop);
    assert_string_equal(fired, "abaa");
}

static void test_pushing_back_and_forward(void **state) {
    (void)state;
    struct named a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'};

    ch_timer_start(loop, &a.timer, 10, note);
    ch_timer_start(loop, &b.timer, 20, note);
    ch_timer_start(loop, &c.timer, 100, note);
    ch_timer_start(loop, &a.timer, 50, note); /* later */
    assert_int_equal(ch_loop_next_due(loop), 20);
    advance(15);
    assert_string_equal(fired, "");
    advance(5);
    assert_string_equal(fired, "b");
    ch_timer_start(loop, &c.timer, 10, note); /* earlier: at 30 */
    assert_int_equal(ch_loop_next_due(loop), 10);
    ch_timer_start(loop, &c.timer, 25, note); /* later again: at 45 */
    advance(15);
    assert_string_equal(fired, "b");
    advance(100);
    assert_string_equal(fired, "bca");
}

static struct named victim = {.name = 'v'};

static void stop_victim(struct ch_timer *t) {
    note(t);
    ch_timer_stop(loop, &victim.timer);
}

static void test_stop_from_another_timer(void **state) {
    (void)state;
    struct named a = {.name = 'a'};

    ch_timer_start(loop, &a.timer, 5, stop_victim);
    ch_timer_start(loop, &victim.timer, 5, note);
    advance(5);
    advance(5);
    assert_string_equal(fired, "a");
    assert_false(ch_timer_armed(&victim.timer));
}

static void free_itself(struct ch_timer *t) {
    note(t);
    free(t);
}

static void test_free_in_callback(void **state) {
    (void)state;
    struct named *a = calloc(1, sizeof(*a));
    a->name = 'a';
    ch_timer_start(loop, &a->timer, 1, free_itself);
    advance(1);
    assert_string_equal(fired, "a");
}

static void close_loop(struct ch_timer *t) {
    note(t);
    ch_loop_close(loop, NULL, NULL);
}

static void test_close_in_callback(void **state) {
    (void)state;
    struct named a = {.name = 'a'}, b = {.name = 'b'};
    ch_timer_start(loop, &a.timer, 1, close_loop);
    ch_timer_start(loop, &b.timer, 1, note);
    advance(1);
    assert_string_equal(fired, "a");
    assert_false(ch_timer_armed(&b.timer));
    loop = new_loop(&test_clock);
}

static void test_far_future(void **state) {
    (void)state;
    struct named a = {.name = 'a'}, b = {.name = 'b'};
    ch_timer_start(loop, &a.timer, INT64_MAX, note);
    ch_timer_start(loop, &b.timer, 1, note);
    advance(1);
    assert_string_equal(fired, "b");
    assert_true(ch_timer_armed(&a.timer));
    ch_timer_stop(loop, &a.timer);
}

/* Against a plain array: the same timers fire in the same pass, in order of
 * their time. */
#define MANY 200

struct modelled {
    struct ch_timer timer;
    int64_t due; /* -1: not armed */
};
static int64_t last_due;

static void check_model(struct ch_timer *t) {
    struct modelled *m = CH_CONTAINER(t, struct modelled, timer);
    assert_true(m->due >= 0 && m->due <= held);
    assert_true(m->due >= last_due);
    last_due = m->due;
    m->due = -1;
}

static int64_t model_next(const struct modelled *m) {
    int64_t next = -1;
    for (int i = 0; i < MANY; i++)
        if (m[i].due >= 0 && (next < 0 || m[i].due < next))
            next = m[i].due;
    return next < 0 ? -1 : next > held ? next - held : 0;
}

static void test_random_against_model(void **state) {
    (void)state;
    static struct modelled m[MANY];

    for (int i = 0; i < MANY; i++)
        m[i] = (struct modelled){.due = -1};
    srand(7);
    for (int round = 0; round < 20000; round++) {
        struct modelled *one = &m[rand() % MANY];
        int what = rand() % 10;
        if (what < 7) {
            int64_t ms = rand() % 500;
            ch_timer_start(loop, &one->timer, ms, check_model);
            one->due = held + ms;
        } else if (what < 9) {
            ch_timer_stop(loop, &one->timer);
            one->due = -1;
        } else {
            last_due = 0;
            advance(rand() % 50);
        }
        assert_int_equal(ch_timer_armed(&one->timer), one->due >= 0);
        assert_int_equal(ch_loop_next_due(loop), model_next(m));
    }
}

/* Run with a clock that stands still: no waiting, no spinning. */
static void test_run_with_held_clock(void **state) {
    (void)state;
    struct named a = {.name = 'a'};
    bool stop = false;

    ch_loop_hold(loop);
    ch_timer_start(loop, &a.timer, 60 * 1000, note);
    assert_int_equal(ch_loop_run(loop, &stop), CHELA_ESTATE);
    assert_string_equal(fired, "");
    held += ch_loop_next_due(loop);
    assert_int_equal(ch_loop_run(loop, &stop), CHELA_ESTATE);
    assert_string_equal(fired, "a");
    ch_loop_release(loop);
}

static bool stop_now;

static void set_stop(struct ch_timer *t) {
    note(t);
    stop_now = true;
}

static void test_run_stops_in_timer(void **state) {
    (void)state;
    struct named a = {.name = 'a'}, b = {.name = 'b'};

    stop_now = false;
    ch_timer_start(loop, &a.timer, 0, note);
    ch_timer_start(loop, &b.timer, 0, set_stop);
    assert_int_equal(ch_loop_run(loop, &stop_now), 0);
    assert_string_equal(fired, "ab");
}

static void test_real_clock(void **state) {
    (void)state;
    struct ch_loop *held_loop = loop;
    struct named a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'};

    loop = new_loop(NULL);
    stop_now = false;
    int64_t t0 = ch_mono_ms(ch_loop_clock(loop));
    ch_loop_hold(loop);
    ch_timer_start(loop, &a.timer, 40, set_stop);
    ch_timer_start(loop, &b.timer, 20, note);
    ch_timer_start(loop, &c.timer, 5, note);
    ch_timer_start(loop, &c.timer, 30, note); /* the alarm rings early for it */
    assert_int_equal(ch_loop_run(loop, &stop_now), 0);
    int64_t took = ch_mono_ms(ch_loop_clock(loop)) - t0;
    assert_string_equal(fired, "bca");
    assert_true(took >= 40 && took < 5000);
    ch_loop_release(loop);
    ch_loop_close(loop, NULL, NULL);
    loop = held_loop;
}

/* A timer that comes due just before libuv polls, and is all there was to wait
 * for, must not leave the loop blocked. */
static void test_due_before_the_poll(void **state) {
    (void)state;
    struct ch_loop *held_loop = loop;
    struct named a = {.name = 'a'};

    loop = new_loop(NULL);
    stop_now = false;
    ch_loop_hold(loop);
    ch_timer_start(loop, &a.timer, 1, set_stop);
    for (int64_t t0 = ch_mono_ms(&ch_clock_system); ch_mono_ms(&ch_clock_system) < t0 + 5;)
        ;
    assert_int_equal(ch_loop_run(loop, &stop_now), 0);
    assert_string_equal(fired, "a");
    ch_loop_release(loop);
    ch_loop_close(loop, NULL, NULL);
    loop = held_loop;
}

/* Without a hold a timer does not keep the loop going. */
static void test_unheld_timer_does_not_count(void **state) {
    (void)state;
    struct ch_loop *held_loop = loop;
    struct named a = {.name = 'a'};
    bool stop = false;

    loop = new_loop(NULL);
    ch_timer_start(loop, &a.timer, 60 * 1000, note);
    assert_int_equal(ch_loop_run(loop, &stop), CHELA_ESTATE);
    ch_loop_close(loop, NULL, NULL);
    assert_false(ch_timer_armed(&a.timer));
    loop = held_loop;
}

/* A timer that is always due must not keep the loop from its other work. */
struct busy {
    struct ch_timer timer;
    struct ch_loop *loop;
    struct ch_task task;
    bool ran;
};

static void again(struct ch_timer *t) {
    struct busy *b = CH_CONTAINER(t, struct busy, timer);
    ch_timer_start(b->loop, t, 0, again);
}

static void let_through(struct ch_task *t) {
    CH_CONTAINER(t, struct busy, task)->ran = true;
}

static void test_always_due_starves_nobody(void **state) {
    (void)state;
    struct busy b = {.loop = new_loop(NULL), .task = {.fn = let_through}};
    ch_loop_hold(b.loop);
    ch_timer_start(b.loop, &b.timer, 0, again);
    ch_task_defer(b.loop, &b.task);
    assert_int_equal(ch_loop_run(b.loop, &b.ran), 0);
    ch_loop_release(b.loop);
    ch_loop_close(b.loop, NULL, NULL);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_always_due_starves_nobody),
        T(test_fire_in_order_of_time),    T(test_zero_fires_on_the_next_pass),
        T(test_rearming_does_not_starve), T(test_pushing_back_and_forward),
        T(test_stop_from_another_timer),  T(test_free_in_callback),
        T(test_close_in_callback),        T(test_far_future),
        T(test_random_against_model),     T(test_run_with_held_clock),
        T(test_run_stops_in_timer),       T(test_real_clock),
        T(test_due_before_the_poll),      T(test_unheld_timer_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
