/* init.c -- see init.h. init ends with the command, and the kernel then kills
 * the processes that the command left in the box. */
#include "sandbox/init.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/confine.h"
#include "sandbox/disk.h"
#include "sandbox/gateway.h"
#include "sandbox/memory.h"
#include "sandbox/renames.h"
#include "sandbox/report.h"

#define RESERVED_PIDS 300 /* lower numbers are used only before the first wrap */

int ch_pipe_to(int fd) {
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        ch_die("unavailable", "the sandbox cannot make a pipe: %s", strerror(errno));
    int reading = fcntl(fds[0], F_DUPFD_CLOEXEC, CH_FD_FIRST_FREE);
    int writing = fcntl(fds[1], F_DUPFD_CLOEXEC, CH_FD_FIRST_FREE);
    close(fds[0]);
    close(fds[1]);
    if (reading < 0 || writing < 0 || dup2(writing, fd) < 0)
        ch_die("unavailable", "the sandbox cannot set up its pipes: %s", strerror(errno));
    close(writing);
    return reading;
}

void ch_status_write(int wait_status) {
    ssize_t n = write(CH_FD_STATUS, &wait_status, sizeof(wait_status));
    (void)n; /* the leader is gone; its keeper ends this process */
}

bool ch_status_read(int fd, int *wait_status) {
    ssize_t n;

    do
        n = read(fd, wait_status, sizeof(*wait_status));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(*wait_status);
}

void ch_null_stdio(void) {
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int i = 0; fd >= 0 && i < 3; i++)
        dup2(fd, i);
    if (fd >= 3)
        close(fd);
}

/* Bound the process numbers. The kernel does not count root's processes
 * (RLIMIT_NPROC), but since 6.14 pid_max is per PID namespace. The directory is
 * the host's, opened earlier: the writing process determines the namespace.
 * Errors are ignored: the probe has tested whether this works. */
static void bound_numbers(const struct ch_box *box) {
    unsigned long long processes = box->limits.processes;
    char text[32];
    int n = snprintf(text, sizeof(text), "%llu", processes + RESERVED_PIDS);
    int fd = openat(CH_FD_SYSCTL, "pid_max", O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && processes > 0 && write(fd, text, (size_t)n) == n;

    if (fd >= 0)
        close(fd);
    if (done && box->trial)
        ch_note(CH_NOTE_PID_MAX);
}

static void init_wait_for_signals(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGTERM);
    sigprocmask(SIG_SETMASK, set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
}

/* --- renames in a layer */

static struct ch_renames renames = {.listener = -1};
static int signals = -1; /* signalfd, with a listener */

static int open_pair(struct ch_box *box) {
    int pair[2];

    if (!box->layer || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    box->renames = pair[1];
    return pair[0];
}

static void take_renames(const struct ch_box *box, int socket, const sigset_t *set) {
    if (socket < 0)
        return;
    close(box->renames);
    ch_renames_open(&renames, box, socket);
    close(socket);
    if (renames.listener >= 0)
        signals = signalfd(-1, set, SFD_CLOEXEC);
}

/* The next signal; -1: none yet. Answers renames meanwhile. */
static int serve_renames(bool limit) {
    struct pollfd p[] = {{.fd = signals, .events = POLLIN},
                         {.fd = renames.listener, .events = POLLIN}};
    struct signalfd_siginfo info;

    if (poll(p, 2, limit ? CH_MEMORY_POLL_NS / 1000000 : -1) <= 0)
        return -1;
    if (p[1].revents & POLLIN)
        ch_renames_answer(&renames);
    else if (p[1].revents) { /* no process is left that it could stop */
        close(renames.listener);
        renames.listener = -1;
    }
    bool got = p[0].revents & POLLIN && read(signals, &info, sizeof(info)) == sizeof(info);
    return got ? (int)info.ssi_signo : -1;
}

static void say_ready(void) {
    ssize_t n = write(CH_FD_READY, "", 1);

    (void)n; /* the keeper is gone and ends this process */
    close(CH_FD_READY);
}

/* Reap all ended processes; true if the command was among them. */
static bool init_reap(pid_t command, int *status) {
    bool ended = false;
    int s;

    for (pid_t pid; (pid = waitpid(-1, &s, WNOHANG)) > 0;)
        if (pid == command) {
            *status = s;
            ended = true;
        } else {
            ch_renames_ended(&renames, pid, s);
        }
    return ended;
}

/* End the command if its processes use too much memory together. */
static void watch_memory(uint64_t limit) {
    if (!ch_memory_is_over(limit))
        return;
    ch_complain("internal", CH_MEMORY_OVER, (unsigned long long)limit / (1024 * 1024));
    kill(-1, SIGKILL);
}

/* End the command if it fills the disk. */
static void watch_disk(struct ch_disk *d) {
    if (ch_disk_is_over(d))
        kill(-1, SIGKILL);
}

/* The next signal; -1: none within the time after which the limits are looked at. */
static int next_signal(const sigset_t *set, bool limit) {
    struct timespec soon = {.tv_nsec = CH_MEMORY_POLL_NS};

    if (renames.listener >= 0 && signals >= 0)
        return serve_renames(limit);
    return limit ? sigtimedwait(set, NULL, &soon) : sigwaitinfo(set, NULL);
}

/* Processes that end all the time must not put the look at the limits off: the clock decides. */
static bool look_is_due(int64_t *at) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t now = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
    if (now < *at)
        return false;
    *at = now + CH_MEMORY_POLL_NS;
    return true;
}

void ch_init(struct ch_box *box) {
    const struct ch_box_limits *l = &box->limits;
    bool limit = l->total || l->disk || l->disk_files;
    struct ch_disk disk;
    int64_t look_at = 0;
    int status = 0;
    sigset_t set;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0); /* the command must not open the report by /proc/1/fd */
    if (geteuid() == 0)
        bound_numbers(box);
    close(CH_FD_SYSCTL);
    ch_confine_home(box);
    ch_disk_begin(&disk, box);
    if (box->proxy)
        box->proxy_port = ch_gateway_open();
    init_wait_for_signals(&set);
    int socket = open_pair(box);
    pid_t command = fork();
    if (command < 0)
        ch_die("unavailable", "the sandbox cannot fork: %s", strerror(errno));
    if (command == 0)
        ch_confine_exec(box);
    take_renames(box, socket, &set);
    say_ready();
    ch_null_stdio();
    for (;;) {
        int sig = next_signal(&set, limit);
        if (sig == SIGTERM)
            kill(-1, SIGTERM); /* every process in the box except this one */
        else if (sig == SIGCHLD && init_reap(command, &status))
            break;
        if (!limit || !look_is_due(&look_at))
            continue;
        if (l->total)
            watch_memory(l->total);
        watch_disk(&disk);
    }
    ch_status_write(status);
    _exit(0);
}
