/* resume.c -- a payment that is made once, whatever happens.
 *
 *   cc resume.c $(pkg-config --cflags --libs chela) && ./a.out crash; ./a.out
 *
 * With "crash" the program dies in the middle of the tool, after the payment was made.
 * Started again, it finds the run in its store and continues it. The tool may take effect
 * only once, so it is not called a second time: the model gets the result that the outcome
 * of the call is unknown, and reports this. */
#include <chela.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int pay(chela_call *call, void *user) {
    fprintf(stderr, "paying\n");
    if (*(int *)user)
        _exit(1);
    chela_result_text(call, "paid", 4);
    return 0;
}

static int converse(chela_session *session, struct chela_error *err) {
    static const char prompt[] = "pay the bill";
    chela_run *run;
    int rc = chela_session_wait(session, err);
    if (rc < 0)
        return rc;
    if (chela_session_status(session) == CHELA_SESSION_RUNNING)
        rc = chela_run_resume(session, NULL, &run, err);
    else
        rc = chela_run_start(session, prompt, strlen(prompt), NULL, &run, err);
    if (rc < 0)
        return rc;
    chela_run_wait(run);
    puts(chela_run_text(run));
    chela_run_free(run);
    return 0;
}

int main(int argc, char **argv) {
    chela_runtime *rt;
    chela_store *store = NULL;
    chela_agent *agent;
    chela_session *session;
    struct chela_error err = {0};
    int crash = argc > 1 && strcmp(argv[1], "crash") == 0;
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = getenv("CHELA_MODEL"));
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = "pay", .description = "Pay the bill. Money leaves the account.",
                        .fn = pay, .user = &crash, .effect = CHELA_EFFECT_ONCE);

    int rc = chela_runtime_new(NULL, &rt, &err);
    if (rc < 0)
        goto out;
    rc = chela_store_open("sqlite:./resume.db", NULL, &store, &err);
    if (rc == 0)
        rc = chela_runtime_store(rt, store, CHELA_DURABILITY_FULL, &err);
    if (rc == 0)
        rc = chela_agent_new(rt, &opts, &agent, &err);
    if (rc == 0)
        rc = chela_agent_add_tool(agent, &tool, &err);
    if (rc == 0)
        rc = chela_session_new(agent, "bill", &session, &err);
    if (rc == 0)
        rc = converse(session, &err);
    chela_runtime_close(rt);
    chela_store_close(store);
out:
    if (rc < 0)
        fprintf(stderr, "resume: %s\n", err.message);
    return rc < 0;
}
