/* test_filter.c -- the seccomp programs of both machines, run here by a small
 * interpreter, and the one of this machine by the kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/filter.h"

#define ALLOW SECCOMP_RET_ALLOW
#define KILL SECCOMP_RET_KILL_PROCESS
#define NO(e) (SECCOMP_RET_ERRNO | (e))

/* The part of classic BPF that the kernel accepts and the generator uses. */
static uint32_t run(const struct ch_filter *f, const struct seccomp_data *d) {
    uint32_t a = 0;

    for (unsigned at = 0; at < f->n; at++) {
        const struct sock_filter *op = &f->code[at];
        bool yes;
        switch (op->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            assert_true(op->k % 4 == 0 && op->k <= sizeof(*d) - 4);
            memcpy(&a, (const char *)d + op->k, 4);
            continue;
        case BPF_RET | BPF_K:
            return op->k;
        case BPF_JMP | BPF_JEQ | BPF_K:
            yes = a == op->k;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            yes = a >= op->k;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            yes = a & op->k;
            break;
        default:
            fail_msg("instruction %u is none of ours: %x", at, op->code);
            return 0;
        }
        at += yes ? op->jt : op->jf;
        assert_true(at + 1 < f->n);
    }
    fail_msg("ran off the end");
    return 0;
}

static const uint32_t arch[CH_MACHINES] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64};
static const char *const machine_names[CH_MACHINES] = {"x86-64", "arm64"};

static uint32_t ask(enum ch_machine m, enum ch_sockets s, int nr, uint64_t a0, uint64_t a1) {
    struct seccomp_data d = {.nr = nr, .arch = arch[m], .args = {a0, a1}};
    struct ch_filter f;

    ch_filter_build(&f, m, s, s != CH_SOCKETS_USUAL);
    return run(&f, &d);
}

/* Numbers as the kernel's tables have them, written down a second time. */
static const struct {
    const char *name;
    int number[CH_MACHINES];
    uint32_t verdict;
} denied[] = {
    {"mount", {165, 40}, NO(EPERM)},
    {"umount2", {166, 39}, NO(EPERM)},
    {"pivot_root", {155, 41}, NO(EPERM)},
    {"chroot", {161, 51}, NO(EPERM)},
    {"setns", {308, 268}, NO(EPERM)},
    {"unshare", {272, 97}, NO(EPERM)},
    {"clone3", {435, 435}, NO(ENOSYS)},
    {"keyctl", {250, 219}, NO(EPERM)},
    {"add_key", {248, 217}, NO(EPERM)},
    {"request_key", {249, 218}, NO(EPERM)},
    {"bpf", {321, 280}, NO(EPERM)},
    {"perf_event_open", {298, 241}, NO(EPERM)},
    {"userfaultfd", {323, 282}, NO(EPERM)},
    {"io_uring_setup", {425, 425}, NO(EPERM)},
    {"open_by_handle_at", {304, 265}, NO(EPERM)},
    {"init_module", {175, 105}, NO(EPERM)},
    {"finit_module", {313, 273}, NO(EPERM)},
    {"kexec_load", {246, 104}, NO(EPERM)},
    {"reboot", {169, 142}, NO(EPERM)},
    {"fsopen", {430, 430}, NO(EPERM)},
    {"move_mount", {429, 429}, NO(EPERM)},
    {"pidfd_getfd", {438, 438}, NO(EPERM)},
};

static void test_denied(void **state) {
    (void)state;
    for (int m = 0; m < CH_MACHINES; m++)
        for (size_t i = 0; i < CH_LEN(denied); i++) {
            uint32_t got = ask((enum ch_machine)m, CH_SOCKETS_USUAL, denied[i].number[m], 0, 0);
            if (got != denied[i].verdict)
                fail_msg("%s, %s: %x", machine_names[m], denied[i].name, got);
        }
}

/* What every program does all the time. */
static void test_allowed(void **state) {
    static const int usual[CH_MACHINES][12] = {
        /* read write close mmap brk openat execve futex exit_group wait4 socketpair clone */
        {0, 1, 3, 9, 12, 257, 59, 202, 231, 61, 53, 56},
        {63, 64, 57, 222, 214, 56, 221, 98, 94, 260, 199, 220},
    };

    (void)state;
    for (int m = 0; m < CH_MACHINES; m++)
        for (int s = CH_SOCKETS_USUAL; s <= CH_SOCKETS_NONE; s++)
            for (size_t i = 0; i < CH_LEN(usual[m]); i++)
                if (ask((enum ch_machine)m, (enum ch_sockets)s, usual[m][i], AF_UNIX,
                        SOCK_STREAM) != ALLOW)
                    fail_msg("%s: %d", machine_names[m], usual[m][i]);
}

