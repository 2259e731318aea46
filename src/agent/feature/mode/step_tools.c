/* step_tools.c -- see step_tools.h. */
#include "agent/feature/mode/step_tools.h"

#include "agent/feature/mode/plan_progress.h"
#include "agent/feature/mode/plan_steps.h"
#include "agent/feature/mode/role.h"
#include "agent/feature/team/child_run.h"
#include "agent/handle/lookup.h"
#include "agent/journal/emit.h"
#include "agent/machine/run.h"
#include "agent/run/feature.h"
#include "agent/run/parent.h"
#include "base/error.h"
#include "json/writer.h"
#include "tool/call/call.h"

static chela_run *step_tools_run_of(const chela_call *call) {
    return ch_run_find(call->tool->impl, call->env->session, call->env->run);
}

static void step_tools_finish(chela_call *call, const char *problem) {
    if (problem)
        chela_result_error(call, "internal", "%s", problem);
    ch_answer_conclude(&call->answer, 0, &call->made);
    ch_call_worked(call);
}

/* --- steps that a model carries out ------------------------------------------------- */

/* Sets the result of the call: a string as plain text, other values as JSON. */
static void give(chela_call *call, const struct ch_json *v) {
    CH_BUF_AUTO text = {0};
    ch_json_add_text(&text, v);
    chela_result_text(call, ch_buf_str(&text), text.n);
}

/* A model that answers the step itself, and not in the form of an executor, has answered. False:
 * the run is over, and the call with it. */
static bool give_words(chela_call *call, const struct ch_role_answer *a) {
    chela_run *run = step_tools_run_of(call);
    if (!run || a->reason != CH_REASON_MODEL_ERROR || !ch_sv_trim(a->text).n) {
        chela_result_error(call, "unavailable", "%s: %s", ch_reason_name(a->reason), a->error);
        return true;
    }
    ch_emit_warning(run, "%s; the text of the executor is the result of the step", a->error);
    if (!run->dead)
        chela_result_text(call, a->text.p, a->text.n);
    return !run->dead;
}

static void give_answer(chela_call *call, const struct ch_json *v) {
    const struct ch_json *answer = ch_json_get(v, "answer");
    struct ch_sv action = ch_json_get_str(v, "action");
    if (ch_sv_is(action, "answer") || (!action.n && answer))
        give(call, answer);
    else if (ch_sv_is(action, "clarify"))
        chela_result_error(call, "invalid_arguments", "This is not known: %.*s",
                           CH_SV_FMT(ch_json_get_str(v, "question")));
    else
        chela_result_error(call, "invalid_arguments", "The step was not carried out: %.*s",
                           CH_SV_FMT(ch_json_get_str(v, "reason")));
}

static void on_answer(const struct ch_role_answer *a, void *user) {
    chela_call *call = user;
    call->doing = NULL;
    if (a->v)
        give_answer(call, a->v);
    else if (!give_words(call, a))
        return;
    step_tools_finish(call, NULL);
}

/* Writes {"step 1": result, ...} for the steps that this one depends on. */
static void write_results(const struct ch_plan_progress *r, unsigned needs, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    for (size_t i = 0; i < r->steps.n; i++) {
        CH_BUF_AUTO key = {0};
        if (!(needs >> i & 1))
            continue;
        ch_buf_addf(&key, "step %u", r->steps.list[i].id);
        ch_jw_kstr(&w, ch_buf_str(&key), r->past[i].result);
    }
    ch_jw_end(&w, '}');
}

static void read_results(const chela_run *run, struct ch_sv call_id, struct ch_buf *out) {
    struct ch_plan_progress r;
    ch_plan_progress_read(&run->session->transcript, &r);
    int i = ch_plan_progress_step(&r, call_id);
    write_results(&r, i >= 0 ? r.steps.list[i].needs : 0, out);
    ch_plan_progress_release(&r);
}

static void step_tools_think(chela_call *call) {
    chela_run *run = step_tools_run_of(call);
    struct chela_error err = {0};
    CH_BUF_AUTO results = {0};
    if (!run) {
        step_tools_finish(call, "there is no run that this belongs to");
        return;
    }
    read_results(run, ch_sv_str(call->id), &results);
    struct ch_prompt_value values[] = {
        {.name = "task", .text = ch_json_get_str(call->args, "task")},
        {.name = "tool_name", .text = CH_SV("none")},
        {.name = "tool_schema", .text = CH_SV("none")},
        {.name = "results", .text = ch_buf_sv(&results)},
    };
    call->doing =
        ch_role_ask(run, CH_ROLE_EXECUTOR, values, CH_LEN(values), on_answer, call, &err);
    if (!call->doing)
        step_tools_finish(call, err.message);
}

static void stop(chela_call *call) {
    struct ch_role_question *q = CH_TAKE(call->doing);
    if (!q)
        return;
    ch_role_close(q);
    step_tools_finish(call, "cancelled");
}

static void abandon(chela_call *call) {
    ch_role_close(CH_TAKE(call->doing));
}

static const struct ch_tool_ops think_ops = {
    .name = "role", .start = step_tools_think, .cancel = stop, .abandon = abandon};

/* --- a step that is a run ------------------------------------------------------------ */

