/* test_fixed_plan.c -- a plan that a person wrote into a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/feature/mode/fixed_plan.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "json/writer.h"
#include "support/textfile.h"

static char dir[] = "/tmp/chela-plan.XXXXXX";
static char path[sizeof(dir) + 16];

static int make_dir(void **state) {
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/plan.yaml", dir);
    return 0;
}

static int remove_dir(void **state) {
    (void)state;
    unlink(path);
    return rmdir(dir);
}

/* The plan as JSON, in the arena; NULL: refused. */
static const char *load(struct ch_arena *a, const char *text, int *rc, struct chela_error *err) {
    const struct ch_json *v = NULL;
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    put(path, text);
    *rc = ch_fixed_plan_load(a, path, &v, err);
    if (*rc < 0) {
        assert_null(v);
        return NULL;
    }
    ch_jw_value(&w, v);
    return ch_arena_str(a, ch_buf_sv(&json));
}

static const struct {
    const char *name, *text, *want;
} good[] = {
    {"short names",
     "steps:\n"
     "  - { id: 1, tool: query, input: { sql: x } }\n"
     "  - { id: 2, tool: send, description: Sends, needs: [1] }\n",
     "{\"steps\":[{\"step_id\":1,\"description\":\"query\",\"tool_name\":\"query\","
     "\"tool_input\":{\"sql\":\"x\"}},"
     "{\"step_id\":2,\"description\":\"Sends\",\"tool_name\":\"send\",\"tool_input\":{},"
     "\"depends_on\":[1]}]}"},
    {"names of a planner",
     "steps:\n"
     "  - { step_id: 1, tool_name: query, tool_input: { sql: x } }\n"
     "  - { step_id: 2, tool_name: send, depends_on: [1] }\n",
     "{\"steps\":[{\"step_id\":1,\"description\":\"query\",\"tool_name\":\"query\","
     "\"tool_input\":{\"sql\":\"x\"}},"
     "{\"step_id\":2,\"description\":\"send\",\"tool_name\":\"send\",\"tool_input\":{},"
     "\"depends_on\":[1]}]}"},
    {"a short name before a planner's", "steps: [{ id: 7, step_id: 8, tool: a, tool_name: b }]\n",
     "{\"steps\":[{\"step_id\":7,\"description\":\"a\",\"tool_name\":\"a\",\"tool_input\":{}}]}"},
    {"JSON", "{\"steps\":[{\"id\":1,\"tool\":\"a\"}]}",
     "{\"steps\":[{\"step_id\":1,\"description\":\"a\",\"tool_name\":\"a\",\"tool_input\":{}}]}"},
    {"a question", "steps: [{ id: 1, ask: \"Urgent? $request\", description: unused }]\n",
     "{\"steps\":[{\"step_id\":1,\"description\":\"Urgent? $request\",\"tool_name\":\"none\","
     "\"tool_input\":{}}]}"},
    {"a question that only reports", "steps: [{ id: 1, ask: Report the result }]\n",
     "{\"steps\":[{\"step_id\":1,\"description\":\"Report the result\",\"tool_name\":\"none\","
     "\"tool_input\":{}}]}"},
    {"a condition",
     "steps: [{ id: 1, tool: a }, { id: 2, tool: b, when: $step_1_result.urgent }]\n",
     "{\"steps\":[{\"step_id\":1,\"description\":\"a\",\"tool_name\":\"a\",\"tool_input\":{}},"
     "{\"step_id\":2,\"description\":\"b\",\"tool_name\":\"b\",\"tool_input\":{},"
     "\"when\":\"$step_1_result.urgent\"}]}"},
    {"an answer", "steps: [{ id: 1, tool: a }]\nanswer: $step_1_result\n",
     "{\"steps\":[{\"step_id\":1,\"description\":\"a\",\"tool_name\":\"a\",\"tool_input\":{}}],"
     "\"answer\":[\"$step_1_result\"]}"},
    {"a list of answers", "steps: [{ id: 1, tool: a }]\nanswer: [$step_1_result, none]\n",
     "{\"steps\":[{\"step_id\":1,\"description\":\"a\",\"tool_name\":\"a\",\"tool_input\":{}}],"
     "\"answer\":[\"$step_1_result\",\"none\"]}"},
    {"a command without references", "steps: [{ id: 1, tool: exec, input: { command: ls } }]\n",
     "{\"steps\":[{\"step_id\":1,\"description\":\"exec\",\"tool_name\":\"exec\","
     "\"tool_input\":{\"command\":\"ls\"}}]}"},
};

static void test_good(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(good); i++) {
        CH_ARENA_AUTO a = {0};
        struct chela_error err = {0};
        int rc;
        const char *got_json = load(&a, good[i].text, &rc, &err);
        if (!got_json || strcmp(got_json, good[i].want) != 0)
            fail_msg("%s: %s", good[i].name, got_json ? got_json : err.message);
    }
}

