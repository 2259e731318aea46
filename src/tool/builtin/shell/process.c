/* process.c -- the tool `process`: lists, reads, writes to and ends the session's
 * background jobs. */
#include "tool/builtin/shell/process.h"

#include "base/limits.h"
#include "tool/builtin/shell/command_end.h"
#include "tool/builtin/shell/exec_request.h"
#include "tool/call/call.h"
#include "tool/call/call_view.h"
#include "tool/process/jobs.h"
#include "json/writer.h"

#define LOG_LINES 200
#define KILL_WAIT_MS 5000 /* longer than any grace period */

static const char *const id_names[] = {"id", "session_id", "sessionId", "process_id", "job", NULL};
static const char *const wait_names[] = {"wait", "timeout", NULL};
static const char *const data_names[] = {"data", "input", "text", NULL};

/* A call that waits for its job: chela_call.doing. */
struct process {
    chela_call *call;
    struct ch_loop *loop;
    struct ch_job *job; /* borrowed while watched */
    bool until_end;     /* wait for the end, not for output */
    struct ch_job_watch watch;
    struct ch_timer timer;
};

/* --- results ------------------------------------------------------------- */

static void process_add_state(struct ch_buf *out, const struct ch_job *job) {
    struct ch_job_end s = ch_job_state(job);

    if (ch_job_running(job))
        ch_buf_addf(out, "running for %.1f s", (double)s.duration_ms / 1000);
    else if (s.error)
        ch_buf_addf(out, "failed: %s", s.error);
    else if (s.timed_out)
        ch_buf_addf(out, "stopped by its time limit after %.1f s",
                    (double)s.duration_ms / 1000);
    else if (s.signal)
        ch_buf_addf(out, "%s by signal %d after %.1f s", s.killed ? "killed" : "ended", s.signal,
                    (double)s.duration_ms / 1000);
    else
        ch_buf_addf(out, "ended with exit code %d after %.1f s", s.exit_code,
                    (double)s.duration_ms / 1000);
}

static void process_set_details(chela_call *call, const struct ch_job *job) {
    struct ch_job_end s = ch_job_state(job);
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "id", s.id);
    ch_jw_kbool(&w, "running", ch_job_running(job));
    if (!ch_job_running(job) && s.signal)
        ch_jw_kint(&w, "signal", s.signal);
    else if (!ch_job_running(job))
        ch_jw_kint(&w, "exit_code", s.exit_code);
    ch_jw_end(&w, '}');
    ch_answer_details(&call->answer, ch_buf_sv(&json));
}

/* The last line of a result about a job that has failed; NULL otherwise. */
static const char *process_end_line(chela_call *call, const struct ch_job *job) {
    struct ch_job_end s = ch_job_state(job);
    struct ch_command_end end = {.exit_code = s.exit_code,
                                 .signal = s.signal,
                                 .killed = s.killed,
                                 .timed_out = s.timed_out};

    return ch_job_running(job) || s.error ? NULL : ch_command_end_line(&call->arena, &end);
}

static void say_state(chela_call *call, const struct ch_job *job) {
    CH_BUF_AUTO text = {0};

    ch_buf_addf(&text, "[%s: ", ch_job_id(job));
    process_add_state(&text, job);
    ch_buf_add_str(&text, "]\n");
    ch_answer_text(&call->answer, ch_buf_sv(&text));
    call->answer.shape.tail = true;
    call->answer.shape.last = process_end_line(call, job);
    process_set_details(call, job);
}

static void say_news(chela_call *call, struct ch_job *job) {
    uint64_t missed;
    struct ch_sv news = ch_job_news(job, &missed);

    say_state(call, job);
    if (missed)
        chela_result_printf(call, "[... %llu bytes were not kept ...]\n",
                            (unsigned long long)missed);
    ch_answer_text(&call->answer, news.n ? news : CH_SV("(no new output)"));
}

static int process_list(chela_call *call, struct ch_jobs *jobs) {
    struct ch_job *all[CH_LIMIT_JOBS + CH_LIMIT_JOBS_ENDED];
    size_t n = ch_jobs_list(jobs, all, CH_LEN(all));
    CH_BUF_AUTO text = {0};

    for (size_t i = 0; i < n; i++) {
        ch_buf_addf(&text, "%s  ", ch_job_id(all[i]));
        process_add_state(&text, all[i]);
        ch_buf_addf(&text, "  %s\n", ch_job_state(all[i]).command);
    }
    ch_answer_text(&call->answer,
                   n ? ch_buf_sv(&text) : CH_SV("There are no background processes."));
    return 0;
}

/* --- log ----------------------------------------------------------------- */

static size_t process_count_lines(struct ch_sv text) {
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n' || i + 1 == text.n;
    return n;
}

