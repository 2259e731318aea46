/* commit.c -- see commit.h.
 *
 * The journal has a line for each step:
 *
 *     put SOURCE MODE IDENTITY PATH      a file; SOURCE: its content, relative to the layer
 *     link SOURCE IDENTITY PATH          a symbolic link like SOURCE
 *     mkdir MODE PATH                    also the mode of a directory that exists
 *     rm IDENTITY PATH
 *     rmdir PATH                         unless names are left in it
 *
 * IDENTITY is that of the file of the workspace which the step replaces (covered.h). */
#include "layer/commit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "layer/covered.h"
#include "layer/rollback.h"
#include "layer/walk.h"

#define JOURNAL "journal"
#define TEXTS "texts"             /* directory of contents that only a commit has */
#define TEMPORARY ".chela-commit" /* a file of the workspace before it has its name */

static int commit_code(int error) {
    return error == ENOSPC || error == EDQUOT ? CHELA_ELIMIT : CHELA_EIO;
}

static int commit_fail(struct chela_error *err, const char *path, int error) {
    return ch_fail(err, commit_code(error), "%s: %s", path, strerror(error));
}

/* --- the list */

static void add_step(struct ch_buf *steps, const char *head, const char *path) {
    ch_buf_addf(steps, "%s ", head);
    ch_layer_escape(steps, path);
    ch_buf_addc(steps, '\n');
}

/* A directory that its owner may not write gets this mode when its files are there, and before the
 * directories above it. */
static void add_closing(struct ch_commit *c, const struct ch_layer_change *change) {
    CH_BUF_AUTO head = {0};
    struct ch_buf closing = {0};

    ch_buf_addf(&head, "mkdir %o", change->after_mode);
    add_step(&closing, ch_buf_str(&head), change->path);
    ch_buf_add(&closing, c->closing.p, c->closing.n);
    ch_buf_release(&c->closing);
    c->closing = closing;
}

static void add_put(struct ch_commit *c, const char *source, const struct ch_layer_change *change) {
    CH_BUF_AUTO head = {0};

    ch_buf_addf(&head, "%s ", change->after == CH_NODE_LINK ? "link" : "put");
    ch_layer_escape(&head, source);
    if (change->after != CH_NODE_LINK)
        ch_buf_addf(&head, " %o", change->after_mode);
    ch_buf_addf(&head, " %s", change->before_id);
    add_step(&c->steps, ch_buf_str(&head), change->path);
}

int ch_commit_add(struct ch_commit *c, const struct ch_layer_change *change,
                  struct chela_error *err) {
    CH_BUF_AUTO text = {0};

    switch (change->after) {
    case CH_NODE_FILE:
    case CH_NODE_LINK:
        ch_buf_addf(&text, "upper/%s", change->path);
        add_put(c, ch_buf_str(&text), change);
        return 0;
    case CH_NODE_DIRECTORY:
        ch_buf_addf(&text, "mkdir %o", change->after_mode | 0700);
        add_step(&c->steps, ch_buf_str(&text), change->path);
        if ((change->after_mode & 0700) != 0700)
            add_closing(c, change);
        return 0;
    case CH_NODE_NONE:
        if (change->before == CH_NODE_DIRECTORY) {
            add_step(&c->steps, "rmdir", change->path);
            return 0;
        }
        ch_buf_addf(&text, "rm %s", change->before_id);
        add_step(&c->steps, ch_buf_str(&text), change->path);
        return 0;
    case CH_NODE_OTHER:
        break;
    }
    return ch_fail(err, CHELA_EINVAL, "%s: sockets, pipes and devices stay in the layer",
                   change->path);
}

