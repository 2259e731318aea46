/* tokens.h -- estimates the tokens of a text without a vocabulary.
 *
 * A tokenizer first splits a text into pieces (words, groups of digits, runs of marks, runs
 * of blanks) and never merges across them. The splits are cheap and nearly the same for all
 * tokenizers; only the cost of a piece needs the vocabulary. This module makes the splits
 * and uses the average cost of pieces of the same kind and length.
 *
 * The remaining error is a factor that depends on vendor and subject. Vendors report the
 * actual tokens of each request: a gauge learns the factor, so only text since the last
 * request is estimated. */
#ifndef CH_PROMPT_TOKENS_H
#define CH_PROMPT_TOKENS_H
#include "base/sv.h"
#include "model/catalog/model_facts.h"

/* Rounded up; 0 only for an empty text. Linear time, no allocation. */
size_t ch_tokens_as(struct ch_sv text, enum ch_counting how);
static inline size_t ch_tokens(struct ch_sv text) {
    return ch_tokens_as(text, CH_COUNTING_USUAL);
}

#define CH_TOKENS_A_BYTE 2 /* no text has more by ch_tokens */

struct ch_gauge { /* one per model of a conversation; zeroed: unknown */
    size_t guessed, counted; /* values of the last reported request */
    double factor;           /* 0: not known yet */
};

/* Record the estimated and the reported tokens of a request. */
void ch_gauge_learn(struct ch_gauge *g, size_t guessed, size_t counted);

/* The expected reported tokens of a request with this estimate. */
size_t ch_gauge_expect(const struct ch_gauge *g, size_t guessed);

#endif
