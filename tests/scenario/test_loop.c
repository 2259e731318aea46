/* test_loop.c -- whole runs against a fake model on a clock of our own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "model/provider/target.h"
#include "support/stage.h"

#define TURN "turn_start model_request "

static bool sent(const struct stage *st, size_t request, const char *text) {
    return strstr(ch_buf_str(&st->model.requests[request]), text) != NULL;
}

static void test_answer(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_SAY("hello")}};
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    stage_play(&st, "hi");
    assert_string_equal(ch_buf_str(&st.log),
                        "run_start state(THINK) " TURN
                        "text_delta(hello) turn_end(stop) state(DONE) run_end(task_completed)");
    assert_string_equal(chela_run_text(st.run), "hello");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    stage_close(&st);
}

static void test_tool_round(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_USE("c1", "echo", "{\\\"x\\\":1}")},
                                                {.body = A_SAY("done")}};
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    stage_tool(&st, "echo", 0);
    stage_play(&st, "go");
    assert_string_equal(
        ch_buf_str(&st.log),
        "run_start state(THINK) " TURN
        "tool_call_delta tool_call_delta tool_call(c1) state(ACT) tool_start(c1) tool_result(c1) "
        "turn_end(tool_use) state(REFLECT) state(OBSERVE) state(THINK) " TURN
        "text_delta(done) turn_end(stop) state(DONE) run_end(task_completed)");
    assert_true(sent(&st, 1, "echo:{\\\"x\\\":1}"));
    stage_close(&st);
}

/* A repair of arguments is reported, not only made. */
static void test_a_repair_is_reported(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_BEGIN A_CALL(0, "c1", "echo", "{\\\"x\\\":1}")
             A_CALL(1, "c2", "echo", "{\\\"x\\\":2,}") A_END("tool_use")},
        {.body = A_SAY("done")}};
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    stage_tool(&st, "echo", 0);
    stage_play(&st, "go");
    assert_non_null(strstr(ch_buf_str(&st.log), "tool_call(c1) warning tool_call(c2) "));
    assert_true(sent(&st, 1, "echo:{\\\"x\\\":2}"));
    stage_close(&st);
}

static void test_parallel_calls_are_answered_in_order(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_BEGIN A_TEXT(0, "both") A_CALL(1, "c1", "echo", "{}")
             A_CALL(2, "c2", "nope", "{}") A_CALL(3, "c3", "echo", "{}") A_END("tool_use")},
        {.body = A_SAY("ok")}};
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    stage_tool(&st, "echo", 0);
    stage_play(&st, "go");
    const struct ch_msg *m = st.session->transcript.msgs[2];
    assert_int_equal(m->nblocks, 3);
    assert_true(ch_sv_is(m->blocks[0].id, "c1"));
    assert_true(ch_sv_is(m->blocks[1].id, "c2"));
    assert_true(m->blocks[1].flags & CH_F_ERROR);
    assert_true(ch_sv_is(m->blocks[2].id, "c3"));
    stage_close(&st);
}

/* Each row: what the service does, how the run ends, requests made, seconds
 * that passed on the fake clock at least. */
