/* measure.h -- estimates the tokens of a conversation.
 *
 * Messages are immutable, so each is measured once as the conversation grows. A rewrite
 * (compaction, pruning) starts over. */
#ifndef CH_PROMPT_MEASURE_H
#define CH_PROMPT_MEASURE_H
#include "model/message/message.h"
#include "prompt/tokens.h"

/* Includes the overhead of the protocols. */
size_t ch_msg_tokens(const struct ch_msg *m, enum ch_counting how);

struct ch_meter { /* zeroed: nothing measured */
    size_t n, tokens;
    enum ch_counting how;
};

/* Tokens of the whole transcript, by its `counting`; only messages that are new since the
 * last call are counted. */
size_t ch_meter_read(struct ch_meter *m, const struct ch_transcript *t);

#endif
