/* tokens.h -- how many tokens a text is, without a vocabulary.
 *
 * A tokenizer first cuts a text into pieces (words, groups of digits, runs of
 * marks, runs of blanks) and never merges across them. The cuts are cheap and
 * nearly the same everywhere; only what a piece costs needs the vocabulary. So
 * the cuts are made here and a piece costs what pieces of its kind and length
 * cost on average.
 *
 * What is left is a factor that differs from vendor to vendor and from subject
 * to subject. Vendors report what each request really was: a gauge learns the
 * factor from that, and only what is new since then is guessed. */
#ifndef CH_PROMPT_TOKENS_H
#define CH_PROMPT_TOKENS_H
#include "base/sv.h"

/* Rounded up; 0 for an empty text alone. Linear, no allocation. */
size_t ch_tokens(struct ch_sv text);

struct ch_gauge { /* one for each model of a conversation; zeroed: knows nothing */
    size_t guessed, counted; /* of the last request that was reported */
    double factor;           /* 0: not known yet */
};

/* A request that was guessed to have so many tokens had so many. */
void ch_gauge_learn(struct ch_gauge *g, size_t guessed, size_t counted);

/* What a request that is guessed to have so many tokens will be counted as. */
size_t ch_gauge_expect(const struct ch_gauge *g, size_t guessed);

#endif
