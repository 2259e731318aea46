/* test_builtin.c -- the prompts that come with chela keep their contracts: what
 * is put in, and the form of what comes out. Code relies on both, so a prompt
 * that drops one of them must not pass. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "prompt/prompts_builtin.h"
#include "schema/schema.h"
#include "prompt/prompts.h"
#include "prompt/tokens.h"

static struct ch_prompts all;

static int set_up(void **state) {
    struct chela_error err = {0};
    (void)state;
    if (ch_prompts_builtin(&all, &err) < 0 || ch_prompts_link(&all, &err) < 0)
        fail_msg("%s", err.message);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    ch_prompts_release(&all);
    return 0;
}

/* What code hands over; "!" marks what others wrote. */
static const struct contract {
    const char *name;
    const char *variables[10];
    const char *output[8];    /* members that an answer must have */
    const char *exits[4];     /* actions that get out of the task */
    const char *examples[3];  /* answers that fit, and must */
    const char *mistakes[5];  /* answers that do not fit */
} contracts[] = {
    {"router",
     {"targets", "rules", "!context", "!request"},
     {"reasoning", "tool_name", "tool_input", "confidence"},
     {"clarify", "refuse"},
     {"{\"reasoning\":\"r\",\"action\":\"route\",\"tool_name\":\"web_search\","
      "\"tool_input\":{\"query\":\"q\"},\"confidence\":0.9}",
      "{\"reasoning\":\"r\",\"action\":\"clarify\",\"tool_name\":\"none\",\"tool_input\":{},"
      "\"confidence\":0.2,\"question\":\"what?\"}"},
     {"{\"action\":\"route\",\"tool_name\":\"x\",\"tool_input\":{},\"confidence\":0.9}",
      "{\"reasoning\":\"r\",\"action\":\"route\",\"tool_name\":\"x\",\"tool_input\":{},"
      "\"confidence\":1.5}",
      "{\"reasoning\":\"r\",\"action\":\"answer\",\"tool_name\":\"x\",\"tool_input\":{},"
      "\"confidence\":0.9}",
      "\"Paris\""}},
    {"planner",
     {"tools", "max_steps", "!context", "!feedback", "!request"},
     {"analysis", "plan", "estimated_steps", "can_parallelize"},
     {"clarify", "refuse"},
     {"{\"analysis\":\"a\",\"action\":\"plan\",\"plan\":[{\"step_id\":1,\"description\":\"d\","
      "\"tool_name\":\"t\",\"tool_input\":{\"x\":\"$step_1_result\"},\"depends_on\":[]}],"
      "\"estimated_steps\":1,\"can_parallelize\":[]}",
      "{\"analysis\":\"a\",\"action\":\"refuse\",\"plan\":[],\"estimated_steps\":0,"
      "\"can_parallelize\":[],\"reason\":\"r\"}"},
     {"{\"analysis\":\"a\",\"action\":\"plan\",\"plan\":[{\"step_id\":1}],\"estimated_steps\":1,"
      "\"can_parallelize\":[]}",
      "{\"analysis\":\"a\",\"action\":\"plan\",\"plan\":{},\"estimated_steps\":1,"
      "\"can_parallelize\":[]}",
      "[]"}},
    {"executor",
     {"task", "tool_name", "tool_schema", "!results"},
     {"explanation"},
     {"clarify", "refuse"},
     {"{\"action\":\"call\",\"tool_call\":{\"name\":\"t\",\"arguments\":{}},\"explanation\":\"e\"}",
      "{\"action\":\"answer\",\"answer\":[1],\"explanation\":\"e\"}"},
     {"{\"action\":\"call\",\"explanation\":\"e\"}",
      "{\"action\":\"answer\",\"explanation\":\"e\"}",
      "{\"action\":\"call\",\"tool_call\":{\"name\":\"t\"},\"explanation\":\"e\"}"}},
    {"reflector",
     {"!request", "plan", "!results", "retries"},
     {"evaluation"},
     {"escalate"},
     {"{\"evaluation\":{\"completeness\":{\"score\":5,\"reason\":\"r\"},\"correctness\":{\"score\":"
      "4,\"reason\":\"r\"},\"format\":{\"score\":5,\"reason\":\"r\"}},\"overall_pass\":true,"
      "\"action\":\"accept\"}"},
     {"{\"evaluation\":{\"completeness\":{\"score\":6,\"reason\":\"r\"},\"correctness\":{\"score\":"
      "4,\"reason\":\"r\"},\"format\":{\"score\":5,\"reason\":\"r\"}},\"overall_pass\":true,"
      "\"action\":\"accept\"}",
      "{\"evaluation\":{},\"overall_pass\":true,\"action\":\"accept\"}"}},
    {"companion",
     {"name", "persona", "memory", "how", "scene", "!members", "!seen", "!new", "!working"},
     {"actions"},
     {0},
     {"{\"actions\":[]}",
      "{\"thoughts\":\"t\",\"actions\":[{\"name\":\"send_message\","
      "\"params\":{\"content\":\"c\"}}],\"request_heartbeat\":true}"},
     {"{\"thoughts\":\"t\"}", "{\"actions\":[{\"params\":{}}]}", "{\"actions\":{}}"}},
    {"listener",
     {"name", "persona", "!seen", "!new"},
     {"speak", "why"},
     {0},
     {"{\"speak\":true,\"why\":\"w\"}"},
     {"{\"speak\":\"yes\",\"why\":\"w\"}", "{\"speak\":true}"}},
    {"summariser", {"!previous", "focus", "max_words", "!conversation"}, {0}, {0}, {0}, {0}},
};

