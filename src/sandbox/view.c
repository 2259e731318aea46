/* view.c -- see view.h.
 *
 * Readable paths are a short list, not the whole system: a home directory
 * contains keys, /var contains other people's mail. In /etc, which programs
 * need, files with secrets are hidden (closed.h). */
#include "sandbox/view.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "sandbox/closed.h"
#include "sandbox/options.h"

#define MOST_LINKS 40 /* of one path, as in Linux */
#define SHM_PART 8 /* /dev/shm gets this part of the temporary space, /tmp gets the rest */

static const char *const system_paths[] = {
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu",
};

/* --- the list */

struct ch_view_step *ch_view_find(const struct ch_box_view *view, const char *dst) {
    for (size_t i = 0; i < view->n; i++)
        if ((view->steps[i].kind == CH_STEP_RO || view->steps[i].kind == CH_STEP_RW) &&
            strcmp(view->steps[i].dst, dst) == 0)
            return &view->steps[i];
    return NULL;
}

static struct ch_view_step *view_find_text(const struct ch_box_view *view, const char *dst) {
    for (size_t i = 0; i < view->n; i++)
        if (view->steps[i].kind == CH_STEP_TEXT && strcmp(view->steps[i].dst, dst) == 0)
            return &view->steps[i];
    return NULL;
}

void ch_view_add(struct ch_box_view *view, enum ch_step_kind kind, const char *src,
                 const char *dst) {
    struct ch_view_step *old = kind == CH_STEP_RO || kind == CH_STEP_RW ? ch_view_find(view, dst)
                               : kind == CH_STEP_TEXT ? view_find_text(view, dst)
                                                      : NULL;

    if (old) {
        old->kind = kind;
        old->src = kind == CH_STEP_TEXT ? src : old->src;
        return;
    }
    CH_GROW(view->steps, view->n, view->cap, 64);
    view->steps[view->n++] = (struct ch_view_step){.kind = kind, .src = src, .dst = dst};
}

/* --- the view */

/* /bin is a link into /usr on most systems; the box keeps the link. */
static void add_system(struct ch_box_view *view, const char *path) {
    char target[PATH_MAX];
    struct stat st;

    if (lstat(path, &st) < 0)
        return;
    if (S_ISDIR(st.st_mode)) {
        ch_view_add(view, CH_STEP_RO, path, path);
        return;
    }
    ssize_t n = readlink(path, target, sizeof(target) - 1);
    if (n > 0)
        ch_view_add(view, CH_STEP_SYMLINK, ch_text("%.*s", (int)n, target), path);
}

/* Links are skipped: their target is hidden under its own name, or is not in
 * the box. */
static void hide(struct ch_box_view *view, const char *path) {
    struct stat st;

    if (lstat(path, &st) < 0 || S_ISLNK(st.st_mode) || access(path, R_OK) < 0)
        return;
    ch_view_add(view, S_ISDIR(st.st_mode) ? CH_STEP_HIDE_DIR : CH_STEP_HIDE_FILE, NULL, path);
}

/* With the host's network, add the resolver configuration, often a link into
 * /run. */
static void add_resolver(struct ch_box_view *view) {
    const char *real = ch_real_path("/etc/resolv.conf");

    if (real && strncmp(real, "/etc/", 5) != 0)
        ch_view_add(view, CH_STEP_RO, real, real);
}

bool ch_view_covers(const struct ch_box_view *view, const char *path) {
    for (size_t i = 0; i < view->n; i++) {
        const struct ch_view_step *s = &view->steps[i];
        size_t n = strlen(s->dst);
        if ((s->kind == CH_STEP_RO || s->kind == CH_STEP_RW) && strncmp(path, s->dst, n) == 0 &&
            (path[n] == '/' || !path[n]))
            return true;
    }
    return false;
}

/* Without a network, a name that is no file's is not found, at once. The resolver would report a
 * temporary failure, which programs repeat for a minute. */
static void add_lookup(struct ch_box_view *view) {
    const char *path = ch_real_path("/etc/nsswitch.conf");
    FILE *f = path && ch_view_covers(view, path) ? fopen(path, "re") : NULL;
    const char *text = "";
    char line[1024];

    if (!f)
        return;
    while (fgets(line, sizeof(line), f))
        if (strncmp(line, "hosts:", 6) != 0)
            text = ch_text("%s%s", text, line);
        else if (strstr(line, "myhostname"))
            text = ch_text("%shosts: files myhostname\n", text);
        else
            text = ch_text("%shosts: files\n", text);
    fclose(f);
    ch_view_add(view, CH_STEP_TEXT, text, path);
}

