/* path.c -- see path.h.
 *
 * Names are normalized first (ch_path_inside), which is no security check. One system call
 * then resolves them beneath the workspace: openat2 with RESOLVE_BENEATH. On kernels
 * without openat2, path_walk() does the same component by component: the kernel never
 * follows a link, and the directories entered so far are on a stack, so ".." cannot leave
 * the root, even under concurrent renames. */
#include "tool/process/path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(SYS_openat2) && __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#define HAVE_OPENAT2 1
#endif

#include "base/limits.h"
#include "base/mem.h"
#include "tool/process/sandbox_policy.h"

#define RACE_RETRIES 8

/* --- normalizing names --------------------------------------------------- */

/* Append one component to a path without "." and ".."; false if ".." would leave base.
 * out->n never falls below base. */
static bool add_component(struct ch_buf *out, struct ch_sv part, size_t base) {
    if (part.n == 0 || ch_sv_is(part, "."))
        return true;
    if (!ch_sv_is(part, "..")) {
        if (out->n > base)
            ch_buf_addc(out, '/');
        ch_buf_add_sv(out, part);
        return true;
    }
    if (out->n == base)
        return false;
    while (out->n > base && out->p[out->n - 1] != '/')
        out->n--;
    if (out->n > base)
        out->n--;
    out->p[out->n] = '\0';
    return true;
}

static bool tidy(struct ch_buf *out, struct ch_sv path) {
    size_t base = out->n;

    while (path.n)
        if (!add_component(out, ch_sv_split(&path, '/'), base))
            return false;
    return true;
}

/* The part of an absolute path below dir; NULL if path is elsewhere. Compares whole
 * components: /ws-evil is not in /ws. */
static const char *path_below(const char *path, const char *dir) {
    CH_BUF_AUTO top = {0};

    tidy(&top, ch_sv_str(dir));
    if (top.n == 0)
        return path;
    if (strncmp(path, ch_buf_str(&top), top.n) != 0)
        return NULL;
    return path[top.n] == '/' ? path + top.n + 1 : path[top.n] == '\0' ? path + top.n : NULL;
}

static int below_workspace(const char *workspace, struct ch_sv given, struct ch_buf *rel) {
    CH_BUF_AUTO path = {0};

    if (!tidy(&path, given)) /* "/.." is "/" to the kernel; reject it */
        return -EXDEV;
    const char *inside = path_below(ch_buf_str(&path), workspace);
    if (!inside) {
        /* The model may use the resolved name of the workspace. */
        char *real = realpath(workspace, NULL);
        inside = real ? path_below(ch_buf_str(&path), real) : NULL;
        free(real);
    }
    if (!inside)
        return -EXDEV;
    ch_buf_add_str(rel, inside);
    return 0;
}

int ch_path_inside(const char *workspace, const char *given, struct ch_buf *rel) {
    struct ch_sv path = ch_sv_str(given);

    if (path.n == 0)
        return -ENOENT;
    if (path.n > CH_LIMIT_PATH)
        return -ENAMETOOLONG;
    if (path.p[0] == '~' && (path.n == 1 || path.p[1] == '/'))
        return -EXDEV; /* "~" means a home directory and is not taken literally */
    int rc = path.p[0] == '/'  ? below_workspace(workspace, path, rel)
             : tidy(rel, path) ? 0
                               : -EXDEV;
    if (rc < 0)
        return rc;
    if (rel->n == 0)
        ch_buf_addc(rel, '.');
    else if (path.p[path.n - 1] == '/')
        ch_buf_addc(rel, '/');
    return 0;
}

/* --- component-wise resolution ------------------------------------------- */

struct walk {
    int dirs[CH_LIMIT_PATH / 2]; /* directories entered; [0] is a duplicate of the root */
    size_t n;
    unsigned links;
    bool make;                 /* create missing directories */
    const struct ch_path_guard *guard; /* NULL: no protection */
    bool in_repository;        /* a directory on the way is Git's own */
    struct ch_buf at;          /* path of the last directory below the root, without links */
    struct ch_buf todo;        /* rest of the path */
    char *leaf;                /* owned; final name in the last directory */
    char *missing;             /* owned; first directory that does not exist; NULL: none */
    bool leaf_is_dir;          /* the path ends with a slash or dot: must be a directory */
};

static int top(const struct walk *w) {
    return w->dirs[w->n - 1];
}