/* Lines `from` (counted from 1) to `from + count - 1`. */
static struct ch_sv process_cut_lines(struct ch_sv text, size_t from, size_t count) {
    size_t line = 1, start = text.n, end = text.n;

    for (size_t i = 0; i < text.n; i++) {
        if (line == from && start == text.n)
            start = i;
        line += text.p[i] == '\n';
        if (line == from + count) {
            end = i + 1;
            break;
        }
    }
    return start < end ? ch_sv(text.p + start, end - start) : CH_SV("");
}

static int show_log(chela_call *call, struct ch_job *job) {
    int64_t offset = 0, limit = LOG_LINES;
    uint64_t dropped;
    struct ch_sv log = ch_job_log(job, &dropped);
    size_t lines = process_count_lines(log);

    int rc = chela_arg_int_opt(call, "offset", &offset);
    if (rc == 0)
        rc = chela_arg_int_opt(call, "limit", &limit);
    if (rc < 0)
        return rc;
    if (offset < 0 || limit < 1) {
        chela_result_error(call, "invalid_arguments",
                           "offset counts lines from 1, limit is at "
                           "least 1.");
        return CHELA_EINVAL;
    }
    size_t count = (size_t)CH_MIN(limit, (int64_t)lines + 1);
    size_t from = offset > 0 ? (size_t)offset : lines > count ? lines - count + 1 : 1;
    struct ch_sv shown = process_cut_lines(log, from, count);
    say_state(call, job);
    if (dropped)
        chela_result_printf(call, "[%llu bytes before these lines were not kept]\n",
                            (unsigned long long)dropped);
    if (shown.n)
        chela_result_printf(call, "[lines %zu to %zu of %zu]\n", from,
                            from + process_count_lines(shown) - 1, lines);
    ch_answer_text(&call->answer, shown.n ? shown : CH_SV("(no output there)"));
    return 0;
}

/* --- write --------------------------------------------------------------- */

static int process_write_data(chela_call *call, struct ch_job *job) {
    const char *data = "";
    bool eof = false;

    int rc = chela_arg_string_opt(call, ch_arg_name(call, data_names), &data);
    if (rc == 0)
        rc = chela_arg_bool_opt(call, "eof", &eof);
    if (rc < 0)
        return rc;
    if (!*data && !eof) {
        chela_result_error(call, "invalid_arguments",
                           "Give data to write, or eof: true to close its input.");
        return CHELA_EINVAL;
    }
    rc = ch_job_write(job, ch_sv_str(data), eof);
    if (rc == CHELA_ELIMIT || rc == CHELA_EBUSY)
        return chela_result_error(call, "unavailable",
                                  "%s does not read its input now; nothing was written.",
                                  ch_job_id(job));
    if (rc < 0)
        return chela_result_error(call, "invalid_arguments", "The input of %s is closed.",
                                  ch_job_id(job));
    chela_result_printf(call, "Wrote %zu bytes%s.", strlen(data),
                        eof ? " and closed the input" : "");
    process_set_details(call, job);
    return 0;
}

/* --- waiting ------------------------------------------------------------- */

static void free_process(struct process *p) {
    ch_timer_stop(p->loop, &p->timer);
    ch_job_unwatch(&p->watch);
    p->call->doing = NULL;
    ch_free(p);
}

static void process_finish(struct process *p) {
    chela_call *call = p->call;

    if (!chela_call_cancelled(call))
        say_news(call, p->job);
    free_process(p);
    ch_answer_conclude(&call->answer, 0, &call->made);
    ch_call_worked(call);
}

static void on_watch(struct ch_job_watch *w) {
    struct process *p = CH_CONTAINER(w, struct process, watch);

    if (p->until_end && ch_job_running(p->job))
        ch_job_watch(p->job, w);
    else
        process_finish(p);
}

static void process_on_time(struct ch_timer *t) {
    process_finish(CH_CONTAINER(t, struct process, timer));
}

static void process_wait_for(chela_call *call, struct ch_job *job, int64_t ms, bool until_end) {
    struct process *p = ch_alloc(sizeof(*p));

    p->call = call;
    p->loop = call->env->loop;
    p->job = job;
    p->until_end = until_end;
    p->watch.fn = on_watch;
    call->doing = p;
    ch_job_watch(job, &p->watch);
    ch_timer_start(p->loop, &p->timer, ms, process_on_time);
}

/* Returns true if the call waits. */
static bool poll_job(chela_call *call, struct ch_job *job, int *rc) {
    double seconds = 0;

    *rc = chela_arg_double_opt(call, ch_arg_name(call, wait_names), &seconds);
    if (*rc < 0)
        return false;
    if (seconds < 0 || seconds > CH_LIMIT_JOB_WAIT_S) {
        chela_result_error(call, "invalid_arguments", "wait is in seconds, at most %d.",
                           CH_LIMIT_JOB_WAIT_S);
        *rc = CHELA_EINVAL;
        return false;
    }
    if (!ch_job_has_news(job) && ch_job_running(job) && seconds > 0) {
        process_wait_for(call, job, (int64_t)(seconds * 1000), false);
        return true;
    }
    say_news(call, job);
    return false;
}

