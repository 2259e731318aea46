/* join.h -- what a reference means on a page: RFC 3986, section 5. */
#ifndef CH_NET_JOIN_H
#define CH_NET_JOIN_H
#include "base/buf.h"
#include "base/sv.h"

/* Append the URL that ref means when it is found at base, an absolute http or
 * https URL ("" if there is none). White space around it and line breaks inside
 * are dropped, bytes that no URL contains are percent-encoded; nothing is
 * checked: a result that names a peer has yet to pass ch_url_parse. */
int ch_url_join(struct ch_buf *out, struct ch_sv base, struct ch_sv ref);

#endif
