/* mounts.c -- see mounts.h.
 *
 * The new root is built next to the old one: a tmpfs holds both, so that paths
 * of the host stay reachable under OLD whatever is mounted. The old root is
 * unmounted at the end. Bind mounts are recursive, and mount_setattr makes them
 * read-only recursively (Linux 5.12); older kernels need bubblewrap. */
#include "sandbox/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sandbox/options.h"
#include "sandbox/report.h"

#define BASE "/tmp" /* any directory that exists on every system */
#define OLD "/old"
#define NEW "/new"
#define DEV "/dev"
#define EMPTY "/empty"
#define TEXT "/text" /* a file, before it is moved to its place */

#define MOVE_MOUNT 429
#define MOVE_EMPTY_PATH 4 /* the source is a descriptor */
#define MOUNT_SETATTR 442
#define CLONE3 435

/* --- rights */

static uint64_t effective_capabilities(void) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};

    if (syscall(SYS_capget, &head, data) < 0)
        return 0;
    return data[0].effective | (uint64_t)data[1].effective << 32;
}

bool ch_is_privileged(void) {
    return effective_capabilities() >> CAP_SYS_ADMIN & 1;
}

bool ch_needs_dac(const struct ch_box *box) {
    struct stat st;

    return geteuid() == 0 && box->workspace && stat(box->workspace, &st) == 0 && st.st_uid != 0;
}

/* --- namespaces */

struct clone_args_v0 {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};

static void mounts_write_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t n = strlen(text);

    if (fd < 0 || write(fd, text, n) != (ssize_t)n)
        ch_die("unavailable", "a user namespace cannot be set up: %s: %s", path, strerror(errno));
    close(fd);
}

/* Map only the current user and group, to the same numbers. */
static void map_user(uid_t uid, gid_t gid) {
    mounts_write_file("/proc/self/setgroups", "deny");
    mounts_write_file("/proc/self/uid_map", ch_text("%u %u 1", (unsigned)uid, (unsigned)uid));
    mounts_write_file("/proc/self/gid_map", ch_text("%u %u 1", (unsigned)gid, (unsigned)gid));
}

void ch_namespaces_enter(void) {
    bool user = !ch_is_privileged();
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (unshare(CLONE_NEWNS | (user ? CLONE_NEWUSER : 0)) < 0)
        ch_die("unavailable", "a mount namespace cannot be made: %s", strerror(errno));
    if (user)
        map_user(uid, gid);
}

pid_t ch_namespaces_fork(const struct ch_box *box) {
    /* in a layer, the rights are those of its namespace */
    bool user = box->layer ? geteuid() != 0 : !ch_is_privileged();
    uid_t uid = geteuid();
    gid_t gid = getegid();
    struct clone_args_v0 args = {
        .flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
                 (box->network ? 0 : CLONE_NEWNET) | (user ? CLONE_NEWUSER : 0),
        .exit_signal = SIGCHLD,
    };
    long pid = syscall(CLONE3, &args, sizeof(args));
#ifdef SYS_clone
    if (pid < 0 && errno == ENOSYS) /* a seccomp filter, or Linux before 5.3 */
        pid = syscall(SYS_clone, args.flags | SIGCHLD, 0, 0, 0, 0);
#endif

    if (pid == 0 && user)
        map_user(uid, gid);
    return pid < 0 ? -errno : (pid_t)pid;
}

/* Enable loopback: the network contains only the command and its own servers. */
static void raise_loopback(void) {
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0) {
        request.ifr_flags |= IFF_UP;
        ioctl(fd, SIOCSIFFLAGS, &request); /* optional */
    }
    if (fd >= 0)
        close(fd);
}

/* --- mounts */

_Noreturn static void mounts_fail(const char *what, const char *path) {
    ch_die("unavailable", "the sandbox cannot %s %s: %s", what, path, strerror(errno));
}

int ch_mount_set(int at, const char *path, unsigned flags, const struct ch_mount_attributes *a) {
    return syscall(MOUNT_SETATTR, at, path, flags, a, sizeof(*a)) < 0 ? -errno : 0;
}

