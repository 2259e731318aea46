/* judging.c -- asks the reflector to judge results, and acts on its decision. reflect.c
 * derives the decision from the scores. */
#include "agent/feature/mode/judging.h"

#include "agent/feature/mode/mode_private.h"
#include "agent/feature/mode/mode_settings.h"
#include "agent/feature/mode/plan_steps.h"
#include "agent/feature/mode/reflect.h"
#include "agent/journal/emit.h"
#include "agent/machine/event.h"
#include "agent/run/feature_turn.h"
#include "agent/run/think.h"
#include "base/limits.h"
#include "base/utf8.h"

/* --- judging ---------------------------------------------------------------------- */

static bool emit_reflection(chela_run *run, const struct ch_reflection *j,
                            enum ch_reflect_action action) {
    bool retries = action == CH_REFLECT_RETRY_STEP;
    const char *note = j->modification[0] ? j->modification : j->question;
    struct chela_event ev = {.type = CHELA_EV_REFLECTION,
                             .reflection = {.action = (enum chela_judgement)action,
                                            .proposed = (enum chela_judgement)j->proposed,
                                            .completeness = j->completeness,
                                            .correctness = j->correctness,
                                            .format = j->format,
                                            .step = retries ? (unsigned)j->step : 0,
                                            .note = ch_str(ch_sv_str(note))}};
    return ch_emit(run, &ev);
}

/* Writes the advice for the next attempt: the proposed change, and why the last attempt does
 * not suffice. */
static void judging_advise(const struct ch_reflection *j, struct ch_buf *out) {
    ch_buf_add_str(out, j->modification[0] ? j->modification : "look for what went wrong");
    if (j->reasons[0])
        ch_buf_addf(out, " (%s)", j->reasons);
}

static void act_on(chela_run *run, const struct ch_reflection *j,
                   const struct ch_reflect_decision *d) {
    struct ch_mode_state *k = ch_mode_state(run);
    CH_BUF_AUTO told = {0};
    judging_advise(j, &told);
    const char *advice = ch_buf_str(&told);
    switch (d->action) {
    case CH_REFLECT_ACCEPT:
        k->judged = true;
        if (d->warn)
            ch_emit_warning(run, "the results were accepted, though there is doubt: %s", advice);
        break;
    case CH_REFLECT_RETRY_STEP:
        k->repeated_step = ch_plan_steps_find(&k->round.steps, j->step);
        k->hopeless &= ~(1u << k->repeated_step);
        ch_buf_clear(&k->advice);
        ch_buf_add_str(&k->advice, advice);
        break;
    case CH_REFLECT_REPLAN:
        ch_buf_clear(&k->feedback);
        ch_buf_addf(&k->feedback,
                    "What the last plan gave is not good enough. To be done differently: %s",
                    advice);
        break;
    case CH_REFLECT_ESCALATE:
        ch_mode_say(run, ch_sv_str(j->question), CH_SAY_HOW_TO_GO_ON,
                    CH_REASON_ESCALATED);
        return;
    }
    if (!run->dead)
        ch_feature_turn_next(run);
}

/* True: the results of a plan are judged; false: a result or an answer of the model, in a run
 * without a plan, in one whose plan did not come about, or after the plan's last step. */
static bool is_of_plan(const struct ch_mode_state *k) {
    return k->mode && !k->answering && !k->reacts;
}

/* Decides by the scores. A recovered run has lost the count of attempts, so it is read from
 * the conversation. */
static struct ch_reflect_decision judging_decide(struct ch_mode_state *k, struct ch_reflection *j) {
    if (k->tried.retries < k->round.retries)
        k->tried = (struct ch_reflect_state){k->round.retries, true};
    if (!k->read || !is_of_plan(k) || ch_plan_steps_find(&k->round.steps, j->step) < 0) {
        j->step = 0;
        if (j->proposed == CH_REFLECT_RETRY_STEP)
            j->proposed = CH_REFLECT_REPLAN;
    }
    return ch_reflect_decide(j, &k->tried);
}

