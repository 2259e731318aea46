/* base64.h -- bytes as text: RFC 4648, with padding. */
#ifndef CH_BASE_BASE64_H
#define CH_BASE_BASE64_H
#include "base/buf.h"

int ch_base64_add(struct ch_buf *out, struct ch_sv bytes);

/* Append what the text stands for. Stops at padding, skips white space, takes
 * the alphabet for URLs too; false for anything else. */
bool ch_base64_read(struct ch_sv text, struct ch_buf *out);

#endif
