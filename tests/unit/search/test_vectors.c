/* test_vectors.c -- vectors kept by their texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "search/vectors.h"

static struct ch_sv name(int i) {
    static char text[32];
    snprintf(text, sizeof(text), "tool %d", i);
    return ch_sv_str(text);
}

static void test_many(void **state) {
    (void)state;
    struct ch_vectors vs = {0};
    assert_null(ch_vectors_find(&vs, name(1)));
    for (int i = 0; i < 1000; i++)
        ch_vectors_add(&vs, name(i), (const float[]){(float)i, 1}, 2);
    ch_vectors_add(&vs, name(7), (const float[]){0, 0}, 2); /* it is there already */
    assert_int_equal(vs.n, 1000);
    for (int i = 0; i < 1000; i++)
        assert_true(ch_vectors_find(&vs, name(i))[0] == (float)i);
    assert_null(ch_vectors_find(&vs, name(1000)));
    ch_vectors_add(&vs, name(1), (const float[]){1, 2, 3}, 3); /* another model */
    assert_int_equal(vs.n, 1);
    assert_null(ch_vectors_find(&vs, name(2)));
    ch_vectors_release(&vs);
    ch_vectors_release(&vs);
}

static void test_question(void **state) {
    (void)state;
    struct ch_vectors vs = {0};
    assert_null(ch_vectors_question(&vs, CH_SV("a")));
    ch_vectors_ask(&vs, CH_SV("a"), (const float[]){1}, 1);
    ch_vectors_ask(&vs, CH_SV("b"), (const float[]){2}, 1);
    assert_null(ch_vectors_question(&vs, CH_SV("a")));
    assert_true(ch_vectors_question(&vs, CH_SV("b"))[0] == 2);
    assert_null(ch_vectors_find(&vs, CH_SV("b")));
    ch_vectors_release(&vs);
}

static void test_bound(void **state) {
    (void)state;
    struct ch_vectors vs = {0};
    for (int i = 0; i < CH_LIMIT_VECTORS + 10; i++)
        ch_vectors_add(&vs, name(i), (const float[]){1}, 1);
    assert_true(ch_vectors_full(&vs));
    assert_int_equal(vs.n, CH_LIMIT_VECTORS);
    ch_vectors_release(&vs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_question),
        cmocka_unit_test(test_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
