/* charset.h -- decodes the bytes of a web page to UTF-8. */
#ifndef CH_TOOL_CHARSET_H
#define CH_TOOL_CHARSET_H
#include "base/buf.h"

/* The value of a header parameter, such as charset in Content-Type, without quotes;
 * {NULL,0} if the parameter is missing. */
struct ch_sv ch_header_param(struct ch_sv header, const char *name);

/* Append bytes as valid UTF-8 without NUL. The encoding comes from the first source that
 * names one: the byte order mark; the charset of content_type; the document's own
 * declaration near its start (HTML's meta, XML's declaration). Otherwise the encoding is
 * UTF-8 if the bytes are valid UTF-8, else windows-1252. Undecodable bytes become U+FFFD.
 * Returns the name of the encoding, static. */
const char *ch_charset_decode(struct ch_sv bytes, struct ch_sv content_type, struct ch_buf *out);

#endif
