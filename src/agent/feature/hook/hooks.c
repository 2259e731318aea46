/* hooks.c -- see hooks.h. */
#include "agent/feature/hook/hooks.h"

#include "agent/context/compaction.h"
#include "agent/feature/hook/hook_input.h"
#include "agent/feature/hook/hook_work.h"
#include "agent/handle/run_origin.h"
#include "agent/journal/emit.h"
#include "agent/machine/event.h"
#include "agent/run/act.h"
#include "agent/run/driver.h"
#include "agent/run/feature_turn.h"
#include "agent/run/think.h"
#include "base/limits.h"

/* The programs of one call, before or after it. */
struct call_hook {
    struct call_hook *next;
    chela_run *run;
    char *id; /* owned: of the call */
    bool after;
    struct ch_hook_work *work; /* owned; NULL: they have ended */
    struct ch_hook_verdict verdict;
};

struct hooking { /* of a run */
    struct ch_hook_work *work; /* owned: programs that the run waits for; NULL: none */
    struct call_hook *calls;   /* owned */
    unsigned stops;            /* answers that a program did not accept */
    bool prompted;             /* the programs of the run's message have run */
    bool answered;             /* the last reply may be the answer */
    bool saved;                /* the programs of this compaction have run */
};

/* --- the session ------------------------------------------------------------------------------ */

struct started { /* of a session */
    struct ch_hook_launch *end; /* owned: the programs of its end; NULL: none */
    bool begun;
};

static void *started_make(void) {
    return ch_alloc(sizeof(struct started));
}

static void started_free(void *value) {
    struct started *s = value;
    ch_hook_launch_go(s->end);
    ch_free(s);
}

static struct started *started_of(const chela_session *s) {
    static const struct ch_state_kind kind = {started_make, started_free};
    return ch_session_state_get((struct ch_session_state *)&s->state, &kind);
}

static void input_simple(const chela_run *run, enum ch_hook_event event, const char *key,
                         struct ch_sv value, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_hook_input_begin(&w, run->session, run, event);
    ch_jw_kstr(&w, key, value);
    ch_jw_end(&w, '}');
}

static void prepare_end(const chela_run *run, struct started *s) {
    CH_BUF_AUTO input = {0};
    input_simple(run, CH_HOOK_SESSION_END, "reason", CH_SV("other"), &input);
    s->end = ch_hook_launch_new(run->session->agent, CH_HOOK_SESSION_END, "other",
                                ch_buf_sv(&input));
}

/* --- what a verdict says to people and to the model ------------------------------------------ */

/* False: the run is over. */
static bool hooks_tell(chela_run *run, const struct ch_hook_verdict *v) {
    if (v->warning.n)
        ch_emit_warning(run, "%.*s", (int)CH_MIN(v->warning.n, (size_t)400), v->warning.p);
    if (!run->dead && v->message.n)
        ch_emit_warning(run, "%.*s", (int)CH_MIN(v->message.n, (size_t)400), v->message.p);
    return !run->dead;
}

static bool hooks_note(chela_run *run, const struct ch_buf *context) {
    CH_BUF_AUTO text = {0};
    if (!context->n)
        return true;
    ch_buf_addf(&text, "Added by a hook of the user:\n%.*s", (int)context->n, context->p);
    return ch_think_note(run, ch_buf_sv(&text));
}

static bool hooks_interrupted(const chela_run *run) {
    return run->dead || ch_run_stops(run) || ch_run_interruption(run) != CH_IN_INPUT;
}

/* A program wants the run to end. */
static void hooks_end_run(chela_run *run, const struct ch_hook_verdict *v) {
    CH_BUF_AUTO text = {0};
    ch_buf_addf(&text, "Stopped by a hook%s%.*s", v->reason.n ? ": " : ".", (int)v->reason.n,
                v->reason.n ? v->reason.p : "");
    ch_feature_turn_say(run, ch_buf_sv(&text), CH_REASON_ESCALATED);
}

/* --- before the first model call ------------------------------------------------------------- */

static void prompt_begin(chela_run *run);

static void prompt_done(struct ch_hook_verdict *v, void *user) {
    chela_run *run = user;
    struct hooking *k = ch_feature_data(run, &ch_hooks_feature);
    CH_BUF_AUTO text = {0};
    k->work = NULL;
    if (!hooks_tell(run, v))
        return;
    if (v->block) { /* the message leaves no trace in the conversation */
        ch_run_origin_erase(run);
        ch_buf_addf(&text, "Blocked by a hook: %.*s", (int)v->reason.n, v->reason.p);
        ch_feature_turn_say(run, ch_buf_sv(&text), CH_REASON_ESCALATED);
    } else if (v->stop) {
        hooks_end_run(run, v);
    } else if (hooks_note(run, &v->context)) {
        ch_driver_take_turn(run);
    }
}

