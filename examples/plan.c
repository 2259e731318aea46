/* plan.c -- a run that makes a plan first: two look-ups side by side, then a sum.
 *
 * CHELA_MODEL=scripted/examples/plan.yaml plays all the roles without a key; docs/modes.md
 * describes them. */
#include <chela.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int population(chela_call *call, void *user) {
    const char *city;
    int rc = chela_arg_string(call, "city", &city);
    (void)user;
    if (rc == 0)
        chela_result_printf(call, "%d", city[0] == 'L' ? 10 : 3);
    return rc;
}

static void show(const struct chela_event *ev, void *user) {
    (void)user;
    if (ev->type == CHELA_EV_TOOL_CALL)
        printf("step: %.*s %.*s\n", (int)ev->call.name.n, ev->call.name.p,
               (int)ev->call.arguments.n, ev->call.arguments.p);
    else if (ev->type == CHELA_EV_REFLECTION)
        printf("judged: %s\n", chela_judgement_name(ev->reflection.action));
    else if (ev->type == CHELA_EV_RUN_END)
        printf("%.*s\n", (int)ev->end.text.n, ev->end.text.p);
}

int main(void) {
    struct chela_error err = {0};
    chela_runtime *rt;
    chela_agent *agent;
    chela_session *session;
    chela_run *run;
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
            .model = getenv("CHELA_MODEL"), .tools = "calculate", .mode = CHELA_MODE_PLAN);
    const char *ask = "How many live in Lima and Berlin together?";
    const char *schema = "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}},"
                         "\"required\":[\"city\"]}";

    if (chela_runtime_new(NULL, &rt, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    int rc = chela_agent_new(rt, &opts, &agent, &err);
    if (rc == 0)
        rc = chela_agent_tool(agent, "population", "Millions of people in a city", schema,
                              population, NULL);
    if (rc == 0)
        rc = chela_session_new(agent, NULL, &session, &err);
    struct chela_run_opts how = CHELA_RUN_OPTS(.on_event = show);
    if (rc == 0)
        rc = chela_run_start(session, ask, strlen(ask), &how, &run, &err);
    if (rc == 0) {
        rc = chela_run_wait(run);
        chela_run_free(run);
    }
    if (rc < 0)
        fprintf(stderr, "%s\n", err.message);
    chela_runtime_close(rt);
    return rc < 0;
}