#define WIDE 0xdeadbeef00000000u /* the kernel ignores these bits, so must we */

static int number_of(const char *name, enum ch_machine m) {
    static const struct {
        const char *name;
        int number[CH_MACHINES];
    } calls[] = {
        {"clone", {56, 220}},
        {"ioctl", {16, 29}},
        {"personality", {135, 92}},
        {"socket", {41, 198}},
        {"fchmod", {91, 52}},
        {"socketpair", {53, 199}},
        {"prlimit64", {302, 261}},
        {"shmat", {30, 196}},
        {"msgrcv", {70, 188}},
        {"semop", {65, 193}},
    };
    size_t i = 0;

    while (strcmp(calls[i].name, name) != 0)
        assert_true(++i < CH_LEN(calls));
    return calls[i].number[m];
}

static void test_arguments(void **state) {
    static const struct {
        const char *name;
        uint64_t a0, a1;
        enum ch_sockets sockets;
        uint32_t verdict;
    } cases[] = {
        {"clone", 0x01200011, 0, CH_SOCKETS_USUAL, ALLOW},
        {"clone", CLONE_NEWUSER | 17, 0, CH_SOCKETS_USUAL, NO(EPERM)},
        {"clone", CLONE_NEWNS | 17, 0, CH_SOCKETS_USUAL, NO(EPERM)},
        {"clone", CLONE_NEWPID | 17, 0, CH_SOCKETS_USUAL, NO(EPERM)},
        {"clone", CLONE_NEWNET | WIDE, 0, CH_SOCKETS_USUAL, NO(EPERM)},
        {"ioctl", 0, TIOCGWINSZ, CH_SOCKETS_USUAL, ALLOW},
        {"ioctl", 0, TIOCSTI, CH_SOCKETS_USUAL, NO(EPERM)},
        {"ioctl", 0, TIOCSTI | WIDE, CH_SOCKETS_USUAL, NO(EPERM)},
        {"ioctl", 0, TIOCLINUX, CH_SOCKETS_USUAL, NO(EPERM)},
        {"personality", 0, 0, CH_SOCKETS_USUAL, ALLOW},
        {"personality", 0xffffffff, 0, CH_SOCKETS_USUAL, ALLOW},
        {"personality", ADDR_NO_RANDOMIZE, 0, CH_SOCKETS_USUAL, NO(EPERM)},
        {"personality", READ_IMPLIES_EXEC, 0, CH_SOCKETS_USUAL, NO(EPERM)},
        {"socket", AF_UNIX, 0, CH_SOCKETS_USUAL, ALLOW},
        {"socket", AF_INET, 0, CH_SOCKETS_USUAL, ALLOW},
        {"socket", AF_INET6, 0, CH_SOCKETS_USUAL, ALLOW},
        {"socket", AF_NETLINK, 0, CH_SOCKETS_USUAL, ALLOW},
        {"socket", AF_VSOCK, 0, CH_SOCKETS_USUAL, NO(EAFNOSUPPORT)},
        {"socket", AF_PACKET, 0, CH_SOCKETS_USUAL, NO(EAFNOSUPPORT)},
        {"socket", AF_ALG | WIDE, 0, CH_SOCKETS_USUAL, NO(EAFNOSUPPORT)},
        {"socket", AF_UNIX, 0, CH_SOCKETS_NONE, NO(EACCES)},
        {"socket", AF_INET, 0, CH_SOCKETS_NONE, NO(EACCES)},
        {"socket", AF_INET6, 0, CH_SOCKETS_NONE, NO(EACCES)},
        {"socket", AF_UNIX | WIDE, 0, CH_SOCKETS_INET, NO(EACCES)},
        {"socket", AF_INET, 0, CH_SOCKETS_INET, ALLOW},
        {"socket", AF_NETLINK, 0, CH_SOCKETS_INET, ALLOW},
        {"socket", AF_VSOCK, 0, CH_SOCKETS_INET, NO(EAFNOSUPPORT)},
        {"socketpair", AF_UNIX, SOCK_DGRAM, CH_SOCKETS_USUAL, ALLOW},
        {"socketpair", 30 /* AF_TIPC */, SOCK_STREAM, CH_SOCKETS_USUAL, NO(EAFNOSUPPORT)},
        {"socketpair", AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, CH_SOCKETS_NONE, ALLOW},
        {"socketpair", AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, CH_SOCKETS_INET, ALLOW},
        {"socketpair", AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, CH_SOCKETS_NONE, NO(EACCES)},
        {"socketpair", AF_UNIX, SOCK_RAW | WIDE, CH_SOCKETS_INET, NO(EACCES)},
        {"prlimit64", 1, 0, CH_SOCKETS_USUAL, ALLOW},
        {"prlimit64", 1, 0, CH_SOCKETS_NONE, NO(EPERM)},
        {"prlimit64", WIDE, 0, CH_SOCKETS_NONE, ALLOW},
        {"shmat", 1, 0, CH_SOCKETS_USUAL, ALLOW},
        {"shmat", 1, 0, CH_SOCKETS_NONE, NO(EPERM)},
        {"msgrcv", 1, 0, CH_SOCKETS_INET, NO(EPERM)},
        {"semop", 1, 0, CH_SOCKETS_NONE, NO(EPERM)},
        {"fchmod", 3, 0755, CH_SOCKETS_USUAL, ALLOW},
        {"fchmod", 3, 0101755, CH_SOCKETS_USUAL, ALLOW}, /* sticky, and a type */
        {"fchmod", 3, 04755, CH_SOCKETS_USUAL, NO(EPERM)},
        {"fchmod", 3, 02755 | WIDE, CH_SOCKETS_USUAL, NO(EPERM)},
    };

    (void)state;
    for (int m = 0; m < CH_MACHINES; m++)
        for (size_t i = 0; i < CH_LEN(cases); i++) {
            int nr = number_of(cases[i].name, (enum ch_machine)m);
            uint32_t got = ask((enum ch_machine)m, cases[i].sockets, nr, cases[i].a0, cases[i].a1);
            if (got != cases[i].verdict)
                fail_msg("%s, case %zu, %s: %x", machine_names[m], i, cases[i].name, got);
        }
}

