/* inquire.h -- asking a server about itself, outside any run. Blocking. */
#ifndef CH_AGENT_INQUIRE_H
#define CH_AGENT_INQUIRE_H
#include "agent/agent.h"

#define CH_INQUIRE_MS 10000

/* One request, waited for; the body is appended. A status other than 2xx is an
 * error. Needs a loop of our own. */
int ch_inquire(chela_runtime *rt, const struct ch_http_request *req, struct ch_buf *body,
               struct chela_error *err);

/* The body of the server's list of models; listing.h reads it. */
int ch_inquire_models(chela_runtime *rt, const struct ch_target *t, struct ch_buf *body,
                      struct chela_error *err);

/* How many tokens of context the target's server gives its model; 0: it does
 * not say. */
int64_t ch_inquire_context(chela_runtime *rt, const struct ch_target *t);

#endif
