/* test_side_query.c -- one model call outside of the conversation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after the headers it needs */
#include <cmocka.h>

#include "agent/context/side_query.h"
#include "base/mem.h"
#include "base/redact.h"
#include "model/provider/target.h"
#include "support/stage.h"

#define SECRET "the-word-of-the-day"
#define FAILED(message) \
    "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"" message "\"}}"

static struct {
    bool done;
    unsigned calls;
    char text[64], failed[CHELA_ERROR_MAX];
    struct ch_usage usage;
} answer;

static void note_answer(struct ch_sv text, const char *failed, const struct ch_usage *usage,
                        void *user) {
    assert_ptr_equal(user, &answer);
    answer.done = true;
    answer.calls++;
    snprintf(answer.text, sizeof(answer.text), "%.*s", CH_SV_FMT(text));
    snprintf(answer.failed, sizeof(answer.failed), "%s", failed);
    answer.usage = *usage;
}

/* A run that has ended; the first reply is its own. */
static void open_run(struct stage *st, const struct fake_reply *reply) {
    static struct fake_reply replies[2];
    replies[0] = (struct fake_reply){.body = A_SAY("hi")};
    replies[1] = *reply;
    STAGE_OPEN(st, NULL, replies);
    stage_tool(st, "hammer", 0);
    stage_play(st, "the history");
    memset(&answer, 0, sizeof(answer));
}

static struct ch_side_query *query(struct stage *st, int64_t max_output_tokens) {
    struct ch_msg *msgs[] = {ch_msg_text(CH_MSG_USER, CH_SV("the question"), 1)};
    struct ch_side_query *q = NULL;
    struct chela_error err = {0};
    const struct ch_side_query_opts opts = {.run = st->run,
                                            .role = "judge",
                                            .target = st->agent->targets[0],
                                            .system = CH_SV("You judge."),
                                            .msgs = msgs,
                                            .n = 1,
                                            .max_output_tokens = max_output_tokens,
                                            .done = note_answer,
                                            .user = &answer};
    if (ch_side_query_start(&opts, &q, &err) < 0)
        fail_msg("%s", err.message);
    assert_non_null(q);
    assert_int_equal(answer.calls, 0); /* called later */
    return q;
}

static void finish(struct stage *st) {
    assert_int_equal(ch_loop_run(st->rt->loop, &answer.done), 0);
    for (int i = 0; i < 4; i++)
        ch_loop_tick(st->rt->loop);
    assert_int_equal(answer.calls, 1);
    assert_int_equal(st->model.nrequests, 2); /* no retry */
}

/* failed: a part of the error; NULL: no error. */
static const struct {
    const char *name;
    struct fake_reply reply;
    const char *text, *failed;
} cases[] = {
    {"a text", {.body = A_SAY("yes")}, "yes", NULL},
    {"two texts", {.body = A_BEGIN A_TEXT(0, "a") A_TEXT(1, "b") A_END("end_turn")}, "ab", NULL},
    {"reasoning is no text",
     {.body = A_BEGIN A_THINK(0, "hm") A_TEXT(1, "b") A_END("end_turn")},
     "b",
     NULL},
    {"no text", {.body = A_BEGIN A_END("end_turn")}, "", NULL},
    {"an error", {.status = 500, .body = FAILED("overheated")}, "", "overheated"},
    {"an error that a run would repeat",
     {.status = 429, .body = FAILED("too many"), .retry_after = "1"},
     "",
     "too many"},
    {"a broken connection", {.body = A_BEGIN, .fail = "connection reset"}, "", "connection reset"},
    {"no connection", {.fail = "no route"}, "", "no route"},
    {"a reply without an end", {.body = A_BEGIN A_TEXT(0, "half")}, "", "anthropic/fake-1: "},
    {"a secret in an error",
     {.status = 400, .body = FAILED("bad key " SECRET)},
     "",
     "bad key"},
    {"a secret in an address", {.fail = "no route to " SECRET}, "", "no route to "},
};

static void test_answers(void **state) {
    static const size_t chunks[] = {0, 5};
    (void)state;
    ch_redact_add(SECRET);
    for (size_t i = 0; i < CH_LEN(cases) * CH_LEN(chunks); i++) {
        size_t c = i / CH_LEN(chunks);
        struct stage st;
        open_run(&st, &cases[c].reply);
        st.model.chunk = chunks[i % CH_LEN(chunks)];
        query(&st, 0);
        finish(&st);
        if (strcmp(answer.text, cases[c].text) != 0)
            fail_msg("%s: %s", cases[c].name, answer.text);
        if (cases[c].failed ? !strstr(answer.failed, cases[c].failed) : *answer.failed)
            fail_msg("%s: failed: %s", cases[c].name, answer.failed);
        if (*answer.failed)
            assert_ptr_equal(strstr(answer.failed, "anthropic/fake-1: "), answer.failed);
        assert_null(strstr(answer.failed, SECRET));
        stage_close(&st);
    }
}

static void test_usage(void **state) {
    const struct fake_reply reply = {.body = A_SAY("yes")};
    struct stage st;
    (void)state;
    open_run(&st, &reply);
    query(&st, 0);
    finish(&st);
    assert_int_equal(answer.usage.input, 10);
    assert_int_equal(answer.usage.output, 5);
    stage_close(&st);
}

/* The request has the given texts, no tools and no history. */
static void test_request(void **state) {
    const struct fake_reply reply = {.body = A_SAY("yes")};
    (void)state;
    for (int limited = 0; limited < 2; limited++) {
        struct stage st;
        open_run(&st, &reply);
        size_t history = st.session->transcript.n;
        query(&st, limited ? 77 : 0);
        finish(&st);
        const char *run = ch_buf_str(&st.model.requests[0]);
        const char *side = ch_buf_str(&st.model.requests[1]);
        assert_non_null(strstr(run, "the history"));
        assert_non_null(strstr(run, "hammer"));
        assert_null(strstr(side, "the history"));
        assert_null(strstr(side, "hammer"));
        assert_null(strstr(side, "cache_control"));
        assert_non_null(strstr(side, "You judge."));
        assert_non_null(strstr(side, "the question"));
        assert_int_equal(strstr(side, "\"max_tokens\":77,") != NULL, limited);
        assert_int_equal(st.session->transcript.n, history);
        stage_close(&st);
    }
}

/* Cancelled before and after the first bytes. */
static void test_cancel(void **state) {
    const struct fake_reply reply = {.body = A_BEGIN, .hang = true};
    (void)state;
    ch_side_query_cancel(NULL);
    for (int ticks = 0; ticks < 4; ticks++) {
        struct stage st;
        open_run(&st, &reply);
        struct ch_side_query *q = query(&st, 0);
        for (int i = 0; i < ticks; i++)
            ch_loop_tick(st.rt->loop);
        assert_int_equal(st.model.open, 1);
        ch_side_query_cancel(q);
        assert_int_equal(st.model.open, 0);
        for (int i = 0; i < 4; i++)
            ch_loop_tick(st.rt->loop);
        assert_int_equal(answer.calls, 0);
        stage_close(&st);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
