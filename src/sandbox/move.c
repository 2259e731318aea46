/* move.c -- see move.h. */
#include "sandbox/move.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"

#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define ATTRIBUTES_MAX 4096 /* bytes of names, and of one value */

/* The mount that a directory belongs to. */
struct place {
    uint64_t mount;
    unsigned major, minor;
};

static int place_of(int dir, struct place *out) {
    struct statx st;

    if (statx(dir, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &st) < 0)
        return -errno;
    *out = (struct place){.mount = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0,
                          .major = st.stx_dev_major,
                          .minor = st.stx_dev_minor};
    return 0;
}

static bool same_place(const struct place *a, const struct place *b) {
    return a->mount == b->mount && a->major == b->major && a->minor == b->minor;
}

/* --- names of a directory */

typedef int name_fn(int from, int to, const char *name, void *user);

static int move_each(int from, int to, name_fn *fn, void *user) {
    int copy = openat(from, ".", OPEN_DIRECTORY); /* with a position of its own */
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    int rc = d ? 0 : -errno;

    for (struct dirent *e; rc == 0 && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            rc = fn(from, to, e->d_name, user);
    if (d)
        closedir(d);
    else if (copy >= 0)
        close(copy);
    return rc;
}

static bool is_directory(int dir, const char *name) {
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int refuse_name(int from, int to, const char *name, void *user) {
    (void)from, (void)to, (void)name, (void)user;
    return -ENOTEMPTY;
}

/* --- the new tree */

struct building {
    struct place place; /* of the tree */
    unsigned depth;
};

/* Access lists among them. What cannot be copied is left out. */
static void copy_attributes(int from, int to) {
    char names[ATTRIBUTES_MAX], value[ATTRIBUTES_MAX];
    ssize_t n = flistxattr(from, names, sizeof(names));

    for (ssize_t i = 0; i < n; i += (ssize_t)strlen(names + i) + 1) {
        ssize_t size = fgetxattr(from, names + i, value, sizeof(value));
        if (size >= 0 && fsetxattr(to, names + i, value, (size_t)size, 0) < 0)
            continue;
    }
}

static int copy_state(int from, int to) {
    struct stat st, made;

    if (fstat(from, &st) < 0 || fstat(to, &made) < 0)
        return -errno;
    bool owned = st.st_uid == made.st_uid && st.st_gid == made.st_gid;
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    copy_attributes(from, to);
    if ((!owned && fchown(to, st.st_uid, st.st_gid) < 0) || fchmod(to, st.st_mode & 07777) < 0 ||
        futimens(to, times) < 0)
        return -errno;
    return 0;
}

static int build_name(int from, int to, const char *name, void *user);

static int build_tree(struct building *b, int from, int to) {
    struct place here;
    int rc = place_of(from, &here);

    if (rc == 0 && (!same_place(&here, &b->place) || b->depth == CH_LIMIT_BOX_MOVE_DEPTH))
        rc = -EXDEV;
    b->depth++;
    if (rc == 0)
        rc = move_each(from, to, build_name, b);
    b->depth--;
    return rc < 0 ? rc : copy_state(from, to);
}

static int build_name(int from, int to, const char *name, void *user) {
    if (linkat(from, name, to, name, 0) == 0)
        return 0;
    int error = errno;
    if (!is_directory(from, name))
        return -error;
    int below = openat(from, name, OPEN_DIRECTORY);
    int made = below < 0 || mkdirat(to, name, 0700) < 0 ? -1 : openat(to, name, OPEN_DIRECTORY);
    int rc = made < 0 ? -errno : build_tree(user, below, made);
    if (made >= 0)
        close(made);
    if (below >= 0)
        close(below);
    return rc;
}

/* --- the end of a tree */

static int erase_name(int dir, int unused, const char *name, void *user) {
    if (unlinkat(dir, name, 0) == 0)
        return 0;
    int below = openat(dir, name, OPEN_DIRECTORY);
    int rc = below < 0 ? -errno : move_each(below, unused, erase_name, user);
    if (below >= 0)
        close(below);
    return rc == 0 && unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : rc;
}

static int leave_name(int from, int to, const char *name, void *user);

/* A directory that its owner may not write can be moved all the same. */
static void leave_tree(int from, int to) {
    fchmod(from, 0700);
    move_each(from, to, leave_name, NULL);
}

/* A name that was made meanwhile goes along. */
static int leave_name(int from, int to, const char *name, void *user) {
    (void)user;
    if (is_directory(from, name)) {
        int below = openat(from, name, OPEN_DIRECTORY), moved = openat(to, name, OPEN_DIRECTORY);
        if (below >= 0 && moved >= 0)
            leave_tree(below, moved);
        if (moved >= 0)
            close(moved);
        if (below >= 0)
            close(below);
        unlinkat(from, name, AT_REMOVEDIR);
    } else if (faccessat(to, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        unlinkat(from, name, 0);
    } else {
        renameat(from, name, to, name);
    }
    return 0;
}

/* --- the move */

/* The directory that holds a name. */
static int open_above(const struct ch_move_end *end, const char **name) {
    const char *slash = strrchr(end->path, '/');
    char above[PATH_MAX];

    *name = slash ? slash + 1 : end->path;
    if (!slash)
        return openat(end->dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(above, sizeof(above), "%.*s", (int)(slash - end->path + 1), end->path);
    return openat(end->dir, above, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int check_target(int above, const char *name, unsigned flags) {
    int fd = openat(above, name, OPEN_DIRECTORY);

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    int rc = flags ? -EEXIST : move_each(fd, -1, refuse_name, NULL);
    close(fd);
    return rc;
}

static int move_into(int old, int above, const char *name, unsigned flags, struct building *b) {
    char temporary[32];

    snprintf(temporary, sizeof(temporary), ".chela-move-%d", (int)getpid());
    int made = mkdirat(above, temporary, 0700) < 0 ? -1 : openat(above, temporary, OPEN_DIRECTORY);
    int rc = made < 0 ? -errno : build_tree(b, old, made);
    if (rc == 0 && renameat2(above, temporary, above, name, flags) < 0)
        rc = -errno;
    if (rc == 0)
        leave_tree(old, made);
    else if (made >= 0)
        erase_name(above, -1, temporary, NULL);
    if (made >= 0)
        close(made);
    return rc;
}

int ch_move_directory(const struct ch_move_end *from, const struct ch_move_end *to,
                      unsigned flags) {
    const char *old_name, *new_name;
    struct building b = {.depth = 0};
    struct place target;
    int old_above = open_above(from, &old_name), new_above = open_above(to, &new_name);
    int old = old_above < 0 ? -1 : openat(old_above, old_name, OPEN_DIRECTORY);
    int rc = old < 0 || new_above < 0 ? -errno : place_of(new_above, &target);

    if (rc == 0)
        rc = place_of(old_above, &b.place);
    if (rc == 0 && !same_place(&b.place, &target))
        rc = -EXDEV;
    if (rc == 0)
        rc = check_target(new_above, new_name, flags);
    if (rc == 0)
        rc = move_into(old, new_above, new_name, flags, &b);
    if (rc == 0)
        unlinkat(old_above, old_name, AT_REMOVEDIR);
    const int fds[] = {old, old_above, new_above};
    for (size_t i = 0; i < CH_LEN(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return rc;
}