static const struct ch_prompt *named(const char *name, const char *model) {
    struct ch_prompt_query q = {.name = name, .model = model};
    struct chela_error err = {0};
    const struct ch_prompt *t = ch_prompts_pick(&all, &q, &err);
    if (!t)
        fail_msg("%s", err.message);
    return t;
}

static bool holds_text(const struct ch_prompt *t, const char *text) {
    return memmem(t->body.p, t->body.n, text, strlen(text)) != NULL;
}

static void check_variables(const struct contract *c, const struct ch_prompt *t) {
    size_t n = 0;
    for (; c->variables[n]; n++) {
        const char *name = c->variables[n] + (c->variables[n][0] == '!');
        const struct ch_prompt_variable *v = t->variables, *end = v + t->nvariables;
        while (v < end && strcmp(v->name, name) != 0)
            v++;
        if (v == end)
            fail_msg("%s has no hole {%s}", t->fingerprint, name);
        if (v->untrusted != (c->variables[n][0] == '!'))
            fail_msg("%s: {%s} is%s untrusted", t->fingerprint, name, v->untrusted ? "" : " not");
        assert_true(v->about[0]);
    }
    assert_int_equal(t->nvariables, n);
}

static void check_output(const struct contract *c, const struct ch_prompt *t) {
    const struct ch_json *required = ch_json_get(t->head.schema, "required");
    const struct ch_json *actions =
        ch_json_path(t->head.schema, "properties", "action", "enum", NULL);
    size_t n = 0;
    for (; c->output[n]; n++) {
        bool found = false;
        for (CH_JSON_EACH(e, required))
            found |= ch_sv_is(ch_json_str(e), c->output[n]);
        if (!found)
            fail_msg("%s does not require \"%s\"", t->fingerprint, c->output[n]);
    }
    if (n)
        assert_int_equal(required->n, n);
    for (size_t i = 0; c->exits[i]; i++) {
        bool found = false;
        for (CH_JSON_EACH(e, actions))
            found |= ch_sv_is(ch_json_str(e), c->exits[i]);
        if (!found)
            fail_msg("%s has no exit \"%s\"", t->fingerprint, c->exits[i]);
    }
    /* Every action that an answer may have is told to the model. */
    for (CH_JSON_EACH(e, actions)) {
        char quoted[64];
        snprintf(quoted, sizeof(quoted), "\"%.*s\"", CH_SV_FMT(ch_json_str(e)));
        if (!holds_text(t, quoted))
            fail_msg("%s does not say what %s is", t->fingerprint, quoted);
    }
}

static bool fits(const struct ch_prompt *t, const char *answer) {
    CH_ARENA_AUTO a = {0};
    CH_AUTO(ch_schema) s = NULL;
    const struct ch_json *v;
    assert_int_equal(ch_schema_new(t->head.schema, NULL, &s, NULL), 0);
    assert_int_equal(ch_json_parse(&a, ch_sv_str(answer), CH_JSON_STRICT, &v, NULL, NULL), 0);
    return ch_schema_valid(s, v);
}

