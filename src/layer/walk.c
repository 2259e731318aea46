/* walk.c -- see walk.h. */
#include "layer/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"

#define OPAQUE "user.overlay.opaque"
#define COPY_BUFFER (64 * CH_KB)

struct walk {
    struct ch_buf path;
    unsigned depth;
    ch_layer_node_fn *fn;
    void *user;
    struct chela_error *err;
};

/* A directory of both trees; a descriptor is -1 where the tree has none. */
struct pair {
    int upper, lower;
};

bool ch_layer_is_whiteout(const struct stat *st) {
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

bool ch_layer_is_opaque(int dir) {
    char value;

    return fgetxattr(dir, OPAQUE, &value, 1) == 1 && value == 'y';
}

/* --- names */

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int ch_layer_names_read(int dir, struct ch_layer_names *out) {
    int fd = dir < 0 ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;

    *out = (struct ch_layer_names){0};
    if (dir < 0)
        return 0;
    if (!d)
        return -errno;
    while ((e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            CH_GROW(out->v, out->n, out->cap, 16);
            out->v[out->n++] = ch_strdup(e->d_name);
        }
    closedir(d);
    if (out->n)
        qsort(out->v, out->n, sizeof(*out->v), by_bytes);
    return 0;
}

void ch_layer_names_free(struct ch_layer_names *names) {
    for (size_t i = 0; i < names->n; i++)
        ch_free(names->v[i]);
    ch_free(names->v);
}

static bool names_have(const struct ch_layer_names *names, const char *name) {
    return names->n && bsearch(&name, names->v, names->n, sizeof(*names->v), by_bytes);
}

/* --- the walk */

static int walk_fail(struct walk *w, int error) {
    return ch_fail(w->err, error == EMFILE || error == ENFILE ? CHELA_ELIMIT : CHELA_EIO,
                   "the layer: %s: %s", w->path.n ? ch_buf_str(&w->path) : ".", strerror(error));
}

static int walk_report(struct walk *w, const struct pair *at, const char *name,
                       const struct stat *upper, const struct stat *lower) {
    struct ch_layer_node node = {.path = ch_buf_str(&w->path),
                                 .upper = upper,
                                 .lower = lower,
                                 .udir = at->upper,
                                 .ldir = at->lower,
                                 .name = name};

    return w->fn(&node, w->user);
}

/* Returns the length of the path before. */
static size_t walk_push(struct walk *w, const char *name) {
    size_t before = w->path.n;

    ch_buf_addf(&w->path, "%s%s", before ? "/" : "", name);
    return before;
}

static void walk_pop(struct walk *w, size_t before) {
    w->path.n = before;
    w->path.p[before] = '\0';
}

static int walk_pair(struct walk *w, const struct pair *at, bool opaque);

static int walk_open(int dir, const char *name) {
    return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Enters a directory of one tree or of both. */
static int walk_enter(struct walk *w, const struct pair *at, const char *name, bool upper,
                      bool lower) {
    struct pair below = {-1, -1};
    int rc = 0;

    if (++w->depth > CH_LIMIT_LAYER_DEPTH)
        return ch_fail(w->err, CHELA_ELIMIT, "the layer: %s: more than %d directories deep",
                       ch_buf_str(&w->path), CH_LIMIT_LAYER_DEPTH);
    if (upper && (below.upper = walk_open(at->upper, name)) < 0)
        rc = walk_fail(w, errno);
    if (rc == 0 && lower && (below.lower = walk_open(at->lower, name)) < 0)
        rc = walk_fail(w, errno);
    /* A directory that only the lower tree has was removed: all its names are. */
    if (rc == 0)
        rc = walk_pair(w, &below, !upper || ch_layer_is_opaque(below.upper));
    if (below.upper >= 0)
        close(below.upper);
    if (below.lower >= 0)
        close(below.lower);
    w->depth--;
    return rc;
}

/* A name of the lower tree that the layer removed. */
static int walk_removed(struct walk *w, const struct pair *at, const char *name,
                        const struct stat *lower) {
    int rc = S_ISDIR(lower->st_mode) ? walk_enter(w, at, name, false, true) : 0;

    return rc < 0 ? rc : walk_report(w, at, name, NULL, lower);
}

/* A directory that a command closed to its own user cannot be read or carried over. */
static void open_to_owner(int dir, const char *name, struct stat *st) {
    unsigned mode = (st->st_mode & 07777) | 0700;

    if ((st->st_mode & 0500) != 0500 && fchmodat(dir, name, mode, 0) == 0)
        st->st_mode |= 0700;
}

static int walk_name(struct walk *w, const struct pair *at, const char *name) {
    struct stat upper, lower;
    bool covers = at->lower >= 0 && fstatat(at->lower, name, &lower, AT_SYMLINK_NOFOLLOW) == 0;
    int rc = 0;

    if (fstatat(at->upper, name, &upper, AT_SYMLINK_NOFOLLOW) < 0)
        return walk_fail(w, errno);
    bool dir = S_ISDIR(upper.st_mode), both = dir && covers && S_ISDIR(lower.st_mode);
    if (dir)
        open_to_owner(at->upper, name, &upper);
    if (ch_layer_is_whiteout(&upper))
        return covers ? walk_removed(w, at, name, &lower) : 0;
    if (covers && dir != S_ISDIR(lower.st_mode)) { /* a file became a directory, or the reverse */
        rc = walk_removed(w, at, name, &lower);
        covers = false;
    }
    if (rc == 0)
        rc = walk_report(w, at, name, &upper, covers ? &lower : NULL);
    return rc == 0 && dir ? walk_enter(w, at, name, true, both) : rc;
}

static int walk_hidden(struct walk *w, const struct pair *at, const char *name) {
    struct stat lower;

    return fstatat(at->lower, name, &lower, AT_SYMLINK_NOFOLLOW) < 0
               ? 0
               : walk_removed(w, at, name, &lower);
}

/* The folder of chela's own files in a workspace is no part of the work. */
static bool is_own(const struct walk *w, const char *name) {
    return w->path.n == 0 && strcmp(name, ".chela") == 0;
}

static int walk_pair(struct walk *w, const struct pair *at, bool opaque) {
    struct ch_layer_names upper, lower = {0};
    int rc = ch_layer_names_read(at->upper, &upper);

    if (rc == 0 && opaque)
        rc = ch_layer_names_read(at->lower, &lower);
    if (rc < 0)
        rc = walk_fail(w, -rc);
    for (size_t i = 0; rc == 0 && i < upper.n; i++) {
        if (is_own(w, upper.v[i]))
            continue;
        size_t before = walk_push(w, upper.v[i]);
        rc = walk_name(w, at, upper.v[i]);
        walk_pop(w, before);
    }
    for (size_t i = 0; rc == 0 && i < lower.n; i++) {
        if (names_have(&upper, lower.v[i]))
            continue;
        size_t before = walk_push(w, lower.v[i]);
        rc = walk_hidden(w, at, lower.v[i]);
        walk_pop(w, before);
    }
    ch_layer_names_free(&upper);
    ch_layer_names_free(&lower);
    return rc;
}

int ch_layer_walk(int upper, int lower, ch_layer_node_fn *fn, void *user, struct chela_error *err) {
    struct walk w = {.fn = fn, .user = user, .err = err};
    const struct pair top = {upper, lower};

    int rc = walk_pair(&w, &top, ch_layer_is_opaque(upper));
    ch_buf_release(&w.path);
    return rc;
}

/* --- files */

int ch_layer_copy_bytes(int from, int to) {
    CH_AUTOFREE char *buffer = ch_malloc(COPY_BUFFER);
    ssize_t n;

    while ((n = read(from, buffer, COPY_BUFFER)) > 0) {
        int rc = ch_file_write(to, ch_sv(buffer, (size_t)n));
        if (rc < 0)
            return rc;
    }
    return n < 0 ? -errno : 0;
}

/* --- removal */

static int erase_below(int dir, const char *name, unsigned depth) {
    struct ch_layer_names names;

    if (depth > CH_LIMIT_LAYER_DEPTH)
        return -ENAMETOOLONG;
    fchmodat(dir, name, 0700, 0); /* overlayfs closes a directory of its own */
    int fd = walk_open(dir, name);
    if (fd < 0)
        return -errno;
    int rc = ch_layer_names_read(fd, &names);
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        if (unlinkat(fd, names.v[i], 0) < 0)
            rc =
                errno == EISDIR || errno == EPERM ? erase_below(fd, names.v[i], depth + 1) : -errno;
    ch_layer_names_free(&names);
    close(fd);
    return rc < 0 ? rc : unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int ch_layer_erase(int dir, const char *name) {
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (S_ISDIR(st.st_mode))
        return erase_below(dir, name, 0);
    return unlinkat(dir, name, 0) < 0 ? -errno : 0;
}
