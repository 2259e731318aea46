/* server_query.h -- asking a server about itself, outside any run. Blocking, but for
 * the questions at the end. */
#ifndef CH_MODEL_SERVER_QUERY_H
#define CH_MODEL_SERVER_QUERY_H
#include "model/provider/target.h"

#define CH_SERVER_QUERY_MS 10000

/* One request, waited for; the body is appended. A status other than 2xx is an
 * error. Needs a loop of our own. */
int ch_server_query(struct ch_providers *ps, const struct ch_http_request *req, struct ch_buf *body,
                    struct chela_error *err);

/* The body of the server's list of models; listing.h reads it. */
int ch_server_query_models(struct ch_providers *ps, const struct ch_target *t, struct ch_buf *body,
                           struct chela_error *err);

/* How many tokens of context the target's server gives its model; 0: it does
 * not say. */
int64_t ch_server_query_context(struct ch_providers *ps, const struct ch_target *t);

/* Not blocking: what to send, and how to read what comes back. A server has up
 * to two places to ask, the better one first. */
struct ch_server_question {
    struct ch_http_request http; /* in the arena, but for what the target owns */
    struct ch_sv post;
    int64_t (*read)(struct ch_sv body, struct ch_sv model); /* 0: it does not say */
};
/* From step 0 on; negative: there is no further one. `out` is pointed into, and
 * must stay where it is. */
int ch_server_query_question(const struct ch_target *t, unsigned step, struct ch_arena *a,
                             struct ch_server_question *out);

/* A server that somebody runs, so that its settings count and not its model's. */
bool ch_server_query_is_local(const struct ch_target *t);

#endif