static void start_done(struct ch_hook_verdict *v, void *user) {
    chela_run *run = user;
    struct hooking *k = ch_feature_data(run, &ch_hooks_feature);
    k->work = NULL;
    if (!hooks_tell(run, v))
        return;
    if (v->stop)
        hooks_end_run(run, v);
    else if (hooks_note(run, &v->context))
        prompt_begin(run);
}

static const struct ch_msg *last_message(const chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    return t->n ? t->msgs[t->n - 1] : NULL;
}

static const struct ch_msg *last_of_user(const chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    for (size_t i = t->n; i > 0; i--)
        if (t->msgs[i - 1]->kind == CH_MSG_USER)
            return t->msgs[i - 1];
    return NULL;
}

/* Runs the programs of the message, or goes on at once. */
static void prompt_begin(chela_run *run) {
    struct hooking *k = ch_feature_data(run, &ch_hooks_feature);
    const struct ch_msg *m = last_of_user(run);
    CH_BUF_AUTO input = {0};
    if (m) {
        input_simple(run, CH_HOOK_PROMPT, "prompt", ch_msg_words(m), &input);
        k->work = ch_hook_work_start(run->session->agent, CH_HOOK_PROMPT, NULL, NULL,
                                     ch_buf_sv(&input), prompt_done, run);
    }
    if (!k->work)
        ch_driver_take_turn(run);
}

/* True: programs run, and one of their callbacks continues the turn. */
static bool begin_run(chela_run *run) {
    struct hooking *k = ch_feature_data(run, &ch_hooks_feature);
    const chela_agent *a = run->session->agent;
    struct started *s = started_of(run->session);
    const struct ch_msg *last = last_message(run);
    CH_BUF_AUTO input = {0};
    bool asks = last && last->kind == CH_MSG_USER && ch_hooks_any(a, CH_HOOK_PROMPT);
    if (!s->begun) {
        const char *source = run->session->transcript.n > 1 ? "resume" : "startup";
        s->begun = true;
        prepare_end(run, s);
        input_simple(run, CH_HOOK_SESSION_START, "source", ch_sv_str(source), &input);
        k->work = ch_hook_work_start(a, CH_HOOK_SESSION_START, source, NULL, ch_buf_sv(&input),
                                     start_done, run);
    }
    if (!k->work && asks) {
        ch_buf_clear(&input);
        input_simple(run, CH_HOOK_PROMPT, "prompt", ch_msg_words(last), &input);
        k->work = ch_hook_work_start(a, CH_HOOK_PROMPT, NULL, NULL, ch_buf_sv(&input), prompt_done,
                                     run);
    }
    return k->work != NULL;
}

/* --- after an answer ------------------------------------------------------------------------- */

static void stop_done(struct ch_hook_verdict *v, void *user) {
    chela_run *run = user;
    struct hooking *k = ch_feature_data(run, &ch_hooks_feature);
    CH_BUF_AUTO text = {0};
    k->work = NULL;
    if (!hooks_tell(run, v))
        return;
    if (!v->block || v->stop) {
        run->m.turns--; /* no model was called */
        ch_feature_turn_end(run);
        return;
    }
    k->stops++;
    ch_buf_addf(&text, "A hook of the user does not accept the end yet: %.*s", (int)v->reason.n,
                v->reason.p);
    if (ch_think_note(run, ch_buf_sv(&text)))
        ch_driver_take_turn(run);
}

static bool review_answer(chela_run *run) {
    struct hooking *k = ch_feature_data(run, &ch_hooks_feature);
    CH_BUF_AUTO input = {0};
    struct ch_jw w = ch_jw(&input);
    ch_hook_input_begin(&w, run->session, run, CH_HOOK_STOP);
    ch_jw_kbool(&w, "stop_hook_active", k->stops > 0);
    ch_jw_kstr(&w, "last_assistant_message", ch_buf_sv(&run->text));
    ch_jw_end(&w, '}');
    k->work = ch_hook_work_start(run->session->agent, CH_HOOK_STOP, NULL, NULL, ch_buf_sv(&input),
                                 stop_done, run);
    return k->work != NULL;
}

static bool hooks_take_turn(chela_run *run) {
    struct hooking *k = ch_feature_data(run, &ch_hooks_feature);
    const struct ch_msg *last = last_message(run);
    bool answered = CH_TAKE(k->answered);
    if (hooks_interrupted(run))
        return false;
    if (!k->prompted) {
        k->prompted = true;
        return begin_run(run);
    }
    return answered && last && last->kind == CH_MSG_ASSISTANT && !run->steering.n &&
           !run->follow_ups.n && !run->session->events.n && review_answer(run);
}

