/* mode.c -- see mode.h. Each turn reads the next step from the conversation; planning.c,
 * judging.c and routing.c perform it. */
#include "agent/feature/mode/mode.h"

#include "agent/context/context.h"
#include "agent/feature/mode/judging.h"
#include "agent/feature/mode/mode_private.h"
#include "agent/feature/mode/mode_settings.h"
#include "agent/feature/mode/plan_progress.h"
#include "agent/feature/mode/plan_steps.h"
#include "agent/feature/mode/planning.h"
#include "agent/feature/mode/role.h"
#include "agent/feature/mode/routing.h"
#include "agent/machine/event.h"
#include "agent/machine/run.h"
#include "agent/run/driver.h"
#include "agent/run/feature.h"
#include "agent/run/feature_turn.h"
#include "agent/run/spoken.h"
#include "agent/run/think.h"

#include "agent/feature/mode/step_tools.h"
#include "agent/journal/emit.h"
#include "base/error.h"
#include "base/utf8.h"

static const char answer_text[] =
    "The plan was carried out as far as it could be. Answer the request now, from the results "
    "above, in the user's language. Say plainly what was not done or failed.";

static void read_round(chela_run *run) {
    struct ch_mode_state *k = ch_mode_state(run);
    if (k->read)
        ch_plan_progress_release(&k->round);
    ch_plan_progress_read(&run->session->transcript, &k->round);
    k->read = true;
    k->done = k->round.done;
    k->failed = k->round.failed;
}

/* --- events ----------------------------------------------------------------------- */

static const char *mode_status_of(const struct ch_mode_state *k, size_t i) {
    unsigned bit = 1u << i;
    return k->running & bit         ? "running"
           : k->done & bit          ? "done"
           : k->failed & bit        ? "failed"
           : k->round.skipped & bit ? "skipped"
                                    : "pending";
}

static bool emit_plan(chela_run *run) {
    const struct ch_mode_state *k = ch_mode_state(run);
    const struct ch_plan_steps *p = &k->round.steps;
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    ch_jw_begin(&w, '[');
    for (size_t i = 0; i < p->n; i++) {
        ch_jw_begin(&w, '{');
        ch_plan_steps_write(&p->list[i], p, &w);
        ch_jw_kcstr(&w, "status", mode_status_of(k, i));
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, ']');
    struct chela_event ev = {.type = CHELA_EV_PLAN, .plan.steps = ch_str(ch_buf_sv(&json))};
    return ch_emit(run, &ev);
}

static void mode_on_call(chela_run *run, const struct ch_block *call, enum ch_call_phase phase,
                         bool failed) {
    struct ch_mode_state *k = ch_mode_state(run);
    bool ended = phase == CH_PHASE_ENDED;
    if (phase == CH_PHASE_SETTLED)
        return;
    if (!k->read)
        read_round(run);
    int i = ch_plan_progress_step(&k->round, call->id);
    if (i < 0)
        return;
    unsigned bit = 1u << i;
    k->running = ended ? k->running & ~bit : k->running | bit;
    k->done = ended && !failed ? k->done | bit : k->done & ~bit;
    k->failed = ended && failed ? k->failed | bit : k->failed & ~bit;
    emit_plan(run);
}

/* --- ends of a turn --------------------------------------------------------------- */

void ch_mode_say(chela_run *run, struct ch_sv given, enum ch_say otherwise, enum ch_reason reason) {
    struct ch_sv text = ch_sv_trim(given);
    if (!text.n)
        text = ch_sv_str(ch_say(otherwise, ch_run_language(run)));
    ch_feature_turn_say(run, text, reason);
}

/* True: the reason ends the whole run, so the run cannot continue without the role. */
static bool is_of_run(enum ch_reason reason) {
    return reason == CH_REASON_TOKEN_BUDGET || reason == CH_REASON_COST_BUDGET ||
           reason == CH_REASON_CONTEXT_OVERFLOW || reason == CH_REASON_REFUSED ||
           reason == CH_REASON_DEADLINE || reason == CH_REASON_CANCELLED;
}

