/* test_orphans.c -- the age of items that wait in the store, on the test's own clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/api/runtime.h"
#include "agent/handle/agent.h"
#include "gateway/lane/orphans.h"

static int64_t now;

static int64_t clock_now(void *user) {
    (void)user;
    return now;
}

static const struct ch_clock test_clock = {clock_now, clock_now, NULL};

static void test_age(void **state) {
    (void)state;
    struct chela_error err = {0};
    chela_gateway gw = {0};
    now = 1000;
    assert_int_equal(ch_runtime_open(NULL, &test_clock, &gw.rt, &err), 0);
    struct ch_orphans *o = ch_orphans_new(&gw);
    ch_orphans_begin_scan(o);
    assert_true(ch_orphans_is_first_scan(o));
    assert_int_equal(ch_orphans_age(o, "a"), 0);
    ch_orphans_end_scan(o);
    now += 500;
    ch_orphans_begin_scan(o);
    assert_false(ch_orphans_is_first_scan(o));
    assert_int_equal(ch_orphans_age(o, "a"), 500);
    assert_int_equal(ch_orphans_age(o, "b"), 0);
    ch_orphans_end_scan(o);
    /* Scans that do not look at an item, as those between two looks at chats, keep its age. */
    for (int i = 0; i < 6; i++) {
        now += 600;
        ch_orphans_begin_scan(o);
        ch_orphans_end_scan(o);
    }
    assert_int_equal(ch_orphans_age(o, "a"), 4100);
    /* An item that no scan has seen for long is forgotten. */
    for (int i = 0; i < 30; i++) {
        now += 600;
        ch_orphans_begin_scan(o);
        ch_orphans_end_scan(o);
    }
    assert_int_equal(ch_orphans_age(o, "b"), 0);
    ch_orphans_free(o);
    chela_runtime_close(gw.rt);
}

static void test_lease(void **state) {
    (void)state;
    struct chela_store_session s = {.owner = "", .until = 2000};
    assert_false(ch_orphans_lease_is_held(&s, 1000));
    s.owner = "elsewhere/1/x"; /* another machine: not known to be dead */
    assert_true(ch_orphans_lease_is_held(&s, 1000));
    assert_false(ch_orphans_lease_is_held(&s, 2000));
    s.until = 3600000; /* written before the clock was set back by an hour */
    assert_false(ch_orphans_lease_is_held(&s, 1000));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_lease),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
