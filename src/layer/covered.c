/* covered.c -- see covered.h.
 *
 * The file `covered` has a line for each record, and the last line of a path counts:
 *
 *     m TIME                            a mark, in nanoseconds
 *     c KNOWN IDENTITY DIGEST PATH      KNOWN 0: the file changed while the layer covered it */
#include "layer/covered.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "layer/walk.h"

#define COVERED "covered"
#define NS_PER_S INT64_C(1000000000)

struct record {
    const char *path;
    struct ch_sv identity, digest;
    bool known;
    size_t order;
};

struct ch_covered {
    struct ch_arena arena;
    struct ch_buf text;
    struct record *v; /* sorted by path; owned */
    size_t n, cap;
    int64_t mark;
};

/* --- words of a line */

void ch_layer_escape(struct ch_buf *out, const char *path) {
    for (; *path; path++)
        if ((unsigned char)*path <= ' ' || *path == '%' || *path == 0x7f)
            ch_buf_addf(out, "%%%02x", (unsigned)(unsigned char)*path);
        else
            ch_buf_addc(out, *path);
}

char *ch_layer_unescape(struct ch_arena *a, struct ch_sv text) {
    char *out = ch_arena_alloc(a, text.n + 1), *at = out;

    for (size_t i = 0; i < text.n; i++) {
        char hex[3] = {0};
        if (text.p[i] == '%' && i + 2 < text.n) {
            memcpy(hex, text.p + i + 1, 2);
            *at++ = (char)strtoul(hex, NULL, 16);
            i += 2;
        } else {
            *at++ = text.p[i];
        }
    }
    *at = '\0';
    return out;
}

