/* summary_carryover.h -- what is kept of messages that leave a conversation.
 *
 * Whatever a summary says or forgets, some things are carried on by the runtime
 * itself: what the user said, sentence by sentence, the identifiers that were
 * in the text, and what was done. They stand, with the summary if there is a
 * good one, in one message at the beginning of what is left. When that message
 * has to go in its turn it is read back, so what it carried is carried further.
 *
 * There is never room for everything. Of sentences those stay that ask to be
 * remembered, hold identifiers, or say what no other says; of identifiers see
 * identifiers.h. No sentence is repeated. */
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
    struct ch_carry_lines said, done; /* in order */
    struct ch_identifiers names;
    struct ch_sv summary; /* of what went before; in the arena */
    size_t messages;      /* that went, counting those of before */
};

void ch_carry_release(struct ch_carry *c);

/* A message goes: keep what matters of it. */
void ch_carry_read(struct ch_carry *c, const struct ch_msg *m);

/* m is what ch_carry_write wrote. */
bool ch_carry_is(const struct ch_msg *m);

struct ch_carry_opts {
    size_t room;          /* tokens for all of it, about */
    struct ch_sv summary; /* a good one; empty: there is none */
};

/* The text of the message. Without a good summary the one of before stays, and
 * what was done since is listed. */
void ch_carry_write(const struct ch_carry *c, const struct ch_carry_opts *opts,
                    struct ch_buf *out);

/* Sentences of the user that are worth a note for later sessions: those that ask
 * to be remembered. One a line, "- " before each. */
void ch_carry_notes(const struct ch_carry *c, struct ch_buf *out);

#endif
