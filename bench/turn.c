/* turn.c -- what it costs to make the next request, early and late in a long
 * conversation.
 *
 * One run calls a tool again and again until the history has 5,000 messages;
 * then a new run begins with it. Looked at is the processor time of the loop
 * from the end of the tool, or of the call that starts the run, to the event
 * model_request: all that is put together, estimated and encoded for a request,
 * and nothing of what the model does. It has to be below 5 ms, and late what it
 * was early.
 *
 *     turn [MESSAGES]   default 5000; fails if a median is 5 ms or more */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <chela.h>

#define EDGE 50      /* requests at either end that are looked at */
#define LIMIT_US 5000.0

struct times {
    double us[EDGE];
    size_t n;
};

static struct times early, late, fresh;
static long turns, turn;
static double from; /* 0: nothing is measured */
static bool again;

static double cpu_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void note(struct times *t, double us) {
    if (t->n < EDGE)
        t->us[t->n++] = us;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(struct times *t) {
    qsort(t->us, t->n, sizeof(t->us[0]), compare);
    return t->n ? t->us[t->n / 2] : 0;
}

static int look(chela_call *call, void *user) {
    (void)user;
    chela_result_printf(call, "file %ld: ", turn);
    for (int i = 0; i < 8; i++)
        chela_result_printf(call, "static int part_%d(const struct item *it);\n", i);
    from = cpu_us();
    return 0;
}

static void on_event(const struct chela_event *ev, void *user) {
    (void)user;
    if (ev->type == CHELA_EV_RUN_END && ev->end.status != CHELA_STATUS_DONE) {
        fprintf(stderr, "turn: %s: %.*s\n", chela_reason_name(ev->end.reason), (int)ev->end.error.n,
                ev->end.error.p);
        exit(1);
    }
    if (ev->type == CHELA_EV_COMPACTION) {
        fprintf(stderr, "turn: the history was made shorter\n");
        exit(1);
    }
    if (ev->type != CHELA_EV_MODEL_REQUEST)
        return;
    double us = from > 0 ? cpu_us() - from : 0;
    turn++;
    if (again)
        note(&fresh, us);
    else if (turn > 1 && turn <= EDGE + 1) /* the first one makes the system prompt */
        note(&early, us);
    else if (turn > turns - EDGE)
        note(&late, us);
    from = 0;
}

static void check(int rc, const struct chela_error *err) {
    if (rc == 0)
        return;
    fprintf(stderr, "turn: %s\n", err->message);
    exit(1);
}

/* A call, and its result, are two messages. */
static void write_rules(char *path) {
    int fd = mkstemps(path, 5);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f) {
        perror("turn");
        exit(1);
    }
    fprintf(f,
            "rules:\n"
            "  - when: { message: 1, turn: %ld }\n"
            "    say: done\n"
            "  - when: { message: 1 }\n"
            "    call: { tool: look, args: { path: \"src/file_{{turn}}.c\" } }\n"
            "  - say: \"and again\"\n",
            turns);
    fclose(f);
}

static void play(chela_runtime *rt, chela_session *s, const char *text) {
    struct chela_error err = {0};
    struct chela_run_opts run = CHELA_RUN_OPTS(.on_event = on_event);
    from = cpu_us();
    check(chela_run_start(s, text, strlen(text), &run, NULL, &err), &err);
    check(chela_runtime_run(rt), &err);
}

int main(int argc, char **argv) {
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}}}";
    char path[] = "/tmp/turn-XXXXXX.yaml", model[64];
    struct chela_error err = {0};
    chela_runtime *rt;
    chela_agent *agent;
    chela_session *s;

    turns = (argc > 1 ? strtol(argv[1], NULL, 10) : 5000) / 2;
    write_rules(path);
    snprintf(model, sizeof(model), "scripted/%s", path);
    check(chela_runtime_new(NULL, &rt, &err), &err);
    check(chela_runtime_context_window(rt, "scripted", path, 100000000, &err), &err);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .model = model,
        .prompt = &(struct chela_prompt_opts)CHELA_PROMPT_OPTS(.reminder = "Mind the style."),
        .limits = &(struct chela_limits)CHELA_LIMITS(
            .max_turns = -1, .max_tool_calls = -1, .timeout_ms = -1));
    check(chela_agent_new(rt, &opts, &agent, &err), &err);
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = "look", .description = "Look at a file.", .schema = schema,
                        .fn = look, .effect = CHELA_EFFECT_READ, .permission = CHELA_PERM_READ,
                        .flags = CHELA_TOOL_ON_LOOP);
    check(chela_agent_add_tool(agent, &tool, &err), &err);
    check(chela_session_new(agent, NULL, &s, &err), &err);
    play(rt, s, "Look at all the files.");
    again = true;
    for (int i = 0; i < EDGE; i++)
        play(rt, s, "Is there anything else?");
    chela_runtime_close(rt);
    unlink(path);

    double a = median(&early), b = median(&late), c = median(&fresh);
    printf("the next request, microseconds of one core (median of %d):\n", EDGE);
    printf("  %6d messages, after a tool %8.1f\n", 2, a);
    printf("  %6ld messages, after a tool %8.1f\n", turns * 2, b);
    printf("  %6ld messages, a new input  %8.1f\n", turns * 2, c);
    return b < LIMIT_US && c < LIMIT_US ? 0 : 1;
}
