/* test_run_outcome.c -- the answer and the error text of a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/handle/run_outcome.h"
#include "base/mem.h"

static void outcome_release(chela_run *run) {
    ch_buf_release(&run->text);
    ch_free(run->error);
}

static void test_answer(void **state) {
    (void)state;
    static const struct {
        bool add;
        struct ch_sv text;
        const char *answer;
    } steps[] = {
        {true, CH_SV(""), ""},
        {true, CH_SV("one"), "one"},
        {true, CH_SV(" two"), "one two"},
        {true, CH_SV(""), "one two"},
        {false, CH_SV("three"), "three"},
        {false, CH_SV("4"), "4"}, /* nothing of a longer answer is left */
        {true, CH_SV("5"), "45"},
        {false, CH_SV(""), ""},
        {true, CH_SV("six"), "six"},
    };
    chela_run run = {0};
    for (size_t i = 0; i < CH_LEN(steps); i++) {
        (steps[i].add ? ch_run_outcome_add : ch_run_outcome_text)(&run, steps[i].text);
        assert_string_equal(ch_buf_str(&run.text), steps[i].answer);
        assert_int_equal(run.text.n, strlen(steps[i].answer));
    }
    assert_string_equal(ch_run_error(&run), ""); /* an answer is no error */
    outcome_release(&run);
}

/* A person reads the error, so it names the limit and its option. */
static void test_limit(void **state) {
    (void)state;
    static const struct {
        enum ch_reason reason;
        const char *want;
    } limits[] = {
        {CH_REASON_MAX_TURNS, "after 27 model calls (limits.maxTurns)"},
        {CH_REASON_MAX_TOOL_CALLS, "after 9 tool calls (limits.maxToolCalls)"},
        {CH_REASON_TOO_MANY_ERRORS, "after 3 errors in a row (limits.maxConsecutiveErrors)"},
        {CH_REASON_TOKEN_BUDGET, "after 12 tokens (limits.tokenBudget)"},
        {CH_REASON_COST_BUDGET, "after $0.5000 (limits.costBudgetUsd)"},
        {CH_REASON_COMPLETED, ""},
        {CH_REASON_CANCELLED, ""},
    };
    for (size_t i = 0; i < CH_LEN(limits); i++) {
        chela_run run = {.m = {.reason = limits[i].reason,
                               .turns = 25,
                               .tool_calls = 9,
                               .errors = 3,
                               .usage = {.input = 10, .output = 2},
                               .cost = 0.5,
                               .below = {.turns = 2}}};
        ch_run_outcome_limit(&run);
        assert_non_null(strstr(ch_run_error(&run), limits[i].want));
        assert_int_equal(*ch_run_error(&run) == 0, *limits[i].want == 0);
        ch_run_outcome_error(&run, "known");
        ch_run_outcome_limit(&run);
        assert_string_equal(ch_run_error(&run), "known");
        outcome_release(&run);
    }
}

static void test_error(void **state) {
    (void)state;
    chela_run run = {0};
    ch_run_outcome_clear_error(&run); /* a run without an error */
    assert_string_equal(ch_run_error(&run), "");
    ch_run_outcome_error(&run, "%s: status %d", "anthropic", 529);
    const char *first = ch_run_error(&run);
    assert_string_equal(first, "anthropic: status 529");
    ch_run_outcome_error(&run, "%s", "100 %s"); /* an argument is no format */
    assert_ptr_equal(ch_run_error(&run), first);
    assert_string_equal(first, "100 %s");
    ch_run_outcome_clear_error(&run);
    assert_ptr_equal(ch_run_error(&run), first);
    assert_string_equal(first, "");
    ch_run_outcome_error(&run, "again");
    assert_string_equal(first, "again");
    assert_int_equal(run.text.n, 0); /* an error is no answer */
    outcome_release(&run);
}

/* An error that is too long is cut; its memory stays the same. */
static void test_length_of_an_error(void **state) {
    (void)state;
    static const size_t lengths[] = {0, 1, CHELA_ERROR_MAX - 2, CHELA_ERROR_MAX - 1,
                                     CHELA_ERROR_MAX, 3 * CHELA_ERROR_MAX};
    char text[3 * CHELA_ERROR_MAX + 1];
    chela_run run = {0};
    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < CH_LEN(lengths); i++) {
        ch_run_outcome_error(&run, "%.*s", (int)lengths[i], text);
        assert_int_equal(strlen(ch_run_error(&run)),
                         CH_MIN(lengths[i], (size_t)CHELA_ERROR_MAX - 1));
    }
    outcome_release(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_length_of_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
