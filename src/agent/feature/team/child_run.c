/* child_run.c -- begins, continues and ends child runs; see child_run.h. run/parent.c
 * passes limits and questions between child and parent. delegate.c (agents) and
 * step_tools.c (steps of a plan) decide which calls are child runs. */
#include "agent/feature/team/child_run.h"

#include "agent/feature/team/delegate.h"
#include "agent/handle/run_origin.h"
#include "agent/journal/journal_replay.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/child_key.h"
#include "agent/machine/event.h"
#include "agent/machine/principal.h"
#include "agent/machine/run.h"
#include "agent/run/driver.h"
#include "agent/run/parent.h"
#include "agent/session/children.h"
#include "agent/session/session.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "chela/store.h"
#include "json/writer.h"
#include "tool/call/call.h"

/* --- the end of a call ---------------------------------------------------------------- */

static void worked(chela_call *call) {
    ch_answer_conclude(&call->answer, 0, &call->made);
    ch_call_worked(call);
}

void ch_child_run_refuse(chela_call *call, const char *type, const char *why) {
    chela_result_error(call, type, "%s", why);
    worked(call);
}

static void close_child(struct ch_child_run *c) {
    chela_session *s = c->session;
    ch_delegate_ended(c);
    ch_children_detach(c);
    chela_session_close(s); /* frees c later */
}

struct ending {
    enum ch_reason reason;
    struct ch_sv text, error, told; /* told: the sentence about the end */
    const char *run;
};

static void write_details(const struct ch_child_run *c, const struct ending *e) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "agent", c->session->agent->id);
    ch_jw_kcstr(&w, "session", c->session->key);
    ch_jw_kcstr(&w, "run", e->run);
    ch_jw_kcstr(&w, "reason", ch_reason_name(e->reason));
    ch_jw_kint(&w, "turns", c->spent.turns);
    ch_jw_end(&w, '}');
    chela_result_details(c->call, ch_buf_str(&json));
}

/* The child's answer is the result of the call, with the sentence that it is empty or cut. If
 * the child was stopped, the result is an error with that answer. */
static void conclude(struct ch_child_run *c, const struct ending *e) {
    chela_call *call = c->call;
    enum ch_run_status status = ch_reason_status(e->reason);
    if (ch_reason_answers(e->reason)) {
        CH_BUF_AUTO answer = {0};
        ch_buf_add_sv(&answer, e->text);
        if (e->text.n && e->told.n)
            ch_buf_add_str(&answer, "\n\n");
        ch_buf_add_sv(&answer, e->told);
        chela_result_text(call, ch_buf_str(&answer), answer.n);
    } else {
        bool agent = c->kind->level;
        struct ch_sv so_far = ch_utf8_cut(e->text, CH_LIMIT_ROLE_RESULT);
        chela_result_error(call, status == CH_STATUS_CANCELLED ? "cancelled" : "unavailable",
                           "The %s%s did not finish: %s%s%.*s.%s%.*s",
                           agent ? "agent " : "step", agent ? c->session->agent->id : "",
                           ch_reason_name(e->reason), e->error.n ? ": " : "", CH_SV_FMT(e->error),
                           so_far.n ? " What it said last: " : "", CH_SV_FMT(so_far));
    }
    write_details(c, e);
    ch_labels_join(&call->labels, &c->session->labels);
    close_child(c);
    worked(call);
}

static void child_run_on_end(struct ch_child_run *c, const struct chela_event *ev) {
    struct ending e = {.reason = (enum ch_reason)ev->end.reason,
                       .text = ch_unstr(ev->end.text),
                       .error = ch_unstr(ev->end.error),
                       .told = ch_unstr(ev->end.ending),
                       .run = ev->run};
    if (ch_reason_status(e.reason) != CH_STATUS_PAUSED) {
        conclude(c, &e);
        return;
    }
    ch_call_rest(c->call);
}

/* --- events ----------------------------------------------------------------------------- */

/* Passes an event up. The host may close the session inside the event, so the call is kept
 * alive: the event borrows the call's id. */
static void child_run_on_event(const struct chela_event *ev, void *user) {
    struct ch_child_run *c = user;
    struct ch_spent s;
    if (!c->run || c->run->dead)
        return;
    chela_call *call = c->call;
    ch_call_ref(call);
    if (ev->type == CHELA_EV_RUN_START) /* the child may have been cancelled while it waited */
        ch_call_go_on(call);
    if (ch_parent_used(ev, &s) && !(s.turns && c->brought_turn))
        ch_parent_charge(c, &s);
    if (s.turns)
        c->brought_turn = false;
    struct chela_event told = {.type = CHELA_EV_CHILD,
                               .run = ev->run,
                               .seq = ev->seq,
                               .ts = ev->ts,
                               .child = {.event = ev,
                                         .parent = c->run->id,
                                         .agent = c->session->agent->id,
                                         .call = call->id,
                                         .depth = 1}};
    if (ev->type == CHELA_EV_CHILD) {
        told = *ev;
        told.child.depth++;
    }
    ch_parent_tell(c->run, &told);
    if (ev->type == CHELA_EV_RUN_END && c->run && !c->run->dead)
        child_run_on_end(c, ev);
    ch_call_unref(call);
}

