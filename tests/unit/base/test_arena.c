/* test_arena.c -- alignment, growth, reuse, and room filled from both sides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/arena.h"

static void test_blocks_do_not_overlap(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    unsigned char *p[600];
    for (size_t i = 0; i < CH_LEN(p); i++) {
        size_t n = i * 7 % 300;
        p[i] = i % 3 ? ch_arena_alloc(&a, n) : (unsigned char *)ch_arena_bytes(&a, n);
        if (i % 3)
            assert_int_equal((uintptr_t)p[i] % alignof(max_align_t), 0);
        memset(p[i], (int)(i & 0xff), n);
    }
    for (size_t i = 0; i < CH_LEN(p); i++)
        for (size_t k = 0; k < i * 7 % 300; k++)
            assert_int_equal(p[i][k], i & 0xff);
}

static void test_copies(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    assert_string_equal(ch_arena_str(&a, CH_SV("abc")), "abc");
    assert_string_equal(ch_arena_str(&a, ch_sv(NULL, 0)), "");
    assert_string_equal(ch_arena_text(&a, CH_SV("a\0b\0")), "a\xEF\xBF\xBD" "b\xEF\xBF\xBD");
    assert_string_equal(ch_arena_text(&a, ch_sv(NULL, 0)), "");
    struct ch_sv s = ch_arena_sv(&a, CH_SV("a\0b"));
    assert_int_equal(s.n, 3);
    assert_memory_equal(s.p, "a\0b", 4);
    assert_string_equal(ch_arena_printf(&a, "%s-%05d", "x", 42), "x-00042");
    char *big = ch_arena_printf(&a, "%*d", 100000, 7);
    assert_int_equal(strlen(big), 100000);
}

static void test_zalloc_is_zero_after_reuse(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    memset(ch_arena_alloc(&a, 500), 0xff, 500);
    ch_arena_clear(&a);
    const unsigned char *p = ch_arena_zalloc(&a, 500);
    for (size_t i = 0; i < 500; i++)
        assert_int_equal(p[i], 0);
}

static void test_clear_reuses_the_block(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    ch_arena_clear(&a); /* empty: nothing to do */
    ch_arena_alloc(&a, 300);
    size_t total = a.total;
    for (int i = 0; i < 100; i++) {
        ch_arena_clear(&a);
        ch_arena_alloc(&a, 300);
    }
    assert_int_equal(a.total, total);
}

static void test_clear_gives_back_giants(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    ch_arena_alloc(&a, 10);
    ch_arena_alloc(&a, 10 << 20);
    assert_true(a.total > 10 << 20);
    ch_arena_clear(&a);
    assert_int_equal(a.total, 0);
    assert_non_null(ch_arena_alloc(&a, 10));
}

static void test_small_arenas_stay_small(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    ch_arena_alloc(&a, 1);
    assert_true(a.total <= 1024);
}

/* reserve, fill from the front, commit; then the next allocation follows. */
static void test_reserve(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    char *first = ch_arena_reserve(&a, 64);
    assert_ptr_equal(ch_arena_reserve(&a, 64), first); /* not taken yet */
    assert_true(a.end - first >= 64);
    memset(first, 'a', 10);
    a.at = first + 10;
    a.end -= 5;
    memset(a.end, 'z', 5);
    const char *tail = a.end;
    char *next = ch_arena_alloc(&a, 16);
    memset(next, 'b', 16);
    assert_true(next >= first + 10 && next + 16 <= tail);
    char *other = ch_arena_reserve(&a, 1 << 16);
    assert_int_equal((uintptr_t)other % alignof(max_align_t), 0);
    memset(other, 'c', 1 << 16);
    assert_memory_equal(first, "aaaaaaaaaa", 10);
    assert_memory_equal(tail, "zzzzz", 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_do_not_overlap),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_zalloc_is_zero_after_reuse),
        cmocka_unit_test(test_clear_reuses_the_block),
        cmocka_unit_test(test_clear_gives_back_giants),
        cmocka_unit_test(test_small_arenas_stay_small),
        cmocka_unit_test(test_reserve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
