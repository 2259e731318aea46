/* transport.h -- the interface for HTTP requests.
 *
 * The HTTP client, the scripted model and recorded cassettes implement it, so
 * that higher layers have one code path. A transport moves bytes; it knows
 * nothing of models, retries or JSON. */
#ifndef CH_NET_TRANSPORT_H
#define CH_NET_TRANSPORT_H
#include <stdint.h>

#include "base/sv.h"
#include "chela/error.h"

struct ch_header {
    struct ch_sv name, value;
};

struct ch_http_timeouts { /* milliseconds; 0: the default in limits.h */
    int64_t connect, first_byte, idle, total;
};

struct sockaddr;

/* Decides which addresses may be connected to. Asked about every address right
 * before connecting, so that neither spellings nor DNS can bypass it. */
struct ch_address_filter {
    /* NULL: allowed; otherwise the kind of address (static). */
    const char *(*refuse)(const struct sockaddr *to, void *user);
    void *user;
};

struct ch_http_request {
    const char *method; /* "POST" */
    const char *url;
    const struct ch_header *headers; /* Host, Content-Length are added */
    size_t nheaders;
    const struct ch_sv *body; /* gather list, written without copying */
    size_t nbody;
    struct ch_http_timeouts timeouts;
    uint64_t max_body; /* 0: CH_LIMIT_HTTP_STREAM */
    /* NULL, or a filter, which must stay valid as long as the body. A filtered
     * request ignores proxies and uses its own connection. CHELA_EPERM if every
     * address was refused. */
    const struct ch_address_filter *filter;
    /* Above 0: a connected socket. The call takes it over, sends the request there and
     * closes it; the URL gives only the Host header and the target. */
    int socket;
    /* Sent at most once: an error if a reused connection ends before the response. The server
     * may have processed the request. */
    bool once;
    /* NULL, or true as soon as the caller needs no more data: the body then has to end soon, so
     * that the connection can be reused. on_done gets no error if the body does not end. */
    const bool *enough;
};

struct ch_http_head {
    int status;
    const struct ch_header *headers; /* names in lower case */
    size_t nheaders;
};

/* Any callback may cancel the call. All arguments are borrowed until the
 * callback returns. */
struct ch_http_handler {
    void (*on_head)(const struct ch_http_head *head, void *user); /* optional */
    void (*on_data)(struct ch_sv data, void *user);
    /* Called exactly once, last, unless cancelled. err is NULL if the response
     * arrived completely, else: CHELA_ENET, ETLS, ETIMEOUT, ELIMIT, EPROTO;
     * EINVAL for a bad URL or header; ECONFIG, EAUTH, EPERM for a proxy that is
     * misconfigured or refuses; EPERM also for a filter; EMODULE.
     * err->http_status is set if a status line had come. The call is already
     * freed. */
    void (*on_done)(const struct chela_error *err, void *user);
};

struct ch_http_call;
struct ch_transport;

struct ch_transport_ops {
    const char *name;
    /* Start a request. req and its data (including the body) must stay valid
     * until on_done or cancel. No callback fires before start returns; a bad
     * URL is also reported through on_done. */
    struct ch_http_call *(*start)(struct ch_transport *t, const struct ch_http_request *req,
                                  const struct ch_http_handler *handler, void *user);
    /* Abandon a call: no callback after this; the connection is closed. */
    void (*cancel)(struct ch_transport *t, struct ch_http_call *call);
};

struct ch_transport {
    const struct ch_transport_ops *ops;
};

static inline struct ch_http_call *ch_transport_start(struct ch_transport *t,
                                                      const struct ch_http_request *req,
                                                      const struct ch_http_handler *handler,
                                                      void *user) {
    return t->ops->start(t, req, handler, user);
}
static inline void ch_transport_cancel(struct ch_transport *t, struct ch_http_call *call) {
    t->ops->cancel(t, call);
}

/* The value of a header (name in lower case), {NULL,0} if absent. */
struct ch_sv ch_header_find(const struct ch_header *headers, size_t n, const char *name);

#endif
