/* openai_turns.h -- alternating user and assistant messages, for servers whose templates
 * require them (quirk alternate_roles).
 *
 * Consecutive messages of one role are merged. For this, the last message is left open
 * inside its content: a string or a list of parts. The next message continues or closes it,
 * and the tail closes it for the current request, so later messages never change earlier
 * bytes. Tool results stand between the two roles and are closed; user text right after
 * them needs an assistant message in between. */
#ifndef CH_MODEL_OPENAI_TURNS_H
#define CH_MODEL_OPENAI_TURNS_H
#include "base/buf.h"

/* True if out ends in an open message of this role, so that further content is appended to
 * it. */
bool ch_turn_goes_on(const struct ch_buf *out, const char *role);
/* Append to a string content. */
void ch_turn_add_text(struct ch_buf *out, struct ch_sv text);
/* Leave the message that ends with a string content open. */
void ch_turn_leave_open(struct ch_buf *out);

/* Called before a message of another role. */
void ch_turn_next(struct ch_buf *out, const char *role);
/* Close an open message, if any. */
void ch_turn_close(struct ch_buf *out);

#endif
