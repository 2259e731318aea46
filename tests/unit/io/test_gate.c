/* test_gate.c -- posting from threads that do not know whether the loop still
 * listens. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/gate.h"

struct sender {
    struct ch_gate *gate;
    struct ch_post post;
    atomic_bool free; /* the post may be used again */
    atomic_int let_in, refused;
    int delivered;
};

static void on_post(struct ch_post *p) {
    struct sender *s = CH_CONTAINER(p, struct sender, post);

    s->delivered++;
    atomic_store(&s->free, true);
}

static void *send_until_refused(void *arg) {
    struct sender *s = arg;

    while (!s->refused) {
        if (!atomic_exchange(&s->free, false)) {
            sched_yield();
            continue;
        }
        if (ch_gate_post(s->gate, &s->post))
            s->let_in++;
        else
            s->refused++;
    }
    return NULL;
}

static void test_open_and_shut(void **state) {
    struct ch_loop *loop;
    struct ch_gate gate;
    struct sender s = {.gate = &gate, .post = {.fn = on_post}};

    (void)state;
    assert_int_equal(ch_loop_new(NULL, NULL, &loop, NULL), 0);
    ch_gate_init(&gate, loop);
    assert_true(ch_gate_post(&gate, &s.post));
    ch_loop_tick(loop);
    assert_int_equal(s.delivered, 1);
    ch_gate_shut(&gate);
    assert_false(ch_gate_post(&gate, &s.post));
    ch_gate_shut(&gate); /* again is fine */
    ch_loop_close(loop, NULL, NULL);
    assert_false(ch_gate_post(&gate, &s.post)); /* the loop is gone */
    ch_gate_release(&gate);
}

/* Every post that was let in is delivered or taken back, none is lost. */
static void test_race(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct ch_loop *loop;
        struct ch_gate gate;
        struct sender s = {.gate = &gate, .post = {.fn = on_post}, .free = true};
        pthread_t thread;

        assert_int_equal(ch_loop_new(NULL, NULL, &loop, NULL), 0);
        ch_gate_init(&gate, loop);
        assert_int_equal(pthread_create(&thread, NULL, send_until_refused, &s), 0);
        while (s.delivered < 1 + round)
            ch_loop_tick(loop);
        ch_gate_shut(&gate);
        if (ch_loop_unpost(loop, &s.post))
            on_post(&s.post);
        ch_loop_close(loop, NULL, NULL);
        atomic_store(&s.free, true);
        pthread_join(thread, NULL);
        assert_int_equal(s.delivered, s.let_in);
        ch_gate_release(&gate);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_and_shut),
        cmocka_unit_test(test_race),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
