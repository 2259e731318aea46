/* sigv4.h -- sign requests to Amazon's services (Signature Version 4).
 *
 * A pure function of the request, the key and the time. The secret is never
 * sent, only a digest made with it, valid for this request for a few minutes. */
#ifndef CH_NET_SIGV4_H
#define CH_NET_SIGV4_H
#include "base/arena.h"
#include "net/transport.h"

struct ch_sigv4 {
    const char *access_key, *secret_key;
    const char *session_token; /* NULL or "": a long-term key */
    const char *region;        /* "us-east-1" */
    const char *service;       /* "bedrock" */
};

/* Set the headers x-amz-date, x-amz-content-sha256, x-amz-security-token and
 * authorization of req, replacing existing ones. The signature covers method,
 * path, query, body, and the headers host, content-type and x-amz-*; none of
 * them may change afterwards. The new header list is in the arena. */
int ch_sigv4_sign(const struct ch_sigv4 *who, int64_t now_ms, struct ch_arena *a,
                  struct ch_http_request *req, struct chela_error *err);

#endif
