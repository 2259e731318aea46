/* test_role.c -- a model asked in a role, in a run of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/feature/mode/role.h"
#include "agent/machine/output.h"
#include "agent/session/session.h"
#include "support/stage.h"

#define ROUTE                                                                                \
    "{\"reasoning\":\"r\",\"action\":\"clarify\",\"tool_name\":\"none\",\"tool_input\":{}," \
    "\"confidence\":0.5,\"question\":\"which?\"}"

static const struct ch_prompt_value values[] = {
    {.name = "targets", .text = CH_SV("[]")},
    {.name = "rules", .text = CH_SV("none")},
    {.name = "context", .text = CH_SV("none")},
    {.name = "request", .text = CH_SV("do it")},
};

struct got {
    unsigned times;
    bool answered;
    enum ch_reason reason;
    char question[32], error[128];
};

static void on_answer(const struct ch_role_answer *a, void *user) {
    struct got *g = user;
    g->times++;
    g->answered = a->v != NULL;
    g->reason = a->reason;
    snprintf(g->question, sizeof(g->question), "%.*s",
             CH_SV_FMT(ch_json_get_str(a->v, "question")));
    snprintf(g->error, sizeof(g->error), "%s", a->error);
}

/* A run whose model call hangs, and the replies to the role after it. */
static void begin(struct stage *st, struct fake_reply *replies, size_t n) {
    stage_open(st, NULL, replies, n);
    stage_start(st, "go");
    for (int i = 0; i < 20 && st->model.nrequests == 0; i++)
        ch_loop_tick(st->rt->loop);
    assert_int_equal(st->model.nrequests, 1);
}

static void end(struct stage *st) {
    chela_cancel(st->run, NULL);
    stage_finish(st);
    stage_close(st);
}

static struct ch_role_question *ask(struct stage *st, struct got *g) {
    struct chela_error err = {0};
    struct ch_role_question *q = ch_role_ask(st->run, CH_ROLE_ROUTER, values, CH_LEN(values),
                                             on_answer, g, &err);
    if (!q)
        fail_msg("%s", err.message);
    assert_int_equal(g->times, 0); /* never inside of the call */
    return q;
}

static void wait_for(struct stage *st, const struct got *g) {
    for (int i = 0; i < 200 && !g->times; i++)
        ch_loop_tick(st->rt->loop);
    assert_int_equal(g->times, 1);
}

static void test_answer(void **state) {
    CH_ARENA_AUTO arena = {0};
    struct fake_reply replies[] = {{.hang = true}, fake_say(&arena, ROUTE)};
    struct stage st;
    struct got g = {0};
    (void)state;
    begin(&st, replies, CH_LEN(replies));
    size_t sessions = 0;
    int64_t input = st.run->m.usage.input;
    ask(&st, &g);
    wait_for(&st, &g);
    assert_true(g.answered);
    assert_string_equal(g.question, "which?");
    /* The prompt is the whole system prompt, and its usage is the run's. */
    const char *body = ch_buf_str(&st.model.requests[1]);
    assert_non_null(strstr(body, "You are a router."));
    assert_non_null(strstr(body, "do it"));
    assert_null(strstr(body, "Be brief."));
    assert_int_equal(st.run->m.usage.input - input, 10);
    assert_non_null(strstr(ch_buf_str(&st.log), "model_request model_request"));
    for (CH_LIST_EACH(k, &st.agent->sessions))
        sessions++;
    assert_int_equal(sessions, 1); /* its session belongs to the role's agent */
    end(&st);
}

/* An answer that does not match the schema is asked for once more. */
static void test_second_try(void **state) {
    CH_ARENA_AUTO arena = {0};
    struct fake_reply replies[] = {{.hang = true},
                                   fake_say(&arena, "{\"action\":\"fly\"}"),
                                   fake_say(&arena, ROUTE)};
    struct stage st;
    struct got g = {0};
    (void)state;
    begin(&st, replies, CH_LEN(replies));
    ask(&st, &g);
    wait_for(&st, &g);
    assert_true(g.answered);
    assert_int_equal(st.model.nrequests, 3);
    end(&st);
}

/* Roles that are asked at the same time share the rest of the run's budget. */
static void test_shared_budget(void **state) {
    CH_ARENA_AUTO arena = {0};
    struct fake_reply bad = fake_say(&arena, "{\"action\":\"fly\"}");
    struct fake_reply replies[] = {{.hang = true}, bad, bad, bad, bad};
    struct stage st;
    struct got g[2] = {0};
    (void)state;
    begin(&st, replies, CH_LEN(replies));
    st.agent->limits.token_budget = st.run->m.limits.token_budget = 20; /* a reply takes 15 */
    ask(&st, &g[0]);
    ask(&st, &g[1]);
    wait_for(&st, &g[0]);
    wait_for(&st, &g[1]);
    assert_int_equal(st.model.nrequests, 4); /* one of them may ask once more */
    assert_int_not_equal(g[0].reason, CH_REASON_TOKEN_BUDGET);
    assert_int_equal(g[1].reason, CH_REASON_TOKEN_BUDGET);
    end(&st);
}