static void mounts_set_attributes(const char *path, uint64_t attributes, bool recursive) {
    struct ch_mount_attributes a = {.set = attributes};

    if (ch_mount_set(AT_FDCWD, path, recursive ? AT_RECURSIVE : 0, &a) < 0)
        mounts_fail("set the attributes of", path);
}

static void do_mount(const char *src, const char *dst, const char *type, unsigned long flags,
                     const char *data) {
    if (mount(src, dst, type, flags, data) < 0)
        mounts_fail("mount", dst);
}

/* Make a directory, and those above it if they are missing, which few are. */
static void mounts_make_directory(const char *path) {
    CH_BUF_AUTO above = {0};

    if (mkdir(path, 0755) == 0 || errno == EEXIST)
        return;
    if (errno != ENOENT || strrchr(path, '/') == path)
        mounts_fail("make", path);
    ch_buf_add(&above, path, (size_t)(strrchr(path, '/') - path));
    mounts_make_directory(ch_buf_str(&above));
    if (mkdir(path, 0755) < 0)
        mounts_fail("make", path);
}

static void make_parents(const char *path) {
    struct stat st;

    char *above = ch_text("%.*s", (int)(strrchr(path, '/') - path), path);
    if (stat(above, &st) < 0)
        mounts_make_directory(above);
}

static void make_file(const char *path) {
    if (mknod(path, S_IFREG | 0444, 0) < 0)
        mounts_fail("make", path);
}

/* Create a file or directory at dst, of the same kind as src, as a mount point. */
static void make_mount_point(const char *src, const char *dst) {
    struct stat st, there;

    if (stat(src, &st) < 0)
        mounts_fail("find", src);
    if (stat(dst, &there) == 0)
        return;
    if (S_ISDIR(st.st_mode)) {
        mounts_make_directory(dst);
        return;
    }
    make_parents(dst);
    make_file(dst);
}

static void bind_mount(const char *src, const char *dst, uint64_t attributes) {
    make_mount_point(src, dst);
    do_mount(src, dst, NULL, MS_BIND | MS_REC, NULL);
    mounts_set_attributes(dst, attributes, true);
}

static void place_mount(int mount, const char *dst) {
    if (syscall(MOVE_MOUNT, mount, "", AT_FDCWD, dst, MOVE_EMPTY_PATH) < 0)
        mounts_fail("mount", dst);
    close(mount);
}

static void mount_tmpfs(const char *dst, const char *mode, uint64_t size) {
    const char *data = size ? ch_text("mode=%s,size=%llu", mode, (unsigned long long)size)
                            : ch_text("mode=%s", mode);

    mounts_make_directory(dst);
    do_mount("tmpfs", dst, "tmpfs", MS_NOSUID | MS_NODEV, data);
}

/* Mount a directory of the first tmpfs: to make one more tmpfs takes the kernel longer. */
static void mount_own(const char *dir, const char *dst) {
    mounts_make_directory(dir);
    if (chmod(dir, 0755) < 0)
        mounts_fail("open", dir);
    mounts_make_directory(dst);
    do_mount(dir, dst, NULL, MS_BIND, NULL);
}

static void mount_dev(const char *dst, uint64_t size) {
    static const char *const nodes[] = {"null", "zero", "full", "random", "urandom", "tty"};
    static const char *const links[][2] = {
        {"/proc/self/fd", "fd"},       {"/proc/self/fd/0", "stdin"}, {"/proc/self/fd/1", "stdout"},
        {"/proc/self/fd/2", "stderr"}, {"pts/ptmx", "ptmx"},
    };

    mount_own(DEV, dst);
    for (size_t i = 0; i < CH_LEN(nodes); i++) {
        const char *src = ch_text(OLD "/dev/%s", nodes[i]), *to = ch_text("%s/%s", dst, nodes[i]);
        make_file(to);
        do_mount(src, to, NULL, MS_BIND, NULL);
        mounts_set_attributes(to, CH_MOUNT_NOSUID, false);
    }
    for (size_t i = 0; i < CH_LEN(links); i++)
        if (symlink(links[i][0], ch_text("%s/%s", dst, links[i][1])) < 0)
            mounts_fail("make", links[i][1]);
    const char *pts = ch_text("%s/pts", dst);
    mounts_make_directory(pts);
    do_mount("devpts", pts, "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620");
    mount_tmpfs(ch_text("%s/shm", dst), "1777", size);
}

