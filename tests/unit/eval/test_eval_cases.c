/* test_eval_cases.c -- reading cases, comparing outcomes with checks, and verdicts of judges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "eval/eval_check.h"
#include "eval/eval_judge.h"

/* --- wrong cases ------------------------------------------------------------------------- */

static const struct {
    const char *text, *why;
} wrong[] = {
    {"{}", "cases: expected a list"},
    {"cases: []", "cases: expected a list"},
    {"cases: [{ input: a, checks: { status: done } }]", "with a name"},
    {"cases: [{ name: a, checks: { status: done } }]", "a:1:9: case 'a': the case needs an input"},
    {"cases: [{ name: a, input: x, turns: [y], checks: { status: done } }]", "exclude each other"},
    {"cases: [{ name: a, input: x }]", "the case needs checks"},
    {"cases: [{ name: a, input: x, checks: {} }]", "the case needs checks"},
    {"cases: [{ name: a, input: x, check: { status: done } }]", "unknown key check (did you mean "
                                                               "checks?)"},
    {"cases: [{ name: a, input: x, checks: { answer: { contain: y } } }]", "did you mean contains"},
    {"cases: [{ name: a, input: x, checks: { answer: { matches: '(' } } }]", "case 'a'"},
    {"cases: [{ name: a, input: x, checks: { answer: { equals: [y, z] } } }]",
     "contradicts itself"},
    {"cases: [{ name: a, input: x, checks: { calls: { include: [r], exclude: [r] } } }]",
     "contradicts itself"},
    {"cases: [{ name: a, input: x, checks: { calls: { order: [q, r], exclude: [r] } } }]",
     "contradicts itself"},
    {"cases: [{ name: a, input: x, checks: { budget: { turns: 0 } } }]", "contradicts itself"},
    {"cases: [{ name: a, input: x, checks: { budget: { cost: -1 } } }]", "0 or more"},
    {"cases: [{ name: a, input: x, checks: { files: { f: { absent: true, contains: y } } } }]",
     "contradicts itself"},
    {"cases: [{ name: a, input: x, checks: { files: { ../f: { contains: y } } } }]",
     "inside the workspace"},
    {"cases: [{ name: a, input: x, tools: { r: recorded }, checks: { status: done } }]",
     "recorded"},
    {"cases: [{ name: a, input: x, tools: { r: fake }, checks: { status: done } }]",
     "expected real"},
    {"cases: [{ name: a, input: x, checks: { program: [] } }]", "program: expected"},
    {"cases: [{ name: a, input: x, checks: { status: done } }, "
     "{ name: a, input: x, checks: { status: done } }]",
     "a case of that name"},
    {"cases: [{ name: a, checks: { status: done } }, { name: b, checks: { status: done } }]",
     "2 of 2 cases are wrong"},
};

static void a_wrong_case_is_refused_with_its_place_and_name(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(wrong); i++) {
        struct ch_eval_file f = {0};
        struct chela_error err = {0};
        int rc = ch_eval_file_read(&f, ch_sv_str(wrong[i].text), "a", &err);
        if (rc != CHELA_EINVAL || !strstr(err.message, wrong[i].why))
            print_error("%s: %d %s\n", wrong[i].text, rc, err.message);
        assert_int_equal(rc, CHELA_EINVAL);
        assert_non_null(strstr(err.message, wrong[i].why));
        ch_eval_file_release(&f);
    }
}

/* --- checks ------------------------------------------------------------------------------ */

static int one_file(const char *path, struct ch_buf *out, struct chela_error *err, void *user) {
    (void)err;
    (void)user;
    if (strcmp(path, "a.txt") != 0)
        return CHELA_ENOENT;
    return ch_buf_add_str(out, "hi\n");
}

static const struct ch_eval_call calls[] = {
    {.name = {"read", 4}, .arguments = {"{\"path\":\"x\"}", 12}},
    {.name = {"write", 5}, .arguments = {"{}", 2}},
};

