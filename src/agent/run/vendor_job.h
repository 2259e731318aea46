/* vendor_job.h -- a reply that the service makes in the background.
 *
 * A service may answer a request with a job instead of a reply, or a stream may end while its job
 * goes on. The job is paid for, so the request is not repeated: the rest of its stream is asked
 * for, or the reply, with growing delays, until it is there. Only the end of the run ends that
 * sooner. The job's id is in the journal (JOB), so another process asks for the same job. */
#ifndef CH_AGENT_VENDOR_JOB_H
#define CH_AGENT_VENDOR_JOB_H
#include "io/loop.h"
#include "model/codec/codec.h"

struct ch_vendor_job;

/* Who asks for a reply, and how: `request` is the one that began the job; its texts live as long
 * as the job. */
struct ch_vendor_job_owner {
    struct ch_loop *loop;
    const struct ch_http_request *request;
    void (*ask)(void *user);
    void *user;
};

/* A response has ended with r. True: the service still makes the reply, or could not be asked for
 * it; `ask` is called after a while. *job is made if needed. False: r is the outcome. */
bool ch_vendor_job_awaits(struct ch_vendor_job **job, const struct ch_vendor_job_owner *owner,
                          struct ch_reply *r);
/* A stream has ended before its reply. True: `ask` is called, and the request is for the rest of
 * the stream, which continues the same reply. False: this stream cannot be continued, or has made
 * no progress since it was. */
bool ch_vendor_job_follows(struct ch_vendor_job **job, const struct ch_vendor_job_owner *owner,
                           const struct ch_reply *r);
/* An earlier process has begun the job `id`: `ask` is called. */
void ch_vendor_job_recall(struct ch_vendor_job **job, const struct ch_vendor_job_owner *owner,
                          struct ch_sv id);
/* The request for the reply; its texts live as long as the job and the first request. */
const struct ch_http_request *ch_vendor_job_request(struct ch_vendor_job *job);
/* An event of a later response. False: the host had all of it from the first one; else ev->text is
 * what it did not have. */
bool ch_vendor_job_is_news(struct ch_vendor_job *job, struct ch_model_event *ev);
/* The id. NULL job: empty. */
struct ch_sv ch_vendor_job_id(const struct ch_vendor_job *job);
/* Appends the URL of the job below that of the request that began it, with a path after the id and
 * members for the query; both may be "". */
void ch_vendor_job_url(struct ch_buf *out, const char *url, struct ch_sv id, const char *path,
                       const char *query);
/* Stops asking; *job may be NULL. */
void ch_vendor_job_end(struct ch_vendor_job **job);

#endif
