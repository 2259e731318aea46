/* test_agent_parts.c -- the schema of an agent's answer, and closing an agent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/session/agent_parts.h"
#include "support/stage.h"

#define OBJECT "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}"
#define ARRAY "{\"type\":\"array\"}"

static const struct fake_reply hang[] = {{.hang = true}};

static const struct {
    const char *name, *schema;
    enum chela_output_by by;
    bool output, tool;
    const char *why; /* NULL: accepted */
} cases[] = {
    {"free text", NULL, CHELA_OUTPUT_BY_DEFAULT, false, false, NULL},
    {"free text, whatever the way", NULL, CHELA_OUTPUT_BY_TOOL, false, false, NULL},
    {"an object", OBJECT, CHELA_OUTPUT_BY_DEFAULT, true, true, NULL},
    {"an object by a tool", OBJECT, CHELA_OUTPUT_BY_TOOL, true, true, NULL},
    {"an object by the prompt", OBJECT, CHELA_OUTPUT_BY_PROMPT, true, false, NULL},
    {"a list", ARRAY, CHELA_OUTPUT_BY_AUTO, true, false, NULL},
    {"a list by a tool", ARRAY, CHELA_OUTPUT_BY_TOOL, false, false, "only an object"},
    {"no JSON", "{", CHELA_OUTPUT_BY_AUTO, false, false, "the schema of the answer"},
    {"an unknown way", OBJECT, (enum chela_output_by)99, false, false, "output_by"},
};

static void test_output(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct stage st;
        struct chela_error err = {0};
        STAGE_OPEN(&st, NULL, hang);
        int rc = ch_agent_output(st.agent, cases[i].schema, cases[i].by, &err);
        const struct ch_tool *t =
            ch_registry_find(&st.agent->registry, CH_SV(CH_OUTPUT_TOOL));
        if (rc != (cases[i].why ? CHELA_EINVAL : 0) || (t != NULL) != cases[i].tool ||
            (st.agent->output != NULL) != cases[i].output)
            fail_msg("%s: %d, %s", cases[i].name, rc, err.message);
        if (cases[i].why && !strstr(err.message, cases[i].why))
            fail_msg("%s: %s", cases[i].name, err.message);
        if (t)
            assert_true(t->flags & CHELA_TOOL_TERMINATES);
        stage_close(&st);
    }
}

/* A tool of the host has the name already. */
static void test_name_is_taken(void **state) {
    struct stage st;
    struct chela_error err = {0};
    (void)state;
    STAGE_OPEN(&st, NULL, hang);
    stage_tool(&st, CH_OUTPUT_TOOL, 0);
    assert_true(ch_agent_output(st.agent, OBJECT, CHELA_OUTPUT_BY_TOOL, &err) < 0);
    assert_non_null(strstr(err.message, CH_OUTPUT_TOOL));
    stage_close(&st);
}

/* The sessions are closed at once; the memory is freed later. */
static void test_close(void **state) {
    struct stage st;
    chela_session *second;
    (void)state;
    STAGE_OPEN(&st, NULL, hang);
    assert_int_equal(chela_session_new(st.agent, "t", &second, NULL), 0);
    ch_agent_close(st.agent);
    assert_true(st.session->closed);
    assert_true(second->closed);
    assert_null(CH_LIST_FIRST(&st.agent->sessions, chela_session, link));
    assert_null(CH_LIST_FIRST(&st.rt->agents, chela_agent, link));
    assert_ptr_equal(CH_LIST_FIRST(&st.rt->closed.agents, chela_agent, link), st.agent);
    ch_loop_tick(st.rt->loop);
    assert_null(CH_LIST_FIRST(&st.rt->closed.agents, chela_agent, link));
    stage_close(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output),
        cmocka_unit_test(test_name_is_taken),
        cmocka_unit_test(test_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