static const struct {
    const char *checks, *answer;
    bool pass;
} outcomes[] = {
    {"answer: { equals: '42' }", " 42\n", true},
    {"answer: { equals: '42' }", "4.2", false},
    {"answer: { equals: { a: 1 } }", "{\"a\": 1.0}", true},
    {"answer: { contains: [4, 2] }", "42", true},
    {"answer: { contains: [4, 3] }", "42", false},
    {"answer: { matches: '^4' }", "42", true},
    {"answer: { matches: '^2' }", "42", false},
    {"answer: { matches: '(?i)^YES' }", "yes", true},
    {"answer: { schema: { type: object, required: [a] } }", "{\"a\":1}", true},
    {"answer: { schema: { type: object, required: [a] } }", "{}", false},
    {"answer: { schema: {} }", "no json", false},
    {"answer: [{ contains: 4 }, { contains: 2 }]", "42", true},
    {"calls: { include: [read] }", "", true},
    {"calls: { include: [{ name: read, args: { required: [path] } }] }", "", true},
    {"calls: { include: [{ name: read, args: { required: [file] } }] }", "", false},
    {"calls: { include: [exec] }", "", false},
    {"calls: { exclude: [exec] }", "", true},
    {"calls: { exclude: [read] }", "", false},
    {"calls: { order: [read, write] }", "", true},
    {"calls: { order: [write, read] }", "", false},
    {"files: { a.txt: { equals: hi } }", "", true},
    {"files: { a.txt: { absent: true } }", "", false},
    {"files: { b.txt: { absent: true } }", "", true},
    {"files: { b.txt: { contains: hi } }", "", false},
    {"status: done", "", true},
    {"status: [error, task_completed]", "", true},
    {"status: error", "", false},
    {"budget: { turns: 2, tokens: 10, seconds: 3 }", "", true},
    {"budget: { turns: 1 }", "", false},
    {"budget: { cost: 1 }", "", false}, /* unknown */
};

static void checks_hold_for_the_outcomes_that_they_describe(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(outcomes); i++) {
        struct ch_eval_file f = {0};
        struct chela_error err = {0};
        CH_BUF_AUTO text = {0};
        CH_BUF_AUTO why = {0};
        ch_buf_addf(&text, "cases: [{ name: a, input: x, checks: { %s } }]", outcomes[i].checks);
        int rc = ch_eval_file_read(&f, ch_buf_sv(&text), "a", &err);
        if (rc < 0)
            print_error("%s\n", err.message);
        assert_int_equal(rc, 0);
        struct ch_eval_outcome o = {.text = ch_sv_str(outcomes[i].answer), .status = "done",
                                    .reason = "task_completed", .calls = calls, .ncalls = 2,
                                    .turns = 2, .tokens = 10, .cost = -1, .seconds = 1,
                                    .file = one_file};
        bool pass = true;
        for (size_t k = 0; k < f.list[0].nchecks; k++)
            pass = ch_eval_check(&f.list[0].checks[k], &o, &why) && pass;
        if (pass != outcomes[i].pass)
            print_error("%s: %s\n", outcomes[i].checks, ch_buf_str(&why));
        assert_int_equal(pass, outcomes[i].pass);
        assert_int_equal(pass, why.n == 0);
        ch_eval_file_release(&f);
    }
}

/* --- verdicts ---------------------------------------------------------------------------- */

static const struct {
    const char *reply;
    bool valid, pass;
} verdicts[] = {
    {"{\"pass\": true, \"evidence\": \"the answer is 42\", \"reason\": \"right\"}", true, true},
    {"```json\n{\"pass\": true, \"evidence\": [\"The  answer\", \"42\"]}\n```", true, true},
    {"{\"pass\": false, \"reason\": \"wrong\"}", true, false},
    {"{\"pass\": true, \"evidence\": \"43\"}", false, false},
    {"{\"pass\": true, \"evidence\": \"\"}", false, false},
    {"{\"pass\": true, \"evidence\": []}", false, false},
    {"{\"pass\": true}", false, false},
    {"{\"pass\": \"true\", \"evidence\": \"42\"}", false, false},
    {"I think that it passes: true", false, false},
    {"", false, false},
};

static void a_verdict_without_a_quote_of_the_answer_is_no_pass(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(verdicts); i++) {
        CH_ARENA_AUTO arena = {0};
        struct ch_eval_verdict v = {.pass = true};
        ch_eval_judge_read(ch_sv_str(verdicts[i].reply), CH_SV("The answer is 42."), &arena, &v);
        assert_int_equal(v.valid, verdicts[i].valid);
        assert_int_equal(v.pass, verdicts[i].pass);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_case_is_refused_with_its_place_and_name),
        cmocka_unit_test(checks_hold_for_the_outcomes_that_they_describe),
        cmocka_unit_test(a_verdict_without_a_quote_of_the_answer_is_no_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
