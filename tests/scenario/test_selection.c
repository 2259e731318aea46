/* test_selection.c -- many tools: what requests describe over whole sessions,
 * questions to people, and what tools remember. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/arena.h"
#include "support/stage.h"
#include "json/json.h"

/* The names of the tools that a request describes, each followed by a blank. */
static void described(const struct stage *st, size_t request, struct ch_buf *out) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *body;

    ch_buf_clear(out);
    assert_int_equal(ch_json_parse(&arena, ch_buf_sv(&st->model.requests[request]), CH_JSON_STRICT,
                                   &body, NULL, NULL),
                     0);
    for (CH_JSON_EACH(tool, ch_json_get(body, "tools")))
        ch_buf_addf(out, "%.*s ", CH_SV_FMT(ch_json_get_str(tool, "name")));
}

static void check_described(const struct stage *st, size_t request, const char *want) {
    CH_BUF_AUTO got = {0};
    described(st, request, &got);
    assert_string_equal(ch_buf_str(&got), want);
}

/* n tools with a word of their own each, and one that bakes bread. */
static void add_tools(struct stage *st, size_t n) {
    stage_tool(st, "bake_bread", 0);
    for (size_t i = 1; i < n; i++) {
        char name[32];
        snprintf(name, sizeof(name), "lever%zu", i);
        stage_tool(st, name, 0);
    }
}

/* The journal, the events and the tool see the call that call_tool stands for. */
static void test_two_stages(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_USE("c1", "find_tools", "{\\\"names\\\":[\\\"bake_bread\\\"]}")},
        {.body = A_USE("c2", "call_tool", "{\\\"name\\\":\\\"bake_bread\\\"}")},
        {.body = A_SAY("done")},
        {.body = A_USE("c3", "find_tools", "{\\\"query\\\":\\\"lever7\\\"}")},
        {.body = A_SAY("done")}};
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    add_tools(&st, 60);
    stage_play(&st, "bake something");
    assert_non_null(strstr(ch_buf_str(&st.model.requests[0]), "\\n- lever1: "));
    assert_non_null(strstr(ch_buf_str(&st.model.requests[1]), "{\\\"name\\\":\\\"bake_bread\\\""));
    stage_play(&st, "now a lever");
    for (size_t i = 0; i < 5; i++)
        check_described(&st, i, "find_tools call_tool ");
    stage_check_transcript(&st);
    stage_close(&st);
}

/* Head and messages of a request are a prefix of the next one's as long as no
 * tool was added, whatever the input was. */
static void test_prefix(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_USE("c1", "bake_bread", "{}")},
                                                {.body = A_SAY("one")},
                                                {.body = A_USE("c2", "bake_bread", "{}")},
                                                {.body = A_SAY("two")}};
    const struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .toolset = &(struct chela_toolset_opts)CHELA_TOOLSET_OPTS(
            .selection = CHELA_SELECTION_TOPK, .selection_size = 3));
    struct stage st;
    STAGE_OPEN(&st, &opts, replies);
    add_tools(&st, 30);
    stage_play(&st, "bake bread");
    stage_play(&st, "bake more bread");
    for (size_t i = 0; i < 4; i++)
        check_described(&st, i, "find_tools call_tool bake_bread ");
    for (size_t i = 0; i + 1 < 4; i++) {
        const char *a = ch_buf_str(&st.model.requests[i]),
                   *b = ch_buf_str(&st.model.requests[i + 1]);
        size_t head = (size_t)(strstr(a, "\"messages\"") - a);
        assert_memory_equal(a, b, head);
    }
    stage_close(&st);
}

static void test_other_inputs_change_no_tools(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_SAY("one")}, {.body = A_SAY("two")}};
    const struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(
            .tool_choice = "lever4",
            .toolset = &(struct chela_toolset_opts)CHELA_TOOLSET_OPTS(
                .selection = CHELA_SELECTION_TOPK, .selection_size = 1));
    struct stage st;
    STAGE_OPEN(&st, &opts, replies);
    add_tools(&st, 30);
    stage_play(&st, "bake bread");
    stage_play(&st, "pull lever9");
    /* a choice must be described */
    check_described(&st, 0, "find_tools call_tool bake_bread lever4 ");
    check_described(&st, 1, "find_tools call_tool bake_bread lever4 ");
    stage_close(&st);
}