/* Adds the judgement of a result or an answer as a note for the model. */
static void judging_tell(chela_run *run, const struct ch_reflection *j,
                         const struct ch_reflect_decision *d) {
    struct ch_mode_state *k = ch_mode_state(run);
    CH_BUF_AUTO text = {0};
    if (d->action == CH_REFLECT_ESCALATE) {
        ch_mode_say(run, ch_sv_str(j->question), CH_SAY_HOW_TO_GO_ON,
                    CH_REASON_ESCALATED);
        return;
    }
    if (d->action == CH_REFLECT_ACCEPT && d->warn)
        ch_emit_warning(run, "accepted, though there is doubt: %s", j->modification);
    if (run->dead)
        return;
    if (d->action == CH_REFLECT_ACCEPT && k->reviewing) {
        ch_feature_turn_end(run);
        return;
    }
    ch_buf_addf(&text, "%s was looked at and is not good enough. Do it differently: ",
                k->reviewing ? "Your answer" : "The last result");
    judging_advise(j, &text);
    if (d->action != CH_REFLECT_ACCEPT && !ch_think_note(run, ch_buf_sv(&text)))
        return;
    k->looked_at = run->session->transcript.n;
    ch_feature_turn_next(run);
}

static void accept_unjudged(chela_run *run) {
    struct ch_mode_state *k = ch_mode_state(run);
    k->judged = true;
    k->looked_at = run->session->transcript.n;
    if (!is_of_plan(k) && k->reviewing)
        ch_feature_turn_end(run);
    else
        ch_feature_turn_next(run);
}

static void on_reflector(const struct ch_role_answer *a, void *user) {
    chela_run *run = user;
    struct ch_mode_state *k = ch_mode_state(run);
    CH_ARENA_AUTO arena = {0};
    struct ch_reflection j;
    struct chela_error err = {0};
    k->asked = NULL;
    if (!a->v || ch_reflect_read(&arena, a->text, &j, &err) < 0) {
        struct ch_role_answer none = {.reason = CH_REASON_MODEL_ERROR, .error = err.message};
        if (ch_mode_does_without(run, CH_ROLE_REFLECTOR, a->v ? &none : a,
                                 "the results are accepted unjudged"))
            accept_unjudged(run);
        return;
    }
    struct ch_reflect_decision d = judging_decide(k, &j);
    if (!emit_reflection(run, &j, d.action))
        return;
    if (is_of_plan(k))
        act_on(run, &j, &d);
    else
        judging_tell(run, &j, &d);
}

static void judging_ask(chela_run *run, struct ch_sv request, struct ch_sv plan,
                        struct ch_sv results, unsigned retries) {
    CH_BUF_AUTO count = {0};
    ch_buf_addf(&count, "%u", retries);
    struct ch_prompt_value values[] = {
        {.name = "request", .text = request},
        {.name = "plan", .text = plan},
        {.name = "results", .text = results},
        {.name = "retries", .text = ch_buf_sv(&count)},
    };
    ch_mode_ask(run, CH_ROLE_REFLECTOR, values, CH_LEN(values), on_reflector);
}

void ch_judging_ask(chela_run *run) {
    const struct ch_mode_state *k = ch_mode_state(run);
    CH_BUF_AUTO plan = {0};
    CH_BUF_AUTO results = {0};
    struct ch_jw w = ch_jw(&plan);
    ch_mode_write_plan(&k->round.steps, &w);
    ch_mode_results(k, &results);
    judging_ask(run, k->round.request, ch_buf_sv(&plan), ch_buf_sv(&results), k->round.retries);
}

/* Whether the results are judged. The results of a plan are judged; the result of a single
 * call that the router chose is judged only if the settings say so. */
bool ch_judging_wanted(const chela_run *run) {
    const struct ch_mode_state *k = ch_mode_state(run);
    const struct ch_reflecting *how = &ch_mode_settings(run->session->agent)->reflection;
    if (k->judged || how->never || k->round.steps.fixed)
        return false;
    return !k->routed || how->answers || (how->errors && k->round.failed);
}

/* --- without a plan ---------------------------------------------------------------- */