bool ch_mode_does_without(chela_run *run, enum ch_role_kind role, const struct ch_role_answer *a,
                          const char *instead) {
    CH_BUF_AUTO why = {0};
    ch_buf_addf(&why, "the %s gave no answer: %s", ch_role_name(role),
                a->error && *a->error ? a->error : ch_reason_name(a->reason));
    if (is_of_run(a->reason)) {
        ch_feature_turn_fail(run, a->reason, ch_buf_str(&why));
        return false;
    }
    ch_emit_warning(run, "%s; %s", ch_buf_str(&why), instead);
    return !run->dead;
}

void ch_mode_react(chela_run *run) {
    ch_mode_state(run)->reacts = true;
    ch_feature_turn_next(run);
}

void ch_mode_ask(chela_run *run, enum ch_role_kind role, const struct ch_prompt_value *values,
                 size_t n, ch_role_answer_fn *fn) {
    struct chela_error err = {0};
    if (!ch_think_open(run))
        return;
    ch_mode_state(run)->asked = ch_role_ask(run, role, values, n, fn, run, &err);
    if (!ch_mode_state(run)->asked)
        ch_driver_break(run, &err);
}

/* --- context of roles ------------------------------------------------------------- */

bool ch_mode_offers(const chela_run *run, const struct ch_tool *t) {
    const struct ch_policy *p = &run->permit.policy;
    struct ch_sv name = ch_sv_str(t->name);
    if (ch_sv_is(name, CH_REACT_TOOL))
        return true;
    if ((p->own && ch_policy_listed(ch_sv_str(p->own), name)) ||
        (p->always && ch_sv_is(name, p->always)))
        return false;
    return ch_policy_permits(p, t);
}

