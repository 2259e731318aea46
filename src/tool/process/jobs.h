/* jobs.h -- programs that go on after the call that started them.
 *
 * A session has one table of them and cannot reach another's; their ids are
 * random besides, so that one kept in a transcript means nothing elsewhere.
 * Number and log are bounded; what has ended stays for a while, so that it can
 * be asked about. All of them end with the table. */
#ifndef CH_TOOL_JOBS_H
#define CH_TOOL_JOBS_H
#include "base/list.h"
#include "tool/process/program.h"

struct ch_jobs;
struct ch_job;

/* A job that ended by itself or was killed; texts borrowed for the call. */
struct ch_job_end {
    const char *id, *command;
    int exit_code;     /* -1: none */
    int signal;        /* 0: none */
    const char *error; /* NULL, or why it did not run, or lost its sandbox */
    bool killed;       /* because somebody asked for it (process kill) */
    int64_t duration_ms;
    struct ch_sv tail; /* the last lines of its output, cleaned */
};

/* On the loop thread. It may start jobs and runs, and close the table. */
typedef void ch_job_exit_fn(const struct ch_job_end *end, void *user);

struct ch_jobs *ch_jobs_new(struct ch_loop *loop, struct ch_workers *workers,
                            ch_job_exit_fn *on_exit, void *user);

/* End all of them at once; no callback after this. NULL is a no-op. Calls that
 * may use the table have been closed before (ch_batch_close). */
void ch_jobs_close(struct ch_jobs *jobs);

/* One line for a person or a model: "process job_1f.. (npm start) ended with
 * exit code 0 after 12.3 s", and the tail below it. */
void ch_job_end_text(const struct ch_job_end *end, struct ch_buf *out);

/* --- for the tools exec and process */

/* Start one. opts as for ch_program_start, with input and output set here;
 * command is what people are shown. CHELA_ELIMIT: too many run. *out is
 * borrowed, and stays as long as a watch is on it. */
int ch_job_start(struct ch_jobs *jobs, const struct ch_program_opts *opts, const char *command,
                 struct ch_job **out, struct chela_error *err);
struct ch_job *ch_job_find(struct ch_jobs *jobs, struct ch_sv id);          /* NULL: none */
size_t ch_jobs_list(struct ch_jobs *jobs, struct ch_job **out, size_t max); /* oldest first */

const char *ch_job_id(const struct ch_job *job);
bool ch_job_running(const struct ch_job *job);            /* or about to */
bool ch_job_prepared(const struct ch_job *job);           /* it runs, or has ended */
struct ch_job_end ch_job_state(const struct ch_job *job); /* tail is empty */

int ch_job_write(struct ch_job *job, struct ch_sv data, bool eof); /* as ch_child_write */
void ch_job_kill(struct ch_job *job);

bool ch_job_has_news(const struct ch_job *job);
/* What it has printed since the last time this was asked; borrowed. missed:
 * bytes that fell out of the log before. */
struct ch_sv ch_job_news(struct ch_job *job, uint64_t *missed);
/* The whole log; dropped: bytes before it that were not kept. */
struct ch_sv ch_job_log(const struct ch_job *job, uint64_t *dropped);

/* Called once, when a job is prepared, prints something or ends. Embedded,
 * zeroed. */
struct ch_job_watch {
    struct ch_link link;
    void (*fn)(struct ch_job_watch *w);
};
void ch_job_watch(struct ch_job *job, struct ch_job_watch *w);
void ch_job_unwatch(struct ch_job_watch *w); /* no-op if it is on none */

#endif
