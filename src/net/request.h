/* request.h -- the head of a request as bytes: request line and headers. */
#ifndef CH_NET_REQUEST_H
#define CH_NET_REQUEST_H
#include "base/buf.h"
#include "net/proxy.h"
#include "net/transport.h"

/* Append the head of req to out. proxy: NULL, or the proxy that is asked for
 * an http target in absolute form. Host (unless given), User-Agent (unless
 * given) and Content-Length are added. CHELA_EINVAL, with nothing sent, for a
 * method or header that could be read as something else than it says: control
 * characters, framing headers. Header values never appear in the message. */
int ch_request_head(struct ch_buf *out, const struct ch_http_request *req,
                    const struct ch_url *url, const struct ch_proxy *proxy,
                    const char *user_agent, struct chela_error *err);

#endif
