/* test_cluster.c -- prefixes that split no character of several code points. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cluster.h"
#include "base/mem.h"

#define FAMILY "\U0001f468\u200d\U0001f469\u200d\U0001f467"
#define FLAGS "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7"

static void test_cut(void **state) {
    static const struct {
        const char *text;
        size_t n, want;
    } rows[] = {
        {"", 0, 0},
        {"abc", 0, 1},
        {"abc", 2, 2},
        {"abc", 9, 3},
        {"\u4e00\u4e8c", 4, 3},
        {"\u4e00\u4e8c", 2, 3},
        {"\u0928x", 1, 3},
        {"abe\u0301", 3, 2},
        {"abcde\u0301z", 5, 4},
        {"abcde\u0301z", 7, 7},
        {"abcdefghijklmnopqrstuvwx" FAMILY "!", 28, 24},
        {"abcdefghijklmnopqrstuvwx" FAMILY "!", 31, 24},
        {"abcdefghijklmnopqrstuvwx" FAMILY "!", 35, 24},
        {"abcdefghijklmnopqrstuvwx" FAMILY "!", 42, 42},
        {"abcdefgh\U0001f44d\U0001f3fd", 12, 8},
        {"abcdefgh" FLAGS, 12, 8},
        {"abcdefgh" FLAGS, 16, 16},
        {"abcdefgh" FLAGS, 20, 16},
        {"\u0915\u094d\u0937\u093f", 6, 6},
        {"abcdefghij\u1112\u1161\u11ab", 16, 10},
        {"a\u2764\ufe0f", 4, 4},
        {"abcd\u2764\ufe0f", 7, 4},
        {FAMILY, 7, 7},
        {"e\u0301\u0302\u0303\u0304", 5, 5},
        {"abcd\xff\xcc\x81", 5, 4},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct ch_sv s = ch_sv_str(rows[i].text), got = ch_cluster_cut(s, rows[i].n);
        if (got.n != rows[i].want || got.p != s.p)
            fail_msg("row %zu: %zu, not %zu", i, got.n, rows[i].want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cut)};
    return cmocka_run_group_tests_name("cluster", tests, NULL, NULL);
}
