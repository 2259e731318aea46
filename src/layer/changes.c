/* changes.c -- see changes.h. */
#include "layer/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "guard/file_kind.h"
#include "layer/covered.h"
#include "layer/walk.h"

#define COMPARE_BUFFER 65536

struct finding {
    struct ch_work_layer *layer;
    struct ch_arena *arena;
    const struct ch_covered *covered;
    struct ch_layer_changes *out;
    struct chela_error *err;
};

/* --- reading */

int ch_change_read(int root, const char *path, enum ch_node_type type, size_t max,
                   struct ch_buf *out, struct chela_error *err) {
    char target[PATH_MAX];
    const char *name;

    if (type != CH_NODE_FILE && type != CH_NODE_LINK)
        return 0;
    int dir = ch_file_open_parent(root, path, 0, &name), rc = 0;
    if (dir < 0)
        return ch_fail(err, CHELA_EIO, "%s: %s", path, strerror(-dir));
    if (type == CH_NODE_LINK) {
        ssize_t n = readlinkat(dir, name, target, sizeof(target));
        rc = n < 0 ? ch_fail(err, CHELA_EIO, "%s: %s", path, strerror(errno))
                   : ch_buf_add(out, target, (size_t)n);
    } else {
        int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        rc = fd < 0 ? ch_fail(err, CHELA_EIO, "%s: %s", path, strerror(errno))
                    : ch_file_load_open(fd, path, max, out, err);
        if (fd >= 0)
            close(fd);
    }
    close(dir);
    return rc;
}

static bool same_bytes(int a, int b) {
    CH_AUTOFREE char *x = ch_malloc(COMPARE_BUFFER), *y = ch_malloc(COMPARE_BUFFER);

    for (;;) {
        ssize_t n = read(a, x, COMPARE_BUFFER), m = 0;
        for (ssize_t got; n > 0 && m < n && (got = read(b, y + m, (size_t)(n - m))) > 0;)
            m += got;
        if (n < 0 || n != m || (n && memcmp(x, y, (size_t)n) != 0))
            return false;
        if (n == 0)
            return read(b, y, 1) == 0;
    }
}

/* True if a file of both trees has the same content. */
static bool same_file(const struct ch_layer_node *node) {
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

    if (node->upper->st_size != node->lower->st_size)
        return false;
    int a = openat(node->udir, node->name, flags), b = openat(node->ldir, node->name, flags);
    bool same = a >= 0 && b >= 0 && same_bytes(a, b);
    if (a >= 0)
        close(a);
    if (b >= 0)
        close(b);
    return same;
}

static bool same_link(const struct ch_layer_node *node) {
    char a[PATH_MAX], b[PATH_MAX];
    ssize_t n = readlinkat(node->udir, node->name, a, sizeof(a));
    ssize_t m = readlinkat(node->ldir, node->name, b, sizeof(b));

    return n >= 0 && n == m && memcmp(a, b, (size_t)n) == 0;
}

/* --- what a person must name */

/* As in repositories.c: in packages, files of a special kind are ordinary. */
static const char *const packages[] = {"node_modules", ".venv",  "venv",  "site-packages",
                                       "target",       "vendor", ".cache"};

static bool is_package(struct ch_sv name) {
    for (size_t i = 0; i < CH_LEN(packages); i++)
        if (ch_sv_is(name, packages[i]))
            return true;
    return false;
}

static bool is_at_or_below(const char *path, const char *top) {
    size_t n = strlen(top);

    return strncasecmp(path, top, n) == 0 && (path[n] == '/' || !path[n]);
}

/* A protected path of the sandbox, as a path below the workspace; NULL: it is elsewhere. */
static const char *protected_path(const struct finding *f, const char *entry) {
    size_t n = strlen(f->layer->workspace), len = strlen(entry);

    if (len && entry[len - 1] == '?')
        entry = ch_arena_str(f->arena, ch_sv(entry, len - 1));
    if (entry[0] != '/')
        return entry;
    return strncmp(entry, f->layer->workspace, n) == 0 && entry[n] == '/' ? entry + n + 1 : NULL;
}

