/* path.c -- see path.h.
 *
 * Names are made tidy first (ch_path_inside), which decides nothing about
 * safety; then one system call resolves them beneath the workspace: openat2
 * with RESOLVE_BENEATH. Where that is missing, walk() does the same by hand:
 * one component at a time, never letting the kernel follow a link, with the
 * directories entered so far on a stack, so that ".." cannot leave the root
 * whatever is renamed meanwhile. */
#include "tool/process/path.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
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
#include "tool/call/call.h"
#include "tool/process/sandbox_policy.h"
#include "tool/result/similar.h"

#define RACE_RETRIES 8

/* --- tidying names ------------------------------------------------------- */

/* Append one component to a path without "." and ".."; false when ".." would
 * leave it. out->n never falls below base. */
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

/* The part of an absolute path below dir, NULL if it is elsewhere. Whole
 * components only: /ws-evil is not in /ws. */
static const char *below(const char *path, const char *dir) {
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

    if (!tidy(&path, given)) /* "/.." is "/" to the kernel; nobody means it */
        return -EXDEV;
    const char *inside = below(ch_buf_str(&path), workspace);
    if (!inside) {
        /* The model may know the workspace by its real name. */
        char *real = realpath(workspace, NULL);
        inside = real ? below(ch_buf_str(&path), real) : NULL;
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
        return -EXDEV; /* a home directory, and not taken literally */
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

/* --- resolving by hand --------------------------------------------------- */

/* What a walk must not make or lead to. */
struct guard {
    const char *const *protect;
    const char *workspace;
    enum ch_making what; /* where it ends */
};

struct walk {
    int dirs[CH_LIMIT_PATH / 2]; /* entered so far; [0] is the root's duplicate */
    size_t n;
    unsigned links;
    bool make;                 /* create directories that are missing */
    const struct guard *guard; /* NULL: nothing is protected */
    struct ch_buf at;          /* the last directory, below the root; no link is in it */
    struct ch_buf todo;        /* what is left of the path */
    char *leaf;                /* owned; where it ends: a name in the last directory */
    bool leaf_is_dir;          /* a slash or a dot followed: nothing else will do */
};

static int top(const struct walk *w) {
    return w->dirs[w->n - 1];
}

/* A link stands before the rest of the path: put where it leads there. */
static int follow(struct walk *w, const char *name) {
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

/* Does the way lead to what is protected, by this name in the directory that the
 * walk is in and, since nothing is there yet, by what is left of the path? */
static bool is_protected(const struct walk *w, const char *name) {
    CH_BUF_AUTO given = {0}, path = {0};
    const struct guard *g = w->guard;

    if (!g)
        return false;
    ch_buf_addf(&given, "%s/%s/%s", ch_buf_str(&w->at), name, ch_buf_str(&w->todo));
    return !tidy(&path, ch_buf_sv(&given)) ||
           ch_sandbox_protects(g->protect, g->workspace, ch_buf_str(&path), g->what);
}

static int enter(struct walk *w, const char *name) {
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

    if (w->n == CH_LEN(w->dirs))
        return -ENAMETOOLONG;
    int fd = openat(top(w), name, flags);
    if (fd < 0 && errno == ENOENT && w->make) {
        if (is_protected(w, name))
            return -EROFS;
        if (mkdirat(top(w), name, 0777) < 0 && errno != EEXIST)
            return -errno;
        fd = openat(top(w), name, flags);
    }
    if (fd < 0)
        return -errno;
    w->dirs[w->n++] = fd;
    ch_buf_addf(&w->at, "%s%s", w->at.n ? "/" : "", name);
    return 0;
}

static int leave(struct walk *w) {
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

/* Take the next component off the path; the slashes after it stay. */
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

/* One component: 1 to go on, 0 when the path ends here. */
static int step(struct walk *w) {
    CH_AUTOFREE char *name = next_component(w);
    bool last = only_slashes_left(w);
    int rc;

    if (strlen(name) > NAME_MAX)
        return -ENAMETOOLONG;
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        rc = strcmp(name, "..") == 0 ? leave(w) : 0;
        return rc < 0 ? rc : last ? arrive(w, ".", true) : 1;
    }
    if (is_link(top(w), name)) {
        rc = follow(w, name);
        return rc < 0 ? rc : 1;
    }
    if (last)
        return arrive(w, name, w->todo.n > 0);
    rc = enter(w, name);
    return rc < 0 ? rc : 1;
}

static int walk(struct walk *w, int root, const char *rel) {
    int rc = 1;

    w->dirs[0] = fcntl(root, F_DUPFD_CLOEXEC, 0);
    if (w->dirs[0] < 0)
        return -errno;
    w->n = 1;
    if (rel[0] == '/')
        return -EXDEV;
    ch_buf_add_str(&w->todo, rel);
    while (rc > 0)
        rc = step(w);
    return rc;
}

static void walk_free(struct walk *w) {
    while (w->n > 0)
        close(w->dirs[--w->n]);
    ch_buf_release(&w->todo);
    ch_buf_release(&w->at);
    ch_free(w->leaf);
    ch_free(w);
}

/* --- opening ------------------------------------------------------------- */

int ch_beneath_walk(int root, const char *rel, int flags) {
    struct walk *w = ch_alloc(sizeof(*w)); /* large for a thread's stack */
    int rc = walk(w, root, rel);

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
        if (errno == ENOSYS || errno == EPERM) /* EPERM: a filter that predates it */
            break;
        if (errno != EAGAIN) /* else something was renamed beside us */
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

void ch_place_release(struct ch_place *p) {
    if (p->dir >= 0)
        close(p->dir);
    ch_free(p->leaf);
    *p = (struct ch_place){.dir = -1};
}

/* By hand on every kernel: openat2 gives a file, not the directory it is in. */
static int find_place(const char *workspace, const struct guard *guard, const char *given,
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
    rc = walk(w, root, ch_buf_str(&rel));
    close(root);
    if (rc == 0 && w->leaf_is_dir)
        rc = -EISDIR;
    if (rc == 0 && is_protected(w, w->leaf))
        rc = -EROFS;
    if (rc == 0) {
        out->dir = w->dirs[--w->n];
        out->leaf = CH_TAKE(w->leaf);
    }
    walk_free(w);
    return rc;
}

int ch_path_place(const char *workspace, const char *given, bool create, struct ch_place *out) {
    return find_place(workspace, NULL, given, create, out);
}

int ch_call_place(const chela_call *call, const char *given, enum ch_making what, bool create,
                  struct ch_place *out) {
    const struct guard guard = {
        .protect = call->protect, .workspace = call->workspace, .what = what};

    return find_place(call->workspace, &guard, given, create, out);
}

/* --- saying no ----------------------------------------------------------- */

struct reason {
    int error;
    const char *type, *text;
};

static const struct reason reasons[] = {
    {EXDEV, "permission_denied", "it is outside of the workspace; use a path inside of it"},
    {ENOENT, "not_found", "there is no such file or directory"},
    {ENOTDIR, "not_found", "a part of the path is not a directory"},
    {EISDIR, "invalid_arguments", "it is a directory"},
    {ELOOP, "permission_denied", "it goes through too many symbolic links"},
    {EACCES, "permission_denied", "permission denied"},
    {EPERM, "permission_denied", "permission denied"},
    {EROFS, "permission_denied", "it is protected (or the file system is read-only)"},
    {ENAMETOOLONG, "invalid_arguments", "the path is too long"},
    {EINVAL, "invalid_arguments", "it is not a regular file"},
    {EFBIG, "invalid_arguments", "the file is too large"},
    {EEXIST, "unavailable", "somebody made it at the same moment; look again"},
    {EBUSY, "unavailable", "the file changed at the same moment; read it again"},
    {ENOSPC, "unavailable", "no space is left on the device"},
    {EDQUOT, "unavailable", "the disk quota is used up"},
    {EMFILE, "unavailable", "too many files are open"},
    {ENFILE, "unavailable", "too many files are open"},
    {ENXIO, "invalid_arguments", "it is not a regular file"},
    {ECANCELED, "cancelled", "the call was cancelled"},
    {0, "internal", "input/output error"},
};

int ch_path_refuse(chela_call *call, const char *verb, const char *given, int error) {
    const struct reason *r = reasons;

    while (r->error && r->error != -error)
        r++;
    if (r->error)
        return chela_result_error(call, r->type, "Cannot %s %s: %s.", verb, given, r->text);
    return chela_result_error(call, r->type, "Cannot %s %s: %s (errno %d).", verb, given, r->text,
                              -error);
}

/* Names in the directory where the file should have been. */
static void find_similar(const char *workspace, const char *given, struct ch_similar *s) {
    const char *slash = strrchr(given, '/');
    const char *leaf = slash ? slash + 1 : given;
    CH_AUTOFREE char *dir = slash ? ch_strndup(given, (size_t)(slash - given) + 1) : ch_strdup(".");

    int fd = ch_path_open(workspace, dir, O_DIRECTORY);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    s->wanted = ch_sv_str(leaf);
    struct dirent *e;
    for (unsigned n = 0; n < CH_LIMIT_LS_SCAN && (e = readdir(d)); n++)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            ch_similar_offer(s, ch_sv_str(e->d_name));
    closedir(d);
}

int ch_path_missing(chela_call *call, const char *verb, const char *given, int error) {
    CH_ARENA_AUTO arena = {0};
    struct ch_similar similar = {.arena = &arena};
    CH_BUF_AUTO names = {0};

    if (error == -ENOENT)
        find_similar(chela_call_workspace(call), given, &similar);
    if (similar.n == 0)
        return ch_path_refuse(call, verb, given, error);
    ch_similar_list(&similar, &names);
    return chela_result_error(call, "not_found",
                              "Cannot %s %s: there is no such file. Similar names there: %s.", verb,
                              given, ch_buf_str(&names));
}