int ch_commit_add_text(struct ch_commit *c, const struct ch_layer_change *change,
                       struct ch_sv content, struct chela_error *err) {
    CH_BUF_AUTO name = {0};

    if (mkdirat(c->layer->fd, TEXTS, 0700) < 0 && errno != EEXIST)
        return commit_fail(err, c->layer->dir, errno);
    ch_buf_addf(&name, TEXTS "/%u", c->texts++);
    int fd = openat(c->layer->fd, ch_buf_str(&name),
                    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int rc = fd < 0 ? -errno : ch_file_write(fd, content);
    if (fd >= 0)
        close(fd);
    if (rc < 0)
        return commit_fail(err, c->layer->dir, -rc);
    add_put(c, ch_buf_str(&name), change);
    return 0;
}

void ch_commit_release(struct ch_commit *c) {
    ch_buf_release(&c->steps);
    ch_buf_release(&c->closing);
}

/* --- a step */

struct step {
    struct ch_work_layer *layer;
    int dir;          /* of the path; owned */
    const char *name; /* last part of the path */
    const char *path;
    struct ch_sv identity;
    struct ch_buf records; /* for covered.h; owned by the caller */
    struct ch_rollback *rollback;
};

static bool is_expected(const struct step *s) {
    CH_BUF_AUTO now = {0};
    struct stat st;
    bool there = fstatat(s->dir, s->name, &st, AT_SYMLINK_NOFOLLOW) == 0;

    ch_covered_identity(&now, there ? &st : NULL);
    return ch_sv_eq(ch_buf_sv(&now), s->identity);
}

/* The owner and group of the file that is replaced stay, where this user may set them. */
static void keep_owner(const struct step *s, int fd) {
    struct stat old;

    if (fstatat(s->dir, s->name, &old, AT_SYMLINK_NOFOLLOW) == 0 &&
        fchown(fd, old.st_uid, old.st_gid) < 0 && fchown(fd, (uid_t)-1, old.st_gid) < 0)
        ch_log(CH_LOG_WARN, "layer", "%s: the owner of the file is not kept", s->path);
}

/* New files have the owner of their directory if root makes them. */
static void keep_owner_of_directory(const struct step *s, int fd) {
    struct stat dir;

    if (geteuid() == 0 && fstat(s->dir, &dir) == 0 && fchown(fd, dir.st_uid, dir.st_gid) < 0)
        ch_log(CH_LOG_WARN, "layer", "%s: the owner of the directory is not set", s->path);
}

static int fill_file(const struct step *s, int from, int to, unsigned mode) {
    struct stat st;

    /* with its blocks allocated, ext4 does not write the file out at the rename */
    if (fstat(from, &st) == 0 && st.st_size > 0 && fallocate(to, 0, 0, st.st_size) < 0 &&
        errno == ENOSPC)
        return -ENOSPC;
    int rc = ch_layer_copy_bytes(from, to);
    if (rc < 0)
        return rc;
    if (s->identity.n > 1)
        keep_owner(s, to);
    else
        keep_owner_of_directory(s, to);
    if (fchmod(to, mode) < 0 || fstat(from, &st) < 0)
        return -errno;
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    return futimens(to, times) < 0 ? -errno : 0;
}

static int put_file(const struct step *s, const char *source, unsigned mode) {
    const char *name;
    int above = ch_file_open_parent(s->layer->fd, source, 0, &name);
    int from = above < 0 ? above : openat(above, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (from < 0)
        return above < 0 ? above : -errno;
    unlinkat(s->dir, TEMPORARY, 0);
    int to = openat(s->dir, TEMPORARY, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int rc = to < 0 ? -errno : fill_file(s, from, to, mode);
    if (rc == 0)
        rc = ch_rollback_replace(s->rollback, s->path, s->dir, s->name, TEMPORARY);
    if (rc < 0)
        unlinkat(s->dir, TEMPORARY, 0);
    if (to >= 0)
        close(to);
    close(from);
    close(above);
    return rc;
}

static int put_link(const struct step *s, const char *source) {
    char target[PATH_MAX];
    const char *name;
    int above = ch_file_open_parent(s->layer->fd, source, 0, &name);
    ssize_t n = above < 0 ? -1 : readlinkat(above, name, target, sizeof(target) - 1);
    int rc = above < 0 ? above : n < 0 ? -errno : 0;

    if (above >= 0)
        close(above);
    if (rc < 0)
        return rc;
    target[n] = '\0';
    unlinkat(s->dir, TEMPORARY, 0);
    if (symlinkat(target, s->dir, TEMPORARY) < 0)
        return -errno;
    return ch_rollback_replace(s->rollback, s->path, s->dir, s->name, TEMPORARY);
}

static int make_directory(const struct step *s, unsigned mode) {
    if (mkdirat(s->dir, s->name, mode) < 0 && errno != EEXIST)
        return -errno;
    int fd = openat(s->dir, s->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0 && errno == EACCES) /* closed before an interruption */
        return fstatat(s->dir, s->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
                       fchmodat(s->dir, s->name, mode, 0) == 0
                   ? 0
                   : -EACCES;
    int rc = fd < 0 || fchmod(fd, mode) < 0 ? -errno : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

static int remove_directory(const struct step *s) {
    bool gone = unlinkat(s->dir, s->name, AT_REMOVEDIR) == 0;

    return gone || errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST ? 0 : -errno;
}

static void add_record(struct step *s) {
    struct stat st;
    bool there = fstatat(s->dir, s->name, &st, AT_SYMLINK_NOFOLLOW) == 0;

    ch_covered_add(&s->records, s->path, s->dir, s->name, there ? &st : NULL, true);
}

/* As a program does that changes a file of a directory which its owner may not write. */
static bool open_parent_to_owner(const struct step *s, struct stat *st) {
    return fstat(s->dir, st) == 0 && st->st_uid == geteuid() && (st->st_mode & 0300) != 0300 &&
           fchmod(s->dir, (st->st_mode & 07777) | 0700) == 0;
}

static unsigned read_mode(struct ch_arena *a, struct ch_sv text) {
    return (unsigned)strtoul(ch_arena_str(a, text), NULL, 8) & 0777;
}

static int note_directory(const struct step *s) {
    struct stat st;
    bool there = fstatat(s->dir, s->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);

    return ch_rollback_note(s->rollback, s->path, there ? (int)(st.st_mode & 07777) : -1);
}

/* The step itself, if the file of the workspace is the expected one. */
static int carry_out(struct step *s, struct ch_sv verb, const char *source, unsigned mode) {
    bool make = ch_sv_is(verb, "mkdir");

    if (make || ch_sv_is(verb, "rmdir")) {
        int rc = note_directory(s);
        return rc < 0 ? rc : make ? make_directory(s, mode) : remove_directory(s);
    }
    if (!is_expected(s)) {
        unlinkat(s->dir, TEMPORARY, 0); /* of a process that was killed */
        return -ESTALE;
    }
    if (ch_sv_is(verb, "rm"))
        return ch_rollback_replace(s->rollback, s->path, s->dir, s->name, NULL);
    return ch_sv_is(verb, "link") ? put_link(s, source) : put_file(s, source, mode);
}

static int run_step(struct ch_rollback *rollback, struct ch_arena *a, struct ch_sv line,
                    struct ch_buf *records, const char **path) {
    struct ch_work_layer *l = rollback->layer;
    struct step s = {.layer = l, .records = *records, .rollback = rollback};
    struct ch_sv verb = ch_sv_split(&line, ' ');
    bool put = ch_sv_is(verb, "put"), link = ch_sv_is(verb, "link"), rm = ch_sv_is(verb, "rm");
    const char *source = put || link ? ch_layer_unescape(a, ch_sv_split(&line, ' ')) : NULL;
    unsigned mode = put || ch_sv_is(verb, "mkdir") ? read_mode(a, ch_sv_split(&line, ' ')) : 0;

    if (put || link || rm)
        s.identity = ch_sv_split(&line, ' ');
    *path = s.path = ch_layer_unescape(a, line);
    s.dir = ch_file_open_parent(l->real, s.path, rm || ch_sv_is(verb, "rmdir") ? 0 : 0777, &s.name);
    if (s.dir < 0)
        return s.dir == -ENOENT ? 0 : s.dir;
    int rc = carry_out(&s, verb, source, mode);
    struct stat parent;
    if (rc == -EACCES && open_parent_to_owner(&s, &parent)) {
        rc = carry_out(&s, verb, source, mode);
        fchmod(s.dir, parent.st_mode & 07777);
    }
    if (rc == 0 && (put || link || rm))
        add_record(&s);
    *records = s.records;
    close(s.dir);
    return rc;
}

/* --- all steps */

static void remove_journal(struct ch_work_layer *l) {
    unlinkat(l->fd, JOURNAL, 0);
    ch_layer_erase(l->fd, TEXTS);
}

/* Take the steps back. The journal goes first: a next process then does the same. */
static int undo_steps(struct ch_rollback *r, struct chela_error *err) {
    CH_ARENA_AUTO a = {0};
    const char *path;

    remove_journal(r->layer);
    int rc = ch_rollback_run(r, &a, &path);
    if (rc < 0)
        return ch_fail(err, CHELA_EIO,
                       "%s: %s: a part of the changes is in the workspace, and is taken back when "
                       "the session is used next",
                       path, strerror(-rc));
    ch_rollback_forget(r);
    return 0;
}

/* The error of a step, after the steps before it were taken back. */
static int fail_step(struct ch_rollback *r, const char *path, int error, struct chela_error *err) {
    int rc = undo_steps(r, err);

    if (rc < 0)
        return rc;
    if (error == ESTALE)
        return ch_fail(err, CHELA_ESTATE,
                       "%s changed underneath at this moment, so nothing was applied", path);
    return ch_fail(err, commit_code(error), "%s: %s: nothing was applied", path, strerror(error));
}

/* resumed: a step whose file is not the expected one was done before the interruption, or a person
 * changed the file since: the file stays. */
static int run_steps(struct ch_rollback *r, struct ch_sv steps, bool resumed,
                     struct chela_error *err) {
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO records = {0};
    const char *path;

    while (steps.n) {
        struct ch_sv line = ch_sv_split(&steps, '\n');
        int error = line.n ? run_step(r, &a, line, &records, &path) : 0;
        if (error < 0 && !(error == -ESTALE && resumed))
            return fail_step(r, path, -error, err);
    }
    return records.n ? ch_covered_append(r->layer, ch_buf_sv(&records), err) : 0;
}

/* From the journal, which is on the disk. */
static int run_journal(struct ch_work_layer *l, struct ch_sv steps, bool resumed,
                       struct chela_error *err) {
    struct ch_rollback r;
    int rc = ch_rollback_begin(&r, l);

    rc = rc < 0 ? commit_fail(err, l->dir, -rc) : run_steps(&r, steps, resumed, err);
    if (rc == 0 && syncfs(l->real) < 0)
        rc = commit_fail(err, l->workspace, errno);
    if (rc == 0) {
        ch_rollback_forget(&r);
        remove_journal(l);
    }
    ch_rollback_close(&r);
    return rc;
}

int ch_commit_run(struct ch_commit *c, struct chela_error *err) {
    CH_BUF_AUTO path = {0};

    if (!c->steps.n)
        return 0;
    ch_buf_add(&c->steps, c->closing.p, c->closing.n);
    ch_buf_clear(&c->closing);
    ch_buf_addf(&path, "%s/" JOURNAL, c->layer->dir);
    if (syncfs(c->layer->fd) < 0) /* the contents, before the list that names them */
        return commit_fail(err, c->layer->dir, errno);
    int rc = ch_file_save(ch_buf_str(&path), ch_buf_sv(&c->steps), err);
    return rc < 0 ? rc : run_journal(c->layer, ch_buf_sv(&c->steps), false, err);
}

static bool has_journal(const struct ch_work_layer *l) {
    return faccessat(l->fd, JOURNAL, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool ch_commit_pending(const char *dir) {
    static const char *const parts[] = {JOURNAL, CH_ROLLBACK};
    bool pending = false;

    for (size_t i = 0; i < CH_LEN(parts); i++) {
        CH_BUF_AUTO path = {0};
        ch_buf_addf(&path, "%s/%s", dir, parts[i]);
        pending |= access(ch_buf_str(&path), F_OK) == 0;
    }
    return pending;
}

/* A process was killed, or could not go on, while it took steps back. */
static int finish_undo(struct ch_work_layer *l, struct chela_error *err) {
    struct ch_rollback r;
    int rc = ch_rollback_begin(&r, l);

    rc = rc < 0 ? commit_fail(err, l->dir, -rc) : undo_steps(&r, err);
    ch_rollback_close(&r);
    return rc;
}

int ch_commit_finish(struct ch_work_layer *l, struct chela_error *err) {
    CH_BUF_AUTO path = {0}, text = {0};
    bool empty;

    if (!has_journal(l))
        return ch_commit_pending(l->dir) ? finish_undo(l, err) : 0;
    ch_buf_addf(&path, "%s/" JOURNAL, l->dir);
    int rc = ch_file_load(ch_buf_str(&path), CH_LIMIT_LAYER_RECORDS, &text, err);
    if (rc == 0)
        rc = run_journal(l, ch_buf_sv(&text), true, err);
    if (rc < 0)
        return rc;
    ch_log(CH_LOG_WARN, "layer",
           "an interrupted commit of the session %s to %s was finished: 'chela diff' shows what is "
           "left",
           l->session, l->workspace);
    return ch_layer_tidy(l, &empty, err);
}

/* --- tidying */

/* A name of the layer stays if a change is at or below it. A directory that hides the one below
 * stays as a whole. */
struct tidying {
    const char **paths; /* of the changes, sorted */
    size_t n;
    struct ch_buf at; /* the directory */
    bool left;        /* a name stays */
};

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool holds_change(const struct tidying *t, const char *path) {
    size_t low = 0, high = t->n, n = strlen(path);

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (strcmp(t->paths[mid], path) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    /* "a-b" and the like are between "a" and "a/b" */
    for (; low < t->n && strncmp(t->paths[low], path, n) == 0; low++)
        if (!t->paths[low][n] || t->paths[low][n] == '/')
            return true;
    return false;
}

static int tidy_directory(struct tidying *t, int dir, unsigned depth);

static int tidy_name(struct tidying *t, int dir, const char *name, unsigned depth) {
    size_t before = t->at.n;
    int rc = 0;

    ch_buf_addf(&t->at, "%s%s", before ? "/" : "", name);
    const char *path = ch_buf_str(&t->at);
    if (strcmp(path, ".chela") == 0) {
        t->left = true;
    } else if (!holds_change(t, path)) {
        rc = ch_layer_erase(dir, name);
    } else {
        t->left = true;
        int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && !ch_layer_is_opaque(fd))
            rc = tidy_directory(t, fd, depth + 1);
        if (fd >= 0)
            close(fd);
    }
    t->at.n = before;
    t->at.p[before] = '\0';
    return rc;
}

static int tidy_directory(struct tidying *t, int dir, unsigned depth) {
    struct ch_layer_names names;
    int rc = depth > CH_LIMIT_LAYER_DEPTH ? -ENAMETOOLONG : ch_layer_names_read(dir, &names);

    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        rc = tidy_name(t, dir, names.v[i], depth);
    ch_layer_names_free(&names);
    return rc;
}

int ch_layer_tidy(struct ch_work_layer *l, bool *empty, struct chela_error *err) {
    CH_ARENA_AUTO a = {0};
    struct ch_layer_changes changes;
    struct tidying t = {0};

    int rc = ch_changes_find(l, &a, &changes, err);
    if (rc < 0)
        return rc;
    t.paths = ch_arena_alloc(&a, (changes.n + 1) * sizeof(*t.paths));
    for (size_t i = 0; i < changes.n; i++)
        t.paths[t.n++] = changes.v[i].path;
    if (t.n)
        qsort(t.paths, t.n, sizeof(*t.paths), by_text);
    rc = ch_layer_is_opaque(l->upper) ? 0 : tidy_directory(&t, l->upper, 0);
    *empty = !t.left && !changes.n;
    ch_changes_free(&changes);
    ch_buf_release(&t.at);
    return rc < 0 ? commit_fail(err, l->dir, -rc) : 0;
}