static bool ask_about_protected(const struct finding *f, struct ch_layer_change *c) {
    for (const char *const *p = f->layer->protect; *p; p++) {
        const char *top = protected_path(f, *p);
        if (!top || !is_at_or_below(c->path, top))
            continue;
        c->ask = "it holds keys, or chela executes it or takes its configuration from it";
        c->asked = ch_arena_str(f->arena, ch_sv(c->path, strlen(top)));
        return true;
    }
    return false;
}

static void ask_about(const struct finding *f, struct ch_layer_change *c, size_t len,
                      const char *why) {
    c->ask = why;
    c->asked = ch_arena_str(f->arena, ch_sv(c->path, len));
}

static bool is_last(const char *path, size_t end) {
    return !path[end];
}

/* The kind of each directory above the change, and of the change itself. */
static void ask_about_kind(const struct finding *f, struct ch_layer_change *c) {
    enum ch_node_type type = c->after == CH_NODE_NONE ? c->before : c->after;
    const char *why;

    for (size_t from = 0, end; !c->ask; from = end + 1) {
        end = from + strcspn(c->path + from, "/");
        const char *name = ch_arena_str(f->arena, ch_sv(c->path + from, end - from));
        const char *dir = ch_arena_str(f->arena, ch_sv(c->path, from ? from - 1 : 0));
        bool last = is_last(c->path, end);
        enum ch_left_form form = !last || type == CH_NODE_DIRECTORY ? CH_LEFT_DIRECTORY
                                 : type == CH_NODE_LINK             ? CH_LEFT_LINK
                                                                    : CH_LEFT_FILE;
        if (ch_file_is_dot_git(name)) {
            ask_about(f, c, end, "it belongs to a Git repository");
            c->repository = true;
        } else if (ch_file_kind_left(dir, name, form, &why) != CH_KIND_PLAIN) {
            ask_about(f, c, end, why);
        }
        if (last || is_package(ch_sv_str(name)))
            break;
    }
}

/* True if a link's target, from the directory of the link, is outside of the workspace. */
static bool leads_out(const char *path, const char *target) {
    long depth = 0;

    for (const char *p = path; *p; p++)
        depth += *p == '/';
    for (struct ch_sv rest = ch_sv_str(target); rest.n && depth >= 0;) {
        struct ch_sv part = ch_sv_split(&rest, '/');
        if (ch_sv_is(part, ".."))
            depth--;
        else if (part.n && !ch_sv_is(part, "."))
            depth++;
    }
    return target[0] == '/' || depth < 0;
}

static void ask_about_form(const struct finding *f, struct ch_layer_change *c) {
    CH_BUF_AUTO target = {0};

    if (c->after_mode & (S_ISUID | S_ISGID) && c->after == CH_NODE_FILE)
        ask_about(f, c, strlen(c->path), "it runs with the rights of its owner or group");
    if (c->after == CH_NODE_OTHER)
        ask_about(f, c, strlen(c->path), "it is a socket, a pipe or a device, which stays behind");
    if (c->after == CH_NODE_LINK &&
        ch_change_read(f->layer->upper, c->path, c->after, PATH_MAX, &target, NULL) == 0 &&
        leads_out(c->path, ch_buf_str(&target)))
        ask_about(f, c, strlen(c->path), "it is a link that leads out of the workspace");
}

