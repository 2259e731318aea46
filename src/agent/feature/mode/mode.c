/* mode.c -- see mode.h. What is done next is read from the conversation each
 * turn; planning.c, judging.c and routing.c do it. */
#include "agent/feature/mode/mode_private.h"

#include <stdio.h>

#include "agent/feature/heartbeat/beat.h"
#include "agent/journal/run_journal.h"
#include "agent/context/tool_embedding.h"
#include "base/error.h"
#include "base/utf8.h"

static const char answer_text[] =
    "The plan was carried out as far as it could be. Answer the request now, from the results "
    "above, in the user's language. Say plainly what was not done or failed.";

static const char unwanted_text[] = "No plan was accepted. What should be done differently?";

static const char *const mode_names[] = {"react", "plan", "route", "heartbeat"};

const char *ch_mode_name(enum ch_mode m) {
    return mode_names[m];
}

int ch_mode_read(const char *word, enum ch_mode *out, struct chela_error *err) {
    *out = CH_MODE_REACT;
    for (size_t i = 0; word && i < CH_LEN(mode_names); i++) {
        if (strcmp(mode_names[i], word) != 0)
            continue;
        *out = (enum ch_mode)i;
        return 0;
    }
    if (!word)
        return 0;
    return ch_fail(err, CHELA_EINVAL, "unknown mode '%s' (known: react, plan, route, heartbeat)",
                   word);
}

int ch_reflecting_read(const char *word, const char *tools, struct ch_reflecting *out,
                       struct chela_error *err) {
    bool always = word && strcmp(word, "explicit") == 0;
    bool on_error = word && strcmp(word, "on_error") == 0;
    bool implicit = word && strcmp(word, "implicit") == 0;
    *out = (struct ch_reflecting){
        .answers = always, .errors = always || on_error, .tools = tools, .never = implicit};
    if (!word || always || on_error || implicit)
        return 0;
    return ch_fail(err, CHELA_EINVAL,
                   "unknown reflection '%s' (known: implicit, on_error, explicit)", word);
}

static bool plans(const chela_run *run) {
    return run->mode == CH_MODE_PLAN || run->mode == CH_MODE_ROUTE;
}

static struct ch_tool *plan_tool(const chela_agent *a) {
    return a->can_plan ? ch_registry_find(&a->registry, CH_SV(CH_PLAN_TOOL)) : NULL;
}

bool ch_mode_asks(const chela_run *run) {
    const struct ch_tool *t = plan_tool(run->session->agent);
    return plans(run) && t && t->flags & CHELA_TOOL_CONFIRM;
}

/* A companion is made of more than its mode: it neither takes another one nor
 * can somebody else be one. */
int ch_mode_recall(chela_agent *a, const char *word, bool asks, enum ch_mode *out,
                   struct chela_error *err) {
    enum ch_mode mode;
    *out = a->mode;
    if (!*word || a->mode == CH_MODE_HEARTBEAT || ch_mode_read(word, &mode, NULL) < 0 ||
        mode == CH_MODE_HEARTBEAT)
        return 0;
    *out = mode;
    if (mode == CH_MODE_REACT)
        return 0;
    if (!a->can_plan)
        return ch_mode_tools(a, asks, err);
    if (asks) /* somebody wanted to see the plans of this run: better all than none */
        plan_tool(a)->flags |= CHELA_TOOL_CONFIRM;
    return 0;
}

static struct ch_moding *moding(chela_run *run) {
    if (!run->moding) {
        run->moding = ch_alloc(sizeof(*run->moding));
        run->moding->again = run->moding->filling = -1;
    }
    return run->moding;
}

static void read_round(chela_run *run) {
    struct ch_moding *k = moding(run);
    if (k->read)
        ch_round_release(&k->round);
    ch_round_read(&run->session->transcript, &k->round);
    k->read = true;
    k->done = k->round.done;
    k->failed = k->round.failed;
}

void ch_mode_abort(chela_run *run) {
    if (run->moding)
        ch_ask_close(CH_TAKE(run->moding->asked));
}

void ch_mode_free(chela_run *run) {
    struct ch_moding *k = CH_TAKE(run->moding);
    if (!k)
        return;
    ch_planning_forget(k);
    if (k->read)
        ch_round_release(&k->round);
    ch_buf_release(&k->feedback);
    ch_buf_release(&k->advice);
    ch_buf_release(&k->why);
    ch_msg_free(k->view);
    ch_free(k);
}

bool ch_mode_answers(const chela_run *run) {
    return run->moding && run->moding->answering && !run->session->agent->output;
}

bool ch_mode_reviews(const chela_run *run) {
    const chela_agent *a = run->session->agent;
    return run->mode == CH_MODE_REACT && a->reflection.answers && run->m.closing == CH_REASON_NONE;
}

bool ch_mode_acts(const chela_run *run) {
    return run->moding && !run->moding->answering && plans(run);
}

