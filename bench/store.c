/* store.c -- what keeping sessions costs.
 *
 *   store URL turns N       one run of N turns, each with a tool call that reads
 *   store URL writes N      the same, with a call that may be made once
 *   store URL open N        open a session of N messages and go on
 *   store URL sessions N    N sessions, each in a run that waits for its model
 *   store URL usage N       sum the tokens of N sessions of one turn
 *
 * turns prints CPU (and what of it the system spent in syncs) and wall time of a
 * turn, what the store has grown by (SQLite: with its log of up to 4 MB), and how
 * often this process asked for a sync; compare it with the URL "none". The model
 * is a scripted one. Modules are looked for in CHELA_MODULE_PATH.
 * scripts/bench-store does it all for every backend. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <chela.h>

static char rules[] = "/tmp/chela-bench-XXXXXX.yaml";

/* In place of the C library's, also for modules: they are counted here, and what
 * the file system makes of them is not the journal's. */
static atomic_long syncs, sync_ns;

static long thread_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static int counted_sync(long which, int fd) {
    long before = thread_ns();
    int rc = (int)syscall(which, fd);
    atomic_fetch_add(&sync_ns, thread_ns() - before);
    atomic_fetch_add(&syncs, 1);
    return rc;
}

int fsync(int fd) {
    return counted_sync(SYS_fsync, fd);
}

int fdatasync(int fd) {
    return counted_sync(SYS_fdatasync, fd);
}

static void check(int rc, const struct chela_error *err) {
    if (rc == 0)
        return;
    fprintf(stderr, "store: %s\n", err->message);
    unlink(rules);
    exit(1);
}

static double cpu_us(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return ((double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec) * 1e6 +
           (double)u.ru_utime.tv_usec + (double)u.ru_stime.tv_usec;
}

static double wall_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static long rss_kb(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%*s %ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static long file_bytes(const char *url) {
    static const char *const ends[] = {"", "-wal"};
    long sum = 0;
    for (size_t i = 0; i < 2 && strncmp(url, "sqlite:", 7) == 0; i++) {
        char path[4096];
        struct stat st;
        snprintf(path, sizeof(path), "%s%s", url + 7, ends[i]);
        sum += stat(path, &st) == 0 ? (long)st.st_size : 0;
    }
    return sum;
}

/* Never the same: a run whose calls repeat themselves is stopped. */
static int note(chela_call *call, void *user) {
    static unsigned long n;
    char text[40];
    (void)user;
    int len = snprintf(text, sizeof(text), "noted as number %lu", ++n);
    chela_result_text(call, text, (size_t)len);
    return 0;
}

static void write_rules(const char *text) {
    int fd = mkstemps(rules, 5);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f)
        exit(1);
    fputs(text, f);
    fclose(f);
}

static chela_agent *new_agent(chela_runtime *rt, long turns, enum chela_effect effect) {
    struct chela_error err = {0};
    chela_agent *agent;
    char model[64];
    snprintf(model, sizeof(model), "scripted/%s", rules);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .model = model, .system = "",
        .limits = &(struct chela_limits)CHELA_LIMITS(.max_turns = turns + 1, .max_tool_calls = -1));
    check(chela_agent_new(rt, &opts, &agent, &err), &err);
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = "note", .description = "Notes.", .fn = note,
                        .effect = effect, .flags = CHELA_TOOL_ON_LOOP);
    check(chela_agent_add_tool(agent, &tool, &err), &err);
    return agent;
}

static chela_runtime *new_runtime(const char *url, chela_store **store) {
    struct chela_error err = {0};
    chela_runtime *rt;
    check(chela_runtime_new(NULL, &rt, &err), &err);
    *store = NULL;
    if (strcmp(url, "none") == 0)
        return rt;
    struct chela_store_opts opts = CHELA_STORE_OPTS(.module_path = getenv("CHELA_MODULE_PATH"));
    check(chela_store_open(url, &opts, store, &err), &err);
    check(chela_runtime_store(rt, *store, CHELA_DURABILITY_DEFAULT, &err), &err);
    return rt;
}

