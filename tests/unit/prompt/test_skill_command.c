/* test_skill_command.c -- the words of a command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "prompt/skill_command.h"

static const struct {
    const char *body, *words, *want;
} rows[] = {
    {"Fix it.", "", "Fix it."},
    {"Fix it.", "now please", "Fix it.\n\nnow please"},
    {"Fix $ARGUMENTS.", "  issue 7 ", "Fix issue 7."},
    {"Fix $ARGUMENTS.", "", "Fix ."},
    {"$1 then $2", "a b c", "a then b"},
    {"$2 then $1", "a \"b c\" d", "b c then a"},
    {"$1", "'two words' x", "two words"},
    {"$1", "\"never closed", "never closed"},
    {"$9 is none", "a", " is none"},
    {"It costs $100 and $x.", "a", "It costs $100 and $x.\n\na"},
    {"A $ at the end $", "", "A $ at the end $"},
    {"$ARGUMENTS", "$1 $ARGUMENTS", "$1 $ARGUMENTS"},
    {"", "a", "\n\na"},
};

static void test_words_take_their_places(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CH_BUF_AUTO out = {0};
        ch_command_expand(ch_sv_str(rows[i].body), ch_sv_str(rows[i].words), &out);
        if (strcmp(ch_buf_str(&out), rows[i].want) != 0)
            fail_msg("row %zu: '%s'", i, ch_buf_str(&out));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words_take_their_places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
