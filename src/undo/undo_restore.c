/* undo_restore.c -- see undo_restore.h. Files and directories that did not exist before are
 * removed first, deepest first; then all others are restored, directories before their
 * contents. */
#include "undo/undo_restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"

struct item {
    const char *path;         /* borrowed from the record */
    struct ch_undo_state was; /* before the first message */
    struct ch_undo_sig is;    /* after the last one */
    bool settled;             /* `is` is set */
    bool shared;              /* another program may have made one of the changes */
    bool left;                /* the second pass skips the path */
    bool done;                /* the path has the state `was`, as the signature `now` */
    struct ch_undo_sig now;
};

struct plan {
    struct ch_undo_record *r;
    const struct ch_undo_others *others; /* borrowed */
    int root;
    bool look_only;
    bool failed; /* a path was not restored, and may be later: the disk is full, for example */
    chela_undo_item_fn *fn;
    void *user;
    struct item *items; /* owned */
    size_t n;
    struct ch_undo_table table; /* paths to items */
};

static void restore_tell(struct plan *p, enum chela_undo_outcome outcome, const char *path,
                         const char *why) {
    p->fn(&(struct chela_undo_item){outcome, path, why}, p->user);
}

/* Keep the oldest state before, and the newest state after. Messages come newest first. */
static void restore_collect(struct plan *p, const struct ch_undo_message *m) {
    p->items = ch_realloc(p->items, (p->n + m->n + 1) * sizeof(*p->items));
    for (size_t i = 0; i < m->n; i++) {
        const struct ch_undo_change *c = &m->changes[i];
        const uint32_t *at = ch_undo_table_find(&p->table, c->path);
        bool shared = ch_undo_others_claim(p->others, c);
        if (at) {
            p->items[*at].was = c->was;
            p->items[*at].shared |= shared;
            continue;
        }
        ch_undo_table_put(&p->table, c->path, (uint32_t)p->n);
        p->items[p->n++] = (struct item){.path = c->path,
                                         .was = c->was,
                                         .is = c->is,
                                         .settled = c->settled,
                                         .shared = shared};
    }
}

static int restore_compare(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    return strcmp(x->path, y->path);
}

/* --- one path --------------------------------------------------------------------------------- */

static enum ch_undo_kind restore_kind(const struct ch_undo_sig *sig) {
    return sig->mode == 0           ? CH_UNDO_ABSENT
           : S_ISDIR(sig->mode)     ? CH_UNDO_DIR
           : S_ISREG(sig->mode)     ? CH_UNDO_FILE
           : S_ISLNK(sig->mode)     ? CH_UNDO_LINK
                                    : CH_UNDO_LOST;
}

/* Directories are compared by their kind only. */
static bool restore_untouched(const struct ch_undo_sig *now, const struct item *it) {
    if (restore_kind(now) == CH_UNDO_DIR || restore_kind(&it->is) == CH_UNDO_DIR)
        return restore_kind(now) == restore_kind(&it->is);
    return ch_undo_sig_same(now, &it->is);
}

static struct ch_undo_sig restore_look(int dir, const char *name) {
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? (struct ch_undo_sig){0}
                                                            : ch_undo_sig(&st);
}

static const char *restore_reason(const struct ch_undo_state *was) {
    static const char *const reasons[CH_UNDO_LOSTS] = {
        [CH_UNDO_TOO_LARGE] = "it is too large to be copied",
        [CH_UNDO_IGNORED] = ".gitignore names it",
        [CH_UNDO_FULL] = "the workspace has more files than are copied",
        [CH_UNDO_SPECIAL] = "it is no regular file",
        [CH_UNDO_UNREADABLE] = "it could not be read",
        [CH_UNDO_MOVED] = "it was moved, and there is no other copy",
    };
    return was->at < CH_UNDO_LOSTS ? reasons[was->at] : "there is no copy";
}

static void restore_fail(struct plan *p, struct item *it, int error) {
    bool in_the_way = error == ELOOP || error == ENOTDIR;
    it->left = true;
    p->failed |= !in_the_way;
    restore_tell(p, CHELA_UNDO_FAILED, it->path,
                 in_the_way ? "a link or a file is in the way" : strerror(error));
}

