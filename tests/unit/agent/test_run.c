/* test_run.c -- every row of the run machine's table, without a network.
 *
 * A case is a story: inputs fed one after the other, and the action, state and
 * reason expected after each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "agent/machine/run.h"
#include "base/limits.h"
#include "base/mem.h"

#define START \
    { .kind = CH_IN_INPUT }
#define SAY \
    { .kind = CH_IN_REPLY, .stop = CH_STOP_STOP, .has_text = true }
#define CALL(n) \
    { .kind = CH_IN_REPLY, .stop = CH_STOP_TOOL_USE, .calls = (n) }
#define OK(n) \
    { .kind = CH_IN_RESULTS, .calls = (n), .any_ok = true }
#define BAD(n) \
    { .kind = CH_IN_RESULTS, .calls = (n), .trailing_errors = (n) }
#define FAIL(c, again) \
    { .kind = CH_IN_FAILED, .cls = (c), .retryable = (again) }
#define EMPTY \
    { .kind = CH_IN_REPLY, .stop = CH_STOP_STOP }
#define UNFIT \
    { .kind = CH_IN_REPLY, .stop = CH_STOP_STOP, .has_text = true, .unfit = true }
#define STOPPED(s, text) \
    { .kind = CH_IN_REPLY, .stop = (s), .has_text = (text) }
#define THINKING CH_DO_CALL_MODEL, CH_RUN_THINK, CH_REASON_NONE
#define ACTING CH_DO_CALL_TOOLS, CH_RUN_ACT, CH_REASON_NONE
#define DONE(r) CH_DO_FINISH, CH_RUN_DONE, CH_REASON_##r
#define ENDED(r) CH_DO_FINISH, CH_RUN_ERROR, CH_REASON_##r
#define DECLINED(r) CH_DO_FINISH, CH_RUN_DECLINED, CH_REASON_##r
#define LATE(st, r) CH_DO_NOTHING, CH_RUN_##st, CH_REASON_##r

struct step {
    struct ch_input in;
    enum ch_do todo;
    enum ch_run_state state;
    enum ch_reason reason;
};

#define MAX_STEPS 20
static const struct story {
    const char *name;
    struct ch_run_limits limits;
    struct step steps[MAX_STEPS]; /* ended by todo and state both 0 */
} stories[] = {
    {"a loop: a word of caution, then the end",
     {0},
     {{START, THINKING},
      {CALL(1), ACTING},
      {{.kind = CH_IN_RESULTS, .calls = 1, .any_ok = true, .loop = CH_LOOP_VERDICT_NOTE}, THINKING},
      {CALL(1), ACTING},
      {{.kind = CH_IN_RESULTS, .calls = 1, .any_ok = true, .loop = CH_LOOP_VERDICT_END},
       ENDED(LOOP)}}},
    {"a loop: last words first",
     {.sums_up = true},
     {{START, THINKING},
      {CALL(1), ACTING},
      {{.kind = CH_IN_RESULTS, .calls = 1, .any_ok = true, .loop = CH_LOOP_VERDICT_END}, THINKING},
      {SAY, ENDED(LOOP)}}},
    {"last words are asked for once, and calls in them are not run",
     {.max_turns = 1, .sums_up = true},
     {{START, THINKING},
      {CALL(1), ACTING},
      {OK(1), THINKING},
      {CALL(1), ACTING},
      {{.kind = CH_IN_RESULTS, .trailing_errors = 1, .over_limit = true}, ENDED(MAX_TURNS)}}},
    {"last words that fail change nothing",
     {.max_turns = 1, .sums_up = true},
     {{START, THINKING},
      {CALL(1), ACTING},
      {OK(1), THINKING},
      {FAIL(CH_ERR_AUTH, false), ENDED(MAX_TURNS)}}},
    {"empty last words are no reason to ask again",
     {.max_tool_calls = 1, .sums_up = true},
     {{START, THINKING},
      {CALL(2), ACTING},
      {{.kind = CH_IN_RESULTS, .calls = 1, .any_ok = true, .over_limit = true}, THINKING},
      {EMPTY, ENDED(MAX_TOOL_CALLS)}}},
    {"what is spent is not spent on last words",
     {.token_budget = 10, .sums_up = true},
     {{START, THINKING},
      {{.kind = CH_IN_REPLY, .stop = CH_STOP_TOOL_USE, .calls = 1, .usage = {.input = 20}}, ACTING},
      {OK(1), ENDED(TOKEN_BUDGET)}}},
    {"answer at once", {0}, {{START, THINKING}, {SAY, DONE(COMPLETED)}}},
    {"one round of tools",
     {0},
     {{START, THINKING}, {CALL(2), ACTING}, {OK(2), THINKING}, {SAY, DONE(COMPLETED)}}},
    {"the content decides, not the stop reason",
     {0},
     {{START, THINKING},
      {{.kind = CH_IN_REPLY, .stop = CH_STOP_STOP, .has_text = true, .calls = 1}, ACTING}}},
    {"a refusal ends it, whatever else it holds",
     {0},
     {{START, THINKING},
      {{.kind = CH_IN_REPLY, .stop = CH_STOP_REFUSAL, .calls = 3, .has_text = true},
       DECLINED(REFUSED)}}},
    {"a prompt that the service's filter blocks is declined, and no other model is asked",
     {.retries = 2, .models = 2, .max_errors = 3},
     {{START, THINKING}, {FAIL(CH_ERR_REFUSED, false), DECLINED(REFUSED)}}},
    {"a filter that stops a reply in the middle",
     {.retries = 2},
     {{START, THINKING},
      {{.kind = CH_IN_FAILED, .cls = CH_ERR_REFUSED, .output_shown = true}, DECLINED(REFUSED)}}},
    {"a question to a person ends it",
     {0},
     {{START, THINKING},
      {{.kind = CH_IN_DECIDED, .reason = CH_REASON_ESCALATED}, DECLINED(ESCALATED)}}},
    {"a question back ends it",
     {0},
     {{START, THINKING},
      {{.kind = CH_IN_DECIDED, .reason = CH_REASON_CLARIFICATION}, DECLINED(CLARIFICATION)}}},
    {"cut by length with text",
     {0},
     {{START, THINKING}, {STOPPED(CH_STOP_LENGTH, true), DONE(LENGTH)}}},
    {"cut by length with a call: the call is answered",
     {0},
     {{START, THINKING},
      {{.kind = CH_IN_REPLY, .stop = CH_STOP_LENGTH, .calls = 1}, ACTING},
      {BAD(1), THINKING}}},
    {"cut by length before any text: nudged",
     {0},
     {{START, THINKING}, {STOPPED(CH_STOP_LENGTH, false), THINKING}}},
    {"empty reply: one nudge, then done",
     {0},
     {{START, THINKING}, {EMPTY, THINKING}, {EMPTY, DONE(COMPLETED)}}},
    {"a nudge that helps", {0}, {{START, THINKING}, {EMPTY, THINKING}, {SAY, DONE(COMPLETED)}}},
    {"paused by the vendor five times, then done",
     {0},
     {{START, THINKING},
      {STOPPED(CH_STOP_PAUSE, false), THINKING},
      {STOPPED(CH_STOP_PAUSE, false), THINKING},
      {STOPPED(CH_STOP_PAUSE, false), THINKING},
      {STOPPED(CH_STOP_PAUSE, false), THINKING},
      {STOPPED(CH_STOP_PAUSE, false), THINKING},
      {STOPPED(CH_STOP_PAUSE, true), DONE(COMPLETED)}}},
    {"follow-up waiting",
     {0},
     {{START, THINKING},
      {{.kind = CH_IN_REPLY, .stop = CH_STOP_STOP, .has_text = true, .follow_ups = 1}, THINKING},
      {SAY, DONE(COMPLETED)}}},
    {"retry twice, then give up",
     {.retries = 2, .max_errors = 3},
     {{START, THINKING},
      {FAIL(CH_ERR_SERVER, true), THINKING},
      {FAIL(CH_ERR_SERVER, true), THINKING},
      {FAIL(CH_ERR_SERVER, true), ENDED(MODEL_ERROR)}}},
    {"more patience with an overload",
     {.retries = 1, .overload_retries = 3, .max_errors = 3},
     {{START, THINKING},
      {FAIL(CH_ERR_OVERLOADED, true), THINKING},
      {FAIL(CH_ERR_OVERLOADED, true), THINKING},
      {FAIL(CH_ERR_OVERLOADED, true), THINKING},
      {FAIL(CH_ERR_OVERLOADED, true), ENDED(MODEL_ERROR)}}},
    {"never less patience with an overload",
     {.retries = 2, .overload_retries = 0, .max_errors = 3},
     {{START, THINKING},
      {FAIL(CH_ERR_OVERLOADED, true), THINKING},
      {FAIL(CH_ERR_OVERLOADED, true), THINKING},
      {FAIL(CH_ERR_OVERLOADED, true), ENDED(MODEL_ERROR)}}},
    {"an overload with another model to ask",
     {.retries = 1, .overload_retries = 9, .models = 2, .max_errors = 3},
     {{START, THINKING},
      {FAIL(CH_ERR_OVERLOADED, true), THINKING},
      {FAIL(CH_ERR_OVERLOADED, true), THINKING},
      {SAY, DONE(COMPLETED)}}},
    {"not retryable",
     {.retries = 2},
     {{START, THINKING}, {FAIL(CH_ERR_AUTH, false), ENDED(MODEL_ERROR)}}},
    {"overflow has its own reason",
     {.retries = 2},
     {{START, THINKING}, {FAIL(CH_ERR_OVERFLOW, false), ENDED(CONTEXT_OVERFLOW)}}},
    {"shown output is not produced twice",
     {.retries = 2, .models = 2},
     {{START, THINKING},
      {{.kind = CH_IN_FAILED, .cls = CH_ERR_NETWORK, .retryable = true, .output_shown = true},
       ENDED(MODEL_ERROR)}}},
    {"next model of the chain",
     {.models = 2, .max_errors = 3},
     {{START, THINKING}, {FAIL(CH_ERR_BILLING, false), THINKING}, {SAY, DONE(COMPLETED)}}},
    {"the chain is used up",
     {.models = 2, .max_errors = 9},
     {{START, THINKING},
      {FAIL(CH_ERR_BILLING, false), THINKING},
      {FAIL(CH_ERR_BILLING, false), ENDED(MODEL_ERROR)}}},
    {"a wait of an hour is not waited for",
     {.retries = 2},
     {{START, THINKING},
      {{.kind = CH_IN_FAILED,
        .cls = CH_ERR_RATE_LIMIT,
        .retryable = true,
        .retry_after_ms = 3600000},
       ENDED(MODEL_ERROR)}}},
    {"N turns are N model calls, the last one's tools still run",
     {.max_turns = 2},
     {{START, THINKING},
      {CALL(1), ACTING},
      {OK(1), THINKING},
      {CALL(1), ACTING},
      {OK(1), ENDED(MAX_TURNS)}}},
    {"an answer in the last turn is an answer",
     {.max_turns = 1},
     {{START, THINKING}, {SAY, DONE(COMPLETED)}}},
    {"more calls than allowed",
     {.max_tool_calls = 1},
     {{START, THINKING},
      {CALL(3), ACTING},
      {{.kind = CH_IN_RESULTS, .calls = 1, .any_ok = true, .over_limit = true},
       ENDED(MAX_TOOL_CALLS)}}},
    {"token budget",
     {.token_budget = 100},
     {{START, THINKING},
      {{.kind = CH_IN_REPLY,
        .stop = CH_STOP_TOOL_USE,
        .calls = 1,
        .usage = {.input = 90, .output = 10}},
       ACTING},
      {OK(1), ENDED(TOKEN_BUDGET)}}},
    {"cost budget",
     {.cost_budget = 0.5},
     {{START, THINKING},
      {{.kind = CH_IN_REPLY, .stop = CH_STOP_TOOL_USE, .calls = 1, .cost = 0.5}, ACTING},
      {OK(1), ENDED(COST_BUDGET)}}},
    {"three errors in a row",
     {.max_errors = 3},
     {{START, THINKING},
      {CALL(1), ACTING},
      {BAD(1), THINKING},
      {CALL(2), ACTING},
      {BAD(2), ENDED(TOO_MANY_ERRORS)}}},
    {"a good result starts the count again",
     {.max_errors = 3},
     {{START, THINKING},
      {CALL(2), ACTING},
      {BAD(2), THINKING},
      {CALL(2), ACTING},
      {{.kind = CH_IN_RESULTS, .calls = 2, .any_ok = true, .trailing_errors = 1}, THINKING},
      {CALL(1), ACTING},
      {BAD(1), THINKING}}},
    {"text starts the count again",
     {.max_errors = 2},
     {{START, THINKING},
      {CALL(1), ACTING},
      {BAD(1), THINKING},
      {{.kind = CH_IN_REPLY, .stop = CH_STOP_TOOL_USE, .has_text = true, .calls = 1}, ACTING},
      {BAD(1), THINKING}}},
    {"a tool that ends the run",
     {0},
     {{START, THINKING},
      {CALL(1), ACTING},
      {{.kind = CH_IN_RESULTS, .calls = 1, .any_ok = true, .terminated = true}, DONE(COMPLETED)}}},
    {"too long twice, with an answer in between",
     {.compacts = true},
     {{START, THINKING},
      {FAIL(CH_ERR_OVERFLOW, false), CH_DO_COMPACT, CH_RUN_THINK, CH_REASON_NONE},
      {{.kind = CH_IN_COMPACTED, .shorter = true}, THINKING},
      {CALL(1), ACTING},
      {OK(1), THINKING},
      {FAIL(CH_ERR_OVERFLOW, false), CH_DO_COMPACT, CH_RUN_THINK, CH_REASON_NONE},
      {{.kind = CH_IN_COMPACTED, .shorter = true}, THINKING},
      {FAIL(CH_ERR_OVERFLOW, false), ENDED(CONTEXT_OVERFLOW)}}},
    {"found too long before it was sent",
     {.compacts = true},
     {{START, THINKING}, {{.kind = CH_IN_COMPACTED}, ENDED(CONTEXT_OVERFLOW)}}},
    {"a compaction by hand",
     {.compacts = true},
     {{{.kind = CH_IN_INPUT, .compact = true}, CH_DO_COMPACT, CH_RUN_THINK, CH_REASON_NONE},
      {{.kind = CH_IN_COMPACTED}, DONE(COMPLETED)}}},
    {"left to the host, answered, gone on",
     {0},
     {{START, THINKING},
      {CALL(2), ACTING},
      {{.kind = CH_IN_UNANSWERED}, CH_DO_ASK_HOST, CH_RUN_WAITING, CH_REASON_CLIENT_TOOL},
      {{.kind = CH_IN_RESUMED}, CH_DO_RESUME_TOOLS, CH_RUN_ACT, CH_REASON_NONE},
      {OK(2), THINKING},
      {SAY, DONE(COMPLETED)}}},
    {"approved, then left to the host",
     {0},
     {{START, THINKING},
      {CALL(2), ACTING},
      {{.kind = CH_IN_UNANSWERED, .approvals = true},
       CH_DO_ASK_HOST,
       CH_RUN_WAITING,
       CH_REASON_APPROVAL},
      {{.kind = CH_IN_RESUMED}, CH_DO_RESUME_TOOLS, CH_RUN_ACT, CH_REASON_NONE},
      {{.kind = CH_IN_UNANSWERED}, CH_DO_ASK_HOST, CH_RUN_WAITING, CH_REASON_CLIENT_TOOL},
      {{.kind = CH_IN_RESUMED}, CH_DO_RESUME_TOOLS, CH_RUN_ACT, CH_REASON_NONE},
      {OK(2), THINKING},
      {SAY, DONE(COMPLETED)}}},
    {"taken over before the start", {0}, {{{.kind = CH_IN_TAKEN_OVER}, DONE(COMPLETED)}}},
    {"taken over while thinking",
     {0},
     {{START, THINKING}, {{.kind = CH_IN_TAKEN_OVER}, DONE(COMPLETED)}}},
    {"cancel before the start", {0}, {{{.kind = CH_IN_CANCEL}, ENDED(CANCELLED)}}},
    {"cancel while thinking", {0}, {{START, THINKING}, {{.kind = CH_IN_CANCEL}, ENDED(CANCELLED)}}},
    {"cancel while waiting",
     {0},
     {{START, THINKING},
      {CALL(1), ACTING},
      {{.kind = CH_IN_UNANSWERED}, CH_DO_ASK_HOST, CH_RUN_WAITING, CH_REASON_CLIENT_TOOL},
      {{.kind = CH_IN_CANCEL}, ENDED(CANCELLED)}}},
    {"deadline", {0}, {{START, THINKING}, {{.kind = CH_IN_DEADLINE}, ENDED(DEADLINE)}}},
    {"too long: made shorter once, then the end",
     {.compacts = true},
     {{START, THINKING},
      {FAIL(CH_ERR_OVERFLOW, false), CH_DO_COMPACT, CH_RUN_THINK, CH_REASON_NONE},
      {{.kind = CH_IN_COMPACTED, .shorter = true}, THINKING},
      {FAIL(CH_ERR_OVERFLOW, false), ENDED(CONTEXT_OVERFLOW)}}},
    {"too long, and nothing can be left out",
     {.compacts = true},
     {{START, THINKING},
      {FAIL(CH_ERR_OVERFLOW, false), CH_DO_COMPACT, CH_RUN_THINK, CH_REASON_NONE},
      {{.kind = CH_IN_COMPACTED}, ENDED(CONTEXT_OVERFLOW)}}},
    {"too long, and another model may have room",
     {.models = 2, .max_errors = 5},
     {{START, THINKING}, {FAIL(CH_ERR_OVERFLOW, false), THINKING}, {SAY, DONE(COMPLETED)}}},
    {"an answer of the wrong form is asked for once more",
     {0},
     {{START, THINKING}, {UNFIT, THINKING}, {SAY, DONE(COMPLETED)}}},
    {"and then given up", {0}, {{START, THINKING}, {UNFIT, THINKING}, {UNFIT, ENDED(MODEL_ERROR)}}},
    {"an answer given by a tool likewise",
     {0},
     {{START, THINKING},
      {CALL(1), ACTING},
      {{.kind = CH_IN_RESULTS, .calls = 1, .trailing_errors = 1, .unfit = true}, THINKING},
      {UNFIT, ENDED(MODEL_ERROR)}}},
    {"and if the second is by a tool too",
     {0},
     {{START, THINKING},
      {UNFIT, THINKING},
      {CALL(1), ACTING},
      {{.kind = CH_IN_RESULTS, .calls = 1, .trailing_errors = 1, .unfit = true},
       ENDED(MODEL_ERROR)}}},
    {"late news are ignored",
     {0},
     {{START, THINKING},
      {SAY, DONE(COMPLETED)},
      {{.kind = CH_IN_CANCEL}, LATE(DONE, COMPLETED)},
      {SAY, LATE(DONE, COMPLETED)}}},
};

