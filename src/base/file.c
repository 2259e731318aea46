/* file.c -- see file.h. The size is not queried beforehand: the path may be a
 * pipe, and a file may grow while it is read. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"

#define PIECE (16 * CH_KB)

int ch_file_load_open(int fd, const char *path, size_t max, struct ch_buf *out,
                      struct chela_error *err) {
    size_t start = out->n;
    for (size_t least = PIECE;; least = 1) { /* a small file needs no more memory at its end */
        char *to = ch_buf_reserve(out, least);
        if (!to)
            return ch_fail(err, CHELA_ELIMIT, "%s: larger than %zu bytes", path, max);
        ssize_t n = read(fd, to, out->cap - out->n - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ch_fail(err, CHELA_EIO, "%s: %s", path, strerror(errno));
        ch_buf_commit(out, (size_t)n);
        if (out->n - start > max)
            return ch_fail(err, CHELA_ELIMIT, "%s: larger than %zu bytes", path, max);
        if (n == 0)
            return 0;
    }
}

int ch_file_load(const char *path, size_t max, struct ch_buf *out, struct chela_error *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ch_fail(err, errno == ENOENT ? CHELA_ENOENT : CHELA_EIO, "%s: %s", path,
                       strerror(errno));
    int rc = ch_file_load_open(fd, path, max, out, err);
    close(fd);
    return rc;
}

int ch_file_write(int fd, struct ch_sv bytes) {
    while (bytes.n) {
        ssize_t n = write(fd, bytes.p, bytes.n);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0)
            bytes = ch_sv(bytes.p + n, bytes.n - (size_t)n);
    }
    return 0;
}

int ch_file_save(const char *path, struct ch_sv text, struct chela_error *err) {
    CH_BUF_AUTO draft = {0};

    ch_buf_addf(&draft, "%s.%d.tmp", path, (int)getpid());
    int fd = open(ch_buf_str(&draft), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return ch_fail(err, CHELA_EIO, "%s: %s", path, strerror(errno));
    int why = -ch_file_write(fd, text);
    if (!why && fsync(fd) < 0)
        why = errno;
    close(fd);
    if (!why && rename(ch_buf_str(&draft), path) < 0)
        why = errno;
    if (!why)
        return 0;
    unlink(ch_buf_str(&draft));
    return ch_fail(err, CHELA_EIO, "%s: %s", path, strerror(why));
}

int ch_file_open_folder(const char *workspace, const char *name, unsigned mode) {
    int top = open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return -1;
    mkdirat(top, name, (mode_t)mode); /* may exist */
    int dir = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int why = errno;
    close(top);
    errno = why;
    return dir;
}

static int base_file_enter(int at, const char *name, unsigned mode) {
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return -EINVAL;
    int fd = openat(at, name, flags);
    if (fd < 0 && errno == ENOENT && mode && mkdirat(at, name, (mode_t)mode) == 0)
        fd = openat(at, name, flags);
    return fd < 0 ? -errno : fd;
}

int ch_file_open_parent(int root, const char *path, unsigned mode, const char **name) {
    char part[256];
    int at = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return -errno;
    for (size_t n; path[n = strcspn(path, "/")]; path += n + 1) {
        int next = -ENAMETOOLONG;
        if (n < sizeof(part)) {
            memcpy(part, path, n);
            part[n] = '\0';
            next = base_file_enter(at, part, mode);
        }
        close(at);
        if (next < 0)
            return next;
        at = next;
    }
    if (*path && strcmp(path, ".") != 0 && strcmp(path, "..") != 0) {
        *name = path;
        return at;
    }
    close(at);
    return -EINVAL;
}