static struct ch_sv last_words(const struct ch_transcript *t) {
    for (size_t i = t->n; i > 0; i--) {
        const struct ch_msg *m = t->msgs[i - 1];
        if ((m->kind == CH_MSG_USER || m->kind == CH_MSG_TIMER || m->kind == CH_MSG_WEBHOOK) &&
            ch_msg_words(m).n)
            return ch_msg_words(m);
    }
    return CH_SV("");
}

static bool is_suspect(const chela_run *run, const struct ch_block *result) {
    const struct ch_reflecting *how = &ch_mode_settings(run->session->agent)->reflection;
    return (how->errors && result->flags & (CH_F_ERROR | CH_F_FAILED)) ||
           (how->tools && ch_policy_listed(ch_sv_str(how->tools), result->name));
}

static void write_result(const struct ch_block *b, struct ch_jw *w) {
    ch_jw_begin(w, '{');
    ch_jw_kstr(w, "tool", b->name);
    ch_jw_kbool(w, "failed", b->flags & (CH_F_ERROR | CH_F_FAILED));
    ch_jw_kstr(w, "result", ch_utf8_cut(b->text, CH_LIMIT_ROLE_RESULT));
    ch_jw_end(w, '}');
}

/* Writes calls and results of the last turn for the reflector; false: none of them is to be
 * judged. */
static bool write_calls(const chela_run *run, const struct ch_msg *results, struct ch_buf *plan,
                        struct ch_buf *given) {
    struct ch_jw p = ch_jw(plan), g = ch_jw(given);
    bool any = false;
    ch_jw_begin(&p, '[');
    ch_jw_begin(&g, '[');
    for (uint32_t i = 0; i < results->nblocks; i += 1u + results->blocks[i].span) {
        const struct ch_block *b = &results->blocks[i];
        if (b->type != CH_BLOCK_TOOL_RESULT)
            continue;
        any |= is_suspect(run, b);
        ch_jw_str(&p, b->name);
        write_result(b, &g);
    }
    ch_jw_end(&p, ']');
    ch_jw_end(&g, ']');
    return any;
}

/* Writes the answer and the results of the run's tools, which the answer rests on; of too
 * many results, the newest. */
static void write_evidence(const chela_run *run, struct ch_buf *out) {
    const struct ch_transcript *t = &run->session->transcript;
    size_t from = t->n, room = CH_LIMIT_ROLE_CONTEXT;
    struct ch_jw w = ch_jw(out);
    while (from > 0 && t->msgs[from - 1]->kind != CH_MSG_USER && t->msgs[from - 1]->size < room)
        room -= t->msgs[--from]->size;
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "answer", ch_buf_sv(&run->text));
    ch_jw_kbegin(&w, "tool_results", '[');
    for (size_t i = from; i < t->n; i++)
        for (uint32_t k = 0; t->msgs[i]->kind == CH_MSG_RESULTS && k < t->msgs[i]->nblocks; k++)
            if (t->msgs[i]->blocks[k].type == CH_BLOCK_TOOL_RESULT)
                write_result(&t->msgs[i]->blocks[k], &w);
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
}

bool ch_judging_turn(chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    struct ch_mode_state *k = ch_mode_state(run);
    const struct ch_msg *last = t->n ? t->msgs[t->n - 1] : NULL;
    CH_BUF_AUTO plan = {0};
    CH_BUF_AUTO given = {0};
    if (!last || t->n == k->looked_at || run->steering.n > 0)
        return false;
    k->reviewing = last->kind == CH_MSG_ASSISTANT;
    bool answers = ch_mode_settings(run->session->agent)->reflection.answers;
    if (k->reviewing && answers && !run->follow_ups.n) {
        write_evidence(run, &given);
        judging_ask(run, last_words(t), CH_SV("none"), ch_buf_sv(&given), k->tried.retries);
    } else if (last->kind == CH_MSG_RESULTS && write_calls(run, last, &plan, &given))
        judging_ask(run, last_words(t), ch_buf_sv(&plan), ch_buf_sv(&given), k->tried.retries);
    else
        return false;
    return true;
}
