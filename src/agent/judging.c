/* judging.c -- results that a model of their own judges: what the scores mean is
 * decided in reflect.c, what is done about it here. */
#include "agent/moding.h"

/* --- judging ---------------------------------------------------------------------- */

static bool emit_reflection(chela_run *run, const struct ch_reflection *j,
                            enum ch_reflect_action action) {
    bool retries = action == CH_REFLECT_RETRY_STEP;
    const char *note = j->modification[0] ? j->modification : j->question;
    struct chela_event ev = {.type = CHELA_EV_REFLECTION,
                             .reflection = {.action = ch_reflect_action_name(action),
                                            .proposed = ch_reflect_action_name(j->proposed),
                                            .completeness = j->completeness,
                                            .correctness = j->correctness,
                                            .format = j->format,
                                            .step = retries ? (unsigned)j->step : 0,
                                            .note = ch_str(ch_sv_str(note))}};
    return ch_emit(run, &ev);
}

static void act_on(chela_run *run, const struct ch_reflection *j,
                   const struct ch_reflect_decision *d) {
    struct ch_moding *k = run->moding;
    const char *advice = j->modification[0] ? j->modification : "look for what went wrong";
    switch (d->action) {
    case CH_REFLECT_ACCEPT:
        k->judged = true;
        if (d->warn)
            ch_warn(run, "the results were accepted, though there is doubt: %s", advice);
        break;
    case CH_REFLECT_RETRY_STEP:
        k->again = ch_steps_find(&k->round.steps, j->step);
        k->hopeless &= ~(1u << k->again);
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
        ch_moding_say(run, ch_sv_str(j->question), "This did not work out. How shall I go on?",
               CH_REASON_COMPLETED);
        return;
    }
    if (!run->dead)
        ch_moding_on(run);
}

/* A run that goes on elsewhere has lost the count; the conversation has not. */
static struct ch_reflect_decision decide(struct ch_moding *k, struct ch_reflection *j) {
    if (k->tried.retries < k->round.retries)
        k->tried = (struct ch_reflect_state){k->round.retries, true};
    if (ch_steps_find(&k->round.steps, j->step) < 0) {
        j->step = 0;
        if (j->proposed == CH_REFLECT_RETRY_STEP)
            j->proposed = CH_REFLECT_REPLAN;
    }
    return ch_reflect_decide(j, &k->tried);
}

static void on_reflector(const struct ch_answered *a, void *user) {
    chela_run *run = user;
    struct ch_moding *k = run->moding;
    CH_ARENA_AUTO arena = {0};
    struct ch_reflection j;
    struct chela_error err = {0};
    k->asked = NULL;
    if (!a->v || ch_reflection_read(&arena, a->text, &j, &err) < 0) {
        ch_moding_unanswered(run, CH_ROLE_REFLECTOR,
                  a->v ? &(struct ch_answered){.reason = CH_REASON_MODEL_ERROR,
                                               .error = err.message}
                       : a);
        return;
    }
    struct ch_reflect_decision d = decide(k, &j);
    if (emit_reflection(run, &j, d.action))
        act_on(run, &j, &d);
}

void ch_judging_ask(chela_run *run) {
    struct ch_moding *k = run->moding;
    CH_BUF_AUTO plan = {0};
    CH_BUF_AUTO results = {0};
    CH_BUF_AUTO retries = {0};
    struct ch_jw w = ch_jw(&plan);
    ch_moding_write_plan(&k->round.steps, &w);
    ch_moding_results(k, &results);
    ch_buf_addf(&retries, "%u", k->round.retries);
    struct ch_prompt_value values[] = {
        {.name = "request", .text = k->round.request},
        {.name = "plan", .text = ch_buf_sv(&plan)},
        {.name = "results", .text = ch_buf_sv(&results)},
        {.name = "retries", .text = ch_buf_sv(&retries)},
    };
    ch_moding_ask(run, CH_ROLE_REFLECTOR, values, CH_LEN(values), on_reflector);
}

/* A plan is judged as a whole; a single call that the router chose only where
 * the agent says so. */
bool ch_judging_wanted(const chela_run *run) {
    const struct ch_moding *k = run->moding;
    const struct ch_reflecting *how = &run->session->agent->reflection;
    if (k->judged || how->never)
        return false;
    return !k->routed || how->answers || (how->errors && k->round.failed);
}