static unsigned hooks_on_reply(chela_run *run, struct ch_reply *reply, struct ch_buf *complaint) {
    struct hooking *k = ch_feature_data(run, &ch_hooks_feature);
    (void)reply;
    (void)complaint;
    k->answered = run->m.closing == CH_REASON_NONE && k->stops < CH_LIMIT_HOOK_STOPS &&
                  ch_hooks_any(run->session->agent, CH_HOOK_STOP);
    return k->answered ? CH_REPLY_REVIEW : CH_REPLY_USE;
}

/* --- calls ----------------------------------------------------------------------------------- */

static struct call_hook *call_find(struct hooking *k, struct ch_sv id, bool after) {
    for (struct call_hook *c = k->calls; c; c = c->next)
        if (c->after == after && ch_sv_is(id, c->id))
            return c;
    return NULL;
}

static void call_done(struct ch_hook_verdict *v, void *user) {
    struct call_hook *c = user;
    c->work = NULL;
    c->verdict = *v;
    *v = (struct ch_hook_verdict){0};
    ch_act_unhold(c->run, ch_sv_str(c->id));
}

static void call_free(struct call_hook *c) {
    ch_hook_work_close(c->work);
    ch_hook_verdict_release(&c->verdict);
    ch_free(c->id);
    ch_free(c);
}

static void call_forget(struct hooking *k, struct call_hook *gone) {
    struct call_hook **at = &k->calls;
    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    call_free(gone);
}

/* The programs of the call; NULL: there is none. */
static struct call_hook *call_start(chela_run *run, const struct ch_block *call, bool after,
                                    struct ch_sv input) {
    struct hooking *k = ch_feature_data(run, &ch_hooks_feature);
    CH_ARENA_AUTO arena = {0};
    CH_AUTOFREE char *name = ch_strndup(call->name.p, call->name.n);
    struct call_hook *c = ch_alloc(sizeof(*c));
    c->run = run;
    c->after = after;
    c->work = ch_hook_work_start(run->session->agent,
                                 after ? CH_HOOK_AFTER_TOOL : CH_HOOK_BEFORE_TOOL, name,
                                 ch_hook_tool_name(&arena, call->name), input, call_done, c);
    if (!c->work) {
        ch_free(c);
        return NULL;
    }
    c->id = ch_strndup(call->id.p, call->id.n);
    c->next = k->calls;
    k->calls = c;
    return c;
}

static bool call_input(chela_run *run, const struct ch_block *call, const char *arguments,
                       const struct ch_result *r, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_hook_input_begin(&w, run->session, run, r ? CH_HOOK_AFTER_TOOL : CH_HOOK_BEFORE_TOOL);
    ch_hook_input_call(&w, run->session, call->id, call->name, ch_sv_str(arguments));
    if (r)
        ch_hook_input_result(&w, r, ch_sv_str(arguments));
    ch_jw_end(&w, '}');
    return true;
}

/* What the programs decided about a call. */
static enum ch_before call_obey(chela_run *run, struct ch_hook_verdict *v, char **arguments,
                                char **feedback) {
    if (!hooks_tell(run, v))
        return CH_BEFORE_STOP;
    if (v->stop)
        return CH_BEFORE_STOP;
    if (v->block) {
        *feedback = ch_buf_take(&v->reason);
        return CH_BEFORE_REFUSE;
    }
    if (v->input.n)
        *arguments = ch_buf_take(&v->input);
    return CH_BEFORE_RUN;
}

static enum ch_before hooks_before_call(chela_run *run, const struct ch_block *call,
                                        char **arguments, char **feedback) {
    struct hooking *k = ch_feature_data(run, &ch_hooks_feature);
    struct call_hook *c = call_find(k, call->id, false);
    CH_BUF_AUTO input = {0};
    if (!c && ch_hooks_any(run->session->agent, CH_HOOK_BEFORE_TOOL)) {
        call_input(run, call, *arguments, NULL, &input);
        if (call_start(run, call, false, ch_buf_sv(&input)))
            return CH_BEFORE_WAIT;
    }
    if (!c)
        return CH_BEFORE_RUN;
    if (c->work)
        return CH_BEFORE_WAIT;
    enum ch_before verdict = call_obey(run, &c->verdict, arguments, feedback);
    if (!run->dead)
        call_forget(k, c);
    return verdict;
}

/* The text that follows the result of a call. */
static void call_add(const struct ch_hook_verdict *v, struct ch_buf *more) {
    if (v->block || v->stop)
        ch_buf_addf(more, "\n[A hook of the user says: %.*s]", (int)v->reason.n,
                    v->reason.n ? v->reason.p : "");
    if (v->context.n)
        ch_buf_addf(more, "\n[Added by a hook of the user: %.*s]", (int)v->context.n, v->context.p);
}