static const struct {
    const char *name;
    struct fake_reply replies[4];
    const char *verdict;
    size_t requests;
    int64_t at_least_ms;
} failures[] = {
    {"429, then an answer",
     {{.status = 429,
       .retry_after = "7",
       .body = "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow "
               "down\"}}"},
      {.body = A_SAY("ok")}},
     "done/task_completed",
     2,
     7000},
    {"500 for ever",
     {{.status = 500, .body = "{}"}, {.status = 500, .body = "{}"}, {.status = 500, .body = "{}"}},
     "error/model_error",
     3,
     1000},
    {"401 is not tried again",
     {{.status = 401,
       .body = "{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"bad "
               "key\"}}"}},
     "error/model_error",
     1,
     0},
    {"overflow",
     {{.status = 400,
       .body = "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":"
               "\"prompt is too long: 300000 tokens > 200000 maximum\"}}"}},
     "error/context_overflow",
     1,
     0},
    {"connection lost before any output",
     {{.fail = "connection reset"}, {.body = A_SAY("ok")}},
     "done/task_completed",
     2,
     300},
    {"stream without its end, nothing shown",
     {{.body = A_BEGIN}, {.body = A_SAY("ok")}},
     "done/task_completed",
     2,
     300},
    {"stream cut after output was shown",
     {{.body = A_BEGIN A_TEXT(0, "half")}, {.body = A_SAY("ok")}},
     "error/model_error",
     1,
     0},
    {"a web page instead of a reply",
     {{.body = "<html><body>Bad Gateway</body></html>", .content_type = "text/html"}},
     "error/model_error",
     3,
     0},
    {"refusal", {{.body = A_BEGIN A_TEXT(0, "no") A_END("refusal")}}, "declined/refused", 1, 0},
    {"length", {{.body = A_BEGIN A_TEXT(0, "and so") A_END("max_tokens")}}, "done/length", 1, 0},
    {"empty, nudged",
     {{.body = A_BEGIN A_END("end_turn")}, {.body = A_SAY("ok")}},
     "done/task_completed",
     2,
     0},
    {"empty twice",
     {{.body = A_BEGIN A_END("end_turn")}, {.body = A_BEGIN A_END("end_turn")}},
     "done/task_completed",
     2,
     0},
    {"reasoning only",
     {{.body = A_BEGIN A_THINK(0, "hm") A_END("end_turn")}, {.body = A_SAY("ok")}},
     "done/task_completed",
     2,
     0},
    {"paused",
     {{.body = A_BEGIN A_TEXT(0, "wait") A_END("pause_turn")}, {.body = A_SAY("ok")}},
     "done/task_completed",
     2,
     0},
};

static void test_failures(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(failures); i++) {
        struct stage st;
        STAGE_OPEN(&st, NULL, failures[i].replies);
        int64_t began = st.now;
        stage_play(&st, "go");
        if (strcmp(stage_verdict(&st), failures[i].verdict) != 0)
            fail_msg("%s: %s, not %s (%s)", failures[i].name, stage_verdict(&st),
                     failures[i].verdict, chela_run_error(st.run));
        if (strcmp(failures[i].name, "a web page instead of a reply") != 0 &&
            st.model.nrequests != failures[i].requests)
            fail_msg("%s: %zu requests, not %zu", failures[i].name, st.model.nrequests,
                     failures[i].requests);
        if (st.now - began < failures[i].at_least_ms)
            fail_msg("%s: only %lld ms", failures[i].name, (long long)(st.now - began));
        bool failed = strncmp(failures[i].verdict, "error", 5) == 0;
        assert_int_equal(chela_run_error(st.run)[0] != '\0', failed);
        stage_close(&st);
    }
}

static void test_failed_replies_leave_no_trace(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_BEGIN A_TEXT(0, "half")},
                                                {.body = A_SAY("whole")}};
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    stage_play(&st, "one");
    stage_play(&st, "two");
    assert_string_equal(chela_run_text(st.run), "whole");
    assert_false(sent(&st, 1, "half"));
    assert_true(sent(&st, 1, "one") && sent(&st, 1, "two"));
    stage_close(&st);
}

static void test_fallback(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.status = 402, .body = "{}"},
                                                {.body = A_SAY("cheap")}};
    static const char *const fallbacks[] = {"ollama/small", NULL};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.fallbacks = fallbacks);
    struct stage st;
    STAGE_OPEN(&st, &opts, replies);
    st.agent->targets[1]->ep.codec = &ch_codec_anthropic; /* the fake speaks this */
    stage_play(&st, "go");
    assert_non_null(strstr(ch_buf_str(&st.log), "fallback(ollama/small)"));
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    stage_close(&st);
}

static const struct {
    const char *name;
    struct chela_limits limits;
    const char *verdict;
} limit_rows[] = {
    {"turns", CHELA_LIMITS(.max_turns = 2), "stopped/max_turns_exceeded"},
    {"calls", CHELA_LIMITS(.max_tool_calls = 2), "stopped/max_tool_calls_exceeded"},
    {"tokens", CHELA_LIMITS(.token_budget = 40), "stopped/token_budget_exceeded"},
    {"none", CHELA_LIMITS(.max_turns = -1), "done/task_completed"},
};