/* The name of the box has an address: programs look up the name of their machine, and end if it has
 * none. A file beyond the bound stays as it is. */
static void add_own_name(struct ch_box_view *view) {
    CH_BUF_AUTO hosts = {0};
    struct chela_error err = {0};
    const char *path = ch_real_path("/etc/hosts");

    if (!path || !ch_view_covers(view, path) ||
        ch_file_load(path, CH_LIMIT_BOX_HOSTS, &hosts, &err) < 0 || memchr(hosts.p, 0, hosts.n))
        return;
    ch_view_add(view, CH_STEP_TEXT,
                ch_text("%s\n127.0.0.1 " CH_BOX_NAME "\n", ch_buf_str(&hosts)), path);
}

/* Shorter paths first, so that no mount covers an earlier one inside it. */
static int by_length(const void *a, const void *b) {
    size_t x = strlen(((const struct ch_view_step *)a)->dst),
           y = strlen(((const struct ch_view_step *)b)->dst);

    return x < y ? -1 : x > y;
}

static void view_add_paths(struct ch_box_view *view, enum ch_step_kind kind,
                           const struct ch_paths *paths) {
    for (size_t i = 0; i < paths->n; i++) {
        const char *real = ch_real_path(paths->p[i]);
        if (real && strcmp(real, "/") != 0)
            ch_view_add(view, kind, real, real);
    }
}

static bool has_link(const struct ch_box_view *view, const char *dst) {
    for (size_t i = 0; i < view->n; i++)
        if (view->steps[i].kind == CH_STEP_SYMLINK && strcmp(view->steps[i].dst, dst) == 0)
            return true;
    return false;
}

/* Add the symbolic links of a path that exists, unless a mount contains them. */
static void add_links(struct ch_box_view *view, const char *path) {
    const char *parent = ""; /* real path of the part so far */
    char target[PATH_MAX];

    for (unsigned links = 0; parent && *path && links < MOST_LINKS;) {
        path += strspn(path, "/");
        size_t n = strcspn(path, "/");
        const char *at = ch_text("%s/%.*s", parent, (int)n, path);
        ssize_t len = readlink(at, target, sizeof(target) - 1);
        path += n;
        if (len <= 0) {
            parent = ch_real_path(at);
            parent = parent && strcmp(parent, "/") == 0 ? "" : parent;
            continue;
        }
        const char *to = ch_text("%.*s", (int)len, target);
        if (!ch_view_covers(view, at) && !has_link(view, at))
            ch_view_add(view, CH_STEP_SYMLINK, to, at);
        parent = *to == '/' ? "" : parent;
        path = ch_text("%s%s", to, path);
        links++;
    }
}

/* The paths become real ones, which the files to protect and to hide are compared with; their
 * links stay usable. */
static void view_resolve(struct ch_box_view *view, struct ch_paths *paths) {
    for (size_t i = 0; i < paths->n; i++) {
        const char *real = ch_real_path(paths->p[i]);
        add_links(view, real ? paths->p[i] : "");
        paths->p[i] = real ? real : paths->p[i];
    }
}

/* Close what a command of root must not read though root owns it. */
static void view_close(struct ch_box_view *view, const struct ch_box *box) {
    struct ch_closed closed = ch_closed_find(box, box->outer == CH_OUTER_NAMESPACES);

    for (size_t i = 0; i < CH_LEN(closed.places); i++)
        if (closed.places[i].mount >= 0) {
            ch_view_add(view, CH_STEP_RO, closed.places[i].path, closed.places[i].path);
            ch_view_find(view, closed.places[i].path)->mount = closed.places[i].mount;
        }
    for (size_t i = 0; i < closed.paths.n; i++)
        hide(view, closed.paths.p[i]);
    ch_free(closed.paths.p);
}

