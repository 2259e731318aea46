/* undo_scan.c -- see undo_scan.h. */
#include "undo/undo_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "tool/builtin/files/gitignore.h"

#define MAGIC "chela undo index 1\n"

enum { RULES = 64 << 10, PIECE = 256 << 10 };

/* --- the index ------------------------------------------------------------------------------- */

void ch_undo_index_release(struct ch_undo_index *x) {
    ch_arena_release(&x->arena);
    ch_free(x->list);
    ch_undo_table_release(&x->table);
    *x = (struct ch_undo_index){0};
}

static struct ch_undo_entry *index_add(struct ch_undo_index *x, const char *path) {
    CH_GROW(x->list, x->n, x->cap, 256);
    struct ch_undo_entry *e = &x->list[x->n];
    *e = (struct ch_undo_entry){.path = ch_arena_str(&x->arena, ch_sv_str(path))};
    ch_undo_table_put(&x->table, e->path, (uint32_t)x->n);
    x->n++;
    return e;
}

static struct ch_undo_entry *index_find(const struct ch_undo_index *x, const char *path) {
    const uint32_t *at = ch_undo_table_find(&x->table, path);
    return at ? &x->list[*at] : NULL;
}

struct stored_entry { /* on disk, followed by the path */
    struct ch_undo_sig sig;
    struct ch_undo_state copy;
    uint64_t path;
};

/* Write what was collected, if it is `least` bytes or more. */
static bool index_write(int fd, struct ch_buf *out, size_t least) {
    bool done = out->n < least || write(fd, out->p, out->n) == (ssize_t)out->n;
    if (out->n >= least)
        ch_buf_clear(out);
    return done;
}