static double turn_times[1 << 16];
static long nturns;

static void on_event(const struct chela_event *ev, void *user) {
    (void)user;
    if (ev->type == CHELA_EV_TURN_END && nturns < (long)(sizeof(turn_times) / sizeof(double)))
        turn_times[nturns++] = wall_us();
    if (ev->type == CHELA_EV_RUN_END && ev->end.status != CHELA_STATUS_DONE)
        fprintf(stderr, "store: %s %.*s\n", chela_reason_name(ev->end.reason), (int)ev->end.error.n,
                ev->end.error.p);
}

static int turns(const char *url, long n, enum chela_effect effect) {
    struct chela_error err = {0};
    chela_store *store;
    char text[256];
    snprintf(text, sizeof(text),
             "rules:\n  - { when: { turn: %ld }, say: done }\n"
             "  - { call: { tool: note, args: { text: some words to be noted } } }\n",
             n);
    write_rules(text);
    chela_runtime *rt = new_runtime(url, &store);
    chela_agent *agent = new_agent(rt, n, effect);
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = on_event);
    chela_session *s;
    chela_run *run;
    check(chela_session_new(agent, "bench", &s, &err), &err);
    check(chela_session_wait(s, &err), &err);
    long before = file_bytes(url);
    double cpu = cpu_us(), wall = wall_us();
    long synced = atomic_load(&syncs), in_syncs = atomic_load(&sync_ns);
    check(chela_run_start(s, "go", 2, &opts, &run, &err), &err);
    chela_run_wait(run);
    synced = atomic_load(&syncs) - synced;
    in_syncs = atomic_load(&sync_ns) - in_syncs;
    cpu = cpu_us() - cpu;
    wall = wall_us() - wall;
    chela_run_free(run);
    chela_runtime_close(rt);
    chela_store_close(store);
    printf("turns=%ld cpu_us_per_turn=%.1f of_it_in_syncs=%.1f wall_us_per_turn=%.1f "
           "bytes_per_turn=%.0f syncs=%ld\n",
           n, cpu / (double)n, (double)in_syncs / 1e3 / (double)n, wall / (double)n,
           (double)(file_bytes(url) - before) / (double)n, synced);
    return 0;
}

/* An exported session of n messages, as text. */
static char *long_session(long n, size_t *size) {
    char *text = NULL;
    FILE *f = open_memstream(&text, size);
    fprintf(f, "{\"chela_session\":1,\"key\":\"long\",\"agent\":\"main\"}\n");
    for (long i = 0; i < n; i += 2) {
        fprintf(f,
                "{\"seq\":%ld,\"type\":\"inbound\",\"ts\":1,\"data\":{\"run\":\"run_%ld\",\"mode\":"
                "\"start\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\","
                "\"text\":\"question number %ld, which is about as long as questions are\"}]}}}\n",
                i * 3 / 2 + 1, i, i);
        fprintf(f,
                "{\"seq\":%ld,\"type\":\"message\",\"ts\":1,\"data\":{\"run\":\"run_%ld\","
                "\"turn\":1,\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\","
                "\"text\":\"answer number %ld: it says somewhat more than the question did, "
                "as answers of models do, and then it ends\"}],"
                "\"api\":\"anthropic\",\"model\":\"m\"}}}\n",
                i * 3 / 2 + 2, i, i);
        fprintf(f,
                "{\"seq\":%ld,\"type\":\"state\",\"ts\":1,\"data\":{\"run\":\"run_%ld\",\"status\":"
                "\"done\",\"state\":\"DONE\",\"turns\":1,\"seq\":9}}\n",
                i * 3 / 2 + 3, i);
    }
    fclose(f);
    return text;
}

