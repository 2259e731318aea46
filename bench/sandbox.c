/* sandbox.c -- what a tool call costs: a command by itself, in its box, eight of
 * them at once, and eight C functions at once.
 *
 *   sandbox HELPER [ROUNDS]
 *
 * HELPER is the program chela-sandbox. Prints the median of ROUNDS (15) of each,
 * in milliseconds, and what was aimed at. The cost of the box is also printed for the fastest
 * rounds, which a busy machine disturbs least, and as a multiple of a bare fork and exec. The
 * calls are made by the scripted model, so that they take the whole path; what is measured is
 * the time from the first call to the last result. Uses the public API as any program would. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chela.h>

#define AT_ONCE 8

static struct bench {
    char dir[64];
    const char *helper;
    int rounds;
    chela_runtime *rt;
    double first, last; /* of the round */
    int results, failed;
    double fastest; /* round of the last measurement */
    char *sandbox; /* of the last result: on, degraded, off; NULL: no program */
} b;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void check(int rc, const struct chela_error *err) {
    if (rc == 0)
        return;
    fprintf(stderr, "sandbox: %s\n", err->message);
    exit(1);
}

static int by_size(const void *a, const void *c) {
    double d = *(const double *)a - *(const double *)c;
    return d < 0 ? -1 : d > 0;
}

static void on_event(const struct chela_event *ev, void *user) {
    (void)user;
    if (ev->type == CHELA_EV_TOOL_CALL && b.first == 0)
        b.first = now_ms();
    if (ev->type == CHELA_EV_TOOL_RESULT) {
        b.last = now_ms();
        b.results++;
        b.failed += ev->result.is_error;
        chela_free(b.sandbox);
        b.sandbox = chela_json_get(ev->result.details.p, ev->result.details.n, "/sandbox", NULL);
    }
}

static int nap(chela_call *call, void *user) {
    (void)user;
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    chela_result_printf(call, "awake");
    return 0;
}

/* A rule file whose model makes `n` such calls in one reply. */
static void write_rules(const char *path, const char *call, int n) {
    FILE *f = fopen(path, "w");
    if (!f)
        exit(1);
    fprintf(f, "rules:\n  - { when: { after: none }, call: [");
    for (int i = 0; i < n; i++)
        fprintf(f, "%s%s", i ? ", " : "", call);
    fprintf(f, "] }\n  - { say: done }\n");
    fclose(f);
}

static chela_agent *make_agent(const char *call, int n, enum chela_sandbox_mode mode) {
    struct chela_error err = {0};
    char rules[128], model[160];
    chela_agent *agent;

    snprintf(rules, sizeof(rules), "%s/rules.yaml", b.dir);
    snprintf(model, sizeof(model), "scripted/%s", rules);
    write_rules(rules, call, n);
    struct chela_sandbox_opts sandbox = CHELA_SANDBOX_OPTS(.mode = mode, .helper = b.helper);
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.model = model, .workspace = b.dir, .tools = "exec",
                         .approve = CHELA_APPROVE_AUTO, .sandbox = &sandbox);
    check(chela_agent_new(b.rt, &opts, &agent, &err), &err);
    check(chela_agent_tool(agent, "nap", "Wait for 100 ms.", NULL, nap, NULL), &err);
    unlink(rules);
    return agent;
}

static double one_round(chela_agent *agent, int n) {
    struct chela_run_opts opts =
        CHELA_RUN_OPTS(.on_event = on_event, .approve = CHELA_APPROVE_AUTO);
    struct chela_error err = {0};
    chela_session *s;

    b.first = b.last = 0;
    b.results = b.failed = 0;
    check(chela_session_new(agent, NULL, &s, &err), &err);
    check(chela_run_start(s, "go", 2, &opts, NULL, &err), &err);
    check(chela_runtime_run(b.rt), &err);
    chela_session_close(s);
    if (b.results != n || b.failed) {
        fprintf(stderr, "sandbox: %d results, %d failed\n", b.results, b.failed);
        exit(1);
    }
    return b.last - b.first;
}

/* The median; a first round, which finds out what the machine can do, is left
 * out. */
static double measure(const char *call, int n, enum chela_sandbox_mode mode) {
    chela_agent *agent = make_agent(call, n, mode);
    double *ms = calloc((size_t)b.rounds, sizeof(*ms));

    if (!ms)
        exit(1);
    one_round(agent, n);
    for (int i = 0; i < b.rounds; i++)
        ms[i] = one_round(agent, n);
    qsort(ms, (size_t)b.rounds, sizeof(*ms), by_size);
    double median = ms[b.rounds / 2];
    b.fastest = ms[0];
    free(ms);
    return median;
}

/* The fastest fork, exec and wait of the program `true`. */
static double bare_start(void) {
    double best = 1e9;

    for (int i = 0; i < b.rounds; i++) {
        double from = now_ms();
        pid_t pid = fork();
        if (pid == 0) {
            execlp("true", "true", (char *)NULL);
            _exit(127);
        }
        if (pid < 0 || waitpid(pid, NULL, 0) != pid)
            exit(1);
        double took = now_ms() - from;
        best = took < best ? took : best;
    }
    return best;
}

#define TRUE "{ tool: exec, args: { argv: ['true'] } }"
#define SLEEP "{ tool: exec, args: { argv: [sleep, '0.1'] } }"
#define NAP "{ tool: nap, args: {} }"

int main(int argc, char **argv) {
    struct chela_error err = {0};

    if (argc < 2)
        return 2;
    b.helper = argv[1];
    b.rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 15;
    snprintf(b.dir, sizeof(b.dir), "/tmp/chela-bench-XXXXXX");
    if (b.rounds < 1 || !mkdtemp(b.dir))
        return 2;
    check(chela_runtime_new(NULL, &b.rt, &err), &err);
    double bare = bare_start(), plain = measure(TRUE, 1, CHELA_SANDBOX_OFF), quick = b.fastest;
    double boxed = measure(TRUE, 1, CHELA_SANDBOX_AUTO), added = b.fastest - quick;
    printf("a command                     %7.2f ms\n", plain);
    printf("a command in its box          %7.2f ms  (sandbox: %s)\n", boxed, b.sandbox);
    printf("  the box adds                %7.2f ms  (aim: < 10)\n", boxed - plain);
    printf("  the same, fastest rounds    %7.2f ms  (%.1f times a bare fork and exec, %.2f ms)\n",
           added, added / bare, bare);
    printf("8 commands of 100 ms, boxed   %7.2f ms  (aim: < 150)\n",
           measure(SLEEP, AT_ONCE, CHELA_SANDBOX_AUTO));
    printf("8 C functions of 100 ms       %7.2f ms  (aim: < 101)\n",
           measure(NAP, AT_ONCE, CHELA_SANDBOX_OFF));
    chela_runtime_close(b.rt);
    chela_free(b.sandbox);
    rmdir(b.dir);
    return 0;
}
