/* test_plan_steps.c -- plans: what is refused, what may begin, what results become. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/feature/mode/plan_steps.h"
#include "base/mem.h"
#include "json/writer.h"

static bool known(struct ch_sv tool, void *user) {
    (void)user;
    return ch_sv_is(tool, "get") || ch_sv_is(tool, "exec");
}

static bool is_command(struct ch_sv tool, struct ch_sv argument, void *user) {
    (void)user;
    return ch_sv_is(tool, "exec") && ch_sv_is(argument, "command");
}

static const struct ch_plan_tools tools = {.known = known, .is_command = is_command};

/* '[{"id":1,"tool":..}]' in short: S(id, tool, input, depends_on) */
#define S(id, tool, input, needs)                                                            \
    "{\"step_id\":" #id ",\"description\":\"look\",\"tool_name\":\"" tool "\",\"tool_input\":" \
    input ",\"depends_on\":[" needs "]}"

static int read_plan(struct ch_arena *a, const char *json, struct ch_plan_steps *p,
                     struct ch_buf *why) {
    const struct ch_json *v;
    assert_int_equal(ch_json_parse(a, ch_sv_str(json), CH_JSON_STRICT, &v, NULL, NULL), 0);
    return ch_plan_steps_read(v, &tools, p, why);
}

static const struct {
    const char *plan, *why;
} refused[] = {
    {"[]", "no steps"},
    {"{}", "no steps"},
    {"[" S(1, "fly", "{}", "") "]", "no tool 'fly'"},
    {"[" S(1, "get", "{}", "") "," S(1, "get", "{}", "") "]", "step 1 is there twice"},
    {"[" S(0, "get", "{}", "") "]", "step_id must be"},
    {"[" S(1, "get", "[]", "") "]", "tool_input must be an object"},
    {"[" S(1, "get", "{}", "1") "]", "waits for itself"},
    {"[" S(1, "get", "{}", "7") "]", "names step 7"},
    {"[" S(1, "get", "{}", "2") "," S(2, "get", "{}", "") "]", "which comes later"},
    {"[" S(1, "get", "{}", "2") "," S(2, "get", "{}", "1") "]", "wait for each other"},
    {"[" S(1, "get", "{}", "3") "," S(2, "get", "{}", "1") "," S(3, "get", "{}", "2") "]",
     "steps 1 and 3 wait for each other"},
    {"[" S(1, "get", "{\"q\":\"$step_2_result\"}", "") "," S(2, "get", "{}", "") "]",
     "which comes later"},
    {"[" S(1, "get", "{\"q\":[{\"r\":\"see $step_9_result.a\"}]}", "") "]", "names step 9"},
    {"[" S(1, "get", "{\"q\":\"$step_0_result\"}", "") "]", "names step 0"},
    {"[" S(1, "get", "{}", "") "," S(2, "exec", "{\"command\":\"cat $step_1_result\"}", "1") "]",
     "must not stand in a command line"},
    {"[" S(1, "get", "{}", "") "," S(2, "get", "{}", "") "," S(3, "get", "{}", "") ","
     S(4, "get", "{}", "") "," S(5, "get", "{}", "") "," S(6, "get", "{}", "") ","
     S(7, "get", "{}", "") "," S(8, "get", "{}", "") "," S(9, "get", "{}", "") "]",
     "9 steps are too many"},
    {"[{\"step_id\":1,\"description\":\"Report the result to the user\",\"tool_name\":\"none\","
     "\"tool_input\":{},\"depends_on\":[]}]", "leave it out"},
    {"[{\"step_id\":1,\"description\":\"verify the output\",\"tool_name\":\"none\","
     "\"tool_input\":{},\"depends_on\":[]}]", "leave it out"},
    {"[{\"step_id\":1,\"description\":\" \",\"tool_name\":\"get\",\"tool_input\":{},"
     "\"depends_on\":[]}]", "no description"},
};

static void test_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(refused); i++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO why = {0};
        struct ch_plan_steps p = {.n = 77};
        if (read_plan(&a, refused[i].plan, &p, &why) == 0 ||
            !strstr(ch_buf_str(&why), refused[i].why))
            fail_msg("row %zu: '%s'", i, ch_buf_str(&why));
        assert_int_equal(p.n, 77); /* untouched */
    }
}

