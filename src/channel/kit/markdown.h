/* markdown.h -- Markdown for services that support a part of it. Pure. */
#ifndef CH_CHANNEL_KIT_MARKDOWN_H
#define CH_CHANNEL_KIT_MARKDOWN_H
#include "base/buf.h"

/* True for a line that begins or ends a block of code. */
bool ch_kit_is_fence(struct ch_sv line);
/* True for a row of a table. */
bool ch_kit_is_row(struct ch_sv line);

/* Appends Markdown with tables as blocks of code. A line break inside a paragraph, which the
 * service would drop, gets two spaces before it. */
void ch_kit_format(struct ch_buf *out, struct ch_sv markdown);

#endif
