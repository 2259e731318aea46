/* eval_trial.c -- see eval_trial.h.
 *
 *   workspace --> agent, stubs --> session --> turns --> pure checks --> judges, programs --> end
 *
 * A trial whose model's service failed begins again once, with a new workspace and session. */
#include "eval/eval_trial.h"

#include <errno.h>

#include "agent/handle/session.h"
#include "base/error.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/random_id.h"
#include "base/utf8.h"
#include "chela/hooks.h"
#include "eval/eval_check.h"
#include "eval/eval_fixture.h"
#include "eval/eval_history.h"
#include "eval/eval_judge.h"
#include "eval/eval_stub.h"
#include "io/child.h"
#include "json/writer.h"
#include "model/provider/target.h"

#define PROGRAM_MS 60000
#define MOST_RESULT 2000 /* bytes of a result in the report */
#define MOST_TEXT 16000  /* bytes of an answer in the report */
#define ATTEMPTS 2

struct trial {
    struct ch_eval_trial_opts o;
    ch_eval_trial_fn *done;
    void *user;
    struct ch_task task; /* ends or continues the trial outside of callbacks */
    char *workspace;     /* owned */
    void *handle;        /* of the host; open */
    bool open;
    struct ch_eval_stubs *stubs;
    chela_session *session;
    struct ch_arena arena;
    size_t turn;      /* of the case */
    unsigned attempt; /* from 1 */
    int64_t began;
    struct chela_usage usage;
    unsigned turns;
    struct ch_eval_call *calls; /* owned */
    struct ch_sv *ids;          /* owned: ids of the calls */
    size_t ncalls, calls_cap, ids_cap, more_calls;
    struct ch_eval_outcome outcome;
    const char *agent, *model, *key; /* in the arena */
    struct ch_buf checks;            /* JSON objects */
    size_t check;                    /* next check that is not pure */
    bool pass, invalid, failed;
    double spent; /* by an attempt that failed */
    double judge_cost;
    struct chela_error err;
};

static void trial_defer(struct trial *t, void (*fn)(struct ch_task *task)) {
    t->task.fn = fn;
    ch_task_defer(t->o.rt->loop, &t->task);
}

/* --- the report -------------------------------------------------------------------------- */

static void note_check(struct trial *t, const char *label, bool pass, const char *why) {
    struct ch_jw w = ch_jw(&t->checks);
    w.comma = t->checks.n > 0;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "check", label);
    ch_jw_kbool(&w, "pass", pass);
    ch_jw_kcstr(&w, "why", why ? why : "");
    ch_jw_end(&w, '}');
    t->pass = t->pass && pass;
}

static void write_usage(const struct trial *t, struct ch_jw *w) {
    ch_jw_kbegin(w, "usage", '{');
    ch_jw_kint(w, "input", t->usage.input);
    ch_jw_kint(w, "output", t->usage.output);
    ch_jw_kint(w, "cache_read", t->usage.cache_read);
    ch_jw_kint(w, "total", t->usage.input + t->usage.output);
    ch_jw_key(w, "cost_usd");
    if (t->usage.cost_usd < 0)
        ch_jw_null(w);
    else
        ch_jw_double(w, t->usage.cost_usd);
    ch_jw_end(w, '}');
}