/* A step that checks something with a tool is work like any other. */
static void test_accepted(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO why = {0};
    struct ch_plan_steps p;
    const char *plan =
        "[{\"step_id\":3,\"description\":\"check the result page\",\"tool_name\":\"get\","
        "\"tool_input\":{},\"depends_on\":[]},"
        "{\"step_id\":5,\"description\":\"compare prices\",\"tool_name\":\"none\","
        "\"tool_input\":{},\"depends_on\":[3]},"
        "{\"step_id\":7,\"description\":\"look\",\"tool_name\":\"get\","
        "\"tool_input\":{\"a\":\"$step_5_result\",\"$step_3_result\":1},\"depends_on\":[]}]";
    assert_int_equal(read_plan(&a, plan, &p, &why), 0);
    assert_int_equal(p.n, 3);
    assert_int_equal(p.list[1].tool.n, 0);
    assert_int_equal(p.list[1].needs, 1u << 0);
    assert_int_equal(p.list[2].needs, 1u << 1); /* by reference; names of members are none */
    assert_int_equal(ch_plan_steps_find(&p, 7), 2);
    assert_int_equal(ch_plan_steps_find(&p, 1), -1);
}

static const struct {
    const char *input, *result, *want; /* want NULL: it cannot be filled */
} filled[] = {
    {"{\"a\":\"$step_1_result\"}", "plain text", "{\"a\":\"plain text\"}"},
    {"{\"a\":\"$step_1_result\"}", "{\"x\": [1, 2]}", "{\"a\":{\"x\":[1,2]}}"},
    {"{\"a\":\"$step_1_result.x[1]\"}", "{\"x\":[1,{\"y\":\"z\"}]}", "{\"a\":{\"y\":\"z\"}}"},
    {"{\"a\":\"$step_1_result.x[1].y\"}", "{\"x\":[1,{\"y\":\"z\"}]}", "{\"a\":\"z\"}"},
    {"{\"a\":\"$step_1_result[0]\"}", "[12345678901234567890]", "{\"a\":12345678901234567890}"},
    {"{\"a\":\"it is $step_1_result.\"}", "42", "{\"a\":\"it is 42.\"}"},
    {"{\"a\":\"<$step_1_result.b> <$step_1_result.c>\"}", "{\"b\":\"q\\\"\",\"c\":[1]}",
     "{\"a\":\"<q\\\"> <[1]>\"}"},
    {"{\"$step_1_result\":[\"$step_1_result\",{\"b\":\"$step_1_result\"}]}", "v",
     "{\"$step_1_result\":[\"v\",{\"b\":\"v\"}]}"},
    {"{\"a\":\"$step_1_results $step_x_result $step__result\"}", "v",
     "{\"a\":\"vs $step_x_result $step__result\"}"},
    {"{\"a\":\"$step_1_result\"}", "$step_1_result", "{\"a\":\"$step_1_result\"}"}, /* once */
    {"{\"a\":\"$step_1_result; rm -rf /\",\"n\":1.50}", "`id`\n",
     "{\"a\":\"`id`\\n; rm -rf /\",\"n\":1.50}"},
    {"{\"a\":\"$step_1_result.x\"}", "plain", NULL},
    {"{\"a\":\"$step_1_result.x\"}", "{\"y\":1}", NULL},
    {"{\"a\":\"$step_1_result[3]\"}", "[1]", NULL},
};

static void test_filled(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(filled); i++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO plan = {0};
        CH_BUF_AUTO out = {0};
        CH_BUF_AUTO why = {0};
        struct ch_plan_steps p;
        struct ch_sv results[CH_LIMIT_PLANNER_STEPS] = {ch_sv_str(filled[i].result)};
        ch_buf_addf(&plan,
                    "[" S(1, "get", "{}", "") ",{\"step_id\":2,\"description\":\"d\",\"tool_name\":"
                    "\"get\",\"tool_input\":%s,\"depends_on\":[]}]",
                    filled[i].input);
        assert_int_equal(read_plan(&a, ch_buf_str(&plan), &p, &why), 0);
        int rc = ch_plan_steps_fill(&p, &p.list[1], results, &out, &why);
        if ((rc == 0) != (filled[i].want != NULL) ||
            (rc == 0 && strcmp(ch_buf_str(&out), filled[i].want) != 0))
            fail_msg("row %zu: %d '%s' '%s'", i, rc, ch_buf_str(&out), ch_buf_str(&why));
        assert_int_equal(why.n > 0, rc < 0);
    }
}

