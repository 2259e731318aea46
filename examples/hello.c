/* hello.c -- a C function the model can call.
 *
 *   cc hello.c $(pkg-config --cflags --libs chela) && ./a.out
 *
 * Uses the model named by CHELA_MODEL, else the default model. */
#include <chela.h>

#include <stdio.h>
#include <stdlib.h>

static int add(chela_call *call, void *user) {
    int64_t a, b;
    (void)user;
    if (chela_arg_int(call, "a", &a) < 0 || chela_arg_int(call, "b", &b) < 0)
        return CHELA_EINVAL; /* the model gets an error that names the wrong argument */
    chela_result_printf(call, "%lld", (long long)(a + b));
    return 0;
}

int main(void) {
    chela_runtime *rt;
    chela_agent *agent;
    struct chela_error err = {0};

    if (chela_runtime_new(NULL, &rt, &err) < 0) {
        fprintf(stderr, "hello: %s\n", err.message);
        return 1;
    }
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = getenv("CHELA_MODEL"));
    if (chela_agent_new(rt, &opts, &agent, &err) < 0) {
        fprintf(stderr, "hello: %s\n", err.message);
        chela_runtime_close(rt);
        return 1;
    }
    chela_agent_tool(agent, "add", "Add two integers.",
                     "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},"
                     "\"b\":{\"type\":\"integer\"}},\"required\":[\"a\",\"b\"]}",
                     add, NULL);
    char *answer = chela_ask(agent, "what is 2 + 40?", &err);
    puts(answer ? answer : err.message);
    int rc = answer ? 0 : 1;
    chela_free(answer);
    chela_runtime_close(rt);
    return rc;
}
