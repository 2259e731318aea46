/* delegate.c -- one agent gives tasks to two others, which work side by side.
 *
 * CHELA_MODEL=scripted/examples/delegate.yaml plays all three without a key; docs/modes.md
 * describes what they share. */
#include <chela.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show(const struct chela_event *ev, void *user) {
    (void)user;
    if (ev->type == CHELA_EV_TOOL_CALL) {
        printf("%.*s: %.*s\n", (int)ev->call.name.n, ev->call.name.p, (int)ev->call.arguments.n,
               ev->call.arguments.p);
    } else if (ev->type == CHELA_EV_CHILD) {
        const struct chela_event *in = ev->child.event;
        if (in->type == CHELA_EV_TOOL_CALL)
            printf("  %s calls %.*s\n", ev->child.agent, (int)in->call.name.n, in->call.name.p);
    } else if (ev->type == CHELA_EV_RUN_END) {
        printf("%.*s\n", (int)ev->end.text.n, ev->end.text.p);
    }
}

static int make(chela_runtime *rt, const char *id, const char *about, const char *tools,
                chela_agent **out, struct chela_error *err) {
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.id = id, .model = getenv("CHELA_MODEL"), .system = about,
                         .tools = tools, .description = about);
    return chela_agent_new(rt, &opts, out, err);
}

int main(void) {
    struct chela_error err = {0};
    chela_runtime *rt;
    chela_agent *lead, *clerk, *librarian;
    chela_session *session;
    chela_run *run;
    const char *ask = "What is 6 times 7, and what is in the README?";
    struct chela_run_opts how = CHELA_RUN_OPTS(.on_event = show);

    if (chela_runtime_new(NULL, &rt, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    int rc = make(rt, "lead", "You lead a team.", NULL, &lead, &err);
    if (rc == 0)
        rc = make(rt, "clerk", "You calculate.", "calculate", &clerk, &err);
    if (rc == 0)
        rc = make(rt, "librarian", "You read files.", "read", &librarian, &err);
    if (rc == 0)
        rc = chela_agent_delegate(lead, clerk, NULL, &err);
    if (rc == 0)
        rc = chela_agent_delegate(lead, librarian, NULL, &err);
    if (rc == 0)
        rc = chela_session_new(lead, NULL, &session, &err);
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