/* --- its run ---------------------------------------------------------------------------- */

static int child_run_begin(struct ch_child_run *c, bool resume, struct chela_error *err) {
    chela_run *run = NULL;
    CH_BUF_AUTO deny = {0};
    CH_BUF_AUTO task = {0};
    struct chela_run_opts o =
        CHELA_RUN_OPTS(.on_event = child_run_on_event, .user = c, .may_redo = 1);
    if (resume) {
        int rc = chela_run_resume(c->session, &o, &run, err);
        if (rc == 0)
            ch_parent_bind(c->run, run);
        chela_run_free(run);
        return rc;
    }
    ch_principal_apply(ch_run_origin_principal(c->run), &o);
    ch_delegate_withhold(c, o.deny, &deny);
    o.deny = deny.n ? ch_buf_str(&deny) : NULL;
    c->kind->write_task(c, &task);
    int rc = chela_run_start(c->session, task.p, task.n, &o, &run, err);
    if (rc == 0)
        ch_parent_bind(c->run, run);
    chela_run_free(run);
    return rc;
}

static void child_run_fail(struct ch_child_run *c, const struct chela_error *err) {
    chela_call *call = c->call;
    struct chela_error copy = *err;
    close_child(c);
    ch_child_run_refuse(call, "unavailable", copy.message);
}

static void bring_along(struct ch_child_run *c) {
    const struct ch_run *m = &c->session->journal->last;
    struct ch_spent s = {.usage = m->usage,
                         .cost = m->cost,
                         .turns = m->turns + m->below.turns,
                         .tool_calls = m->tool_calls + m->below.tool_calls};
    const struct ch_journal_replay *past = c->session->journal->past;
    struct ch_spending *spending = ch_parent_root(c->run)->spending;
    c->brought_turn = past && past->reply;
    ch_parent_charge(c, &s);
    if (m->cost_unknown)
        ch_parent_charge(c, &(struct ch_spent){.cost = -1});
    if (spending)
        spending->recalled(spending, &s);
}

/* The child's journal was read: the child is new, unfinished or has ended. */
static void on_ready(chela_session *s, const struct chela_error *err, void *user) {
    struct ch_child_run *c = user;
    struct chela_error why = {0};
    if (!c->run)
        return;
    if (err) {
        child_run_fail(c, err);
        return;
    }
    bool old = s->transcript.n > 0, idle = !s->journal->past;
    if (old)
        bring_along(c);
    if (old && idle) {
        CH_AUTOFREE char *text = chela_session_last_text(s);
        struct ending e = {.reason = s->journal->last.reason, .text = ch_sv_str(text), .run = ""};
        conclude(c, &e);
        return;
    }
    if (child_run_begin(c, old, &why) < 0)
        child_run_fail(c, &why);
}

void ch_child_run_open(const struct ch_child_kind *kind, chela_call *call, chela_run *run,
                       chela_agent *to) {
    CH_ARENA_AUTO arena = {0};
    struct chela_error err = {0};
    const char *key = ch_child_key(run->session->key, call->tool->name, call->key, &arena);
    struct ch_child_run *c = ch_alloc(sizeof(*c));
    *c = (struct ch_child_run){.kind = kind};
    if (strlen(key) > CH_LIMIT_SESSION_KEY ||
        ch_session_open(to, key, run->session->journal != NULL, &c->session, &err) < 0) {
        const char *why = err.message[0] ? err.message : "The session's key is too long.";
        ch_free(c);
        ch_child_run_refuse(call, "unavailable", why);
        return;
    }
    c->session->child = c;
    ch_labels_join(&c->session->labels, &run->session->labels);
    c->run = ch_run_ref(run);
    c->call = call;
    ch_call_ref(call);
    call->doing = c;
    ch_list_add(&run->children, &c->link);
    chela_session_on_ready(c->session, on_ready, c);
    if (!c->session->journal && child_run_begin(c, false, &err) < 0)
        child_run_fail(c, &err);
}

void ch_child_run_go_on(chela_call *call) {
    struct ch_child_run *c = call->doing;
    struct chela_error err = {0};
    const chela_run *run = c->session->run;
    if (run && !run->over)
        return; /* the child is running already */
    if (child_run_begin(c, true, &err) < 0)
        child_run_fail(c, &err);
}

/* Cancels the child; the call ends when the child has ended. */
void ch_child_run_cancel(chela_call *call) {
    struct ch_child_run *c = call->doing;
    chela_run *run = c ? c->session->run : NULL;
    if (!c)
        return; /* the child has ended, and the call has its result */
    if (run && !ch_run_over(&run->m)) {
        ch_driver_interrupt(run, CH_IN_CANCEL, "the run that called it was cancelled");
        return;
    }
    if (run && !run->over)
        return; /* the end is being stored */
    close_child(c); /* the child was not started */
    ch_child_run_refuse(call, "cancelled", "The run was cancelled.");
}

void ch_child_run_abandon(chela_call *call) {
    if (call->doing)
        close_child(call->doing);
}