/* The file has no other name when the box is complete. */
static void mount_text(const char *text, const char *dst) {
    int fd = open(TEXT, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444);
    size_t n = strlen(text);

    if (fd < 0 || fchmod(fd, 0444) < 0 || write(fd, text, n) != (ssize_t)n)
        mounts_fail("make", TEXT);
    close(fd);
    do_mount(TEXT, dst, NULL, MS_BIND, NULL);
    mounts_set_attributes(dst, CH_MOUNT_RDONLY | CH_MOUNT_NOSUID | CH_MOUNT_NODEV, false);
    if (unlink(TEXT) < 0)
        mounts_fail("remove", TEXT);
}

/* In a mount without owners, no mount can be made below a directory that is closed for others. */
static bool is_out_of_reach(const char *dst) {
    return access(dst, F_OK) < 0 && errno == EACCES;
}

static void mounts_carry_out(const struct ch_view_step *op) {
    const char *src = op->src ? ch_text(OLD "%s", op->src) : NULL;
    const char *dst = ch_text(NEW "%s", strcmp(op->dst, "/") == 0 ? "" : op->dst);

    switch (op->kind) {
    case CH_STEP_RO:
        if (op->mount) {
            make_mount_point(src, dst);
            place_mount(op->mount, dst);
            break;
        }
        bind_mount(src, dst, CH_MOUNT_RDONLY | CH_MOUNT_NOSUID | CH_MOUNT_NODEV);
        break;
    case CH_STEP_RW:
        bind_mount(src, dst, CH_MOUNT_NOSUID | CH_MOUNT_NODEV);
        break;
    case CH_STEP_SYMLINK:
        make_parents(dst);
        if (symlink(op->src, dst) < 0)
            mounts_fail("make", op->dst);
        break;
    case CH_STEP_DIR:
        mounts_make_directory(dst);
        break;
    case CH_STEP_TMPFS:
        mount_tmpfs(dst, "1777", op->size);
        break;
    case CH_STEP_PROC:
        mounts_make_directory(dst);
        do_mount("proc", dst, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
        break;
    case CH_STEP_DEV:
        mount_dev(dst, op->size);
        break;
    case CH_STEP_HIDE_FILE:
        if (is_out_of_reach(dst))
            break;
        do_mount(OLD "/dev/null", dst, NULL, MS_BIND, NULL);
        mounts_set_attributes(dst, CH_MOUNT_RDONLY | CH_MOUNT_NOSUID | CH_MOUNT_NODEV, false);
        break;
    case CH_STEP_TEXT:
        if (!is_out_of_reach(dst))
            mount_text(op->src, dst);
        break;
    case CH_STEP_HIDE_DIR:
        if (is_out_of_reach(dst))
            break;
        mount_own(EMPTY, dst);
        mounts_set_attributes(dst, CH_MOUNT_RDONLY, false);
        break;
    case CH_STEP_SEAL:
        mounts_set_attributes(dst, CH_MOUNT_RDONLY, false);
        break;
    }
}

static void pivot(const char *to, const char *put_old) {
    if (syscall(SYS_pivot_root, to, put_old) < 0)
        mounts_fail("make a root of", to);
    if (chdir("/") < 0)
        mounts_fail("enter", "/");
}

void ch_mounts_make(const struct ch_box *box, const struct ch_box_view *view) {
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        mounts_fail("detach", "/");
    do_mount("tmpfs", BASE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755");
    mounts_make_directory(BASE OLD);
    mounts_make_directory(BASE NEW);
    pivot(BASE, BASE OLD);
    mount_own(NEW, NEW);
    for (size_t i = 0; i < view->n; i++)
        mounts_carry_out(&view->steps[i]);
    if (umount2(OLD, MNT_DETACH) < 0)
        mounts_fail("unmount", "the host's files");
    if (chdir(NEW) < 0)
        mounts_fail("enter", "the new root");
    pivot(".", ".");
    if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        mounts_fail("leave", "the old root");
    if (!box->network)
        raise_loopback();
    if (sethostname(CH_BOX_NAME, strlen(CH_BOX_NAME)) < 0)
        mounts_fail("name", "the box");
}