void ch_view_make(struct ch_box_view *view, struct ch_box *box) {
    for (size_t i = 0; i < CH_LEN(system_paths); i++)
        add_system(view, system_paths[i]);
    view_close(view, box);
    if (!box->network)
        add_lookup(view);
    add_own_name(view);
    ch_view_add(view, CH_STEP_PROC, NULL, "/proc");
    uint64_t shm = box->limits.tmp / SHM_PART; /* both together: the limit */
    ch_view_add(view, CH_STEP_DEV, NULL, "/dev");
    view->steps[view->n - 1].size = shm;
    ch_view_add(view, CH_STEP_TMPFS, NULL, CH_BOX_TMP);
    view->steps[view->n - 1].size = box->limits.tmp - shm;
    ch_view_add(view, CH_STEP_DIR, NULL, "/run");
    if (box->home)
        ch_view_add(view, CH_STEP_RW, box->home, CH_BOX_HOME);
    ch_view_add(view, CH_STEP_DIR, NULL, "/var");
    ch_view_add(view, CH_STEP_SYMLINK, "../tmp", "/var/tmp");
    if (box->network)
        add_resolver(view);
    size_t first = view->n;
    view_add_paths(view, CH_STEP_RO, &box->readable);
    view_add_paths(view, CH_STEP_RW, &box->writable);
    if (box->workspace)
        ch_view_add(view, CH_STEP_RW, box->workspace, box->workspace);
    qsort(view->steps + first, view->n - first, sizeof(*view->steps), by_length);
    view_resolve(view, &box->readable);
    view_resolve(view, &box->writable);
}

void ch_view_seal(struct ch_box_view *view) {
    ch_view_add(view, CH_STEP_SEAL, NULL, "/proc");
    ch_view_add(view, CH_STEP_SEAL, NULL, "/dev");
    ch_view_add(view, CH_STEP_SEAL, NULL, "/");
}

/* --- the view as Landlock rules */

static bool is_below(const char *path, const char *dir) {
    size_t n = strlen(dir);

    return strncmp(path, dir, n) == 0 && path[n] == '/';
}

static bool is_secret(const struct ch_paths *closed, const char *path) {
    for (size_t i = 0; i < closed->n; i++)
        if (strcmp(path, closed->p[i]) == 0)
            return true;
    return false;
}

static bool holds_secrets(const struct ch_paths *closed, const char *path) {
    for (size_t i = 0; i < closed->n; i++)
        if (is_below(closed->p[i], path))
            return true;
    return false;
}

/* A rule covers everything below its path and has no exceptions. So where a
 * secret is below, its siblings are allowed one by one, as deep as the list of
 * secrets. */
static int allow_reading(struct ch_landlock *l, const struct ch_paths *closed, const char *path) {
    int rc = 0;

    if (is_secret(closed, path))
        return 0;
    if (!holds_secrets(closed, path))
        return ch_landlock_allow(l, path, CH_MAY_READ);
    DIR *d = opendir(path);
    for (struct dirent *e; d && rc == 0 && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            rc = allow_reading(l, closed, ch_text("%s/%s", path, e->d_name));
    if (d)
        closedir(d);
    return rc;
}

static int allow_paths(struct ch_landlock *l, const struct ch_paths *paths,
                       enum ch_landlock_right right) {
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < paths->n; i++)
        rc = ch_landlock_allow(l, paths->p[i], right);
    return rc;
}

int ch_view_allow(struct ch_landlock *l, const struct ch_box *box) {
    /* not /dev/pts, which has the user's other terminals */
    static const char *const devices[] = {"/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
                                          "/dev/urandom", "/dev/tty"};
    int rc = 0;

    struct ch_closed closed = ch_closed_find(box, false);
    for (size_t i = 0; rc == 0 && i < CH_LEN(system_paths); i++)
        rc = allow_reading(l, &closed.paths, system_paths[i]);
    ch_free(closed.paths.p);
    for (size_t i = 0; rc == 0 && i < CH_LEN(devices); i++)
        rc = ch_landlock_allow(l, devices[i], CH_MAY_DEVICE);
    if (rc == 0 && box->tty)
        rc = ch_landlock_allow(l, "/proc/self/fd/0", CH_MAY_DEVICE);
    if (rc == 0)
        rc = ch_landlock_allow(l, "/proc", CH_MAY_READ);
    if (rc == 0 && box->network)
        rc = ch_landlock_allow(l, "/etc/resolv.conf", CH_MAY_READ);
    if (rc == 0)
        rc = allow_paths(l, &box->readable, CH_MAY_READ);
    if (rc == 0)
        rc = allow_paths(l, &box->writable, CH_MAY_WRITE);
    if (rc == 0 && box->workspace)
        rc = ch_landlock_allow(l, box->workspace, CH_MAY_WRITE);
    if (rc == 0 && box->home)
        rc = ch_landlock_allow(l, box->home, CH_MAY_WRITE);
    return rc == 0 ? ch_landlock_allow(l, box->tmp, CH_MAY_WRITE) : rc;
}