/* Replace a link by its target in front of the rest of the path. */
static int path_follow(struct walk *w, const char *name) {
    char target[PATH_MAX];
    CH_BUF_AUTO rest = {0};

    if (++w->links > CH_LIMIT_LINKS)
        return -ELOOP;
    ssize_t n = readlinkat(top(w), name, target, sizeof(target));
    if (n < 0)
        return -errno;
    if (n == 0 || target[0] == '/')
        return n == 0 ? -ENOENT : -EXDEV;
    ch_buf_add_sv(&rest, ch_buf_sv(&w->todo));
    if (rest.n > CH_LIMIT_PATH)
        return -ENAMETOOLONG;
    ch_buf_clear(&w->todo);
    ch_buf_add(&w->todo, target, (size_t)n);
    ch_buf_add_sv(&w->todo, ch_buf_sv(&rest));
    return 0;
}

bool ch_path_of(int fd, struct ch_buf *out) {
    char link[64], path[PATH_MAX];

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path));
    if (n <= 0 || (size_t)n >= sizeof(path))
        return false;
    ch_buf_add(out, path, (size_t)n);
    return true;
}

/* True if path is an entry of the list or lies below one, or is another name of one. */
static bool is_listed(const char *const *list, const char *path, const struct stat *st) {
    struct stat other;

    for (; list && *list; list++) {
        size_t n = strlen(*list);
        if (strncmp(path, *list, n) == 0 && (path[n] == '/' || !path[n]))
            return true;
        if (st && stat(*list, &other) == 0 && other.st_dev == st->st_dev &&
            other.st_ino == st->st_ino)
            return true;
    }
    return false;
}

bool ch_path_is_listed(const char *const *list, int fd) {
    CH_BUF_AUTO path = {0};
    struct stat st;

    if (!list || !*list)
        return false;
    ch_path_of(fd, &path);
    return is_listed(list, ch_buf_str(&path), fstat(fd, &st) == 0 ? &st : NULL);
}

/* The same for `name` in the current directory of the walk, or for the path below it that
 * does not exist yet. */
