/* background.c -- see background.h. */
#include "agent/feature/team/background.h"

#include "agent/handle/lookup.h"
#include "agent/journal/journal_replay.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/event.h"
#include "agent/run/driver.h"
#include "agent/run/parent.h"
#include "agent/session/session.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "io/loop_entry.h"
#include "tool/process/jobs.h"
#include "tool/result/sanitize.h"

struct ch_background {
    struct ch_link link;         /* in the starter's list */
    chela_session *above;        /* the starter */
    chela_session *session;      /* the run's; NULL: ended, or not resumed */
    char *key, *agent, *title;   /* owned; title: the beginning of the task */
    struct ch_buf answer;
    enum ch_reason reason;
    bool ended;
    const struct ch_msg *notice; /* notice of the end, in the starting session's queue; NULL:
                                  * none */
    int64_t started_ms, ended_ms;
};

static const struct ch_beside_ops beside_ops;

static int64_t background_now(const struct ch_background *b) {
    return ch_mono_ms(ch_loop_clock(b->above->agent->rt->loop));
}

/* --- the list */

static struct ch_background *background_add(chela_session *s, const char *key, struct ch_sv agent,
                                            struct ch_sv title) {
    struct ch_background *b = ch_alloc(sizeof(*b));
    title = ch_utf8_cut(title, CH_LIMIT_TITLE);
    b->above = s;
    b->key = ch_strdup(key);
    b->agent = ch_strndup(agent.p, agent.n);
    b->title = ch_strndup(title.p ? title.p : "", title.n);
    b->started_ms = background_now(b);
    ch_list_add(&s->background, &b->link);
    s->beside_ops = &beside_ops;
    return b;
}

static void background_own(struct ch_background *b, chela_session *own) {
    b->session = own;
    own->beside = b;
    own->beside_ops = &beside_ops;
}

static void background_drop(struct ch_background *b) {
    ch_list_del(&b->link);
    if (b->session)
        b->session->beside = NULL;
    ch_free(b->key);
    ch_free(b->agent);
    ch_free(b->title);
    ch_buf_release(&b->answer);
    ch_free(b);
}

static bool background_is_told(const struct ch_background *b) {
    return b->ended && !(b->notice && ch_queue_has(&b->above->events, b->notice));
}

static struct ch_background *background_find(const chela_session *s, const char *id) {
    for (CH_LIST_EACH(k, &s->background)) {
        struct ch_background *b = CH_CONTAINER(k, struct ch_background, link);
        if (strcmp(b->key, id) == 0)
            return b;
    }
    return NULL;
}

/* Counts the runs in progress, and forgets the oldest that have ended. */
static size_t background_count(chela_session *s) {
    size_t running = 0, told = 0;
    for (CH_LIST_EACH(k, &s->background)) {
        const struct ch_background *b = CH_CONTAINER(k, struct ch_background, link);
        running += !b->ended;
        told += background_is_told(b);
    }
    for (struct ch_link *k = s->background.head.next, *next; told > CH_LIMIT_JOBS_ENDED; k = next) {
        struct ch_background *b = CH_CONTAINER(k, struct ch_background, link);
        next = k->next;
        if (!background_is_told(b))
            continue;
        background_drop(b);
        told--;
    }
    return running;
}

/* --- telling the starter */

static void background_end(struct ch_background *b, enum ch_reason reason, struct ch_sv text,
                           struct ch_sv error) {
    chela_session *s = b->above, *own = CH_TAKE(b->session);
    struct ch_sv answer = ch_utf8_cut(text, CH_LIMIT_ROLE_RESULT);
    bool done = ch_reason_answers(reason);
    CH_BUF_AUTO notice = {0};
    b->ended = true;
    b->reason = reason;
    b->ended_ms = background_now(b);
    ch_buf_add_sv(&b->answer, text);
    if (own)
        own->beside = NULL;
    if (own)
        chela_session_close(own);
    ch_buf_addf(&notice, "Task %s (agent %s: %s) %s", b->key, b->agent, b->title,
                done ? "is done" : "did not finish: ");
    if (!done)
        ch_buf_addf(&notice, "%s%s%.*s", ch_reason_name(reason), error.n ? ": " : "",
                    CH_SV_FMT(error));
    ch_buf_addf(&notice, ". %s%.*s", answer.n ? "Its answer:\n" : "It said nothing.",
                CH_SV_FMT(answer));
    b->notice = ch_session_tell(s, ch_buf_sv(&notice));
}

