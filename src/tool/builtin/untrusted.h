/* untrusted.h -- text of strangers, marked as such.
 *
 * What a page or a search result says may be addressed to the model. It is put
 * between two lines that name its source and a number nobody could have known
 * when the text was written, so that it cannot pretend to end early. */
#ifndef CH_TOOL_BUILTIN_UNTRUSTED_H
#define CH_TOOL_BUILTIN_UNTRUSTED_H
#include "base/buf.h"

/* source must be one line. */
void ch_untrusted_add(struct ch_buf *out, struct ch_sv source, struct ch_sv text);

#endif
