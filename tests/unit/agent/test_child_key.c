/* test_child_key.c -- keys of child sessions, and the session at their top. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/machine/child_key.h"
#include "base/limits.h"
#include "base/mem.h"
#include "chela/store.h"

static void test_keys(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    const char *one = ch_child_key("main", "researcher", "k1", &a);
    assert_string_equal(one, ch_child_key("main", "researcher", "k1", &a));
    assert_string_not_equal(one, ch_child_key("main", "researcher", "k2", &a));
    assert_string_not_equal(one, ch_child_key("main", "writer", "k1", &a));
    assert_int_equal(strncmp(one, "main~researcher-", 16), 0);
    assert_int_equal(strlen(one), 16 + 12);
}

static void test_root(void **state) {
    (void)state;
    static const struct {
        const char *key;
        size_t root;
    } cases[] = {
        {"", 0},
        {"main", 4},
        {"main~om_9", 9}, /* a new conversation of a chat, not a child */
        {"main~t-0123456789ab", 4},
        {"main~t-0123456789ab~u-ba9876543210", 4},
        {"feishu:oc_1~om_9~t-0123456789ab", 16},
        {"main~t-0123456789aB", 19}, /* upper case is no digest */
        {"main~t-0123456789a", 18},  /* too short */
        {"main~-0123456789ab", 18},  /* no tool */
        {"main~t-0123456789ab~x", 21},
        {"~", 1},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (chela_session_root(cases[i].key) != cases[i].root)
            fail_msg("%s: %zu", cases[i].key, chela_session_root(cases[i].key));
    CH_ARENA_AUTO a = {0};
    const char *child = ch_child_key("a~b", "t", "k", &a);
    assert_int_equal(chela_session_root(ch_child_key(child, "u", "k", &a)), 3);
}

static void test_which_texts_are_keys(void **state) {
    (void)state;
    char longest[CH_LIMIT_SESSION_KEY + 2];
    memset(longest, 'k', sizeof(longest));
    struct ch_sv good[] = {CH_SV("a"), CH_SV("feishu:oc_1~om_9"), CH_SV("a b/c"), CH_SV("行程"),
                           ch_sv(longest, CH_LIMIT_SESSION_KEY)};
    struct ch_sv bad[] = {CH_SV(""), CH_SV("a\nb"), CH_SV("a\x7f"), CH_SV("\x1b[31m"),
                          CH_SV("\xff"), ch_sv(longest, CH_LIMIT_SESSION_KEY + 1)};
    for (size_t i = 0; i < CH_LEN(good); i++)
        assert_int_equal(ch_session_key_check(good[i], NULL), 0);
    for (size_t i = 0; i < CH_LEN(bad); i++)
        assert_int_equal(ch_session_key_check(bad[i], NULL), CHELA_EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_root),
        cmocka_unit_test(test_which_texts_are_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