/* Touch nothing afterwards: the host may close the session. */
static void background_wake(chela_session *s) {
    if (s->on_wake && (!s->run || s->run->over))
        s->on_wake(s, s->wake_user);
}

static void background_on_event(const struct chela_event *ev, void *user) {
    struct ch_background *b = user;
    chela_session *s = b->above;
    struct chela_event told = {
        .type = CHELA_EV_CHILD,
        .run = ev->run,
        .seq = ev->seq,
        .ts = ev->ts,
        .child = {.event = ev, .parent = "", .agent = b->agent, .call = b->key, .depth = 1}};
    if (ev->type == CHELA_EV_CHILD) {
        told = *ev;
        told.child.depth++;
    }
    chela_session *own = b->session;
    if (s->on_task)
        s->on_task(&told, s->task_user);
    if (own->closed || own->beside != b || ev->type != CHELA_EV_RUN_END)
        return; /* the host closed the starting session, or the run continues */
    enum ch_reason reason = (enum ch_reason)ev->end.reason;
    if (ch_reason_status(reason) == CH_STATUS_PAUSED)
        return;
    background_end(b, reason, ch_unstr(ev->end.text), ch_unstr(ev->end.error));
    background_wake(s);
}

/* --- starting and resuming */

static struct chela_run_opts background_opts(struct ch_background *b,
                                             const struct chela_run_opts *given) {
    struct chela_run_opts o = CHELA_RUN_OPTS(.may_redo = 1);
    if (given)
        o = *given;
    o.on_event = background_on_event;
    o.user = b;
    return o;
}

int ch_background_start(chela_run *above, chela_agent *to, const char *key, struct ch_sv task,
                        const struct chela_run_opts *opts, struct chela_error *err) {
    chela_session *s = above->session, *own;
    chela_run *run = NULL;
    if (ch_session_find(s->agent->rt, ch_sv_str(key)))
        return ch_fail(err, CHELA_EEXIST, "the task is in progress");
    if (background_count(s) >= CH_LIMIT_JOBS)
        return ch_fail(err, CHELA_ELIMIT, "%d agents work in the background already",
                       CH_LIMIT_JOBS);
    int rc = ch_session_open(to, key, s->journal != NULL, &own, err);
    if (rc < 0)
        return rc;
    own->apply = CH_MAX(own->apply, s->apply);
    struct ch_background *b = background_add(s, key, ch_sv_str(to->id), task);
    struct chela_run_opts o = background_opts(b, opts);
    background_own(b, own);
    if (s->journal) /* listed before the run has a record */
        ch_run_journal_acting(above, CH_SYNC_COMMIT);
    rc = chela_run_start(own, task.p, task.n, &o, &run, err);
    if (rc == 0)
        ch_parent_bind(above, run);
    else
        background_drop(b);
    if (rc < 0)
        chela_session_close(own);
    chela_run_free(run);
    return rc;
}

static void background_fail(struct ch_background *b, const struct chela_error *err) {
    background_end(b, CH_REASON_STORE, CH_SV(""), ch_sv_str(err->message));
}

/* The journal of a run that an earlier process began was read. */
static void background_on_ready(chela_session *own, const struct chela_error *err, void *user) {
    struct ch_background *b = user;
    struct chela_run_opts o = background_opts(b, NULL);
    struct chela_error why = {0};
    chela_session *s = b->above;
    if (err) {
        background_fail(b, err);
    } else if (!own->journal->past) {
        CH_AUTOFREE char *text = chela_session_last_text(own);
        bool begun = own->transcript.n > 0;
        background_end(b, begun ? own->journal->last.reason : CH_REASON_INTERRUPTED,
                       ch_sv_str(text), CH_SV(""));
    } else if (chela_run_resume(own, &o, NULL, &why) < 0) {
        background_fail(b, &why);
    }
    if (b->ended)
        background_wake(s);
}

/* The starter is being opened: it is not woken. */
static void background_resume(struct ch_background *b) {
    chela_session *s = b->above;
    chela_agent *to = ch_agent_find(s->agent->rt, b->agent);
    chela_session *own;
    struct chela_error err = {0};
    if (!to)
        ch_fail(&err, CHELA_ENOENT, "there is no agent '%s' any more", b->agent);
    else if (ch_session_open(to, b->key, true, &own, &err) == 0)
        background_own(b, own);
    if (b->session)
        chela_session_on_ready(b->session, background_on_ready, b);
    else
        background_fail(b, &err);
}

/* True: the key names a run that this session started. A copied session has the list of the
 * original, whose runs must not be resumed by the copy. */
