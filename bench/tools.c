/* tools.c -- what an agent with many tools costs.
 *
 *     tools [NUMBER]   default 4000
 *
 * Prints the CPU time to add NUMBER tools to an agent, each with a schema of its own, the time of
 * the first run, which indexes the tools and selects some of them, and the time of a run after
 * it. The model is a scripted one. Uses the public API as any program would. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <chela.h>

static char rules[] = "/tmp/chela-bench-XXXXXX.yaml";

static double cpu_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void check(int rc, const struct chela_error *err) {
    if (rc == 0)
        return;
    fprintf(stderr, "tools: %s\n", err->message);
    unlink(rules);
    exit(1);
}

static int nothing(chela_call *call, void *user) {
    (void)user;
    chela_result_text(call, "done", 4);
    return 0;
}

static void add_tool(chela_agent *agent, long i) {
    static const char *const verbs[] = {"read", "send", "list", "count", "convert", "find", "plan"};
    static const char *const things[] = {"file",   "mail",   "price", "street", "photo", "invoice",
                                         "ticket", "engine", "song",  "garden", "flight"};
    struct chela_error err = {0};
    const char *verb = verbs[i % 7], *thing = things[i % 11];
    char name[64], description[200], schema[300];
    snprintf(name, sizeof(name), "%s_%s_%ld", verb, thing, i);
    snprintf(description, sizeof(description), "Can %s a %s of the catalogue number %ld.", verb,
             thing, i % 997);
    snprintf(schema, sizeof(schema),
             "{\"type\":\"object\",\"properties\":{\"%s\":{\"type\":\"string\",\"description\":"
             "\"Name of the %s in shop %ld\"},\"count\":{\"type\":\"integer\",\"minimum\":0}},"
             "\"required\":[\"%s\"]}",
             thing, thing, i, thing);
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = name, .description = description, .schema = schema, .fn = nothing,
                        .effect = CHELA_EFFECT_READ);
    check(chela_agent_add_tool(agent, &tool, &err), &err);
}

static double run_ms(chela_session *s) {
    struct chela_error err = {0};
    chela_run *run;
    double before = cpu_ms();
    check(chela_run_start(s, "count my invoices", 17, NULL, &run, &err), &err);
    chela_run_wait(run);
    chela_run_free(run);
    return cpu_ms() - before;
}

int main(int argc, char **argv) {
    long n = argc > 1 ? strtol(argv[1], NULL, 10) : 4000;
    struct chela_error err = {0};
    chela_runtime *rt;
    chela_agent *agent;
    chela_session *s;
    char model[64];
    int fd = mkstemps(rules, 5);
    if (fd < 0 || dprintf(fd, "rules: [{ say: done }]\n") < 0)
        return 1;
    close(fd);
    snprintf(model, sizeof(model), "scripted/%s", rules);
    check(chela_runtime_new(NULL, &rt, &err), &err);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = model, .system = "");
    check(chela_agent_new(rt, &opts, &agent, &err), &err);
    double before = cpu_ms();
    for (long i = 0; i < n; i++)
        add_tool(agent, i);
    double added = cpu_ms() - before;
    check(chela_session_new(agent, NULL, &s, &err), &err);
    double first = run_ms(s), next = run_ms(s);
    printf("tools=%ld add_ms=%.2f first_run_ms=%.2f next_run_ms=%.2f all_ms=%.2f\n", n, added,
           first, next, added + first + next);
    chela_runtime_close(rt);
    unlink(rules);
    return 0;
}
