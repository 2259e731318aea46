/* envelope.h -- formats a channel's message for a model.
 *
 * A message is one line with its id and sender, followed by the text. All other data about
 * the message precedes that line, in the same message: data that the channel vouches for as
 * <trusted_metadata>, data chosen by people as <untrusted_context>. Both are JSON. Text that
 * the runtime adds later is between the tags of a note.
 *
 * Nobody can forge such a block: in all text from outside, the beginnings of these marks
 * are broken up, also if disguised by case, blanks, full-width letters or invisible
 * characters. The rest of a text is unchanged. */
#ifndef CH_PROMPT_ENVELOPE_H
#define CH_PROMPT_ENVELOPE_H
#include "base/buf.h"
#include "chela/channel.h"

/* Name and version of the trusted metadata's form. A member that is added keeps the version. */
#define CH_ENVELOPE_SCHEMA "chela.inbound_meta.v1"

#define CH_NOTE_OPEN "<runtime_note>"
#define CH_NOTE_REPEATS "<runtime_note about=\"rules\">" /* repeats earlier text */
#define CH_NOTE_CLOSE "</runtime_note>"

/* Append "[message_id: om_1] Ann: text", as far as known. */
void ch_envelope_line(const struct chela_inbound *in, struct ch_sv text, struct ch_buf *out);

/* Append the blocks, in whole lines. session may be NULL. */
void ch_envelope_blocks(const struct chela_inbound *in, const char *session, struct ch_buf *out);

/* Append a text from outside, with marks broken up. */
void ch_envelope_quote(struct ch_sv text, struct ch_buf *out);

#endif
