/* test_choice.c -- names of the values of closed sets, both ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/choice.h"

#define SET(set, value, type, noun, values) CHELA_CHOICE_##set,
static const enum chela_choice sets[] = {CHELA_CHOICES(SET)};
#define SETS (sizeof(sets) / sizeof(sets[0]))

/* Every value has a name of its own, and the name leads back to it. */
static void test_round_trip(void **state) {
    (void)state;
    for (size_t i = 0; i < SETS; i++) {
        int n = 0;
        for (; strcmp(chela_choice_name(sets[i], n), "?") != 0; n++) {
            struct chela_error err = {0};
            int back = -1;
            assert_int_equal(chela_choice_read(sets[i], chela_choice_name(sets[i], n), &back, &err),
                             0);
            assert_int_equal(back, n);
            assert_int_equal(ch_choice_check(sets[i], n, &err), 0);
            assert_int_equal(ch_choice_of(sets[i], chela_choice_name(sets[i], n)), n);
        }
        assert_true(n >= 2);
        struct chela_error err = {0};
        assert_int_equal(ch_choice_check(sets[i], n, &err), CHELA_EINVAL);
        assert_int_equal(ch_choice_check(sets[i], -1, &err), CHELA_EINVAL);
    }
}

static void test_typed(void **state) {
    (void)state;
    enum chela_mode mode = CHELA_MODE_DEFAULT;
    struct chela_error err = {0};
    assert_int_equal(chela_mode_read("plan", &mode, &err), 0);
    assert_int_equal(mode, CHELA_MODE_PLAN);
    assert_string_equal(chela_mode_name(mode), "plan");
    assert_string_equal(chela_decision_name(CHELA_ALLOW_ONCE), "allow-once");
    assert_string_equal(chela_reason_name(CHELA_REASON_COMPLETED), "task_completed");
    assert_string_equal(chela_mode_name((enum chela_mode)99), "?");
}

static void test_unknown(void **state) {
    (void)state;
    enum chela_mode mode = CHELA_MODE_ROUTE;
    struct chela_error err = {0};
    assert_int_equal(chela_mode_read("dream", &mode, &err), CHELA_EINVAL);
    assert_string_equal(err.message,
                        "unknown mode 'dream' (known: react, plan, route, heartbeat)");
    assert_int_equal(mode, CHELA_MODE_ROUTE);
    assert_int_equal(chela_mode_read(NULL, &mode, NULL), CHELA_EINVAL);
    int value = 7;
    assert_int_equal(chela_choice_read((enum chela_choice)999, "plan", &value, &err), CHELA_EINVAL);
    assert_string_equal(chela_choice_name((enum chela_choice)999, 0), "?");
    assert_int_equal(value, 7);
    assert_int_equal(ch_choice_of(CHELA_CHOICE_MODE, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_typed),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
