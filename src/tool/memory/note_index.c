/* note_index.c -- see note_index.h. */
#include "tool/memory/note_index.h"

#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "tool/memory/notes.h"
#include "tool/memory/passage_index.h"
#include "tool/process/path.h"

/* A change within one tick of the file system's clock leaves the time as it was. A file is
 * read again until its last change is this long ago. */
#define SETTLED_NS ((int64_t)1000 * 1000 * 1000)
#define TIME_MOST_S ((int64_t)4000 * 1000 * 1000) /* the difference of two times fits, too */

struct indexed_file {
    char *path; /* owned */
    ino_t inode;
    off_t size;
    int64_t changed; /* ns since 1970 */
    bool settled;    /* the last change was long ago when the file was read */
    size_t first, n; /* passages of the shelf */
};

struct file_list {
    struct indexed_file *list; /* owned; in the order of ch_notes_paths */
    size_t n;
    size_t bytes; /* total size */
};

/* The notes directory when its names were listed. */
struct listing {
    dev_t device;
    ino_t inode;
    int64_t changed; /* ns since 1970, of the status: no program sets that time */
    bool whole;      /* the last change was long ago, and each name is in the file list */
};

struct ch_note_index {
    pthread_mutex_t lock;
    char *workspace; /* owned; NULL: nothing was read yet */
    struct ch_shelf shelf;
    struct file_list files;
    struct listing listing;
    size_t gone; /* passages of the shelf that are gone */
    size_t reads;
};

struct ch_note_index *ch_note_index_new(void) {
    struct ch_note_index *x = ch_alloc(sizeof(*x));
    pthread_mutex_init(&x->lock, NULL);
    return x;
}

static void free_files(struct file_list *f) {
    for (size_t i = 0; i < f->n; i++)
        ch_free(f->list[i].path);
    ch_free(f->list);
    *f = (struct file_list){0};
}

static void note_index_empty(struct ch_note_index *x) {
    ch_shelf_release(&x->shelf);
    free_files(&x->files);
    x->listing = (struct listing){0};
    x->gone = 0;
}

void ch_note_index_free(struct ch_note_index *x) {
    if (!x)
        return;
    note_index_empty(x);
    ch_free(x->workspace);
    pthread_mutex_destroy(&x->lock);
    ch_free(x);
}

/* A program may set the time of a file to any value: times that do not fit are cut. */
static int64_t ns_of(struct timespec t) {
    int64_t s = CH_MIN(CH_MAX((int64_t)t.tv_sec, -TIME_MOST_S), TIME_MOST_S);
    return s * 1000 * 1000 * 1000 + t.tv_nsec;
}

/* --- changes ------------------------------------------------------------------------------ */

static bool is_same(const struct indexed_file *f, const struct stat *st) {
    return f->settled && f->inode == st->st_ino && f->size == st->st_size &&
           f->changed == ns_of(st->st_mtim);
}

static void forget_file(struct ch_note_index *x, const struct indexed_file *f) {
    for (size_t i = f->first; i < f->first + f->n; i++)
        x->shelf.list[i].gone = true;
    x->gone += f->n;
}

/* `st` is from before the read: a change during the read shows at the next search. */
static struct indexed_file read_file(struct ch_note_index *x, int root, const char *path,
                                     const char *const *hide, const struct stat *st) {
    CH_BUF_AUTO text = {0};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct indexed_file f = {.path = ch_strdup(path),
                             .inode = st->st_ino,
                             .size = st->st_size,
                             .changed = ns_of(st->st_mtim),
                             .first = x->shelf.n};
    f.settled = ns_of(now) - f.changed > SETTLED_NS;
    x->reads++;
    ch_notes_text(root, path, hide, &text);
    ch_shelf_begin(&x->shelf);
    if (text.n)
        ch_shelf_add(&x->shelf, path, true, ch_buf_sv(&text));
    f.n = x->shelf.n - f.first;
    return f;
}

struct updating {
    struct ch_note_index *x;
    int root, dir; /* dir: the notes directory; -1: none */
    const char *const *hide;
    struct file_list old, now; /* both in the same order, so they are merged */
    size_t at;                 /* files of `old` that are dealt with */
    size_t cap;
    size_t left_out; /* names that are not in `now` */
};

/* Relative to the notes directory: the kernel then looks up one name instead of two. */
static bool stat_note(const struct updating *u, const char *path, struct stat *st) {
    static const char within[] = CH_NOTES_DIR "/";
    size_t n = strncmp(path, within, sizeof(within) - 1) == 0 ? sizeof(within) - 1 : 0;
    return fstatat(n ? u->dir : u->root, path + n, st, 0) == 0 && S_ISREG(st->st_mode);
}