static bool kill_job(chela_call *call, struct ch_job *job) {
    if (!ch_job_running(job)) {
        say_state(call, job);
        return false;
    }
    ch_job_kill(job);
    process_wait_for(call, job, KILL_WAIT_MS, true);
    return true;
}

/* --- the tool ------------------------------------------------------------ */

enum action { LIST, POLL, LOG, WRITE, KILL, ACTIONS };
static const char *const action_names[] = {"list", "poll", "log", "write", "kill"};

static int process_read_action(chela_call *call, enum action *out) {
    const char *word;
    int rc = chela_arg_string(call, "action", &word);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < ACTIONS; i++)
        if (strcmp(word, action_names[i]) == 0) {
            *out = (enum action)i;
            return 0;
        }
    chela_result_error(call, "invalid_arguments",
                       "There is no action \"%.40s\": use list, poll, log, write or kill.", word);
    return CHELA_EINVAL;
}

static int find_job(chela_call *call, struct ch_jobs *jobs, struct ch_job **out) {
    const char *id;
    int rc = chela_arg_string(call, ch_arg_name(call, id_names), &id);

    if (rc < 0)
        return rc;
    *out = ch_job_find(jobs, ch_sv_str(id));
    if (*out)
        return 0;
    chela_result_error(call, "not_found",
                       "There is no background process \"%.80s\" in this session; the action "
                       "list shows them.",
                       id);
    return CHELA_ENOENT;
}

/* Returns true if the call waits and finishes later. */
static bool process_act(chela_call *call, int *rc) {
    struct ch_jobs *jobs = call->env->jobs;
    enum action action = LIST;
    struct ch_job *job;

    *rc = process_read_action(call, &action);
    if (*rc < 0)
        return false;
    if (!jobs || action == LIST) {
        if (jobs)
            *rc = process_list(call, jobs);
        else
            chela_result_text(call, "There are no background processes.", 34);
        return false;
    }
    *rc = find_job(call, jobs, &job);
    if (*rc < 0)
        return false;
    switch (action) {
    case POLL:
        return poll_job(call, job, rc);
    case LOG:
        *rc = show_log(call, job);
        return false;
    case WRITE:
        *rc = process_write_data(call, job);
        return false;
    case KILL:
        return kill_job(call, job);
    case LIST:
    case ACTIONS:
        break;
    }
    return false;
}

static void process_start(chela_call *call) {
    int rc = 0;

    atomic_store(&call->begun, true);
    if (process_act(call, &rc))
        return;
    ch_answer_conclude(&call->answer, rc, &call->made);
    ch_call_worked(call);
}

static void process_cancel(chela_call *call) {
    if (call->doing)
        process_finish(call->doing);
}

static void process_abandon(chela_call *call) {
    free_process(call->doing);
}

static const struct ch_tool_ops ops = {
    .name = "process",
    .start = process_start,
    .cancel = process_cancel,
    .abandon = process_abandon,
};

/* Input written to a program may be an approval too, so it gets the same check as a
 * command. */
int ch_process_check(chela_call *call, void *user) {
    const char *data = "";
    enum action action;

    (void)user;
    int rc = process_read_action(call, &action);
    if (rc == 0)
        rc = chela_arg_string_opt(call, ch_arg_name(call, data_names), &data);
    if (rc < 0 || !ch_exec_approves(data))
        return rc;
    chela_result_error(call, "permission_denied",
                       "process does not write /approve: only a person can approve a call. Ask "
                       "them.");
    return CHELA_EINVAL;
}

/* Listing and reading change nothing. Ending a job needs no new approval. */
static bool process_only_looks(const chela_call *call) {
    static const char *const actions[] = {"list", "poll", "log", "kill"};
    struct ch_sv action = ch_json_get_str(call->args, "action");

    for (size_t i = 0; i < CH_LEN(actions); i++)
        if (ch_sv_is(action, actions[i]))
            return true;
    return false;
}

/* Input may make a program send; the rest only looks. */
bool ch_process_stays(chela_call *call) {
    return !ch_sv_is(ch_json_get_str(call->args, "action"), "write");
}

int ch_process_add(struct ch_registry *r, const struct chela_tool_opts *opts,
                   struct chela_error *err) {
    int rc = ch_registry_add(r, opts, &ops, NULL, err);

    if (rc == 0)
        ch_registry_find(r, ch_sv_str(opts->name))->only_looks = process_only_looks;
    return rc;
}
