/* request.h -- write the head of a request: request line and headers. */
#ifndef CH_NET_REQUEST_H
#define CH_NET_REQUEST_H
#include "base/buf.h"
#include "net/proxy.h"
#include "net/transport.h"

/* CHELA_EINVAL: a method or header is unsafe, with control characters or
 * framing headers. The message never contains header values. */
int ch_request_check(const struct ch_http_request *req, struct chela_error *err);

/* Append the head of req, which has passed the check, to out. proxy: NULL, or
 * the proxy that receives an http request in absolute form. Adds Host and
 * User-Agent unless given, and Content-Length. */
void ch_request_head(struct ch_buf *out, const struct ch_http_request *req,
                     const struct ch_url *url, const struct ch_proxy *proxy,
                     const char *user_agent);

#endif
