/* file.c -- see file.h. Everything here blocks: worker threads only. */
#include "tool/builtin/files/file.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "tool/call/buffers.h"
#include "tool/call/call.h"
#include "tool/call/call_view.h"
#include "tool/call/resource_locks.h"
#include "json/json.h"

#define CHUNK (64 * CH_KB)

static const char *const path_names[] = {"file_path", "path", "filePath", "filename", NULL};

int ch_file_arg(chela_call *call, const char **path) {
    return chela_arg_string(call, ch_arg_name(call, path_names), path);
}

static void use_file(chela_call *call, enum chela_use use) {
    const struct ch_json *path = ch_json_get(call->args, ch_arg_name(call, path_names));

    if (ch_json_is(path, CH_JSON_STRING))
        ch_use_path(call, ch_arena_str(&call->arena, ch_json_str(path)), use);
}

void ch_file_shared(chela_call *call, void *user) {
    (void)user;
    use_file(call, CHELA_USE_SHARED);
}

void ch_file_alone(chela_call *call, void *user) {
    (void)user;
    use_file(call, CHELA_USE_ALONE);
}

void ch_tree_shared(chela_call *call, void *user) {
    static const char *const names[] = {"path", "file_path", "directory", "dir", "cwd", NULL};
    struct ch_sv path = ch_json_str(ch_json_get(call->args, ch_arg_name(call, names)));

    (void)user;
    ch_use_path(call, path.n ? ch_arena_str(&call->arena, path) : ".", CHELA_USE_SHARED);
}

int ch_file_check(chela_call *call, void *user) {
    const char *path;

    (void)user;
    int rc = ch_file_arg(call, &path);
    if (rc < 0)
        return rc;
    if (path[0] == '\0')
        return chela_result_error(call, "invalid_arguments", "The path is empty.");
    return 0;
}

static int files_file_write_all(const chela_call *call, int fd, struct ch_sv s) {
    while (s.n > 0) {
        if (chela_call_cancelled(call))
            return -ECANCELED;
        ssize_t n = write(fd, s.p, CH_MIN(s.n, CH_MB));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        s = ch_sv(s.p + n, s.n - (size_t)n);
    }
    return 0;
}

static int text_file(const chela_call *call, struct ch_sv text) {
    int fd = memfd_create("text", MFD_CLOEXEC);

    if (fd < 0)
        return -errno;
    int rc = files_file_write_all(call, fd, text);
    if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
        rc = -errno;
    if (rc == 0)
        return fd;
    close(fd);
    return rc;
}

/* Returns fd, or a file with the text that an editor has of this file instead. */
static int as_edited(const chela_call *call, int fd) {
    CH_BUF_AUTO text = {0};
    char head[512];
    ssize_t n = pread(fd, head, sizeof(head), 0);
    int rc = n < 0 ? -errno : 0;

    if (rc == 0 && !ch_file_is_text(ch_sv(head, (size_t)n)))
        return fd;
    if (rc == 0)
        rc = ch_buffers_read(call->buffers, call, fd, &text);
    if (rc == -ENOTSUP)
        return fd;
    close(fd);
    return rc < 0 ? rc : text_file(call, ch_buf_sv(&text));
}

int ch_file_open(const chela_call *call, const char *path, struct stat *st) {
    int fd = ch_path_open_shown(&call->guard, path, 0);
    int error = 0;

    if (fd < 0)
        return fd;
    if (fstat(fd, st) < 0)
        error = -errno;
    else if (S_ISDIR(st->st_mode))
        error = -EISDIR;
    else if (!S_ISREG(st->st_mode))
        error = -EINVAL;
    if (error == 0 && call->buffers && (uint64_t)st->st_size <= CH_LIMIT_FILE_READ)
        return as_edited(call, fd);
    if (error == 0)
        return fd;
    close(fd);
    return error;
}

