/* request.h -- write the head of a request: request line and headers. */
#ifndef CH_NET_REQUEST_H
#define CH_NET_REQUEST_H
#include "base/buf.h"
#include "net/proxy.h"
#include "net/transport.h"

/* CHELA_EINVAL: a method or header is unsafe, with control characters or
 * framing headers. The message never contains header values. */
int ch_request_check(const struct ch_http_request *req, struct chela_error *err);

/* The head that was written last, without its length. Requests to a model repeat it. */
struct ch_request_memo {
    struct ch_buf url, head;
    size_t fields;                /* offset of the headers of the request in head */
    const struct ch_proxy *proxy; /* of the head; only compared */
};

/* True if req, which has a head as in the memo apart from the length, has passed the check. */
bool ch_request_is_known(const struct ch_request_memo *m, const struct ch_http_request *req);

/* Append the head of req, which has passed the check, to out. proxy: NULL, or
 * the proxy that receives an http request in absolute form. Adds Host and
 * User-Agent unless given, and Content-Length. */
void ch_request_head(struct ch_request_memo *m, struct ch_buf *out,
                     const struct ch_http_request *req, const struct ch_url *url,
                     const struct ch_proxy *proxy, const char *user_agent);

void ch_request_forget(struct ch_request_memo *m);

#endif
