/* test_routes.c -- many models, several failures: which is asked, when, and
 * what it costs. Time is the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "model/provider/target.h"
#include "agent/run/think.h"
#include "support/stage.h"

#define CHAT(text)                                                                           \
    {                                                                                        \
        .body = "{\"id\":\"c\",\"object\":\"chat.completion\",\"model\":\"small\","          \
                "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":" \
                "\"" text "\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":7," \
                "\"completion_tokens\":3,\"total_tokens\":10}}",                             \
        .content_type = "application/json"                                                   \
    }
#define FAILS(code, text)                                                                    \
    {                                                                                        \
        .body = "{\"type\":\"error\",\"error\":{\"type\":\"" text "\",\"message\":\"no\"}}", \
        .status = (code)                                                                     \
    }

static const char *const fallbacks[] = {"ollama/small", NULL};

static bool logged(const struct stage *st, const char *what) {
    return strstr(ch_buf_str(&st->log), what) != NULL;
}

/* A limit that is too far off is left to the substitute, also by the next
 * run, until its time is up. */
static void test_429_goes_to_the_substitute(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"x\"}}",
         .status = 429,
         .retry_after = "40"},
        CHAT("from small"),
        CHAT("small again"),
        {.body = A_SAY("back")},
    };
    struct stage st;
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.fallbacks = fallbacks);
    STAGE_OPEN(&st, &opts, replies);
    stage_play(&st, "one");
    assert_true(logged(&st, "fallback(ollama/small)"));
    assert_string_equal(chela_run_text(st.run), "from small");
    st.now += 39000;
    stage_play(&st, "two");
    assert_true(logged(&st, "fallback(ollama/small)"));
    assert_string_equal(chela_run_text(st.run), "small again");
    st.now += 2000;
    stage_play(&st, "three");
    assert_false(logged(&st, "fallback"));
    assert_string_equal(chela_run_text(st.run), "back");
    assert_int_equal(st.model.nrequests, 4);
    stage_close(&st);
}

/* Without a substitute the next run waits as long as the server asked. */
static void test_next_run_waits(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"x\"}}",
         .status = 429,
         .retry_after = "30"},
        {.body = A_SAY("patience")},
    };
    struct stage st;
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .request = &(struct chela_request_opts)CHELA_REQUEST_OPTS(.max_retries = -1));
    STAGE_OPEN(&st, &opts, replies);
    stage_play(&st, "one");
    assert_string_equal(stage_verdict(&st), "error/model_error");
    st.now += 10000;
    int64_t before = st.now;
    stage_play(&st, "two");
    assert_string_equal(chela_run_text(st.run), "patience");
    assert_true(logged(&st, "retry(0)"));
    assert_int_equal(st.now - before, 20000);
    stage_close(&st);
}

/* A refused key rests for all runs, but is tried when there is nothing else. */
static void test_bad_key(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        FAILS(401, "authentication_error"),
        CHAT("one"),
        CHAT("two"),
    };
    struct stage st;
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.fallbacks = fallbacks);
    STAGE_OPEN(&st, &opts, replies);
    stage_play(&st, "x");
    stage_play(&st, "y");
    assert_string_equal(chela_run_text(st.run), "two");
    assert_int_equal(st.model.nrequests, 3);
    stage_close(&st);
}

/* What was shown is not shown again, unless the host can take it back. */
static void test_redo(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_BEGIN A_BLOCK(0, "{\"type\":\"text\",\"text\":\"\"}")
             A_DELTA(0, "{\"type\":\"text_delta\",\"text\":\"half\"}"),
         .fail = "reset"},
        {.body = A_SAY("whole")},
    };
    for (int redo = 0; redo < 2; redo++) {
        struct stage st;
        STAGE_OPEN(&st, NULL, replies);
        stage_start(&st, "go");
        ch_think_init(st.run, redo);
        stage_finish(&st);
        assert_string_equal(stage_verdict(&st), redo ? "done/task_completed" : "error/model_error");
        assert_int_equal(logged(&st, "retry(1)"), redo);
        stage_close(&st);
    }
}

/* --- accounting */

struct bill {
    double turn, run;
    int64_t turn_input, run_input;
};
static struct bill bill;

static void on_bill(struct stage *st, const struct chela_event *ev) {
    (void)st;
    if (ev->type == CHELA_EV_TURN_END) {
        bill.turn = ev->turn.usage.cost_usd;
        bill.turn_input = ev->turn.usage.input;
    } else if (ev->type == CHELA_EV_RUN_END) {
        bill.run = ev->end.usage.cost_usd;
        bill.run_input = ev->end.usage.input;
    }
}

static void near(double got, double want) {
    if (got < want - 1e-12 || got > want + 1e-12)
        fail_msg("%.15g, not %.15g", got, want);
}

/* 10 tokens in and 5 out a reply; a price of 1 and 2 dollars: 20 millionths. */
static void open_priced(struct stage *st, struct chela_agent_opts *opts,
                        const struct fake_reply *replies, size_t n) {
    stage_open(st, opts, replies, n);
    st->agent->targets[0]->has_price = true;
    st->agent->targets[0]->price =
        (struct ch_price){.input = 1, .output = 2, .cache_read = -1, .cache_write = -1};
    st->on_event = on_bill;
    bill = (struct bill){0};
}

static void test_cost_of_a_run(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_USE("a", "echo", "{}")},
        {.body = A_SAY("done")},
    };
    struct stage st;
    open_priced(&st, NULL, replies, CH_LEN(replies));
    stage_tool(&st, "echo", 0);
    stage_play(&st, "go");
    near(bill.turn, 20e-6);
    near(bill.run, 40e-6);
    assert_int_equal(bill.turn_input, 10);
    assert_int_equal(bill.run_input, 20);
    stage_close(&st);
}

