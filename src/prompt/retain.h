/* retain.h -- selects the messages that remain when a conversation must shrink.
 *
 * The newest messages always remain: a sliding window. Of the earlier ones, the most
 * important remain while there is room: answers that ended a run, then user messages, then
 * the rest; then tool results; errors, which have been handled, last.
 *
 * A call and its results remain together or are dropped together. */
#ifndef CH_PROMPT_RETAIN_H
#define CH_PROMPT_RETAIN_H
#include "prompt/measure.h"

#define CH_RETAIN_LAST 4 /* minimum size of the window */

/* Index of the first message of the window: at least the last four messages, more while
 * they fit into `room` tokens. Never a message of results. */
size_t ch_window_start(const struct ch_transcript *t, size_t room);

/* 0 to 100; higher remains longer. */
unsigned ch_importance(const struct ch_transcript *t, size_t i);

/* Select which of the first n messages remain within `room` tokens: sets stays[i] or clears
 * it. Returns the number of dropped messages. Among equals the newer remain. */
size_t ch_retain(const struct ch_transcript *t, size_t n, size_t room, bool *stays);

#endif
