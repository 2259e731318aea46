/* main.c -- chooses the faults of a seed, runs it, and prints the verdict. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/sim.h"

#define SETTLE_US (400 * (int64_t)SIM_S) /* after the faults, all is done within this time */

void *sim_loop_main(void *arg); /* machine.c */

/* --- faults */

static void start(void *arg) {
    struct sim_node *node = arg;
    if (node->up)
        return;
    node->life++;
    node->up = true;
    node->gw = NULL;
    node->rt = NULL;
    node->calls_end = &node->calls;
    node->main = sim_spawn(node, sim_loop_main, node);
}

static void crash(void *arg) {
    struct sim_node *node = arg;
    sim_kill(node);
}

/* Whatever killed it, something starts it again. */
static void supervise(void *arg) {
    struct sim_node *node = arg;
    if (!node->up)
        sim_at(sim.now + (sim_chance(500) ? 0 : sim_between(0, 15 * SIM_S)), start, node);
    sim_at(sim.now + sim_between(100 * SIM_MS, SIM_S), supervise, node);
}

/* SIGTERM: the process waits a while for its runs. */
static void end(void *arg) {
    struct sim_node *node = arg;
    int64_t drain = sim_chance(500) ? 0 : sim_between(0, 5 * SIM_S);
    if (!node->up || !node->gw || node->ends || sim.backend == SIM_MEMORY)
        return;
    chela_gateway_stop(node->gw, drain / SIM_MS);
    node->ends = sim.now + drain + sim_between(0, 50 * SIM_MS);
    sim_note("%s is told to end until %.3f", node->name, (double)node->ends / SIM_S);
}

static int64_t some_time(void) {
    return sim_chance(400)   ? sim_between(10 * SIM_MS, 2 * SIM_S)
           : sim_chance(500) ? sim_between(2 * SIM_S, 20 * SIM_S)
                             : sim_between(20 * SIM_S, 90 * SIM_S);
}

static void stop(void *arg) {
    struct sim_node *node = arg;
    if (!node->up)
        return;
    node->stopped = sim.now + some_time();
    sim.stops++;
    sim_note("%s is stopped until %.3f", node->name, (double)node->stopped / SIM_S);
}

static void cut(void *arg) {
    struct sim_node *node = arg;
    node->cut = sim.now + some_time();
    sim.cuts++;
    sim_note("%s cannot reach the store until %.3f", node->name, (double)node->cut / SIM_S);
}

static void mute(void *arg) {
    struct sim_node *node = arg;
    node->mute = sim.now + some_time();
    sim.cuts++;
    sim_note("%s cannot reach the chat until %.3f", node->name, (double)node->mute / SIM_S);
}

static void slow(void *arg) {
    struct sim_node *node = arg;
    node->slow = sim.now + some_time();
    sim.slows++;
    sim_note("the store is slow for %s until %.3f", node->name, (double)node->slow / SIM_S);
}

static void fill(void *arg) {
    struct sim_node *node = arg;
    node->broken = sim.now + CH_MIN(some_time(), 20 * (int64_t)SIM_S);
    sim.slows++;
    sim_note("the disk refuses writes until %.3f", (double)node->broken / SIM_S);
}

static void jump(void *arg) {
    struct sim_node *node = arg;
    static const int64_t ways[] = {1, 40, 3600, 86400};
    node->skew += ways[sim_random(4)] * SIM_S * (sim_chance(500) ? 1 : -1);
    sim.jumps++;
    sim_note("the wall clock of %s is off by %lld s", node->name, (long long)node->skew / SIM_S);
}

static void plan_faults(void) {
    static void (*const all[])(void *) = {crash, stop, cut, mute, slow, jump, fill, end};
    unsigned n = (unsigned)sim_random(9);
    for (unsigned i = 0; i < n; i++) {
        void (*fault)(void *) = all[sim_random(sizeof(all) / sizeof(all[0]))];
        struct sim_node *node = &sim.nodes[sim_random(sim.nnodes)];
        if (sim.backend == SIM_MEMORY && fault == crash)
            continue; /* the store would be gone with the process */
        sim_at(sim_between(0, sim.active), fault, node);
    }
}

static void heal(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < sim.nnodes; i++) {
        struct sim_node *node = &sim.nodes[i];
        node->stopped = node->cut = node->mute = node->slow = node->broken = 0;
    }
    sim.ack_dies = sim.commit_dies = sim.call_stops = 0;
    sim_note("all faults are over");
}

/* --- one seed */

static void begin(void) {
    bool servers = sim.backend == SIM_POSTGRES || sim.backend == SIM_REDIS;
    sim.dice = sim.seed * 2654435761u + (uint64_t)sim.backend;
    sim.noise = ~sim.dice;
    bool machine = sim_chance(500);
    sim.active = sim_between(5 * SIM_S, 90 * SIM_S);
    sim.nnodes = servers ? (unsigned)sim_between(2, SIM_NODES) : 1;
    sim.serial = sim_chance(500);
    sim.ack_dies = sim.backend != SIM_MEMORY && sim_chance(300) ? 150 : 0;
    sim.commit_dies = sim.backend != SIM_MEMORY && sim_chance(300) ? 15 : 0;
    sim.call_stops = servers && sim_chance(300) ? 100 : 0;
    sim_store_begin();
    for (unsigned i = 0; i < sim.nnodes; i++) {
        struct sim_node *node = &sim.nodes[i];
        node->index = i;
        snprintf(node->name, sizeof(node->name), "n%u", i);
        node->shared_machine = machine;
        node->uptime = sim_between(SIM_S, 100000 * (int64_t)SIM_S);
        node->skew = sim_chance(200) ? sim_between(-3 * SIM_S, 3 * SIM_S) : 0;
        sim_at(sim_between(0, SIM_S), start, node);
        sim_at(2 * SIM_S, supervise, node);
    }
    sim_world_plan();
    plan_faults();
    sim_at(sim.active, heal, NULL);
}

