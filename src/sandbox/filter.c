/* filter.c -- see filter.h. The program is straight-line: machine check, every
 * denied number, then the few calls whose arguments decide. Linear search is
 * fast enough: kernels cache the numbers that a program always allows (since
 * 5.11). */
#include "sandbox/filter.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

#define X32_BIT 0x40000000u /* the x32 ABI: other numbers, reported as x86-64 */
#define NONE (-1)

enum rule {
    DENY,    /* EPERM */
    UNKNOWN, /* ENOSYS: libc falls back to another call */
    BARE,    /* EPERM without namespaces */
    BARE_IF_SELF, /* without namespaces: only if argument 0 is 0, this process */
    IF_NAMESPACE,
    IF_TERMINAL,
    IF_PERSONALITY,
    IF_SOCKET,
    IF_PAIR,
    IF_MODE_1, /* argument 1 is a file's mode */
    IF_MODE_2,
    IF_CREATES_1, /* argument 1 has flags of open, argument 2 the mode of a new file */
    IF_CREATES_2,
};

/* The comments give the names of the manual pages; the numbers are from the
 * kernel's tables. */
static const struct row {
    int number[CH_MACHINES]; /* x86-64, arm64 */
    enum rule rule;
} rows[] = {
    /* other processes */
    {{101, 117}, BARE}, /* ptrace: in a box, debuggers and leak sanitizers see the box alone */
    {{310, 270}, BARE}, /* process_vm_readv */
    {{311, 271}, BARE}, /* process_vm_writev */
    {{312, 272}, DENY}, /* kcmp */
    {{438, 438}, DENY}, /* pidfd_getfd */
    /* views of the system: mounts, roots, namespaces, files by handle */
    {{165, 40}, DENY}, /* mount */
    {{166, 39}, DENY}, /* umount2 */
    {{155, 41}, DENY}, /* pivot_root */
    {{161, 51}, DENY}, /* chroot */
    {{428, 428}, DENY}, /* open_tree */
    {{429, 429}, DENY}, /* move_mount */
    {{430, 430}, DENY}, /* fsopen */
    {{431, 431}, DENY}, /* fsconfig */
    {{432, 432}, DENY}, /* fsmount */
    {{433, 433}, DENY}, /* fspick */
    {{442, 442}, DENY}, /* mount_setattr */
    {{467, 467}, DENY}, /* open_tree_attr */
    {{304, 265}, DENY}, /* open_by_handle_at */
    {{300, 262}, DENY}, /* fanotify_init */
    {{308, 268}, DENY}, /* setns */
    {{272, 97}, DENY}, /* unshare */
    {{56, 220}, IF_NAMESPACE}, /* clone */
    {{435, 435}, UNKNOWN}, /* clone3: its flags are in memory, which a filter cannot read */
    /* the keyring belongs to the user, not to the namespace */
    {{248, 217}, DENY}, /* add_key */
    {{249, 218}, DENY}, /* request_key */
    {{250, 219}, DENY}, /* keyctl */
    /* large attack surface */
    {{321, 280}, DENY}, /* bpf */
    {{298, 241}, DENY}, /* perf_event_open */
    {{323, 282}, DENY}, /* userfaultfd */
    {{425, 425}, DENY}, /* io_uring_setup */
    {{426, 426}, DENY}, /* io_uring_enter */
    {{427, 427}, DENY}, /* io_uring_register */
    /* the machine as a whole */
    {{175, 105}, DENY}, /* init_module */
    {{313, 273}, DENY}, /* finit_module */
    {{176, 106}, DENY}, /* delete_module */
    {{246, 104}, DENY}, /* kexec_load */
    {{320, 294}, DENY}, /* kexec_file_load */
    {{169, 142}, DENY}, /* reboot */
    {{167, 224}, DENY}, /* swapon */
    {{168, 225}, DENY}, /* swapoff */
    {{163, 89}, DENY}, /* acct */
    {{179, 60}, DENY}, /* quotactl */
    {{443, 443}, DENY}, /* quotactl_fd */
    {{103, 116}, DENY}, /* syslog */
    {{164, 170}, DENY}, /* settimeofday */
    {{227, 112}, DENY}, /* clock_settime */
    {{170, 161}, DENY}, /* sethostname */
    {{171, 162}, DENY}, /* setdomainname */
    {{153, 58}, DENY}, /* vhangup */
    {{172, NONE}, DENY}, /* iopl */
    {{173, NONE}, DENY}, /* ioperm */
    {{154, NONE}, DENY}, /* modify_ldt */
    {{134, NONE}, DENY}, /* uselib */
    /* by argument */
    {{16, 29}, IF_TERMINAL}, /* ioctl */
    {{135, 92}, IF_PERSONALITY}, /* personality */
    {{41, 198}, IF_SOCKET}, /* socket */
    {{53, 199}, IF_PAIR}, /* socketpair */
    /* objects and processes of the same user, where no namespace hides them */
    {{302, 261}, BARE_IF_SELF}, /* prlimit64 */
    {{29, 194}, BARE}, /* shmget */
    {{30, 196}, BARE}, /* shmat */
    {{31, 195}, BARE}, /* shmctl */
    {{64, 190}, BARE}, /* semget */
    {{65, 193}, BARE}, /* semop */
    {{66, 191}, BARE}, /* semctl */
    {{220, 192}, BARE}, /* semtimedop */
    {{68, 186}, BARE}, /* msgget */
    {{69, 189}, BARE}, /* msgsnd */
    {{70, 188}, BARE}, /* msgrcv */
    {{71, 187}, BARE}, /* msgctl */
    {{240, 180}, BARE}, /* mq_open */
    {{241, 181}, BARE}, /* mq_unlink */
    /* A file with the set-user-ID bit is dangerous outside of the box, where its owner's
     * rights count. */
    {{90, NONE}, IF_MODE_1}, /* chmod */
    {{91, 52}, IF_MODE_1}, /* fchmod */
    {{268, 53}, IF_MODE_2}, /* fchmodat */
    {{452, 452}, IF_MODE_2}, /* fchmodat2 */
    {{133, NONE}, IF_MODE_1}, /* mknod */
    {{259, 33}, IF_MODE_2}, /* mknodat */
    {{85, NONE}, IF_MODE_1}, /* creat */
    {{2, NONE}, IF_CREATES_1}, /* open */
    {{257, 56}, IF_CREATES_2}, /* openat */
    {{437, 437}, UNKNOWN}, /* openat2: its mode is in memory */
};

