/* test_cases.c -- reading case files, judging answers, and the statistics. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "prompt/cases.h"
#include "prompt/judge.h"
#include "prompt/prompts.h"
#include "prompt/prompts_builtin.h"

static const char prompt_text[] =
    "---\nvariables: { x: an x }\nschema: { type: object, required: [a] }\n---\n\"a\" {x}";

static struct ch_prompt own(struct ch_arena *a) {
    struct ch_prompt t;
    assert_int_equal(ch_prompt_read(a, "p", "1.0", NULL, ch_sv_str(prompt_text), &t, NULL), 0);
    return t;
}

/* --- judging: an answer against one expectation ------------------------------------- */

static const struct {
    const char *expect, *answer, *why; /* NULL: it passes */
} judged[] = {
    {"json_valid", "{\"a\":1}", NULL},
    {"json_valid", " [1]\n", NULL},
    {"json_valid", "", "json_valid: "},
    {"json_valid", "```json\n{}\n```", "json_valid: "},
    {"json_valid", "{\"a\":1} and more", "json_valid: "},
    {"schema", "{\"a\":1}", NULL},
    {"schema", "{\"b\":1}", "schema: "},
    {"schema: { type: array }", "[]", NULL},
    {"schema: { type: array }", "{}", "schema: "},
    {"has_field: a", "{\"a\":null}", NULL},
    {"has_field: a", "{\"b\":1}", "has_field a: there is none"},
    {"has_field: a", "a", "json_valid: "},
    {"has_field: a.b.1.c", "{\"a\":{\"b\":[0,{\"c\":1}]}}", NULL},
    {"has_field: a.2", "{\"a\":[0,1]}", "has_field a.2: there is none"},
    {"has_field: a.x", "{\"a\":[0,1]}", "has_field a.x: there is none"},
    {"has_field: a.99999999999999999999", "{\"a\":[0,1]}", "has_field a.9"},
    {"no_field: a", "{\"b\":1}", NULL},
    {"no_field: a", "{\"a\":1}", "no_field a: it is there: 1"},
    {"no_field: a", "text", "json_valid: "},
    {"field_in: { field: a, values: [x, 2] }", "{\"a\":\"x\"}", NULL},
    {"field_in: { field: a, values: [x, 2] }", "{\"a\":2.0}", NULL},
    {"field_in: { field: a, values: [x, 2] }", "{\"a\":\"2\"}",
     "field_in a: \"2\" is not among [\"x\",2]"},
    {"field_in: { field: a, values: [x] }", "{}", "field_in a: there is none"},
    {"matches: '^ab+$'", "abbb", NULL},
    {"matches: '^ab+$'", "xabbb", "matches ^ab+$: it does not"},
    {"max_tokens: 3", "one two", NULL},
    {"max_tokens: 3", "one two three four five six seven", "max_tokens 3: it has about "},
    {"calls_tool: t", "<t>", NULL},
    {"calls_tool: t", "<u>", "calls_tool t: it called u"},
    {"calls_tool: t", "text", "calls_tool t: it called no tool"},
    {"calls_tool: none", "text", NULL},
    {"calls_tool: none", "<t>", "calls_tool none: it called t"},
};

static void test_judged(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(judged); i++) {
        struct ch_cases cases = {0};
        struct chela_error err = {0};
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO text = {0};
        CH_BUF_AUTO why = {0};
        struct ch_prompt t = own(&a);
        ch_buf_addf(&text, "cases: [{ name: n, expect: [%s%s%s] }]",
                    strchr(judged[i].expect, ':') ? "{ " : "", judged[i].expect,
                    strchr(judged[i].expect, ':') ? " }" : "");
        if (ch_cases_read(&cases, ch_buf_sv(&text), "f", &t, &err) < 0)
            fail_msg("%s: %s", judged[i].expect, err.message);
        struct ch_sv answer = ch_sv_str(judged[i].answer), call;
        struct ch_case_outcome o = {.text = answer};
        if (answer.n && answer.p[0] == '<') {
            call = ch_sv(answer.p + 1, answer.n - 2);
            o = (struct ch_case_outcome){.text = CH_SV(""), .calls = &call, .ncalls = 1};
        }
        bool passed = ch_case_judge(&cases.list[0], &o, &why);
        const char *want = judged[i].why;
        if (passed != !want || (want && strncmp(ch_buf_str(&why), want, strlen(want)) != 0))
            fail_msg("%s on %s: %s", judged[i].expect, judged[i].answer, ch_buf_str(&why));
        ch_cases_release(&cases);
    }
}

/* --- reading ------------------------------------------------------------------------- */

