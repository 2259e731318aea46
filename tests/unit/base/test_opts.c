/* test_opts.c -- option structs of older and newer programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/opts.h"

/* The library's struct: version 1 ended with b, c was added. */
struct chela_growing {
    size_t size;
    int a;
    const char *b;
    double c;
};
#define CH_FIRST_chela_growing CH_END_OF(chela_growing, b)

/* A program of a later version. */
struct later {
    struct chela_growing is;
    int64_t d;
};

static void test_sizes(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t size;
        int rc;
    } cases[] = {
        {"not set", 0, CHELA_EINVAL},
        {"one byte short of the first", CH_FIRST_chela_growing - 1, CHELA_EINVAL},
        {"the first", CH_FIRST_chela_growing, 0},
        {"ours", sizeof(struct chela_growing), 0},
        {"a later one", sizeof(struct later), 0},
        {"never initialised", (size_t)-1, CHELA_EINVAL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct later given = {.is = {.size = cases[i].size, .a = 7, .b = "b", .c = 0.5}};
        struct chela_growing own;
        struct chela_error err = {0};
        memset(&own, 0x5a, sizeof(own));
        assert_int_equal(CH_OPTS_READ(chela_growing, &own, &given.is, &err), cases[i].rc);
        assert_int_equal(err.code, cases[i].rc);
        assert_int_equal(own.a, cases[i].rc ? 0 : 7);
        assert_true(own.c == (cases[i].size >= sizeof(own) && !cases[i].rc ? 0.5 : 0.0));
        if (cases[i].rc == 0)
            assert_int_equal(own.size, sizeof(own));
        else
            assert_non_null(strstr(err.message, "struct chela_growing"));
    }
}

static void test_message_names_the_macro(void **state) {
    (void)state;
    struct chela_growing given = {0}, own;
    struct chela_error err = {0};
    assert_int_equal(CH_OPTS_READ(chela_growing, &own, &given, &err), CHELA_EINVAL);
    assert_non_null(strstr(err.message, "its size is 0"));
    assert_non_null(strstr(err.message, "CHELA_GROWING(...)"));
}

/* An option that this library does not know must not be lost without a word. */
static void test_options_of_a_later_version(void **state) {
    (void)state;
    struct later given = {.is = {.size = sizeof(given), .a = 7}};
    struct chela_growing own;
    struct chela_error err = {0};
    assert_int_equal(CH_OPTS_READ(chela_growing, &own, &given.is, &err), 0);
    given.d = 1;
    assert_int_equal(CH_OPTS_READ(chela_growing, &own, &given.is, &err), CHELA_EINVAL);
    assert_non_null(strstr(err.message, "this version of the library"));
}

static void test_null(void **state) {
    (void)state;
    struct chela_growing own = {.a = 1};
    struct chela_error err = {0};
    assert_int_equal(CH_OPTS_READ(chela_growing, &own, NULL, &err), 0);
    assert_int_equal(own.a, 0);
    assert_int_equal(own.size, sizeof(own));
    assert_int_equal(CH_OPTS_NEED(chela_growing, &own, NULL, &err), CHELA_EINVAL);
    assert_non_null(strstr(err.message, "NULL"));
}

static void test_write(void **state) {
    (void)state;
    struct chela_growing from = {.size = sizeof(from), .a = 1, .b = "b", .c = 2};
    struct chela_growing to = {.size = CH_FIRST_chela_growing, .c = 9};
    assert_int_equal(CH_OPTS_WRITE(chela_growing, &to, &from, NULL), 0);
    assert_int_equal(to.size, CH_FIRST_chela_growing);
    assert_int_equal(to.a, 1);
    assert_true(to.c == 9.0); /* not the program's member */
    to = (struct chela_growing){.a = 5};
    assert_int_equal(CH_OPTS_WRITE(chela_growing, &to, &from, NULL), CHELA_EINVAL);
    assert_int_equal(to.a, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_message_names_the_macro),
        cmocka_unit_test(test_options_of_a_later_version),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
