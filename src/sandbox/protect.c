/* protect.c -- see protect.h. */
#include "sandbox/protect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "sandbox/options.h"
#include "sandbox/report.h"

struct guard {
    struct ch_box_view *view;
    const struct ch_box *box;
    const char *refused; /* a path with a symbolic link: not protected */
};

static void make_read_only(struct guard *g, const char *path) {
    ch_view_add(g->view, CH_STEP_RO, path, path);
}

/* The part of path below root, or NULL. */
static const char *protect_below_in_sandbox(const char *root, const char *path) {
    size_t n = root ? strlen(root) : 0;

    return n && strncmp(path, root, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

/* A symbolic link cannot be a mount point, so the command can replace it. Its
 * target is protected, if the target is in the workspace: a mount of another target would show
 * the command a file of the host. */
static void protect_link(struct guard *g, const char *path) {
    const char *real = ch_real_path(path);

    g->refused = path;
    ch_note("%s is a symbolic link and not protected", path);
    if (real && protect_below_in_sandbox(g->box->workspace, real))
        make_read_only(g, real);
}

/* How the last component of a path is protected. */
enum manner { READ_ONLY, HIDDEN };

/* A hidden file reads as an empty one, so that programs that read a whole tree do not fail. */
static void hide_path(struct guard *g, const char *path, const struct stat *st) {
    if (S_ISDIR(st->st_mode))
        ch_view_add(g->view, CH_STEP_HIDE_DIR, NULL, path);
    else
        ch_view_add(g->view, CH_STEP_TEXT, "", path);
}

/* Protect one component of a path. True: it is a directory, continue below it. */
static bool protect_step(struct guard *g, const char *path, bool last, enum manner manner) {
    struct stat st;

    if (lstat(path, &st) < 0)
        return false;
    if (S_ISLNK(st.st_mode)) {
        protect_link(g, path);
        return false;
    }
    if (last && manner == HIDDEN) {
        hide_path(g, path, &st);
        return false;
    }
    if (last || !S_ISDIR(st.st_mode)) {
        make_read_only(g, path);
        return false;
    }
    if (!ch_view_find(g->view, path))
        ch_view_add(g->view, CH_STEP_RW, path, path);
    return true;
}

/* The part of a path that does not exist stays free: a mount needs a target, and every target is
 * visible. */
static void protect_below(struct guard *g, const char *root, const char *rel, enum manner manner) {
    const char *path = root;
    struct stat st;

    if (lstat(ch_text("%s/%s", root, rel), &st) < 0)
        return;
    for (bool more = true; more && *rel;) {
        size_t n = strcspn(rel, "/");
        if (n > 0)
            path = ch_text("%s/%.*s", path, (int)n, rel);
        rel += n + strspn(rel + n, "/");
        if (n > 0)
            more = protect_step(g, path, *rel == '\0', manner);
    }
}

/* Protect an absolute path if it is inside a writable directory; false: it is not. */
static bool protect_absolute(struct guard *g, const char *path, enum manner manner) {
    const struct ch_box *box = g->box;
    const char *rel = protect_below_in_sandbox(box->workspace, path);
    bool found = rel != NULL;

    if (rel) {
        protect_below(g, box->workspace, rel, manner);
        return true;
    }
    for (size_t i = 0; i < box->writable.n; i++)
        if ((rel = protect_below_in_sandbox(box->writable.p[i], path))) {
            protect_below(g, box->writable.p[i], rel, manner);
            found = true;
        }
    return found;
}

/* The parts of a repository from which Git takes commands, or the place of other parts. The
 * rest stays writable, so that commands can commit. */
static void protect_repository(struct guard *g, const char *path) {
    static const char *const parts[] = {"config", "config.worktree", "commondir", "hooks"};
    struct stat st;

    if (lstat(path, &st) < 0)
        return;
    if (!S_ISDIR(st.st_mode)) { /* names the repository's place */
        protect_absolute(g, path, READ_ONLY);
        return;
    }
    for (size_t i = 0; i < CH_LEN(parts); i++)
        protect_absolute(g, ch_text("%s/%s", path, parts[i]), READ_ONLY);
}

/* Hide a path that is visible in the box. */
static void protect_hide(struct guard *g, const char *path) {
    struct stat st;

    if (!protect_absolute(g, path, HIDDEN) && ch_view_covers(g->view, path) &&
        lstat(path, &st) == 0 && !S_ISLNK(st.st_mode))
        hide_path(g, path, &st);
}

/* The mark of "name?" is for the file tools: in a box, a path is protected if it exists. */
static const char *without_mark(const char *path) {
    size_t n = strlen(path);

    return n > 0 && path[n - 1] == '?' ? ch_text("%.*s", (int)n - 1, path) : path;
}

const char *ch_guard_set(struct ch_box_view *view, const struct ch_box *box) {
    struct guard g = {.view = view, .box = box};

    for (size_t i = 0; i < box->protect.n; i++) {
        const char *path = without_mark(box->protect.p[i]);
        if (path[0] == '/')
            protect_absolute(&g, path, READ_ONLY);
        else if (box->workspace)
            protect_below(&g, box->workspace, path, READ_ONLY);
    }
    for (size_t i = 0; i < box->repositories.n; i++)
        protect_repository(&g, box->repositories.p[i]);
    for (size_t i = 0; i < box->hide.n; i++)
        protect_hide(&g, box->hide.p[i]);
    return box->strict ? g.refused : NULL;
}
