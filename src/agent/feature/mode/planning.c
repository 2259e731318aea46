/* planning.c -- asks the planner, checks plans, and turns their steps into tool calls. */
#include "agent/feature/mode/planning.h"

#include "agent/feature/mode/mode_private.h"
#include "agent/feature/mode/plan_progress.h"
#include "agent/feature/mode/plan_steps.h"
#include "agent/run/feature_turn.h"
#include "agent/run/think.h"
#include "base/limits.h"
#include "tool/registry/argument_validation.h"

#define WITHOUT_PLAN "the run goes on without a plan"

void ch_planning_forget(struct ch_mode_state *k) {
    for (size_t i = 0; i < CH_LEN(k->args); i++)
        ch_free(CH_TAKE(k->args[i]));
    k->repeated_step = k->filling = -1;
    k->hopeless = 0;
    k->judged = k->told_to_answer = k->shown = false;
    ch_buf_clear(&k->advice);
    ch_buf_clear(&k->why);
}

/* --- planning --------------------------------------------------------------------- */

static bool planning_is_known(struct ch_sv name, void *user) {
    const chela_run *run = user;
    const struct ch_tool *t = ch_registry_find(&run->session->agent->registry, name);
    return t && ch_mode_offers(run, t);
}

/* True: the argument is a command line. Programs that the host registered get their
 * arguments on standard input instead. */
static bool is_command(struct ch_sv name, struct ch_sv argument, void *user) {
    const chela_run *run = user;
    const struct ch_tool *t = ch_registry_find(&run->session->agent->registry, name);
    (void)argument;
    return t && t->plan && t->ops && strcmp(t->ops->name, "command") != 0;
}

static void check_input(struct ch_sv name, const struct ch_json *input, struct ch_buf *wrong,
                        void *user) {
    const chela_run *run = user;
    struct ch_tool *t = ch_registry_find(&run->session->agent->registry, name);
    struct ch_contract *contract = t ? ch_tool_contract(t) : NULL;
    if (contract)
        ch_contract_check_open(contract, input, ch_plan_steps_refers, wrong);
}

static struct ch_plan_tools tools_of(chela_run *run) {
    return (struct ch_plan_tools){.known = planning_is_known,
                                  .is_command = is_command,
                                  .check_input = check_input,
                                  .user = run};
}

static void planning_take(chela_run *run, const struct ch_plan_steps *steps,
                          const struct ch_json *answer) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    ch_jw_begin(&w, '{');
    ch_jw_key(&w, "steps");
    ch_mode_write_plan(steps, &w);
    if (steps->fixed)
        ch_jw_kbool(&w, "fixed", true);
    if (answer) {
        ch_jw_kvalue(&w, "answer", answer);
    }
    ch_jw_end(&w, '}');
    struct ch_block call = {.type = CH_BLOCK_TOOL_CALL,
                            .id = ch_plan_progress_plan_id(&arena, &run->session->transcript),
                            .name = CH_SV(CH_PLAN_TOOL),
                            .text = ch_buf_sv(&json)};
    ch_feature_turn_calls(run, &call, 1);
}

void ch_planning_take(chela_run *run, const struct ch_plan_steps *steps) {
    planning_take(run, steps, NULL);
}