static int open_long(const char *url, long n) {
    struct chela_error err = {0};
    chela_store *store;
    size_t size;
    write_rules("rules: [{ say: done }]\n");
    char *text = long_session(n, &size);
    chela_runtime *rt = new_runtime(url, &store);
    if (!store) {
        fprintf(stderr, "store: nothing is kept there\n");
        return 1;
    }
    check(chela_store_import(store, text, size, NULL, NULL, &err), &err);
    free(text);
    chela_agent *agent = new_agent(rt, 10, CHELA_EFFECT_READ);
    chela_session *s;
    chela_run *run;
    double wall = wall_us(), cpu = cpu_us();
    check(chela_session_new(agent, "long", &s, &err), &err);
    check(chela_session_wait(s, &err), &err);
    double opened = wall_us(), cpu_opened = cpu_us();
    check(chela_run_start(s, "go", 2, NULL, &run, &err), &err);
    chela_run_wait(run);
    double over = wall_us(), cpu_over = cpu_us();
    printf("messages=%ld open_ms=%.1f open_cpu_ms=%.1f first_answer_ms=%.1f "
           "first_answer_cpu_ms=%.1f status=%s\n",
           n, (opened - wall) / 1e3, (cpu_opened - cpu) / 1e3, (over - opened) / 1e3,
           (cpu_over - cpu_opened) / 1e3,
           chela_status_name(chela_run_status(run)));
    chela_run_free(run);
    chela_runtime_close(rt);
    chela_store_close(store);
    return 0;
}

static long speaking; /* runs whose model has begun */

static void on_word(const struct chela_event *ev, void *user) {
    (void)user;
    speaking += ev->type == CHELA_EV_TEXT_DELTA;
}

static int count_held(const struct chela_store_session *row, void *user) {
    *(long *)user += row->owner[0] != '\0';
    return 0;
}

/* Until nobody has a session any more; a server takes its time. */
static void wait_idle(chela_runtime *rt, chela_store *store) {
    double until = wall_us() + 3e7;
    long held = 1;
    while (held && wall_us() < until) {
        double pause = wall_us() + 2e5;
        while (wall_us() < pause)
            chela_runtime_poll(rt);
        held = 0;
        if (store)
            chela_store_list(store, NULL, count_held, &held, NULL);
    }
}

static int sessions(const char *url, long n) {
    struct chela_error err = {0};
    chela_store *store;
    write_rules("rules: [{ say: a slow answer, stall_after: 1 }]\n");
    chela_runtime *rt = new_runtime(url, &store);
    chela_agent *agent = new_agent(rt, 10, CHELA_EFFECT_READ);
    chela_session **all = calloc((size_t)n, sizeof(*all));
    for (int i = 0; i < 50; i++)
        chela_runtime_poll(rt);
    long before = rss_kb();
    for (long i = 0; i < n; i++) {
        char key[32];
        snprintf(key, sizeof(key), "s%ld", i);
        check(chela_session_new(agent, key, &all[i], &err), &err);
        struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = on_word);
        check(chela_run_start(all[i], "go", 2, &opts, NULL, &err), &err);
    }
    double until = wall_us() + 3e7;
    while (speaking < n && wall_us() < until)
        chela_runtime_poll(rt);
    long waiting = rss_kb();
    for (long i = 0; i < n; i++)
        chela_session_close(all[i]);
    wait_idle(rt, store);
    malloc_trim(0); /* what is left is in use */
    printf("sessions=%ld waiting=%ld kb_each=%.1f kb_each_after=%.1f\n", n, speaking,
           (double)(waiting - before) / (double)n, (double)(rss_kb() - before) / (double)n);
    free(all);
    chela_runtime_close(rt);
    chela_store_close(store);
    return 0;
}