/* In the table 0 stands for "no such limit". */
static struct ch_run_limits resolved(struct ch_run_limits l) {
    l.max_turns = l.max_turns ? l.max_turns : -1;
    l.max_tool_calls = l.max_tool_calls ? l.max_tool_calls : -1;
    l.max_errors = l.max_errors ? l.max_errors : -1;
    l.token_budget = l.token_budget ? l.token_budget : -1;
    l.cost_budget = l.cost_budget > 0 ? l.cost_budget : -1;
    l.models = l.models ? l.models : 1;
    return l;
}

static void check(const struct story *s, size_t i, const char *what, const char *want,
                  const char *got) {
    if (strcmp(want, got) != 0)
        fail_msg("%s, step %zu: %s is %s, not %s", s->name, i, what, got, want);
}

static void tell(const struct story *s) {
    static const char *const actions[] = {"nothing",  "call model",   "call tools", "compact",
                                          "ask host", "resume tools", "finish"};
    struct ch_run_limits limits = resolved(s->limits);
    struct ch_run r;
    ch_run_init(&r, &limits);
    for (size_t i = 0; i < MAX_STEPS && (s->steps[i].todo || s->steps[i].state); i++) {
        const struct step *st = &s->steps[i];
        enum ch_do todo = ch_run_step(&r, &st->in);
        check(s, i, "action", actions[st->todo], actions[todo]);
        check(s, i, "state", ch_run_state_name(st->state), ch_run_state_name(r.state));
        check(s, i, "reason", ch_reason_name(st->reason), ch_reason_name(r.reason));
    }
}