static bool background_is_own(const chela_session *s, struct ch_sv key) {
    size_t n = strlen(s->key);
    return key.n > n + 1 && memcmp(key.p, s->key, n) == 0 && key.p[n] == '~' &&
           key.n <= CH_LIMIT_SESSION_KEY;
}

static void background_load(chela_session *s, const struct ch_json *state) {
    for (CH_JSON_EACH(item, ch_json_get(state, "background"))) {
        struct ch_sv key = ch_json_get_str(item, "key"), agent = ch_json_get_str(item, "agent");
        if (!background_is_own(s, key) || !agent.n || background_count(s) >= CH_LIMIT_JOBS)
            continue;
        CH_AUTOFREE char *name = ch_strndup(key.p, key.n);
        struct ch_background *known = background_find(s, name);
        if (ch_session_find(s->agent->rt, key) || (known && !background_is_told(known)))
            continue;
        if (known) /* the delivery of its notice was not stored */
            background_drop(known);
        struct ch_background *b = background_add(s, name, agent, ch_json_get_str(item, "title"));
        if (s->agent->starts_background)
            background_resume(b);
    }
}

static void background_save(const chela_run *run, struct ch_jw *w) {
    const chela_session *s = run->session;
    bool any = false;
    for (CH_LIST_EACH(k, &s->background)) {
        const struct ch_background *b = CH_CONTAINER(k, struct ch_background, link);
        if (background_is_told(b))
            continue;
        if (!any) {
            ch_jw_kbegin(w, "background", '[');
        }
        any = true;
        ch_jw_begin(w, '{');
        ch_jw_kcstr(w, "key", b->key);
        ch_jw_kcstr(w, "agent", b->agent);
        ch_jw_kcstr(w, "title", b->title);
        ch_jw_end(w, '}');
    }
    if (any)
        ch_jw_end(w, ']');
}

/* --- people */

/* Resumes the run, unless other calls still wait. */
static void background_go_on(struct ch_background *b) {
    struct chela_run_opts o = background_opts(b, NULL);
    chela_run_resume(b->session, &o, NULL, NULL);
}

static int background_approve(chela_session *s, const char *approval_id,
                              enum chela_decision decision, const char *reason,
                              struct chela_error *err) {
    for (CH_LIST_EACH(k, &s->background)) {
        struct ch_background *b = CH_CONTAINER(k, struct ch_background, link);
        int rc = b->session ? chela_session_approve(b->session, approval_id, decision, reason, err)
                            : CHELA_ENOENT;
        if (rc == CHELA_ENOENT)
            continue;
        if (rc == 0)
            background_go_on(b);
        return rc;
    }
    return ch_fail(err, CHELA_ENOENT, "no call waits for approval %s", approval_id);
}

static int background_answer(chela_session *s, const char *call_id, struct ch_sv content,
                             bool is_error, struct chela_error *err) {
    for (CH_LIST_EACH(k, &s->background)) {
        struct ch_background *b = CH_CONTAINER(k, struct ch_background, link);
        int rc = b->session ? chela_session_answer(b->session, call_id, content.p, content.n,
                                                   is_error, err)
                            : CHELA_ENOENT;
        if (rc == CHELA_ENOENT || rc == CHELA_EEXIST) /* another agent's call may have the id */
            continue;
        if (rc == 0)
            background_go_on(b);
        return rc;
    }
    return ch_fail(err, CHELA_ENOENT, "no call '%s' waits for an answer", call_id);
}

static bool background_may_answer(const chela_session *s, const char *call_id, size_t n) {
    for (CH_LIST_EACH(k, &s->background)) {
        const struct ch_background *b = CH_CONTAINER(k, struct ch_background, link);
        if (b->session && ch_session_may_answer(b->session, call_id, n, NULL) == 0)
            return true;
    }
    return false;
}

void chela_session_on_task(chela_session *s, chela_event_fn *fn, void *user) {
    CH_ENTER_OR(s, s->agent->rt->loop, NULL, );
    s->on_task = fn;
    s->task_user = user;
}

/* --- listing */

static const char *background_state(const struct ch_background *b) {
    if (b->ended)
        return chela_status_name((enum chela_status)ch_reason_status(b->reason));
    if (!b->session)
        return "interrupted";
    return chela_session_status(b->session) == CHELA_SESSION_PAUSED ? "waiting" : "running";
}

