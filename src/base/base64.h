/* base64.h -- bytes as text: RFC 4648, with padding. */
#ifndef CH_BASE_BASE64_H
#define CH_BASE_BASE64_H
#include "base/buf.h"

int ch_base64_add(struct ch_buf *out, struct ch_sv bytes);

#endif
