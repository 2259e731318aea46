/* stream.c -- text as it arrives, tools as they run, Ctrl-C to cancel.
 *
 *   ./stream "read README.md and sum it up" */
#include <chela.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void on_event(const struct chela_event *ev, void *user) {
    (void)user;
    switch (ev->type) {
    case CHELA_EV_TEXT_DELTA:
        fwrite(ev->delta.text.p, 1, ev->delta.text.n, stdout);
        fflush(stdout);
        break;
    case CHELA_EV_TOOL_CALL:
        fprintf(stderr, "\n[%.*s %.*s]\n", (int)ev->call.name.n, ev->call.name.p,
                (int)ev->call.arguments.n, ev->call.arguments.p);
        break;
    case CHELA_EV_TOOL_RESULT:
        fprintf(stderr, "[%.*s: %s, %zu bytes]\n", (int)ev->result.name.n, ev->result.name.p,
                ev->result.is_error ? "failed" : "ok", ev->result.content.n);
        break;
    case CHELA_EV_RUN_END:
        fprintf(stderr, "\n%s (%s), %u turns, %u tool calls\n", chela_status_name(ev->end.status),
                chela_reason_name(ev->end.reason), ev->end.turns, ev->end.tool_calls);
        break;
    default:
        break;
    }
}

/* chela_cancel may be called from any thread, but not from a signal handler:
 * so a thread waits for the signal. */
static void *wait_for_interrupt(void *run) {
    sigset_t set;
    int sig;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    if (sigwait(&set, &sig) == 0)
        chela_cancel((chela_run *)run, "interrupted");
    return NULL;
}

static int fail(chela_runtime *rt, const struct chela_error *err) {
    fprintf(stderr, "stream: %s\n", err->message);
    chela_runtime_close(rt);
    return 1;
}

int main(int argc, char **argv) {
    const char *prompt = argc > 1 ? argv[1] : "list the files here";
    struct chela_error err = {0};
    chela_runtime *rt = NULL;
    chela_agent *agent;
    chela_session *session;
    chela_run *run;
    pthread_t watcher;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);

    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.model = getenv("CHELA_MODEL"), .tools = "read,ls,calculate");
    struct chela_run_opts how = CHELA_RUN_OPTS(.on_event = on_event);
    if (chela_runtime_new(NULL, &rt, &err) < 0 || chela_agent_new(rt, &opts, &agent, &err) < 0 ||
        chela_session_new(agent, NULL, &session, &err) < 0 ||
        chela_run_start(session, prompt, strlen(prompt), &how, &run, &err) < 0)
        return fail(rt, &err);
    pthread_create(&watcher, NULL, wait_for_interrupt, run);
    chela_run_wait(run);
    int rc = chela_run_status(run) == CHELA_STATUS_DONE ? 0 : 1;
    pthread_kill(watcher, SIGINT); /* ends the thread; cancelling a run that has ended does
                                    * nothing */
    pthread_join(watcher, NULL);
    chela_run_free(run);
    chela_runtime_close(rt);
    return rc;
}
