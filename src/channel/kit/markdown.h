/* markdown.h -- Markdown for services that support a part of it. Pure. */
#ifndef CH_CHANNEL_KIT_MARKDOWN_H
#define CH_CHANNEL_KIT_MARKDOWN_H
#include "base/buf.h"

/* Appends Markdown with tables as blocks of code. `breaks`: a line break that the service would
 * drop gets two spaces before it. */
void ch_kit_format(struct ch_buf *out, struct ch_sv markdown, bool breaks);

#endif