static bool hooks_after_call(chela_run *run, const struct ch_block *call, const struct ch_result *r,
                             struct ch_buf *more) {
    struct hooking *k = ch_feature_data(run, &ch_hooks_feature);
    struct call_hook *c = call_find(k, call->id, true);
    CH_BUF_AUTO input = {0};
    if (!c && r->attempts > 0 && !r->denied && !hooks_interrupted(run) &&
        ch_hooks_any(run->session->agent, CH_HOOK_AFTER_TOOL)) {
        CH_AUTOFREE char *arguments = ch_strndup(call->text.p, call->text.n);
        call_input(run, call, arguments, r, &input);
        return !call_start(run, call, true, ch_buf_sv(&input));
    }
    if (!c)
        return true;
    if (c->work)
        return false;
    if (!hooks_tell(run, &c->verdict))
        return true;
    call_add(&c->verdict, more);
    call_forget(k, c);
    return true;
}

/* --- compaction ------------------------------------------------------------------------------ */

static void compaction_done(struct ch_hook_verdict *v, void *user) {
    chela_run *run = user;
    struct hooking *k = ch_feature_data(run, &ch_hooks_feature);
    k->work = NULL;
    if (hooks_tell(run, v))
        ch_think_compact(run);
}

static bool hooks_hold_compaction(chela_run *run) {
    struct hooking *k = ch_feature_data(run, &ch_hooks_feature);
    const char *focus = ch_run_origin_focus(run);
    const char *trigger = ch_run_origin_compacts(run) ? "manual" : "auto";
    CH_BUF_AUTO input = {0};
    struct ch_jw w = ch_jw(&input);
    if (CH_TAKE(k->saved) || hooks_interrupted(run))
        return false;
    ch_hook_input_begin(&w, run->session, run, CH_HOOK_COMPACTION);
    ch_jw_kcstr(&w, "trigger", trigger);
    ch_jw_kcstr(&w, "custom_instructions", focus ? focus : "");
    ch_jw_end(&w, '}');
    k->work = ch_hook_work_start(run->session->agent, CH_HOOK_COMPACTION, trigger, NULL,
                                 ch_buf_sv(&input), compaction_done, run);
    k->saved = k->work != NULL;
    return k->saved;
}

/* --- notices --------------------------------------------------------------------------------- */

static void hooks_on_wait(chela_run *run, const char *kind, struct ch_sv what) {
    CH_BUF_AUTO input = {0};
    struct ch_jw w = ch_jw(&input);
    if (!ch_hooks_any(run->session->agent, CH_HOOK_NOTIFICATION))
        return;
    ch_hook_input_begin(&w, run->session, run, CH_HOOK_NOTIFICATION);
    ch_jw_kstr(&w, "message", what);
    ch_jw_kcstr(&w, "title", "chela");
    ch_jw_kcstr(&w, "notification_type", kind);
    ch_jw_end(&w, '}');
    ch_hook_launch_go(ch_hook_launch_new(run->session->agent, CH_HOOK_NOTIFICATION, kind,
                                         ch_buf_sv(&input)));
}

/* --- life ------------------------------------------------------------------------------------ */

static int hooks_configure(chela_agent *a, const struct ch_agent_opts *opts,
                           const struct ch_json *state, void **data, struct chela_error *err) {
    (void)opts;
    (void)state;
    (void)err;
    *data = ch_hooks_list_new(a);
    return 0;
}

/* A run that an earlier process began has had its message checked. */
static int hooks_open(chela_run *run, const struct chela_run_opts *opts,
                      const struct ch_json *state, void **data, struct chela_error *err) {
    struct hooking *k = ch_alloc(sizeof(*k));
    (void)run;
    (void)opts;
    (void)err;
    k->prompted = state != NULL;
    *data = k;
    return 0;
}

static void hooks_drop(struct hooking *k) {
    ch_hook_work_close(CH_TAKE(k->work));
    while (k->calls)
        call_forget(k, k->calls);
}

static void hooks_abort(chela_run *run) {
    struct hooking *k = ch_feature_data(run, &ch_hooks_feature);
    ch_hook_work_close(CH_TAKE(k->work));
}

static void hooks_close(chela_run *run, void *data) {
    (void)run;
    if (!data)
        return;
    hooks_drop(data);
    ch_free(data);
}

const struct ch_feature ch_hooks_feature = {
    .name = "hooks",
    .configure = hooks_configure,
    .open = hooks_open,
    .abort = hooks_abort,
    .close = hooks_close,
    .take_turn = hooks_take_turn,
    .on_reply = hooks_on_reply,
    .before_call = hooks_before_call,
    .after_call = hooks_after_call,
    .hold_compaction = hooks_hold_compaction,
    .on_wait = hooks_on_wait,
};