/* A hook that names tools for a turn is obeyed, and changes nothing else. */
static enum chela_flow only_two(chela_run *run, struct chela_turn_patch *patch, void *user) {
    (void)run, (void)user;
    if (patch->turn == 1)
        patch->tools = "lever1,lever2";
    return CHELA_GO;
}

static void test_hook(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_USE("c1", "lever1", "{}")},
                                                {.body = A_SAY("two")}};
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    add_tools(&st, 60);
    assert_int_equal(
        chela_agent_hooks(st.agent, &(struct chela_hooks)CHELA_HOOKS(.before_model = only_two),
                          NULL),
        0);
    stage_play(&st, "go");
    check_described(&st, 0, "lever1 lever2 ");
    check_described(&st, 1, "find_tools call_tool ");
    stage_close(&st);
}

static void test_bad_mode(void **state) {
    (void)state;
    chela_runtime *rt;
    chela_agent *agent;
    struct chela_error err = {0};
    const struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.model = "scripted/demo",
                         .toolset = &(struct chela_toolset_opts)
                                        CHELA_TOOLSET_OPTS(.selection = (enum chela_selection)9));
    assert_int_equal(chela_runtime_new(NULL, &rt, &err), 0);
    assert_int_equal(chela_agent_new(rt, &opts, &agent, &err), CHELA_EINVAL);
    assert_non_null(strstr(err.message, "there is no selection 9"));
    chela_runtime_close(rt);
}

/* --- ask_user, todo ------------------------------------------------------------- */

static void test_question(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_USE("c1", "ask_user", "{\\\"question\\\":\\\"Which one?\\\"}")},
        {.body = A_SAY("the red one it is")}};
    const struct chela_agent_opts opts = CHELA_AGENT_OPTS(.tools = "ask_user");
    struct stage st;
    STAGE_OPEN(&st, &opts, replies);
    stage_start(&st, "choose");
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "paused/human_required");
    assert_int_equal(chela_session_answer(st.session, "c1", "red", 3, false, NULL), 0);
    assert_int_equal(chela_run_resume(st.session, NULL, NULL, NULL), 0);
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_non_null(strstr(ch_buf_str(&st.model.requests[1]), "red"));
    stage_close(&st);
}

static void answer_at_once(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_CLIENT_TOOL_REQUIRED)
        assert_int_equal(chela_session_answer(st->session, "c1", "blue", 4, false, NULL), 0);
}

static void test_answer_at_once(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_USE("c1", "ask_user", "{\\\"question\\\":\\\"Which one?\\\"}")},
        {.body = A_SAY("fine")}};
    const struct chela_agent_opts opts = CHELA_AGENT_OPTS(.tools = "ask_user");
    struct stage st;
    STAGE_OPEN(&st, &opts, replies);
    st.on_event = answer_at_once;
    stage_play(&st, "choose");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_non_null(strstr(ch_buf_str(&st.model.requests[1]), "blue"));
    stage_close(&st);
}

static void test_memory_of_a_session(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_USE("c1", "todo", "{\\\"todos\\\":[{\\\"content\\\":\\\"buy flour\\\"}]}")},
        {.body = A_SAY("noted")},
        {.body = A_USE("c2", "todo", "{}")},
        {.body = A_SAY("there")}};
    const struct chela_agent_opts opts = CHELA_AGENT_OPTS(.tools = "todo");
    struct stage st;
    STAGE_OPEN(&st, &opts, replies);
    stage_play(&st, "plan");
    stage_play(&st, "what was it?");
    const char *all = ch_buf_str(&st.model.requests[3]);
    const char *second = strstr(all, "\"c2\"");
    assert_non_null(second);
    assert_non_null(strstr(second, "buy flour"));
    stage_close(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_stages),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_other_inputs_change_no_tools),
        cmocka_unit_test(test_hook),
        cmocka_unit_test(test_bad_mode),
        cmocka_unit_test(test_question),
        cmocka_unit_test(test_answer_at_once),
        cmocka_unit_test(test_memory_of_a_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