void ch_undo_index_save(struct ch_undo_index *x, const struct ch_undo_record *r) {
    CH_BUF_AUTO out = {0};
    uint64_t pack = r->pack_number;

    if (x->stored || !x->valid)
        return;
    int fd = openat(r->dir, "index.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                    0600);
    bool done = fd >= 0;
    ch_buf_add_str(&out, MAGIC);
    ch_buf_add(&out, &pack, sizeof(pack));
    for (size_t i = 0; done && i < x->n; i++) {
        struct stored_entry e = {x->list[i].sig, x->list[i].copy, strlen(x->list[i].path)};
        ch_buf_add(&out, &e, sizeof(e));
        ch_buf_add(&out, x->list[i].path, e.path);
        done = index_write(fd, &out, PIECE);
    }
    x->stored = done && index_write(fd, &out, 1) &&
                renameat(r->dir, "index.new", r->dir, "index") == 0;
    if (fd >= 0)
        close(fd);
}

static bool index_read_entry(struct ch_undo_index *x, const struct ch_undo_record *r,
                             struct ch_sv *rest) {
    struct stored_entry e;
    char path[4096];

    if (rest->n < sizeof(e))
        return false;
    memcpy(&e, rest->p, sizeof(e));
    *rest = ch_sv(rest->p + sizeof(e), rest->n - sizeof(e));
    if (e.path == 0 || e.path >= sizeof(path) || e.path > rest->n ||
        e.copy.n > r->pack_size || (e.copy.n && e.copy.at > r->pack_size - e.copy.n))
        return false;
    memcpy(path, rest->p, e.path);
    path[e.path] = '\0';
    *rest = ch_sv(rest->p + e.path, rest->n - e.path);
    struct ch_undo_entry *made = index_add(x, path);
    made->sig = e.sig;
    made->copy = e.copy;
    return true;
}

void ch_undo_index_load(struct ch_undo_index *x, const struct ch_undo_record *r) {
    CH_BUF_AUTO text = {0};
    uint64_t pack = UINT64_MAX;
    ssize_t n = 1;
    int fd = openat(r->dir, "index", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    ch_undo_index_release(x);
    while (fd >= 0 && n > 0) {
        char *to = ch_buf_reserve(&text, CH_MB);
        n = to ? read(fd, to, CH_MB) : -1;
        ch_buf_commit(&text, n > 0 ? (size_t)n : 0);
    }
    if (fd >= 0)
        close(fd);
    struct ch_sv rest = ch_buf_sv(&text);
    size_t head = sizeof(MAGIC) - 1;
    if (n != 0 || rest.n < head + sizeof(pack) || memcmp(rest.p, MAGIC, head) != 0)
        return;
    memcpy(&pack, rest.p + head, sizeof(pack));
    rest = ch_sv(rest.p + head + sizeof(pack), rest.n - head - sizeof(pack));
    x->valid = pack == r->pack_number;
    while (x->valid && rest.n > 0)
        x->valid = index_read_entry(x, r, &rest);
    if (!x->valid)
        ch_undo_index_release(x);
    x->stored = x->valid;
}

/* --- the scan -------------------------------------------------------------------------------- */

struct frame { /* a directory on the way */
    struct frame *up;
    int fd;
    size_t path; /* length of the path before the names in the directory */
    bool judged, ignored; /* ignored: a rule names the directory, or one above; if judged */
    bool looked;          /* rules were read */
    bool unknown;         /* the scan before did not read the directory */
    struct ch_ignore *rules; /* owned; NULL: none */
    uint64_t size;           /* bytes of the rules */
};

struct scan {
    struct ch_undo_index *old, *now;
    struct ch_undo_record *r;
    bool note, blind, differs;
    dev_t dev;
    const struct ch_undo_hidden *hidden; /* may be NULL */
    uint64_t compared;    /* bytes of rules with bytes of paths */
    size_t copied, bytes; /* number and bytes of all copies in the new index */
    const struct ch_undo_entry **by_ino; /* owned: old entries, sorted; NULL: unset */
    char path[4096];
};

static void scan_read_rules(struct frame *f) {
    if (f->looked)
        return;
    f->looked = true;
    int fd = openat(f->fd, ".gitignore", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char *text = fd < 0 ? NULL : ch_malloc(RULES);
    ssize_t n = text ? read(fd, text, RULES) : 0;
    if (n > 0) {
        f->rules = ch_ignore_new(ch_sv(text, (size_t)n));
        f->size = (uint64_t)n;
    }
    ch_free(text);
    if (fd >= 0)
        close(fd);
}

/* True if a rule of this directory or of one above names the path of `n` bytes. Past the limit of
 * comparisons no rule holds: more files are copied than necessary. */
static bool scan_ask(struct scan *s, struct frame *f, size_t n, bool is_dir) {
    for (struct frame *at = f; at && s->compared < CH_LIMIT_UNDO_RULES; at = at->up) {
        scan_read_rules(at);
        s->compared += at->size * n;
        enum ch_ignored said =
            at->rules ? ch_ignore_ask(at->rules, ch_sv(s->path + at->path, n - at->path), is_dir)
                      : CH_IGNORE_SILENT;
        if (said != CH_IGNORE_SILENT)
            return said == CH_IGNORE_YES;
    }
    return false;
}

/* Rules for directories are evaluated on demand, because most scans copy nothing. */
static bool scan_ignores_directory(struct scan *s, struct frame *f) {
    if (!f->judged && f->up)
        f->ignored = scan_ignores_directory(s, f->up) || scan_ask(s, f->up, f->path - 1, true);
    f->judged = true;
    return f->ignored;
}

static bool scan_is_hidden(const struct scan *s, const struct stat *st) {
    for (size_t i = 0; s->hidden && i < s->hidden->n; i++)
        if (s->hidden->list[i].ino == st->st_ino && s->hidden->list[i].dev == st->st_dev)
            return true;
    return false;
}

static struct ch_undo_state scan_copy(struct scan *s, struct frame *f, const char *name,
                                      const struct stat *st) {
    struct ch_undo_state lost = {.kind = CH_UNDO_LOST, .mode = st->st_mode & 07777};
    bool file = S_ISREG(st->st_mode);
    lost.at = CH_UNDO_FULL;
    if (file && (s->copied >= CH_LIMIT_UNDO_COPIED ||
                 s->bytes + (size_t)st->st_size > CH_LIMIT_UNDO_COPIES))
        return lost;
    lost.at = CH_UNDO_IGNORED;
    if (file && (uint64_t)st->st_size <= CH_LIMIT_UNDO_FILE &&
        (scan_ignores_directory(s, f) || scan_ask(s, f, strlen(s->path), false)))
        return lost;
    return ch_undo_record_copy(s->r, f->fd, name, st, CH_LIMIT_UNDO_FILE);
}

static int scan_compare(const void *a, const void *b) {
    const struct ch_undo_entry *x = *(const struct ch_undo_entry *const *)a;
    const struct ch_undo_entry *y = *(const struct ch_undo_entry *const *)b;
    return x->sig.ino < y->sig.ino ? -1 : x->sig.ino > y->sig.ino;
}

/* The old entry of a file that may have another path now; NULL: none. */
static const struct ch_undo_entry *scan_find_ino(struct scan *s, uint64_t ino) {
    const struct ch_undo_entry key = {.sig.ino = ino}, *wanted = &key;
    if (!s->by_ino) {
        s->by_ino = ch_malloc((s->old->n + 1) * sizeof(*s->by_ino));
        for (size_t i = 0; i < s->old->n; i++)
            s->by_ino[i] = &s->old->list[i];
        qsort(s->by_ino, s->old->n, sizeof(*s->by_ino), scan_compare);
    }
    const struct ch_undo_entry *const *at =
        bsearch(&wanted, s->by_ino, s->old->n, sizeof(*s->by_ino), scan_compare);
    return at ? *at : NULL;
}

/* True if the file existed before the message. A second of tolerance: the times of files come
 * from a coarser clock. */
static bool scan_is_older(const struct scan *s, int dir, const char *name) {
    struct statx st = {0};
    int64_t began = s->r->list[s->r->n - 1].ts / 1000;
    return statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) == 0 &&
           (st.stx_mask & STATX_BTIME) && st.stx_btime.tv_sec + 1 < began;
}

/* True if the path may hold the only copy of a file that had another path: of a file of the
 * workspace without a copy, or of a file from outside of the workspace. */
static bool scan_was_moved(struct scan *s, int dir, const char *name, const struct stat *st) {
    const struct ch_undo_entry *e = scan_find_ino(s, st->st_ino);
    struct ch_undo_sig sig = ch_undo_sig(st);
    if (e)
        return e->copy.kind == CH_UNDO_LOST && e->sig.size == sig.size &&
               e->sig.mtime == sig.mtime;
    return !S_ISDIR(st->st_mode) && st->st_nlink == 1 && scan_is_older(s, dir, name);
}

/* The earlier state of a path that differs from the old index. was: its entry; NULL: none. Undo
 * must neither remove nor replace the only copy of a moved file, nor remove a file that may have
 * existed. */
static struct ch_undo_state scan_before(struct scan *s, const struct frame *f, const char *name,
                                        const struct stat *st, const struct ch_undo_entry *was) {
    struct ch_undo_state lost = {.kind = CH_UNDO_LOST, .at = CH_UNDO_UNREADABLE};
    if (s->note && !was && f->unknown)
        return lost;
    lost.at = CH_UNDO_MOVED;
    if (s->note && !(was && was->sig.ino == st->st_ino) && scan_was_moved(s, f->fd, name, st))
        return lost;
    return was ? was->copy : (struct ch_undo_state){.kind = CH_UNDO_ABSENT};
}

static bool scan_directory(struct scan *s, struct frame *f, size_t depth);

/* False: the directory was not read. */
static bool scan_descend(struct scan *s, struct frame *f, const char *name, size_t depth,
                         bool unknown) {
    struct frame below = {.up = f, .path = strlen(s->path) + 1, .unknown = unknown};
    if (depth >= CH_LIMIT_UNDO_DEPTH)
        return false;
    below.fd = openat(f->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below.fd < 0)
        return false;
    bool read = scan_directory(s, &below, depth + 1);
    ch_ignore_free(below.rules);
    return read;
}

static void scan_entry(struct scan *s, struct frame *f, const char *name, size_t depth) {
    struct stat st;

    if (fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != s->dev ||
        scan_is_hidden(s, &st))
        return;
    struct ch_undo_sig sig = ch_undo_sig(&st);
    struct ch_undo_entry *was = index_find(s->old, s->path);
    struct ch_undo_entry *is = index_add(s->now, s->path);
    struct ch_undo_state before = {.kind = CH_UNDO_ABSENT};
    is->sig = sig;
    if (was)
        was->seen = true;
    if (was && ch_undo_sig_same(&was->sig, &sig)) {
        before = is->copy = was->copy;
    } else {
        before = scan_before(s, f, name, &st, was);
        s->differs = true;
        if (s->note)
            ch_undo_record_change(s->r, s->path, &before);
        is->copy = scan_copy(s, f, name, &st);
    }
    s->copied += is->copy.kind == CH_UNDO_FILE;
    s->bytes += is->copy.n;
    if (S_ISDIR(st.st_mode)) {
        size_t at = s->now->n - 1; /* the list may move in memory */
        bool read = scan_descend(s, f, name, depth, before.kind == CH_UNDO_LOST);
        s->now->list[at].copy.kind = read ? CH_UNDO_DIR : CH_UNDO_LOST;
        s->now->list[at].copy.at = CH_UNDO_UNREADABLE;
    }
}

/* Closes f->fd. False: the directory was not read. */
static bool scan_directory(struct scan *s, struct frame *f, size_t depth) {
    DIR *d = fdopendir(f->fd);
    if (!d)
        close(f->fd);
    for (const struct dirent *e; d && !s->blind && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            strcmp(e->d_name, ".git") == 0 || f->path + n >= sizeof(s->path))
            continue;
        if (f->path > 0)
            s->path[f->path - 1] = '/';
        memcpy(s->path + f->path, e->d_name, n + 1);
        s->blind = s->now->n >= CH_LIMIT_UNDO_FILES;
        if (!s->blind)
            scan_entry(s, f, e->d_name, depth);
    }
    if (d)
        closedir(d);
    return d != NULL;
}

static void scan_note_removed(struct scan *s) {
    for (size_t i = 0; i < s->old->n; i++) {
        const struct ch_undo_entry *e = &s->old->list[i];
        if (e->seen)
            continue;
        s->differs = true;
        if (s->note)
            ch_undo_record_change(s->r, e->path, &e->copy);
    }
}

void ch_undo_hide(struct ch_undo_hidden *h, char **paths) {
    struct stat st;
    h->n = 0;
    for (; paths && *paths && h->n < CH_LEN(h->list); paths++)
        if (stat(*paths, &st) == 0) {
            h->list[h->n].dev = st.st_dev;
            h->list[h->n++].ino = st.st_ino;
        }
}

bool ch_undo_scan(struct ch_undo_index *x, struct ch_undo_record *r, int root,
                  const struct ch_undo_hidden *hidden, bool note) {
    struct ch_undo_index now = {0};
    struct scan *s = ch_alloc(sizeof(*s));
    struct frame top = {.fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    struct stat st;

    *s = (struct scan){
        .old = x, .now = &now, .r = r, .hidden = hidden, .note = note && x->valid};
    ch_undo_table_reserve(&now.table, x->n);
    s->blind = top.fd < 0 || fstat(root, &st) < 0;
    s->dev = st.st_dev;
    if (!s->blind)
        scan_directory(s, &top, 0);
    ch_ignore_free(top.rules);
    if (!s->blind)
        scan_note_removed(s);
    now.valid = !s->blind;
    now.stored = now.valid && x->stored && !s->differs;
    ch_undo_index_release(x);
    *x = now;
    ch_free(s->by_ino);
    ch_free(s);
    return now.valid;
}
