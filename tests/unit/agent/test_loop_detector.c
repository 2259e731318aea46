/* test_loop_detector.c -- what counts as going round in circles, and what does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/machine/loop_detector.h"
#include "base/mem.h"

static const struct chela_loop_guard usual = {0};

/* One turn of one call; %d in arguments and result stands for the turn. */
struct pattern {
    const char *name;
    struct {
        const char *tool, *arguments, *result;
    } calls[4]; /* taken in turn */
    const char *text;
    bool unknown;
    enum ch_loop_kind kind;
    int note, end; /* turns, from 1; 0: never */
};

static const struct pattern patterns[] = {
    {"the same call, the same result", {{"ls", "{}", "a b"}}, "", false, CH_LOOP_REPEAT, 5, 8},
    {"only times differ",
     {{"ls", "{\"timestamp\":17947293894%d}", "at 12:30:%d took %d ms\npid 7"}},
     "", false, CH_LOOP_REPEAT, 5, 8},
    {"only volatile members differ",
     {{"get", "{\"nonce\": \"a%d\"}", "{\"ok\":true,\"elapsed_ms\":%d,\"request_id\":\"r%d\"}"}},
     "", false, CH_LOOP_REPEAT, 5, 8},
    {"the next page each time", {{"get", "{\"page\":%d}", "items"}}, "", false, 0, 0, 0},
    {"the same call, another result", {{"get", "{}", "item %d"}}, "", false, 0, 0, 0},
    {"a version is no time", {{"get", "{}", "v1.2.%d"}}, "", false, 0, 0, 0},
    {"polling, no change", {{"job_status", "{}", "running"}}, "", false, CH_LOOP_POLL, 12, 18},
    {"polling, progress", {{"job_status", "{}", "%d %%"}}, "", false, 0, 0, 0},
    {"two calls in turn",
     {{"read", "{}", "x"}, {"write", "{}", "ok"}},
     "", false, CH_LOOP_PING_PONG, 6, 10},
    {"two calls in turn, one learns something",
     {{"read", "{}", "x%d"}, {"write", "{}", "ok"}},
     "", false, 0, 0, 0},
    {"poll and wait",
     {{"job_status", "{}", "running"}, {"rest", "{}", "ok"}},
     "", false, CH_LOOP_POLL, 24, 0},
    {"three calls in turn",
     {{"a", "{}", "1"}, {"b", "{}", "2"}, {"c", "{}", "3"}},
     "", false, CH_LOOP_SEQUENCE, 9, 15},
    {"the same words, nothing new", {{"ls", "{}", "a"}}, "Let me look.", false, CH_LOOP_TEXT, 3, 5},
    {"the same words, something new", {{"get", "{\"page\":%d}", "x"}}, "Next.", false, 0, 0, 0},
    {"no such tool", {{"nope", "{\"n\":%d}", "error %d"}}, "", true, CH_LOOP_UNKNOWN, 3, 5},
};

static void expand(struct ch_buf *out, const char *s, int n) {
    for (; *s; s++)
        if (s[0] == '%' && s[1] == 'd' && s++)
            ch_buf_addf(out, "%d", n);
        else
            ch_buf_add(out, s, 1);
}

static void play(const struct pattern *p) {
    struct ch_loop_detector g = {0};
    size_t ncalls = 0;
    int note = 0, end = 0;
    while (ncalls < CH_LEN(p->calls) && p->calls[ncalls].tool)
        ncalls++;
    for (int turn = 1; turn <= 30 && !end; turn++) {
        size_t i = (size_t)(turn - 1) % ncalls;
        CH_BUF_AUTO arguments = {0};
        CH_BUF_AUTO result = {0};
        expand(&arguments, p->calls[i].arguments, turn + 10);
        expand(&result, p->calls[i].result, turn + 10);
        ch_loop_detector_call(&g, ch_sv_str(p->calls[i].tool), ch_buf_sv(&arguments),
                              ch_buf_sv(&result), p->unknown);
        enum ch_loop_verdict v = ch_loop_detector_turn(&g, &usual, ch_sv_str(p->text));
        if (v == CH_LOOP_VERDICT_NOTE && !note)
            note = turn;
        if (v == CH_LOOP_VERDICT_END)
            end = turn;
    }
    if (note != p->note || end != p->end || ((note || end) && g.kind != p->kind))
        fail_msg("%s: note %d (not %d), end %d (not %d), %s", p->name, note, p->note, end, p->end,
                 ch_loop_kind_name(g.kind));
    CH_BUF_AUTO words = {0};
    ch_loop_detector_describe(&g, CH_SV("ls"), &words);
    assert_int_equal(words.n > 0, p->kind != CH_LOOP_NONE);
}

static void test_patterns(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(patterns); i++)
        play(&patterns[i]);
}

static enum ch_loop_verdict again(struct ch_loop_detector *g,
                                  const struct chela_loop_guard *limits) {
    ch_loop_detector_call(g, CH_SV("ls"), CH_SV("{}"), CH_SV("a"), false);
    return ch_loop_detector_turn(g, limits, CH_SV(""));
}

static void test_one_note_then_the_end(void **state) {
    (void)state;
    struct ch_loop_detector g = {0};
    const struct chela_loop_guard limits = {.repeats = 2};
    assert_int_equal(again(&g, &limits), CH_LOOP_VERDICT_FINE);
    assert_int_equal(again(&g, &limits), CH_LOOP_VERDICT_NOTE);
    assert_int_equal(again(&g, &limits), CH_LOOP_VERDICT_END);
}

static void test_a_word_from_outside_begins_anew(void **state) {
    (void)state;
    struct ch_loop_detector g = {0};
    const struct chela_loop_guard limits = {.repeats = 3};
    for (int i = 0; i < 20; i++) {
        assert_int_equal(again(&g, &limits), CH_LOOP_VERDICT_FINE);
        assert_int_equal(again(&g, &limits), CH_LOOP_VERDICT_FINE);
        g = (struct ch_loop_detector){0};
    }
}

static void test_switched_off(void **state) {
    (void)state;
    struct ch_loop_detector g = {0};
    const struct chela_loop_guard limits = CHELA_LOOP_GUARD(
        .repeats = -1, .cycles = -1, .texts = -1, .polls = -1, .unknown_tools = -1);
    for (int i = 0; i < 100; i++)
        assert_int_equal(again(&g, &limits), CH_LOOP_VERDICT_FINE);
}

/* The calls of one reply were all asked for before any had a result. */
static void test_many_calls_in_one_turn(void **state) {
    (void)state;
    struct ch_loop_detector g = {0};
    for (int turn = 1; turn <= 5; turn++) {
        for (int i = 0; i < 9; i++)
            ch_loop_detector_call(&g, CH_SV("ls"), CH_SV("{}"), CH_SV("a"), false);
        assert_int_equal(ch_loop_detector_turn(&g, &usual, CH_SV("")),
                         turn < 5 ? CH_LOOP_VERDICT_FINE : CH_LOOP_VERDICT_NOTE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_one_note_then_the_end),
        cmocka_unit_test(test_a_word_from_outside_begins_anew),
        cmocka_unit_test(test_switched_off),
        cmocka_unit_test(test_many_calls_in_one_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
