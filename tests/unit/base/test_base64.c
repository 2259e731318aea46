/* test_base64.c -- the vectors of RFC 4648. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/mem.h"

static void test_vectors(void **state) {
    static const struct {
        const char *plain, *want;
    } cases[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO got = {0};
        ch_buf_add_str(&got, "x");
        assert_int_equal(ch_base64_add(&got, ch_sv_str(cases[i].plain)), 0);
        assert_string_equal(got.p + 1, cases[i].want);
    }
}

static void test_high_bytes(void **state) {
    CH_BUF_AUTO got = {0};

    (void)state;
    ch_base64_add(&got, ch_sv("\xff\xff\xff\xfb\xf0\0", 6));
    assert_string_equal(got.p, "////+/AA");
}

static void test_reading(void **state) {
    static const struct {
        const char *text, *want; /* NULL: it is refused */
    } cases[] = {
        {"", ""},           {"Zg==", "f"},        {"Zm9vYmFy", "foobar"}, {"Zm9v\nYmE=", "fooba"},
        {"Zm9vYg", "foob"}, {"-_-_", "\xfb\xff\xbf"}, {"Zm9*", NULL},         {"Zg==x", NULL},
        {"Zg= =\n", "f"},   {"Zm9vY", NULL},      {"Z", NULL},              {"Zg==Zg==", NULL},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO got = {0};
        assert_int_equal(ch_base64_read(ch_sv_str(cases[i].text), &got), cases[i].want != NULL);
        if (!cases[i].want)
            continue;
        assert_string_equal(ch_buf_str(&got), cases[i].want);
        assert_int_equal(ch_base64_size(ch_sv_str(cases[i].text)), got.n);
    }
}

static void test_cap(void **state) {
    struct ch_buf small;

    (void)state;
    ch_buf_init(&small, 7);
    assert_int_equal(ch_base64_add(&small, CH_SV("foobar")), CHELA_ELIMIT);
    assert_int_equal(small.n, 0);
    ch_buf_release(&small);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_high_bytes),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
