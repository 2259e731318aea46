/* hooks.c -- watching a run and changing its course.
 *
 * Four hooks: the prompt gets a line for this turn only, a call is refused with
 * feedback the model can act on, a result is shortened before the model sees
 * it, and the run is stopped when its answer grows too long. */
#include <chela.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_ANSWER 20000

static enum chela_flow before_model(chela_run *run, struct chela_turn_patch *patch, void *user) {
    (void)run, (void)user;
    fprintf(stderr, "turn %u\n", patch->turn);
    if (patch->turn > 1)
        patch->system = "You have looked around. Answer now, in one sentence.";
    return CHELA_GO;
}

static enum chela_flow before_tool(chela_run *run, struct chela_before_tool *call, void *user) {
    (void)run, (void)user;
    bool writes = call->name.n == 5 && memcmp(call->name.p, "write", 5) == 0;
    fprintf(stderr, "%s %.*s\n", writes ? "refused" : "allowed", (int)call->name.n, call->name.p);
    if (writes) {
        call->action = CHELA_TOOL_SKIP;
        call->feedback = "Writing is switched off today. Show the text instead.";
    }
    return CHELA_GO;
}

static enum chela_flow after_tool(chela_run *run, struct chela_after_tool *call, void *user) {
    static char text[256];
    const struct chela_str *content = &call->result->result.content;
    (void)run, (void)user;
    if (content->n < sizeof(text))
        return CHELA_GO;
    snprintf(text, sizeof(text), "%.200s... (%zu bytes in all)", content->p, content->n);
    call->content = text;
    return CHELA_GO;
}

static enum chela_flow on_text(chela_run *run, struct chela_str piece, struct chela_str so_far,
                               void *user) {
    (void)run, (void)piece, (void)user;
    return so_far.n > LONGEST_ANSWER ? CHELA_HALT : CHELA_GO;
}

int main(int argc, char **argv) {
    struct chela_error err = {0};
    chela_runtime *rt = NULL;
    chela_agent *agent;
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.model = getenv("CHELA_MODEL"), .tools = "read,ls,write,calculate");
    struct chela_hooks hooks = CHELA_HOOKS(.before_model = before_model, .text = on_text,
                                           .before_tool = before_tool, .after_tool = after_tool);

    if (chela_runtime_new(NULL, &rt, &err) < 0 || chela_agent_new(rt, &opts, &agent, &err) < 0) {
        fprintf(stderr, "hooks: %s\n", err.message);
        chela_runtime_close(rt);
        return 1;
    }
    chela_agent_hooks(agent, &hooks, NULL);
    char *answer = chela_ask(agent, argc > 1 ? argv[1] : "list the files here", &err);
    puts(answer ? answer : err.message);
    int rc = answer ? 0 : 1;
    chela_free(answer);
    chela_runtime_close(rt);
    return rc;
}
