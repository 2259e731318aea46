/* closed.c -- see closed.h.
 *
 * The search is bounded. Below /etc, a directory that it does not reach is closed. Below /opt
 * and /usr/local, where programs are installed, it looks at the upper levels only. */
#include "sandbox/closed.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/mounts.h"
#include "sandbox/options.h"
#include "sandbox/unowned.h"

#define MOST_ENTRIES 20000 /* looked at below one place */
#define MOST_CLOSED 64     /* in one directory; beyond, the directory is closed */

static const char *const secrets[] = {
    "/etc/shadow",      "/etc/shadow-",     "/etc/gshadow",
    "/etc/gshadow-",    "/etc/sudoers",     "/etc/sudoers.d",
    "/etc/ssh",         "/etc/ssl/private", "/etc/pki/tls/private",
    "/etc/krb5.keytab", "/etc/wireguard",   "/etc/NetworkManager/system-connections",
    "/etc/letsencrypt", "/etc/kubernetes",  "/etc/rancher",
    "/etc/docker",      "/etc/openvpn",     "/etc/security/opasswd",
};

/* Where the system's files of root are that others may not read. */
static const struct place {
    const char *path;
    unsigned levels;
    bool sure;
} places[CH_CLOSED_PLACES] = {
    {"/etc", 64, true}, {"/usr/local", 3, false}, {"/usr/local/etc", 64, true}, {"/opt", 3, false}};

struct closing {
    const struct ch_box *box;
    struct ch_paths *out;
    unsigned levels; /* of directories that are looked at */
    unsigned left;   /* entries that may still be looked at */
    bool sure;       /* close what is not reached */
};

static void close_path(struct ch_paths *out, const char *path) {
    for (size_t i = 0; i < out->n; i++)
        if (strcmp(out->p[i], path) == 0)
            return;
    out->p = ch_realloc(out->p, (out->n + 1) * sizeof(*out->p));
    out->p[out->n++] = path;
}

static bool is_in_list(const struct ch_paths *list, const char *path) {
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->p[i], path) == 0)
            return true;
    return false;
}

/* True if the operator opened the directory for the command, or it is closed already. */
static bool is_decided(const struct closing *c, const char *path) {
    const struct ch_box *box = c->box;

    return (box->workspace && strcmp(box->workspace, path) == 0) || is_in_list(c->out, path) ||
           is_in_list(&box->writable, path) || is_in_list(&box->readable, path);
}

static bool is_above(const char *dir, const char *path) {
    size_t n = strlen(dir);

    return path && strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* True if the directory holds one that the operator opened: it cannot be closed as a whole. */
static bool holds_opened(const struct closing *c, const char *path) {
    const struct ch_box *box = c->box;
    bool holds = is_above(path, box->workspace);

    for (size_t i = 0; i < box->writable.n; i++)
        holds |= is_above(path, box->writable.p[i]);
    for (size_t i = 0; i < box->readable.n; i++)
        holds |= is_above(path, box->readable.p[i]);
    return holds;
}

static void look_below(struct closing *c, int at, const char *name, const char *path,
                       unsigned depth, bool all);

/* Others need permission to read a file, and to search a directory. all: the directory above is
 * closed, and so is this entry. */
static void look_at(struct closing *c, int dir, const char *above, const char *name,
                    unsigned depth, bool all) {
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(st.st_mode))
        return;
    bool open = !all && st.st_mode & (S_ISDIR(st.st_mode) ? S_IXOTH : S_IROTH);
    if (open && !S_ISDIR(st.st_mode))
        return;
    const char *path = ch_text("%s/%s", above, name);
    if (is_decided(c, path))
        return;
    if (S_ISDIR(st.st_mode) && holds_opened(c, path))
        look_below(c, dir, name, path, depth + 1, !open);
    else if (!open || (c->left == 0 && c->sure))
        close_path(c->out, path);
    else if (c->left && depth < c->levels)
        look_below(c, dir, name, path, depth + 1, false);
}

