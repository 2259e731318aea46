/* untrusted.h -- marks text from untrusted sources.
 *
 * A page or a search result may contain instructions to the model. The text is placed
 * between two lines that name its source and contain a digest of the text. The text cannot
 * contain its own digest, so it cannot forge the end marker. The marker depends on the text
 * alone, so a recorded run can be replayed. */
#ifndef CH_TOOL_UNTRUSTED_H
#define CH_TOOL_UNTRUSTED_H
#include "base/buf.h"

/* source must be a single line. */
void ch_untrusted_add(struct ch_buf *out, struct ch_sv source, struct ch_sv text);

#endif