/* A directory that Git would use as a repository, whatever its name. */
static bool is_repository(const struct ch_layer_node *node) {
    int fd = node->upper && S_ISDIR(node->upper->st_mode)
                 ? openat(node->udir, node->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                 : -1;
    bool is = fd >= 0 && ch_file_is_repository(fd, NULL);

    if (fd >= 0)
        close(fd);
    return is;
}

static void judge(const struct finding *f, struct ch_layer_change *c) {
    if (f->out->n && f->out->v[f->out->n - 1].repository) { /* of the walk's last repository */
        const char *top = f->out->v[f->out->n - 1].asked;
        if (is_at_or_below(c->path, top)) {
            ask_about(f, c, strlen(top), "it belongs to a Git repository");
            c->repository = true;
            return;
        }
    }
    if (!ask_about_protected(f, c))
        ask_about_kind(f, c);
    if (!c->ask)
        ask_about_form(f, c);
}

/* --- the list */

static enum ch_node_type node_type(const struct stat *st) {
    if (!st)
        return CH_NODE_NONE;
    return S_ISREG(st->st_mode)   ? CH_NODE_FILE
           : S_ISLNK(st->st_mode) ? CH_NODE_LINK
           : S_ISDIR(st->st_mode) ? CH_NODE_DIRECTORY
                                  : CH_NODE_OTHER;
}

static bool is_unchanged(const struct ch_layer_node *node) {
    if (!node->upper || !node->lower || node_type(node->upper) != node_type(node->lower))
        return false;
    if ((node->upper->st_mode & 07777) != (node->lower->st_mode & 07777) &&
        !S_ISLNK(node->upper->st_mode))
        return false;
    return S_ISDIR(node->upper->st_mode)   ? true
           : S_ISREG(node->upper->st_mode) ? same_file(node)
           : S_ISLNK(node->upper->st_mode) ? same_link(node)
                                           : false;
}

static int find_node(const struct ch_layer_node *node, void *user) {
    struct finding *f = user;
    CH_BUF_AUTO identity = {0};
    bool same = is_unchanged(node), repository = is_repository(node);

    if (same && !repository)
        return 0;
    if (f->out->n == CH_LIMIT_LAYER_CHANGES)
        return ch_fail(f->err, CHELA_ELIMIT, "the layer has more than %d changes",
                       CH_LIMIT_LAYER_CHANGES);
    struct ch_layer_change c = {.path = ch_arena_str(f->arena, ch_sv_str(node->path)),
                                .before = node_type(node->lower),
                                .after = node_type(node->upper),
                                .before_mode = node->lower ? node->lower->st_mode & 07777 : 0,
                                .after_mode = node->upper ? node->upper->st_mode & 07777 : 0,
                                .before_size = node->lower ? node->lower->st_size : 0,
                                .after_size = node->upper ? node->upper->st_size : 0};
    judge(f, &c);
    if (repository && !c.repository) {
        ask_about(f, &c, strlen(c.path), "it is a Git repository");
        c.repository = true;
    }
    c.gone = same;
    bool both = c.before == CH_NODE_DIRECTORY && c.after == CH_NODE_DIRECTORY;
    c.conflict = !both && !ch_covered_same(f->covered, c.path, node->ldir, node->name, node->lower);
    ch_covered_identity(&identity, node->lower);
    c.before_id = ch_arena_str(f->arena, ch_buf_sv(&identity));
    CH_GROW(f->out->v, f->out->n, f->out->cap, 64);
    f->out->v[f->out->n++] = c;
    return 0;
}

/* Directories that only gave their files a repository are no changes themselves. */
static void drop_unchanged(struct ch_layer_changes *out) {
    size_t n = 0;

    for (size_t i = 0; i < out->n; i++)
        if (!out->v[i].gone)
            out->v[n++] = out->v[i];
    out->n = n;
}

int ch_changes_find(struct ch_work_layer *l, struct ch_arena *a, struct ch_layer_changes *out,
                    struct chela_error *err) {
    struct finding f = {.layer = l, .arena = a, .out = out, .err = err};
    struct ch_covered *covered;

    *out = (struct ch_layer_changes){0};
    int rc = ch_covered_note(l, err);
    if (rc == 0)
        rc = ch_covered_read(l, &covered, err);
    if (rc < 0)
        return rc;
    f.covered = covered;
    rc = ch_layer_walk(l->upper, l->real, find_node, &f, err);
    ch_covered_free(covered);
    if (rc < 0) {
        ch_changes_free(out);
        return rc;
    }
    drop_unchanged(out);
    return 0;
}

void ch_changes_free(struct ch_layer_changes *changes) {
    ch_free(changes->v);
    *changes = (struct ch_layer_changes){0};
}

const char *ch_change_status(const struct ch_layer_change *c) {
    if (c->before == CH_NODE_NONE)
        return "added";
    if (c->after == CH_NODE_NONE)
        return "deleted";
    if (c->before != c->after)
        return "type";
    return c->before == CH_NODE_DIRECTORY ? "mode" : "modified";
}
