/* test_seen.c -- ids of events that a session has had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

#include "agent/journal/seen.h"

static void add(struct ch_seen *s, unsigned i) {
    char id[16];
    snprintf(id, sizeof(id), "ev_%u", i);
    ch_seen_add(s, ch_sv_str(id));
}

static bool has(const struct ch_seen *s, unsigned i) {
    char id[16];
    snprintf(id, sizeof(id), "ev_%u", i);
    return ch_seen_has(s, ch_sv_str(id));
}

static void test_newest(void **state) {
    (void)state;
    struct ch_seen s = {0};
    assert_false(has(&s, 0));
    assert_false(ch_seen_has(&s, CH_SV("")));
    for (unsigned i = 0; i < CH_LIMIT_SEEN; i++)
        add(&s, i);
    for (unsigned i = 0; i < CH_LIMIT_SEEN; i++)
        assert_true(has(&s, i));
    add(&s, CH_LIMIT_SEEN); /* takes the place of the oldest */
    assert_false(has(&s, 0));
    assert_true(has(&s, 1));
    assert_true(has(&s, CH_LIMIT_SEEN));
    assert_false(ch_seen_has(&s, CH_SV("ev_"))); /* a prefix is another id */
    ch_seen_release(&s);
    assert_false(has(&s, 1));
    add(&s, 1);
    assert_true(has(&s, 1));
    ch_seen_release(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_newest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
