/* request_text.h -- a request for people, from the JSON object of chela_trace_request. */
#ifndef CH_TRACE_REQUEST_TEXT_H
#define CH_TRACE_REQUEST_TEXT_H
#include "base/buf.h"
#include "chela/error.h"

int ch_request_text(struct ch_sv json, struct ch_buf *out, struct chela_error *err);

#endif