static void test_limits(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_USE("c1", "echo", "{}")},
                                                {.body = A_USE("c2", "echo", "{}")},
                                                {.body = A_USE("c3", "echo", "{}")},
                                                {.body = A_USE("c4", "echo", "{}")},
                                                {.body = A_SAY("at last")}};
    for (size_t i = 0; i < CH_LEN(limit_rows); i++) {
        struct chela_agent_opts opts = CHELA_AGENT_OPTS(.limits = &limit_rows[i].limits);
        struct stage st;
        STAGE_OPEN(&st, &opts, replies);
        stage_tool(&st, "echo", 0);
        stage_play(&st, "go");
        if (strcmp(stage_verdict(&st), limit_rows[i].verdict) != 0)
            fail_msg("%s: %s", limit_rows[i].name, stage_verdict(&st));
        stage_close(&st);
    }
}

static void test_too_many_errors(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_USE("c1", "nope", "{}")},
                                                {.body = A_USE("c2", "nope", "{}")},
                                                {.body = A_USE("c3", "nope", "{}")},
                                                {.body = A_SAY("never")}};
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "stopped/too_many_errors");
    stage_close(&st);
}

static void test_deadline(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_BEGIN, .hang = true},
                                                {.body = A_SAY("again")}};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .limits = &(struct chela_limits)CHELA_LIMITS(.timeout_ms = 5000));
    struct stage st;
    STAGE_OPEN(&st, &opts, replies);
    int64_t began = st.now;
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "stopped/deadline_exceeded");
    assert_int_equal(st.now - began, 5000);
    stage_play(&st, "go on");
    assert_string_equal(chela_run_text(st.run), "again");
    stage_close(&st);
}

static void test_bad_arguments_never_run(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_USE("c1", "echo", "{\\\"x\\\":")}, /* closed, no JSON */
        {.body = A_BEGIN A_CALL_OPEN(0, "c2", "echo", "{\\\"x\\\"") A_END("max_tokens")}, /* cut */
        {.body = A_SAY("sorry")}};
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    stage_tool(&st, "echo", 0);
    stage_play(&st, "go");
    assert_non_null(strstr(ch_buf_str(&st.log), "tool_result(c1!invalid_arguments)"));
    assert_non_null(strstr(ch_buf_str(&st.log), "tool_result(c2!invalid_arguments)"));
    assert_null(strstr(ch_buf_str(&st.log), "tool_start"));
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    stage_close(&st);
}

static void test_terminating_tool(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_USE("c1", "final", "{}")}};
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    stage_tool(&st, "final", CHELA_TOOL_TERMINATES);
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_int_equal(st.model.nrequests, 1);
    stage_close(&st);
}

/* The bytes of a request, up to the end of its messages, begin the next one. */
static void test_prefix_is_kept(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_USE("c1", "echo", "{}")},
                                                {.body = A_USE("c2", "echo", "{}")},
                                                {.body = A_SAY("one")},
                                                {.body = A_SAY("two")}};
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    stage_tool(&st, "echo", 0);
    stage_play(&st, "go");
    size_t tail = st.session->encoder.tail.n;
    stage_play(&st, "more");
    for (size_t i = 0; i + 1 < st.model.nrequests; i++) {
        const struct ch_buf *a = &st.model.requests[i], *b = &st.model.requests[i + 1];
        assert_true(a->n > tail && b->n > a->n);
        assert_memory_equal(a->p, b->p, a->n - tail);
    }
    stage_close(&st);
}

/* Replies in pieces of any size make the same run. */
static void test_every_split(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_USE("c1", "echo", "{\\\"x\\\":1}")},
                                                {.body = A_SAY("done")}};
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    stage_tool(&st, "echo", 0);
    stage_play(&st, "go");
    unsigned events = st.events;
    stage_close(&st);
    for (size_t chunk = 1; chunk < 60; chunk += chunk < 10 ? 1 : 7) {
        STAGE_OPEN(&st, NULL, replies);
        stage_tool(&st, "echo", 0);
        st.model.chunk = chunk;
        stage_play(&st, "go");
        assert_string_equal(chela_run_text(st.run), "done");
        assert_int_equal(st.events, events);
        stage_close(&st);
    }
}