/* Write the copy to a new file of the directory. */
static int restore_write(const struct plan *p, int dir, const char *name,
                         const struct ch_undo_state *was) {
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    char *bytes = ch_malloc(64 * CH_KB);
    uint64_t at = was->at, left = was->n;
    int rc = fd < 0 ? -errno : 0;
    while (rc == 0 && left > 0) {
        ssize_t n = pread(p->r->pack, bytes, CH_MIN(left, 64 * CH_KB), (off_t)at);
        ssize_t put = n > 0 ? write(fd, bytes, (size_t)n) : n;
        rc = n > 0 && put == n ? 0 : put < 0 ? -errno : n == 0 ? -EIO : -ENOSPC;
        at += (uint64_t)(n > 0 ? n : 0);
        left -= (uint64_t)(n > 0 ? n : 0);
    }
    ch_free(bytes);
    if (rc == 0 && fchmod(fd, was->mode & 0777) < 0)
        rc = -errno;
    if (fd >= 0 && close(fd) < 0 && rc == 0)
        rc = -errno;
    return rc;
}

static int restore_link(const struct plan *p, int dir, const char *name,
                        const struct ch_undo_state *was) {
    char target[4097];
    ssize_t n = was->n < sizeof(target) ? pread(p->r->pack, target, was->n, (off_t)was->at) : -1;
    if (n != (ssize_t)was->n)
        return -EIO;
    target[n] = '\0';
    return symlinkat(target, dir, name) < 0 ? -errno : 0;
}

/* The new file takes its place in one step. */
static int restore_replace(const struct plan *p, int dir, const char *name,
                           const struct ch_undo_state *was) {
    char temp[40];
    uint64_t r = 0;
    if (was->kind == CH_UNDO_DIR)
        return mkdirat(dir, name, was->mode & 0777) < 0 ? -errno : 0;
    if (getrandom(&r, sizeof(r), 0) != (ssize_t)sizeof(r))
        return -EIO;
    snprintf(temp, sizeof(temp), ".chela-%016llx.tmp", (unsigned long long)r);
    int rc = was->kind == CH_UNDO_LINK ? restore_link(p, dir, temp, was)
                                       : restore_write(p, dir, temp, was);
    if (rc == 0 && renameat(dir, temp, dir, name) < 0)
        rc = -errno;
    if (rc < 0)
        unlinkat(dir, temp, 0);
    return rc;
}

/* --- the two passes --------------------------------------------------------------------------- */

/* Can an entry of kind `now` not be replaced by an entry of kind `was`? */
static bool restore_needs_removal(enum ch_undo_kind now, enum ch_undo_kind was) {
    return now != CH_UNDO_ABSENT &&
           (was == CH_UNDO_ABSENT || (now == CH_UNDO_DIR) != (was == CH_UNDO_DIR));
}

static void restore_remove(struct plan *p, struct item *it, int dir, const char *name, int flags) {
    if (unlinkat(dir, name, flags) == 0)
        return;
    it->left = true;
    if (errno == ENOTEMPTY || errno == EEXIST)
        restore_tell(p, CHELA_UNDO_CHANGED, it->path, "it is not empty");
    else
        restore_fail(p, it, errno);
}

/* Decides whether the path is restored, and removes its entry where it must not stay. dir < 0: the
 * directory of the path does not exist. */
static void restore_clear_entry(struct plan *p, struct item *it, int dir, const char *name) {
    struct ch_undo_sig now = dir < 0 ? (struct ch_undo_sig){0} : restore_look(dir, name);
    enum ch_undo_kind kind = restore_kind(&now), was = it->was.kind;

    it->left = true;
    if (was == kind && (kind == CH_UNDO_ABSENT || kind == CH_UNDO_DIR)) {
        it->done = kind == CH_UNDO_DIR;
        it->now = now;
    } else if (it->settled && !restore_untouched(&now, it)) {
        restore_tell(p, CHELA_UNDO_CHANGED, it->path, NULL);
    } else if (it->shared) {
        restore_tell(p, CHELA_UNDO_CHANGED, it->path, "in another session, at the same time");
    } else if (was == CH_UNDO_LOST) {
        restore_tell(p, CHELA_UNDO_NO_COPY, it->path, restore_reason(&it->was));
    } else {
        it->left = false;
        if (restore_needs_removal(kind, was) && !p->look_only)
            restore_remove(p, it, dir, name, kind == CH_UNDO_DIR ? AT_REMOVEDIR : 0);
    }
}

static void restore_clear(struct plan *p, struct item *it) {
    const char *name = NULL;
    int dir = ch_file_open_parent(p->root, it->path, 0, &name);
    if (dir >= 0 || dir == -ENOENT || dir == -ENOTDIR)
        restore_clear_entry(p, it, dir, name);
    else
        restore_fail(p, it, -dir);
    if (dir >= 0)
        close(dir);
}

