/* judge.h -- checks answers against the expectations of a case, and computes confidence
 * intervals of pass rates; see cases.h. */
#ifndef CH_PROMPT_JUDGE_H
#define CH_PROMPT_JUDGE_H
#include "prompt/cases.h"

/* True if the outcome passes. Otherwise `why` receives the first failed expectation and the
 * actual value. */
bool ch_case_judge(const struct ch_case *c, const struct ch_case_outcome *o, struct ch_buf *why);

/* Check that `good` passes and all `bad` fail. CHELA_EINVAL: err names the place. */
int ch_case_check_samples(const struct ch_case *c, struct chela_error *err);

/* Confidence interval of the difference of two rates, by Newcombe's method. */
struct ch_rate ch_rate_difference(struct ch_rate a, struct ch_rate b);

#endif
