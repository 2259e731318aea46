/* jobs.c -- see jobs.h. */
#include "tool/process/jobs.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/random_id.h"
#include "tool/process/held_text.h"
#include "tool/result/result.h"
#include "tool/result/sanitize.h"

#define TAIL_BYTES 2000 /* bytes of output reported when a job ends */

struct ch_job {
    struct ch_link link;
    struct ch_jobs *jobs;
    char id[CH_RANDOM_ID];
    char *command;              /* owned, sanitized, one line */
    struct ch_program *program; /* NULL: the job has ended */
    bool prepared, killed, timed_out;
    int exit_code, signal;
    char *error; /* owned; NULL: none */
    int64_t started_ms, ended_ms;
    struct ch_buf log; /* newest output, CH_LIMIT_JOB_LOG bytes and at times twice that */
    uint64_t dropped;  /* bytes dropped before log */
    uint64_t told;     /* position in the whole output up to which ch_job_news has read */
    struct ch_list watches;
};

struct ch_jobs {
    struct ch_loop *loop;
    struct ch_workers *workers;
    ch_job_exit_fn *on_exit;
    void *user;
    struct ch_list all;   /* oldest first */
    bool telling, closed; /* on_exit is running; the table was closed in it */
};

/* --- life */

static void jobs_free_job(struct ch_job *job) {
    ch_list_del(&job->link);
    ch_program_close(job->program);
    for (struct ch_link *k; (k = job->watches.head.next) != &job->watches.head;)
        ch_list_del(k);
    ch_buf_release(&job->log);
    ch_free(job->command);
    ch_free(job->error);
    ch_free(job);
}

struct ch_jobs *ch_jobs_new(struct ch_loop *loop, struct ch_workers *workers,
                            ch_job_exit_fn *on_exit, void *user) {
    struct ch_jobs *jobs = ch_alloc(sizeof(*jobs));

    jobs->loop = loop;
    jobs->workers = workers;
    jobs->on_exit = on_exit;
    jobs->user = user;
    ch_list_init(&jobs->all);
    return jobs;
}

void ch_jobs_close(struct ch_jobs *jobs) {
    if (!jobs)
        return;
    for (struct ch_job *job; (job = CH_LIST_FIRST(&jobs->all, struct ch_job, link));)
        jobs_free_job(job);
    jobs->closed = true;
    if (!jobs->telling)
        ch_free(jobs);
}

static int64_t jobs_now(const struct ch_job *job) {
    return ch_mono_ms(ch_loop_clock(job->jobs->loop));
}

/* --- job events */

/* A watch may be added again by its own callback. */
static void tell_watches(struct ch_job *job) {
    struct ch_list due;

    ch_list_init(&due);
    for (struct ch_link *k; (k = job->watches.head.next) != &job->watches.head;) {
        ch_list_del(k);
        ch_list_add(&due, k);
    }
    for (struct ch_job_watch *w; (w = CH_LIST_FIRST(&due, struct ch_job_watch, link));) {
        ch_list_del(&w->link);
        w->fn(w);
    }
}

static void on_started(void *user) {
    struct ch_job *job = user;

    job->prepared = true;
    tell_watches(job);
}

static void jobs_on_output(int stream, struct ch_sv data, void *user) {
    struct ch_job *job = user;

    (void)stream;
    if (job->log.n + data.n > 2 * CH_LIMIT_JOB_LOG) {
        size_t drop = job->log.n + data.n - CH_LIMIT_JOB_LOG;
        drop = CH_MIN(drop, job->log.n);
        ch_buf_consume(&job->log, drop);
        job->dropped += drop;
    }
    ch_buf_add_sv(&job->log, data);
    tell_watches(job);
}

static void jobs_add_tail(const struct ch_job *job, struct ch_buf *out) {
    struct ch_sv text = ch_buf_sv(&job->log);

    if (text.n > TAIL_BYTES) {
        text = ch_sv(text.p + text.n - TAIL_BYTES, TAIL_BYTES);
        const char *line = memchr(text.p, '\n', text.n);
        if (line)
            text = ch_sv(line + 1, text.n - (size_t)(line + 1 - text.p));
    }
    ch_text_clean(out, text);
}

/* Remove the oldest ended jobs beyond the limit. */
static void forget_old(struct ch_jobs *jobs) {
    size_t ended = 0;

    for (CH_LIST_EACH(k, &jobs->all))
        ended += !CH_CONTAINER(k, struct ch_job, link)->program;
    for (struct ch_link *k = jobs->all.head.next; ended > CH_LIMIT_JOBS_ENDED;) {
        struct ch_job *job = CH_CONTAINER(k, struct ch_job, link);
        k = k->next;
        if (job->program || !ch_list_empty(&job->watches))
            continue;
        jobs_free_job(job);
        ended--;
    }
}

static void jobs_tell_end(struct ch_jobs *jobs, struct ch_job *job) {
    CH_BUF_AUTO tail = {0};
    struct ch_job_end end = ch_job_state(job);

    if (!jobs->on_exit)
        return;
    jobs_add_tail(job, &tail);
    end.tail = ch_sv_trim(ch_buf_sv(&tail));
    jobs->telling = true;
    jobs->on_exit(&end, jobs->user);
    jobs->telling = false;
}

/* A job ends after its call, so no person can be asked: the log lists the files set aside. */
static void log_held(struct ch_job *job, const struct ch_held_list *held) {
    CH_BUF_AUTO text = {0};

    ch_held_text(held, "", &text);
    if (text.n)
        jobs_on_output(1, ch_buf_sv(&text), job);
}

