/* test_utf8.c -- the exact set of valid sequences, runs, replacement, cuts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/utf8.h"

/* Every code point survives put and next; surrogates do not. */
static void test_all_code_points(void **state) {
    (void)state;
    for (uint32_t cp = 0; cp <= 0x110000; cp++) {
        char b[4];
        uint32_t back = 0;
        unsigned n = ch_utf8_put(b, cp);
        bool valid = cp <= 0x10ffff && !(cp >= 0xd800 && cp <= 0xdfff);
        if ((ch_utf8_next(ch_sv(b, n), &back) == n) != valid || (valid && back != cp) ||
            ch_utf8_valid(ch_sv(b, n)) != valid)
            fail_msg("U+%04X", (unsigned)cp);
        for (unsigned cut = 1; cut < n; cut++)
            assert_int_equal(ch_utf8_next(ch_sv(b, cut), NULL), 0);
    }
}

static void test_invalid(void **state) {
    (void)state;
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc2",
        "\xc2\x41",
        "\xe0\x9f\xbf",
        "\xe0\x80\x80",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xe4\xbd",
        "\xe4\x41\x41",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xf0\x9f\x98",
        "\xff",
        "\xfe",
        "\xf8\x88\x80\x80\x80",
    };
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        struct ch_sv s = ch_sv_str(bad[i]);
        assert_int_equal(ch_utf8_next(s, NULL), 0);
        /* at every distance from a word's border */
        for (size_t before = 0; before < 20; before++) {
            char text[64];
            memset(text, 'a', sizeof(text));
            memcpy(text + before, s.p, s.n);
            const char *end = text + before + s.n + 12;
            assert_ptr_equal(ch_utf8_run(text, end), text + before);
            assert_false(ch_utf8_valid(ch_sv(text, (size_t)(end - text))));
        }
    }
}

static void test_runs(void **state) {
    (void)state;
    const char *text = "abcdefghij\xe4\xbd\xa0\xe5\xa5\xbd \xc3\xa9\xf0\x9f\x98\x80z";
    const char *end = text + strlen(text);
    assert_ptr_equal(ch_utf8_run(text, end), end);
    assert_ptr_equal(ch_utf8_run(text, end - 3), end - 5); /* inside of the emoji */
    assert_true(ch_utf8_valid(ch_sv(NULL, 0)));
}

/* Texts of random pieces, valid ones and broken ones: ch_utf8_run stops where ch_utf8_next fails.
 * Each text ends where its memory ends, for the address sanitizer. */
static void test_runs_agree(void **state) {
    (void)state;
    static const char *const pieces[] = {
        "a",
        "twenty bytes of text",
        "\xc2\x80",
        "\xd0\xbc\xd0\xb8\xd1\x80",
        "\xe0\xa0\x80",
        "\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xbd\xa0",
        "\xed\x9f\xbf",
        "\xef\xbf\xbf",
        "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf",
        "\xf1\x80\xbf\x80",
        "\x80",
        "\xc1\xbf",
        "\xc3",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xf3\x80\x80",
    };
    uint32_t random = 3;
    size_t valid = 0;
    for (int i = 0; i < 20000; i++) {
        CH_BUF_AUTO text = {0};
        random = random * 1664525 + 1013904223;
        size_t used = random >> 31 ? CH_LEN(pieces) : CH_LEN(pieces) - 9;
        for (unsigned n = 1 + (random >> 16) % 12; n; n--) {
            random = random * 1664525 + 1013904223;
            ch_buf_add_str(&text, pieces[(random >> 16) % used]);
        }
        char *copy = ch_alloc(text.n), *end = copy + text.n;
        const char *at = memcpy(copy, text.p, text.n);
        for (unsigned n; at < end && (n = ch_utf8_next(ch_sv(at, (size_t)(end - at)), NULL)) > 0;)
            at += n;
        assert_ptr_equal(ch_utf8_run(copy, end), at);
        valid += at == end;
        ch_free(copy);
    }
    assert_in_range(valid, 8000, 15000);
}

static void test_replacement(void **state) {
    (void)state;
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"", ""},
        {"plain text", "plain text"},
        {"a\xff"
         "b",
         "a\xef\xbf\xbd"
         "b"},
        {"\xe4\xbd", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc3\xa9\x80", "\xc3\xa9\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO out = {0};
        assert_int_equal(ch_utf8_add_valid(&out, ch_sv_str(cases[i].in)), 0);
        assert_string_equal(ch_buf_str(&out), cases[i].want);
    }
    CH_BUF_AUTO small = {.max = 3};
    assert_int_equal(ch_utf8_add_valid(&small, CH_SV("ab\xff")), CHELA_ELIMIT);
}

static void test_cut(void **state) {
    (void)state;
    struct ch_sv s = CH_SV("a\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x98\x80");
    static const size_t want[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (size_t max = 0; max < CH_LEN(want); max++)
        assert_int_equal(ch_utf8_cut(s, max).n, want[max]);
    assert_int_equal(ch_utf8_cut(CH_SV("\x80\x80\x80\x80\x80\x80"), 5).n, 5);
    assert_int_equal(ch_utf8_cut(ch_sv(NULL, 0), 5).n, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_code_points),
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_runs_agree),
        cmocka_unit_test(test_replacement),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
