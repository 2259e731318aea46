/* memory.c -- see memory.h. */
#include "sandbox/memory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/options.h"

#define KB 1024
#define SUMS 3
#define GROUP "chela-box-" /* followed by the pid of the keeper */
#define ROOT "/sys/fs/cgroup"

static bool memory_read(const char *path, char *out, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* --- adding up ---------------------------------------------------------------------- */

/* The sum of the lines that begin with one of two names, in bytes. */
static uint64_t add_lines(const char *text, const char *a, const char *b) {
    uint64_t sum = 0;

    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *name = strncmp(line, a, strlen(a)) == 0   ? a
                           : strncmp(line, b, strlen(b)) == 0 ? b
                                                              : NULL;
        if (name)
            sum += strtoull(line + strlen(name), NULL, 10) * KB;
    }
    return sum;
}

/* The memory of a process, including shared memory. exact: only the process's share of
 * shared memory. If a process forbids reading its share, its shared memory counts in full. */
static uint64_t used_by(const char *pid, bool exact) {
    char path[64], text[4096];

    snprintf(path, sizeof(path), "/proc/%.20s/smaps_rollup", pid);
    if (exact && memory_read(path, text, sizeof(text)))
        return add_lines(text, "Pss_Anon:", "Pss_Shmem:");
    snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
    return memory_read(path, text, sizeof(text)) ? add_lines(text, "RssAnon:", "RssShmem:") : 0;
}

static uint64_t used_by_all(bool exact) {
    DIR *d = opendir("/proc");
    uint64_t sum = 0;

    for (struct dirent *e; d && (e = readdir(d));)
        if (isdigit((unsigned char)e->d_name[0]))
            sum += used_by(e->d_name, exact);
    if (d)
        closedir(d);
    return sum;
}

/* The shared memory of a process that forks while the figures are read is counted twice. So the
 * sum is taken several times, some time apart, and one sum below the limit suffices. */
bool ch_memory_is_over(uint64_t limit) {
    bool over = used_by_all(false) > limit;

    for (int i = 0; over && i < SUMS; i++) {
        over = used_by_all(true) > limit;
        nanosleep(&(struct timespec){.tv_nsec = CH_MEMORY_POLL_NS / 20}, NULL);
    }
    return over;
}

/* --- cgroups ------------------------------------------------------------------------ */

static bool memory_write(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n = (ssize_t)strlen(text);
    bool done = fd >= 0 && write(fd, text, (size_t)n) == n;

    if (fd >= 0)
        close(fd);
    return done;
}

static bool set_value(const char *dir, const char *file, uint64_t value) {
    return memory_write(ch_text("%s/%s", dir, file), ch_text("%llu", (unsigned long long)value));
}

/* The group of this process in a hierarchy: ":memory:", or "::" for version 2. */
static const char *own_group(const char *hierarchy) {
    char text[4096];

    if (!memory_read("/proc/self/cgroup", text, sizeof(text)))
        return NULL;
    const char *at = strstr(text, hierarchy);
    if (!at)
        return NULL;
    at += strlen(hierarchy);
    int n = (int)strcspn(at, "\n");
    return n == 1 ? "" : ch_text("%.*s", n, at); /* "/": the root */
}

/* Removes the groups of keepers that were killed. */
static void sweep(const char *parent) {
    DIR *d = opendir(parent);

    for (struct dirent *e; d && (e = readdir(d));) {
        if (strncmp(e->d_name, GROUP, strlen(GROUP)) != 0)
            continue;
        pid_t keeper = (pid_t)strtol(e->d_name + strlen(GROUP), NULL, 10);
        if (keeper > 0 && kill(keeper, 0) < 0 && errno == ESRCH)
            rmdir(ch_text("%s/%s", parent, e->d_name));
    }
    if (d)
        closedir(d);
}