/* A session of one turn, with one tool and a short system prompt. */
static void import_turn(chela_store *store, long i) {
    struct chela_error err = {0};
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    long ts = 1700000000000 + i * 1000;
    fprintf(f, "{\"chela_session\":1,\"key\":\"s%ld\",\"agent\":\"main\"}\n", i);
    fprintf(f,
            "{\"seq\":1,\"type\":\"inbound\",\"ts\":%ld,\"data\":{\"run\":\"run_%ld\",\"mode\":"
            "\"start\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
            "\"a question that is about as long as questions are\"}]}}}\n",
            ts, i);
    fprintf(f,
            "{\"seq\":2,\"type\":\"part\",\"ts\":%ld,\"data\":{\"id\":\"68d0bb186f161ce9\","
            "\"kind\":\"tool\",\"name\":\"note\",\"description\":\"%0400d\"}}\n",
            ts, 0);
    fprintf(f,
            "{\"seq\":3,\"type\":\"part\",\"ts\":%ld,\"data\":{\"id\":\"7705c1b76d940774\","
            "\"kind\":\"setup\",\"system\":\"%0800d\"}}\n",
            ts, 0);
    fprintf(f,
            "{\"seq\":4,\"type\":\"request\",\"ts\":%ld,\"data\":{\"run\":\"run_%ld\",\"turn\":1,"
            "\"setup\":\"7705c1b76d940774\",\"messages\":1,\"bytes\":1300,\"digest\":\"%064d\"}}\n",
            ts, i, 0);
    fprintf(f,
            "{\"seq\":5,\"type\":\"message\",\"ts\":%ld,\"data\":{\"run\":\"run_%ld\",\"turn\":1,"
            "\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":"
            "\"an answer that says somewhat more than the question did, as answers do\"}],"
            "\"api\":\"anthropic\",\"model\":\"m\"},\"stop\":\"stop\",\"usage\":{\"input\":3275,"
            "\"output\":40,\"cache_read\":0,\"cache_write\":0,\"reasoning\":0},\"cost\":0.01}}\n",
            ts + 500, i);
    fprintf(f,
            "{\"seq\":6,\"type\":\"state\",\"ts\":%ld,\"data\":{\"run\":\"run_%ld\",\"turn\":1,"
            "\"status\":\"done\",\"mode\":\"react\",\"state\":\"DONE\",\"reason\":"
            "\"task_completed\",\"turns\":1,\"seq\":10,\"usage\":{\"input\":3275,\"output\":40},"
            "\"cost\":0.01}}\n",
            ts + 501, i);
    fclose(f);
    check(chela_store_import(store, text, size, NULL, NULL, &err), &err);
    free(text);
}

static int on_call(const struct chela_model_call *call, void *user) {
    *(int64_t *)user += call->model ? call->input : 0;
    return 0;
}

static int usage(const char *url, long n) {
    struct chela_error err = {0};
    struct chela_store_opts opts = CHELA_STORE_OPTS(.module_path = getenv("CHELA_MODULE_PATH"));
    chela_store *store;
    int64_t input = 0;
    check(chela_store_open(url, &opts, &store, &err), &err);
    for (long i = 0; i < n; i++)
        import_turn(store, i);
    double wall = wall_us(), cpu = cpu_us();
    check(chela_trace_calls(store, 0, 0, on_call, &input, &err), &err);
    printf("sessions=%ld usage_cpu_ms=%.1f usage_ms=%.1f us_per_session=%.2f input=%lld\n", n,
           (cpu_us() - cpu) / 1e3, (wall_us() - wall) / 1e3, (cpu_us() - cpu) / (double)n,
           (long long)input);
    chela_store_close(store);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    long n = strtol(argv[3], NULL, 10);
    int rc = strcmp(argv[2], "turns") == 0      ? turns(argv[1], n, CHELA_EFFECT_READ)
             : strcmp(argv[2], "writes") == 0   ? turns(argv[1], n, CHELA_EFFECT_ONCE)
             : strcmp(argv[2], "open") == 0     ? open_long(argv[1], n)
             : strcmp(argv[2], "sessions") == 0 ? sessions(argv[1], n)
             : strcmp(argv[2], "usage") == 0    ? usage(argv[1], n)
                                                : 2;
    unlink(rules);
    return rc;
}