static void jobs_on_done(const struct ch_program_result *r, void *user) {
    struct ch_job *job = user;
    struct ch_jobs *jobs = job->jobs;

    job->program = NULL;
    job->prepared = true;
    job->ended_ms = jobs_now(job);
    job->exit_code = r->child ? r->child->exit_code : -1;
    job->signal = r->child ? r->child->signal : 0;
    job->timed_out = r->child && r->child->timed_out;
    job->error = r->error ? ch_strdup(r->error) : NULL;
    log_held(job, r->held);
    tell_watches(job);
    jobs_tell_end(jobs, job);
    if (jobs->closed)
        ch_free(jobs);
    else
        forget_old(jobs);
}

/* --- starting and finding jobs */

static size_t count_running(const struct ch_jobs *jobs) {
    size_t n = 0;

    for (CH_LIST_EACH(k, &jobs->all))
        n += CH_CONTAINER(k, struct ch_job, link)->program != NULL;
    return n;
}

int ch_job_start(struct ch_jobs *jobs, const struct ch_program_opts *given, const char *command,
                 struct ch_job **out, struct chela_error *err) {
    struct ch_program_opts opts = *given;

    if (count_running(jobs) >= CH_LIMIT_JOBS)
        return ch_fail(err, CHELA_ELIMIT, "%d background processes are running already",
                       CH_LIMIT_JOBS);
    struct ch_job *job = ch_alloc(sizeof(*job));
    job->jobs = jobs;
    ch_random_id("job_", job->id);
    job->command = ch_strdup(command);
    job->exit_code = -1;
    job->started_ms = jobs_now(job);
    ch_buf_init(&job->log, 2 * CH_LIMIT_JOB_LOG);
    ch_list_init(&job->watches);
    ch_list_add(&jobs->all, &job->link);
    opts.open_input = opts.merge = opts.stream = true;
    opts.started = on_started;
    job->program =
        ch_program_start(jobs->loop, jobs->workers, &opts, jobs_on_output, jobs_on_done, job);
    *out = job;
    return 0;
}

struct ch_job *ch_job_find(struct ch_jobs *jobs, struct ch_sv id) {
    for (CH_LIST_EACH(k, &jobs->all)) {
        struct ch_job *job = CH_CONTAINER(k, struct ch_job, link);
        if (ch_sv_is(id, job->id))
            return job;
    }
    return NULL;
}

size_t ch_jobs_list(struct ch_jobs *jobs, struct ch_job **out, size_t max) {
    size_t n = 0;

    for (CH_LIST_EACH(k, &jobs->all))
        if (n < max)
            out[n++] = CH_CONTAINER(k, struct ch_job, link);
    return n;
}

const char *ch_job_id(const struct ch_job *job) {
    return job->id;
}

bool ch_job_running(const struct ch_job *job) {
    return job->program != NULL;
}

bool ch_job_prepared(const struct ch_job *job) {
    return job->prepared;
}

struct ch_job_end ch_job_state(const struct ch_job *job) {
    return (struct ch_job_end){
        .id = job->id,
        .command = job->command,
        .exit_code = job->exit_code,
        .signal = job->signal,
        .error = job->error,
        .killed = job->killed,
        .timed_out = job->timed_out,
        .duration_ms = (job->program ? jobs_now(job) : job->ended_ms) - job->started_ms,
    };
}

int ch_job_write(struct ch_job *job, struct ch_sv data, bool eof) {
    if (!job->program)
        return CHELA_ESTATE;
    int rc = data.n > 0 ? ch_program_write(job->program, data) : 0;
    return rc == 0 && eof ? ch_program_end_input(job->program) : rc;
}

void ch_job_kill(struct ch_job *job) {
    if (!job->program)
        return;
    job->killed = true;
    ch_program_stop(job->program);
}

bool ch_job_has_news(const struct ch_job *job) {
    return job->told < job->dropped + job->log.n;
}

struct ch_sv ch_job_news(struct ch_job *job, uint64_t *missed) {
    uint64_t from = CH_MAX(job->told, job->dropped);
    size_t skip = (size_t)(from - job->dropped);

    *missed = from - job->told;
    job->told = job->dropped + job->log.n;
    return ch_sv(ch_buf_sv(&job->log).p + skip, job->log.n - skip);
}

struct ch_sv ch_job_log(const struct ch_job *job, uint64_t *dropped) {
    *dropped = job->dropped;
    return ch_buf_sv(&job->log);
}

void ch_job_watch(struct ch_job *job, struct ch_job_watch *w) {
    ch_list_add(&job->watches, &w->link);
}

void ch_job_unwatch(struct ch_job_watch *w) {
    ch_list_del(&w->link);
}

/* --- reports */

void ch_job_end_text(const struct ch_job_end *end, struct ch_buf *out) {
    ch_buf_addf(out, "Process %s (%s) ", end->id, end->command);
    if (end->error)
        ch_buf_addf(out, "failed: %s", end->error);
    else if (end->killed)
        ch_buf_add_str(out, "was killed");
    else if (end->timed_out)
        ch_buf_add_str(out, "was stopped by its time limit");
    else if (end->signal)
        ch_buf_addf(out, "was ended by signal %d (%s)", end->signal, strsignal(end->signal));
    else
        ch_buf_addf(out, "ended with exit code %d", end->exit_code);
    ch_buf_addf(out, " after %.1f s.", (double)end->duration_ms / 1000);
    if (end->tail.n)
        ch_buf_addf(out, " The end of its output:\n%.*s", CH_SV_FMT(end->tail));
}
