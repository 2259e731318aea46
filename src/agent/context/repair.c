/* repair.c -- see repair.h. */
#include "agent/context/repair.h"

#include "agent/context/epoch.h"
#include "agent/handle/run_outcome.h"
#include "agent/handle/runtime.h"
#include "agent/journal/emit.h"
#include "base/limits.h"
#include "base/redact.h"
#include "model/codec/errors.h"
#include "model/provider/target.h"

static struct ch_providers *repair_providers(const chela_run *run) {
    return &run->session->agent->rt->providers;
}

void ch_repair_begin(struct ch_repair *r, const struct ch_model_request *req) {
    r->parts = ch_refusal_parts(req);
}

static void end_trial(struct ch_repair *r) {
    r->target = NULL;
    r->tries = 0;
    ch_free(CH_TAKE(r->first));
}

void ch_repair_release(struct ch_repair *r) {
    end_trial(r);
}

/* If a service refuses the schemas in strict mode, they are sent without strict mode from
 * now on. Answers and calls are validated here anyway. */
static bool ask_for_less(chela_run *run, const struct ch_repair *r, const struct ch_reply *reply) {
    struct ch_target *t = run->target;
    if (!(r->held & ~t->ep.quirks) || reply->error.cls != CH_ERR_FORMAT ||
        !ch_error_names_schema(reply->error.message))
        return false;
    t->less |= r->held;
    t->ep.quirks |= r->held;
    ch_emit_warning(run, "%s does not take these schemas in strict mode, so they go without: %.*s",
                    t->spec, CH_SV_FMT(reply->error.message));
    return true;
}

/* A service that refuses reasoning of the conversation gets the request once more without it. */
static bool leave_reasoning(chela_run *run, const struct ch_reply *reply) {
    if (reply->error.cls != CH_ERR_FORMAT || !ch_error_names_reasoning(reply->error.message) ||
        !ch_epoch_refused(run))
        return false;
    ch_emit_warning(run, "%s no longer takes its earlier reasoning, so the conversation goes on "
                         "without: %.*s",
                    run->target->spec, CH_SV_FMT(reply->error.message));
    return true;
}

/* Some servers report a refusal as 404 or, from the template of a model, as 500. */
static bool is_refusal(const struct ch_reply *reply) {
    int status = reply->error.status;
    return reply->error.cls == CH_ERR_FORMAT || reply->error.cls == CH_ERR_MODEL_NOT_FOUND ||
           (reply->error.cls == CH_ERR_SERVER && status == 500);
}

bool ch_repair_learn(chela_run *run, struct ch_target *t, struct ch_repair *r,
                     const struct ch_reply *reply, const char *error) {
    struct ch_learnt before = t->ep.learnt;
    struct ch_refusal lesson;
    if (r->target != t)
        end_trial(r);
    if (!is_refusal(reply) || r->tries >= CH_LIMIT_REPAIRS ||
        !ch_refusal_read(reply->error.message, &t->ep, ch_sv_str(t->model), r->parts, &lesson) ||
        !ch_learning_add(repair_providers(run), t, &lesson, ch_run_now(run)))
        return false;
    if (!r->target) {
        r->target = t;
        r->before = before;
        r->first = ch_strdup(error);
    }
    r->tries++;
    ch_emit_warning(run, "%s refused the request; from now on %s (%s): %.*s", t->spec,
                    ch_refusal_change(lesson.rule), ch_refusal_name(lesson.rule),
                    CH_SV_FMT(reply->error.message));
    return true;
}

bool ch_repair_give_up(chela_run *run, struct ch_target *t, struct ch_repair *r,
                       const struct ch_reply *reply, struct ch_buf *out) {
    if (!r->target || r->target != t || !is_refusal(reply))
        return false;
    ch_learning_forget(repair_providers(run), t, &r->before, ch_run_now(run));
    ch_buf_addf(out, "%s; repaired, it was refused again: %.*s", r->first,
                CH_SV_FMT(reply->error.message));
    end_trial(r);
    return true;
}

bool ch_repair_failed(chela_run *run, struct ch_repair *r, const struct ch_reply *reply) {
    CH_BUF_AUTO both = {0};
    if (ask_for_less(run, r, reply) || (!run->dead && leave_reasoning(run, reply)))
        return true;
    if (run->dead)
        return false;
    if (ch_repair_learn(run, run->target, r, reply, ch_run_error(run)))
        return true;
    if (ch_repair_give_up(run, run->target, r, reply, &both)) {
        ch_run_outcome_error(run, "%s", ch_buf_str(&both));
        ch_redact(run->error);
    }
    return false;
}

void ch_repair_worked(chela_run *run, struct ch_target *t, struct ch_repair *r) {
    if (r->target && r->target == t)
        ch_learning_keep(repair_providers(run), t, ch_run_now(run));
    if (r->target)
        end_trial(r);
}