static void test_stories(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(stories); i++)
        tell(&stories[i]);
}

static struct ch_run fresh(struct ch_run_limits limits) {
    struct ch_run r;
    limits = resolved(limits);
    ch_run_init(&r, &limits);
    ch_run_step(&r, &(struct ch_input)START);
    return r;
}

static void test_backoff_doubles_and_is_capped(void **state) {
    (void)state;
    static const int64_t want[] = {500, 1000, 2000, 4000, 8000, 8000};
    struct ch_run r = fresh((struct ch_run_limits){.retries = 6, .max_errors = 9});
    for (size_t i = 0; i < CH_LEN(want); i++) {
        ch_run_step(&r, &(struct ch_input)FAIL(CH_ERR_OVERLOADED, true));
        assert_int_equal(r.delay_ms, want[i]);
        assert_int_equal(r.attempt, i + 1);
        assert_int_equal(r.turns, 1);
    }
}

static void test_retry_after_is_obeyed(void **state) {
    (void)state;
    struct ch_run r = fresh((struct ch_run_limits){.retries = 1});
    struct ch_input in = FAIL(CH_ERR_RATE_LIMIT, true);
    in.retry_after_ms = 12345;
    ch_run_step(&r, &in);
    assert_int_equal(r.delay_ms, 12345);
}

