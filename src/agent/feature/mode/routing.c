/* routing.c -- the router: one tool call, another agent, or the planner.
 *
 * The router's choice must be on the list that it was given. Below a confidence of 0.6 the
 * user is asked instead. The choice becomes a plan of one step. */
#include "agent/feature/mode/routing.h"

#include "agent/feature/mode/mode_private.h"
#include "agent/feature/mode/plan_progress.h"
#include "agent/feature/mode/planning.h"
#include "agent/run/feature_turn.h"

#define PLANNER "planner"
#define SURE 0.6

/* The agent of this id, if the router may choose it; NULL: none. */
static const chela_agent *agent_named(const chela_run *run, struct ch_sv id) {
    for (CH_LIST_EACH(i, &run->session->agent->rt->agents)) {
        const chela_agent *a = CH_CONTAINER(i, chela_agent, link);
        if (!a->base && !a->closed && a != run->session->agent && a != run->session->agent->base &&
            ch_sv_is(id, a->id))
            return a;
    }
    return NULL;
}

static void write_agents(const chela_run *run, struct ch_jw *w) {
    for (CH_LIST_EACH(i, &run->session->agent->rt->agents)) {
        const chela_agent *a = CH_CONTAINER(i, chela_agent, link);
        if (agent_named(run, ch_sv_str(a->id)) != a ||
            ch_registry_find(&run->session->agent->registry, ch_sv_str(a->id)))
            continue; /* an agent that is a tool is on the list of tools */
        ch_jw_begin(w, '{');
        ch_jw_kcstr(w, "name", a->id);
        ch_jw_kcstr(w, "kind", "agent");
        ch_jw_kstr(w, "description", ch_first_sentence(ch_sv_str(a->context.instructions)));
        ch_jw_end(w, '}');
    }
}

static void write_targets(const chela_run *run, struct ch_jw *w) {
    const struct ch_registry *r = &run->session->agent->registry;
    ch_jw_begin(w, '[');
    for (size_t i = 0; i < r->n; i++)
        if (ch_mode_offers(run, r->tools[i]) && strcmp(r->tools[i]->name, CH_REACT_TOOL) != 0)
            ch_mode_write_tool(w, r->tools[i], "tool");
    write_agents(run, w);
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", PLANNER);
    ch_jw_kcstr(w, "kind", "planner");
    ch_jw_kcstr(w, "description", "whatever takes several steps, or several tools");
    ch_jw_end(w, '}');
    ch_jw_end(w, ']');
}

/* Makes a plan whose only step is the router's choice. */
static void plan_one_step(chela_run *run, const struct ch_json *v, struct ch_sv tool,
                          struct ch_sv agent) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO input = {0};
    struct ch_jw w = ch_jw(&input);
    struct ch_sv why = ch_sv_trim(ch_json_get_str(v, "reasoning"));
    struct ch_plan_steps plan = {.n = 1};
    if (agent.n) {
        ch_jw_begin(&w, '{');
        ch_jw_kstr(&w, "task", ch_mode_state(run)->round.request);
        ch_jw_kstr(&w, "agent", agent);
        ch_jw_end(&w, '}');
    } else {
        ch_jw_value(&w, ch_json_get(v, "tool_input"));
    }
    plan.list[0] = (struct ch_plan_step){
        .id = 1, .description = why.n ? why : ch_mode_state(run)->round.request, .tool = tool};
    if (ch_json_parse(&arena, ch_buf_sv(&input), CH_JSON_REPLACE, &plan.list[0].input, NULL,
                      NULL) < 0)
        return;
    ch_planning_forget(ch_mode_state(run));
    ch_mode_state(run)->routed = true;
    ch_planning_take(run, &plan);
}

static void route(chela_run *run, const struct ch_json *v) {
    struct ch_sv name = ch_json_get_str(v, "tool_name");
    bool sure = ch_json_double(ch_json_get(v, "confidence"), 1) >= SURE;
    const struct ch_tool *t = ch_registry_find(&run->session->agent->registry, name);
    bool planner = ch_sv_is(name, PLANNER) && !(t && ch_mode_offers(run, t));
    struct ch_sv action = ch_json_get_str(v, "action");
    struct ch_sv asks = ch_json_get_str(v, "question");
    if (!sure || (action.n && !ch_sv_is(action, "route"))) {
        ch_mode_say(run, asks, CH_SAY_WHAT_IS_WANTED, CH_REASON_CLARIFICATION);
    } else if (planner) {
        ch_mode_state(run)->plans = true;
        ch_feature_turn_next(run);
    } else if (t && ch_mode_offers(run, t)) {
        plan_one_step(run, v, name, CH_SV(""));
    } else if (agent_named(run, name)) {
        plan_one_step(run, v, CH_SV(CH_REACT_TOOL), name);
    } else { /* no target, or a name that the router invented */
        ch_mode_say(run, asks, CH_SAY_WHAT_IS_WANTED, CH_REASON_CLARIFICATION);
    }
}

static void on_router(const struct ch_role_answer *a, void *user) {
    chela_run *run = user;
    ch_mode_state(run)->asked = NULL;
    if (!a->v && ch_mode_does_without(run, CH_ROLE_ROUTER, a, "the agent itself answers"))
        ch_mode_react(run);
    if (!a->v)
        return;
    if (ch_sv_is(ch_json_get_str(a->v, "action"), "refuse"))
        ch_mode_say(run, ch_json_get_str(a->v, "reason"), CH_SAY_CANNOT_HERE,
                    CH_REASON_REFUSED);
    else
        route(run, a->v);
}

void ch_routing_ask(chela_run *run) {
    CH_BUF_AUTO targets = {0};
    CH_BUF_AUTO context = {0};
    const char *rules = run->session->agent->context.instructions;
    struct ch_jw w = ch_jw(&targets);
    write_targets(run, &w);
    ch_mode_context(run, &context);
    struct ch_prompt_value values[] = {
        {.name = "targets", .text = ch_buf_sv(&targets)},
        {.name = "rules", .text = ch_sv_str(rules ? rules : "none")},
        {.name = "context", .text = ch_mode_or_none(&context)},
        {.name = "request", .text = ch_mode_state(run)->round.request},
    };
    ch_mode_ask(run, CH_ROLE_ROUTER, values, CH_LEN(values), on_router);
}