static void restore_fill(struct plan *p, struct item *it) {
    const char *name;
    if (it->left)
        return;
    if (it->was.kind == CH_UNDO_ABSENT) {
        it->done = true;
        restore_tell(p, CHELA_UNDO_REMOVED, it->path, NULL);
        return;
    }
    if (!p->look_only) {
        int dir = ch_file_open_parent(p->root, it->path, 0777, &name);
        int rc = dir < 0 ? dir : restore_replace(p, dir, name, &it->was);
        if (rc == 0)
            it->now = restore_look(dir, name);
        if (dir >= 0)
            close(dir);
        if (rc < 0) {
            restore_fail(p, it, -rc);
            return;
        }
    }
    it->done = true;
    restore_tell(p, CHELA_UNDO_RESTORED, it->path, NULL);
}

/* Records that the current state of the restored paths is the state that the messages before `id`
 * left. */
static void restore_settle(struct plan *p, const char *session, uint64_t id) {
    for (size_t i = p->r->n; i-- > 0;) {
        struct ch_undo_message *m = &p->r->list[i];
        if (m->id >= id || m->undone || !ch_undo_record_belongs(p->r, m, session))
            continue;
        for (size_t k = 0; k < m->n; k++) {
            const uint32_t *at = ch_undo_table_find(&p->table, m->changes[k].path);
            struct item *it = at ? &p->items[*at] : NULL;
            if (it && it->done)
                ch_undo_record_settle(p->r, m, &m->changes[k], &it->now);
            if (it)
                it->done = false; /* the newest one only */
        }
    }
}

static void restore_tell_rest(struct plan *p, const struct ch_undo_message *m) {
    if (m->more)
        restore_tell(p, CHELA_UNDO_NO_COPY, "(further files)", "too many files were changed");
    if (m->blind)
        restore_tell(p, CHELA_UNDO_NO_COPY, "(files that commands changed)",
                     "the workspace has too many files");
    for (size_t i = 0; i < m->ncalls; i++)
        restore_tell(p, CHELA_UNDO_OUTSIDE, m->calls[i], NULL);
}

/* Collects the changes of the session's messages from `id` on. False: there is no message `id`. */
static bool restore_collect_from(struct plan *p, const char *session, uint64_t id) {
    const struct ch_undo_record *r = p->r;
    bool found = false;
    for (size_t i = r->n; i-- > 0 && r->list[i].id >= id;)
        if (ch_undo_record_belongs(r, &r->list[i], session)) {
            found |= r->list[i].id == id;
            if (!r->list[i].undone)
                restore_collect(p, &r->list[i]);
        }
    return found;
}

/* Sorted by path, a directory comes before its contents. */
static void restore_items(struct plan *p) {
    if (p->n == 0)
        return;
    qsort(p->items, p->n, sizeof(*p->items), restore_compare);
    for (size_t i = 0; i < p->n; i++)
        *ch_undo_table_find(&p->table, p->items[i].path) = (uint32_t)i;
    for (size_t i = p->n; i-- > 0;)
        restore_clear(p, &p->items[i]);
    for (size_t i = 0; i < p->n; i++)
        restore_fill(p, &p->items[i]);
}

/* Reports what was not recorded, and marks the messages as undone, unless a path failed. */
static void restore_end_messages(struct plan *p, const char *session, uint64_t id) {
    for (size_t i = 0; i < p->r->n; i++) {
        struct ch_undo_message *m = &p->r->list[i];
        if (m->id < id || m->undone || !ch_undo_record_belongs(p->r, m, session))
            continue;
        restore_tell_rest(p, m);
        if (!p->look_only && !p->failed)
            ch_undo_record_undone(p->r, m);
    }
}

int ch_undo_put_back(struct ch_undo_record *r, const struct ch_undo_others *others, int root,
                     const char *session, uint64_t id, bool look_only,
                     chela_undo_item_fn *fn, void *user) {
    struct plan p = {.r = r, .others = others, .root = root, .look_only = look_only, .fn = fn,
                     .user = user};
    bool found = restore_collect_from(&p, session, id);
    if (found) {
        restore_items(&p);
        restore_end_messages(&p, session, id);
        if (!look_only)
            restore_settle(&p, session, p.failed ? UINT64_MAX : id);
    }
    ch_undo_table_release(&p.table);
    ch_free(p.items);
    return found ? 0 : CHELA_ENOENT;
}