static void write_calls(const struct trial *t, struct ch_jw *w) {
    ch_jw_kbegin(w, "calls", '[');
    for (size_t i = 0; i < t->ncalls; i++) {
        const struct ch_eval_call *c = &t->calls[i];
        ch_jw_begin(w, '{');
        ch_jw_kstr(w, "name", c->name);
        ch_jw_kraw(w, "arguments", c->arguments);
        ch_jw_kbool(w, "is_error", c->is_error);
        if (c->error_type)
            ch_jw_kcstr(w, "error_type", c->error_type);
        ch_jw_kstr(w, "result", ch_utf8_cut(c->result, MOST_RESULT));
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
}

static void write_messages(const struct trial *t, struct ch_jw *w) {
    char *messages = t->session ? chela_session_messages_json(t->session) : NULL;
    if (!messages)
        return;
    ch_jw_kraw(w, "messages", ch_sv_str(messages));
    chela_free(messages);
}

/* program: for a program of the case, which also gets the input and the workspace. */
static void write_trial(struct trial *t, struct ch_buf *out, bool program) {
    struct ch_eval_stub_counts counts = ch_eval_stubs_counts(t->stubs);
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    if (program) {
        ch_jw_kcstr(&w, "name", t->o.c->name);
        ch_jw_kcstr(&w, "agent", t->agent);
        ch_jw_kcstr(&w, "model", t->model);
        ch_jw_kcstr(&w, "input", t->o.c->turns[t->o.c->nturns - 1].text);
        ch_jw_kcstr(&w, "workspace", t->workspace);
    }
    ch_jw_kint(&w, "n", t->o.n);
    if (!program)
        ch_jw_kbool(&w, "pass", t->pass);
    ch_jw_kcstr(&w, "status", t->invalid ? "invalid" : t->outcome.status);
    ch_jw_kcstr(&w, "reason", t->outcome.reason);
    ch_jw_kcstr(&w, "session", t->key);
    ch_jw_kint(&w, "turns", t->turns);
    ch_jw_kstr(&w, "text", ch_utf8_cut(t->outcome.text, MOST_TEXT));
    if (t->outcome.error.n)
        ch_jw_kstr(&w, "error", t->outcome.error);
    ch_jw_kdouble(&w, "seconds", t->outcome.seconds);
    ch_jw_kint(&w, "attempts", t->attempt);
    ch_jw_kint(&w, "simulated", counts.simulated);
    ch_jw_kint(&w, "unrecorded", counts.unrecorded);
    if (t->more_calls)
        ch_jw_kint(&w, "calls_left_out", (int64_t)t->more_calls);
    write_calls(t, &w);
    write_usage(t, &w);
    if (t->o.eval->transcripts || program)
        write_messages(t, &w);
    if (!program) {
        ch_jw_kbegin(&w, "checks", '[');
        ch_jw_raw(&w, ch_buf_sv(&t->checks));
        ch_jw_end(&w, ']');
    }
    ch_jw_end(&w, '}');
}

/* --- the end ----------------------------------------------------------------------------- */

static void trial_close(struct trial *t) {
    chela_session_close(CH_TAKE(t->session));
    if (t->open && t->o.eval->close)
        t->o.eval->close(t->handle, t->o.eval->user);
    t->open = false;
    ch_eval_stubs_free(CH_TAKE(t->stubs));
    if (t->workspace)
        ch_eval_fixture_remove(t->workspace);
    ch_free(CH_TAKE(t->workspace));
}

static void trial_forget(struct trial *t) {
    trial_close(t);
    ch_free(CH_TAKE(t->calls));
    ch_free(CH_TAKE(t->ids));
    t->ncalls = t->calls_cap = t->ids_cap = t->more_calls = 0;
    t->turn = 0;
    t->turns = 0;
    t->usage = (struct chela_usage){0};
    ch_buf_clear(&t->checks);
}

static void trial_end(struct ch_task *task) {
    struct trial *t = CH_CONTAINER(task, struct trial, task);
    CH_BUF_AUTO json = {0};
    bool scripted = t->model && strncmp(t->model, "scripted/", 9) == 0;
    write_trial(t, &json, false);
    struct ch_eval_result r = {
        .pass = t->pass,
        .invalid = t->invalid,
        .failed = t->failed,
        .unpriced = !scripted && !t->invalid && (t->usage.cost_usd < 0 || t->judge_cost < 0),
        .cost = t->spent + (t->usage.cost_usd > 0 ? t->usage.cost_usd : 0) +
                (t->judge_cost > 0 ? t->judge_cost : 0),
        .agent = t->agent ? t->agent : t->o.agent ? t->o.agent : t->o.c->agent,
        .model = t->model ? t->model : t->o.model,
        .json = ch_buf_sv(&json),
        .err = t->err.code ? &t->err : NULL};
    trial_close(t);
    t->done(&r, t->user);
    trial_forget(t);
    ch_buf_release(&t->checks);
    ch_arena_release(&t->arena);
    ch_free(t);
}

/* The case cannot be run as it is. */
static void trial_invalid(struct trial *t, const char *reason, const struct chela_error *err) {
    t->invalid = true;
    t->outcome.status = "invalid";
    t->outcome.reason = reason;
    note_check(t, "setup", false, err->message);
    trial_defer(t, trial_end);
}

/* --- judges and programs ----------------------------------------------------------------- */

static void check_rest(struct ch_task *task);

static void judge_done(const struct ch_eval_verdict *v, void *user) {
    struct trial *t = user;
    const struct ch_eval_check *k = &t->o.c->checks[t->check++];
    CH_BUF_AUTO why = {0};
    if (!v->valid)
        ch_buf_addf(&why, "no valid verdict: %s", v->reason);
    else
        ch_buf_addf(&why, "%s", v->reason ? v->reason : "");
    if (v->valid && v->evidence.n)
        ch_buf_addf(&why, " [%.*s]", CH_SV_FMT(ch_utf8_cut(v->evidence, 300)));
    t->judge_cost = t->judge_cost < 0 || v->cost < 0 ? -1 : t->judge_cost + v->cost;
    note_check(t, k->label, v->pass, ch_buf_str(&why));
    trial_defer(t, check_rest);
}

static void ask_judge(struct trial *t, const struct ch_eval_check *k) {
    const struct chela_agent_opts *like = t->o.eval->judge;
    struct ch_sv model = ch_json_get_str(k->json, "model");
    struct chela_error err = {0};
    struct ch_eval_question q = ch_eval_judge_question(k->json);
    q.task = ch_sv_str(t->o.c->turns[t->o.c->nturns - 1].text);
    q.answer = t->outcome.text;
    q.model = model.n ? ch_arena_text(&t->arena, model) : like && like->model ? like->model
                                                                              : t->model;
    if (ch_eval_judge(t->o.rt, like, &q, judge_done, t, &err) == 0)
        return;
    note_check(t, k->label, false, err.message);
    t->check++;
    trial_defer(t, check_rest);
}

static void program_done(const struct ch_child_result *r, const struct chela_error *err,
                         void *user) {
    struct trial *t = user;
    const struct ch_eval_check *k = &t->o.c->checks[t->check++];
    CH_BUF_AUTO why = {0};
    bool pass = r && r->exit_code == 0 && !r->timed_out;
    if (!r)
        ch_buf_addf(&why, "the program cannot be run: %s", err->message);
    else if (r->timed_out)
        ch_buf_addf(&why, "the program did not end within %d seconds", PROGRAM_MS / 1000);
    else if (!pass)
        ch_buf_addf(&why, "the program ended with exit code %d: ", r->exit_code);
    if (r && !pass)
        ch_buf_add_sv(&why, ch_utf8_cut(ch_sv_trim(r->out), 500));
    note_check(t, k->label, pass, ch_buf_str(&why));
    trial_defer(t, check_rest);
}

static void start_program(struct trial *t, const struct ch_eval_check *k) {
    CH_BUF_AUTO input = {0};
    const char **argv = ch_arena_zalloc(&t->arena, (k->json->n + 1) * sizeof(*argv));
    size_t n = 0;
    for (CH_JSON_EACH(e, k->json))
        argv[n++] = ch_arena_text(&t->arena, ch_json_str(e));
    write_trial(t, &input, true);
    struct ch_child_opts opts = {.argv = argv,
                                 .cwd = *t->o.c->folder ? t->o.c->folder : NULL,
                                 .input = ch_buf_sv(&input),
                                 .merge = true,
                                 .timeout_ms = PROGRAM_MS};
    ch_child_start(t->o.rt->loop, &opts, NULL, program_done, t);
}

static void check_rest(struct ch_task *task) {
    struct trial *t = CH_CONTAINER(task, struct trial, task);
    while (t->check < t->o.c->nchecks && ch_eval_check_is_pure(&t->o.c->checks[t->check]))
        t->check++;
    if (t->check >= t->o.c->nchecks) {
        trial_end(task);
        return;
    }
    const struct ch_eval_check *k = &t->o.c->checks[t->check];
    if (k->kind == CH_EVAL_JUDGE)
        ask_judge(t, k);
    else
        start_program(t, k);
}

/* --- pure checks ------------------------------------------------------------------------- */

static int read_workspace_file(const char *path, struct ch_buf *out, struct chela_error *err,
                               void *user) {
    const struct trial *t = user;
    CH_AUTOFREE char *full = NULL;
    CH_BUF_AUTO name = {0};
    ch_buf_addf(&name, "%s/%s", t->workspace, path);
    full = ch_buf_take(&name);
    return ch_file_load(full, CH_LIMIT_EVAL_FILE, out, err);
}

static void check_pure(struct trial *t) {
    CH_BUF_AUTO why = {0};
    t->outcome.calls = t->calls;
    t->outcome.ncalls = t->ncalls;
    t->outcome.turns = t->turns;
    t->outcome.tokens = t->usage.input + t->usage.output;
    t->outcome.cost = t->usage.cost_usd;
    t->outcome.seconds = (double)(ch_mono_ms(&ch_clock_system) - t->began) / 1000;
    t->outcome.file = read_workspace_file;
    t->outcome.user = t;
    if (!t->o.c->wants_status && !ch_eval_check_ended(&t->outcome, &why))
        note_check(t, "status", false, ch_buf_str(&why));
    for (size_t i = 0; i < t->o.c->nchecks; i++) {
        const struct ch_eval_check *k = &t->o.c->checks[i];
        if (!ch_eval_check_is_pure(k))
            continue;
        ch_buf_clear(&why);
        bool pass = ch_eval_check(k, &t->outcome, &why);
        note_check(t, k->label, pass, ch_buf_str(&why));
    }
}

/* --- events ------------------------------------------------------------------------------ */

static void trial_on_call(struct trial *t, const struct chela_event *ev) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO quoted = {0};
    const struct ch_json *v;
    struct ch_sv arguments = ch_sv(ev->call.arguments.p, ev->call.arguments.n);
    if (t->ncalls >= CH_LIMIT_EVAL_CALLS) {
        t->more_calls++;
        return;
    }
    if (ch_json_parse(&arena, arguments, CH_JSON_STRICT, &v, NULL, NULL) < 0) {
        ch_json_quote(&quoted, arguments);
        arguments = ch_buf_sv(&quoted);
    }
    CH_GROW(t->ids, t->ncalls, t->ids_cap, 8);
    CH_GROW(t->calls, t->ncalls, t->calls_cap, 8);
    t->ids[t->ncalls] = ch_arena_sv(&t->arena, ch_sv(ev->call.id.p, ev->call.id.n));
    t->calls[t->ncalls++] =
        (struct ch_eval_call){.name = ch_arena_sv(&t->arena, ch_sv(ev->call.name.p,
                                                                   ev->call.name.n)),
                              .arguments = ch_arena_sv(&t->arena, arguments)};
}

