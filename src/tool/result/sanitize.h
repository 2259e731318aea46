/* sanitize.h -- cleans text from outside for a model and a terminal. */
#ifndef CH_TOOL_SANITIZE_H
#define CH_TOOL_SANITIZE_H
#include "tool/result/result.h"

/* Append text as valid UTF-8 without escape sequences and control characters
 * other than tab, line feed and carriage return. */
void ch_text_clean(struct ch_buf *out, struct ch_sv text);

#endif
