/* eval_stats.c -- see eval_stats.h. */
#include "eval/eval_stats.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

#define Z 1.959963984540054 /* 95 %, two-sided */
#define POWER 0.8416212335729143
#define RESAMPLES 2000
#define FEW 16 /* differences whose signs are exchanged in all ways */

uint64_t ch_eval_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

size_t ch_eval_random_below(uint64_t *state, size_t n) {
    return n ? (size_t)(ch_eval_random(state) % n) : 0;
}

/* --- intervals --------------------------------------------------------------------------- */

/* Wilson's interval of a share of n trials, which need not be a whole number. */
static struct ch_eval_share wilson(double p, double n, double z) {
    double square = z * z;
    double middle = (p + square / (2 * n)) / (1 + square / n);
    double half = z / (1 + square / n) * sqrt(p * (1 - p) / n + square / (4 * n * n));
    return (struct ch_eval_share){p, p > 0 ? fmax(0, middle - half) : 0,
                                  p < 1 ? fmin(1, middle + half) : 1};
}

struct ch_eval_share ch_eval_share(size_t passed, size_t trials) {
    if (!trials)
        return (struct ch_eval_share){0, 0, 1};
    return wilson((double)passed / (double)trials, (double)trials, Z);
}

/* Quantile of Student's distribution, by the expansion around the normal one. */
static double student(size_t degrees) {
    double v = (double)degrees, z3 = Z * Z * Z, z5 = z3 * Z * Z;
    if (!degrees)
        return 12.71;
    return Z + (z3 + Z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * Z) / (96 * v * v);
}

static double share_of(struct ch_eval_tally t) {
    return (double)t.passed / (double)t.trials;
}

struct ch_eval_share ch_eval_over_cases(const struct ch_eval_tally *t, size_t n) {
    double sum = 0, squares = 0;
    size_t cases = 0, trials = 0;
    for (size_t i = 0; i < n; i++) {
        cases += t[i].trials > 0;
        trials += t[i].trials;
        sum += t[i].trials ? share_of(t[i]) : 0;
    }
    if (!cases)
        return (struct ch_eval_share){0, 0, 1};
    double p = sum / (double)cases, m = (double)cases;
    for (size_t i = 0; i < n; i++)
        squares += t[i].trials ? pow(share_of(t[i]) - p, 2) : 0;
    if (trials == cases || cases == 1 || squares <= 0)
        return wilson(p, m, Z);
    double independent = p * (1 - p) * m * (m - 1) / squares;
    return wilson(p, fmin(fmax(independent, m), (double)trials), student(cases - 1));
}

double ch_eval_pass_k(struct ch_eval_tally t, size_t k) {
    double share = 1;
    if (t.trials < k)
        return -1;
    for (size_t i = 0; i < k; i++)
        share *= t.passed > i ? (double)(t.passed - i) / (double)(t.trials - i) : 0;
    return share;
}

/* --- comparisons ------------------------------------------------------------------------- */

double ch_eval_mcnemar(size_t better, size_t worse) {
    size_t n = better + worse, least = CH_MIN(better, worse);
    double sum = 0;
    for (size_t i = 0; i <= least && n; i++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) -
                   (double)n * log(2));
    return n ? fmin(1, 2 * sum) : 1;
}

static double flipped(const double *d, size_t n, uint64_t signs) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += signs >> i & 1 ? -d[i] : d[i];
    return fabs(sum);
}

static double flipped_at_random(const double *d, size_t n, uint64_t *state) {
    double sum = 0;
    uint64_t bits = 0;
    for (size_t i = 0; i < n; i++, bits >>= 1) {
        bits = i % 64 ? bits : ch_eval_random(state);
        sum += bits & 1 ? -d[i] : d[i];
    }
    return fabs(sum);
}

double ch_eval_sign_flips(const double *differences, size_t n, uint64_t seed) {
    CH_AUTOFREE double *d = ch_alloc((n + 1) * sizeof(*d));
    size_t some = 0, far = 0;
    for (size_t i = 0; i < n; i++)
        if (differences[i] != 0)
            d[some++] = differences[i];
    double seen = flipped(d, some, 0) - 1e-9;
    if (!some)
        return 1;
    if (some <= FEW) {
        for (uint64_t signs = 0; signs < 1u << some; signs++)
            far += flipped(d, some, signs) >= seen;
        return (double)far / (double)(1u << some);
    }
    seen = 0;
    for (size_t i = 0; i < some; i++)
        seen += d[i];
    seen = fabs(seen) - 1e-9;
    for (size_t i = 0; i < RESAMPLES; i++)
        far += flipped_at_random(d, some, &seed) >= seen;
    return (double)(far + 1) / (RESAMPLES + 1);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double ratio_of(const double *above, const double *below, size_t n, uint64_t *state) {
    double a = 0, b = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = state ? ch_eval_random_below(state, n) : i;
        a += above[at];
        b += below[at];
    }
    return b > 0 ? a / b : NAN;
}

struct ch_eval_share ch_eval_ratio(const double *above, const double *below, size_t n,
                                   uint64_t seed) {
    CH_AUTOFREE double *drawn = ch_alloc(RESAMPLES * sizeof(*drawn));
    double ratio = ratio_of(above, below, n, NULL);
    size_t some = 0;
    if (!isfinite(ratio))
        return (struct ch_eval_share){NAN, NAN, NAN};
    for (size_t i = 0; i < RESAMPLES; i++) {
        drawn[some] = ratio_of(above, below, n, &seed);
        some += isfinite(drawn[some]) != 0;
    }
    if (!some)
        return (struct ch_eval_share){ratio, NAN, NAN};
    qsort(drawn, some, sizeof(*drawn), by_size);
    return (struct ch_eval_share){ratio, drawn[some * 25 / 1000], drawn[(some * 975 - 1) / 1000]};
}

double ch_eval_visible(size_t n, double discordant) {
    return n ? fmin(1, (Z + POWER) * sqrt(discordant / (double)n)) : 1;
}

double ch_eval_kappa(const struct ch_eval_agreement *a) {
    double n = (double)(a->yes_yes + a->yes_no + a->no_yes + a->no_no);
    double yes = (double)(a->yes_yes + a->yes_no), right = (double)(a->yes_yes + a->no_yes);
    if (n <= 0)
        return NAN;
    double agreed = (double)(a->yes_yes + a->no_no) / n;
    double chance = (yes * right + (n - yes) * (n - right)) / (n * n);
    return chance < 1 ? (agreed - chance) / (1 - chance) : NAN;
}
