/* eval_stats.h -- statistics of trials: intervals, pass^k, paired comparisons. Pure.
 *
 * Trials of one case are not independent, so that an interval over cases counts cases, and never
 * trials. A random number comes from a seed: equal calls give equal results. */
#ifndef CH_EVAL_STATS_H
#define CH_EVAL_STATS_H
#include <stddef.h>
#include <stdint.h>

struct ch_eval_tally { /* trials of one case */
    size_t passed, trials;
};

struct ch_eval_share {
    double mean, low, high; /* low and high: the 95 % interval */
};

/* A share of independent trials: Wilson's interval. No trials: 0 to 1. */
struct ch_eval_share ch_eval_share(size_t passed, size_t trials);

/* The mean of the shares of n cases. With one trial a case this is Wilson's interval; with more
 * it is Wilson's interval for the number of independent trials that have the variance between
 * the cases, from one a case to all. Cases without trials do not count. */
struct ch_eval_share ch_eval_over_cases(const struct ch_eval_tally *t, size_t n);

/* The chance that k trials of a case all pass, without bias: C(passed, k) / C(trials, k).
 * Negative: the case has fewer than k trials. */
double ch_eval_pass_k(struct ch_eval_tally t, size_t k);

/* McNemar's exact test, two-sided: how likely is a split at least as uneven, if a case gets
 * better as easily as worse? 1: nothing differs. */
double ch_eval_mcnemar(size_t better, size_t worse);

/* The same for differences of shares: the signs of the differences are exchanged, all ways if
 * they are few, else at random. */
double ch_eval_sign_flips(const double *differences, size_t n, uint64_t seed);

/* The ratio of two sums over the same n cases, with an interval by resampling cases. A sum of 0
 * below the line: all members are NaN. */
struct ch_eval_share ch_eval_ratio(const double *above, const double *below, size_t n,
                                   uint64_t seed);

/* The smallest difference of two shares over the same n cases that a test at 5 % finds with a
 * chance of 80 %, if a share `discordant` of the cases differs. */
double ch_eval_visible(size_t n, double discordant);

/* Agreement of two raters of which one is right: counts of (rated, right). */
struct ch_eval_agreement {
    size_t yes_yes, yes_no, no_yes, no_no;
};
/* Cohen's kappa; NaN: chance alone would agree always. */
double ch_eval_kappa(const struct ch_eval_agreement *a);

/* The next number of a sequence (SplitMix64), and one below n. */
uint64_t ch_eval_random(uint64_t *state);
size_t ch_eval_random_below(uint64_t *state, size_t n);

#endif
