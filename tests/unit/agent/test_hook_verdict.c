/* test_hook_verdict.c -- what the programs of hooks say, by exit code and output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/feature/hook/hook_verdict.h"

#define BEFORE CH_HOOK_BEFORE_TOOL
#define AFTER CH_HOOK_AFTER_TOOL
#define PROMPT CH_HOOK_PROMPT

static const struct {
    enum ch_hook_event event;
    int code;
    const char *out, *err;
    const char *want; /* verdict: "+" or "-", reason | context | input | warning */
} rows[] = {
    {BEFORE, 0, "", "", "+|||"},
    {BEFORE, 0, "some words", "", "+|||"},
    {PROMPT, 0, " the branch is main\n", "", "+|the branch is main||"},
    {PROMPT, 0, "\033[31mred\033[0m", "", "+|red||"},
    {BEFORE, 2, "", "no\n", "-no|||"},
    {BEFORE, 2, "because\n", "", "-because|||"},
    {BEFORE, 2, "", "", "-blocked by a hook|||"},
    {BEFORE, 2, "{\"decision\":\"approve\"}", "no", "-no|||"},
    {BEFORE, 1, "", "oops\nmore", "+|||hook x ended with exit code 1: oops"},
    {BEFORE, -1, "", "", "+|||hook x was killed"},
    {BEFORE, 127, "", "not found", "-The hook x could not run, so this was not done. A person has "
                                   "to look at it.|||hook x could not run: not found"},
    {AFTER, 127, "", "", "+|||hook x could not run"},
    {BEFORE, 0, "{ not json", "", "+|||hook x printed JSON that is not valid, which is ignored"},
    {BEFORE, 0, "{\"decision\":\"block\",\"reason\":\"never\"}", "", "-never|||"},
    {BEFORE, 0, "{\"decision\":\"approve\"}", "", "+|||"},
    {BEFORE, 0, "{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\"}}", "",
     "-denied by a hook|||"},
    {BEFORE, 0, "{\"hookSpecificOutput\":{\"permissionDecision\":\"ask\"}}", "", "+|||"},
    {BEFORE, 0, "{\"hookSpecificOutput\":{\"updatedInput\":{\"a\":1}}}", "", "+||{\"a\":1}|"},
    {BEFORE, 0, "{\"hookSpecificOutput\":{\"updatedInput\":[1]}}", "", "+|||"},
    {AFTER, 0, "{\"hookSpecificOutput\":{\"additionalContext\":\"two\"}}", "", "+|two||"},
    {AFTER, 0, "{\"continue\":false,\"stopReason\":\"enough\"}", "", "!enough|||"},
    {AFTER, 0, "{\"continue\":true}", "", "+|||"},
};

static void write_verdict(const struct ch_hook_verdict *v, struct ch_buf *out) {
    ch_buf_addf(out, "%c%s|%s|%s|%s", v->stop ? '!' : v->block ? '-' : '+',
                ch_buf_str((struct ch_buf *)&v->reason), ch_buf_str((struct ch_buf *)&v->context),
                ch_buf_str((struct ch_buf *)&v->input), ch_buf_str((struct ch_buf *)&v->warning));
}

static void test_exit_codes_and_output_are_understood(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct ch_hook_verdict v = {0};
        CH_BUF_AUTO got = {0};
        struct ch_hook_outcome o = {.name = "x",
                                    .exit_code = rows[i].code,
                                    .out = ch_sv_str(rows[i].out),
                                    .err = ch_sv_str(rows[i].err)};
        ch_hook_verdict_add(&v, rows[i].event, &o);
        write_verdict(&v, &got);
        if (strcmp(ch_buf_str(&got), rows[i].want) != 0)
            fail_msg("row %zu: %s, expected %s", i, ch_buf_str(&got), rows[i].want);
        ch_hook_verdict_release(&v);
    }
}

static void test_the_first_program_that_blocks_gives_the_reason(void **state) {
    struct ch_hook_verdict v = {0};
    struct ch_hook_outcome first = {.name = "a", .exit_code = 2, .err = CH_SV("first")};
    struct ch_hook_outcome second = {.name = "b", .exit_code = 2, .err = CH_SV("second")};
    (void)state;
    ch_hook_verdict_add(&v, BEFORE, &first);
    ch_hook_verdict_add(&v, BEFORE, &second);
    assert_true(v.block);
    assert_string_equal(ch_buf_str(&v.reason), "first");
    ch_hook_verdict_release(&v);
}

static void test_a_long_text_is_cut(void **state) {
    static char text[100000];
    struct ch_hook_verdict v = {0};
    (void)state;
    memset(text, 'x', sizeof(text));
    struct ch_hook_outcome o = {.name = "a", .out = ch_sv(text, sizeof(text))};
    ch_hook_verdict_add(&v, PROMPT, &o);
    assert_int_equal(v.context.n, 10 * 1024);
    ch_hook_verdict_release(&v);
}

static void test_a_guard_that_did_not_run_blocks(void **state) {
    struct ch_hook_verdict before = {0}, after = {0};
    struct ch_hook_outcome o = {.name = "a", .timed_out = true};
    (void)state;
    ch_hook_verdict_add(&before, BEFORE, &o);
    ch_hook_verdict_add(&after, AFTER, &o);
    assert_true(before.block);
    assert_false(after.block);
    assert_string_equal(ch_buf_str(&after.warning), "hook a did not end in time");
    ch_hook_verdict_release(&before);
    ch_hook_verdict_release(&after);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_codes_and_output_are_understood),
        cmocka_unit_test(test_the_first_program_that_blocks_gives_the_reason),
        cmocka_unit_test(test_a_long_text_is_cut),
        cmocka_unit_test(test_a_guard_that_did_not_run_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
