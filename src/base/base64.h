/* base64.h -- base64 encoding and decoding (RFC 4648, with padding). */
#ifndef CH_BASE_BASE64_H
#define CH_BASE_BASE64_H
#include "base/buf.h"

int ch_base64_add(struct ch_buf *out, struct ch_sv bytes);

/* Append the decoded bytes. Decoding stops at padding, skips white space and
 * accepts the URL-safe alphabet too; any other character gives false. */
bool ch_base64_read(struct ch_sv text, struct ch_buf *out);

#endif