static const uint32_t audit_arch[CH_MACHINES] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64};

enum ch_machine ch_machine_here(void) {
#if defined(__x86_64__) && !defined(__ILP32__)
    return CH_X86_64;
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
    return CH_ARM64;
#else
    return CH_MACHINES;
#endif
}

/* --- making the program */

static void filter_emit(struct ch_filter *f, struct sock_filter op) {
    assert(f->n < CH_FILTER_MAX);
    f->code[f->n++] = op;
}

static void filter_load(struct ch_filter *f, size_t offset) {
    filter_emit(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void filter_give(struct ch_filter *f, uint32_t verdict) {
    filter_emit(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

static uint32_t filter_refusal(int errnum) {
    return SECCOMP_RET_ERRNO | (uint32_t)errnum;
}

/* Return the verdict if the accumulator passes the test. */
static void give_if(struct ch_filter *f, uint16_t test, uint32_t value, uint32_t verdict) {
    filter_emit(f, (struct sock_filter)BPF_JUMP(BPF_JMP | test | BPF_K, value, 0, 1));
    filter_give(f, verdict);
}

/* Load the low half of an argument. Both machines are little-endian, and the
 * kernel uses only 32 bits of these arguments. */
static void load_argument(struct ch_filter *f, unsigned i) {
    filter_load(f, offsetof(struct seccomp_data, args) + i * sizeof(uint64_t));
}

static void judge_namespace(struct ch_filter *f) {
    load_argument(f, 0);
    give_if(f, BPF_JSET,
            CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                CLONE_NEWPID | CLONE_NEWNET,
            filter_refusal(EPERM));
    filter_give(f, SECCOMP_RET_ALLOW);
}

/* Deny injecting input into a terminal. */
static void judge_terminal(struct ch_filter *f) {
    load_argument(f, 1);
    give_if(f, BPF_JEQ, TIOCSTI, filter_refusal(EPERM));
    give_if(f, BPF_JEQ, TIOCLINUX, filter_refusal(EPERM));
    filter_give(f, SECCOMP_RET_ALLOW);
}

/* Allow querying and the default personality; deny the others, which switch
 * protections off. */
static void judge_personality(struct ch_filter *f) {
    load_argument(f, 0);
    give_if(f, BPF_JEQ, 0, SECCOMP_RET_ALLOW);
    give_if(f, BPF_JEQ, 0xffffffff, SECCOMP_RET_ALLOW);
    filter_give(f, filter_refusal(EPERM));
}

/* Other families are not bound to a network namespace (vsock reaches the host
 * of a virtual machine) or are for administrators (packet, alg). */
static void judge_socket(struct ch_filter *f, enum ch_sockets sockets) {
    static const uint32_t usual[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

    load_argument(f, 0);
    if (sockets == CH_SOCKETS_INET)
        give_if(f, BPF_JEQ, AF_UNIX, filter_refusal(EACCES));
    for (size_t i = 0; sockets != CH_SOCKETS_NONE && i < CH_LEN(usual); i++)
        give_if(f, BPF_JEQ, usual[i], SECCOMP_RET_ALLOW);
    filter_give(f, filter_refusal(sockets == CH_SOCKETS_NONE ? EACCES : EAFNOSUPPORT));
}

/* A pair of datagram sockets can send to any other socket, so only pairs of types that stay
 * connected are allowed where AF_UNIX is not: SOCK_STREAM and SOCK_SEQPACKET, without bit 1. */
static void judge_pair(struct ch_filter *f, enum ch_sockets sockets) {
    if (sockets != CH_SOCKETS_USUAL) {
        load_argument(f, 1);
        give_if(f, BPF_JSET, SOCK_DGRAM, filter_refusal(EACCES));
    }
    load_argument(f, 0);
    give_if(f, BPF_JEQ, AF_UNIX, SECCOMP_RET_ALLOW);
    filter_give(f, filter_refusal(EAFNOSUPPORT));
}

static void judge_self(struct ch_filter *f) {
    load_argument(f, 0);
    give_if(f, BPF_JEQ, 0, SECCOMP_RET_ALLOW);
    filter_give(f, filter_refusal(EPERM));
}

/* Deny the set-user-ID and set-group-ID bits, and devices. Of the types of files, only
 * devices and symbolic links have the bit S_IFCHR, and symbolic links are not created with a
 * mode. */
static void judge_mode(struct ch_filter *f, unsigned argument) {
    load_argument(f, argument);
    give_if(f, BPF_JSET, S_ISUID | S_ISGID | S_IFCHR, filter_refusal(EPERM));
    filter_give(f, SECCOMP_RET_ALLOW);
}

/* The mode counts only if a file may be created; otherwise the argument is arbitrary. */
static void judge_creation(struct ch_filter *f, unsigned flags) {
    load_argument(f, flags);
    filter_emit(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
                                                O_CREAT | (O_TMPFILE & ~O_DIRECTORY), 1, 0));
    filter_give(f, SECCOMP_RET_ALLOW);
    judge_mode(f, flags + 1);
}

static void filter_judge(struct ch_filter *f, enum rule rule, enum ch_sockets sockets) {
    switch (rule) {
    case IF_NAMESPACE:
        judge_namespace(f);
        break;
    case IF_TERMINAL:
        judge_terminal(f);
        break;
    case IF_PERSONALITY:
        judge_personality(f);
        break;
    case IF_SOCKET:
        judge_socket(f, sockets);
        break;
    case IF_PAIR:
        judge_pair(f, sockets);
        break;
    case BARE_IF_SELF:
        judge_self(f);
        break;
    case IF_MODE_1:
    case IF_MODE_2:
        judge_mode(f, rule == IF_MODE_1 ? 1 : 2);
        break;
    case IF_CREATES_1:
    case IF_CREATES_2:
        judge_creation(f, rule == IF_CREATES_1 ? 1 : 2);
        break;
    case DENY:
    case UNKNOWN:
    case BARE:
        break;
    }
}

/* Add the rule for a call whose arguments decide, skipped for other calls. The
 * arguments overwrite the number in the accumulator; this is safe, since the
 * rule always ends with a verdict. */
static void add_judgement(struct ch_filter *f, const struct row *r, int number,
                          enum ch_sockets sockets) {
    unsigned short jump = f->n;

    filter_emit(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 0));
    filter_judge(f, r->rule, sockets);
    f->code[jump].jf = (uint8_t)(f->n - jump - 1);
}

void ch_filter_build(struct ch_filter *f, enum ch_machine machine, enum ch_sockets sockets,
                     bool bare) {
    f->n = 0;
    f->denied = 0;
    filter_load(f, offsetof(struct seccomp_data, arch));
    filter_emit(f,
                (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, audit_arch[machine], 1, 0));
    filter_give(f, SECCOMP_RET_KILL_PROCESS);
    filter_load(f, offsetof(struct seccomp_data, nr));
    if (machine == CH_X86_64)
        give_if(f, BPF_JGE, X32_BIT, SECCOMP_RET_KILL_PROCESS);
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        int number = rows[i].number[machine];
        enum rule rule = rows[i].rule;
        if (number == NONE || (!bare && (rule == BARE || rule == BARE_IF_SELF)))
            continue;
        if (rule > BARE) {
            add_judgement(f, &rows[i], number, sockets);
            continue;
        }
        give_if(f, BPF_JEQ, (uint32_t)number,
                filter_refusal(rule == UNKNOWN ? ENOSYS : EPERM));
        f->denied++;
    }
    filter_give(f, SECCOMP_RET_ALLOW);
}

void ch_filter_build_renames(struct ch_filter *f, enum ch_machine machine) {
    static const int numbers[][CH_MACHINES] = {
        {82, NONE}, /* rename */
        {264, 38},  /* renameat */
        {316, 276}, /* renameat2 */
    };

    f->n = 0;
    f->denied = 0;
    filter_load(f, offsetof(struct seccomp_data, arch));
    filter_emit(f,
                (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, audit_arch[machine], 1, 0));
    filter_give(f, SECCOMP_RET_ALLOW); /* the other filter ends such a process */
    filter_load(f, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < CH_LEN(numbers); i++)
        if (numbers[i][machine] != NONE)
            give_if(f, BPF_JEQ, (uint32_t)numbers[i][machine], SECCOMP_RET_USER_NOTIF);
    filter_give(f, SECCOMP_RET_ALLOW);
}

/* With the second flag, which Linux has since 5.19, no signal repeats a call that was begun. */
int ch_filter_listen(const struct ch_filter *f) {
    static const unsigned flags[] = {
        SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
        SECCOMP_FILTER_FLAG_NEW_LISTENER};
    struct sock_fprog program = {.len = f->n, .filter = (struct sock_filter *)f->code};
    long fd = -1;

    for (size_t i = 0; fd < 0 && i < CH_LEN(flags); i++)
        fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags[i], &program);
    return fd < 0 ? -errno : (int)fd;
}

int ch_filter_apply(const struct ch_filter *f) {
    struct sock_fprog program = {.len = f->n, .filter = (struct sock_filter *)f->code};

    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}
