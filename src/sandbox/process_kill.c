/* process_kill.c -- see process_kill.h.
 *
 * Killing alone cannot catch a process that forks continuously. So all
 * descendants are stopped first, until a scan finds no new one, and then
 * killed. */
#include "sandbox/process_kill.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/mem.h"

#define STOP_PASSES 50
#define ROUNDS 200
#define PAUSE_NS 2000000

struct process {
    pid_t pid, parent;
    unsigned long threads;
    bool ours;
};

struct table {
    struct process *p; /* owned */
    size_t n, cap;
};

/* "pid (name) state ppid ... num_threads". The name may contain any character,
 * so the fields are counted from the last parenthesis. */
static bool read_stat(const char *pid, struct process *out) {
    char path[64], text[1024];

    snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *end = strrchr(text, ')');
    int parent;
    unsigned long threads;
    if (!end ||
        sscanf(end, ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %lu",
               &parent, &threads) != 2)
        return false;
    *out = (struct process){
        .pid = (pid_t)strtol(pid, NULL, 10),
        .parent = parent,
        .threads = threads,
    };
    return true;
}

static void process_kill_add(struct table *t, const struct process *p) {
    CH_GROW(t->p, t->n, t->cap, 256);
    t->p[t->n++] = *p;
}

static void read_table(struct table *t) {
    DIR *d = opendir("/proc");
    struct process p;

    t->n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        if (isdigit((unsigned char)e->d_name[0]) && read_stat(e->d_name, &p))
            process_kill_add(t, &p);
    if (d)
        closedir(d);
}

/* Mark the descendants of this process; returns their number. */
static size_t mark_ours(struct table *t) {
    pid_t self = getpid();
    size_t found = 0;

    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < t->n; i++) {
            bool below = t->p[i].parent == self;
            for (size_t j = 0; !below && j < t->n; j++)
                below = t->p[j].ours && t->p[j].pid == t->p[i].parent;
            if (!below || t->p[i].ours)
                continue;
            t->p[i].ours = more = true;
            found++;
        }
    }
    return found;
}

static size_t signal_all(struct table *t, int sig) {
    read_table(t);
    size_t n = mark_ours(t);
    for (size_t i = 0; i < t->n; i++)
        if (t->p[i].ours)
            kill(t->p[i].pid, sig);
    return n;
}

void ch_descendants_signal(int sig) {
    struct table t = {0};

    signal_all(&t, sig);
    ch_free(t.p);
}

/* True if no child is left. */
static bool reap_all(void) {
    pid_t pid;

    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        ;
    return pid < 0 && errno == ECHILD;
}

void ch_descendants_end(void) {
    struct table t = {0};

    for (int round = 0; round < ROUNDS && !reap_all(); round++) {
        size_t last = 0, n = 0;
        for (int pass = 0; pass < STOP_PASSES; pass++) {
            n = signal_all(&t, SIGSTOP);
            if (n == last)
                break;
            last = n;
        }
        signal_all(&t, SIGKILL);
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    ch_free(t.p);
}

uint64_t ch_tasks_of_user(void) {
    DIR *d = opendir("/proc");
    uid_t uid = getuid();
    uint64_t n = 0;
    struct process p;
    struct stat st;

    for (struct dirent *e; d && (e = readdir(d));)
        if (isdigit((unsigned char)e->d_name[0]) && fstatat(dirfd(d), e->d_name, &st, 0) == 0 &&
            st.st_uid == uid && read_stat(e->d_name, &p))
            n += p.threads;
    if (d)
        closedir(d);
    return n;
}
