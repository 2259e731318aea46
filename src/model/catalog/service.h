/* service.h -- options of a model service: tier, lifetime of its cache, storage, replies that it
 * makes in the background, transport.
 *
 * A table knows which service has which option, so that a request has only members that the
 * service knows. Servers that are not in the table get what their protocol has. */
#ifndef CH_MODEL_SERVICE_H
#define CH_MODEL_SERVICE_H
#include "base/buf.h"
#include "base/sv.h"

struct ch_service_opts { /* texts are borrowed; NULL or 0: not set */
    const char *tier;
    const char *cache_ttl; /* "5m", "1h" */
    const char *transport; /* "http", "websocket" */
    signed char background, store; /* 1: true; -1: false */
};

/* Where a request goes. provider: name of a row of the table of providers, used if the URL is not
 * known; may be NULL. */
struct ch_service_place {
    struct ch_sv api; /* name of the codec */
    const char *url;  /* may be NULL */
    const char *provider;
};

/* The first option that the service does not take, as it is named in the configuration; *why (may
 * be NULL) gets the reason. NULL: it takes all of them. */
const char *ch_service_refuses(const struct ch_service_place *at, const struct ch_service_opts *o,
                               struct ch_buf *why);

/* Append the members of a request's body that the options stand for: `"a":1,"b":2`; perhaps
 * nothing. The service must take the options. */
void ch_service_members(const struct ch_service_place *at, const struct ch_service_opts *o,
                        struct ch_buf *out);

#endif