static bool leaf_is_listed(const struct walk *w, const char *const *list, const char *name) {
    CH_BUF_AUTO given = {0}, path = {0};
    struct stat st;

    if (!list || !*list || !ch_path_of(top(w), &given))
        return false;
    bool there = fstatat(top(w), name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    ch_buf_addf(&given, "/%s/%s", name, ch_buf_str(&w->todo));
    ch_buf_addc(&path, '/');
    return tidy(&path, ch_buf_sv(&given)) && is_listed(list, ch_buf_str(&path), there ? &st : NULL);
}

/* Kind of the file `rel`, whose name in the current directory of the walk is `name`. */
static enum ch_file_kind judge_kind(const struct walk *w, const char *rel, const char *name,
                                    const char **why) {
    enum ch_file_kind kind = ch_file_kind(rel, why);

    if (w->in_repository || ch_file_is_repository(top(w), name)) {
        *why = "it belongs to a Git repository, or would make one";
        return CH_KIND_REPOSITORY;
    }
    if (kind < CH_KIND_EXECUTED && leaf_is_listed(w, w->guard->ask, name)) {
        *why = "chela executes it, or takes its configuration from it";
        return CH_KIND_EXECUTED;
    }
    return kind;
}

/* Whether `name` in the current directory, or the path below it that does not exist yet, may
 * be written: 0 or -errno. */
static int may_write(const struct walk *w, const char *name) {
    CH_BUF_AUTO given = {0}, path = {0};
    const struct ch_path_guard *g = w->guard;
    const char *why;

    if (!g)
        return 0;
    ch_buf_addf(&given, "%s/%s/%s", ch_buf_str(&w->at), name, ch_buf_str(&w->todo));
    if (!tidy(&path, ch_buf_sv(&given)) ||
        ch_sandbox_protects(g->protect, g->workspace, ch_buf_str(&path), g->what))
        return -EROFS;
    if (leaf_is_listed(w, g->hide, name))
        return -CH_PATH_EHIDDEN;
    enum ch_file_kind kind = judge_kind(w, ch_buf_str(&path), name, &why);
    if (kind == CH_KIND_REPOSITORY)
        return -EROFS;
    return kind > g->allowed ? -CH_PATH_EASK : 0;
}

static int path_enter(struct walk *w, const char *name) {
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

    if (w->n == CH_LEN(w->dirs))
        return -ENAMETOOLONG;
    int fd = openat(top(w), name, flags);
    if (fd < 0 && errno == ENOENT && w->make) {
        int rc = may_write(w, name);
        if (rc < 0)
            return rc;
        if (mkdirat(top(w), name, 0777) < 0 && errno != EEXIST)
            return -errno;
        fd = openat(top(w), name, flags);
    }
    if (fd < 0) {
        int error = errno;
        w->missing = error == ENOENT ? ch_strdup(name) : NULL;
        return -error;
    }
    w->in_repository |= w->guard && ch_file_is_repository(top(w), NULL);
    w->dirs[w->n++] = fd;
    ch_buf_addf(&w->at, "%s%s", w->at.n ? "/" : "", name);
    return 0;
}

static int path_leave(struct walk *w) {
    if (w->n == 1)
        return -EXDEV;
    close(w->dirs[--w->n]);
    const char *slash = memrchr(ch_buf_str(&w->at), '/', w->at.n);
    w->at.n = slash ? (size_t)(slash - w->at.p) : 0;
    w->at.p[w->at.n] = '\0';
    return 0;
}

static bool is_link(int dir, const char *name) {
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

/* Take the next component off the path; slashes after it remain. */
static char *next_component(struct walk *w) {
    size_t from = 0;

    while (from < w->todo.n && w->todo.p[from] == '/')
        from++;
    size_t end = from;
    while (end < w->todo.n && w->todo.p[end] != '/')
        end++;
    char *name = ch_strndup(ch_buf_str(&w->todo) + from, end - from);
    ch_buf_consume(&w->todo, end);
    return name;
}

static bool only_slashes_left(const struct walk *w) {
    for (size_t i = 0; i < w->todo.n; i++)
        if (w->todo.p[i] != '/')
            return false;
    return true;
}

static int arrive(struct walk *w, const char *leaf, bool is_dir) {
    w->leaf = ch_strdup(leaf);
    w->leaf_is_dir = is_dir;
    return 0;
}

/* Process one component: 1 to continue, 0 if the path ends here. */
static int path_step(struct walk *w) {
    CH_AUTOFREE char *name = next_component(w);
    bool last = only_slashes_left(w);
    int rc;

    if (strlen(name) > NAME_MAX)
        return -ENAMETOOLONG;
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        rc = strcmp(name, "..") == 0 ? path_leave(w) : 0;
        return rc < 0 ? rc : last ? arrive(w, ".", true) : 1;
    }
    if (is_link(top(w), name)) {
        rc = path_follow(w, name);
        return rc < 0 ? rc : 1;
    }
    if (last)
        return arrive(w, name, w->todo.n > 0);
    rc = path_enter(w, name);
    return rc < 0 ? rc : 1;
}

static int path_walk(struct walk *w, int root, const char *rel) {
    int rc = 1;

    w->dirs[0] = fcntl(root, F_DUPFD_CLOEXEC, 0);
    if (w->dirs[0] < 0)
        return -errno;
    w->n = 1;
    if (rel[0] == '/')
        return -EXDEV;
    ch_buf_add_str(&w->todo, rel);
    while (rc > 0)
        rc = path_step(w);
    return rc;
}

static void walk_free(struct walk *w) {
    while (w->n > 0)
        close(w->dirs[--w->n]);
    ch_buf_release(&w->todo);
    ch_buf_release(&w->at);
    ch_free(w->leaf);
    ch_free(w->missing);
    ch_free(w);
}

/* --- opening ------------------------------------------------------------- */

int ch_beneath_walk(int root, const char *rel, int flags) {
    struct walk *w = ch_alloc(sizeof(*w)); /* too large for a thread's stack */
    int rc = path_walk(w, root, rel);

    if (rc == 0) {
        int dir = w->leaf_is_dir ? O_DIRECTORY : 0;
        rc = openat(top(w), w->leaf, flags | dir | O_NOFOLLOW | O_CLOEXEC);
        if (rc < 0)
            rc = -errno;
    }
    walk_free(w);
    return rc;
}

int ch_beneath_open(int root, const char *rel, int flags) {
#ifdef HAVE_OPENAT2
    struct open_how how = {
        .flags = (uint64_t)(unsigned)flags | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    for (int i = 0; i < RACE_RETRIES; i++) {
        long fd = syscall(SYS_openat2, root, rel, &how, sizeof(how));
        if (fd >= 0)
            return (int)fd;
        if (errno == ENOSYS || errno == EPERM) /* EPERM: a seccomp filter older than openat2 */
            break;
        if (errno != EAGAIN) /* EAGAIN: a concurrent rename; retry */
            return -errno;
    }
#endif
    return ch_beneath_walk(root, rel, flags);
}

static int open_workspace(const char *workspace) {
    int fd = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

int ch_path_open(const char *workspace, const char *given, int flags) {
    CH_BUF_AUTO rel = {0};

    int rc = ch_path_inside(workspace, given, &rel);
    if (rc < 0)
        return rc;
    int root = open_workspace(workspace);
    if (root < 0)
        return root;
    int fd = ch_beneath_open(root, ch_buf_str(&rel), O_RDONLY | O_NONBLOCK | O_NOCTTY | flags);
    close(root);
    return fd;
}

/* Open an absolute path below one of the directories; -EXDEV: below none. */
static int open_below(const char *const *dirs, const char *given, int flags) {
    for (; dirs && *dirs; dirs++) {
        size_t n = strlen(*dirs);
        if (strncmp(given, *dirs, n) != 0 || given[n] != '/' || !given[n + 1])
            continue;
        int root = open(*dirs, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
            return -errno;
        int fd = ch_beneath_open(root, given + n + 1, flags | O_RDONLY | O_NONBLOCK | O_NOCTTY);
        close(root);
        return fd;
    }
    return -EXDEV;
}

int ch_path_open_shown(const struct ch_path_guard *guard, const char *given, int flags) {
    int fd = ch_path_open(guard->workspace, given, flags);

    if (fd == -EXDEV && *given == '/')
        fd = open_below(guard->shared, given, flags);
    if (fd < 0 || !ch_path_is_listed(guard->hide, fd))
        return fd;
    close(fd);
    return -CH_PATH_EHIDDEN;
}

/* The walk ends at the first directory that does not exist; the rest of the path is used
 * unchanged. */
static int locate(struct walk *w, int root, const char *rel, struct ch_buf *out,
                  enum ch_file_kind *kind, const char **why) {
    CH_BUF_AUTO path = {0};
    int rc = path_walk(w, root, rel);

    if (rc < 0 && !(rc == -ENOENT && w->missing))
        return rc;
    const char *name = w->missing ? w->missing : w->leaf;
    ch_buf_addf(&path, "%s/%s/%s", ch_buf_str(&w->at), name, ch_buf_str(&w->todo));
    if (!tidy(out, ch_buf_sv(&path)))
        return -EXDEV;
    *kind = judge_kind(w, ch_buf_str(out), name, why);
    return 0;
}

int ch_path_locate(const struct ch_path_guard *guard, const char *given, struct ch_buf *rel,
                   enum ch_file_kind *kind, const char **why) {
    CH_BUF_AUTO inside = {0};
    int rc = ch_path_inside(guard->workspace, given, &inside);
    int root = rc < 0 ? rc : open_workspace(guard->workspace);

    if (root < 0)
        return root;
    struct walk *w = ch_alloc(sizeof(*w));
    w->guard = guard;
    rc = locate(w, root, ch_buf_str(&inside), rel, kind, why);
    close(root);
    walk_free(w);
    return rc;
}

void ch_place_release(struct ch_place *p) {
    if (p->dir >= 0)
        close(p->dir);
    ch_free(p->leaf);
    *p = (struct ch_place){.dir = -1};
}

/* Always component-wise: openat2 returns a file, not its directory. */
int ch_path_place(const char *workspace, const struct ch_path_guard *guard, const char *given,
                  bool create, struct ch_place *out) {
    CH_BUF_AUTO rel = {0};

    *out = (struct ch_place){.dir = -1};
    int rc = ch_path_inside(workspace, given, &rel);
    int root = rc < 0 ? rc : open_workspace(workspace);
    if (root < 0)
        return root;
    struct walk *w = ch_alloc(sizeof(*w));
    w->make = create;
    w->guard = guard;
    rc = path_walk(w, root, ch_buf_str(&rel));
    close(root);
    if (rc == 0 && w->leaf_is_dir)
        rc = -EISDIR;
    if (rc == 0)
        rc = may_write(w, w->leaf);
    if (rc == 0) {
        out->dir = w->dirs[--w->n];
        out->leaf = CH_TAKE(w->leaf);
    }
    walk_free(w);
    return rc;
}