static void test_fallback_starts_its_own_attempts(void **state) {
    (void)state;
    struct ch_run r = fresh((struct ch_run_limits){.retries = 1, .models = 2, .max_errors = 3});
    ch_run_step(&r, &(struct ch_input)FAIL(CH_ERR_SERVER, true));
    ch_run_step(&r, &(struct ch_input)FAIL(CH_ERR_SERVER, true));
    assert_true(r.fell_back);
    assert_int_equal(r.model, 1);
    assert_int_equal(r.attempt, 0);
    assert_int_equal(ch_run_step(&r, &(struct ch_input)FAIL(CH_ERR_SERVER, true)),
                     CH_DO_CALL_MODEL);
    assert_false(r.fell_back);
    assert_int_equal(r.attempt, 1);
}

static void test_models_that_cool_down_are_passed_over(void **state) {
    (void)state;
    struct ch_run_limits limits = resolved((struct ch_run_limits){.models = 3, .max_errors = 9});
    struct ch_run r;
    ch_run_init(&r, &limits);
    ch_run_step(&r, &(struct ch_input){.kind = CH_IN_INPUT, .cooling = 3});
    assert_true(r.fell_back && r.passed_over);
    assert_int_equal(r.before, 0);
    assert_int_equal(r.model, 2);
    /* all of them rest: no reason to move */
    ch_run_init(&r, &limits);
    ch_run_step(&r, &(struct ch_input){.kind = CH_IN_INPUT, .cooling = 7});
    assert_false(r.fell_back);
    assert_int_equal(r.model, 0);
    /* a failure moves on to one that does not rest, else to the next */
    struct ch_input fail = FAIL(CH_ERR_AUTH, false);
    fail.cooling = 3;
    ch_run_step(&r, &fail);
    assert_int_equal(r.model, 2);
    assert_false(r.passed_over);
}

