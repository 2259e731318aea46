/* measure.h -- how many tokens a conversation is, as far as one can guess.
 *
 * Messages never change, so a conversation is measured as it grows: each
 * message once. A rewrite (compaction, pruning) begins anew. */
#ifndef CH_PROMPT_MEASURE_H
#define CH_PROMPT_MEASURE_H
#include "model/message/message.h"
#include "prompt/tokens.h"

/* With what the protocols put around it. */
size_t ch_msg_tokens(const struct ch_msg *m);

struct ch_meter { /* zeroed: nothing measured */
    size_t n, tokens;
};

/* All of t; costs what is new since the last time. */
size_t ch_meter_read(struct ch_meter *m, const struct ch_transcript *t);

#endif
