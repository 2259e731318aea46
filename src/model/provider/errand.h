/* errand.h -- requests to a service whose answer nobody waits for: to cancel or delete a reply that
 * the service made in the background.
 *
 * An errand outlives the run that sent it. A runtime with a loop of its own waits a moment for the
 * last ones when it is closed. */
#ifndef CH_MODEL_ERRAND_H
#define CH_MODEL_ERRAND_H
#include "model/provider/providers.h"

struct ch_errand;

/* A request without a body, with copies of the URL and of the headers of `like`. what: for the log
 * if it fails; static. The caller owns the errand until ch_errand_start. */
struct ch_errand *ch_errand_new(struct ch_providers *ps, struct ch_transport *t,
                                const struct ch_http_request *like, const char *method,
                                const char *url, const char *what);
void ch_errand_start(struct ch_errand *e); /* NULL: does nothing */
void ch_errand_free(struct ch_errand *e);  /* one that was not started; may be NULL */
/* Drop the errands. may_wait: give them CH_LIMIT_ERRAND_MS first. */
void ch_errands_end(struct ch_providers *ps, bool may_wait);

#endif