static void test_no_answer(void **state) {
    CH_ARENA_AUTO arena = {0};
    struct fake_reply replies[] = {{.hang = true}, fake_say(&arena, "I cannot say."),
                                   fake_say(&arena, "Really not.")};
    struct stage st;
    struct got g = {0};
    (void)state;
    begin(&st, replies, CH_LEN(replies));
    ask(&st, &g);
    wait_for(&st, &g);
    assert_false(g.answered);
    assert_int_equal(g.reason, CH_REASON_MODEL_ERROR);
    assert_true(g.error[0]);
    end(&st);
}

static void test_closed(void **state) {
    struct fake_reply replies[] = {{.hang = true}, {.hang = true}};
    struct stage st;
    struct got g = {0};
    (void)state;
    begin(&st, replies, CH_LEN(replies));
    struct ch_role_question *q = ask(&st, &g);
    for (int i = 0; i < 20; i++)
        ch_loop_tick(st.rt->loop);
    assert_int_equal(st.model.open, 2);
    ch_role_close(q);
    ch_role_close(NULL);
    for (int i = 0; i < 20; i++)
        ch_loop_tick(st.rt->loop);
    assert_int_equal(st.model.open, 1);
    assert_int_equal(g.times, 0);
    end(&st);
}

static void test_a_value_is_missing(void **state) {
    struct fake_reply replies[] = {{.hang = true}};
    struct stage st;
    struct got g = {0};
    struct chela_error err = {0};
    (void)state;
    begin(&st, replies, CH_LEN(replies));
    assert_null(ch_role_ask(st.run, CH_ROLE_ROUTER, values, 1, on_answer, &g, &err));
    assert_int_equal(err.code, CHELA_EINVAL);
    assert_non_null(strstr(err.message, "rules"));
    end(&st);
}

/* The agent of a plan's steps: like its base, without the parts that belong to the base's
 * own runs. */
static void test_worker(void **state) {
    static const struct fake_reply none[] = {{.hang = true}};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .mode = CHELA_MODE_PLAN, .limits = &(struct chela_limits)CHELA_LIMITS(.max_turns = 7));
    struct stage st;
    struct chela_error err = {0};
    (void)state;
    STAGE_OPEN(&st, &opts, none);
    stage_tool(&st, "save", 0);
    chela_agent *worker = ch_role_worker(st.agent, &err);
    assert_non_null(worker);
    assert_true(ch_role_is_agent(worker));
    assert_false(ch_role_is_agent(st.agent));
    assert_ptr_equal(ch_role_worker(st.agent, &err), worker); /* made once */
    assert_non_null(ch_registry_find(&worker->registry, CH_SV("save")));
    assert_null(ch_registry_find(&worker->registry, CH_SV("make_plan")));
    assert_non_null(ch_registry_find(&st.agent->registry, CH_SV("make_plan")));
    assert_null(worker->output);
    assert_int_equal(worker->limits.max_turns, 7);
    /* Another tool: another worker. */
    stage_tool(&st, "load", 0);
    chela_agent *next = ch_role_worker(st.agent, &err);
    assert_ptr_not_equal(next, worker);
    assert_non_null(ch_registry_find(&next->registry, CH_SV("load")));
    stage_close(&st);
}

/* Tools that come and go leave no workers behind, except one that is at work. */
static void test_workers_of_old_tools(void **state) {
    static const struct fake_reply none[] = {{.hang = true}};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.mode = CHELA_MODE_PLAN);
    struct stage st;
    struct chela_error err = {0};
    chela_session *work;
    (void)state;
    STAGE_OPEN(&st, &opts, none);
    chela_agent *busy = ch_role_worker(st.agent, &err);
    assert_int_equal(ch_session_open(busy, "work", false, &work, &err), 0);
    for (int i = 0; i < 10; i++) {
        size_t agents = 0;
        stage_tool(&st, "save", 0);
        ch_registry_remove(&st.agent->registry, "save");
        assert_non_null(ch_role_worker(st.agent, &err));
        for (CH_LIST_EACH(k, &st.rt->agents))
            agents++;
        assert_int_equal(agents, 3); /* the base, the busy worker, the present one */
    }
    assert_true(ch_role_is_agent(busy));
    stage_close(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer), cmocka_unit_test(test_second_try),
        cmocka_unit_test(test_shared_budget),
        cmocka_unit_test(test_no_answer), cmocka_unit_test(test_closed),
        cmocka_unit_test(test_a_value_is_missing), cmocka_unit_test(test_worker),
        cmocka_unit_test(test_workers_of_old_tools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