/* Modes of files in other arguments, and only where a file may be created. */
static void test_modes(void **state) {
    static const struct {
        int number[CH_MACHINES];
        uint64_t args[4];
        uint32_t verdict;
    } cases[] = {
        {{90, -1}, {0, 04755}, NO(EPERM)},         /* chmod */
        {{90, -1}, {0, 0755}, ALLOW},
        {{268, 53}, {0, 0, 04755}, NO(EPERM)},     /* fchmodat */
        {{268, 53}, {0, 04755, 0644}, ALLOW},      /* an address may have any bits */
        {{452, 452}, {0, 0, 02755, 0}, NO(EPERM)}, /* fchmodat2 */
        {{452, 452}, {0, 0, 0755, 0}, ALLOW},
        {{133, -1}, {0, 0104755}, NO(EPERM)},      /* mknod */
        {{133, -1}, {0, 0010644}, ALLOW},          /* a FIFO */
        {{259, 33}, {0, 0, 0020666}, NO(EPERM)},   /* mknodat: devices */
        {{259, 33}, {0, 0, 0060666}, NO(EPERM)},
        {{259, 33}, {0, 0, 0010666}, ALLOW},
        {{85, -1}, {0, 04755}, NO(EPERM)},         /* creat */
        {{2, -1}, {0, 0101, 04755}, NO(EPERM)},    /* open */
        {{2, -1}, {0, 0, 04755}, ALLOW},           /* no new file: no mode */
        {{257, 56}, {0, 0, 0101, 04755}, NO(EPERM)}, /* openat */
        {{257, 56}, {0, 0, 0101, 0644}, ALLOW},
        {{257, 56}, {0, 0, 02, 04755}, ALLOW},
        {{257, 56}, {0, 0, 020000001, 04755}, NO(EPERM)}, /* a temporary file */
        {{437, 437}, {0, 0, 0, 0}, NO(ENOSYS)},    /* openat2 */
    };

    (void)state;
    for (int m = 0; m < CH_MACHINES; m++)
        for (size_t i = 0; i < CH_LEN(cases); i++) {
            struct seccomp_data d = {.nr = cases[i].number[m], .arch = arch[m]};
            struct ch_filter f;
            if (d.nr < 0)
                continue;
            memcpy(d.args, cases[i].args, sizeof(cases[i].args));
            ch_filter_build(&f, (enum ch_machine)m, CH_SOCKETS_USUAL, false);
            if (run(&f, &d) != cases[i].verdict)
                fail_msg("%s, case %zu", machine_names[m], i);
        }
}

/* Other numbers for the same calls: 32-bit programs, x32. */
static void test_other_machines(void **state) {
    static const uint32_t others[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_RISCV64, 0};
    struct ch_filter f;

    (void)state;
    for (int m = 0; m < CH_MACHINES; m++) {
        ch_filter_build(&f, (enum ch_machine)m, CH_SOCKETS_USUAL, false);
        for (size_t i = 0; i < CH_LEN(others); i++) {
            struct seccomp_data d = {.nr = 1, .arch = others[i]};
            assert_int_equal(run(&f, &d), KILL);
        }
        struct seccomp_data d = {.nr = 1, .arch = arch[!m]};
        assert_int_equal(run(&f, &d), KILL);
    }
    assert_int_equal(ask(CH_X86_64, CH_SOCKETS_USUAL, 0x40000000 | 101, 0, 0), KILL);
    assert_int_equal(ask(CH_X86_64, CH_SOCKETS_USUAL, 0x40000000, 0, 0), KILL);
    assert_int_equal(ask(CH_X86_64, CH_SOCKETS_USUAL, -1, 0, 0), KILL);
}

