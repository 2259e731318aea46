/* summary_carryover.h -- preserves facts of messages that leave a conversation.
 *
 * Independent of the summary, the runtime preserves the user's sentences, the identifiers
 * of the text, and the actions performed. They form, with the summary if it is good, one
 * message at the beginning of the remaining conversation. When that message is dropped
 * later, it is parsed, so its content is carried on.
 *
 * Room is limited. Sentences are preferred that ask to be remembered, contain identifiers,
 * or say something new; for identifiers see identifiers.h. No sentence is repeated. */
#ifndef CH_PROMPT_SUMMARY_CARRYOVER_H
#define CH_PROMPT_SUMMARY_CARRYOVER_H
#include "base/arena.h"
#include "base/buf.h"
#include "model/message/message.h"
#include "prompt/identifiers.h"

struct ch_carry_line {
    struct ch_sv text; /* in the arena */
    uint64_t hash;
    unsigned score;
};

struct ch_carry_lines {
    struct ch_carry_line *list; /* owned */
    size_t n, cap;
};

struct ch_carry { /* zeroed: nothing */
    struct ch_arena arena;
    struct ch_carry_lines said, done; /* in order; repetitions are removed later */
    struct ch_identifiers names;
    struct ch_sv summary; /* earlier summary; in the arena */
    size_t messages;      /* dropped messages, including earlier ones */
};

void ch_carry_release(struct ch_carry *c);

/* A message is dropped: keeps its important facts. */
void ch_carry_read(struct ch_carry *c, const struct ch_msg *m);

/* True if ch_carry_write wrote m. */
bool ch_carry_is(const struct ch_msg *m);

struct ch_carry_opts {
    size_t room;          /* approximate tokens for everything */
    struct ch_sv summary; /* a good summary; empty: none */
};

/* Append the text of the message. Without a good summary, the earlier summary is kept and
 * later actions are listed. */
void ch_carry_write(struct ch_carry *c, const struct ch_carry_opts *opts, struct ch_buf *out);

/* Append the user's sentences that ask to be remembered, as notes for later sessions: one
 * per line, prefixed by "- ". */
void ch_carry_notes(struct ch_carry *c, struct ch_buf *out);

#endif
