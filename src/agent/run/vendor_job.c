/* vendor_job.c -- see vendor_job.h. */
#include "agent/run/vendor_job.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"

struct ch_vendor_job {
    struct ch_loop *loop;
    struct ch_timer timer;
    struct ch_http_request request;
    const char *begun; /* URL of the request that began the job */
    char *id, *url;    /* owned: of the job; of the next request for it */
    int64_t delay;     /* before the next request, ms */
    unsigned asked;    /* requests for the reply */
    unsigned failures; /* consecutive ones that failed */
    bool follows;      /* the next response is the rest of the stream after `cursor` */
    int64_t cursor;
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
    ch_free(j->id);
    ch_free(j->url);
    ch_free(j);
}

void ch_vendor_job_url(struct ch_buf *out, const char *url, struct ch_sv id, const char *path,
                       const char *query) {
    size_t n = strcspn(url, "?");
    ch_buf_addf(out, "%.*s/%.*s%s%s", (int)n, url, CH_SV_FMT(id), path, url + n);
    if (*query)
        ch_buf_addf(out, "%s%s", url[n] ? "&" : "?", query);
}

struct ch_sv ch_vendor_job_id(const struct ch_vendor_job *job) {
    return job ? ch_sv_str(job->id) : CH_SV("");
}

static void ask_at(struct ch_vendor_job *j, const char *query) {
    CH_BUF_AUTO url = {0};
    ch_vendor_job_url(&url, j->begun, ch_sv_str(j->id), "", query);
    ch_free(j->url);
    j->request.url = j->url = ch_buf_take(&url);
}

static struct ch_vendor_job *job_new(const struct ch_vendor_job_owner *o, struct ch_sv id) {
    struct ch_vendor_job *j = ch_alloc(sizeof(*j));
    j->loop = o->loop;
    j->delay = CH_DEFAULT_VENDOR_JOB_MS;
    j->id = ch_strndup(id.p, id.n);
    j->begun = o->request->url;
    j->ask = o->ask;
    j->user = o->user;
    j->cursor = -1;
    j->request = *o->request;
    j->request.method = "GET";
    j->request.nbody = 0;
    ask_at(j, "");
    return j;
}

/* The host has the texts of this message. */
static void note_shown(struct ch_vendor_job *j, const struct ch_msg *m) {
    j->had[0] = j->had[1] = 0;
    for (uint32_t i = 0; m && i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (b->type == CH_BLOCK_TEXT || b->type == CH_BLOCK_REASONING)
            j->had[b->type == CH_BLOCK_REASONING] += b->text.n;
    }
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

/* The rest of the stream did not come: the whole reply is asked for instead. */
static void stop_following(struct ch_vendor_job *j, struct ch_reply *r) {
    j->follows = false;
    ask_at(j, "");
    note_shown(j, r->msg);
    r->pending = ch_sv_str(j->id);
}

bool ch_vendor_job_awaits(struct ch_vendor_job **job, const struct ch_vendor_job_owner *owner,
                          struct ch_reply *r) {
    struct ch_vendor_job *j = *job;
    if (j && j->follows && r->error.cls != CH_ERR_NONE && !r->stop_raw.n)
        stop_following(j, r);
    bool unanswered = j && !r->pending.n && job_unanswered(r);
    if (!r->pending.n && !unanswered)
        return false;
    if (!j) {
        j = *job = job_new(owner, r->pending);
        note_shown(j, r->msg);
    }
    j->failures = unanswered ? j->failures + 1 : 0;
    bool again = !unanswered || (r->error.retryable && j->failures <= CH_LIMIT_VENDOR_JOB_FAILURES);
    if (again && j->asked < CH_LIMIT_VENDOR_JOB_REQUESTS) {
        job_wait(j, r);
        return true;
    }
    r->error.retryable = false; /* a repetition would be another job */
    return false;
}

bool ch_vendor_job_follows(struct ch_vendor_job **job, const struct ch_vendor_job_owner *owner,
                           const struct ch_reply *r) {
    struct ch_vendor_job *j = *job;
    char query[64];
    bool goes_on = r->job.n && r->cursor >= 0 && !r->complete && r->error.cls == CH_ERR_NONE;
    if (!goes_on || (j && (!j->follows || j->cursor >= r->cursor)) ||
        (j && j->asked >= CH_LIMIT_VENDOR_JOB_REQUESTS))
        return false;
    if (!j)
        j = *job = job_new(owner, r->job);
    j->follows = true;
    j->cursor = r->cursor;
    snprintf(query, sizeof(query), "stream=true&starting_after=%lld", (long long)r->cursor);
    ask_at(j, query);
    ch_timer_start(j->loop, &j->timer, j->delay, job_on_timer);
    return true;
}

void ch_vendor_job_recall(struct ch_vendor_job **job, const struct ch_vendor_job_owner *owner,
                          struct ch_sv id) {
    *job = job_new(owner, id);
    ch_timer_start((*job)->loop, &(*job)->timer, 0, job_on_timer);
}

const struct ch_http_request *ch_vendor_job_request(struct ch_vendor_job *job) {
    return &job->request;
}

bool ch_vendor_job_is_news(struct ch_vendor_job *job, struct ch_model_event *ev) {
    bool reasoning = ev->type == CH_MEV_REASONING;
    if (job->follows)
        return true;
    if (ev->type == CH_MEV_CALL_DELTA || ev->type == CH_MEV_CALL_CLOSED)
        return false; /* the whole call follows */
    size_t known = job->had[reasoning] - CH_MIN(job->had[reasoning], job->seen[reasoning]);
    job->seen[reasoning] += ev->text.n;
    if (known >= ev->text.n)
        return false;
    ev->text = ch_sv(ev->text.p + known, ev->text.n - known);
    return true;
}