static void planning_take_plan(chela_run *run, const struct ch_json *v) {
    struct ch_mode_state *k = ch_mode_state(run);
    struct ch_plan_tools tools = tools_of(run);
    struct ch_plan_steps steps;
    CH_BUF_AUTO why = {0};
    ch_planning_forget(k);
    k->routed = false;
    ch_buf_clear(&k->feedback);
    if (ch_plan_steps_read(ch_json_get(v, "plan"), &tools, &steps, &why) == 0) {
        k->bad_plans = 0;
        ch_planning_take(run, &steps);
        return;
    }
    ch_buf_addf(&k->feedback, "The plan cannot be carried out:\n%s", ch_buf_str(&why));
    if (++k->bad_plans < CH_LIMIT_PLANS) {
        ch_feature_turn_next(run);
        return;
    }
    CH_BUF_AUTO text = {0};
    struct ch_sv rest = ch_buf_sv(&why);
    ch_buf_add_str(&text, "no plan that can be carried out");
    for (const char *mark = ": "; rest.n; mark = "; ") { /* joins the problems to one line */
        struct ch_sv line = ch_sv_split(&rest, '\n');
        size_t skip = ch_sv_starts(line, "- ") ? 2 : 0;
        ch_buf_addf(&text, "%s%.*s", mark, (int)(line.n - skip), line.p + skip);
    }
    struct ch_role_answer none = {.reason = CH_REASON_MODEL_ERROR, .error = ch_buf_str(&text)};
    ch_buf_clear(&k->feedback);
    k->bad_plans = 0;
    if (ch_mode_does_without(run, CH_ROLE_PLANNER, &none, WITHOUT_PLAN))
        ch_mode_react(run);
}

static void on_planner(const struct ch_role_answer *a, void *user) {
    chela_run *run = user;
    struct ch_sv action = ch_json_get_str(a->v, "action");
    ch_mode_state(run)->asked = NULL;
    if (!a->v && ch_mode_does_without(run, CH_ROLE_PLANNER, a, WITHOUT_PLAN))
        ch_mode_react(run);
    if (!a->v)
        return;
    if (ch_sv_is(action, "clarify"))
        ch_mode_say(run, ch_json_get_str(a->v, "question"), CH_SAY_WHAT_EXACTLY,
                    CH_REASON_CLARIFICATION);
    else if (ch_sv_is(action, "refuse"))
        ch_mode_say(run, ch_json_get_str(a->v, "reason"), CH_SAY_CANNOT_HERE,
                    CH_REASON_REFUSED);
    else
        planning_take_plan(run, a->v);
}

static void planning_write_tools(const chela_run *run, struct ch_jw *w) {
    const struct ch_registry *r = &run->session->agent->registry;
    ch_jw_begin(w, '[');
    for (size_t i = 0; i < r->n; i++)
        if (ch_mode_offers(run, r->tools[i]))
            ch_mode_write_tool(w, r->tools[i], NULL);
    ch_jw_end(w, ']');
}

/* Takes up the agent's fixed plan. The tools of the plan are checked again, because policies
 * depend on who asks. */
static void planning_take_fixed(chela_run *run, const struct ch_json *plan) {
    struct ch_mode_state *k = ch_mode_state(run);
    struct ch_plan_tools tools = tools_of(run);
    struct ch_plan_steps steps;
    CH_BUF_AUTO why = {0};
    CH_BUF_AUTO text = {0};
    tools.fixed = true;
    ch_planning_forget(k);
    if (k->round.refused.p) {
        ch_mode_say(run, CH_SV(""), CH_SAY_PLAN_NOT_ACCEPTED, CH_REASON_COMPLETED);
        return;
    }
    if (ch_plan_steps_read(ch_json_get(plan, "steps"), &tools, &steps, &why) == 0) {
        planning_take(run, &steps, ch_json_get(plan, "answer"));
        return;
    }
    ch_buf_addf(&text, "the plan cannot be carried out: %s", ch_buf_str(&why));
    ch_feature_turn_fail(run, CH_REASON_INTERNAL, ch_buf_str(&text));
}

