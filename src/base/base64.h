/* base64.h -- base64 encoding and decoding (RFC 4648, with padding). */
#ifndef CH_BASE_BASE64_H
#define CH_BASE_BASE64_H
#include "base/buf.h"

int ch_base64_add(struct ch_buf *out, struct ch_sv bytes);

/* Append the decoded bytes. White space is skipped, the URL-safe alphabet is accepted too,
 * and padding may be absent. False: another character, a single digit at the end, or text
 * after the padding; the bytes before the fault are appended. */
bool ch_base64_read(struct ch_sv text, struct ch_buf *out);

/* The number of bytes that valid base64 decodes to. */
size_t ch_base64_size(struct ch_sv text);

#endif