static void background_write(const struct ch_background *b, struct ch_jw *w) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "id", b->key);
    ch_jw_kcstr(w, "kind", "agent");
    ch_jw_kcstr(w, "agent", b->agent);
    ch_jw_kcstr(w, "title", b->title);
    ch_jw_kcstr(w, "status", background_state(b));
    ch_jw_kint(w, "ms", (b->ended ? b->ended_ms : background_now(b)) - b->started_ms);
    ch_jw_end(w, '}');
}

static void background_write_job(const struct ch_job *job, struct ch_jw *w) {
    struct ch_job_end e = ch_job_state(job);
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "id", e.id);
    ch_jw_kcstr(w, "kind", "command");
    ch_jw_kcstr(w, "title", e.command);
    ch_jw_kcstr(w, "status",
                ch_job_running(job)            ? "running"
                : e.killed                     ? "cancelled"
                : e.error || e.exit_code != 0 ? "error"
                                               : "done");
    if (!ch_job_running(job) && e.exit_code >= 0)
        ch_jw_kint(w, "exit_code", e.exit_code);
    ch_jw_kint(w, "ms", e.duration_ms);
    ch_jw_end(w, '}');
}

char *chela_session_tasks_json(chela_session *s) {
    CH_ENTER_OR(s, s->agent->rt->loop, NULL, NULL);
    struct ch_job *jobs[CH_LIMIT_JOBS + CH_LIMIT_JOBS_ENDED];
    size_t n = ch_jobs_list(s->jobs, jobs, CH_LEN(jobs));
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '[');
    for (CH_LIST_EACH(k, &s->background))
        background_write(CH_CONTAINER(k, struct ch_background, link), &w);
    for (size_t i = 0; i < n; i++)
        background_write_job(jobs[i], &w);
    ch_jw_end(&w, ']');
    return ch_buf_take(&out);
}

char *chela_session_task_text(chela_session *s, const char *id, struct chela_error *err) {
    CH_ENTER_OR(s, s->agent->rt->loop, err, NULL);
    const struct ch_background *b = background_find(s, id);
    const struct ch_job *job = ch_job_find(s->jobs, ch_sv_str(id));
    struct ch_buf out = {0};
    uint64_t dropped;
    if (b && b->session)
        return chela_session_last_text(b->session);
    if (b)
        return ch_strndup(ch_buf_str(&b->answer), b->answer.n);
    if (!job) {
        ch_fail(err, CHELA_ENOENT, "there is no task '%s'", id);
        return NULL;
    }
    ch_text_clean(&out, ch_job_log(job, &dropped));
    return out.p ? ch_buf_take(&out) : ch_strdup("");
}

int chela_session_task_cancel(chela_session *s, const char *id, struct chela_error *err) {
    CH_ENTER(s, s->agent->rt->loop, err);
    struct ch_background *b = background_find(s, id);
    struct ch_job *job = ch_job_find(s->jobs, ch_sv_str(id));
    CH_BUF_AUTO text = {0};
    if (b && !b->ended) {
        chela_run *run = b->session ? b->session->run : NULL;
        if (run && !run->over)
            chela_cancel(run, "cancelled by the user");
        else
            background_end(b, CH_REASON_CANCELLED, CH_SV(""), CH_SV("cancelled by the user"));
        return 0;
    }
    if (!job || !ch_job_running(job))
        return ch_fail(err, b || job ? CHELA_ESTATE : CHELA_ENOENT,
                       b || job ? "task '%s' has ended" : "there is no task '%s'", id);
    ch_job_kill(job);
    ch_buf_addf(&text, "The user ended process %s (%s).", id, ch_job_state(job).command);
    ch_session_tell(s, ch_buf_sv(&text));
    return 0;
}

/* --- life */

static void background_close(chela_session *s) {
    for (CH_LIST_EACH(k, &s->background)) {
        struct ch_background *b = CH_CONTAINER(k, struct ch_background, link);
        chela_session *own = CH_TAKE(b->session);
        if (!own)
            continue;
        own->beside = NULL;
        chela_session_close(own);
    }
}

static void background_free(chela_session *s) {
    if (s->beside)
        s->beside->session = NULL;
    for (struct ch_background *b;
         (b = CH_LIST_FIRST(&s->background, struct ch_background, link));)
        background_drop(b);
}

static const struct ch_beside_ops beside_ops = {
    .approve = background_approve,
    .answer = background_answer,
    .may_answer = background_may_answer,
    .close = background_close,
    .free = background_free,
};

const struct ch_feature ch_background_feature = {
    .name = "background",
    .loads = "background",
    .load = background_load,
    .save = background_save,
};
