/* test_buf.c -- growth, the cap, and what an overflow leaves behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"

static void test_zeroed_is_empty(void **state) {
    (void)state;
    CH_BUF_AUTO b = {0};
    assert_string_equal(ch_buf_str(&b), "");
    assert_int_equal(ch_buf_sv(&b).n, 0);
    assert_non_null(ch_buf_sv(&b).p);
    ch_buf_clear(&b);
    ch_buf_consume(&b, 0);
    assert_null(b.p);
}

static void test_appends_stay_terminated(void **state) {
    (void)state;
    CH_BUF_AUTO b = {0};
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(ch_buf_addc(&b, (char)('a' + i % 26)), 0);
        assert_int_equal(b.p[b.n], '\0');
    }
    assert_int_equal(ch_buf_add(&b, NULL, 0), 0);
    assert_int_equal(ch_buf_addf(&b, "%d-%s", 42, "x"), 0);
    assert_int_equal(b.n, 1004);
    assert_string_equal(ch_buf_str(&b) + 1000, "42-x");
    assert_memory_equal(b.p, "abcdefghijklmnopqrstuvwxyzab", 28);
}

static void test_consume_drops_the_front(void **state) {
    (void)state;
    CH_BUF_AUTO b = {0};
    ch_buf_add_str(&b, "hello world");
    ch_buf_consume(&b, 6);
    assert_string_equal(ch_buf_str(&b), "world");
    ch_buf_consume(&b, 5);
    assert_string_equal(ch_buf_str(&b), "");
    assert_int_equal(b.n, 0);
}

static void test_take_hands_over(void **state) {
    (void)state;
    struct ch_buf b;
    ch_buf_init(&b, 100);
    char *empty = ch_buf_take(&b);
    assert_string_equal(empty, "");
    ch_free(empty);
    CH_BUF_LIT(&b, "text");
    char *text = ch_buf_take(&b);
    assert_string_equal(text, "text");
    assert_null(b.p);
    assert_int_equal(b.max, 100);
    ch_free(text);
    ch_buf_release(&b);
}

/* Every way of appending, at every distance from the cap: nothing partial. */
static void test_cap(void **state) {
    (void)state;
    for (size_t max = 1; max < 200; max += 7) {
        CH_BUF_AUTO b;
        ch_buf_init(&b, max);
        for (size_t i = 0; i < max; i++)
            assert_int_equal(ch_buf_addc(&b, 'x'), 0);
        assert_int_equal(b.n, max);
        assert_int_equal(ch_buf_addc(&b, 'y'), CHELA_ELIMIT);
        assert_true(b.overflow);
        assert_int_equal(b.n, max);
        assert_int_equal(ch_buf_add(&b, "", 0), CHELA_ELIMIT);
        ch_buf_clear(&b);
        assert_int_equal(ch_buf_add_str(&b, "z"), 0);
        assert_int_equal(ch_buf_addf(&b, "%*d", (int)max, 1), CHELA_ELIMIT);
        assert_string_equal(ch_buf_str(&b), "z");
        assert_int_equal(ch_buf_addc(&b, 'y'), CHELA_ELIMIT);
    }
}

static void test_huge_requests_do_not_wrap(void **state) {
    (void)state;
    CH_BUF_AUTO b = {0};
    CH_BUF_LIT(&b, "abc");
    assert_null(ch_buf_reserve(&b, SIZE_MAX));
    assert_true(b.overflow);
    ch_buf_clear(&b);
    assert_null(ch_buf_reserve(&b, CH_LIMIT_BUF + 1));
}

static void test_fit_leaves_an_eighth(void **state) {
    (void)state;
    struct ch_buf b = {0};
    ch_buf_fit(&b);
    assert_null(b.p);
    ch_buf_reserve(&b, 20000);
    for (int i = 0; i < 80; i++)
        ch_buf_addc(&b, 'x');
    ch_buf_fit(&b); /* small: no room is left */
    assert_int_equal(b.n, 80);
    assert_int_equal(b.cap, 81);
    assert_int_equal(strlen(ch_buf_str(&b)), 80);
    ch_buf_reserve(&b, 20000);
    while (b.n < 8000)
        ch_buf_addc(&b, 'x');
    ch_buf_fit(&b);
    assert_int_equal(b.cap, 9001);
    const char *before = b.p;
    ch_buf_addc(&b, 'y');
    ch_buf_fit(&b); /* nothing to give back */
    assert_ptr_equal(b.p, before);
    assert_int_equal(b.cap, 9001);
    ch_buf_clear(&b);
    ch_buf_fit(&b);
    assert_string_equal(ch_buf_str(&b), "");
    ch_buf_release(&b);
}

static void test_reserve_and_commit(void **state) {
    (void)state;
    CH_BUF_AUTO b = {0};
    char *to = ch_buf_reserve(&b, 500);
    memset(to, 'q', 500);
    ch_buf_commit(&b, 3);
    assert_string_equal(ch_buf_str(&b), "qqq");
}

static void test_expect_makes_exact_room(void **state) {
    (void)state;
    static const struct {
        size_t n, cap, expect, max, want; /* want: capacity; 0: as before */
    } rows[] = {{0, 0, 10, 0, 11},      {100, 101, 50, 0, 151},       {100, 200, 50, 0, 0},
                {100, 101, 0, 0, 0},    {100, 101, 5000, 0, 0},       {100, 101, SIZE_MAX, 0, 0},
                {5000, 5001, 50, 0, 0}, {100, 101, 50, 140, 0}};
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct ch_buf b = {0};
        ch_buf_init(&b, rows[i].max);
        for (size_t k = 0; k < rows[i].n; k++)
            assert_int_equal(ch_buf_add(&b, "x", 1), 0);
        if (rows[i].cap) {
            b.cap = rows[i].cap;
            b.p = ch_realloc(b.p, b.cap);
        }
        ch_buf_expect(&b, rows[i].expect);
        assert_int_equal(b.cap, rows[i].want ? rows[i].want : rows[i].cap);
        assert_int_equal(b.n, rows[i].n);
        assert_int_equal(strlen(ch_buf_str(&b)), rows[i].n);
        ch_buf_release(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zeroed_is_empty),
        cmocka_unit_test(test_appends_stay_terminated),
        cmocka_unit_test(test_consume_drops_the_front),
        cmocka_unit_test(test_take_hands_over),
        cmocka_unit_test(test_cap),
        cmocka_unit_test(test_huge_requests_do_not_wrap),
        cmocka_unit_test(test_fit_leaves_an_eighth),
        cmocka_unit_test(test_expect_makes_exact_room),
        cmocka_unit_test(test_reserve_and_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
