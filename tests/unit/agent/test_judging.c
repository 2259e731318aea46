/* test_judging.c -- what the reflector is asked, and what follows from its scores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/stage.h"

#define SCORE(n) "{\"score\":" #n ",\"reason\":\"r\"}"
#define JUDGED(n, action, more)                                                              \
    "{\"evaluation\":{\"completeness\":" SCORE(n) ",\"correctness\":" SCORE(n)               \
    ",\"format\":" SCORE(n) "},\"overall_pass\":false,\"action\":\"" action "\"" more "}"

#define ADVICE ",\"retry_details\":{\"modification\":\"name the source\"}"

static void open_with(struct stage *st, enum chela_reflection how, const char *tools,
                      const struct fake_reply *replies, size_t n) {
    struct chela_planning_opts planning =
        CHELA_PLANNING_OPTS(.reflection = how, .reflect_tools = tools);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.planning = &planning);
    stage_open(st, &opts, replies, n);
    stage_tool(st, "save", 0);
}

static const char *request(const struct stage *st, size_t i) {
    assert_true(i < st->model.nrequests);
    return ch_buf_str(&st->model.requests[i]);
}

/* A bad answer goes back with the advice; a good one is the run's. */
static void test_answers(void **state) {
    CH_ARENA_AUTO arena = {0};
    const struct fake_reply replies[] = {
        fake_say(&arena, "first"),
        fake_say(&arena, JUDGED(2, "replan", ADVICE)),
        fake_say(&arena, "second"),
        fake_say(&arena, JUDGED(5, "accept", "")),
    };
    struct stage st;
    (void)state;
    open_with(&st, CHELA_REFLECTION_EXPLICIT, NULL, replies, CH_LEN(replies));
    stage_play(&st, "why is it blue");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_int_equal(st.model.nrequests, 4);
    assert_non_null(strstr(request(&st, 1), "why is it blue"));
    assert_non_null(strstr(request(&st, 1), "first"));
    assert_non_null(strstr(request(&st, 2), "Do it differently: name the source"));
    assert_string_equal(ch_buf_str(&st.run->text), "second");
    stage_close(&st);
}

static void test_escalation_is_the_answer(void **state) {
    static const struct {
        const char *more, *text;
    } cases[] = {{",\"question\":\"shall I stop?\"", "shall I stop?"},
                 {"", "This did not work out. How shall I go on?"}};
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO arena = {0};
        const char *judged =
            i == 0 ? JUDGED(1, "escalate", ",\"question\":\"shall I stop?\"")
                   : JUDGED(1, "escalate", "");
        const struct fake_reply replies[] = {fake_say(&arena, "bad"), fake_say(&arena, judged)};
        struct stage st;
        open_with(&st, CHELA_REFLECTION_EXPLICIT, NULL, replies, CH_LEN(replies));
        stage_play(&st, "go");
        assert_string_equal(stage_verdict(&st), "declined/escalated");
        assert_string_equal(ch_buf_str(&st.run->text), cases[i].text);
        stage_close(&st);
    }
}

/* Results of listed tools and of failed calls are judged; others are not. */
static void test_which_results(void **state) {
    static const struct {
        enum chela_reflection how;
        const char *tools, *call;
        bool judged;
    } cases[] = {
        {CHELA_REFLECTION_DEFAULT, NULL, "save", false},
        {CHELA_REFLECTION_DEFAULT, "sa*", "save", true},
        {CHELA_REFLECTION_DEFAULT, "load", "save", false},
        {CHELA_REFLECTION_ON_ERROR, NULL, "save", false},
        {CHELA_REFLECTION_ON_ERROR, NULL, "fly", true},
        {CHELA_REFLECTION_IMPLICIT, NULL, "fly", false},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO arena = {0};
        bool known = strcmp(cases[i].call, "save") == 0;
        const struct fake_reply call = {.body = known ? A_USE("c1", "save", "{}")
                                                      : A_USE("c1", "fly", "{}")};
        const struct fake_reply judged[] = {call, fake_say(&arena, JUDGED(5, "accept", "")),
                                            fake_say(&arena, "done")};
        const struct fake_reply plain[] = {call, fake_say(&arena, "done")};
        struct stage st;
        open_with(&st, cases[i].how, cases[i].tools, cases[i].judged ? judged : plain,
                  cases[i].judged ? 3 : 2);
        stage_play(&st, "go");
        assert_string_equal(stage_verdict(&st), "done/task_completed");
        bool asked = strstr(ch_buf_str(&st.log), "reflection") != NULL;
        if (asked != cases[i].judged)
            fail_msg("case %zu: %s", i, ch_buf_str(&st.log));
        stage_close(&st);
    }
}

/* Without a valid judgement the answer counts, and a warning says so. */
static void test_a_judge_that_fails(void **state) {
    CH_ARENA_AUTO arena = {0};
    const struct fake_reply replies[] = {fake_say(&arena, "first"), fake_say(&arena, "fine"),
                                         fake_say(&arena, "really")};
    struct stage st;
    (void)state;
    open_with(&st, CHELA_REFLECTION_EXPLICIT, NULL, replies, CH_LEN(replies));
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_string_equal(ch_buf_str(&st.run->text), "first");
    assert_non_null(strstr(ch_buf_str(&st.log), "warning"));
    stage_close(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_escalation_is_the_answer),
        cmocka_unit_test(test_which_results),
        cmocka_unit_test(test_a_judge_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
