/* test_ask.c -- what an answer to a request for consent means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
/* after the headers it needs */
#include <cmocka.h>

#include "cli/term/ask.h"

static void test_answers(void **state) {
    (void)state;
    static const struct {
        const char *answer;
        bool can_remember, understood;
        enum chela_decision means;
        const char *reason;
    } cases[] = {
        {"o", true, true, CHELA_ALLOW_ONCE, ""},
        {"once", true, true, CHELA_ALLOW_ONCE, ""},
        {"y", true, true, CHELA_ALLOW_ONCE, ""},
        {"YES", true, true, CHELA_ALLOW_ONCE, ""},
        {"  o  ", true, true, CHELA_ALLOW_ONCE, ""},
        {"a", true, true, CHELA_ALLOW_ALWAYS, ""},
        {"always", true, true, CHELA_ALLOW_ALWAYS, ""},
        {"a", false, false, CHELA_UNDECIDED, ""},
        {"n", true, true, CHELA_DENY, ""},
        {"no", true, true, CHELA_DENY, ""},
        {"deny", true, true, CHELA_DENY, ""},
        {"n not on a Friday", true, true, CHELA_DENY, "not on a Friday"},
        {"no, use the test server", true, true, CHELA_DENY, "use the test server"},
        {"deny: too risky", false, true, CHELA_DENY, "too risky"},
        /* nothing that is not clearly a yes is one */
        {"", true, false, CHELA_UNDECIDED, ""},
        {"   ", true, false, CHELA_UNDECIDED, ""},
        {"ok", true, false, CHELA_UNDECIDED, ""},
        {"yes but not yet", true, false, CHELA_UNDECIDED, ""},
        {"once more look first", true, false, CHELA_UNDECIDED, ""},
        {"allow", true, false, CHELA_UNDECIDED, ""},
        {"nope", true, false, CHELA_UNDECIDED, ""},
        {"oo", true, false, CHELA_UNDECIDED, ""},
        {"\033[Ao", true, false, CHELA_UNDECIDED, ""},
        /* what takes a text has one */
        {"e {\"a\": 1}", true, true, CHELA_EDIT, "{\"a\": 1}"},
        {"edit: {}", true, true, CHELA_EDIT, "{}"},
        {"edit", true, false, CHELA_UNDECIDED, ""},
        {"r it is done", false, true, CHELA_ANSWER, "it is done"},
        {"result", true, false, CHELA_UNDECIDED, ""},
        {"take I will see to it", true, true, CHELA_TAKE_OVER, "I will see to it"},
        {"t", true, false, CHELA_UNDECIDED, ""},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum chela_decision means = CHELA_UNDECIDED;
        const char *reason = NULL;
        char answer[64];
        snprintf(answer, sizeof(answer), "%s", cases[i].answer);
        bool understood = ch_answer_read(answer, cases[i].can_remember, &means, &reason);
        if (understood != cases[i].understood)
            fail_msg("'%s'", cases[i].answer);
        if (!understood)
            continue;
        assert_int_equal(means, cases[i].means);
        assert_string_equal(reason, cases[i].reason);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