static void trial_on_result(struct trial *t, const struct chela_event *ev) {
    for (size_t i = t->ncalls; i-- > 0;) {
        struct ch_eval_call *c = &t->calls[i];
        if (c->ended || !ch_sv_eq(t->ids[i], ch_sv(ev->result.id.p, ev->result.id.n)))
            continue;
        c->ended = true;
        c->is_error = ev->result.is_error;
        if (ev->result.error_type)
            c->error_type = ch_arena_str(&t->arena, ch_sv_str(ev->result.error_type));
        c->result = ch_arena_sv(&t->arena, ch_utf8_cut(ch_sv(ev->result.content.p,
                                                             ev->result.content.n),
                                                       MOST_RESULT));
        return;
    }
}

static void trial_open(struct ch_task *task);
static void trial_next_turn(struct ch_task *task);

static void add_usage(struct trial *t, const struct chela_usage *u) {
    t->usage.input += u->input;
    t->usage.output += u->output;
    t->usage.cache_read += u->cache_read;
    t->usage.cost_usd =
        u->cost_usd < 0 || t->usage.cost_usd < 0 ? -1 : t->usage.cost_usd + u->cost_usd;
}

static void trial_on_end(struct trial *t, const struct chela_event *ev) {
    t->outcome.status = chela_status_name(ev->end.status);
    t->outcome.reason = chela_reason_name(ev->end.reason);
    t->outcome.text = ch_arena_sv(&t->arena, ch_sv(ev->end.text.p, ev->end.text.n));
    t->outcome.error = ch_arena_sv(&t->arena, ch_sv(ev->end.error.p, ev->end.error.n));
    t->turns += ev->end.turns;
    add_usage(t, &ev->end.usage);
    if (ev->end.reason == CHELA_REASON_MODEL_ERROR) {
        t->spent += t->usage.cost_usd > 0 ? t->usage.cost_usd : 0;
        if (t->attempt < ATTEMPTS) {
            t->attempt++;
            trial_defer(t, trial_open);
            return;
        }
        t->failed = true;
    }
    bool goes_on = ev->end.status == CHELA_STATUS_DONE || ev->end.status == CHELA_STATUS_DECLINED;
    if (goes_on && ++t->turn < t->o.c->nturns) {
        trial_defer(t, trial_next_turn);
        return;
    }
    check_pure(t);
    trial_defer(t, check_rest);
}

