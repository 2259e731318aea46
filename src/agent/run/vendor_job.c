/* vendor_job.c -- see vendor_job.h. */
#include "agent/run/vendor_job.h"

#include "base/limits.h"
#include "base/mem.h"

struct ch_vendor_job {
    struct ch_loop *loop;
    struct ch_timer timer;
    struct ch_http_request request;
    char *url;         /* owned: of the reply */
    int64_t delay;     /* before the next request, ms */
    unsigned asked;    /* requests for the reply */
    unsigned failures; /* consecutive ones that failed */
    size_t had[2], seen[2]; /* bytes of text and of reasoning: of the first response, which the
                             * host has; of the current one */
    void (*ask)(void *user);
    void *user;
};

void ch_vendor_job_end(struct ch_vendor_job **job) {
    struct ch_vendor_job *j = CH_TAKE(*job);
    if (!j)
        return;
    ch_timer_stop(j->loop, &j->timer);
    ch_free(j->url);
    ch_free(j);
}

/* The URL of the request with the id at the end of its path. */
static char *job_url(const char *url, struct ch_sv id) {
    CH_BUF_AUTO out = {0};
    size_t path = strcspn(url, "?");
    ch_buf_addf(&out, "%.*s/%.*s%s", (int)path, url, CH_SV_FMT(id), url + path);
    return ch_strdup(ch_buf_str(&out));
}

static struct ch_vendor_job *job_new(struct ch_loop *loop, const struct ch_http_request *request,
                                     const struct ch_reply *r) {
    struct ch_vendor_job *j = ch_alloc(sizeof(*j));
    j->loop = loop;
    j->delay = CH_DEFAULT_VENDOR_JOB_MS;
    j->url = job_url(request->url, r->pending);
    j->request = *request;
    j->request.method = "GET";
    j->request.url = j->url;
    j->request.nbody = 0;
    for (uint32_t i = 0; r->msg && i < r->msg->nblocks; i++) {
        const struct ch_block *b = &r->msg->blocks[i];
        if (b->type == CH_BLOCK_TEXT || b->type == CH_BLOCK_REASONING)
            j->had[b->type == CH_BLOCK_REASONING] += b->text.n;
    }
    return j;
}

static void job_on_timer(struct ch_timer *t) {
    struct ch_vendor_job *j = CH_CONTAINER(t, struct ch_vendor_job, timer);
    j->asked++;
    j->seen[0] = j->seen[1] = 0;
    j->ask(j->user);
}

/* True: the request for the reply failed, not the reply. */
static bool job_unanswered(const struct ch_reply *r) {
    bool refused = r->error.status < 200 || r->error.status > 299;
    return r->error.cls != CH_ERR_NONE && !r->stop_raw.n &&
           (refused || r->error.cls == CH_ERR_NETWORK || r->error.cls == CH_ERR_TIMEOUT);
}

static void job_wait(struct ch_vendor_job *j, const struct ch_reply *r) {
    ch_timer_start(j->loop, &j->timer, CH_MAX(j->delay, (int64_t)r->error.retry_after_ms),
                   job_on_timer);
    j->delay = CH_MIN(j->delay * 3 / 2, CH_LIMIT_VENDOR_JOB_MS);
}

bool ch_vendor_job_awaits(struct ch_vendor_job **job, struct ch_loop *loop,
                          const struct ch_http_request *request, struct ch_reply *r,
                          void (*ask)(void *user), void *user) {
    struct ch_vendor_job *j = *job;
    bool unanswered = j && !r->pending.n && job_unanswered(r);
    if (!r->pending.n && !unanswered)
        return false;
    if (!j)
        j = *job = job_new(loop, request, r);
    j->ask = ask;
    j->user = user;
    j->failures = unanswered ? j->failures + 1 : 0;
    bool again = !unanswered || (r->error.retryable && j->failures <= CH_LIMIT_VENDOR_JOB_FAILURES);
    if (again && j->asked < CH_LIMIT_VENDOR_JOB_REQUESTS) {
        job_wait(j, r);
        return true;
    }
    r->error.retryable = false; /* a repetition would be another job */
    return false;
}

const struct ch_http_request *ch_vendor_job_request(struct ch_vendor_job *job) {
    return &job->request;
}

bool ch_vendor_job_is_news(struct ch_vendor_job *job, struct ch_model_event *ev) {
    bool reasoning = ev->type == CH_MEV_REASONING;
    if (ev->type == CH_MEV_CALL_DELTA || ev->type == CH_MEV_CALL_CLOSED)
        return false; /* the whole call follows */
    size_t known = job->had[reasoning] - CH_MIN(job->had[reasoning], job->seen[reasoning]);
    job->seen[reasoning] += ev->text.n;
    if (known >= ev->text.n)
        return false;
    ev->text = ch_sv(ev->text.p + known, ev->text.n - known);
    return true;
}
