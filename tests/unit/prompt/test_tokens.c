/* test_tokens.c -- guesses beside what o200k_base counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "prompt/tokens.h"

static const struct {
    const char *text;
    size_t counted;
} texts[] = {
    {"Hello, world!", 4},
    {"The quick brown fox jumps over the lazy dog. It's what they'd call a pangram.", 18},
    {"for (size_t i = 0; i < n; i++)\n    total += list[i].value;\n", 23},
    {"{\"path\":\"src/main.c\",\"offset\":120,\"limit\":40}", 15},
    {"请帮我写一个脚本，遍历当前目录下的所有文件，并按大小排序。", 21},
    {"调用 read 工具时，path 必须是相对路径。", 14},
    {"----------------------------------------------------------------\n", 2},
    {"1234567890", 4},
    {"internationalization of getHTTPResponseHeaders and snake_case_names", 11},
    {"\n\n\n        return;\n", 4},
};

/* A short text may be a few tokens off; a fifth is too much for any. */
static void test_guesses(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(texts); i++) {
        size_t n = ch_tokens(ch_sv_str(texts[i].text)), want = texts[i].counted;
        size_t off = n > want ? n - want : want - n;
        if (off > 1 + want / 5)
            fail_msg("%s: guessed %zu, counted %zu", texts[i].text, n, want);
    }
}

static void test_edges(void **state) {
    (void)state;
    assert_int_equal(ch_tokens(CH_SV("")), 0);
    assert_int_equal(ch_tokens(CH_SV(" ")), 1);
    assert_int_equal(ch_tokens(CH_SV("a")), 1);
    assert_int_equal(ch_tokens(CH_SV("   \n")), 1);
    assert_in_range(ch_tokens(CH_SV("\xff\xfe\x80\x00x")), 1, 8);
    assert_in_range(ch_tokens(CH_SV("\xe4\xbd")), 1, 3); /* cut in the middle */
}

/* Each byte is looked at a bounded number of times, whatever it is. */
static void test_long_runs(void **state) {
    static const char *const seeds[] = {"a", " ", "\n", "=", "A",
                                        "7", "\xe4\xbd\xa0", "\xff", "'s"};
    (void)state;
    for (size_t i = 0; i < CH_LEN(seeds); i++) {
        size_t len = strlen(seeds[i]), n = 200000;
        char *text = malloc(n * len);
        for (size_t k = 0; k < n; k++)
            memcpy(text + k * len, seeds[i], len);
        assert_in_range(ch_tokens(ch_sv(text, n * len)), 1, 2 * n);
        free(text);
    }
}

static void test_gauge(void **state) {
    struct ch_gauge g = {0};
    (void)state;
    assert_int_equal(ch_gauge_expect(&g, 1000), 1000);
    ch_gauge_learn(&g, 1000, 1200);
    assert_int_equal(ch_gauge_expect(&g, 1000), 1200);
    assert_int_equal(ch_gauge_expect(&g, 1100), 1320);
    assert_int_equal(ch_gauge_expect(&g, 0), 0);
    ch_gauge_learn(&g, 0, 77); /* nothing to learn from */
    ch_gauge_learn(&g, 77, 0);
    assert_int_equal(ch_gauge_expect(&g, 1000), 1200);
    ch_gauge_learn(&g, 10, 1000); /* mostly the vendor's own words */
    assert_int_equal(ch_gauge_expect(&g, 20), 1020);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guesses),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_long_runs),
        cmocka_unit_test(test_gauge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
