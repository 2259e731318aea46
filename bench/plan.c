/* plan.c -- how long a plan of steps that need nothing of each other takes.
 *
 * Eight steps, each a tool that takes 100 ms in a thread of its own. Looked at is
 * the time from the plan, as it is shown before its first step, to the end of the
 * last step; it has to be below 130 ms, so that 30 ms are left for eight calls on
 * their way through policy, journal and threads.
 *
 *     plan [RUNS]   default 5; fails if the best of them takes 130 ms or more */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <chela.h>

#define STEPS 8
#define STEP_MS 100
#define LIMIT_MS 130.0

struct watch {
    double planned, done;
    int ended;
};

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int wait_a_moment(chela_call *call, void *user) {
    const struct timespec moment = {.tv_nsec = STEP_MS * 1000000L};
    (void)user;
    nanosleep(&moment, NULL);
    chela_result_printf(call, "waited");
    return 0;
}

static bool is(struct chela_str s, const char *word) {
    return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0;
}

static void look(const struct chela_event *ev, void *user) {
    struct watch *w = user;
    if (ev->type == CHELA_EV_PLAN && w->planned == 0)
        w->planned = now_ms();
    if (ev->type == CHELA_EV_TOOL_RESULT && is(ev->result.name, "pause") && !ev->result.is_error) {
        w->ended++;
        w->done = now_ms();
    }
    if (ev->type == CHELA_EV_RUN_END && ev->end.status != CHELA_STATUS_DONE)
        fprintf(stderr, "plan: %.*s\n", (int)ev->end.error.n, ev->end.error.p);
}

/* The rules that play planner, reflector and model; the file's name in path. */
static bool write_rules(char *path) {
    int fd = mkstemps(path, 5);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f)
        return false;
    fputs("rules:\n  - when: { system: \"^You are a planner\" }\n    say: '{\"analysis\":\"a\","
          "\"action\":\"plan\",\"estimated_steps\":8,\"can_parallelize\":[],\"plan\":[", f);
    for (int i = 1; i <= STEPS; i++)
        fprintf(f, "%s{\"step_id\":%d,\"description\":\"wait\",\"tool_name\":\"pause\","
                   "\"tool_input\":{},\"depends_on\":[]}", i > 1 ? "," : "", i);
    fputs("]}'\n  - { say: \"done\" }\n", f);
    return fclose(f) == 0;
}

static double run_once(chela_agent *agent, struct chela_error *err) {
    struct watch w = {0};
    struct chela_run_opts how = CHELA_RUN_OPTS(.on_event = look, .user = &w);
    chela_session *s;
    chela_run *run;
    if (chela_session_new(agent, NULL, &s, err) < 0 ||
        chela_run_start(s, "wait", 4, &how, &run, err) < 0)
        return -1;
    chela_run_wait(run);
    chela_run_free(run);
    chela_session_close(s);
    return w.ended == STEPS ? w.done - w.planned : -1;
}

int main(int argc, char **argv) {
    int runs = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
    char path[] = "/tmp/chela-plan-XXXXXX.yaml", model[sizeof(path) + 16];
    double best = -1, worst = 0;
    struct chela_error err = {0};
    chela_runtime *rt;
    chela_agent *agent;
    if (!write_rules(path)) {
        perror(path);
        return 1;
    }
    snprintf(model, sizeof(model), "scripted/%s", path);
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.model = model, .mode = CHELA_MODE_PLAN,
                         .toolset =
                             &(struct chela_toolset_opts)CHELA_TOOLSET_OPTS(.parallel = STEPS),
                         .planning =
                             &(struct chela_planning_opts)
                                 CHELA_PLANNING_OPTS(.reflection = CHELA_REFLECTION_IMPLICIT));
    int rc = chela_runtime_new(NULL, &rt, &err);
    if (rc == 0)
        rc = chela_agent_new(rt, &opts, &agent, &err);
    if (rc == 0)
        rc = chela_agent_tool(agent, "pause", "Wait.", NULL, wait_a_moment, NULL);
    for (int i = 0; rc == 0 && i < runs; i++) {
        double ms = run_once(agent, &err);
        rc = ms < 0;
        best = best < 0 || ms < best ? ms : best;
        worst = ms > worst ? ms : worst;
    }
    unlink(path);
    if (rc != 0) {
        fprintf(stderr, "plan: %s\n", err.message);
        return 1;
    }
    printf("plan of %d steps of %d ms, side by side: %.1f ms after planning (worst of %d: %.1f)\n",
           STEPS, STEP_MS, best, runs, worst);
    chela_runtime_close(rt);
    return best < LIMIT_MS ? 0 : 1;
}
