/* server_query.h -- asks a model server about itself, outside of any run. The functions
 * block, except ch_server_query_question and ch_server_query_is_local. */
#ifndef CH_MODEL_SERVER_QUERY_H
#define CH_MODEL_SERVER_QUERY_H
#include "model/provider/target.h"

#define CH_SERVER_QUERY_MS 10000

/* Sends a request, waits for the response and appends its body. A status other than 2xx is an
 * error. Requires that the runtime owns its loop. */
int ch_server_query(struct ch_providers *ps, const struct ch_http_request *req, struct ch_buf *body,
                    struct chela_error *err);

/* Requests the server's list of models; listing.h parses the body. */
int ch_server_query_models(struct ch_providers *ps, const struct ch_target *t, struct ch_buf *body,
                           struct chela_error *err);

/* The context window of the target's model on its server, in tokens; 0: unknown. */
int64_t ch_server_query_context(struct ch_providers *ps, const struct ch_target *t);

/* A request for the size of the context window, for callers that do not block, and the
 * function that parses the response. A server has up to two URLs to ask, the more reliable
 * one first. */
struct ch_server_question {
    struct ch_http_request http; /* in the arena; some texts are the target's */
    struct ch_sv post;
    /* returns 0 if the response has no size */
    int64_t (*read)(struct ch_sv body, struct ch_sv model);
};
/* Builds the request number `step`, from 0 on. Negative: there is no such request. The
 * request points into *out, which must not be moved. */
int ch_server_query_question(const struct ch_target *t, unsigned step, struct ch_arena *a,
                             struct ch_server_question *out);

/* True for a local server, whose settings take precedence over the properties of the model. */
bool ch_server_query_is_local(const struct ch_target *t);

#endif
