/* probe.c -- see probe.h.
 *
 * A kernel feature may exist but be forbidden by containers, security modules
 * or sysctls. So each layer is tried in its own process, and each kind of box
 * by creating one, with every step except exec. */
#include "sandbox/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sandbox/filter.h"
#include "sandbox/init.h"
#include "sandbox/landlock.h"
#include "sandbox/leader.h"
#include "sandbox/options.h"

#define ANSWER_MAX 4000

static void probe_say(const char *layer, bool ok, const char *why) {
    printf("%s\t%s\t%s\n", layer, ok ? "ok" : "missing", why);
}

/* --- single layers */

static int try_landlock(void) {
    struct ch_landlock l;
    int rc = ch_landlock_begin(&l, false);

    if (rc == 0)
        rc = ch_landlock_allow(&l, "/", CH_MAY_READ);
    return rc == 0 ? ch_landlock_enforce(&l) : rc;
}

static int try_seccomp(void) {
    struct ch_filter f;

    if (ch_machine_here() == CH_MACHINES)
        return -ENOSYS;
    ch_filter_build(&f, ch_machine_here(), CH_SOCKETS_USUAL, false);
    return ch_filter_apply(&f);
}

static int try_limits(void) {
    struct rlimit small = {.rlim_cur = 64, .rlim_max = 64}, now;

    if (setrlimit(RLIMIT_NOFILE, &small) < 0 || getrlimit(RLIMIT_NOFILE, &now) < 0)
        return -errno;
    return now.rlim_cur == 64 ? 0 : -EINVAL;
}

static int try_privileges(void) {
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : -ENOSYS;
}

/* Run a step in a child process; returns 0 or its errno. */
static int in_a_child(int (*step)(void)) {
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        _exit(-step());
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EINVAL;
}

static bool probe_step(const char *layer, int (*step)(void), const char *detail) {
    int error = in_a_child(step);

    probe_say(layer, error == 0, error == 0 ? detail : strerror(error));
    return error == 0;
}

/* --- whole boxes */

static void read_answers(struct ch_buf *out, int fd) {
    char *at = ch_buf_reserve(out, ANSWER_MAX);
    ssize_t n = at ? pread(fd, at, ANSWER_MAX, 0) : 0;

    ch_buf_commit(out, n > 0 ? (size_t)n : 0);
    close(fd);
}

_Noreturn static void be_trial(struct ch_box *box, int answers) {
    int status;

    dup2(answers, CH_FD_REPORT);
    dup2(answers, 2); /* stderr of bubblewrap */
    bool ok = ch_leader_run(box, &status) && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    _exit(ok ? 0 : CH_EXIT_BROKEN);
}

/* Create a box of this kind and take every step in it except exec. */
static bool try_box(const struct ch_box *given, enum ch_outer outer, struct ch_buf *answer) {
    static char *none[] = {NULL};
    int answers = memfd_create("answers", MFD_CLOEXEC), status = -1;
    struct ch_box box = *given;
    struct ch_argv words = {0};

    ch_argv_add(&words, "--trial");
    ch_argv_add(&words, outer == CH_OUTER_BWRAP ? "--outer=bwrap" : "--outer=namespaces");
    if (box.landlock)
        ch_argv_add(&words, "--landlock");
    if (box.seccomp)
        ch_argv_add(&words, "--seccomp");
    box.outer = outer;
    box.trial = true;
    box.limits.processes = 500;
    box.limits.total = UINT64_C(1) << 40;
    box.options = (char **)words.p;
    box.noptions = (int)words.n;
    box.argv = none;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        be_trial(&box, answers);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    read_answers(answer, answers);
    ch_free(words.p);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The first line of the report, without its keywords. */
static const char *probe_plain(struct ch_buf *answer) {
    static const char *const heads[] = {"error unavailable ", "bwrap: "};
    const char *text = ch_buf_str(answer);

    for (size_t i = 0; i < CH_LEN(heads); i++)
        if (strncmp(text, heads[i], strlen(heads[i])) == 0)
            text += strlen(heads[i]);
    return *text ? ch_text("%.*s", (int)strcspn(text, "\n\t"), text)
                 : "the process ended without giving a reason";
}

static void probe_processes(bool boxed, bool pid_max) {
    if (geteuid() != 0)
        probe_say("processes", true, "RLIMIT_NPROC");
    else if (pid_max)
        probe_say("processes", true, "pid_max of the PID namespace");
    else
        probe_say("processes", false,
                  boxed
                      ? "root is exempt from RLIMIT_NPROC, and this kernel has one pid_max for all "
                        "(its own for each PID namespace since 6.14)"
                      : "root is exempt from RLIMIT_NPROC");
}

void ch_probe(const struct ch_box *given) {
    CH_BUF_AUTO bwrap = {0}, own = {0};
    struct ch_box box = *given;
    struct ch_filter f;

    probe_say("no_new_privs", in_a_child(try_privileges) == 0, "");
    box.landlock = probe_step("landlock", try_landlock, ch_text("ABI %d", ch_landlock_abi()));
    if (ch_machine_here() != CH_MACHINES)
        ch_filter_build(&f, ch_machine_here(), CH_SOCKETS_USUAL, false);
    else
        f.denied = 0;
    box.seccomp = probe_step("seccomp", try_seccomp, ch_text("%u system calls denied", f.denied));
    bool with_bwrap = box.bwrap && try_box(&box, CH_OUTER_BWRAP, &bwrap);
    if (box.bwrap)
        probe_say("bwrap", with_bwrap, with_bwrap ? box.bwrap : probe_plain(&bwrap));
    else
        probe_say("bwrap", false, "bubblewrap is not installed");
    bool by_ourselves = try_box(&box, CH_OUTER_NAMESPACES, &own);
    probe_say("namespaces", by_ourselves, by_ourselves ? "" : probe_plain(&own));
    bool pid_max = strstr(ch_buf_str(by_ourselves ? &own : &bwrap), CH_NOTE_PID_MAX) != NULL;
    probe_processes(with_bwrap || by_ourselves, pid_max);
    bool group = strstr(ch_buf_str(by_ourselves ? &own : &bwrap), CH_NOTE_GROUP) != NULL;
    probe_step("limits", try_limits,
               group                        ? "memory of all processes together: a cgroup"
               : with_bwrap || by_ourselves ? "memory of all processes together: counted ten times "
                                              "a second, for no cgroup is delegated here"
                                            : "memory of each process, not of all together: needs "
                                              "namespaces");
    fflush(stdout);
}