static void trial_on_event(const struct chela_event *ev, void *user) {
    struct trial *t = user;
    if (ev->type == CHELA_EV_TOOL_CALL)
        trial_on_call(t, ev);
    else if (ev->type == CHELA_EV_TOOL_RESULT)
        trial_on_result(t, ev);
    else if (ev->type == CHELA_EV_RUN_END)
        trial_on_end(t, ev);
}

/* --- the beginning ----------------------------------------------------------------------- */

/* The case consents to the calls of tools that it declares real; nobody else is there to ask. */
static enum chela_flow trial_approve(chela_run *run, struct chela_approval *a, void *user) {
    const struct trial *t = user;
    const struct ch_eval_tool *tool =
        ch_eval_case_tool(t->o.c, ch_sv(a->name.p, a->name.n));
    (void)run;
    a->decision = tool && tool->source == CH_EVAL_REAL ? CHELA_ALLOW_ONCE : CHELA_DENY;
    a->reason = "The case does not allow this call.";
    return CHELA_GO;
}

static void trial_next_turn(struct ch_task *task) {
    struct trial *t = CH_CONTAINER(task, struct trial, task);
    const struct ch_eval_turn *turn = &t->o.c->turns[t->turn];
    struct chela_run_opts opts =
        CHELA_RUN_OPTS(.on_event = trial_on_event, .user = t, .may_redo = 1,
                       .channel = turn->sender ? "eval" : NULL, .sender = turn->sender);
    if (chela_run_start(t->session, turn->text, strlen(turn->text), &opts, NULL, &t->err) < 0)
        trial_defer(t, trial_end);
}

