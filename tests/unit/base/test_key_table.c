/* test_key_table.c -- elements are found by their keys, in the order of addition, while the table
 * grows and elements leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/key_table.h"

struct item {
    char key[8];
    struct ch_keyed by_key;
};

static void test_empty(void **state) {
    struct ch_key_table t = {0};
    struct ch_keyed none = {0};
    (void)state;
    assert_null(ch_key_table_find(&t, CH_SV("a")));
    ch_key_table_del(&t, &none);
    ch_key_table_release(&t);
}

static void test_many(void **state) {
    enum { N = 1000 };
    static struct item items[N];
    struct ch_key_table t = {0};
    (void)state;
    for (size_t i = 0; i < N; i++) {
        snprintf(items[i].key, sizeof(items[i].key), "k%zu", i);
        ch_key_table_add(&t, &items[i].by_key, items[i].key);
    }
    for (size_t i = 0; i < N; i += 2)
        ch_key_table_del(&t, &items[i].by_key);
    assert_int_equal(t.n, N / 2);
    for (size_t i = 0; i < N; i++)
        assert_ptr_equal(ch_key_table_find(&t, ch_sv_str(items[i].key)),
                         i % 2 ? &items[i].by_key : NULL);
    assert_null(ch_key_table_find(&t, CH_SV("k")));
    assert_ptr_equal(ch_key_table_find(&t, ch_sv("k13x", 3)), &items[13].by_key);
    ch_key_table_release(&t);
}

/* A key may be that of several elements; other keys share their slot. */
static void test_same_key(void **state) {
    enum { N = 200 };
    static struct item items[N];
    struct ch_key_table t = {0};
    (void)state;
    for (size_t i = 0; i < N; i++) {
        snprintf(items[i].key, sizeof(items[i].key), "%zu", i % 50);
        ch_key_table_add(&t, &items[i].by_key, items[i].key);
    }
    struct ch_keyed *e = ch_key_table_find(&t, CH_SV("7"));
    for (size_t i = 7; i < N; i += 50, e = ch_key_table_next(e))
        assert_ptr_equal(e, &items[i].by_key);
    assert_null(e);
    ch_key_table_del(&t, &items[7].by_key);
    assert_ptr_equal(ch_key_table_find(&t, CH_SV("7")), &items[57].by_key);
    ch_key_table_del(&t, &items[7].by_key); /* is in no table any more */
    assert_int_equal(t.n, N - 1);
    ch_key_table_release(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_same_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