/* --- events ----------------------------------------------------------------------- */

static const char *status_of(const struct ch_moding *k, size_t i) {
    unsigned bit = 1u << i;
    return k->running & bit ? "running" : k->done & bit ? "done" : k->failed & bit ? "failed"
                                                                                   : "pending";
}

static bool emit_plan(chela_run *run) {
    const struct ch_moding *k = run->moding;
    const struct ch_steps *p = &k->round.steps;
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    ch_jw_begin(&w, '[');
    for (size_t i = 0; i < p->n; i++) {
        ch_jw_begin(&w, '{');
        ch_step_write(&p->list[i], p, &w);
        ch_jw_kcstr(&w, "status", status_of(k, i));
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, ']');
    struct chela_event ev = {.type = CHELA_EV_PLAN, .plan.steps = ch_str(ch_buf_sv(&json))};
    return ch_emit(run, &ev);
}

void ch_mode_call(chela_run *run, const struct ch_block *call, bool ended, bool failed) {
    if (!plans(run) || run->dead)
        return;
    struct ch_moding *k = moding(run);
    if (!k->read)
        read_round(run);
    int i = ch_round_step(&k->round, call->id);
    if (i < 0)
        return;
    unsigned bit = 1u << i;
    k->running = ended ? k->running & ~bit : k->running | bit;
    k->done = ended && !failed ? k->done | bit : k->done & ~bit;
    k->failed = ended && failed ? k->failed | bit : k->failed & ~bit;
    emit_plan(run);
}

/* --- ends of a turn --------------------------------------------------------------- */

void ch_moding_on(chela_run *run) {
    run->stop_reason = ch_stop_name(CH_STOP_STOP);
    ch_drive(run, &(struct ch_input){.kind = CH_IN_ROLE});
}

void ch_moding_reply(chela_run *run, const struct ch_block *calls, size_t n) {
    struct ch_reply r = {.stop = CH_STOP_TOOL_USE,
                         .msg = ch_msg_new(CH_MSG_ASSISTANT, calls, n, NULL, CH_SV(""),
                                           ch_run_now(run))};
    run->target = run->session->agent->targets[run->m.model];
    ch_session_selection(run->session);
    ch_think_reply(run, &r);
}

void ch_moding_say(chela_run *run, struct ch_sv given, const char *otherwise,
                   enum ch_reason reason) {
    struct ch_sv text = ch_sv_trim(given).n ? ch_sv_trim(given) : ch_sv_str(otherwise);
    if (!ch_think_say(run, text, false))
        return;
    ch_drive(run, &(struct ch_input){.kind = CH_IN_DECIDED, .reason = reason});
}

void ch_moding_fail(chela_run *run, enum ch_reason reason, const char *why) {
    bool of_run = reason == CH_REASON_TOKEN_BUDGET || reason == CH_REASON_COST_BUDGET ||
                  reason == CH_REASON_CONTEXT_OVERFLOW || reason == CH_REASON_REFUSED;
    snprintf(run->error, sizeof(run->error), "%s", why);
    run->stop_reason = "error";
    ch_drive(run, &(struct ch_input){.kind = CH_IN_DECIDED,
                                     .reason = of_run ? reason : CH_REASON_MODEL_ERROR});
}

void ch_moding_unanswered(chela_run *run, enum ch_role_kind role, const struct ch_answered *a) {
    CH_BUF_AUTO why = {0};
    ch_buf_addf(&why, "the %s gave no answer: %s", ch_role_name(role),
                a->error && *a->error ? a->error : ch_reason_name(a->reason));
    ch_moding_fail(run, a->reason, ch_buf_str(&why));
}

void ch_moding_ask(chela_run *run, enum ch_role_kind role, const struct ch_prompt_value *values,
                size_t n, ch_answered_fn *fn) {
    struct chela_error err = {0};
    if (!ch_think_open(run))
        return;
    run->moding->asked = ch_ask_role(run, role, values, n, fn, run, &err);
    if (!run->moding->asked)
        ch_break(run, &err);
}

/* --- what roles are told ---------------------------------------------------------- */

bool ch_moding_offers(const chela_run *run, const struct ch_tool *t) {
    const struct ch_policy *p = &run->policy;
    struct ch_sv name = ch_sv_str(t->name);
    if (ch_sv_is(name, CH_REACT_TOOL))
        return true;
    if ((p->own && ch_policy_listed(ch_sv_str(p->own), name)) ||
        (p->always && ch_sv_is(name, p->always)))
        return false;
    return ch_policy_allows(p, name, t->permission);
}

void ch_moding_write_tool(struct ch_jw *w, const struct ch_tool *t, const char *kind) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", t->name);
    if (kind)
        ch_jw_kcstr(w, "kind", kind);
    ch_jw_kcstr(w, "description", t->description);
    ch_jw_kraw(w, "parameters", ch_sv_str(t->schema));
    ch_jw_end(w, '}');
}

