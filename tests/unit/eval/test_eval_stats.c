/* test_eval_stats.c -- intervals, pass^k and paired comparisons against values computed by hand and
 * against simulations. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/mem.h"
#include "eval/eval_stats.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 0.0005)

static void a_share_has_wilsons_interval(void **state) {
    struct ch_eval_share none = ch_eval_share(0, 0), half = ch_eval_share(5, 10),
                         all = ch_eval_share(5, 5);
    (void)state;
    NEAR(none.low, 0);
    NEAR(none.high, 1);
    NEAR(half.low, 0.2366);
    NEAR(half.high, 0.7634);
    NEAR(all.low, 0.5655);
    NEAR(all.high, 1);
}

static void one_trial_a_case_gives_the_interval_of_a_share(void **state) {
    struct ch_eval_tally t[10] = {{1, 1}, {1, 1}, {1, 1}, {0, 1}, {0, 1},
                                  {1, 1}, {1, 1}, {0, 1}, {0, 1}, {0, 1}};
    struct ch_eval_share share = ch_eval_over_cases(t, 10), same = ch_eval_share(5, 10);
    (void)state;
    NEAR(share.low, same.low);
    NEAR(share.high, same.high);
}

static void equal_trials_of_a_case_do_not_narrow_the_interval(void **state) {
    struct ch_eval_tally one[10], many[10];
    (void)state;
    for (size_t i = 0; i < 10; i++) {
        one[i] = (struct ch_eval_tally){i % 2, 1};
        many[i] = (struct ch_eval_tally){20 * (i % 2), 20};
    }
    struct ch_eval_share a = ch_eval_over_cases(one, 10), b = ch_eval_over_cases(many, 10);
    assert_true(b.low <= a.low && b.high >= a.high);
}

static void cases_without_trials_do_not_count(void **state) {
    struct ch_eval_tally t[3] = {{1, 1}, {0, 0}, {1, 1}};
    (void)state;
    NEAR(ch_eval_over_cases(t, 3).mean, 1);
    NEAR(ch_eval_over_cases(t + 1, 1).high, 1);
}

static void pass_k_is_the_chance_that_k_trials_all_pass(void **state) {
    (void)state;
    NEAR(ch_eval_pass_k((struct ch_eval_tally){3, 4}, 1), 0.75);
    NEAR(ch_eval_pass_k((struct ch_eval_tally){3, 4}, 2), 0.5);
    NEAR(ch_eval_pass_k((struct ch_eval_tally){3, 4}, 4), 0);
    assert_true(ch_eval_pass_k((struct ch_eval_tally){3, 4}, 5) < 0);
}

static void mcnemars_test_is_exact_and_two_sided(void **state) {
    (void)state;
    NEAR(ch_eval_mcnemar(0, 0), 1);
    NEAR(ch_eval_mcnemar(3, 3), 1);
    NEAR(ch_eval_mcnemar(0, 5), 0.0625);
    NEAR(ch_eval_mcnemar(6, 0), 0.03125);
    NEAR(ch_eval_mcnemar(10, 2), 0.03857);
    assert_true(ch_eval_mcnemar(2000, 1000) < 1e-9);
}

static void sign_flips_agree_with_mcnemars_test(void **state) {
    double d[40] = {0};
    (void)state;
    for (size_t i = 0; i < 12; i++)
        d[i] = i < 10 ? 1 : -1;
    NEAR(ch_eval_sign_flips(d, 12, 1), 0.03857);
    for (size_t i = 0; i < 40; i++)
        d[i] = i < 28 ? 1 : -1;
    assert_true(fabs(ch_eval_sign_flips(d, 40, 1) - ch_eval_mcnemar(28, 12)) < 0.01);
    for (size_t i = 0; i < 40; i++)
        d[i] = 0;
    NEAR(ch_eval_sign_flips(d, 40, 1), 1);
}

static void a_ratio_of_costs_has_an_interval(void **state) {
    double now[20], then[20], free[20] = {0};
    (void)state;
    for (size_t i = 0; i < 20; i++) {
        then[i] = 1 + (double)(i % 3);
        now[i] = 2 * then[i];
    }
    struct ch_eval_share r = ch_eval_ratio(now, then, 20, 1);
    NEAR(r.mean, 2);
    NEAR(r.low, 2);
    NEAR(r.high, 2);
    assert_true(isnan(ch_eval_ratio(now, free, 20, 1).mean));
}

static void kappa_is_zero_for_a_judge_that_always_says_yes(void **state) {
    struct ch_eval_agreement always = {.yes_yes = 90, .yes_no = 10},
                             right = {.yes_yes = 50, .no_no = 50};
    (void)state;
    NEAR(ch_eval_kappa(&always), 0);
    NEAR(ch_eval_kappa(&right), 1);
}

/* --- coverage ---------------------------------------------------------------------------- */

static double uniform(uint64_t *s) {
    return (double)(ch_eval_random(s) >> 11) / 9007199254740992.0;
}

/* The chance of a case: a coin that is 0 or 1 with this probability, else p itself. Trials of a
 * case are correlated by `alike`. */
static double case_chance(double p, double alike, uint64_t *s) {
    if (uniform(s) < alike)
        return uniform(s) < p;
    return p;
}

static double coverage(size_t cases, size_t trials, double p, double alike, uint64_t *s) {
    struct ch_eval_tally t[200];
    size_t covered = 0, rounds = 150;
    for (size_t r = 0; r < rounds; r++) {
        for (size_t i = 0; i < cases; i++) {
            double chance = case_chance(p, alike, s);
            t[i] = (struct ch_eval_tally){0, trials};
            for (size_t k = 0; k < trials; k++)
                t[i].passed += uniform(s) < chance;
        }
        struct ch_eval_share share = ch_eval_over_cases(t, cases);
        covered += share.low <= p + 1e-12 && share.high >= p - 1e-12;
    }
    return (double)covered / (double)rounds;
}

static void intervals_cover_the_truth_in_94_of_100_evaluations(void **state) {
    static const size_t cases[] = {10, 20, 50, 200}, trials[] = {1, 3, 10};
    static const double alike[] = {0, 0.4, 0.9};
    uint64_t seed = 7;
    double sum = 0;
    size_t n = 0;
    (void)state;
    for (size_t c = 0; c < CH_LEN(cases); c++)
        for (size_t t = 0; t < CH_LEN(trials); t++)
            for (size_t a = 0; a < CH_LEN(alike); a++)
                for (double p = 0.05; p < 0.96; p += 0.15, n++)
                    sum += coverage(cases[c], trials[t], p, alike[a], &seed);
    assert_true(sum / (double)n >= 0.94);
    assert_true(sum / (double)n <= 0.985);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_has_wilsons_interval),
        cmocka_unit_test(one_trial_a_case_gives_the_interval_of_a_share),
        cmocka_unit_test(equal_trials_of_a_case_do_not_narrow_the_interval),
        cmocka_unit_test(cases_without_trials_do_not_count),
        cmocka_unit_test(pass_k_is_the_chance_that_k_trials_all_pass),
        cmocka_unit_test(mcnemars_test_is_exact_and_two_sided),
        cmocka_unit_test(sign_flips_agree_with_mcnemars_test),
        cmocka_unit_test(a_ratio_of_costs_has_an_interval),
        cmocka_unit_test(kappa_is_zero_for_a_judge_that_always_says_yes),
        cmocka_unit_test(intervals_cover_the_truth_in_94_of_100_evaluations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