/* Make a group below parent. NULL: not possible, or `file` cannot be set in it. */
static char *make_below(const char *parent, const char *file) {
    char *dir = ch_text("%s/%s%d", parent, GROUP, (int)getpid());
    struct stat st;

    if (access(parent, W_OK) < 0)
        return NULL;
    sweep(parent);
    if (mkdir(dir, 0755) < 0)
        return NULL;
    if (stat(ch_text("%s/%s", dir, file), &st) == 0)
        return dir;
    rmdir(dir);
    return NULL;
}

static const char *above(const char *group) {
    const char *slash = strrchr(group, '/');

    return slash ? ch_text("%.*s", (int)(slash - group), group) : NULL;
}

/* Version 2: a group that contains processes cannot have limited groups below it, so a group
 * beside this process's group is tried, too. */
static bool make_v2(struct ch_box_group *g, const struct ch_box_limits *l) {
    const char *root = access(ROOT "/cgroup.controllers", F_OK) == 0 ? ROOT : ROOT "/unified";
    const char *own = own_group("0::");

    for (int i = 0; i < 2 && own && !g->dirs[0]; i++, own = above(own)) {
        const char *parent = ch_text("%s%s", root, own);
        memory_write(ch_text("%s/cgroup.subtree_control", parent), "+memory +pids");
        g->dirs[0] = make_below(parent, "memory.max");
    }
    if (!g->dirs[0])
        return false;
    g->events = "memory.events";
    set_value(g->dirs[0], "memory.swap.max", 0);
    set_value(g->dirs[0], "memory.oom.group", 1);
    if (l->processes)
        set_value(g->dirs[0], "pids.max", l->processes);
    return set_value(g->dirs[0], "memory.max", l->total);
}

static bool make_v1(struct ch_box_group *g, const struct ch_box_limits *l) {
    const char *memory = own_group(":memory:"), *pids = own_group(":pids:");

    if (!memory)
        return false;
    g->dirs[0] = make_below(ch_text(ROOT "/memory%s", memory), "memory.limit_in_bytes");
    if (!g->dirs[0])
        return false;
    g->events = "memory.oom_control";
    g->kills_one = true;
    if (pids && l->processes)
        g->dirs[1] = make_below(ch_text(ROOT "/pids%s", pids), "pids.max");
    if (g->dirs[1])
        set_value(g->dirs[1], "pids.max", l->processes);
    return set_value(g->dirs[0], "memory.limit_in_bytes", l->total);
}

static bool open_procs(struct ch_box_group *g) {
    for (int i = 0; i < 2 && g->dirs[i]; i++) {
        g->procs[i] = open(ch_text("%s/cgroup.procs", g->dirs[i]), O_WRONLY | O_CLOEXEC);
        if (g->procs[i] < 0)
            return false;
    }
    return true;
}

bool ch_group_make(struct ch_box_group *g, const struct ch_box_limits *limits) {
    *g = (struct ch_box_group){.procs = {-1, -1}};
    if (!limits->total)
        return false;
    if ((make_v2(g, limits) || (!g->dirs[0] && make_v1(g, limits))) && open_procs(g))
        return true;
    ch_group_remove(g);
    return false;
}

bool ch_group_join(const struct ch_box_group *g) {
    bool joined = g->dirs[0] != NULL;

    for (int i = 0; i < 2 && g->dirs[i]; i++)
        joined = write(g->procs[i], "0", 1) == 1 && joined;
    return joined;
}

/* "oom_kill N" in either version. */
bool ch_group_has_killed(const struct ch_box_group *g) {
    char text[512];

    if (!g->dirs[0] || !memory_read(ch_text("%s/%s", g->dirs[0], g->events), text, sizeof(text)))
        return false;
    const char *at = strstr(text, "oom_kill ");
    return at && strtoul(at + strlen("oom_kill "), NULL, 10) > 0;
}

bool ch_group_remove(struct ch_box_group *g) {
    bool killed = ch_group_has_killed(g);

    for (int i = 0; i < 2; i++) {
        if (g->procs[i] >= 0)
            close(g->procs[i]);
        if (g->dirs[i])
            rmdir(g->dirs[i]);
    }
    *g = (struct ch_box_group){.procs = {-1, -1}};
    return killed;
}
