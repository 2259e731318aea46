/* untrusted.h -- text of strangers, marked as such.
 *
 * What a page or a search result says may be addressed to the model. It is put
 * between two lines that name its source and a digest of the text, which nobody
 * can put into the text itself, so that it cannot pretend to end early; and the
 * same text always looks the same, so that a recorded run can be played back. */
#ifndef CH_TOOL_UNTRUSTED_H
#define CH_TOOL_UNTRUSTED_H
#include "base/buf.h"

/* source must be one line. */
void ch_untrusted_add(struct ch_buf *out, struct ch_sv source, struct ch_sv text);

#endif