void ch_planning_make(chela_run *run) {
    struct ch_mode_state *k = ch_mode_state(run);
    const struct ch_json *fixed = ch_mode_settings(run->session->agent)->plan;
    if (fixed) {
        planning_take_fixed(run, fixed);
        return;
    }
    CH_BUF_AUTO tools = {0};
    CH_BUF_AUTO context = {0};
    struct ch_jw w = ch_jw(&tools);
    planning_write_tools(run, &w);
    ch_mode_context(run, &context);
    if (k->round.planned) {
        ch_buf_add_str(&context, "What an earlier plan gave: ");
        ch_mode_results(k, &context);
    }
    if (k->round.refused.p)
        ch_buf_addf(&k->feedback, "%sThe last plan was not accepted: %.*s",
                    k->feedback.n ? "\n" : "", CH_SV_FMT(k->round.refused));
    struct ch_prompt_value values[] = {
        {.name = "tools", .text = ch_buf_sv(&tools)},
        {.name = "max_steps", .text = CH_SV("8")}, /* CH_LIMIT_PLANNER_STEPS */
        {.name = "context", .text = ch_mode_or_none(&context)},
        {.name = "feedback", .text = ch_mode_or_none(&k->feedback)},
        {.name = "request", .text = k->round.request},
    };
    ch_mode_ask(run, CH_ROLE_PLANNER, values, CH_LEN(values), on_planner);
}

/* --- steps ------------------------------------------------------------------------ */

static void on_executor(const struct ch_role_answer *a, void *user) {
    chela_run *run = user;
    struct ch_mode_state *k = ch_mode_state(run);
    const struct ch_json *call = ch_json_get(a->v, "tool_call");
    const struct ch_json *args = ch_json_get(call, "arguments");
    int i = k->filling;
    k->asked = NULL;
    k->filling = -1;
    if (!a->v && !ch_mode_does_without(run, CH_ROLE_EXECUTOR, a, "its step is left out"))
        return;
    struct ch_sv why = a->v ? ch_json_get_str(a->v, "question") : CH_SV("no arguments");
    struct ch_sv action = ch_json_get_str(a->v, "action");
    if ((!action.n || ch_sv_is(action, "call")) && ch_json_is(args, CH_JSON_OBJECT) &&
        ch_sv_eq(ch_json_get_str(call, "name"), k->round.steps.list[i].tool)) {
        struct ch_buf json = {0};
        struct ch_jw w = ch_jw(&json);
        ch_jw_value(&w, args);
        k->args[i] = ch_buf_take(&json);
    } else {
        why = why.n ? why : ch_json_get_str(a->v, "reason");
        k->hopeless |= 1u << i;
        ch_buf_addf(&k->why, " Step %u could not be carried out: %.*s", k->round.steps.list[i].id,
                    CH_SV_FMT(why));
    }
    ch_feature_turn_next(run);
}

/* Asks the executor, who sees only the step's tool, for the arguments of a step. */
static void fill_by_executor(chela_run *run, size_t i, struct ch_sv advice) {
    struct ch_mode_state *k = ch_mode_state(run);
    const struct ch_plan_step *s = &k->round.steps.list[i];
    const struct ch_tool *t = ch_registry_find(&run->session->agent->registry, s->tool);
    CH_BUF_AUTO task = {0};
    CH_BUF_AUTO results = {0};
    struct ch_jw w = ch_jw(&task);
    ch_buf_addf(&task, "%.*s\nIts input as planned: ", CH_SV_FMT(s->description));
    ch_jw_value(&w, s->input);
    ch_buf_addf(&task, "\nTo be done differently: %.*s", CH_SV_FMT(advice));
    ch_mode_results(k, &results);
    struct ch_prompt_value values[] = {
        {.name = "task", .text = ch_buf_sv(&task)},
        {.name = "tool_name", .text = s->tool},
        {.name = "tool_schema", .text = ch_sv_str(t ? t->schema : "none")},
        {.name = "results", .text = ch_buf_sv(&results)},
    };
    k->filling = (int)i;
    ch_mode_ask(run, CH_ROLE_EXECUTOR, values, CH_LEN(values), on_executor);
}

static void planning_write_task(struct ch_sv task, struct ch_sv advice, struct ch_buf *out) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(out);
    ch_buf_add_sv(&text, task);
    if (advice.n)
        ch_buf_addf(&text, "\nDo it differently this time: %.*s", CH_SV_FMT(advice));
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "task", ch_buf_sv(&text));
    ch_jw_end(&w, '}');
}

