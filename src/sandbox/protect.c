/* protect.c -- see protect.h.
 *
 * Commands of one workspace run concurrently, and each needs its stand-ins
 * until its end: removing a mount point removes its mounts. So each command
 * holds a shared lock on the workspace, and the one that gets the exclusive
 * lock cleans up. A stand-in is recognized by its form, an empty directory with
 * an unusual mode, so that stand-ins of a killed keeper are found by the next
 * one. */
#include "sandbox/protect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/options.h"
#include "sandbox/report.h"

/* Searchable and empty: for Git and other readers the same as an absent path. */
#define STAND_IN_MODE 0111
/* A stand-in that is a file, where readers expect a file. It is empty, or has content
 * without a meaning. The sticky bit, which is not used for files, marks it. */
#define STAND_IN_FILE 01444
/* The same for a hidden file: if the file is created later, its owner must be able to write
 * it. */
#define STAND_IN_HIDDEN 01600
#define SAME_DIRECTORY "." /* in commondir: the directory itself. An empty file is an error. */
#define LOCK_TRIES 50
#define LOCK_PAUSE_NS 4000000

static bool is_stand_in_file(const struct stat *st) {
    mode_t mode = st->st_mode & 07777;

    return S_ISREG(st->st_mode) && (mode == STAND_IN_FILE || mode == STAND_IN_HIDDEN) &&
           st->st_size <= (off_t)strlen(SAME_DIRECTORY);
}

static bool is_stand_in(const struct stat *st) {
    return (S_ISDIR(st->st_mode) && (st->st_mode & 07777) == STAND_IN_MODE) ||
           is_stand_in_file(st);
}

static void protect_remember(struct ch_box_guard *g, const char *path) {
    for (size_t i = 0; i < g->stand_ins.n; i++)
        if (strcmp(g->stand_ins.p[i], path) == 0)
            return;
    g->stand_ins.p = ch_realloc(g->stand_ins.p, (g->stand_ins.n + 1) * sizeof(*g->stand_ins.p));
    g->stand_ins.p[g->stand_ins.n++] = path;
}

/* Create the stand-in with its final mode, since other keepers scan
 * concurrently. If this process may not create it, the command may not either. */
static bool make_stand_in(const char *path) {
    mode_t mask = umask(0);
    int rc = mkdir(path, STAND_IN_MODE);
    struct stat st;

    umask(mask);
    return rc == 0 || (errno == EEXIST && lstat(path, &st) == 0 && is_stand_in(&st));
}

/* As make_stand_in. The content is there before the name is. */
static bool make_stand_in_file(const char *path, mode_t mode, const char *content) {
    const char *temp = ch_text("%s.%ld", path, (long)getpid());
    int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct stat st;

    if (fd < 0)
        return false;
    ssize_t n = (ssize_t)strlen(content);
    bool made =
        write(fd, content, (size_t)n) == n && fchmod(fd, mode) == 0 && link(temp, path) == 0;
    made = made || (errno == EEXIST && lstat(path, &st) == 0);
    close(fd);
    unlink(temp);
    return made;
}

static void make_read_only(struct ch_box_view *view, const char *path) {
    ch_view_add(view, CH_STEP_RO, path, path);
}

