/* test_cooldown.c -- who rests, why and for how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "model/provider/cooldown.h"
#include "base/limits.h"

static const struct ch_cooldown_subject one = {"https://a", "key-1", "m"};
static const struct ch_cooldown_subject same_key = {"https://a", "key-1", "n"};
static const struct ch_cooldown_subject other_key = {"https://a", "key-2", "m"};

static int64_t left(const struct ch_cooldowns *c, struct ch_cooldown_subject s, int64_t now) {
    return ch_cooldown_of(c, s, now).ms;
}

static void test_what_rests(void **state) {
    (void)state;
    static const struct {
        enum ch_error_class cls;
        bool model, key; /* rest: the model; all that the key opens */
    } cases[] = {
        {CH_ERR_AUTH, true, true},         {CH_ERR_BILLING, true, true},
        {CH_ERR_RATE_LIMIT, true, false},  {CH_ERR_OVERLOADED, true, false},
        {CH_ERR_SERVER, true, false},      {CH_ERR_MODEL_NOT_FOUND, true, false},
        {CH_ERR_FORMAT, false, false},     {CH_ERR_REFUSED, false, false},
        {CH_ERR_OVERFLOW, false, false},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_cooldowns c = {0};
        ch_cooldown_gave_up(&c, one, cases[i].cls, 1000);
        assert_int_equal(left(&c, one, 1000) > 0, cases[i].model);
        assert_int_equal(left(&c, same_key, 1000) > 0, cases[i].key);
        assert_int_equal(left(&c, other_key, 1000), 0);
        assert_int_equal(ch_cooldown_of(&c, one, 1000).asked_ms, 0);
        ch_cooldowns_release(&c);
        assert_int_equal(c.n, 0);
    }
}

static void test_servers_are_obeyed(void **state) {
    (void)state;
    struct ch_cooldowns c = {0};
    ch_cooldown_failed(&c, one, CH_ERR_RATE_LIMIT, 0, 0);
    assert_int_equal(c.n, 0); /* it asked for nothing */
    ch_cooldown_failed(&c, one, CH_ERR_RATE_LIMIT, 7000, 0);
    struct ch_cooling cooling = ch_cooldown_of(&c, one, 2000);
    assert_int_equal(cooling.ms, 5000);
    assert_int_equal(cooling.asked_ms, 5000);
    assert_int_equal(cooling.cls, CH_ERR_RATE_LIMIT);
    assert_int_equal(left(&c, one, 7000), 0);
    ch_cooldown_clear(&c, one);
    assert_int_equal(left(&c, one, 2000), 0);
    ch_cooldowns_release(&c);
}

static void test_rests_grow(void **state) {
    (void)state;
    static const int64_t want[] = {15000, 30000, 60000, 120000, 240000, 300000, 300000};
    struct ch_cooldowns c = {0};
    int64_t now = 0;
    for (size_t i = 0; i < CH_LEN(want); i++) {
        ch_cooldown_gave_up(&c, one, CH_ERR_OVERLOADED, now);
        assert_int_equal(left(&c, one, now), want[i]);
        now += want[i];
    }
    ch_cooldown_clear(&c, one);
    ch_cooldown_gave_up(&c, one, CH_ERR_OVERLOADED, now);
    assert_int_equal(left(&c, one, now), want[0]);
    ch_cooldowns_release(&c);
}

static void test_memory_is_bounded(void **state) {
    (void)state;
    struct ch_cooldowns c = {0};
    char model[16];
    for (int i = 0; i < 3 * CH_LIMIT_COOLDOWNS; i++) {
        snprintf(model, sizeof(model), "m%d", i);
        ch_cooldown_gave_up(&c, (struct ch_cooldown_subject){"https://a", "key-1", model},
                            CH_ERR_SERVER, i);
    }
    assert_true(c.n <= CH_LIMIT_COOLDOWNS);
    ch_cooldown_gave_up(&c, one, CH_ERR_SERVER, 1000000);
    assert_true(left(&c, one, 1000000) > 0);
    ch_cooldowns_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_rests),
        cmocka_unit_test(test_servers_are_obeyed),
        cmocka_unit_test(test_rests_grow),
        cmocka_unit_test(test_memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