void ch_mode_write_tool(struct ch_jw *w, const struct ch_tool *t, const char *kind) {
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

/* Writes the end of the conversation before this round, within a limit. */
void ch_mode_context(const chela_run *run, struct ch_buf *out) {
    const struct ch_transcript *t = &run->session->transcript;
    size_t from = ch_mode_state(run)->round.begin, room = CH_LIMIT_ROLE_CONTEXT;
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

void ch_mode_results(const struct ch_mode_state *k, struct ch_buf *out) {
    const struct ch_plan_progress *r = &k->round;
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '[');
    for (size_t i = 0; i < r->steps.n; i++) {
        ch_jw_begin(&w, '{');
        ch_jw_kint(&w, "step_id", r->steps.list[i].id);
        ch_jw_kcstr(&w, "status", r->done >> i & 1      ? "done"
                                  : r->failed >> i & 1  ? "failed"
                                  : r->skipped >> i & 1 ? "skipped: its condition does not hold"
                                                        : "not carried out");
        if (r->past[i].result.p)
            ch_jw_kstr(&w, "result", shortened(r->past[i].result));
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, ']');
}

void ch_mode_write_plan(const struct ch_plan_steps *p, struct ch_jw *w) {
    ch_jw_begin(w, '[');
    for (size_t i = 0; i < p->n; i++) {
        ch_jw_begin(w, '{');
        ch_plan_steps_write(&p->list[i], p, w);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
}

/* --- the turn --------------------------------------------------------------------- */

static bool is_routed_to_agent(const struct ch_mode_state *k) {
    const struct ch_plan_step *s = &k->round.steps.list[0];
    return k->round.steps.n == 1 && k->round.done == 1 && ch_sv_is(s->tool, CH_REACT_TOOL) &&
           ch_json_get(s->input, "agent");
}

/* Ends the run with a value from the plan's results. False: the plan names no such value,
 * and the model answers. */
static bool answer_by_plan(chela_run *run) {
    const struct ch_mode_state *k = ch_mode_state(run);
    const struct ch_plan_progress *r = &k->round;
    struct ch_sv results[CH_LIMIT_PLAN_STEPS];
    ch_plan_progress_results(r, results);
    for (CH_JSON_EACH(e, r->answer)) {
        CH_BUF_AUTO text = {0};
        CH_BUF_AUTO why = {0};
        if (ch_plan_steps_fill_text(&r->steps, &r->steps.list[0], ch_json_str(e), results, &text,
                                    &why) < 0 ||
            !ch_sv_trim(ch_buf_sv(&text)).n)
            continue;
        ch_feature_turn_say(run, ch_sv_trim(ch_buf_sv(&text)), CH_REASON_COMPLETED);
        return true;
    }
    return false;
}

static bool leave_to_model(chela_run *run) {
    struct ch_mode_state *k = ch_mode_state(run);
    CH_BUF_AUTO text = {0};
    if (is_routed_to_agent(k)) { /* the agent's answer is the answer */
        ch_feature_turn_say(run, ch_sv_trim(k->round.past[0].result), CH_REASON_COMPLETED);
        return true;
    }
    if (k->round.answer && answer_by_plan(run))
        return true;
    k->answering = true;
    if (k->told_to_answer)
        return false;
    k->told_to_answer = true;
    ch_buf_add_str(&text, answer_text);
    ch_buf_add_sv(&text, ch_buf_sv(&k->why));
    ch_buf_addc(&text, '\n');
    ch_context_reminders(run, &text);
    return !ch_think_note(run, ch_buf_sv(&text)); /* false: the run is over */
}

static bool mode_take_turn(chela_run *run) {
    struct ch_mode_state *k = ch_mode_state(run);
    const struct ch_plan_progress *r = &k->round;
    if (r->refusals >= CH_LIMIT_PLANS) {
        ch_mode_say(run, CH_SV(""), CH_SAY_PLAN_UNWANTED, CH_REASON_CLARIFICATION);
        return true;
    }
    if (!r->planned && k->mode == &ch_route_feature && !k->plans) {
        ch_routing_ask(run);
        return true;
    }
    if (!r->planned || k->feedback.n) {
        ch_planning_make(run);
        return true;
    }
    if ((!k->shown || k->skipped != r->skipped) && !emit_plan(run))
        return true;
    k->shown = true;
    k->skipped = r->skipped;
    unsigned again = k->repeated_step >= 0 ? 1u << k->repeated_step : 0;
    unsigned ready =
        ch_plan_steps_ready(&r->steps, (r->done & ~again) | r->skipped,
                            (r->failed & ~again) | k->hopeless);
    if (ready)
        ch_planning_run(run, again ? ready & again : ready);
    else if (ch_judging_wanted(run))
        ch_judging_ask(run);
    else
        return leave_to_model(run);
    return true;
}

static bool plan_turn(chela_run *run) {
    struct ch_mode_state *k = ch_mode_state(run);
    const struct ch_run *m = &run->m;
    if (m->closing != CH_REASON_NONE || m->nudge || m->reask)
        return false;
    bool new_words = run->steering.n > 0 || run->follow_ups.n > 0;
    if ((k->answering || k->reacts) && !new_words) /* leaves the turn to the model */
        return false;
    k->answering = k->reacts = false;
    if (!ch_think_deliver(run))
        return true;
    read_round(run);
    return mode_take_turn(run);
}

static bool reflect_turn(chela_run *run) {
    const struct ch_run *m = &run->m;
    if (!ch_mode_state(run) || m->closing != CH_REASON_NONE || m->nudge || m->reask)
        return false;
    return ch_judging_turn(run);
}

/* The results are complete: the next model call only writes the answer. Tools stay
 * described, so that the cached prefix stays valid. */
static int plan_request(chela_run *run, struct ch_model_request *req, struct chela_error *err) {
    (void)err;
    if (!ch_mode_state(run)->answering || run->session->agent->output)
        return 0;
    req->choice = CH_CHOICE_NONE;
    ch_request_changed(run, req);
    return 0;
}

static unsigned reflect_reply(chela_run *run, struct ch_reply *reply, struct ch_buf *complaint) {
    (void)reply;
    (void)complaint;
    bool reviews = ch_mode_state(run) && run->m.closing == CH_REASON_NONE &&
                   ch_mode_settings(run->session->agent)->reflection.answers;
    return reviews ? CH_REPLY_REVIEW : CH_REPLY_USE;
}

/* --- life ------------------------------------------------------------------------- */

static void *new_moding(const struct ch_feature *mode, const struct ch_json *state) {
    struct ch_mode_state *k = ch_alloc(sizeof(*k));
    k->mode = mode;
    k->repeated_step = k->filling = -1;
    k->reacts = ch_json_bool(ch_json_get(state, "reacts"), false);
    k->answering = k->told_to_answer = ch_json_bool(ch_json_get(state, "answering"), false);
    return k;
}

/* A stored run asked people about plans: all plans of the agent ask from now on. */
static void ask_about_plans(chela_agent *a, const struct ch_json *state) {
    struct ch_tool *t = ch_step_tools_plan(a);
    if (t && ch_json_bool(ch_json_get(state, "asks_plans"), false))
        t->flags |= CHELA_TOOL_CONFIRM;
}

static int plan_open(chela_run *run, const struct chela_run_opts *opts,
                     const struct ch_json *state, void **data, struct chela_error *err) {
    (void)opts;
    (void)err;
    ask_about_plans(run->session->agent, state);
    *data = new_moding(&ch_plan_feature, state);
    return 0;
}

static int route_open(chela_run *run, const struct chela_run_opts *opts,
                      const struct ch_json *state, void **data, struct chela_error *err) {
    (void)opts;
    (void)err;
    ask_about_plans(run->session->agent, state);
    *data = new_moding(&ch_route_feature, state);
    return 0;
}

/* In mode plan or route, reflection is part of the mode. */
static int reflect_open(chela_run *run, const struct chela_run_opts *opts,
                        const struct ch_json *state, void **data, struct chela_error *err) {
    (void)opts;
    (void)state;
    (void)err;
    if (strcmp(ch_run_mode(run), CH_MODE_PLAIN) == 0)
        *data = new_moding(NULL, NULL);
    return 0;
}

static void abort_role(chela_run *run) {
    struct ch_mode_state *k = ch_mode_state(run);
    if (k)
        ch_role_close(CH_TAKE(k->asked));
}

static void close_moding(chela_run *run, void *data) {
    struct ch_mode_state *k = data;
    (void)run;
    if (!k)
        return;
    ch_role_close(CH_TAKE(k->asked));
    ch_planning_forget(k);
    if (k->read)
        ch_plan_progress_release(&k->round);
    ch_buf_release(&k->feedback);
    ch_buf_release(&k->advice);
    ch_buf_release(&k->why);
    ch_free(k);
}

static int mode_configure(chela_agent *a, const struct ch_agent_opts *opts,
                          const struct ch_json *state, void **data, struct chela_error *err) {
    bool asks =
        opts ? opts->planning.review_plan : ch_json_bool(ch_json_get(state, "asks_plans"), false);
    (void)data;
    return ch_step_tools_plan(a) ? 0 : ch_step_tools_add(a, asks, err);
}

static void mode_save(const chela_run *run, struct ch_jw *w) {
    const struct ch_tool *t = ch_step_tools_plan(run->session->agent);
    const struct ch_mode_state *k = ch_mode_state(run);
    if (t && t->flags & CHELA_TOOL_CONFIRM)
        ch_jw_kbool(w, "asks_plans", true);
    if (k && k->reacts)
        ch_jw_kbool(w, "reacts", true);
    if (k && k->answering) /* a compaction may remove the plan from the conversation */
        ch_jw_kbool(w, "answering", true);
}

const struct ch_feature ch_plan_feature = {
    .name = "plan",
    .is_mode = true,
    .own_tools = CH_STEP_TOOLS,
    .configure = mode_configure,
    .save = mode_save,
    .open = plan_open,
    .abort = abort_role,
    .close = close_moding,
    .take_turn = plan_turn,
    .shape_request = plan_request,
    .on_call = mode_on_call,
};

const struct ch_feature ch_route_feature = {
    .name = "route",
    .is_mode = true,
    .own_tools = CH_STEP_TOOLS,
    .configure = mode_configure,
    .save = mode_save,
    .open = route_open,
    .abort = abort_role,
    .close = close_moding,
    .take_turn = plan_turn,
    .shape_request = plan_request,
    .on_call = mode_on_call,
};

const struct ch_feature ch_reflect_feature = {
    .name = "reflect",
    .open = reflect_open,
    .abort = abort_role,
    .close = close_moding,
    .take_turn = reflect_turn,
    .on_reply = reflect_reply,
};

struct ch_mode_state *ch_mode_state(const chela_run *run) {
    static const struct ch_feature *const all[] = {&ch_plan_feature, &ch_route_feature,
                                                   &ch_reflect_feature};
    struct ch_mode_state *k = NULL;
    for (size_t i = 0; !k && i < CH_LEN(all); i++)
        k = ch_feature_data(run, all[i]);
    return k;
}
