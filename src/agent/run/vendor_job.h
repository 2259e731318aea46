/* vendor_job.h -- a reply that the service makes in the background.
 *
 * A service may answer a request with a job instead of a reply, or a stream may end while its job
 * goes on. The job is paid for, so the request is not repeated: the job is asked for, with growing
 * delays, until the reply is there. Only the end of the run ends that sooner. */
#ifndef CH_AGENT_VENDOR_JOB_H
#define CH_AGENT_VENDOR_JOB_H
#include "io/loop.h"
#include "model/codec/codec.h"

struct ch_vendor_job;

/* A response has ended with r. True: the service still makes the reply, or could not be asked for
 * it; `ask` is called after a while. *job is made if needed. False: r is the outcome. */
bool ch_vendor_job_awaits(struct ch_vendor_job **job, struct ch_loop *loop,
                          const struct ch_http_request *request, struct ch_reply *r,
                          void (*ask)(void *user), void *user);
/* The request for the reply; its texts live as long as the job and the first request. */
const struct ch_http_request *ch_vendor_job_request(struct ch_vendor_job *job);
/* An event of a later response. False: the host had all of it from the first one; else ev->text is
 * what it did not have. */
bool ch_vendor_job_is_news(struct ch_vendor_job *job, struct ch_model_event *ev);
/* Stops asking; *job may be NULL. */
void ch_vendor_job_end(struct ch_vendor_job **job);

#endif
