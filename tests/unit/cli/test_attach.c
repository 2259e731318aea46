/* test_attach.c -- a stored message as the person typed it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/chat/chat_attach.h"

static const struct {
    const char *text, *want;
} cases[] = {
    {"", ""},
    {"plain <file path=\"a\">", "plain <file path=\"a\">"},
    {"see\n\n<file path=\"a.c\">\nint a;\n</file>", "see\n[file a.c]"},
    {"see\n\n<file path=\"a.c\">\n</file>\n\n<directory path=\"src\">\nb/\n</directory> and",
     "see\n[file a.c]\n[directory src] and"},
    {"x\n\n<command exit=\"1\">\n$ make\nerror\n</command>", "x\n[$ make]"},
    /* no end, no name, or a name that is not in the tag */
    {"x\n\n<file path=\"a.c\">\nint a;", "x\n\n<file path=\"a.c\">\nint a;"},
    {"x\n\n<file path>\n</file>", "x\n\n<file path>\n</file>"},
    {"x\n\n<file path>\n\"b\"\n</file>", "x\n\n<file path>\n\"b\"\n</file>"},
    {"x\n\n<file path=\"a\">\n\n\n<command exit=\"0\">\n$ ls\n</command>",
     "x\n\n<file path=\"a\">\n\n[$ ls]"},
};

static void test_fold(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *got = ch_chat_attach_fold(cases[i].text);
        assert_string_equal(got, cases[i].want);
        free(got);
    }
}

/* The time must not grow with the square of the length. */
static void fold_many(const char *piece, const char *end) {
    enum { PIECES = 1 << 19 };
    size_t len = strlen(piece), n = len * PIECES;
    char *text = malloc(n + strlen(end) + 1);
    assert_non_null(text);
    for (size_t i = 0; i < PIECES; i++)
        memcpy(text + i * len, piece, len);
    memcpy(text + n, end, strlen(end) + 1);
    char *got = ch_chat_attach_fold(text);
    assert_string_equal(got, text);
    free(got);
    free(text);
}

static void test_many_tags(void **state) {
    (void)state;
    fold_many("\n\n<file a=\"b\">", "");
    fold_many("\n\n<directory a>", "\n</directory>");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_many_tags),
    };
    return cmocka_run_group_tests_name("cli/attach", tests, NULL, NULL);
}