/* Random plans, carried out with random failures: every step at most once, none
 * before what it needs, none missing that nothing stood in the way of. */
static void random_plan(unsigned *seed, struct ch_buf *out) {
    unsigned n = 1 + (unsigned)rand_r(seed) % CH_LIMIT_PLANNER_STEPS;
    ch_buf_add_str(out, "[");
    for (unsigned i = 0; i < n; i++) {
        ch_buf_addf(out,
                    "%s{\"step_id\":%u,\"description\":\"d\",\"tool_name\":\"get\","
                    "\"tool_input\":{",
                    i ? "," : "", i + 1);
        if (i && rand_r(seed) % 3 == 0)
            ch_buf_addf(out, "\"r\":\"$step_%u_result\"", 1 + (unsigned)rand_r(seed) % i);
        ch_buf_add_str(out, "},\"depends_on\":[");
        bool first = true;
        for (unsigned k = 0; k < i; k++)
            if (rand_r(seed) % 3 == 0) {
                ch_buf_addf(out, "%s%u", first ? "" : ",", k + 1);
                first = false;
            }
        ch_buf_add_str(out, "]}");
    }
    ch_buf_add_str(out, "]");
}

static void test_random_plans(void **state) {
    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO plan = {0};
        CH_BUF_AUTO why = {0};
        struct ch_plan_steps p;
        unsigned seed = round, done = 0, failed = 0, ready, waves = 0;
        random_plan(&seed, &plan);
        if (read_plan(&a, ch_buf_str(&plan), &p, &why) < 0)
            fail_msg("%s: %s", ch_buf_str(&plan), ch_buf_str(&why));
        while ((ready = ch_plan_steps_ready(&p, done, failed))) {
            assert_true(++waves <= p.n);
            assert_int_equal(ready & (done | failed), 0);
            for (size_t i = 0; i < p.n; i++) {
                if (!(ready >> i & 1))
                    continue;
                assert_int_equal(p.list[i].needs & ~done, 0);
                assert_true(p.list[i].needs < 1u << i);
                *(rand_r(&seed) % 10 == 0 ? &failed : &done) |= 1u << i;
                if (rand_r(&seed) % 4 == 0)
                    break; /* not all at once */
            }
        }
        unsigned blocked = failed; /* and the steps that need a blocked one */
        for (size_t i = 0; i < p.n; i++)
            blocked |= p.list[i].needs & blocked ? 1u << i : 0;
        assert_int_equal(done | blocked, (1u << p.n) - 1);
        assert_int_equal(done & blocked & ~failed, 0);
    }
}

/* What is written reads back as the same plan. */
static void test_written(void **state) {
    (void)state;
    for (unsigned seed = 1; seed < 200; seed++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO plan = {0};
        CH_BUF_AUTO again = {0};
        CH_BUF_AUTO why = {0};
        struct ch_plan_steps p, q;
        unsigned dice = seed;
        random_plan(&dice, &plan);
        assert_int_equal(read_plan(&a, ch_buf_str(&plan), &p, &why), 0);
        struct ch_jw w = ch_jw(&again);
        ch_jw_begin(&w, '[');
        for (size_t i = 0; i < p.n; i++) {
            ch_jw_begin(&w, '{');
            ch_plan_steps_write(&p.list[i], &p, &w);
            ch_jw_end(&w, '}');
        }
        ch_jw_end(&w, ']');
        assert_int_equal(read_plan(&a, ch_buf_str(&again), &q, &why), 0);
        assert_int_equal(p.n, q.n);
        for (size_t i = 0; i < p.n; i++)
            assert_int_equal(p.list[i].needs, q.list[i].needs);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_filled),       cmocka_unit_test(test_random_plans),
        cmocka_unit_test(test_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
