/* judge.h -- does an answer meet what a case expects, and how sure is a share of
 * answers that do; see cases.h. */
#ifndef CH_PROMPT_JUDGE_H
#define CH_PROMPT_JUDGE_H
#include "prompt/cases.h"

/* Does the outcome pass? If not, `why` gets the first expectation that it does
 * not meet, and what is there instead. */
bool ch_case_judge(const struct ch_case *c, const struct ch_case_outcome *o, struct ch_buf *why);

/* Do `good` and `bad` come out as they must? CHELA_EINVAL, err names the place. */
int ch_case_check_samples(const struct ch_case *c, struct chela_error *err);

/* The same for the difference of two shares, by Newcombe's method. */
struct ch_rate ch_rate_difference(struct ch_rate a, struct ch_rate b);

#endif