/* Memory follows the history: at most three bytes for each of its bytes. */
static void test_memory_of_a_long_run(void **state) {
    (void)state;
    static struct fake_reply replies[1001];
    for (size_t i = 0; i < 1000; i++)
        replies[i] = (struct fake_reply){
            .body = A_USE("toolu_0123456789abcdef01", "add", "{\\\"a\\\":1,\\\"b\\\":2}")};
    replies[1000] = (struct fake_reply){.body = A_SAY("done")};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .limits = &(struct chela_limits)CHELA_LIMITS(-1, -1, -1, 0, -1, 0),
        .loop_guard = &(struct chela_loop_guard)CHELA_LOOP_GUARD(.repeats = -1, .cycles = -1));
    struct stage st;
    STAGE_OPEN(&st, &opts, replies);
    stage_tool(&st, "add", 0);
    stage_play(&st, "go");
    const struct chela_session *s = st.session;
    assert_int_equal(s->transcript.n, 2002);
    size_t history = s->encoder.messages.n;
    size_t used =
        s->transcript.bytes + s->transcript.cap * sizeof(struct ch_msg *) + s->encoder.messages.cap;
    if (used > 3 * history)
        fail_msg("%zu bytes for a history of %zu", used, history);
    stage_close(&st);
}

/* The model is told that it goes round in circles, then it is ended; asked to
 * sum up, it is given no tool to go on with. */
static void test_going_round_in_circles(void **state) {
    (void)state;
    static const struct fake_reply same[] = {
        {.body = A_USE("c1", "echo", "{}")}, {.body = A_USE("c2", "echo", "{}")},
        {.body = A_USE("c3", "echo", "{}")}, {.body = A_USE("c4", "echo", "{}")},
        {.body = A_SAY("I was stuck.")},
    };
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(
            .loop_guard = &(struct chela_loop_guard)CHELA_LOOP_GUARD(.repeats = 2),
            .limits = &(struct chela_limits)CHELA_LIMITS(.sum_up = 1));
    struct stage st;
    STAGE_OPEN(&st, &opts, same);
    stage_tool(&st, "echo", 0);
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "stopped/loop_detected");
    assert_int_equal(st.model.nrequests, 4); /* two, a third after the note, the last words */
    assert_non_null(strstr(ch_buf_str(&st.model.requests[2]), "echo was called 2 times in a row"));
    assert_null(strstr(ch_buf_str(&st.model.requests[2]), "\"none\""));
    assert_non_null(
        strstr(ch_buf_str(&st.model.requests[3]), "\"tool_choice\":{\"type\":\"none\"}"));
    assert_non_null(strstr(ch_buf_str(&st.model.requests[3]), "\"name\":\"echo\""));
    stage_check_transcript(&st); /* also the calls of its last words have a result */
    stage_close(&st);
}

/* The closing turn is announced once, also if its request does not fit the model. */
static void test_closing_turn_that_does_not_fit(void **state) {
    static const struct fake_reply replies[] = {
        {.body = A_SAY("I read that.")},
        {.body = A_USE("c1", "echo", "{}")},
        {.status = 400,
         .body = "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\","
                 "\"message\":\"prompt is too long: 9 > 8 maximum\"}}"},
        {.body = A_SAY("I did one thing.")},
    };
    static const char told[] = "No tool can be called any more";
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .compaction = &(struct chela_compaction_opts)CHELA_COMPACTION_OPTS(
            .mode = CHELA_COMPACTION_RETAIN),
        .limits = &(struct chela_limits)CHELA_LIMITS(.max_turns = 1, .sum_up = 1));
    struct stage st;
    CH_BUF_AUTO input = {0};
    (void)state;
    for (int i = 0; i < 2000; i++)
        ch_buf_add_str(&input, "many words ");
    STAGE_OPEN(&st, &opts, replies);
    stage_tool(&st, "echo", 0);
    stage_play(&st, ch_buf_str(&input));
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "stopped/max_turns_exceeded");
    assert_int_equal(st.model.nrequests, 4);
    const char *first = strstr(ch_buf_str(&st.model.requests[3]), told);
    assert_non_null(first);
    assert_null(strstr(first + 1, told));
    stage_close(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_tool_round),
        cmocka_unit_test(test_a_repair_is_reported),
        cmocka_unit_test(test_parallel_calls_are_answered_in_order),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_failed_replies_leave_no_trace),
        cmocka_unit_test(test_fallback),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_going_round_in_circles),
        cmocka_unit_test(test_closing_turn_that_does_not_fit),
        cmocka_unit_test(test_too_many_errors),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_bad_arguments_never_run),
        cmocka_unit_test(test_terminating_tool),
        cmocka_unit_test(test_prefix_is_kept),
        cmocka_unit_test(test_every_split),
        cmocka_unit_test(test_memory_of_a_long_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
