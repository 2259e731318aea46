/* agent.c -- chela under the contract of an agent-runtime benchmark.
 *
 *   agent [http|websocket] URL AGENTS TOOL_MS
 *
 * Runs AGENTS conversations at once in one process, each with the prompt "go"
 * and one tool, add(a, b), that waits TOOL_MS milliseconds. The model is at
 * URL/v1/messages, or with a transport at URL/v1/responses. Prints tools=<calls>
 * sum=<sum of results> text=<characters>.
 * Uses the public API as any program would. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <chela.h>

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\"},\"b\":{\"type\":\"number\"}},"
    "\"required\":[\"a\",\"b\"]}";

static long tool_ms;
static atomic_long calls;
static long sum, text, failed;

static int add(chela_call *call, void *user) {
    double a, b;
    (void)user;
    if (chela_arg_double(call, "a", &a) < 0 || chela_arg_double(call, "b", &b) < 0)
        return CHELA_EINVAL;
    if (tool_ms) {
        struct timespec t = {tool_ms / 1000, tool_ms % 1000 * 1000000L};
        nanosleep(&t, NULL);
    }
    atomic_fetch_add(&calls, 1);
    chela_result_printf(call, "%ld", (long)(a + b));
    return 0;
}

static void on_event(const struct chela_event *ev, void *user) {
    (void)user;
    if (ev->type == CHELA_EV_TEXT_DELTA) {
        text += (long)ev->delta.text.n;
    } else if (ev->type == CHELA_EV_TOOL_RESULT) {
        sum += strtol(ev->result.content.p, NULL, 10);
    } else if (ev->type == CHELA_EV_RUN_END && ev->end.status != CHELA_STATUS_DONE) {
        fprintf(stderr, "agent: %s: %.*s\n", chela_reason_name(ev->end.reason),
                (int)ev->end.error.n, ev->end.error.p);
        failed++;
    }
}

static void check(int rc, const struct chela_error *err) {
    if (rc == 0)
        return;
    fprintf(stderr, "agent: %s\n", err->message);
    exit(1);
}

/* The Responses API at the URL. */
static void use_responses(chela_runtime *rt, const char *transport, const char *url) {
    static char base[512];
    struct chela_error err = {0};
    snprintf(base, sizeof(base), "%s/v1", url);
    struct chela_provider_opts opts =
        CHELA_PROVIDER_OPTS(.name = "bench", .api = "openai-responses", .base_url = base,
                            .api_key = "k", .transport = transport);
    check(chela_runtime_provider(rt, &opts, &err), &err);
}

int main(int argc, char **argv) {
    const char *transport = argc > 1 && strchr(argv[1], ':') == NULL ? argv[1] : NULL;
    argc -= transport != NULL;
    argv += transport != NULL;
    if (argc < 2)
        return 2;
    long agents = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    tool_ms = argc > 3 ? strtol(argv[3], NULL, 10) : 0;

    struct chela_error err = {0};
    chela_runtime *rt;
    chela_agent *agent;
    check(chela_runtime_new(NULL, &rt, &err), &err);
    if (transport)
        use_responses(rt, transport, argv[1]);
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(
            .model = transport ? "bench/mock" : "anthropic/mock",
            .base_url = transport ? NULL : argv[1], .api_key = transport ? NULL : "k",
            .system = "",
            .limits = &(struct chela_limits)CHELA_LIMITS(.max_turns = -1, .max_tool_calls = -1));
    check(chela_agent_new(rt, &opts, &agent, &err), &err);
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = "add", .description = "Add two numbers.", .schema = schema,
                        .fn = add, .effect = CHELA_EFFECT_READ, .permission = CHELA_PERM_READ,
                        .flags = tool_ms ? 0 : CHELA_TOOL_ON_LOOP);
    check(chela_agent_add_tool(agent, &tool, &err), &err);

    struct chela_run_opts run = CHELA_RUN_OPTS(.on_event = on_event);
    for (long i = 0; i < agents; i++) {
        chela_session *s;
        check(chela_session_new(agent, NULL, &s, &err), &err);
        check(chela_run_start(s, "go", 2, &run, NULL, &err), &err);
    }
    check(chela_runtime_run(rt), &err);
    printf("tools=%ld sum=%ld text=%ld\n", atomic_load(&calls), sum, text);
    chela_runtime_close(rt);
    return failed ? 1 : 0;
}