/* The part of path below root, or NULL. */
static const char *protect_below_in_sandbox(const char *root, const char *path) {
    size_t n = root ? strlen(root) : 0;

    return n && strncmp(path, root, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

/* A symbolic link cannot be a mount point, so the command can replace it. Its
 * target is protected, if the target is in the workspace: a mount of another target would show
 * the command a file of the host. */
static void protect_link(struct ch_box_guard *g, struct ch_box_view *view, const struct ch_box *box,
                         const char *path) {
    const char *real = ch_real_path(path);

    g->refused = path;
    ch_note("%s is a symbolic link and not protected", path);
    if (real && protect_below_in_sandbox(box->workspace, real))
        make_read_only(view, real);
}

/* How the last component of a path is protected. */
enum manner {
    READ_ONLY,      /* absent: an empty directory */
    READ_ONLY_FILE, /* absent: an empty file */
    COMMONDIR,      /* absent: a file that names its own directory */
    HIDDEN,         /* absent: an empty file, hidden too */
};

static bool make_absent(const char *path, enum manner manner) {
    switch (manner) {
    case READ_ONLY:
        return make_stand_in(path);
    case READ_ONLY_FILE:
        return make_stand_in_file(path, STAND_IN_FILE, "");
    case COMMONDIR:
        return make_stand_in_file(path, STAND_IN_FILE, SAME_DIRECTORY);
    case HIDDEN:
        return make_stand_in_file(path, STAND_IN_HIDDEN, "");
    }
    return false;
}

static void hide_path(struct ch_box_view *view, const char *path, bool is_dir) {
    ch_view_add(view, is_dir ? CH_STEP_HIDE_DIR : CH_STEP_HIDE_FILE, NULL, path);
}

/* Protect one component of a path. True: it is a directory, continue below it. */
static bool protect_step(struct ch_box_guard *g, struct ch_box_view *view, const struct ch_box *box,
                         const char *path, bool last, enum manner manner) {
    struct stat st;

    if (lstat(path, &st) < 0) {
        if (errno != ENOENT || !make_absent(path, last ? manner : READ_ONLY))
            return false;
        protect_remember(g, path);
        if (last && manner == HIDDEN)
            hide_path(view, path, false);
        else
            make_read_only(view, path);
        return false;
    }
    if (S_ISLNK(st.st_mode)) {
        protect_link(g, view, box, path);
        return false;
    }
    if (is_stand_in(&st))
        protect_remember(g, path);
    if (last && manner == HIDDEN) {
        hide_path(view, path, S_ISDIR(st.st_mode));
        return false;
    }
    if (last || !S_ISDIR(st.st_mode) || is_stand_in(&st)) {
        make_read_only(view, path);
        return false;
    }
    if (!ch_view_find(view, path))
        ch_view_add(view, CH_STEP_RW, path, path);
    return true;
}

/* Remove the mark of "name?"; returns "" if that path does not exist. */
static const char *without_mark(const char *root, const char *rel) {
    size_t n = strlen(rel);
    struct stat st;

    if (n == 0 || rel[n - 1] != '?')
        return rel;
    rel = ch_text("%.*s", (int)n - 1, rel);
    return lstat(ch_text("%s/%s", root, rel), &st) == 0 ? rel : "";
}

static void protect_below(struct ch_box_guard *g, struct ch_box_view *view,
                          const struct ch_box *box, const char *root, const char *rel,
                          enum manner manner) {
    const char *path = root;

    rel = without_mark(root, rel);
    for (bool more = true; more && *rel;) {
        size_t n = strcspn(rel, "/");
        if (n > 0)
            path = ch_text("%s/%.*s", path, (int)n, rel);
        rel += n + strspn(rel + n, "/");
        if (n > 0)
            more = protect_step(g, view, box, path, *rel == '\0', manner);
    }
}

/* Protect an absolute path if it is inside a writable directory; false: it is not. */
static bool protect_absolute(struct ch_box_guard *g, struct ch_box_view *view,
                             const struct ch_box *box, const char *path, enum manner manner) {
    const char *rel = protect_below_in_sandbox(box->workspace, path);
    bool found = rel != NULL;

    if (rel) {
        protect_below(g, view, box, box->workspace, rel, manner);
        return true;
    }
    for (size_t i = 0; i < box->writable.n; i++)
        if ((rel = protect_below_in_sandbox(box->writable.p[i], path))) {
            protect_below(g, view, box, box->writable.p[i], rel, manner);
            found = true;
        }
    return found;
}

/* The parts of a repository from which Git takes commands, or the place of other parts. The
 * rest stays writable, so that commands can commit. */
static void protect_repository(struct ch_box_guard *g, struct ch_box_view *view,
                               const struct ch_box *box, const char *path) {
    static const struct {
        const char *name;
        enum manner manner;
    } parts[] = {{"config", READ_ONLY_FILE},
                 {"config.worktree", READ_ONLY_FILE},
                 {"commondir", COMMONDIR},
                 {"hooks", READ_ONLY}};
    struct stat st;

    if (lstat(path, &st) < 0)
        return;
    if (!S_ISDIR(st.st_mode)) { /* names the repository's place */
        protect_absolute(g, view, box, path, READ_ONLY);
        return;
    }
    for (size_t i = 0; i < CH_LEN(parts); i++)
        protect_absolute(g, view, box, ch_text("%s/%s", path, parts[i].name), parts[i].manner);
}

/* The length of a database's name in the name of a file that belongs to it; 0: no such file. */
static size_t database_of(const char *path) {
    static const char *const ends[] = {"-wal", "-shm", "-journal"};
    size_t n = strlen(path);

    for (size_t i = 0; i < CH_LEN(ends); i++)
        if (n > strlen(ends[i]) && strcmp(path + n - strlen(ends[i]), ends[i]) == 0)
            return n - strlen(ends[i]);
    return 0;
}

/* Hide a path that is visible in the box; in a writable directory the path stays hidden if
 * it is created later. Files of a database are hidden only beside the database. */
static void protect_hide(struct ch_box_guard *g, struct ch_box_view *view, const struct ch_box *box,
                         const char *path) {
    size_t database = database_of(path);
    struct stat st;

    if (database && lstat(path, &st) < 0 &&
        (lstat(ch_text("%.*s", (int)database, path), &st) < 0 || is_stand_in(&st)))
        return;
    if (!protect_absolute(g, view, box, path, HIDDEN) && ch_view_covers(view, path) &&
        lstat(path, &st) == 0 && !S_ISLNK(st.st_mode))
        hide_path(view, path, S_ISDIR(st.st_mode));
}

/* Does not wait: another program's lock on the directory must not delay a
 * command. */
static void take_lock(struct ch_box_guard *g, const char *workspace) {
    g->lock = workspace ? open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    for (int i = 0; g->lock >= 0 && i < LOCK_TRIES; i++) {
        if (flock(g->lock, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return;
        nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_NS}, NULL);
    }
}

const char *ch_guard_set(struct ch_box_guard *g, struct ch_box_view *view,
                         const struct ch_box *box) {
    *g = (struct ch_box_guard){.lock = -1};
    if (box->protect.n + box->hide.n + box->repositories.n == 0)
        return NULL;
    take_lock(g, box->workspace);
    for (size_t i = 0; i < box->protect.n; i++) {
        const char *path = box->protect.p[i];
        if (path[0] == '/')
            protect_absolute(g, view, box, path, READ_ONLY);
        else if (box->workspace)
            protect_below(g, view, box, box->workspace, path, READ_ONLY);
    }
    for (size_t i = 0; i < box->repositories.n; i++)
        protect_repository(g, view, box, box->repositories.p[i]);
    for (size_t i = 0; i < box->hide.n; i++)
        protect_hide(g, view, box, box->hide.p[i]);
    return box->strict ? g->refused : NULL;
}

/* Two commands that end at once both release the shared lock first, so that one
 * gets the exclusive lock. */
static bool protect_is_alone(struct ch_box_guard *g) {
    if (g->lock < 0)
        return true;
    flock(g->lock, LOCK_UN);
    return flock(g->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/* A stand-in for the log of a database stays: another process may have opened the database
 * meanwhile and would lose its writes. The database removes the log when it is closed. */
static bool may_be_open(const char *path, const struct stat *st) {
    size_t database = database_of(path);

    return S_ISREG(st->st_mode) && database && strcmp(path + database, "-journal") != 0;
}

void ch_guard_lift(struct ch_box_guard *g) {
    struct stat st;

    if (g->stand_ins.n > 0 && protect_is_alone(g))
        for (size_t i = 0; i < g->stand_ins.n; i++)
            if (lstat(g->stand_ins.p[i], &st) == 0 && is_stand_in(&st) &&
                !may_be_open(g->stand_ins.p[i], &st))
                remove(g->stand_ins.p[i]);
    if (g->lock >= 0)
        close(g->lock);
    ch_free(g->stand_ins.p);
    *g = (struct ch_box_guard){.lock = -1};
}
