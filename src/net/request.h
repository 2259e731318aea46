/* request.h -- write the head of a request: request line and headers. */
#ifndef CH_NET_REQUEST_H
#define CH_NET_REQUEST_H
#include "base/buf.h"
#include "net/proxy.h"
#include "net/transport.h"

#define CH_USER_AGENT "chela/" CHELA_VERSION

/* The head that was written last, without its length and without headers that differ from request
 * to request. Requests to a model repeat it. Zeroed: nothing is known. */
struct ch_request_memo {
    struct ch_buf url, head;
    size_t fields;                /* offset of the headers of the request in head */
    size_t nheaders;              /* number of these headers */
    const struct ch_proxy *proxy; /* of the head; only compared */
    const struct ch_http_request *checked; /* checked last; only compared */
    size_t known;                          /* ch_request_known of `checked` */
};

/* Number of headers at the beginning of req that are in the memo and have passed the check; 0: the
 * head of req begins differently. */
size_t ch_request_known(const struct ch_request_memo *m, const struct ch_http_request *req);

/* CHELA_EINVAL: a method or header is unsafe, with control characters or
 * framing headers. The message never contains header values. */
int ch_request_check(struct ch_request_memo *m, const struct ch_http_request *req,
                     struct chela_error *err);

/* Append the head of req, which has passed the check, to out. proxy: NULL, or
 * the proxy that receives an http request in absolute form. Adds Host and
 * User-Agent unless given, and Content-Length. */
void ch_request_head(struct ch_request_memo *m, struct ch_buf *out,
                     const struct ch_http_request *req, const struct ch_url *url,
                     const struct ch_proxy *proxy);

void ch_request_forget(struct ch_request_memo *m);

#endif