static void test_a_substitute_is_not_kept_waiting(void **state) {
    (void)state;
    static const struct {
        unsigned models, cooling;
        int64_t after;
        bool falls_back;
    } cases[] = {
        {2, 0, 10000, false}, {2, 0, 10001, true}, {2, 2, 10001, false}, {1, 0, 60000, false}};
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_run r = fresh(
            (struct ch_run_limits){.retries = 2, .models = cases[i].models, .max_errors = 9});
        struct ch_input in = FAIL(CH_ERR_RATE_LIMIT, true);
        in.retry_after_ms = cases[i].after;
        in.cooling = cases[i].cooling;
        assert_int_equal(ch_run_step(&r, &in), CH_DO_CALL_MODEL);
        assert_int_equal(r.fell_back, cases[i].falls_back);
        assert_int_equal(r.delay_ms, cases[i].falls_back ? 0 : cases[i].after);
    }
}

static void test_costs_are_known_or_not(void **state) {
    (void)state;
    struct ch_run r = fresh((struct ch_run_limits){.cost_budget = 0.5, .retries = 1});
    struct ch_input failed = FAIL(CH_ERR_SERVER, true);
    failed.cost = 0.25;
    failed.usage.output = 7;
    ch_run_step(&r, &failed); /* what failed is paid for too */
    assert_false(r.cost_unknown);
    assert_int_equal(r.usage.output, 7);
    struct ch_input in = CALL(1);
    in.cost = -1;
    ch_run_step(&r, &in);
    assert_true(r.cost_unknown);
    assert_true(r.cost == 0.25);
    assert_int_equal(ch_run_step(&r, &(struct ch_input)OK(1)), CH_DO_CALL_MODEL);
    in.cost = 0.25;
    ch_run_step(&r, &in);
    assert_int_equal(ch_run_step(&r, &(struct ch_input)OK(1)), CH_DO_FINISH);
    assert_int_equal(r.reason, CH_REASON_COST_BUDGET);
}

