/* prune.h -- less of what tools gave long ago.
 *
 * Results are most of a long conversation, and the older one is the less of it
 * is needed word by word. Pruning cuts old results to their ends, and if that
 * is not enough takes them away; the call and the place of its result stay, so
 * the conversation remains valid. Messages after `from` are not touched.
 *
 * ch_squeeze is the last resort, for a conversation whose newest messages alone
 * are too much: it cuts the largest texts wherever they are, the last message of
 * the user excepted. */
#ifndef CH_PROMPT_PRUNE_H
#define CH_PROMPT_PRUNE_H
#include "prompt/measure.h"

/* The first message of the last `turns` replies of the model: what pruning
 * leaves alone. */
size_t ch_prune_from(const struct ch_transcript *t, unsigned turns);

/* Rewrite messages before `from` until at least `wanted` tokens are saved or
 * nothing is left to take. Returns the tokens saved; 0: nothing was changed. */
size_t ch_prune(struct ch_transcript *t, size_t from, size_t wanted);

/* What ch_prune could save at most; counted until it is `enough`. */
size_t ch_prunable(const struct ch_transcript *t, size_t from, size_t enough);

/* Bring all of t down to `goal` tokens. Returns what it has then, which is more
 * than goal if the user's last message and many small ones are. */
size_t ch_squeeze(struct ch_transcript *t, size_t goal);

#endif
