/* prune.h -- shortens old tool results.
 *
 * Results make up most of a long conversation, and old ones are rarely needed verbatim.
 * Pruning cuts old results to their head and tail and, if that is not enough, removes their
 * text; the call and its result block remain, so the conversation stays valid. Messages
 * from `from` on are unchanged.
 *
 * ch_squeeze is the last resort for a conversation whose newest messages alone are too
 * long: it cuts the largest texts anywhere, except the user's last message. */
#ifndef CH_PROMPT_PRUNE_H
#define CH_PROMPT_PRUNE_H
#include "prompt/measure.h"

/* Index of the first message of the model's last `turns` replies, which pruning does not
 * change. */
size_t ch_prune_from(const struct ch_transcript *t, unsigned turns);

/* Rewrite messages before `from` until at least `wanted` tokens are saved or nothing is
 * left to cut. Returns the tokens saved; 0: nothing was changed. */
size_t ch_prune(struct ch_transcript *t, size_t from, size_t wanted);

/* The tokens that ch_prune could save; counting stops at `enough`. */
size_t ch_prunable(const struct ch_transcript *t, size_t from, size_t enough);

/* Reduce t to `goal` tokens. Returns the resulting tokens, which exceed goal if the user's
 * last message and many small ones do. */
size_t ch_squeeze(struct ch_transcript *t, size_t goal);

#endif