static const struct {
    const char *text, *message;
} broken[] = {
    {"", "f:"},
    {"cases: []", "f:1:8: cases: expected a list of at least one case"},
    {"cases: [7]", "f:1:9: expected a case, with a name"},
    {"cases:\n- name: n", "f:2:3: expect: expected a list of at least one expectation"},
    {"cases:\n- { name: n, expect: [json_vlid] }",
     "f:2:23: unknown expectation json_vlid (did you mean json_valid?)"},
    {"cases:\n- { name: n, expect: [has_field] }", "f:2:23: the expectation needs a value"},
    {"cases:\n- { name: n, expect: [{ has_field: [a] }] }", "f:2:36: expected a name"},
    {"cases:\n- { name: n, expect: [{ matches: '(' }] }", "f:2:34: "},
    {"cases:\n- { name: n, expect: [{ max_tokens: 0 }] }", "f:2:37: max_tokens: expected"},
    {"cases:\n- { name: n, expect: [{ field_in: { field: a } }] }", "f:2:35: field_in: expected"},
    {"cases:\n- { name: n, expect: [{ schema: { type: 7 } }] }", "f:2:23: "},
    {"cases:\n- { name: n, kind: odd, expect: [json_valid] }", "f:2:20: unknown kind odd"},
    {"cases:\n- { name: n, expct: 1, expect: [json_valid] }",
     "f:2:14: unknown key expct (did you mean expect?)"},
    {"cases:\n- { name: n, expect: [json_valid] }\n- { name: n, expect: [json_valid] }",
     "f:3:3: there is a case of that name already"},
    {"values: 3\ncases:\n- { name: n, expect: [json_valid] }", "f:1:9: values: expected a mapping"},
    {"cases:\n- { name: n, tools: [{}], expect: [json_valid] }", "f:2:22: tools: a tool without"},
};

static void test_broken(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(broken); i++) {
        struct ch_cases cases = {0};
        struct chela_error err = {0};
        CH_ARENA_AUTO a = {0};
        struct ch_prompt t = own(&a);
        int rc = ch_cases_read(&cases, ch_sv_str(broken[i].text), "f", &t, &err);
        if (rc == 0 || strncmp(err.message, broken[i].message, strlen(broken[i].message)) != 0)
            fail_msg("%s: %d %s", broken[i].text, rc, err.message);
        ch_cases_release(&cases);
    }
}

static void test_values(void **state) {
    struct ch_cases cases = {0};
    struct chela_error err = {0};
    CH_ARENA_AUTO a = {0};
    CH_PROMPT_TEXT_AUTO out = {0};
    struct ch_prompt t = own(&a);
    (void)state;
    assert_int_equal(ch_cases_read(&cases,
                                   CH_SV("values: { x: common, other: 1 }\ncases:\n"
                                         "- { name: n, values: { x: [1] }, expect: [json_valid] }"),
                                   "f", &t, &err),
                     0);
    assert_int_equal(ch_prompt_render(&t, cases.list[0].values, cases.list[0].nvalues, &out, &err),
                     0);
    assert_string_equal(ch_buf_str(&out.user), "\"a\" [\n  1\n]");
    ch_cases_release(&cases);
}

/* --- the cases that come with chela ---------------------------------------------------- */

/* Every case renders, and its expectations tell its good answer from its bad
 * ones; there are enough of each kind. */
static void test_builtin_cases(void **state) {
    static const char *const roles[] = {"router",    "planner",    "executor",
                                        "reflector", "summariser", "companion",
                                        "listener"};
    struct ch_prompts all = {0};
    struct chela_error err = {0};
    (void)state;
    assert_int_equal(ch_prompts_builtin(&all, &err), 0);
    assert_int_equal(ch_prompts_link(&all, &err), 0);
    for (size_t i = 0; i < CH_LEN(roles); i++) {
        struct ch_cases cases = {0};
        struct ch_prompt_query q = {.name = roles[i]};
        const struct ch_prompt *t = ch_prompts_pick(&all, &q, &err);
        size_t edge = 0, adversarial = 0;
        if (ch_cases_read(&cases, ch_prompts_builtin_cases(roles[i]), roles[i], t, &err) < 0)
            fail_msg("%s", err.message);
        for (size_t k = 0; k < cases.n; k++) {
            const struct ch_case *c = &cases.list[k];
            CH_PROMPT_TEXT_AUTO text = {0};
            if (ch_prompt_render(t, c->values, c->nvalues, &text, &err) < 0 ||
                ch_case_check_samples(c, &err) < 0)
                fail_msg("%s: %s", c->where, err.message);
            if (!c->good || !c->bad || !c->bad[0])
                fail_msg("%s: %s: no good or no bad answer", c->where, c->name);
            edge += strcmp(c->kind, "edge") == 0;
            adversarial += strcmp(c->kind, "adversarial") == 0;
        }
        assert_true(cases.n >= 10);
        assert_true(edge >= 3);
        assert_true(adversarial >= 3);
        ch_cases_release(&cases);
    }
    ch_prompts_release(&all);
}

/* --- statistics ------------------------------------------------------------------------ */

static void test_rates(void **state) {
    /* Values of Wilson's interval as other programs give them. */
    static const struct {
        size_t passed, runs;
        double low, high;
    } known[] = {
        {0, 5, 0, 0.4345}, {5, 5, 0.5655, 1}, {9, 10, 0.5958, 0.9821}, {50, 100, 0.4038, 0.5962},
        {0, 0, 0, 1},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(known); i++) {
        struct ch_rate r = ch_rate(known[i].passed, known[i].runs);
        assert_true(fabs(r.low - known[i].low) < 0.0001);
        assert_true(fabs(r.high - known[i].high) < 0.0001);
    }
    /* Newcombe's example: 56/70 against 48/80. */
    struct ch_rate d = ch_rate_difference(ch_rate(56, 70), ch_rate(48, 80));
    assert_true(fabs(d.rate - 0.2) < 1e-9);
    assert_true(fabs(d.low - 0.0524) < 0.0001);
    assert_true(fabs(d.high - 0.3339) < 0.0001);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_judged), cmocka_unit_test(test_broken),
        cmocka_unit_test(test_values), cmocka_unit_test(test_builtin_cases),
        cmocka_unit_test(test_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
