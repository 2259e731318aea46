/* approval.c -- a tool that asks before it acts.
 *
 *   cc approval.c $(pkg-config --cflags --libs chela) && ./a.out
 *
 * The model wants to delete a note. The run pauses and reports the reason; the person at the
 * terminal decides; the run continues with the decision. While the run is paused, the
 * program may do other work, and the decision may come from elsewhere: a web page, a
 * message. */
#include <chela.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int delete_note(chela_call *call, void *user) {
    const char *title;
    (void)user;
    if (chela_arg_string(call, "title", &title) < 0)
        return CHELA_EINVAL;
    chela_result_printf(call, "deleted '%s'", title);
    return 0;
}

struct request {
    char id[64];
    int can_remember;
};

static void on_event(const struct chela_event *ev, void *user) {
    struct request *r = (struct request *)user;
    if (ev->type != CHELA_EV_APPROVAL_REQUIRED)
        return;
    snprintf(r->id, sizeof(r->id), "%.*s", (int)ev->approval.approval_id.n,
             ev->approval.approval_id.p);
    r->can_remember = ev->approval.can_remember;
    /* safe to print: control and invisible characters are replaced by their names */
    fprintf(stderr, "May I?\n%.*s\n", (int)ev->approval.summary.n, ev->approval.summary.p);
}

/* Reads "y", "always", or the reason for a refusal. */
static int ask_person(chela_session *session, const struct request *r, struct chela_error *err) {
    char line[256] = "";
    fprintf(stderr, "[y]es%s, or why not: ", r->can_remember ? ", [always]" : "");
    if (!fgets(line, sizeof(line), stdin))
        fputs("\n", stderr); /* end of input: refuse */
    line[strcspn(line, "\n")] = '\0';
    enum chela_decision decision = strcmp(line, "y") == 0        ? CHELA_ALLOW_ONCE
                                   : strcmp(line, "always") == 0 ? CHELA_ALLOW_ALWAYS
                                                                 : CHELA_DENY;
    return chela_session_approve(session, r->id, decision, line, err);
}

static int converse(chela_session *session, const char *prompt, struct chela_error *err) {
    struct request request = {"", 0};
    struct chela_run_opts how = CHELA_RUN_OPTS(.on_event = on_event, .user = &request);
    chela_run *run;
    int rc = chela_run_start(session, prompt, strlen(prompt), &how, &run, err);
    if (rc < 0)
        return rc;
    chela_run_wait(run);
    while (rc == 0 && chela_run_reason(run) == CHELA_REASON_APPROVAL) {
        rc = ask_person(session, &request, err);
        if (rc == 0)
            rc = chela_run_resume(session, &how, NULL, err);
        if (rc == 0)
            chela_run_wait(run);
    }
    if (rc == 0)
        puts(chela_run_text(run));
    chela_run_free(run);
    return rc;
}

int main(int argc, char **argv) {
    chela_runtime *rt;
    chela_agent *agent;
    chela_session *session;
    struct chela_error err = {0};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = getenv("CHELA_MODEL"));
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = "delete_note", .description = "Delete the note with this title.",
                        .schema = "{\"type\":\"object\",\"properties\":{\"title\":"
                                  "{\"type\":\"string\"}},\"required\":[\"title\"]}",
                        .fn = delete_note, .flags = CHELA_TOOL_CONFIRM);

    int rc = chela_runtime_new(NULL, &rt, &err);
    if (rc == 0) {
        rc = chela_agent_new(rt, &opts, &agent, &err);
        if (rc == 0)
            rc = chela_agent_add_tool(agent, &tool, &err);
        if (rc == 0)
            rc = chela_session_new(agent, NULL, &session, &err);
        if (rc == 0)
            rc = converse(session, argc > 1 ? argv[1] : "delete the note 'milk'", &err);
        chela_runtime_close(rt);
    }
    if (rc < 0)
        fprintf(stderr, "approval: %s\n", err.message);
    return rc < 0;
}