static void step_tools_write_task(const struct ch_child_run *c, struct ch_buf *out) {
    CH_BUF_AUTO results = {0};
    read_results(c->run, ch_sv_str(c->call->id), &results);
    ch_buf_add_sv(out, ch_json_get_str(c->call->args, "task"));
    if (ch_sv_is(ch_buf_sv(&results), "{}"))
        return;
    struct ch_prompt_value v = {
        .name = "results", .text = ch_buf_sv(&results), .untrusted = true};
    ch_buf_add_str(out, "\n\nWhat is known already:\n");
    ch_prompt_add_value(out, &v);
}

static const struct ch_child_kind step_kind = {.write_task = step_tools_write_task};

/* The agent that executes the step: the run's own, or the router's choice. In mode plan, no
 * planner and no model chooses another agent. */
static chela_agent *step_tools_agent_of(const chela_run *run, struct ch_sv id,
                                        struct chela_error *err) {
    chela_agent *own = run->session->agent;
    CH_AUTOFREE char *name = ch_strndup(id.p, id.n);
    bool routes = strcmp(ch_run_mode(run), chela_mode_name(CHELA_MODE_ROUTE)) == 0;
    chela_agent *a = !id.n ? own : routes ? ch_agent_find(own->rt, name) : NULL;
    if (!a)
        ch_fail(err, CHELA_ENOENT, "there is no agent '%s'", name);
    return a;
}

static void step_tools_react(chela_call *call) {
    chela_run *run = step_tools_run_of(call);
    struct chela_error err = {.message = "there is no run that this belongs to"};
    if (call->doing) {
        ch_child_run_go_on(call);
        return;
    }
    chela_agent *base =
        run ? step_tools_agent_of(run, ch_json_get_str(call->args, "agent"), &err) : NULL;
    chela_agent *worker = base ? ch_role_worker(base, &err) : NULL;
    if (worker)
        ch_child_run_open(&step_kind, call, run, worker);
    else
        ch_child_run_refuse(call, "internal", err.message);
}

static const struct ch_tool_ops react_ops = {.name = "step",
                                             .start = step_tools_react,
                                             .cancel = ch_child_run_cancel,
                                             .abandon = ch_child_run_abandon,
                                             .winds_down = true,
                                             .is_run = true};

/* --- the plan ----------------------------------------------------------------------- */

static bool step_tools_any_tool(struct ch_sv tool, void *user) {
    (void)tool;
    (void)user;
    return true;
}

/* Accepts a plan. A plan that a person edited is checked like the planner's plan and stored
 * in the result, where ch_plan_progress_read finds it. */
static void step_tools_take_plan(chela_call *call) {
    const struct ch_plan_tools any = {.known = step_tools_any_tool,
                                      .fixed =
                                          ch_json_bool(ch_json_get(call->args, "fixed"), false)};
    struct ch_plan_steps steps;
    CH_BUF_AUTO why = {0};
    bool changed = !ch_sv_eq(call->arguments, call->block->text);
    if (ch_plan_steps_read(ch_json_get(call->args, "steps"), &any, &steps, &why) < 0)
        chela_result_error(call, "invalid_arguments", "This is no plan:\n%s", ch_buf_str(&why));
    else if (changed)
        chela_result_text(call, call->arguments.p, call->arguments.n);
    else
        chela_result_printf(call, "The plan was accepted.");
    step_tools_finish(call, NULL);
}

static const struct ch_tool_ops plan_ops = {.name = "plan", .start = step_tools_take_plan};

/* --- adding the tools --------------------------------------------------------------- */

#define TASK "{\"type\":\"object\",\"properties\":{\"task\":{\"type\":\"string\"}}," \
             "\"required\":[\"task\"]}"

int ch_step_tools_add(chela_agent *a, bool asks, struct chela_error *err) {
    struct chela_tool_opts plan = CHELA_TOOL_OPTS(
            .name = CH_PLAN_TOOL, .description = "Take up a plan: the steps that follow.",
            .schema = "{\"type\":\"object\",\"properties\":{\"steps\":{\"type\":\"array\"}},"
                      "\"required\":[\"steps\"]}",
            .effect = CHELA_EFFECT_READ, .permission = CHELA_PERM_READ,
            .flags = asks ? CHELA_TOOL_CONFIRM : 0);
    struct chela_tool_opts think_step = CHELA_TOOL_OPTS(
            .name = CH_THINK_TOOL, .description = "Work something out from what is known.",
            .schema = TASK, .effect = CHELA_EFFECT_READ, .permission = CHELA_PERM_READ,
            .timeout_ms = -1, .max_retries = -1); /* the role's run has retries of its own */
    struct chela_tool_opts react_step = CHELA_TOOL_OPTS(
            .name = CH_REACT_TOOL,
            .description = "A piece of work whose steps are not known beforehand: it is done by "
                           "calling tools as the need arises, and gives a text.",
            .schema = TASK, .effect = CHELA_EFFECT_KEYED, .permission = CHELA_PERM_READ,
            .timeout_ms = -1, .max_retries = -1);
    int rc = ch_registry_add(&a->registry, &plan, &plan_ops, a->rt, err);
    if (rc == 0)
        rc = ch_registry_add(&a->registry, &think_step, &think_ops, a->rt, err);
    return rc < 0 ? rc : ch_registry_add(&a->registry, &react_step, &react_ops, a->rt, err);
}

struct ch_tool *ch_step_tools_plan(const chela_agent *a) {
    struct ch_tool *t = ch_registry_find(&a->registry, CH_SV(CH_PLAN_TOOL));
    return t && t->ops == &plan_ops ? t : NULL;
}
