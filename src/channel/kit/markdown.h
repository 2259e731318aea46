/* markdown.h -- Markdown for services that support a part of it. Pure. */
#ifndef CH_CHANNEL_KIT_MARKDOWN_H
#define CH_CHANNEL_KIT_MARKDOWN_H
#include "base/buf.h"

/* Appends Markdown with tables as blocks of code. A line break inside a paragraph, which the
 * service would drop, gets two spaces before it. */
void ch_kit_format(struct ch_buf *out, struct ch_sv markdown);

#endif
