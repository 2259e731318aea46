/* rollback.c -- see rollback.h.
 *
 * The list has a line for each step:
 *
 *     file N PATH      the file is kept under the name N
 *     none PATH        there was no file
 *     dir MODE PATH    there was a directory
 *     nodir PATH       there was none */
#include "layer/rollback.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "layer/covered.h"
#include "layer/walk.h"

#define LIST "list"
#define BACK ".chela-back" /* a kept file from another file system, before it has its name */
#define NAME 24            /* bytes of a number as a name */

int ch_rollback_begin(struct ch_rollback *r, struct ch_work_layer *l) {
    *r = (struct ch_rollback){.layer = l, .dir = -1, .list = -1};
    if (mkdirat(l->fd, CH_ROLLBACK, 0700) < 0 && errno != EEXIST)
        return -errno;
    r->dir = openat(l->fd, CH_ROLLBACK, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (r->dir < 0)
        return -errno;
    r->list = openat(r->dir, LIST, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return r->list < 0 ? -errno : 0;
}

void ch_rollback_close(struct ch_rollback *r) {
    if (r->list >= 0)
        close(r->list);
    if (r->dir >= 0)
        close(r->dir);
    r->dir = r->list = -1;
}

void ch_rollback_forget(struct ch_rollback *r) {
    ch_layer_erase(r->layer->fd, CH_ROLLBACK);
}

/* --- keeping */

static int add_line(const struct ch_rollback *r, const char *head, const char *path) {
    CH_BUF_AUTO line = {0};

    ch_buf_addf(&line, "%s ", head);
    ch_layer_escape(&line, path);
    ch_buf_addc(&line, '\n');
    return ch_file_write(r->list, ch_buf_sv(&line));
}

int ch_rollback_note(struct ch_rollback *r, const char *path, int mode) {
    char head[NAME];

    snprintf(head, sizeof(head), mode < 0 ? "nodir" : "dir %o", (unsigned)mode);
    return add_line(r, head, path);
}

static int copy_link(int from, const char *name, int to, const char *copy) {
    char target[PATH_MAX];
    ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

    if (n < 0)
        return -errno;
    target[n] = '\0';
    return symlinkat(target, to, copy) < 0 ? -errno : 0;
}

/* Between file systems: with owner, mode and times. */
static int copy_file(int from, const char *name, int to, const char *copy) {
    struct stat st;

    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (S_ISLNK(st.st_mode))
        return copy_link(from, name, to, copy);
    int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int out = in < 0 ? -1 : openat(to, copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int rc = out < 0 ? -errno : ch_layer_copy_bytes(in, out);
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    if (rc == 0 && geteuid() == 0 && fchown(out, st.st_uid, st.st_gid) < 0)
        rc = -errno;
    if (rc == 0 && (fchmod(out, st.st_mode & 07777) < 0 || futimens(out, times) < 0))
        rc = -errno;
    if (out >= 0)
        close(out);
    if (in >= 0)
        close(in);
    return rc;
}

/* Moves a file out of the workspace. */
static int keep_file(const struct ch_rollback *r, int dir, const char *name, const char *kept) {
    if (renameat(dir, name, r->dir, kept) == 0)
        return 0;
    int rc = errno == EXDEV ? copy_file(dir, name, r->dir, kept) : -errno;
    return rc == 0 && unlinkat(dir, name, 0) < 0 ? -errno : rc;
}

/* Where two names cannot be exchanged, the file is copied before it is replaced. */
static int replace_by_copy(const struct ch_rollback *r, int dir, const char *name,
                           const char *fresh, const char *kept) {
    int rc = copy_file(dir, name, r->dir, kept);

    return rc == 0 && renameat(dir, fresh, dir, name) < 0 ? -errno : rc;
}

int ch_rollback_replace(struct ch_rollback *r, const char *path, int dir, const char *name,
                        const char *fresh) {
    char kept[NAME], head[NAME + 8];
    int rc;

    if (fresh && faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return renameat(dir, fresh, dir, name) < 0 ? -errno : add_line(r, "none", path);
    snprintf(kept, sizeof(kept), "%lld", (long long)lseek(r->list, 0, SEEK_END));
    if (!fresh)
        rc = keep_file(r, dir, name, kept);
    else if (renameat2(dir, fresh, dir, name, RENAME_EXCHANGE) == 0)
        rc = keep_file(r, dir, fresh, kept);
    else
        rc = errno == EINVAL || errno == ENOSYS ? replace_by_copy(r, dir, name, fresh, kept)
                                                : -errno;
    snprintf(head, sizeof(head), "file %s", kept);
    return rc < 0 ? rc : add_line(r, head, path);
}

/* --- taking back */

static int bring_back(const struct ch_rollback *r, int dir, const char *name, const char *kept) {
    if (renameat(r->dir, kept, dir, name) == 0 || errno == ENOENT) /* or it is back */
        return 0;
    if (errno != EXDEV)
        return -errno;
    unlinkat(dir, BACK, 0);
    int rc = copy_file(r->dir, kept, dir, BACK);
    if (rc == 0 && renameat(dir, BACK, dir, name) < 0)
        rc = -errno;
    if (rc < 0)
        unlinkat(dir, BACK, 0);
    return rc;
}

static int remove_made(int dir, const char *name, int flags) {
    bool gone = unlinkat(dir, name, flags) == 0 || errno == ENOENT || errno == ENOTEMPTY ||
                errno == EEXIST;

    return gone ? 0 : -errno;
}

static int bring_back_directory(int dir, const char *name, unsigned mode) {
    if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int rc = fd < 0 || fchmod(fd, mode) < 0 ? -errno : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

static int take_back(const struct ch_rollback *r, struct ch_arena *a, struct ch_sv line,
                     const char **path) {
    struct ch_sv verb = ch_sv_split(&line, ' ');
    bool file = ch_sv_is(verb, "file"), was_dir = ch_sv_is(verb, "dir");
    const char *word = file || was_dir ? ch_arena_str(a, ch_sv_split(&line, ' ')) : "";
    const char *name;
    struct stat parent;

    *path = ch_layer_unescape(a, line);
    int dir = ch_file_open_parent(r->layer->real, *path, 0, &name);
    if (dir < 0)
        return dir == -ENOENT ? 0 : dir;
    bool closed = fstat(dir, &parent) == 0 && (parent.st_mode & 0300) != 0300 &&
                  fchmod(dir, (parent.st_mode & 07777) | 0700) == 0;
    int rc = file      ? bring_back(r, dir, name, word)
             : was_dir ? bring_back_directory(dir, name, (unsigned)strtoul(word, NULL, 8))
                       : remove_made(dir, name, ch_sv_is(verb, "nodir") ? AT_REMOVEDIR : 0);
    if (closed)
        fchmod(dir, parent.st_mode & 07777);
    close(dir);
    return rc;
}

int ch_rollback_run(struct ch_rollback *r, struct ch_arena *a, const char **path) {
    CH_BUF_AUTO text = {0};

    *path = CH_ROLLBACK;
    if (lseek(r->list, 0, SEEK_SET) < 0 ||
        ch_file_load_open(r->list, CH_ROLLBACK, CH_LIMIT_LAYER_RECORDS, &text, NULL) < 0)
        return -EIO;
    for (size_t end = text.n; end > 0;) {
        size_t from = end - 1;
        while (from > 0 && text.p[from - 1] != '\n')
            from--;
        struct ch_sv line = ch_sv(text.p + from, end - 1 - from);
        int rc = line.n ? take_back(r, a, line, path) : 0;
        if (rc < 0)
            return rc;
        end = from;
    }
    return 0;
}
