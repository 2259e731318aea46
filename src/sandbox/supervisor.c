/* supervisor.c -- see supervisor.h.
 *
 * The keeper is a subreaper: if bubblewrap is killed, its init becomes a child
 * of the keeper. When no child is left, the box is empty. */
#include "sandbox/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guard/repositories.h"
#include "sandbox/bwrap.h"
#include "sandbox/confine.h"
#include "sandbox/mounts.h"
#include "sandbox/process_kill.h"
#include "sandbox/init.h"
#include "sandbox/memory.h"
#include "sandbox/options.h"
#include "sandbox/overlay.h"
#include "sandbox/protect.h"
#include "sandbox/report.h"
#include "sandbox/scratch.h"

struct keeper {
    struct ch_box *box;
    struct ch_box_view view;
    struct ch_box_group group;
    const char *scratch; /* NULL: none */
    pid_t child;         /* bubblewrap, init or the command */
    int ready;           /* readable when init is ready; -1: ready, or no init */
    bool stopping;       /* asked to terminate before init was ready */
    bool asked;          /* the runtime has asked for the end of the command */
    bool gone;           /* the leader is gone: kill everything now */
    bool orphaned;       /* the leader died while the command ran, and nobody had asked */
    struct timespec since; /* the start of the command, by the clock of files */
    struct ch_arena arena;
    const char *const *kept, *const *absent, *const *absent_hidden; /* as in repositories.h */
};

#define READY_POLL_NS 5000000
#define DYING_MS 5000 /* for the end of a runtime that was killed */

/* --- preparation */

static void become_keeper(pid_t leader) {
    setsid();
    prctl(PR_SET_PDEATHSIG, CH_SIG_GONE);
    if (getppid() != leader)
        _exit(0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGTERM, SIG_IGN); /* sent to the whole group; bubblewrap inherits this */
    signal(SIGPIPE, SIG_IGN);
}

/* Since Linux 5.14 a user namespace counts its own processes. */
static bool counts_per_namespace(void) {
    struct utsname u;

    if (uname(&u) < 0)
        return false;
    char *rest;
    long major = strtol(u.release, &rest, 10);
    long minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
    return major > 5 || (major == 5 && minor >= 14);
}

static bool is_setuid(const char *path) {
    struct stat st;

    return stat(path, &st) == 0 && (st.st_mode & S_ISUID);
}

/* Where the limit counts all processes of the user, add the existing ones. */
static void raise_process_limit(struct ch_box *box) {
    bool own_count = box->outer != CH_OUTER_NONE && counts_per_namespace() &&
                     !(box->bwrap && is_setuid(box->bwrap));

    if (box->limits.processes && !own_count && geteuid() != 0)
        box->limits.processes += ch_tasks_of_user();
}

/* For init, if it is root: see bound_numbers in init.c. */
static void open_sysctl(void) {
    int fd = geteuid() == 0 ? open("/proc/sys/kernel", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd < 0)
        return;
    dup2(fd, CH_FD_SYSCTL);
    close(fd);
}

static void supervisor_prepare(struct keeper *k) {
    raise_process_limit(k->box);
    if (k->box->outer == CH_OUTER_NONE) {
        k->scratch = k->box->tmp = ch_scratch_make();
        ch_confine_home(k->box);
        return;
    }
    ch_view_make(&k->view, k->box);
    const char *refused = ch_guard_set(&k->view, k->box);
    if (refused)
        ch_die("permission_denied", "%s is a symbolic link, so it cannot be protected", refused);
    k->kept = ch_repositories_kept(&k->arena, k->box->workspace, k->box->protect.p);
    k->absent = ch_repositories_absent(&k->arena, k->box->workspace, k->box->protect.p);
    k->absent_hidden = ch_repositories_absent(&k->arena, NULL, k->box->hide.p);
    ch_view_seal(&k->view);
    open_sysctl();
    k->ready = ch_pipe_to(CH_FD_READY);
}

/* --- the child */

static void unblock_all(void) {
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

_Noreturn static void be_child(struct keeper *k) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (ch_group_join(&k->group) && k->box->trial)
        ch_note(CH_NOTE_GROUP);
    switch (k->box->outer) {
    case CH_OUTER_BWRAP:
        unblock_all();
        ch_bwrap_exec(k->box, &k->view);
    case CH_OUTER_NAMESPACES:
        ch_mounts_make(k->box, &k->view);
        ch_init(k->box);
    case CH_OUTER_NONE:
        ch_confine_exec(k->box);
    }
    _exit(CH_EXIT_BROKEN);
}

static void clean_up(struct keeper *k) {
    if (ch_group_remove(&k->group))
        ch_complain("internal", CH_MEMORY_OVER,
                    (unsigned long long)k->box->limits.total / (1024 * 1024));
    if (k->scratch)
        ch_scratch_remove(k->scratch);
}

/* True if the runtime, which reads the reports, has been killed. Its threads end one after the
 * other: the leader dies with the thread that started it, and the last one closes the reports. */
static bool is_forsaken(const struct keeper *k) {
    struct pollfd p = {.fd = CH_FD_REPORT};

    return poll(&p, 1, k->orphaned ? DYING_MS : 0) > 0 && p.revents & (POLLERR | POLLHUP);
}

