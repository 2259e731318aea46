/* join.h -- resolve a reference found on a web page (RFC 3986, section 5). */
#ifndef CH_NET_JOIN_H
#define CH_NET_JOIN_H
#include "base/buf.h"
#include "base/sv.h"

/* Append the URL of ref resolved against base, an absolute http or https URL
 * ("" if none). Surrounding white space and inner line breaks are dropped, and
 * bytes that are invalid in URLs are percent-encoded. The result is not
 * validated: pass it to ch_url_parse before connecting. */
void ch_url_join(struct ch_buf *out, struct ch_sv base, struct ch_sv ref);

#endif
