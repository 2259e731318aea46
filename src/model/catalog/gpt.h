/* gpt.h -- what the name of one of OpenAI's models tells about it. */
#ifndef CH_MODEL_GPT_H
#define CH_MODEL_GPT_H
#include <stdbool.h>

#include "base/sv.h"

/* The name without a vendor's prefix: "gpt-5" of "openai/gpt-5". */
struct ch_sv ch_gpt_bare(struct ch_sv model);

/* Models that reason take an effort, and neither temperature nor stop. */
bool ch_gpt_reasons(struct ch_sv model);

/* The lowest effort that a model that reasons takes. */
const char *ch_gpt_least_effort(struct ch_sv model);

/* May what was cached of a prompt be kept for a day? Others refuse to be told. */
bool ch_gpt_caches_long(struct ch_sv model);

/* Two names of one model: a server may add a date, or leave one out. */
bool ch_gpt_same(struct ch_sv a, struct ch_sv b);

#endif