/* at: line and column in the message; "": the problem has no place in the file. */
static const struct {
    const char *name, *text, *at, *why;
} bad[] = {
    {"an empty file", "", "", "a plan is a mapping with a list `steps`"},
    {"a list", "- { id: 1, tool: a }\n", ":1:1: ", "a plan is a mapping with a list `steps`"},
    {"steps that are no list", "steps: { id: 1, tool: a }\n", ":1:1: ", "with a list `steps`"},
    {"no steps", "steps: []\n", "", "the plan has no steps"},
    {"an unknown key of the plan", "steps: [{ id: 1, tool: a }]\nanswers: x\n", ":2:1: ",
     "unknown key 'answers'; known: steps answer"},
    {"an unknown key of a step", "steps:\n  - id: 1\n    tool: a\n    inputs: {}\n", ":4:5: ",
     "unknown key 'inputs'"},
    {"a part of a known key", "steps: [{ id: 1, tool: a, step: 1 }]\n", ":1:",
     "unknown key 'step'"},
    {"a step that is a text", "steps:\n  - a\n", ":2:5: ", "a step is a mapping"},
    {"a tool and a question", "steps:\n  - { id: 1, tool: a, ask: b }\n", ":2:5: ",
     "either `tool` or `ask`"},
    {"no tool and no question", "steps:\n  - { id: 1 }\n", ":2:5: ", "either `tool` or `ask`"},
    {"a tool that is a number", "steps:\n  - { id: 1, tool: 5 }\n", ":2:20: ", "expected a text"},
    {"a question that is a list", "steps:\n  - { id: 1, ask: [b] }\n", ":2:19: ",
     "expected a text"},
    {"an answer that is a mapping", "steps: [{ id: 1, tool: a }]\nanswer: { x: 1 }\n", ":2:9: ",
     "`answer` is a text or a list of texts"},
    {"a number among the answers", "steps: [{ id: 1, tool: a }]\nanswer: [x, 1]\n", ":2:13: ",
     "`answer` is a text or a list of texts"},
    {"no id", "steps: [{ tool: a }]\n", "", "step_id must be a number"},
    {"an id twice", "steps: [{ id: 1, tool: a }, { id: 1, tool: b }]\n", "", "is there twice"},
    {"a text as input", "steps: [{ id: 1, tool: a, input: x }]\n", "",
     "tool_input must be an object"},
    {"a later step", "steps: [{ id: 1, tool: a, needs: [2] }, { id: 2, tool: b }]\n", "",
     "which comes later"},
    {"a missing step", "steps: [{ id: 1, tool: a, input: { x: $step_3_result } }]\n", "",
     "step 3, which does not exist"},
    {"the request in a command", "steps: [{ id: 1, tool: exec, input: { command: $request } }]\n",
     "", "the request must not stand in a command line"},
    {"an unknown condition",
     "steps: [{ id: 1, tool: a, when: { value: $request, like: x } }]\n", "", "step 1: when: "},
};

static void test_bad(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO begin = {0};
        struct chela_error err = {0};
        int rc;
        ch_buf_addf(&begin, "%s%s", path, bad[i].at[0] ? bad[i].at : ":");
        load(&a, bad[i].text, &rc, &err);
        if (rc != CHELA_EINVAL || !strstr(err.message, bad[i].why) ||
            strncmp(err.message, ch_buf_str(&begin), begin.n) != 0)
            fail_msg("%s: %d, %s", bad[i].name, rc, err.message);
    }
}

static void test_no_file(void **state) {
    CH_ARENA_AUTO a = {0};
    struct chela_error err = {0};
    const struct ch_json *v = NULL;
    (void)state;
    unlink(path);
    assert_true(ch_fixed_plan_load(&a, path, &v, &err) < 0);
    assert_non_null(strstr(err.message, path));
    assert_null(v);
}

static void test_broken_yaml(void **state) {
    CH_ARENA_AUTO a = {0};
    struct chela_error err = {0};
    int rc;
    (void)state;
    load(&a, "steps: [\n  { id: 1\n", &rc, &err);
    assert_true(rc < 0);
    assert_non_null(strstr(err.message, path));
}

/* Writes a plan of n steps into `out`. */
static void write_steps(struct ch_buf *out, int n) {
    ch_buf_add_str(out, "steps:\n");
    for (int i = 1; i <= n; i++)
        ch_buf_addf(out, "  - { id: %d, tool: a }\n", i);
}

static void test_most_steps(void **state) {
    (void)state;
    for (int over = 0; over <= 1; over++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO text = {0};
        struct chela_error err = {0};
        int rc;
        write_steps(&text, CH_LIMIT_PLAN_STEPS + over);
        load(&a, ch_buf_str(&text), &rc, &err);
        assert_int_equal(rc, over ? CHELA_EINVAL : 0);
        if (over)
            assert_non_null(strstr(err.message, "too many"));
    }
}

/* Fills the file with a comment up to the limit, and one byte beyond. */
static void test_longest_file(void **state) {
    (void)state;
    for (size_t over = 0; over <= 1; over++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO text = {0};
        struct chela_error err = {0};
        int rc;
        write_steps(&text, 1);
        ch_buf_addc(&text, '#');
        while (text.n < CH_LIMIT_PLAN_FILE + over)
            ch_buf_addc(&text, 'x');
        load(&a, ch_buf_str(&text), &rc, &err);
        if (over ? rc >= 0 : rc != 0)
            fail_msg("%zu bytes: %d, %s", text.n, rc, err.message);
        if (over)
            assert_non_null(strstr(err.message, path));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_no_file),     cmocka_unit_test(test_broken_yaml),
        cmocka_unit_test(test_most_steps),  cmocka_unit_test(test_longest_file),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