static void settle(const char *what) {
    int64_t from = sim.now;
    sim_run(sim.now + SETTLE_US, sim_world_rests);
    if (!*sim.verdict && sim.now - from >= SETTLE_US)
        sim_violation("P1: %s, %d s later: %s", what, (int)(SETTLE_US / SIM_S), sim_left);
}

static void restart_all(void) {
    for (unsigned i = 0; i < sim.nnodes; i++)
        if (sim.backend != SIM_MEMORY)
            sim_kill(&sim.nodes[i]);
}

static bool run_seed(void) {
    begin();
    sim_run(sim.active + SIM_S, NULL);
    settle("after the faults");
    if (!*sim.verdict) {
        restart_all(); /* every stored state loads and can continue */
        sim_world_probe();
        settle("after a restart");
    }
    sim_run(sim.now + 12 * SIM_S, NULL);
    if (!*sim.verdict)
        sim_judge();
    if (sim.trace)
        printf("  %llu steps, %.0f s: %u events, %u model calls, %u sent; %u crashes, %u stops, %u "
               "cuts, %u clock jumps, %u slow, %u taken over\n",
               (unsigned long long)sim.steps, (double)sim.now / SIM_S, sim.nevents, sim.replies,
               sim.sends, sim.crashes, sim.stops, sim.cuts, sim.jumps, sim.slows, sim.takeovers);
    return !*sim.verdict;
}

/* --- many seeds, each in a process of its own */

struct outcome {
    bool bad;
    char verdict[sizeof(sim.verdict)];
};

static struct outcome fork_seed(void) {
    struct outcome o = {.bad = true, .verdict = "the simulator crashed"};
    int ends[2], status;
    if (pipe(ends) < 0)
        abort();
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        bool good = run_seed();
        if (!good && write(ends[1], sim.verdict, sizeof(sim.verdict)) < 0)
            _exit(3);
        fflush(stdout);
        _exit(good ? 0 : 1);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], o.verdict, sizeof(o.verdict));
    close(ends[0]);
    waitpid(pid, &status, 0);
    o.bad = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    if (n <= 0)
        snprintf(o.verdict, sizeof(o.verdict), "the process of the seed ended with status %d",
                 status);
    return o;
}

static int named(const char *name, const char *const *names, int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    fprintf(stderr, "sim: unknown name '%s'\n", name);
    exit(2);
}

static double seconds(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Runs seeds until the number or the time is used up; returns the number of bad ones. */
static unsigned run_seeds(uint64_t first, uint64_t n, double most, uint64_t *done) {
    double end = seconds() + most;
    unsigned bad = 0;
    for (*done = 0; *done < n && (most <= 0 || seconds() < end) && bad < 10; ++*done) {
        sim.seed = first + *done;
        struct outcome o = fork_seed();
        if (!o.bad)
            continue;
        bad++;
        printf("# seed %llu (%s): %s\n#   again: sim --backend %s --seed %llu --trace%s%s\n",
               (unsigned long long)sim.seed, sim_backend_names[sim.backend], o.verdict,
               sim_backend_names[sim.backend], (unsigned long long)sim.seed,
               sim.defect ? " --defect " : "", sim.defect ? sim_defect_names[sim.defect] : "");
        if (sim.defect)
            break;
    }
    return bad;
}

static int usage(void) {
    fputs("usage: sim [--backend memory|sqlite|postgres|redis] [--seed N] [--count N]\n"
          "           [--seconds S] [--trace] [--defect NAME]\n",
          stderr);
    return 2;
}

int main(int argc, char **argv) {
    static const struct option longs[] = {
        {"backend", 1, NULL, 'b'}, {"seed", 1, NULL, 's'},  {"count", 1, NULL, 'n'},
        {"seconds", 1, NULL, 't'}, {"trace", 0, NULL, 'v'}, {"defect", 1, NULL, 'd'}, {0}};
    uint64_t first = 1, n = 1, done = 0;
    double most = 0;
    sim.backend = SIM_POSTGRES;
    for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        if (c == 'b')
            sim.backend = (enum sim_backend)named(optarg, sim_backend_names, SIM_BACKENDS);
        else if (c == 's')
            first = strtoull(optarg, NULL, 10);
        else if (c == 'n')
            n = strtoull(optarg, NULL, 10);
        else if (c == 't')
            most = strtod(optarg, NULL);
        else if (c == 'v')
            sim.trace = true;
        else if (c == 'd')
            sim.defect = (enum sim_defect)named(optarg, sim_defect_names, SIM_DEFECTS);
        else
            return usage();
    }
    if (most > 0 && n == 1)
        n = UINT64_MAX;
    unsigned bad = run_seeds(first, n, most, &done);
    printf("%s: %llu seeds, %u violations\n", sim_backend_names[sim.backend],
           (unsigned long long)(done + (bad && sim.defect)), bad);
    return bad ? 1 : 0;
}
