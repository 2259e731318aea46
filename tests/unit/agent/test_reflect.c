/* test_reflect.c -- the scores decide, not the judge's word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/feature/mode/reflect.h"
#include "base/mem.h"

#define ACCEPT CH_REFLECT_ACCEPT
#define RETRY CH_REFLECT_RETRY_STEP
#define REPLAN CH_REFLECT_REPLAN
#define ESCALATE CH_REFLECT_ESCALATE

static const struct {
    int scores[3]; /* completeness, correctness, format */
    int proposed;
    int64_t step;
    struct ch_reflect_state state;
    int want;
    bool warn;
} decided[] = {
    {{5, 5, 5}, ACCEPT, 0, {0, false}, ACCEPT, false},
    {{4, 4, 4}, ESCALATE, 0, {3, false}, ACCEPT, false},
    {{5, 5, 4}, RETRY, 1, {0, false}, ACCEPT, false}, /* nothing to gain */
    {{5, 3, 5}, ACCEPT, 1, {0, false}, RETRY, false},
    {{5, 3, 5}, ACCEPT, 0, {0, false}, REPLAN, false},
    {{3, 5, 5}, REPLAN, 0, {1, false}, REPLAN, false},
    {{3, 5, 5}, REPLAN, 0, {1, true}, ACCEPT, true}, /* a second chance, not a third */
    {{5, 5, 3}, RETRY, 1, {3, false}, ACCEPT, true},
    {{5, 2, 5}, ACCEPT, 2, {0, false}, RETRY, false},
    {{5, 1, 5}, ACCEPT, 0, {2, true}, REPLAN, false},
    {{5, 2, 5}, ACCEPT, 2, {3, true}, ESCALATE, false}, /* never accepted */
    {{1, 5, 5}, RETRY, 1, {3, false}, ESCALATE, false},
    {{2, 2, 5}, ESCALATE, 0, {0, false}, ESCALATE, false},
    {{5, 3, 5}, ESCALATE, 0, {0, false}, REPLAN, false},
};

static void test_decided(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(decided); i++) {
        struct ch_reflection r = {decided[i].scores[0], decided[i].scores[1],
                                  decided[i].scores[2], decided[i].proposed,
                                  decided[i].step,      "",
                                  "",
                                  ""};
        struct ch_reflect_state s = decided[i].state;
        struct ch_reflect_decision d = ch_reflect_decide(&r, &s);
        bool again = d.action == RETRY || d.action == REPLAN;
        if ((int)d.action != decided[i].want || d.warn != decided[i].warn)
            fail_msg("row %zu: action %d%s", i, (int)d.action, d.warn ? ", warn" : "");
        assert_int_equal(s.retries, decided[i].state.retries + again);
    }
}

/* Whatever a judge says, it comes to an end, and a wrong result is never taken. */
static void test_it_ends(void **state) {
    (void)state;
    for (int seed = 0; seed < 5 * 5 * 5 * 4; seed++) {
        struct ch_reflect_state s = {0};
        unsigned rounds = 0;
        struct ch_reflect_decision d;
        struct ch_reflection r = {1 + seed % 5, 1 + seed / 5 % 5, 1 + seed / 25 % 5,
                                  seed / 125,   0,                "",
                                  "",
                                  ""};
        do {
            d = ch_reflect_decide(&r, &s);
            rounds++;
        } while (d.action == CH_REFLECT_RETRY_STEP || d.action == CH_REFLECT_REPLAN);
        assert_true(rounds <= CH_REFLECT_RETRIES + 1);
        assert_false(d.action == CH_REFLECT_ACCEPT && r.correctness <= 2);
    }
}

#define SCORES(c, k, f)                                                            \
    "{\"evaluation\":{\"completeness\":{\"score\":" c "},\"correctness\":{\"score\":" k \
    "},\"format\":{\"score\":" f "}},"

static void test_read(void **state) {
    CH_ARENA_AUTO a = {0};
    struct ch_reflection r;
    struct chela_error err = {0};
    (void)state;
    assert_int_equal(
        ch_reflect_read(
            &a,
            CH_SV(
                SCORES("5", "2", "4") "\"action\":\"retry_step\","
                                      "\"retry_details\":{\"step_id\":3,\"modification\":\"m\"}}"),
            &r, &err),
        0);
    assert_int_equal(r.correctness, 2);
    assert_int_equal(r.proposed, CH_REFLECT_RETRY_STEP);
    assert_int_equal(r.step, 3);
    assert_string_equal(r.modification, "m");
    assert_string_equal(r.question, "");
}

static void test_unreadable(void **state) {
    static const struct {
        const char *text, *message;
        int code;
    } rows[] = {
        {"OK", "line 1", CHELA_EPARSE},
        {"[]", "evaluation.completeness.score: expected a number from 1 to 5", CHELA_EINVAL},
        {SCORES("5", "6", "5") "\"action\":\"accept\"}", "evaluation.correctness.score: ",
         CHELA_EINVAL},
        {SCORES("5", "5", "4.5") "\"action\":\"accept\"}", "evaluation.format.score: ",
         CHELA_EINVAL},
        {SCORES("5", "5", "5") "\"action\":\"approve\"}", "action: expected accept, ",
         CHELA_EINVAL},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_ARENA_AUTO a = {0};
        struct ch_reflection r;
        struct chela_error err = {0};
        assert_int_equal(ch_reflect_read(&a, ch_sv_str(rows[i].text), &r, &err), rows[i].code);
        if (strncmp(err.message, rows[i].message, strlen(rows[i].message)) != 0)
            fail_msg("%s: %s", rows[i].text, err.message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decided),
        cmocka_unit_test(test_it_ends),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_unreadable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
