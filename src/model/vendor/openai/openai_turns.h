/* openai_turns.h -- user and assistant in turn, for servers whose templates take
 * nothing else (quirk alternate_roles).
 *
 * Messages of one role in a row become one. For that the last message is left
 * open, inside its content: a string, or a list of parts. What comes next goes
 * on in it or ends it, and the tail ends it for now; so no byte of a message
 * changes because a later one was added. The results of tools stand between
 * the two roles and are closed; what the user says right after them needs a
 * word of the assistant's before it. */
#ifndef CH_MODEL_OPENAI_TURNS_H
#define CH_MODEL_OPENAI_TURNS_H
#include "base/buf.h"

/* Whether out ends in an open message of this role: what is added to its
 * content follows there. */
bool ch_turn_goes_on(const struct ch_buf *out, const char *role);
/* More for a content that is a string. */
void ch_turn_add_text(struct ch_buf *out, struct ch_sv text);
/* The message that ends with a string, its content, is open from now on. */
void ch_turn_leave_open(struct ch_buf *out);

/* Before a message of another role. */
void ch_turn_next(struct ch_buf *out, const char *role);
/* End an open message, if there is one. */
void ch_turn_close(struct ch_buf *out);

#endif
