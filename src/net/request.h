/* request.h -- the head of a request as bytes: request line and headers. */
#ifndef CH_NET_REQUEST_H
#define CH_NET_REQUEST_H
#include "base/buf.h"
#include "net/proxy.h"
#include "net/transport.h"

/* CHELA_EINVAL for a method or header that could be read as something else
 * than it says: control characters, framing headers. Header values never
 * appear in the message. */
int ch_request_check(const struct ch_http_request *req, struct chela_error *err);

/* Append the head of req, which has passed the check, to out. proxy: NULL, or
 * the proxy that is asked for an http target in absolute form. Host (unless
 * given), User-Agent (unless given) and Content-Length are added. */
void ch_request_head(struct ch_buf *out, const struct ch_http_request *req,
                     const struct ch_url *url, const struct ch_proxy *proxy,
                     const char *user_agent);

#endif
