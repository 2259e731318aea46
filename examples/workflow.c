/* workflow.c -- a fixed workflow in plain C that asks a model at one point.
 *
 * Most steps of most programs need no model. This program reads lines, decides the clear
 * cases itself, asks the model about the others, validates the answer against a schema, and
 * acts on it: the model chooses, the program acts.
 *
 *     ./workflow <<<'ERROR disk full'      one word each: page, ticket or ignore
 *
 * CHELA_MODEL=scripted/examples/workflow.yaml plays the model without a key. */
#include <chela.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cases that a fixed rule decides. NULL: the line needs judgement. */
static const char *rule(const char *line) {
    if (strncmp(line, "DEBUG", 5) == 0)
        return "ignore";
    return strstr(line, "disk full") ? "page" : NULL;
}

/* The only place where a model is asked. The caller frees the result with chela_free; NULL
 * and err on failure. */
static char *judge(chela_agent *agent, const char *line, struct chela_error *err) {
    char *answer = chela_ask(agent, line, err), *word = NULL;
    if (answer)
        word = chela_json_get(answer, strlen(answer), "/action", NULL);
    chela_free(answer);
    return word;
}

static void act(const char *action, const char *line, const char *by) {
    printf("%-6s %-5s %s\n", action, by, line);
}

int main(void) {
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"action\":{\"enum\":[\"page\",\"ticket\","
        "\"ignore\"]}},\"required\":[\"action\"],\"additionalProperties\":false}";
    struct chela_error err = {0};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
            .model = getenv("CHELA_MODEL"),
            .system = "You triage lines of a log: page somebody now, open a ticket, or ignore it.",
            .output_schema = schema);
    chela_runtime *rt;
    chela_agent *agent;
    char line[4096];
    int failed = 0;

    if (chela_runtime_new(NULL, &rt, &err) < 0 || chela_agent_new(rt, &opts, &agent, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    while (!failed && fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        const char *known = rule(line);
        char *word = known ? NULL : judge(agent, line, &err);
        failed = !known && !word;
        if (failed)
            fprintf(stderr, "%s\n", err.message);
        else
            act(known ? known : word, line, known ? "rule" : "model");
        chela_free(word);
    }
    chela_runtime_close(rt);
    return failed;
}
