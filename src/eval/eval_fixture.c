/* eval_fixture.c -- see eval_fixture.h. */
#include "eval/eval_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"

#define LEVELS 64

struct copying {
    const char *root; /* for messages */
    size_t files, bytes;
    char block[64 * 1024];
    struct ch_buf path; /* relative to the root */
    struct chela_error *err;
};

static int refuse(struct copying *c, int code, const char *why) {
    return ch_fail(c->err, code, "workspace %s: %s %s", c->root,
                   c->path.n ? ch_buf_str(&c->path) : ".", why);
}

static bool fixture_is_dot(const char *name) {
    return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static int copy_bytes(struct copying *c, int in, int out) {
    for (;;) {
        ssize_t n = read(in, c->block, sizeof(c->block));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? refuse(c, CHELA_EIO, strerror(errno)) : 0;
        c->bytes += (size_t)n;
        if (c->bytes > CH_LIMIT_EVAL_FIXTURE)
            return refuse(c, CHELA_ELIMIT, "exceeds the size of the workspace of a case");
        if (ch_file_write(out, ch_sv(c->block, (size_t)n)) < 0)
            return refuse(c, CHELA_EIO, strerror(errno));
    }
}

static int copy_file(struct copying *c, int from, int to, const char *name,
                     const struct stat *st) {
    int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (in < 0)
        return refuse(c, CHELA_EIO, strerror(errno));
    int out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st->st_mode & 0777);
    int rc = out < 0 ? refuse(c, CHELA_EIO, strerror(errno)) : copy_bytes(c, in, out);
    if (out >= 0)
        close(out);
    close(in);
    return rc;
}

/* A relative link that never rises above the root. level: folders between the root and the
 * link. */
static bool stays_inside(const char *target, size_t level) {
    if (*target == '/')
        return false;
    while (*target) {
        size_t n = strcspn(target, "/");
        if (n == 2 && strncmp(target, "..", 2) == 0) {
            if (!level--)
                return false;
        } else if (n && !(n == 1 && *target == '.')) {
            level++;
        }
        target += n + (target[n] == '/');
    }
    return true;
}

static int copy_link(struct copying *c, int from, int to, const char *name, size_t level) {
    char target[PATH_MAX];
    ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);
    if (n < 0)
        return refuse(c, CHELA_EIO, strerror(errno));
    target[n] = '\0';
    if (!stays_inside(target, level))
        return refuse(c, CHELA_EPERM, "is a link that leads out of the workspace");
    return symlinkat(target, to, name) < 0 ? refuse(c, CHELA_EIO, strerror(errno)) : 0;
}

static int copy_folder(struct copying *c, int from, int to, size_t level);

static int copy_subfolder(struct copying *c, int from, int to, const char *name, size_t level) {
    if (level >= LEVELS)
        return refuse(c, CHELA_ELIMIT, "is nested too deeply");
    if (mkdirat(to, name, 0700) < 0)
        return refuse(c, CHELA_EIO, strerror(errno));
    int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int rc = in < 0 || out < 0 ? refuse(c, CHELA_EIO, strerror(errno))
                               : copy_folder(c, in, out, level + 1);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return rc;
}

static int copy_entry(struct copying *c, int from, int to, const char *name, size_t level) {
    struct stat st;
    if (++c->files > CH_LIMIT_EVAL_FIXTURE_FILES)
        return refuse(c, CHELA_ELIMIT, "exceeds the number of files of the workspace of a case");
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return refuse(c, CHELA_EIO, strerror(errno));
    if (S_ISREG(st.st_mode))
        return copy_file(c, from, to, name, &st);
    if (S_ISDIR(st.st_mode))
        return copy_subfolder(c, from, to, name, level);
    if (S_ISLNK(st.st_mode))
        return copy_link(c, from, to, name, level);
    return refuse(c, CHELA_EPERM, "is neither a file nor a folder");
}

static int copy_folder(struct copying *c, int from, int to, size_t level) {
    int own = dup(from);
    DIR *dir = own < 0 ? NULL : fdopendir(own);
    int rc = dir ? 0 : refuse(c, CHELA_EIO, strerror(errno));
    size_t before = c->path.n;
    for (struct dirent *e; rc == 0 && (e = readdir(dir));) {
        if (fixture_is_dot(e->d_name))
            continue;
        ch_buf_addf(&c->path, "%s%s", before ? "/" : "", e->d_name);
        rc = copy_entry(c, from, to, e->d_name, level);
        if (rc == 0) {
            c->path.n = before;
            if (c->path.p)
                c->path.p[before] = '\0';
        }
    }
    if (dir)
        closedir(dir);
    else if (own >= 0)
        close(own);
    return rc;
}

int ch_eval_fixture_copy(const char *from, const char *to, struct chela_error *err) {
    if (mkdir(to, 0700) < 0)
        return ch_fail(err, CHELA_EIO, "%s: %s", to, strerror(errno));
    if (!from)
        return 0;
    int in = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (in < 0)
        return ch_fail(err, errno == ENOENT || errno == ENOTDIR ? CHELA_ENOENT : CHELA_EIO,
                       "workspace %s: %s", from, strerror(errno));
    struct copying *c = ch_alloc(sizeof(*c));
    c->root = from;
    c->err = err;
    int out = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = out < 0 ? refuse(c, CHELA_EIO, strerror(errno)) : copy_folder(c, in, out, 0);
    if (out >= 0)
        close(out);
    close(in);
    ch_buf_release(&c->path);
    ch_free(c);
    return rc;
}

static void remove_content(int folder, size_t level) {
    int own = dup(folder);
    DIR *dir = own < 0 || level > 4 * LEVELS ? NULL : fdopendir(own);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (fixture_is_dot(e->d_name) || unlinkat(folder, e->d_name, 0) == 0)
            continue;
        fchmodat(folder, e->d_name, 0700, 0);
        int in = openat(folder, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (in < 0)
            continue;
        remove_content(in, level + 1);
        close(in);
        unlinkat(folder, e->d_name, AT_REMOVEDIR);
    }
    if (dir)
        closedir(dir);
    else if (own >= 0)
        close(own);
}

void ch_eval_fixture_remove(const char *folder) {
    int in = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (in >= 0) {
        remove_content(in, 0);
        close(in);
    }
    rmdir(folder);
}
