/* jobs.h -- background programs, which continue after the call that started them.
 *
 * Each session has its own table and cannot access the jobs of another session. Job ids are
 * random, so an id from one session's transcript is useless in another. The number of jobs
 * and the size of their logs are bounded. Ended jobs stay in the table for a while, so that
 * their state can be queried. Closing the table ends all jobs. */
#ifndef CH_TOOL_JOBS_H
#define CH_TOOL_JOBS_H
#include "base/list.h"
#include "tool/process/program.h"

struct ch_jobs;
struct ch_job;

/* A job that exited or was killed; texts borrowed for the call. */
struct ch_job_end {
    const char *id, *command;
    int exit_code;     /* -1: none */
    int signal;        /* 0: none */
    const char *error; /* why the job did not run, or its sandbox failed; NULL: neither */
    bool killed;       /* killed on request (process kill) */
    bool timed_out;    /* stopped by its time limit */
    int64_t duration_ms;
    struct ch_sv tail; /* last lines of the output, sanitized */
};

/* Called on the loop thread. The callback may start jobs and runs, and may close the table. */
typedef void ch_job_exit_fn(const struct ch_job_end *end, void *user);

struct ch_jobs *ch_jobs_new(struct ch_loop *loop, struct ch_workers *workers,
                            ch_job_exit_fn *on_exit, void *user);

/* End all jobs at once; no callback after this. NULL is a no-op. Calls that use the table
 * must have been closed before (ch_batch_close). */
void ch_jobs_close(struct ch_jobs *jobs);

/* Append one line for a person or a model: "process job_1f.. (npm start) ended with exit
 * code 0 after 12.3 s", followed by the tail of the output. */
void ch_job_end_text(const struct ch_job_end *end, struct ch_buf *out);

/* --- for the tools exec and process */

/* Start a job. opts as for ch_program_start, except input and output, which are set here;
 * command is the text shown to people. CHELA_ELIMIT: too many jobs are running. *out is
 * borrowed, and remains valid while it is watched. */
int ch_job_start(struct ch_jobs *jobs, const struct ch_program_opts *opts, const char *command,
                 struct ch_job **out, struct chela_error *err);
struct ch_job *ch_job_find(struct ch_jobs *jobs, struct ch_sv id);          /* NULL: no such job */
size_t ch_jobs_list(struct ch_jobs *jobs, struct ch_job **out, size_t max); /* oldest first */

const char *ch_job_id(const struct ch_job *job);
bool ch_job_running(const struct ch_job *job);            /* running or starting */
bool ch_job_prepared(const struct ch_job *job);           /* running or ended, no longer starting */
struct ch_job_end ch_job_state(const struct ch_job *job); /* tail is empty */

int ch_job_write(struct ch_job *job, struct ch_sv data, bool eof); /* as ch_child_write */
void ch_job_kill(struct ch_job *job);

bool ch_job_has_news(const struct ch_job *job);
/* Output since the last call of this function; borrowed. missed: bytes that were dropped
 * from the log in between. */
struct ch_sv ch_job_news(struct ch_job *job, uint64_t *missed);
/* The whole log; dropped: number of bytes dropped before it. */
struct ch_sv ch_job_log(const struct ch_job *job, uint64_t *dropped);

/* fn is called once, when the job is prepared, prints something or ends. Embedded, zeroed. */
struct ch_job_watch {
    struct ch_link link;
    void (*fn)(struct ch_job_watch *w);
};
void ch_job_watch(struct ch_job *job, struct ch_job_watch *w);
void ch_job_unwatch(struct ch_job_watch *w); /* no-op if not watching */

#endif
