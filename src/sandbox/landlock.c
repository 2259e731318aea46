/* landlock.c -- see landlock.h. Constants are defined here, because Debian 12's
 * kernel header has only two of seven ABIs. */
#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CREATE_RULESET 444
#define ADD_RULE 445
#define RESTRICT_SELF 446
#define VERSION_FLAG 1
#define PATH_BENEATH 1

enum {
    FS_EXECUTE = 1 << 0,
    FS_WRITE_FILE = 1 << 1,
    FS_READ_FILE = 1 << 2,
    FS_READ_DIR = 1 << 3,
    FS_MAKE_DEVICE = 1 << 6 | 1 << 11, /* character, block */
    FS_REFER = 1 << 13,                /* ABI 2 */
    FS_TRUNCATE = 1 << 14,             /* ABI 3 */
    FS_IOCTL_DEV = 1 << 15,            /* ABI 5 */
    FS_FIRST = (1 << 13) - 1,
    FS_OF_FILES = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV,
    NET_TCP = 3,       /* bind, connect: ABI 4 */
    SCOPE_OUTSIDE = 3, /* abstract unix sockets, signals: ABI 6 */
};

static const uint64_t rights[] = {
    [CH_MAY_READ] = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR,
    [CH_MAY_WRITE] = (FS_FIRST & ~FS_MAKE_DEVICE) | FS_REFER | FS_TRUNCATE | FS_IOCTL_DEV,
    [CH_MAY_DEVICE] = FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV,
};

struct ruleset {
    uint64_t fs, net, scoped;
};

struct beneath {
    uint64_t allowed;
    int32_t fd;
} __attribute__((packed));

int ch_landlock_abi(void) {
    long abi = syscall(CREATE_RULESET, NULL, 0, VERSION_FLAG);

    return abi > 0 ? (int)abi : 0;
}

bool ch_landlock_scopes(void) {
    return ch_landlock_abi() >= 6;
}

int ch_landlock_begin(struct ch_landlock *l, bool no_tcp) {
    l->abi = ch_landlock_abi();
    l->handled = FS_FIRST | (l->abi >= 2 ? FS_REFER : 0) | (l->abi >= 3 ? FS_TRUNCATE : 0) |
                 (l->abi >= 5 ? FS_IOCTL_DEV : 0);
    struct ruleset attr = {
        .fs = l->handled,
        .net = no_tcp && l->abi >= 4 ? NET_TCP : 0,
        .scoped = l->abi >= 6 ? SCOPE_OUTSIDE : 0,
    };
    if (l->abi == 0)
        return -ENOSYS;
    /* An old kernel accepts a longer struct if the rest is zero. */
    l->fd = (int)syscall(CREATE_RULESET, &attr, sizeof(attr), 0);
    return l->fd < 0 ? -errno : 0;
}

int ch_landlock_allow(struct ch_landlock *l, const char *path, enum ch_landlock_right right) {
    int fd = open(path, O_PATH | O_CLOEXEC), rc;
    struct stat st;

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
    struct beneath rule = {.allowed = rights[right] & l->handled, .fd = fd};
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
        rule.allowed &= FS_OF_FILES;
    rc = syscall(ADD_RULE, l->fd, PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
    close(fd);
    return rc;
}

int ch_landlock_enforce(struct ch_landlock *l) {
    int rc = syscall(RESTRICT_SELF, l->fd, 0) < 0 ? -errno : 0;

    close(l->fd);
    return rc;
}
