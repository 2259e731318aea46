/* logprobs.h -- log probabilities of a reply's tokens, in one form for all vendors:
 * [{"token","logprob","top":[{"token","logprob"},..]},..]. */
#ifndef CH_MODEL_LOGPROBS_H
#define CH_MODEL_LOGPROBS_H
#include "model/codec/codec.h"

/* Add tokens in OpenAI's form: a JSON array of {"token","logprob","top_logprobs":[..]}. */
void ch_logprobs_add(struct ch_decoder *d, struct ch_sv array);
/* Add tokens in Gemini's form: {"chosenCandidates":[..],"topCandidates":[{"candidates"}]}. */
void ch_logprobs_add_candidates(struct ch_decoder *d, struct ch_sv object);
/* The whole array; empty: the service sent none. */
struct ch_sv ch_logprobs_of(struct ch_decoder *d);

#endif