static void test_numbers_of_this_machine(void **state) {
    static const struct {
        const char *name;
        int number;
        uint64_t a0, a1; /* that are refused */
    } here[] = {
        {"mount", SYS_mount, 0, 0},
        {"unshare", SYS_unshare, 0, 0},
        {"setns", SYS_setns, 0, 0},
        {"keyctl", SYS_keyctl, 0, 0},
        {"bpf", SYS_bpf, 0, 0},
        {"clone", SYS_clone, CLONE_NEWUSER, 0},
        {"clone3", SYS_clone3, 0, 0},
        {"ioctl", SYS_ioctl, 0, TIOCSTI},
        {"socket", SYS_socket, AF_PACKET, 0},
        {"acct", SYS_acct, 0, 0},
        {"syslog", SYS_syslog, 0, 0},
        {"quotactl", SYS_quotactl, 0, 0},
        {"swapon", SYS_swapon, 0, 0},
        {"kcmp", SYS_kcmp, 0, 0},
        {"fspick", SYS_fspick, 0, 0},
        {"fsconfig", SYS_fsconfig, 0, 0},
        {"open_tree", SYS_open_tree, 0, 0},
        {"reboot", SYS_reboot, 0, 0},
        {"vhangup", SYS_vhangup, 0, 0},
        {"sethostname", SYS_sethostname, 0, 0},
        {"userfaultfd", SYS_userfaultfd, 0, 0},
        {"personality", SYS_personality, READ_IMPLIES_EXEC, 0},
        {"clock_settime", SYS_clock_settime, 0, 0},
        {"settimeofday", SYS_settimeofday, 0, 0},
        {"fanotify_init", SYS_fanotify_init, 0, 0},
        {"kexec_file_load", SYS_kexec_file_load, 0, 0},
        {"delete_module", SYS_delete_module, 0, 0},
        {"setdomainname", SYS_setdomainname, 0, 0},
        {"mount_setattr", 442, 0, 0},
        {"quotactl_fd", 443, 0, 0},
    };
    enum ch_machine m = ch_machine_here();

    (void)state;
    if (m == CH_MACHINES)
        skip();
    for (size_t i = 0; i < CH_LEN(here); i++)
        if (ask(m, CH_SOCKETS_USUAL, here[i].number, here[i].a0, here[i].a1) == ALLOW)
            fail_msg("%s is %d here, and allowed", here[i].name, here[i].number);
}

/* --- the kernel's word */

static void *say_yes(void *arg) {
    *(int *)arg = 1;
    return NULL;
}

/* Every line is one bit of the answer; 0: all as it should be. */
static int live(enum ch_sockets sockets) {
    struct ch_filter f;
    pthread_t thread;
    int ran = 0, pair[2], wrong = 0;

    ch_filter_build(&f, ch_machine_here(), sockets, sockets != CH_SOCKETS_USUAL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (ch_filter_apply(&f) < 0)
        return 1;
    if (sockets != CH_SOCKETS_USUAL) /* without namespaces */
        wrong |= (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == -1 && errno == EPERM) ? 0 : 2;
    wrong |= (unshare(CLONE_NEWUSER) == -1 && errno == EPERM) ? 0 : 4;
    wrong |= (syscall(SYS_keyctl, 0, -3, 0) == -1 && errno == EPERM) ? 0 : 8;
    bool threads =
        pthread_create(&thread, NULL, say_yes, &ran) == 0 && pthread_join(thread, NULL) == 0 && ran;
    wrong |= threads ? 0 : 16; /* libc gets by without clone3 */
    pid_t pid = fork();
    if (pid == 0)
        _exit(7);
    int status = 0;
    waitpid(pid, &status, 0);
    wrong |= WEXITSTATUS(status) == 7 ? 0 : 32;
    wrong |= socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 ? 0 : 64;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    wrong |= (sockets != CH_SOCKETS_NONE ? fd >= 0 : fd < 0 && errno == EACCES) ? 0 : 128;
    return wrong;
}

static void test_live(void **state) {
    (void)state;
    if (ch_machine_here() == CH_MACHINES)
        skip();
    for (int s = CH_SOCKETS_USUAL; s <= CH_SOCKETS_NONE; s++) {
        int status;
        pid_t pid = fork();
        if (pid == 0)
            _exit(live((enum ch_sockets)s));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_denied),
        cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_other_machines),
        cmocka_unit_test(test_numbers_of_this_machine),
        cmocka_unit_test(test_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
