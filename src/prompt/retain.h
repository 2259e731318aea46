/* retain.h -- what of a conversation stays as it is when some of it must go.
 *
 * The newest messages stay whatever they are: a window that slides. Of those
 * before it the most important stay while there is room: answers that ended a
 * run, then what the user said, then the rest; results of tools come after
 * that, and errors, which were dealt with, last.
 *
 * A call and its results are one piece: both stay or both go. */
#ifndef CH_PROMPT_RETAIN_H
#define CH_PROMPT_RETAIN_H
#include "prompt/measure.h"

#define CH_RETAIN_LAST 4 /* messages that always stay */

/* The first message of the window: at least the last four, more while they have
 * at most `room` tokens together. It is never a message of results. */
size_t ch_window_start(const struct ch_transcript *t, size_t room);

/* 0 to 100, higher stays longer. */
unsigned ch_importance(const struct ch_transcript *t, size_t i);

/* Which of the first n messages stay if they may have `room` tokens: sets
 * stays[i] for them, clears it for the others. Returns how many go. Of equals
 * the newer stay. */
size_t ch_retain(const struct ch_transcript *t, size_t n, size_t room, bool *stays);

#endif
