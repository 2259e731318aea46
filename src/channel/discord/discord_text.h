/* discord_text.h -- the Markdown of Discord. Pure. */
#ifndef CH_CHANNEL_DISCORD_TEXT_H
#define CH_CHANNEL_DISCORD_TEXT_H
#include "base/buf.h"
#include "json/json.h"

#define CH_DISCORD_TEXT 2000  /* UTF-16 units of a message */
#define CH_DISCORD_SPLIT 1800 /* bytes of a part before it is formatted */

/* Append Markdown in the dialect of Discord. Tables become blocks of code with aligned columns,
 * headings below the third level become bold, images become links. A result that would exceed
 * CH_DISCORD_TEXT is left out in favour of a simpler one, at worst the Markdown itself. */
void ch_discord_format(struct ch_buf *out, struct ch_sv markdown);
/* Append a text so that it is shown exactly: a block of code. n bytes become at most 3/2 n + 8
 * characters. */
void ch_discord_exact(struct ch_buf *out, struct ch_sv text);
/* Append a person's text as plain text: mentions become names, mentions of `me` are removed.
 * mentions: the users that the message mentions. */
void ch_discord_read(struct ch_buf *out, struct ch_sv content, const struct ch_json *mentions,
                     const char *me);
/* The length in UTF-16 units. */
size_t ch_discord_length(struct ch_sv s);

#endif