static const char *workspace_of(struct trial *t) {
    const struct ch_eval_case *c = t->o.c;
    if (!c->workspace)
        return t->o.eval->workspace;
    if (*c->workspace == '/' || !*c->folder)
        return c->workspace;
    return ch_arena_printf(&t->arena, "%s/%s", c->folder, c->workspace);
}

/* < 0: the trial ends; t->err is set if the whole evaluation does. */
static int trial_open_agent(struct trial *t) {
    const struct chela_eval_opts *e = t->o.eval;
    const char *agent = t->o.agent ? t->o.agent : t->o.c->agent;
    int64_t seed = e->seed ? *e->seed + (int64_t)t->o.n - 1 : 0;
    struct chela_eval_request request = {.agent = agent, .model = t->o.model,
                                         .workspace = t->workspace,
                                         .seed = e->seed ? &seed : NULL};
    struct chela_hooks hooks = CHELA_HOOKS(.user = t, .approve = trial_approve);
    struct chela_error err = {0};
    chela_agent *const *agents = NULL;
    int rc = e->open(&request, &agents, &t->handle, e->user, &err);
    if (rc < 0)
        return ch_fail(&t->err, rc, "%s: case '%s': %s", t->o.c->where, t->o.c->name, err.message);
    t->open = true;
    t->agent = ch_arena_str(&t->arena, ch_sv_str(agents[0]->id));
    t->model = ch_arena_str(&t->arena, ch_sv_str(agents[0]->targets[0]->spec));
    rc = ch_eval_stubs_new(t->o.c, agents, &t->stubs, &err);
    if (rc < 0) {
        trial_invalid(t, "tool_missing", &err);
        return rc;
    }
    for (size_t i = 0; rc == 0 && agents[i]; i++)
        rc = chela_agent_hooks(agents[i], &hooks, &t->err);
    if (rc == 0)
        rc = ch_eval_history_open(agents[0], t->o.c, &t->session, &t->err);
    return rc;
}

static void trial_open(struct ch_task *task) {
    struct trial *t = CH_CONTAINER(task, struct trial, task);
    struct chela_error err = {0};
    char id[CH_RANDOM_ID];
    trial_forget(t);
    t->began = ch_mono_ms(&ch_clock_system);
    ch_random_id("t_", id);
    CH_BUF_AUTO path = {0};
    ch_buf_addf(&path, "%s/%s", t->o.eval->scratch, id);
    t->workspace = ch_buf_take(&path);
    if (ch_eval_fixture_copy(workspace_of(t), t->workspace, &err) < 0) {
        trial_invalid(t, "workspace", &err);
        return;
    }
    int rc = trial_open_agent(t);
    if (rc == 0) {
        t->key = ch_arena_str(&t->arena, ch_sv_str(chela_session_key(t->session)));
        trial_next_turn(&t->task);
    } else if (!t->invalid) {
        trial_defer(t, trial_end);
    }
}

void ch_eval_trial_start(const struct ch_eval_trial_opts *o, ch_eval_trial_fn *done, void *user) {
    struct trial *t = ch_alloc(sizeof(*t));
    *t = (struct trial){.o = *o, .done = done, .user = user, .attempt = 1, .pass = true};
    t->outcome.status = t->outcome.reason = "";
    trial_defer(t, trial_open);
}
