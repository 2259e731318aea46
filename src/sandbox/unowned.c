/* unowned.c -- see unowned.h. Needs mounts with owners of their own (Linux 5.12). */
#include "sandbox/unowned.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/mounts.h"

#define UNUSED_ID 4294967280u /* owns no file */
#define STACK (16 * 1024)
#define OPEN_TREE 428
#define OPEN_CLONE 1 /* as a mount of its own */

static bool unowned_write(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t n = strlen(text);
    bool done = fd >= 0 && write(fd, text, n) == (ssize_t)n;

    if (fd >= 0)
        close(fd);
    return done;
}

struct naming {
    uid_t uid;
    gid_t gid;
    int owners; /* the result */
};

/* The kernel wants a number at least: the process gives its own user and group that of no file.
 * The memory and the descriptors are those of the process that waits for this one. */
static int name_nobody(void *user) {
    struct naming *n = user;
    char users[32], groups[32];

    snprintf(users, sizeof(users), "%u %u 1", UNUSED_ID, (unsigned)n->uid);
    snprintf(groups, sizeof(groups), "%u %u 1", UNUSED_ID, (unsigned)n->gid);
    if (unowned_write("/proc/self/setgroups", "deny") &&
        unowned_write("/proc/self/uid_map", users) && unowned_write("/proc/self/gid_map", groups))
        n->owners = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
    return 0;
}

int ch_unowned_open(void) {
    char stack[STACK] __attribute__((aligned(16)));
    struct naming n = {.uid = geteuid(), .gid = getegid(), .owners = -1};
    pid_t pid = clone(name_nobody, stack + sizeof(stack),
                      CLONE_NEWUSER | CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &n);

    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return n.owners;
}

int ch_unowned_mount(int owners, const char *path) {
    unsigned tree = AT_RECURSIVE | AT_SYMLINK_NOFOLLOW;
    /* not shared: else mounts in the box would appear outside */
    struct ch_mount_attributes a = {
        .set = CH_MOUNT_RDONLY | CH_MOUNT_NOSUID | CH_MOUNT_NODEV | CH_MOUNT_OWNERS,
        .propagation = MS_PRIVATE,
        .owners = (uint64_t)owners,
    };
    struct stat st;
    bool is_there = lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
    long fd = is_there ? syscall(OPEN_TREE, AT_FDCWD, path, tree | OPEN_CLONE | O_CLOEXEC) : -1;

    if (fd < 0 || ch_mount_set((int)fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &a) == 0)
        return (int)fd;
    close((int)fd);
    return -1;
}
