/* leader.c -- see leader.h. */
#include "sandbox/leader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/init.h"
#include "sandbox/report.h"
#include "sandbox/supervisor.h"

/* Occupy the fixed descriptor numbers before other descriptors are opened. */
static void reserve_numbers(void) {
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    for (int i = CH_FD_STATUS; fd >= 0 && i < CH_FD_FIRST_FREE; i++)
        dup2(fd, i);
    if (fd >= CH_FD_FIRST_FREE)
        close(fd);
}

/* Signals are blocked before the keeper starts, so that none is lost. */
static void leader_block_signals(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGTERM);
    sigaddset(set, CH_SIG_STOP);
    sigaddset(set, CH_SIG_GONE);
    sigprocmask(SIG_SETMASK, set, NULL);
    signal(SIGHUP, SIG_IGN); /* releasing the terminal sends SIGHUP */
    signal(SIGPIPE, SIG_IGN);
}

static void wait_for_keeper(pid_t keeper, const sigset_t *set) {
    for (;;) {
        int sig = sigwaitinfo(set, NULL);
        if (sig == SIGTERM)
            kill(keeper, CH_SIG_STOP);
        else if (sig == SIGCHLD && waitpid(keeper, NULL, WNOHANG) == keeper)
            return;
    }
}

bool ch_leader_run(struct ch_box *box, int *wait_status) {
    pid_t self = getpid();
    sigset_t set;

    reserve_numbers();
    int status = ch_pipe_to(CH_FD_STATUS);
    leader_block_signals(&set);
    if (box->tty)
        ioctl(0, TIOCNOTTY); /* the command's session gets the terminal */
    pid_t keeper = fork();
    if (keeper < 0)
        ch_die("unavailable", "the sandbox cannot fork: %s", strerror(errno));
    if (keeper == 0) {
        close(status);
        ch_keeper(box, self);
    }
    for (int i = CH_FD_STATUS; i < CH_FD_FIRST_FREE; i++)
        close(i);
    ch_null_stdio();
    wait_for_keeper(keeper, &set);
    bool known = ch_status_read(status, wait_status);
    close(status);
    return known;
}

void ch_leader_end(int wait_status) {
    sigset_t none;

    if (WIFSIGNALED(wait_status)) {
        int sig = WTERMSIG(wait_status);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(sig, SIG_DFL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        kill(getpid(), sig);
    }
    _exit(WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : CH_EXIT_BROKEN);
}
