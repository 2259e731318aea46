/* test_agent_options.c -- the options of an agent, in groups and in one struct. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