static void test_path_tells_every_state(void **state) {
    (void)state;
    static const uint8_t want[] = {CH_RUN_REFLECT, CH_RUN_OBSERVE, CH_RUN_THINK};
    struct ch_run r = fresh((struct ch_run_limits){0});
    ch_run_step(&r, &(struct ch_input)CALL(1));
    ch_run_step(&r, &(struct ch_input)OK(1));
    assert_int_equal(r.npath, CH_LEN(want));
    assert_memory_equal(r.path, want, sizeof(want));
}

static void test_usage_adds_up(void **state) {
    (void)state;
    struct ch_run r = fresh((struct ch_run_limits){0});
    struct ch_input in = CALL(1);
    in.usage = (struct ch_usage){
        .input = 10, .output = 5, .cache_read = 4, .cache_write = 3, .reasoning = 2};
    ch_run_step(&r, &in);
    ch_run_step(&r, &(struct ch_input)OK(1));
    ch_run_step(&r, &in);
    assert_int_equal(r.usage.input, 20);
    assert_int_equal(r.usage.output, 10);
    assert_int_equal(r.usage.cache_read, 8);
    assert_int_equal(r.usage.cache_write, 6);
    assert_int_equal(r.usage.reasoning, 4);
    assert_int_equal(r.tool_calls, 1);
}

static void test_calls_left(void **state) {
    (void)state;
    struct ch_run r = fresh((struct ch_run_limits){.max_tool_calls = 3});
    assert_int_equal(ch_run_calls_left(&r), 3);
    ch_run_step(&r, &(struct ch_input)CALL(2));
    ch_run_step(&r, &(struct ch_input)OK(2));
    assert_int_equal(ch_run_calls_left(&r), 1);
    r = fresh((struct ch_run_limits){0});
    assert_true(ch_run_calls_left(&r) == SIZE_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stories),
        cmocka_unit_test(test_backoff_doubles_and_is_capped),
        cmocka_unit_test(test_retry_after_is_obeyed),
        cmocka_unit_test(test_fallback_starts_its_own_attempts),
        cmocka_unit_test(test_models_that_cool_down_are_passed_over),
        cmocka_unit_test(test_a_substitute_is_not_kept_waiting),
        cmocka_unit_test(test_costs_are_known_or_not),
        cmocka_unit_test(test_path_tells_every_state),
        cmocka_unit_test(test_usage_adds_up),
        cmocka_unit_test(test_calls_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
