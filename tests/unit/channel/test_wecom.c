/* test_wecom.c -- which process connects, if several share a store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "channel/wecom/wecom.h"
#include "channel/wecom/wecom_line.h"

static int64_t now;
static int dials; /* timers that connect at once */

static int64_t host_now(void *user) {
    (void)user;
    return now;
}

static void host_timer_start(struct chela_channel_timer **timer, int64_t ms, void (*fn)(void *tag),
                             void *tag, void *user) {
    (void)timer;
    (void)fn;
    (void)tag;
    (void)user;
    dials += ms == 0;
}

static const struct chela_channel_host host = {.now = host_now, .timer_start = host_timer_start};

/* A pass over the notes of the store. note NULL: there is none. */
static int pass(struct ch_wecom *w, const char *note, int64_t after_ms) {
    now += after_ms;
    dials = 0;
    if (note)
        ch_wecom_remind(w, "line", (struct chela_text){note, strlen(note)});
    ch_wecom_reminded(w);
    return dials;
}

static struct ch_wecom waiting(void) {
    struct ch_wecom w = {.host = &host, .process = "a", .elsewhere = true, .waits = true};
    w.dial.host = &host;
    return w;
}

static void test_the_other_ends(void **state) {
    struct ch_wecom w = waiting();
    (void)state;
    assert_int_equal(pass(&w, "b 1", 3000), 0);
    assert_int_equal(pass(&w, "b 1", 60000), 0);
    assert_int_equal(pass(&w, "b 2", 60000), 0); /* renewed */
    assert_int_equal(pass(&w, NULL, 3000), 1);
    assert_int_equal(pass(&w, NULL, 3000), 0); /* once: the connection has its own delays */
    ch_free(w.holder);
}

static void test_the_other_dies(void **state) {
    struct ch_wecom w = waiting();
    (void)state;
    assert_int_equal(pass(&w, "b 1", 3000), 0);
    assert_int_equal(pass(&w, "b 1", 74000), 0);
    assert_int_equal(pass(&w, "b 1", 3000), 1);
    ch_free(w.holder);
}

/* The note is that of this process: a program without this store has the connection. */
static void test_a_stranger(void **state) {
    struct ch_wecom w = waiting();
    (void)state;
    assert_int_equal(pass(&w, "a 1", 3000), 0);
    assert_int_equal(pass(&w, "a 1", 600000), 0);
    assert_null(w.holder);
}

static void test_a_process_that_does_not_wait(void **state) {
    struct ch_wecom w = waiting();
    (void)state;
    w.waits = false;
    assert_int_equal(pass(&w, "b 1", 3000), 0);
    assert_int_equal(pass(&w, "b 1", 600000), 0);
    assert_int_equal(pass(&w, NULL, 3000), 0);
    ch_free(w.holder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_other_ends),
                                       cmocka_unit_test(test_the_other_dies),
                                       cmocka_unit_test(test_a_stranger),
                                       cmocka_unit_test(test_a_process_that_does_not_wait)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