static int64_t covered_ns(struct timespec t) {
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

void ch_covered_identity(struct ch_buf *out, const struct stat *st) {
    if (!st)
        ch_buf_addc(out, '-');
    else
        ch_buf_addf(out, "%o:%llu:%lld:%lld:%lld", (unsigned)st->st_mode,
                    (unsigned long long)st->st_ino, (long long)st->st_size,
                    (long long)covered_ns(st->st_mtim), (long long)covered_ns(st->st_ctim));
}

/* "-" for what is no small file. */
static void add_digest(struct ch_buf *out, int dir, const char *name, const struct stat *st) {
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    CH_BUF_AUTO text = {0};
    bool small = st && S_ISREG(st->st_mode) && st->st_size <= (off_t)CH_LIMIT_LAYER_DIGEST;
    int fd = small ? openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    int rc = fd < 0 ? -1 : ch_file_load_open(fd, name, CH_LIMIT_LAYER_DIGEST, &text, NULL);

    if (fd >= 0)
        close(fd);
    if (rc < 0) {
        ch_buf_addc(out, '-');
        return;
    }
    ch_sha256_of(ch_buf_sv(&text), digest);
    ch_sha256_hex(digest, hex);
    ch_buf_add_str(out, hex);
}

void ch_covered_add(struct ch_buf *out, const char *path, int dir, const char *name,
                    const struct stat *lower, bool known) {
    ch_buf_addf(out, "c %d ", known);
    ch_covered_identity(out, lower);
    ch_buf_addc(out, ' ');
    add_digest(out, dir, name, lower);
    ch_buf_addc(out, ' ');
    ch_layer_escape(out, path);
    ch_buf_addc(out, '\n');
}

int ch_covered_append(struct ch_work_layer *l, struct ch_sv records, struct chela_error *err) {
    int fd = openat(l->fd, COVERED, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    int rc = fd < 0 ? -errno : ch_file_write(fd, records);
    if (fd >= 0)
        close(fd);
    return rc < 0 ? ch_fail(err, CHELA_EIO, "the layer %s: %s", l->dir, strerror(-rc)) : 0;
}

/* --- reading */

static void covered_line(struct ch_covered *c, struct ch_sv line) {
    struct ch_sv what = ch_sv_split(&line, ' ');

    if (ch_sv_is(what, "m")) {
        c->mark = strtoll(ch_arena_str(&c->arena, line), NULL, 10);
        return;
    }
    if (!ch_sv_is(what, "c"))
        return;
    struct record r = {.known = ch_sv_is(ch_sv_split(&line, ' '), "1"), .order = c->n};
    r.identity = ch_sv_split(&line, ' ');
    r.digest = ch_sv_split(&line, ' ');
    r.path = ch_layer_unescape(&c->arena, line);
    CH_GROW(c->v, c->n, c->cap, 64);
    c->v[c->n++] = r;
}

static int by_path(const void *a, const void *b) {
    const struct record *x = a, *y = b;
    int order = strcmp(x->path, y->path);

    return order ? order : x->order < y->order ? -1 : x->order > y->order;
}

/* Keeps the last record of each path. */
static void covered_sort(struct ch_covered *c) {
    size_t n = 0;

    if (c->n)
        qsort(c->v, c->n, sizeof(*c->v), by_path);
    for (size_t i = 0; i < c->n; i++)
        if (i + 1 == c->n || strcmp(c->v[i].path, c->v[i + 1].path) != 0)
            c->v[n++] = c->v[i];
    c->n = n;
}

int ch_covered_read(struct ch_work_layer *l, struct ch_covered **out, struct chela_error *err) {
    struct ch_covered *c = ch_alloc(sizeof(*c));
    const char *path = ch_arena_printf(&c->arena, "%s/%s", l->dir, COVERED);
    struct chela_error why = {0};

    int rc = ch_file_load(path, CH_LIMIT_LAYER_RECORDS, &c->text, &why);
    if (rc < 0 && rc != CHELA_ENOENT) {
        ch_covered_free(c);
        return ch_fail(err, rc, "%s", why.message);
    }
    for (struct ch_sv rest = ch_buf_sv(&c->text); rest.n;)
        covered_line(c, ch_sv_split(&rest, '\n'));
    covered_sort(c);
    *out = c;
    return 0;
}

void ch_covered_free(struct ch_covered *c) {
    if (!c)
        return;
    ch_free(c->v);
    ch_buf_release(&c->text);
    ch_arena_release(&c->arena);
    ch_free(c);
}

static const struct record *covered_find(const struct ch_covered *c, const char *path) {
    const struct record key = {.path = path};
    size_t low = 0, high = c->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(c->v[mid].path, key.path);
        if (order == 0)
            return &c->v[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

bool ch_covered_same(const struct ch_covered *c, const char *path, int dir, const char *name,
                     const struct stat *lower) {
    const struct record *r = covered_find(c, path);
    CH_BUF_AUTO identity = {0}, digest = {0};

    if (!r || !r->known)
        return false;
    ch_covered_identity(&identity, lower);
    if (ch_sv_eq(r->identity, ch_buf_sv(&identity)))
        return true;
    if (!lower || ch_sv_is(r->digest, "-"))
        return false;
    add_digest(&digest, dir, name, lower);
    return ch_sv_eq(r->digest, ch_buf_sv(&digest));
}

/* --- recording */

struct noting {
    const struct ch_covered *known;
    struct ch_buf out;
};

static int note_node(const struct ch_layer_node *node, void *user) {
    struct noting *n = user;
    const struct stat *lower = node->lower;

    if (lower && node->upper && S_ISDIR(lower->st_mode))
        return 0; /* both trees have it */
    if (covered_find(n->known, node->path))
        return 0;
    bool known = !lower || covered_ns(lower->st_ctim) < n->known->mark;
    ch_covered_add(&n->out, node->path, node->ldir, node->name, lower, known);
    return 0;
}

int ch_covered_note(struct ch_work_layer *l, struct chela_error *err) {
    struct noting n = {0};
    struct ch_covered *known;
    struct timespec now;

    int rc = ch_covered_read(l, &known, err);
    if (rc < 0)
        return rc;
    n.known = known;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    rc = ch_layer_walk(l->upper, l->real, note_node, &n, err);
    if (rc == 0) {
        ch_buf_addf(&n.out, "m %lld\n", (long long)covered_ns(now));
        rc = ch_covered_append(l, ch_buf_sv(&n.out), err);
    }
    ch_buf_release(&n.out);
    ch_covered_free(known);
    return rc;
}
