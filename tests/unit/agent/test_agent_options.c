/* test_agent_options.c -- the options of an agent, in groups and in one struct. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/handle/agent_options.h"
#include "base/mem.h"

static void test_round_trip(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    struct chela_limits limits = CHELA_LIMITS(.max_turns = 7);
    struct chela_prompt_opts prompt = CHELA_PROMPT_OPTS(.reminder = "be brief");
    struct chela_agent_opts given =
        CHELA_AGENT_OPTS(.id = "a", .model = "p/m", .limits = &limits, .prompt = &prompt);
    struct ch_agent_opts read, again;
    struct chela_agent_opts written;
    assert_int_equal(ch_agent_opts_read(&given, &read, NULL), 0);
    assert_string_equal(read.id, "a");
    assert_int_equal(read.limits.max_turns, 7);
    assert_string_equal(read.prompt.reminder, "be brief");
    assert_int_equal(read.team.max_depth, 0); /* a group that was not given is zero */
    ch_agent_opts_write(&read, &a, &written);
    assert_int_equal(ch_agent_opts_read(&written, &again, NULL), 0);
    assert_int_equal(again.limits.max_turns, 7);
    assert_string_equal(again.model, "p/m");
    assert_string_equal(again.prompt.reminder, "be brief");
}

static void test_sizes(void **state) {
    (void)state;
    struct ch_agent_opts out;
    struct chela_error err = {0};
    assert_int_equal(ch_agent_opts_read(NULL, &out, NULL), 0);
    assert_null(out.id);
    struct chela_agent_opts none = {0};
    assert_int_equal(ch_agent_opts_read(&none, &out, &err), CHELA_EINVAL);
    struct chela_limits limits = {.max_turns = 1}; /* without its size */
    struct chela_agent_opts o = CHELA_AGENT_OPTS(.limits = &limits);
    err = (struct chela_error){0};
    assert_int_equal(ch_agent_opts_read(&o, &out, &err), CHELA_EINVAL);
    assert_non_null(strstr(err.message, "chela_limits"));
}

static int read_limits(struct chela_limits limits, struct chela_error *err) {
    struct ch_agent_opts out;
    struct chela_agent_opts o = CHELA_AGENT_OPTS(.limits = &limits);
    return ch_agent_opts_read(&o, &out, err);
}

/* The negative rest of a budget is not the absence of a limit, and NaN is no budget. */
static void test_limits_out_of_range(void **state) {
    (void)state;
    struct chela_error err = {0};
    struct chela_limits bad[] = {
        CHELA_LIMITS(.max_turns = -2),       CHELA_LIMITS(.max_tool_calls = INT64_MIN),
        CHELA_LIMITS(.token_budget = -500),  CHELA_LIMITS(.timeout_ms = -2),
        CHELA_LIMITS(.cost_budget_usd = NAN), CHELA_LIMITS(.cost_budget_usd = -0.02),
        CHELA_LIMITS(.max_consecutive_errors = -3), CHELA_LIMITS(.cost_budget_usd = -INFINITY)};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(read_limits(bad[i], &err), CHELA_EINVAL);
    assert_int_equal(read_limits(bad[2], &err), CHELA_EINVAL);
    assert_string_equal(err.message, "token_budget: -500 is no limit; -1 is none, 0 the default");
    struct chela_limits none = CHELA_LIMITS(.max_turns = -1, .max_tool_calls = -1,
                                            .max_consecutive_errors = -1, .token_budget = -1,
                                            .timeout_ms = -1, .cost_budget_usd = -1);
    assert_int_equal(read_limits(none, &err), 0);
    assert_int_equal(read_limits((struct chela_limits)CHELA_LIMITS(.cost_budget_usd = INFINITY,
                                                                   .max_turns = INT64_MAX), &err),
                     0);
    struct chela_loop_guard guard = CHELA_LOOP_GUARD(.polls = -2);
    struct ch_agent_opts out;
    struct chela_agent_opts o = CHELA_AGENT_OPTS(.loop_guard = &guard);
    assert_int_equal(ch_agent_opts_read(&o, &out, &err), CHELA_EINVAL);
}

static void test_parameters_out_of_range(void **state) {
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY, -0.5};
    static const double good[] = {0, 0.5, 2};
    struct ch_agent_opts out;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct chela_request_opts request = CHELA_REQUEST_OPTS(.top_p = &bad[i]);
        struct chela_agent_opts warm = CHELA_AGENT_OPTS(.temperature = &bad[i]);
        struct chela_agent_opts top = CHELA_AGENT_OPTS(.request = &request);
        assert_int_equal(ch_agent_opts_read(&warm, &out, NULL), CHELA_EINVAL);
        assert_int_equal(ch_agent_opts_read(&top, &out, NULL), CHELA_EINVAL);
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        struct chela_agent_opts warm = CHELA_AGENT_OPTS(.temperature = &good[i]);
        assert_int_equal(ch_agent_opts_read(&warm, &out, NULL), 0);
    }
    struct chela_agent_opts longest = CHELA_AGENT_OPTS(.max_output_tokens = -1);
    assert_int_equal(ch_agent_opts_read(&longest, &out, NULL), CHELA_EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_limits_out_of_range),
        cmocka_unit_test(test_parameters_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