/* Set aside files that other programs would execute, if the runtime cannot do so any more
 * (guard/repositories.h). */
static void search_after(const struct keeper *k) {
    struct ch_arena arena = {0};
    struct ch_held_list held;
    struct ch_repositories before = {.cut = true,
                                     .unknown = true,
                                     .kept = k->kept,
                                     .hidden = k->box->hide.p,
                                     .absent = k->absent,
                                     .absent_hidden = k->absent_hidden};
    const struct ch_box *box = k->box;
    const char **tops = ch_arena_zalloc(&arena, (box->writable.n + 2) * sizeof(*tops));
    size_t n = 0;

    if (box->workspace)
        tops[n++] = box->workspace;
    for (size_t i = 0; i < box->writable.n; i++) {
        const char *real = ch_real_path(box->writable.p[i]);
        if (real && strcmp(real, "/") != 0)
            tops[n++] = real;
    }
    ch_repositories_hold(&arena, tops,
                         box->free_instructions ? CH_KIND_EXECUTED : CH_KIND_INSTRUCTIONS, &before,
                         &k->since, &held);
    ch_arena_release(&arena);
}

static void supervisor_start(struct keeper *k) {
    bool own = k->box->outer == CH_OUTER_NAMESPACES;

    ch_group_make(&k->group, &k->box->limits);
    k->child = own ? ch_namespaces_fork(k->box) : fork();
    if (k->child == 0)
        be_child(k);
    int error = own ? -k->child : errno;
    if (k->child < 0) {
        clean_up(k);
        ch_die("unavailable", "the sandbox cannot be made: %s", strerror(error));
    }
    ch_null_stdio();
    close(CH_FD_SYSCTL);
    close(CH_FD_READY);
}

/* --- waiting for the end */

static bool init_is_ready(struct keeper *k) {
    struct pollfd p = {.fd = k->ready, .events = POLLIN};

    if (k->ready >= 0 && poll(&p, 1, 0) > 0) {
        close(k->ready);
        k->ready = -1;
    }
    return k->ready < 0;
}

/* Before init is ready SIGTERM would have no effect: remember it. */
static void ask_to_end(struct keeper *k) {
    k->stopping = !init_is_ready(k);
    if (k->stopping)
        return;
    if (k->box->outer == CH_OUTER_NONE)
        ch_descendants_signal(SIGTERM);
    else
        kill(0, SIGTERM); /* init is in this group and forwards it */
}

/* Reap ended processes; true if the child is among them. */
static bool child_ended(const struct keeper *k) {
    bool ended = false;
    int status;

    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid != k->child)
            continue;
        ended = true;
        if (k->box->outer == CH_OUTER_NONE)
            ch_status_write(status);
    }
    return ended;
}

static sigset_t wakers(void) {
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, CH_SIG_STOP);
    sigaddset(&set, CH_SIG_GONE);
    return set;
}

/* The next signal; -1: none until init or the memory has to be looked at. */
static int keeper_next_signal(const struct keeper *k, const sigset_t *set) {
    struct timespec soon = {.tv_nsec = k->stopping ? READY_POLL_NS : CH_MEMORY_POLL_NS};

    return k->stopping || k->group.kills_one ? sigtimedwait(set, NULL, &soon)
                                             : sigwaitinfo(set, NULL);
}

static void supervisor_watch(struct keeper *k) {
    sigset_t set = wakers();

    for (;;) {
        int sig = keeper_next_signal(k, &set);
        if (k->group.kills_one && ch_group_has_killed(&k->group))
            kill(k->child, SIGKILL);
        if (sig == CH_SIG_GONE) {
            k->gone = true;
            k->orphaned = !k->asked;
            kill(k->child, SIGKILL);
        } else if (sig == CH_SIG_STOP || (sig < 0 && k->stopping)) {
            k->asked = true;
            ask_to_end(k);
        } else if (sig == SIGCHLD && child_ended(k))
            return;
    }
}

/* A bubblewrap that is killed while starting may leave an init that has not
 * noticed and is now a child of the keeper. Without the leader, kill that init. */
static void wait_until_empty(struct keeper *k) {
    struct timespec soon = {.tv_nsec = READY_POLL_NS};
    sigset_t set = wakers();

    while (waitpid(-1, NULL, WNOHANG) >= 0 || errno == EINTR) {
        if (k->gone || k->box->outer == CH_OUTER_NONE)
            ch_descendants_end();
        else if (sigtimedwait(&set, NULL, &soon) == CH_SIG_GONE)
            k->gone = true;
    }
}

void ch_keeper(struct ch_box *box, pid_t leader) {
    struct keeper k = {.box = box, .ready = -1, .group.procs = {-1, -1}};

    become_keeper(leader);
    if (box->layer)
        ch_overlay_join(box->layer);
    clock_gettime(CLOCK_REALTIME_COARSE, &k.since);
    supervisor_prepare(&k);
    supervisor_start(&k);
    supervisor_watch(&k);
    wait_until_empty(&k);
    clean_up(&k);
    if (!box->layer && is_forsaken(&k)) /* a layer is judged before it becomes real */
        search_after(&k);
    _exit(0);
}