/* Writes the arguments of a step's call. CHELA_EINVAL: the plan's arguments cannot be used,
 * `why` says why, and the executor has to write them. */
static int make_arguments(const struct ch_mode_state *k, size_t i, struct ch_buf *out,
                          struct ch_buf *why) {
    const struct ch_plan_step *s = &k->round.steps.list[i];
    struct ch_sv results[CH_LIMIT_PLAN_STEPS];
    struct ch_sv advice = (int)i == k->repeated_step ? ch_buf_sv(&k->advice) : CH_SV("");
    bool reacts = ch_sv_is(s->tool, CH_REACT_TOOL);
    struct ch_sv task = ch_json_get_str(s->input, "task");
    if (k->args[i]) {
        ch_buf_add_str(out, k->args[i]);
        return 0;
    }
    ch_plan_progress_results(&k->round, results);
    if (!s->tool.n && k->round.steps.fixed) {
        CH_BUF_AUTO question = {0};
        int rc = ch_plan_steps_fill_text(&k->round.steps, s, s->description, results, &question,
                                         why);
        if (rc == 0)
            planning_write_task(ch_buf_sv(&question), CH_SV(""), out);
        return rc;
    }
    if (!s->tool.n || (reacts && (!task.n || advice.n))) {
        planning_write_task(reacts && task.n ? task : s->description, advice, out);
        return 0;
    }
    if (advice.n) {
        ch_buf_add_sv(why, advice);
        return CHELA_EINVAL;
    }
    return ch_plan_steps_fill(&k->round.steps, s, results, out, why);
}

/* The call of step i; its texts are in the arena. try: 0 unless steps were repeated. */
static struct ch_block step_call(const struct ch_plan_progress *r, size_t i, unsigned try,
                                 const struct ch_buf *arguments, struct ch_arena *arena) {
    const struct ch_plan_step *s = &r->steps.list[i];
    return (struct ch_block){.type = CH_BLOCK_TOOL_CALL,
                             .id = ch_plan_progress_step_id(arena, r->id, s->id, try),
                             .name = s->tool.n ? s->tool : CH_SV(CH_THINK_TOOL),
                             .text = ch_arena_sv(arena, ch_buf_sv(arguments))};
}

/* A step's arguments could not be made, and no model may change a plan written by hand. */
static void give_up_step(struct ch_mode_state *k, size_t i, struct ch_buf *why) {
    k->hopeless |= 1u << i;
    ch_buf_addf(&k->why, " Step %u could not be carried out: %s", k->round.steps.list[i].id,
                ch_buf_str(why));
}

static void forget_advice(struct ch_mode_state *k, unsigned ready) {
    k->repeated_step = -1;
    k->judged = false;
    ch_buf_clear(&k->advice);
    for (size_t i = 0; i < CH_LEN(k->args); i++)
        if (ready >> i & 1)
            ch_free(CH_TAKE(k->args[i]));
}

void ch_planning_run(chela_run *run, unsigned ready) {
    struct ch_mode_state *k = ch_mode_state(run);
    const struct ch_plan_progress *r = &k->round;
    CH_ARENA_AUTO arena = {0};
    struct ch_block calls[CH_LIMIT_PLAN_STEPS];
    size_t n = 0;
    unsigned try = k->repeated_step >= 0 ? r->tries + 1 : r->tries;
    for (size_t i = 0; i < r->steps.n; i++) {
        CH_BUF_AUTO args = {0};
        CH_BUF_AUTO why = {0};
        if (!(ready >> i & 1))
            continue;
        if (make_arguments(k, i, &args, &why) == 0) {
            calls[n++] = step_call(r, i, try, &args, &arena);
        } else if (r->steps.fixed) {
            give_up_step(k, i, &why);
        } else {
            fill_by_executor(run, i, ch_buf_sv(&why));
            return;
        }
    }
    forget_advice(k, ready);
    if (n == 0)
        ch_feature_turn_next(run);
    else if (ch_think_open(run))
        ch_feature_turn_calls(run, calls, n);
}