int ch_file_read(const chela_call *call, int fd, size_t max, struct ch_buf *out) {
    for (;;) {
        if (chela_call_cancelled(call))
            return -ECANCELED;
        char *at = ch_buf_reserve(out, CHUNK);
        ssize_t n = at ? read(fd, at, CHUNK) : 0;
        if (!at)
            return -EFBIG;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        ch_buf_commit(out, (size_t)n);
        if (out->n > max)
            return -EFBIG;
    }
}

bool ch_file_is_text(struct ch_sv head) {
    return head.n == 0 || !memchr(head.p, '\0', head.n);
}

/* --- replacing ----------------------------------------------------------- */

bool ch_file_same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Returns 1 for a regular file, 0 for nothing, or -errno if the file cannot be replaced. */
int ch_file_look(const struct ch_place *place, struct stat *st) {
    if (fstatat(place->dir, place->leaf, st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (S_ISDIR(st->st_mode))
        return -EISDIR;
    if (!S_ISREG(st->st_mode))
        return -EINVAL;
    /* Renaming ignores the file's mode: respect a read-only file. */
    if (faccessat(place->dir, place->leaf, W_OK, AT_EACCESS) < 0)
        return -errno;
    return 1;
}

/* Create a temporary file beside the old one, with an unpredictable name. */
static int open_temp(const struct ch_place *place, char name[CH_TEMP_NAME], mode_t mode) {
    for (int i = 0; i < 16; i++) {
        uint64_t r;
        if (getrandom(&r, sizeof(r), 0) != (ssize_t)sizeof(r))
            return -EIO;
        snprintf(name, CH_TEMP_NAME, ".chela-%016llx.tmp", (unsigned long long)r);
        int fd =
            openat(place->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST)
            return fd < 0 ? -errno : fd;
    }
    return -EEXIST;
}

/* The owner is kept if permitted and possible: it has no number in some containers (EINVAL), and
 * no meaning on some file systems. Set-id bits are dropped. */
static int copy_mode(int fd, const struct stat *old) {
    if (fchown(fd, old->st_uid, old->st_gid) < 0 && errno != EPERM && errno != EINVAL &&
        errno != ENOTSUP)
        return -errno;
    return fchmod(fd, old->st_mode & 0777) < 0 ? -errno : 0;
}

static int fill_temp(const chela_call *call, int fd, struct ch_sv content, const struct stat *old) {
    int rc = files_file_write_all(call, fd, content);

    if (rc == 0 && old)
        rc = copy_mode(fd, old);
    if (rc == 0 && fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP)
        rc = -errno;
    if (close(fd) < 0 && rc == 0)
        rc = -errno;
    return rc;
}

int ch_file_temp(const chela_call *call, const struct ch_place *place, const struct stat *like,
                 struct ch_sv content, char name[CH_TEMP_NAME]) {
    int fd = open_temp(place, name, like ? 0600 : 0666);

    if (fd < 0)
        return fd;
    int rc = fill_temp(call, fd, content, like);
    if (rc < 0)
        unlinkat(place->dir, name, 0);
    return rc;
}

int ch_file_replace(const chela_call *call, const struct ch_place *place, const struct stat *expect,
                    struct ch_sv content) {
    char temp[CH_TEMP_NAME];
    struct stat old;

    int there = ch_file_look(place, &old);
    if (there < 0)
        return there;
    if (expect && (!there || !ch_file_same(&old, expect)))
        return -EBUSY;
    int rc = ch_buffers_write(call->buffers, call, place->dir, place->leaf, content);
    if (rc != -ENOTSUP)
        return rc;
    rc = ch_file_temp(call, place, there ? &old : NULL, content, temp);
    if (rc < 0)
        return rc;
    if (chela_call_cancelled(call))
        rc = -ECANCELED;
    if (rc == 0 && expect && (ch_file_look(place, &old) != 1 || !ch_file_same(&old, expect)))
        rc = -EBUSY;
    if (rc == 0 && renameat(place->dir, temp, place->dir, place->leaf) < 0)
        rc = -errno;
    if (rc < 0)
        unlinkat(place->dir, temp, 0);
    return rc;
}
