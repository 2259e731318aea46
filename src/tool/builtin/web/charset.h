/* charset.h -- the bytes of a web page as UTF-8. */
#ifndef CH_TOOL_CHARSET_H
#define CH_TOOL_CHARSET_H
#include "base/buf.h"

/* The value of a parameter of a header such as Content-Type, without quotes;
 * {NULL,0} when it has none of that name. */
struct ch_sv ch_header_param(struct ch_sv header, const char *name);

/* Append bytes as valid UTF-8 without NUL. The encoding is, in this order: what
 * a byte order mark says; the charset of content_type; what the document says
 * of itself near its start (HTML's meta, XML's declaration); UTF-8 if it is
 * that; windows-1252. What cannot be decoded becomes U+FFFD. Returns the name
 * of the encoding, static. */
const char *ch_charset_decode(struct ch_sv bytes, struct ch_sv content_type, struct ch_buf *out);

#endif