static void check_role(const struct contract *c, const struct ch_prompt *t) {
    check_variables(c, t);
    check_output(c, t);
    assert_true(holds_text(t, "## Output format"));
    assert_true(t->user > 0);
    assert_true(t->head.description[0] && t->head.changelog[0]);
    for (size_t i = 0; i < CH_LEN(c->examples) && c->examples[i]; i++)
        if (!fits(t, c->examples[i]))
            fail_msg("%s refuses %s", t->fingerprint, c->examples[i]);
    for (size_t i = 0; i < CH_LEN(c->mistakes) && c->mistakes[i]; i++)
        if (fits(t, c->mistakes[i]))
            fail_msg("%s takes %s", t->fingerprint, c->mistakes[i]);
}

static void test_contracts(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(contracts); i++) {
        check_role(&contracts[i], named(contracts[i].name, NULL));
        check_role(&contracts[i], named(contracts[i].name, "deepseek/deepseek-reasoner"));
    }
    static const char *const headings[] = {"## Goal", "## Decisions", "## Facts and identifiers",
                                           "## Done", "## Open tasks"};
    const char *const *has = named("summariser", NULL)->head.headings;
    assert_non_null(has);
    for (size_t i = 0; i < CH_LEN(headings); i++)
        assert_string_equal(has[i], headings[i]);
    assert_null(has[CH_LEN(headings)]);
}

/* Rules stand first and last, data comes in the user's message and is marked,
 * and the text leaves room in a small context. */
static void test_rendered(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(contracts); i++) {
        struct ch_prompt_value values[16] = {{0}};
        CH_PROMPT_TEXT_AUTO text = {0};
        struct chela_error err = {0};
        size_t n = 0;
        for (; contracts[i].variables[n]; n++) {
            assert_true(n < CH_LEN(values));
            const char *v = contracts[i].variables[n];
            values[n] = (struct ch_prompt_value){.name = v + (*v == '!'), .text = CH_SV("VALUE")};
        }
        const struct ch_prompt *t = named(contracts[i].name, NULL);
        if (ch_prompt_render(t, values, n, &text, &err) < 0)
            fail_msg("%s", err.message);
        const char *data = strstr(ch_buf_str(&text.system), "\n## Untrusted data\n");
        assert_non_null(data);
        assert_null(strstr(data + 1, "\n## "));
        assert_null(strstr(ch_buf_str(&text.system), "[untrusted "));
        for (size_t v = 0; v < n; v++)
            if (contracts[i].variables[v][0] == '!') {
                char mark[64];
                snprintf(mark, sizeof(mark), "[untrusted %s ", values[v].name);
                assert_non_null(strstr(ch_buf_str(&text.user), mark));
            }
        if (ch_tokens(ch_buf_sv(&text.system)) > 1500)
            fail_msg("%s: %zu tokens", t->fingerprint, ch_tokens(ch_buf_sv(&text.system)));
    }
}

/* Every file below prompts/ is in the library as it is on disk. */
static void test_no_file_is_forgotten(void **state) {
    struct ch_prompts disk = {0};
    struct chela_error err = {0};
    (void)state;
    if (ch_prompts_load(&disk, "prompts", &err) < 0 || ch_prompts_link(&disk, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(disk.n, all.n);
    for (size_t i = 0; i < all.n; i++) {
        assert_string_equal(disk.list[i].prompt.fingerprint, all.list[i].prompt.fingerprint);
        assert_string_equal(disk.list[i].variant, all.list[i].variant);
    }
    for (size_t i = 0; i < CH_LEN(contracts); i++) {
        CH_BUF_AUTO path = {0};
        CH_BUF_AUTO text = {0};
        ch_buf_addf(&path, "prompts/%s/cases.yaml", contracts[i].name);
        assert_int_equal(ch_file_load(path.p, CH_LIMIT_PROMPT_FILE, &text, &err), 0);
        assert_true(ch_sv_eq(ch_buf_sv(&text), ch_prompts_builtin_cases(contracts[i].name)));
    }
    ch_prompts_release(&disk);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contracts),
        cmocka_unit_test(test_rendered),
        cmocka_unit_test(test_no_file_is_forgotten),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
