/* box.c -- see box.h. A seccomp filter makes the system calls for namespaces fail, as in an
 * ordinary container. Everything else is the real program on the real kernel. */
#include "support/box.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

const char *const box_machine_names[] = {"as it is", "with bubblewrap", "without namespaces"};
static const char *const link_names[] = {NULL, "box-with-bwrap", "box-without-namespaces"};

/* Above the test program: BUILD/tests/unit/LAYER/test_x, BUILD/tests/scenario/test_x. */
const char *box_helper(void) {
    static char path[PATH_MAX + 32];
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);

    path[n > 0 ? n : 0] = '\0';
    for (char *slash; (slash = strrchr(path, '/'));) {
        memcpy(slash, "/chela-sandbox", sizeof("/chela-sandbox"));
        if (access(path, F_OK) == 0)
            return path;
        *slash = '\0';
    }
    return "/nonexistent/chela-sandbox";
}

static void become_nobody_and_run(char *const argv[], long processes, int out) {
    struct rlimit few = {.rlim_cur = (rlim_t)processes, .rlim_max = (rlim_t)processes};

    dup2(out, 1);
    if (geteuid() == 0 && (setgroups(0, NULL) || setgid(65534) || setuid(65534)))
        _exit(1);
    if (processes >= 0)
        setrlimit(RLIMIT_NPROC, &few);
    execv(box_helper(), argv);
    _exit(1);
}

size_t box_run_as_nobody(char *const argv[], long processes, char *out, size_t size) {
    int fds[2];
    size_t n = 0;
    ssize_t got;

    if (pipe(fds) < 0)
        return 0;
    pid_t pid = fork();
    if (pid == 0)
        become_nobody_and_run(argv, processes, fds[1]);
    close(fds[1]);
    while (n < size - 1 && (got = read(fds[0], out + n, size - 1 - n)) > 0)
        n += (size_t)got;
    out[n] = '\0';
    close(fds[0]);
    waitpid(pid, NULL, 0);
    return n;
}

/* --- links to this program, in a directory that goes with the process */

static char links[PATH_MAX];
static pid_t links_owner;

static void remove_links(void) {
    char path[2 * PATH_MAX];

    if (getpid() != links_owner)
        return;
    for (int i = 1; i < BOX_MACHINES; i++) {
        snprintf(path, sizeof(path), "%s/%s", links, link_names[i]);
        unlink(path);
    }
    rmdir(links);
}

static void make_links(void) {
    char path[2 * PATH_MAX], exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    const char *tmp = getenv("TMPDIR");

    exe[n > 0 ? n : 0] = '\0';
    snprintf(links, sizeof(links), "%s/chela-box-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(links))
        abort();
    links_owner = getpid();
    atexit(remove_links);
    for (int i = 1; i < BOX_MACHINES; i++) {
        snprintf(path, sizeof(path), "%s/%s", links, link_names[i]);
        if (symlink(exe, path) < 0)
            abort();
    }
}

const char *box_helper_for(enum box_machine machine) {
    static char path[2 * PATH_MAX];

    if (machine == BOX_AS_IT_IS)
        return box_helper();
    if (links_owner == 0)
        make_links();
    snprintf(path, sizeof(path), "%s/%s", links, link_names[machine]);
    return path;
}

#define MOUNT_SETATTR 442
#define DENY(nr, errnum)                             \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (errnum))

static void box_apply(struct sock_filter *code, size_t n) {
    struct sock_fprog program = {.len = (unsigned short)n, .filter = code};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        abort();
}

/* Simulate a kernel that is so old that chela-sandbox needs bubblewrap for its mounts. */
static void forbid_mount_attributes(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        DENY(MOUNT_SETATTR, ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };

    box_apply(code, CH_LEN(code));
}

static void forbid_namespaces(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        DENY(SYS_unshare, EPERM),
        DENY(SYS_mount, EPERM),
        DENY(SYS_clone3, ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
                 CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };

    box_apply(code, CH_LEN(code));
}

void box_main(int argc, char **argv) {
    const char *name = strrchr(argv[0], '/');
    int machine = 0, out = 0;

    for (int i = 1; name && i < BOX_MACHINES; i++)
        if (strcmp(name + 1, link_names[i]) == 0)
            machine = i;
    if (machine == 0)
        return;
    if (machine == BOX_WITHOUT_NAMESPACES)
        forbid_namespaces();
    else
        forbid_mount_attributes();
    char **words = malloc((size_t)(argc + 1) * sizeof(*words));
    for (int i = 0; words && i < argc; i++)
        if (machine == BOX_WITH_BWRAP || strncmp(argv[i], "--bwrap=", 8) != 0)
            words[out++] = argv[i];
    words[out] = NULL;
    execv(box_helper(), words);
    abort();
}