static void test_unknown_is_not_zero(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_USE("a", "echo", "{}")},
        FAILS(401, "authentication_error"),
        CHAT("done"), /* by a model whose price nobody knows */
    };
    struct stage st;
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.fallbacks = fallbacks);
    open_priced(&st, &opts, replies, CH_LEN(replies));
    stage_tool(&st, "echo", 0);
    stage_play(&st, "go");
    assert_string_equal(chela_run_text(st.run), "done");
    assert_true(bill.turn < 0);
    assert_true(bill.run < 0);
    assert_int_equal(bill.run_input, 17);
    stage_close(&st);
}

static void test_cost_budget(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_USE("a", "echo", "{}")},
        {.body = A_USE("b", "echo", "{}")},
        {.body = A_SAY("never")},
    };
    struct stage st;
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .limits = &(struct chela_limits)CHELA_LIMITS(.cost_budget_usd = 30e-6));
    open_priced(&st, &opts, replies, CH_LEN(replies));
    stage_tool(&st, "echo", 0);
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "stopped/cost_budget_exceeded");
    near(bill.run, 40e-6);
    assert_int_equal(st.model.nrequests, 2);
    stage_close(&st);
}

/* A budget that cannot be kept is worth a word, once. */
static void test_budget_without_price(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_USE("a", "echo", "{}")},
        {.body = A_SAY("done")},
    };
    struct stage st;
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .limits = &(struct chela_limits)CHELA_LIMITS(.cost_budget_usd = 1));
    STAGE_OPEN(&st, &opts, replies);
    stage_tool(&st, "echo", 0);
    stage_play(&st, "go");
    const char *first = strstr(ch_buf_str(&st.log), "warning");
    assert_non_null(first);
    assert_null(strstr(first + 1, "warning"));
    stage_close(&st);
}

/* A price may be given for an alias or for the name it stands for. */
static void test_prices_of_aliases(void **state) {
    (void)state;
    static const char *const names[] = {"claude-sonnet-4-5", "claude-sonnet-4-5-20250929"};
    struct stage st;
    stage_open(&st, NULL, NULL, 0);
    for (size_t i = 0; i < CH_LEN(names); i++) {
        chela_agent *a;
        struct chela_error err = {0};
        struct chela_price price = CHELA_PRICE(.input = 7 + (double)i, .output = 9);
        struct chela_agent_opts opts =
            CHELA_AGENT_OPTS(.model = "anthropic/claude-sonnet-4-5", .api_key = "key-0123456");
        assert_int_equal(chela_runtime_price(st.rt, "anthropic", names[i], &price, &err), 0);
        assert_int_equal(chela_agent_new(st.rt, &opts, &a, &err), 0);
        assert_true(a->targets[0]->has_price);
        assert_true(a->targets[0]->price.input == 7 + (double)i);
    }
    stage_close(&st);
}

/* What was configured goes before the built-in list, and results are cut to suit. */
static int say_much(chela_call *call, void *user) {
    (void)user;
    for (int i = 0; i < 30000; i++)
        chela_result_text(call, "word ", 5);
    return 0;
}

static size_t result_size(int64_t window) {
    static const struct fake_reply replies[] = {{.body = A_USE("c1", "speak", "{}")},
                                                {.body = A_SAY("ok")}};
    struct stage st;
    struct chela_error err = {0};
    STAGE_OPEN(&st, NULL, replies);
    if (window) {
        chela_agent *a;
        struct ch_target *t = st.agent->targets[0];
        const struct chela_agent_opts opts =
            CHELA_AGENT_OPTS(.model = t->spec, .api_key = "key-0123456");
        assert_int_equal(chela_runtime_context_window(st.rt, t->provider, t->model, window, &err),
                         0);
        assert_int_equal(chela_agent_new(st.rt, &opts, &a, &err), 0);
        assert_int_equal(ch_target_window(a->targets[0]), window);
        t->window = a->targets[0]->window; /* the stage's agent was made before */
    }
    chela_agent_tool(st.agent, "speak", "Speak.", NULL, say_much, NULL);
    stage_play(&st, "go");
    size_t n = st.model.requests[1].n;
    stage_close(&st);
    return n;
}

static void test_context_window(void **state) {
    (void)state;
    struct chela_error err = {0};
    struct stage st;
    size_t small = result_size(8000), usual = result_size(0), large = result_size(1000000);
    assert_true(small < 12000); /* 30 % of 8,000 tokens */
    assert_true(small < usual && usual <= large);
    assert_true(large > 60000 && large < 80000);
    stage_open(&st, NULL, NULL, 0);
    assert_int_equal(chela_runtime_context_window(st.rt, "anthropic", "", 1, &err), CHELA_EINVAL);
    assert_int_equal(chela_runtime_context_window(st.rt, "anthropic", "x", 0, &err), CHELA_EINVAL);
    assert_non_null(strstr(err.message, "anthropic/x"));
    assert_int_equal(chela_runtime_model_quirks(st.rt, "anthropic", "", "reasons", &err),
                     CHELA_EINVAL);
    assert_int_equal(chela_runtime_model_quirks(st.rt, "anthropic", "x", "odd", &err),
                     CHELA_ECONFIG);
    stage_close(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_429_goes_to_the_substitute),
        cmocka_unit_test(test_next_run_waits),
        cmocka_unit_test(test_bad_key),
        cmocka_unit_test(test_redo),
        cmocka_unit_test(test_cost_of_a_run),
        cmocka_unit_test(test_unknown_is_not_zero),
        cmocka_unit_test(test_cost_budget),
        cmocka_unit_test(test_budget_without_price),
        cmocka_unit_test(test_prices_of_aliases),
        cmocka_unit_test(test_context_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
