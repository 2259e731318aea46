/* envelope.h -- a message from a channel, as a model is shown it.
 *
 * History keeps one line of it, with the message's id and its sender, and then
 * the text. All else that is known about the newest message rides at the end of
 * the request and is gone from the next one: what the channel vouches for as
 * <trusted_metadata>, what people chose as <untrusted_context>. Both are JSON.
 *
 * Nobody can write a block of their own. In all that comes from outside the
 * beginnings of our marks are broken up, however they are disguised: by case,
 * blanks, full-width letters or characters that do not show. Everything else of
 * a text stays as it is. */
#ifndef CH_PROMPT_ENVELOPE_H
#define CH_PROMPT_ENVELOPE_H
#include "base/buf.h"
#include "chela/channel.h"

/* "[message_id: om_1] Ann: text", or as much of it as is known. */
void ch_envelope_line(const struct chela_inbound *in, struct ch_sv text, struct ch_buf *out);

/* The blocks, in whole lines. session may be NULL. */
void ch_envelope_blocks(const struct chela_inbound *in, const char *session, struct ch_buf *out);

/* A text from outside, with our marks broken up. */
void ch_envelope_quote(struct ch_sv text, struct ch_buf *out);

#endif
