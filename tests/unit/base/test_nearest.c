/* test_nearest.c -- which known word a misspelt one is taken for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/nearest.h"

static const char *const known[] = {"model",      "mode", "tools",    "workspaceDir",
                                    "timeoutSec", "id",   "maxTurns", "systemPrompt"};

static const struct {
    const char *word, *want; /* want "": no suggestion */
} cases[] = {
    {"modle", "model"},
    {"mdoel", "model"},
    {"moodel", "model"},
    {"modl", "model"},
    {"Mode", "mode"},
    {"workspace", "workspaceDir"},
    {"workspace_dir", "workspaceDir"},
    {"timeout", "timeoutSec"},
    {"max_turns", "maxTurns"},
    {"systemprompt", "systemPrompt"},
    {"ids", "id"},
    {"xyz", ""},
    {"colour", ""},
    {"", ""},
    {"cat", ""},
};

static void test_table(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_nearest near = ch_nearest(ch_sv_str(cases[i].word));
        for (size_t k = 0; k < CH_LEN(known); k++)
            ch_nearest_try(&near, ch_sv_str(known[k]));
        if (!ch_sv_is(near.best, cases[i].want))
            fail_msg("%s: got '%.*s', want '%s'", cases[i].word, CH_SV_FMT(near.best),
                     cases[i].want);
    }
}

static void test_long_words_are_left_alone(void **state) {
    (void)state;
    char word[100];
    memset(word, 'a', sizeof(word));
    struct ch_nearest near = ch_nearest(ch_sv(word, 65));
    ch_nearest_try(&near, ch_sv(word, 64));
    assert_int_equal(near.best.n, 0);
    near = ch_nearest(ch_sv(word, 64));
    ch_nearest_try(&near, ch_sv(word, 65));
    assert_int_equal(near.best.n, 0);
    ch_nearest_try(&near, ch_sv(word, 64));
    assert_int_equal(near.best.n, 64);
    assert_int_equal(near.distance, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_long_words_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