static void look_below(struct closing *c, int at, const char *name, const char *path,
                       unsigned depth, bool all) {
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    size_t before = c->out->n;
    char entries[8192] __attribute__((aligned(8)));

    /* not readdir, which makes two more calls of the system for each directory */
    for (ssize_t n; fd >= 0 && (n = getdents64(fd, entries, sizeof(entries))) > 0;)
        for (ssize_t i = 0; i < n;) {
            const struct dirent64 *e = (const void *)(entries + i);
            i += e->d_reclen;
            if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
                e->d_type == DT_LNK)
                continue;
            c->left -= c->left > 0;
            look_at(c, fd, path, e->d_name, depth, all);
        }
    if (fd >= 0)
        close(fd);
    if (c->out->n - before > MOST_CLOSED && depth > 0 && !holds_opened(c, path)) {
        c->out->n = before;
        close_path(c->out, path);
    }
}

void ch_closed_below(struct ch_paths *out, const struct ch_box *box, const char *path,
                     unsigned levels, bool sure) {
    struct closing c = {box, out, levels, MOST_ENTRIES, sure};

    if (!is_decided(&c, path))
        look_below(&c, AT_FDCWD, path, path, 0, false);
}

/* The paths without links, with which those that are found are compared. */
static struct ch_paths real_paths(const struct ch_paths *paths) {
    struct ch_paths real = {.p = ch_alloc((paths->n + 1) * sizeof(*real.p)), .n = paths->n};

    for (size_t i = 0; i < paths->n; i++) {
        const char *path = ch_real_path(paths->p[i]);
        real.p[i] = path ? path : paths->p[i];
    }
    return real;
}

/* A directory that the operator opened keeps its owners, and so do those above it. */
static int mount_unowned(int owners, const struct closing *c, const char *path) {
    bool opened = is_decided(c, path) || holds_opened(c, path);

    return owners < 0 || opened ? -1 : ch_unowned_mount(owners, path);
}

static void mount_places(struct ch_closed *out, const struct ch_box *box, bool may_mount) {
    bool may = may_mount && geteuid() == 0 && ch_is_privileged();
    int owners = may ? ch_unowned_open() : -1;

    for (size_t i = 0; i < CH_LEN(places); i++) {
        struct closing c = {.box = box, .out = &out->paths};
        out->places[i].path = places[i].path;
        out->places[i].mount = mount_unowned(owners, &c, places[i].path);
    }
    if (owners >= 0)
        close(owners);
}

static void search_places(struct ch_closed *out, const struct ch_box *box) {
    for (size_t i = 0; geteuid() == 0 && i < CH_LEN(places); i++)
        if (out->places[i].mount < 0)
            ch_closed_below(&out->paths, box, places[i].path, places[i].levels, places[i].sure);
}

/* False for a missing file, and where the mode closes the file in a mount without owners. */
static bool is_open(const struct ch_closed *out, const char *path) {
    struct stat st;

    if (lstat(path, &st) < 0)
        return false;
    for (size_t i = 0; i < CH_LEN(out->places); i++)
        if (out->places[i].mount >= 0 && is_above(out->places[i].path, path))
            return st.st_mode & (S_ISDIR(st.st_mode) ? S_IXOTH | S_IROTH : S_IROTH);
    return true;
}

static void close_secrets(struct ch_closed *out, const struct ch_box *box) {
    for (size_t i = 0; i < CH_LEN(secrets); i++) {
        struct closing c = {box, &out->paths, 64, MOST_ENTRIES, true};
        if (holds_opened(&c, secrets[i]))
            look_below(&c, AT_FDCWD, secrets[i], secrets[i], 0, true);
        else if (is_open(out, secrets[i]))
            close_path(&out->paths, secrets[i]);
    }
}

struct ch_closed ch_closed_find(const struct ch_box *given, bool may_mount) {
    struct ch_box box = {.workspace = given->workspace,
                         .readable = real_paths(&given->readable),
                         .writable = real_paths(&given->writable)};
    struct ch_closed out = {.paths = {0}};

    mount_places(&out, &box, may_mount);
    close_secrets(&out, &box);
    if (!given->trial) /* nothing runs in a trial */
        search_places(&out, &box);
    ch_free(box.readable.p);
    ch_free(box.writable.p);
    return out;
}