static int order_of(const char *a, const char *b) {
    return a == b ? 0 : ch_notes_order(a, b); /* the same text, if the names were not listed anew */
}

static void update_file(const char *path, void *user) {
    struct updating *u = user;
    struct stat st;
    while (u->at < u->old.n && order_of(u->old.list[u->at].path, path) < 0)
        forget_file(u->x, &u->old.list[u->at++]);
    struct indexed_file *old = u->at < u->old.n && order_of(u->old.list[u->at].path, path) == 0
                                   ? &u->old.list[u->at++]
                                   : NULL;
    bool room = u->now.n < CH_LIMIT_NOTE_INDEX_FILES && u->now.bytes < CH_LIMIT_NOTE_INDEX_BYTES;
    bool there = room && stat_note(u, path, &st);
    bool same = there && old && is_same(old, &st);
    if (old && !same)
        forget_file(u->x, old);
    if (!there) {
        u->left_out += strcmp(path, CH_NOTES_LASTING) != 0;
        return;
    }
    CH_GROW(u->now.list, u->now.n, u->cap, 64);
    u->now.bytes += (size_t)CH_MIN((uint64_t)st.st_size, CH_LIMIT_NOTE_FILE);
    u->now.list[u->now.n++] = same ? *old : read_file(u->x, u->root, path, u->hide, &st);
    if (same)
        old->path = NULL; /* moved */
}

/* Passages of newer files come first, wherever in the list they are. */
static void number_passages(struct ch_note_index *x) {
    size_t order = 0;
    for (size_t i = 0; i < x->files.n; i++)
        for (size_t k = 0; k < x->files.list[i].n; k++)
            x->shelf.list[x->files.list[i].first + k].order = order++;
}

static struct listing listing_of(int dir) {
    struct stat st = {0};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    bool there = dir >= 0 && fstat(dir, &st) == 0;
    return (struct listing){.device = st.st_dev,
                            .inode = st.st_ino,
                            .changed = ns_of(st.st_ctim),
                            .whole = there && ns_of(now) - ns_of(st.st_ctim) > SETTLED_NS};
}

/* A directory that has not changed has the same names: they are neither read nor sorted, which
 * takes as long as the look at each file. */
static void update_files(struct updating *u) {
    struct listing now = listing_of(u->dir), *old = &u->x->listing;
    bool same = now.whole && old->whole && now.device == old->device && now.inode == old->inode &&
                now.changed == old->changed;
    if (!same) {
        ch_notes_paths(u->root, update_file, u);
    } else {
        update_file(CH_NOTES_LASTING, u);
        while (u->at < u->old.n)
            update_file(u->old.list[u->at].path, u);
    }
    *old = now;
    old->whole &= u->left_out == 0;
}

static void note_index_update(struct ch_note_index *x, const char *workspace,
                              const char *const *hide) {
    struct updating u = {.x = x, .root = ch_notes_root(workspace), .dir = -1, .hide = hide,
                         .old = x->files};
    size_t reads = x->reads, gone = x->gone;
    x->files = (struct file_list){0};
    if (u.root >= 0) {
        u.dir = ch_beneath_open(u.root, CH_NOTES_DIR, O_PATH | O_DIRECTORY);
        update_files(&u);
        close(u.root);
    }
    if (u.dir >= 0)
        close(u.dir);
    while (u.at < u.old.n)
        forget_file(x, &u.old.list[u.at++]);
    free_files(&u.old);
    x->files = u.now;
    if (x->reads != reads || x->gone != gone)
        number_passages(x);
}

struct ch_shelf *ch_note_index_lock(struct ch_note_index *x, const char *workspace,
                                    const char *const *hide) {
    pthread_mutex_lock(&x->lock);
    bool other = !x->workspace || strcmp(x->workspace, workspace) != 0;
    if (other || x->gone > x->shelf.n / 2)
        note_index_empty(x);
    if (other) {
        ch_free(x->workspace);
        x->workspace = ch_strdup(workspace);
    }
    note_index_update(x, workspace, hide);
    return &x->shelf;
}

void ch_note_index_unlock(struct ch_note_index *x) {
    pthread_mutex_unlock(&x->lock);
}

size_t ch_note_index_reads(const struct ch_note_index *x) {
    return x->reads;
}
