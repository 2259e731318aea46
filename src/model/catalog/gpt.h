/* gpt.h -- properties of an OpenAI model, derived from its name. */
#ifndef CH_MODEL_GPT_H
#define CH_MODEL_GPT_H
#include <stdbool.h>

#include "base/sv.h"
#include "model/catalog/model_request.h"

/* The name without a vendor's prefix: "gpt-5" of "openai/gpt-5". */
struct ch_sv ch_gpt_bare(struct ch_sv model);

/* True for reasoning models, which accept an effort but neither temperature nor stop. */
bool ch_gpt_reasons(struct ch_sv model);
/* The same for the model of a request; the quirks of its endpoint take precedence over the
 * name, which may be a deployment's own (Azure). */
bool ch_gpt_request_reasons(const struct ch_model_request *req);

/* True if both names denote the same model; a server may add or omit a date. */
bool ch_gpt_same(struct ch_sv a, struct ch_sv b);

#endif