static struct ch_sv shortened(struct ch_sv text) {
    return ch_utf8_cut(text, CH_LIMIT_ROLE_RESULT);
}

/* The end of the conversation before this round, as far as there is room. */
void ch_moding_context(const chela_run *run, struct ch_buf *out) {
    const struct ch_transcript *t = &run->session->transcript;
    size_t from = run->moding->round.begin, room = CH_LIMIT_ROLE_CONTEXT;
    size_t end = from;
    while (from > 0 && t->msgs[from - 1]->size < room) {
        from--;
        room -= t->msgs[from]->size;
    }
    for (; from < end; from++)
        for (uint32_t i = 0; i < t->msgs[from]->nblocks; i++) {
            const struct ch_block *b = &t->msgs[from]->blocks[i];
            if (b->type == CH_BLOCK_TEXT)
                ch_buf_addf(out, "%s: %.*s\n", ch_msg_kind_name(t->msgs[from]->kind),
                            CH_SV_FMT(b->text));
        }
}

void ch_moding_results(const struct ch_moding *k, struct ch_buf *out) {
    const struct ch_round *r = &k->round;
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '[');
    for (size_t i = 0; i < r->steps.n; i++) {
        ch_jw_begin(&w, '{');
        ch_jw_kint(&w, "step_id", r->steps.list[i].id);
        ch_jw_kcstr(&w, "status", r->done >> i & 1     ? "done"
                                  : r->failed >> i & 1 ? "failed"
                                                       : "not carried out");
        if (r->past[i].result.p)
            ch_jw_kstr(&w, "result", shortened(r->past[i].result));
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, ']');
}

void ch_moding_write_plan(const struct ch_steps *p, struct ch_jw *w) {
    ch_jw_begin(w, '[');
    for (size_t i = 0; i < p->n; i++) {
        ch_jw_begin(w, '{');
        ch_step_write(&p->list[i], p, w);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
}

/* --- the turn --------------------------------------------------------------------- */

static bool is_routed_to_agent(const struct ch_moding *k) {
    const struct ch_step *s = &k->round.steps.list[0];
    return k->round.steps.n == 1 && k->round.done == 1 && ch_sv_is(s->tool, CH_REACT_TOOL) &&
           ch_json_get(s->input, "agent");
}

static bool leave_to_model(chela_run *run) {
    struct ch_moding *k = run->moding;
    CH_BUF_AUTO text = {0};
    if (is_routed_to_agent(k)) { /* its answer is the answer */
        ch_moding_say(run, k->round.past[0].result, "", CH_REASON_COMPLETED);
        return true;
    }
    k->answering = true;
    if (k->told)
        return false;
    k->told = true;
    ch_buf_add_str(&text, answer_text);
    ch_buf_add_sv(&text, ch_buf_sv(&k->why));
    return !ch_think_note(run, ch_buf_sv(&text)); /* else the run is over */
}

static bool take_turn(chela_run *run) {
    struct ch_moding *k = run->moding;
    const struct ch_round *r = &k->round;
    if (r->refusals >= CH_LIMIT_PLANS) {
        ch_moding_say(run, CH_SV(""), unwanted_text, CH_REASON_COMPLETED);
        return true;
    }
    if (!r->planned && run->mode == CH_MODE_ROUTE && !k->plans) {
        ch_routing_ask(run);
        return true;
    }
    if (!r->planned || k->feedback.n) {
        ch_planning_make(run);
        return true;
    }
    if (!k->shown && !emit_plan(run))
        return true;
    k->shown = true;
    unsigned again = k->again >= 0 ? 1u << k->again : 0;
    unsigned ready =
        ch_steps_ready(&r->steps, r->done & ~again, (r->failed & ~again) | k->hopeless);
    if (ready)
        ch_planning_run(run, again ? ready & again : ready);
    else if (ch_judging_wanted(run))
        ch_judging_ask(run);
    else
        return leave_to_model(run);
    return true;
}

static bool reflects(const chela_agent *a) {
    const struct ch_reflecting *r = &a->reflection;
    return r->answers || r->errors || r->tools;
}

bool ch_mode_turn(chela_run *run) {
    const struct ch_run *m = &run->m;
    const chela_agent *a = run->session->agent;
    bool reacts = run->mode == CH_MODE_REACT;
    if (run->mode == CH_MODE_HEARTBEAT) {
        moding(run);
        return ch_beat_turn(run);
    }
    if ((reacts && !reflects(a)) || m->closing != CH_REASON_NONE || m->nudge ||
        m->reask)
        return false;
    struct ch_moding *k = moding(run);
    if (reacts)
        return ch_judging_turn(run);
    bool new_words = run->steering.n > 0 || run->follow_ups.n > 0;
    if (k->answering && !new_words) /* the model went on working: let it */
        return false;
    k->answering = false;
    if (!ch_think_deliver(run))
        return true;
    read_round(run);
    return take_turn(run);
}
