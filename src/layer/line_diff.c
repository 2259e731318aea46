/* line_diff.c -- see line_diff.h. The algorithm is the greedy one of Myers, "An O(ND) Difference
 * Algorithm and Its Variations" (1986), between the common first and last lines. */
#include "layer/line_diff.h"

#include <string.h>

#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"

#define CONTEXT 3

void ch_lines_split(struct ch_arena *a, struct ch_sv text, struct ch_lines *out) {
    size_t n = text.n && text.p[text.n - 1] != '\n';

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    out->v = ch_arena_alloc(a, (n + 1) * sizeof(*out->v));
    out->n = 0;
    while (text.n) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t len = end ? (size_t)(end - text.p) + 1 : text.n;
        out->v[out->n++] = ch_sv(text.p, len);
        text = ch_sv(text.p + len, text.n - len);
    }
}

/* --- the shortest list of edits */

struct myers {
    const struct ch_sv *a, *b; /* the lines between the common ends */
    long n, m;
    size_t at;   /* common first lines */
    int **trace; /* owned: for each number of edits, the furthest x of each diagonal */
    long depth;
    struct ch_line_edit *edits; /* owned; last edit first */
    size_t nedits, cap;
};

static long slide(const struct myers *s, long x, long y) {
    while (x < s->n && y < s->m && ch_sv_eq(s->a[x], s->b[y]))
        x++, y++;
    return x;
}

/* True if diagonal k is reached from the one above, by a line of the new text. */
static bool goes_down(const int *v, long k, long d) {
    return k == -d || (k != d && v[k - 1 + d] < v[k + 1 + d]);
}

/* Row d - 1 of the trace, with the same origin as row d. */
static const int *row_before(const struct myers *s, long d) {
    return s->trace[d - 1] - 1;
}

/* Fills row d of the trace; true if the end was reached. */
static bool myers_row(struct myers *s, long d) {
    int *v = s->trace[d] = ch_malloc((2 * (size_t)d + 1) * sizeof(*v));
    const int *last = d ? row_before(s, d) : NULL;
    bool done = false;

    for (long k = -d; k <= d; k += 2) {
        long x = d == 0 ? 0 : goes_down(last, k, d) ? last[k + 1 + d] : last[k - 1 + d] + 1;
        /* beyond the texts: a diagonal that leads nowhere */
        v[k + d] = (int)(x > s->n || x - k > s->m ? x : slide(s, x, x - k));
        if (k < d)
            v[k + 1 + d] = -1;
        done |= v[k + d] >= s->n && v[k + d] - k >= s->m;
    }
    return done;
}

static void add_edit(struct myers *s, long x, long y, bool down) {
    struct ch_line_edit *e = s->nedits ? &s->edits[s->nedits - 1] : NULL;
    size_t old = s->at + (size_t)x, new = s->at + (size_t)y;

    if (e && e->old_from == old + !down && e->new_from == new + down) {
        e->old_from = old;
        e->new_from = new;
        e->old_n += !down;
        e->new_n += down;
        return;
    }
    CH_GROW(s->edits, s->nedits, s->cap, 16);
    s->edits[s->nedits++] = (struct ch_line_edit){old, !down, new, down};
}

/* From the end back to the start. */
static void collect(struct myers *s) {
    long x = s->n, y = s->m;

    for (long d = s->depth; d > 0; d--) {
        const int *last = row_before(s, d);
        long k = x - y;
        bool down = goes_down(last, k, d);
        long from = down ? last[k + 1 + d] : last[k - 1 + d];
        long before = down ? k + 1 : k - 1;
        add_edit(s, from, from - before, down);
        x = from;
        y = from - before;
    }
}

static void myers_run(struct myers *s) {
    long most = s->n + s->m < CH_LIMIT_LAYER_EDITS ? s->n + s->m : CH_LIMIT_LAYER_EDITS;
    bool done = s->n + s->m == 0;

    s->trace = ch_alloc(((size_t)most + 1) * sizeof(*s->trace));
    for (s->depth = 0; !done && s->depth <= most; s->depth += !done)
        done = myers_row(s, s->depth);
    if (done) {
        collect(s);
    } else {
        CH_GROW(s->edits, s->nedits, s->cap, 16);
        s->edits[s->nedits++] = (struct ch_line_edit){s->at, (size_t)s->n, s->at, (size_t)s->m};
    }
    for (long d = 0; d <= most; d++)
        ch_free(s->trace[d]);
    ch_free(s->trace);
}

/* --- hunks */

static void add_hunk(struct ch_line_diff *d, const struct ch_line_edit *e, size_t i) {
    struct ch_line_hunk *h = d->nhunks ? &d->hunks[d->nhunks - 1] : NULL;
    size_t before = CH_MIN(e->old_from, CONTEXT);
    size_t rest = d->old.n - e->old_from - e->old_n, after = CH_MIN(rest, CONTEXT);

    if (!h || h->old_from + h->old_n < e->old_from - before) {
        h = &d->hunks[d->nhunks++];
        *h = (struct ch_line_hunk){
            .first = i, .old_from = e->old_from - before, .new_from = e->new_from - before};
    }
    h->n++;
    h->added += e->new_n;
    h->removed += e->old_n;
    h->old_n = e->old_from + e->old_n + after - h->old_from;
    h->new_n = e->new_from + e->new_n + after - h->new_from;
}

void ch_line_diff(struct ch_arena *a, struct ch_sv old, struct ch_sv new,
                  struct ch_line_diff *out) {
    struct myers s = {0};

    *out = (struct ch_line_diff){0};
    ch_lines_split(a, old, &out->old);
    ch_lines_split(a, new, &out->new);
    size_t n = out->old.n, m = out->new.n;
    while (n && m && ch_sv_eq(out->old.v[n - 1], out->new.v[m - 1]))
        n--, m--;
    while (s.at < n && s.at < m && ch_sv_eq(out->old.v[s.at], out->new.v[s.at]))
        s.at++;
    s.a = out->old.v + s.at;
    s.b = out->new.v + s.at;
    s.n = (long)(n - s.at);
    s.m = (long)(m - s.at);
    if (s.n || s.m)
        myers_run(&s);
    out->nedits = s.nedits;
    out->edits = ch_arena_alloc(a, (s.nedits + 1) * sizeof(*out->edits));
    out->hunks = ch_arena_alloc(a, (s.nedits + 1) * sizeof(*out->hunks));
    for (size_t i = 0; i < s.nedits; i++) {
        out->edits[i] = s.edits[s.nedits - 1 - i];
        add_hunk(out, &out->edits[i], i);
    }
    ch_free(s.edits);
}

static void add_range(struct ch_buf *out, char sign, size_t from, size_t n) {
    ch_buf_addf(out, "%c%zu", sign, n ? from + 1 : from);
    if (n != 1)
        ch_buf_addf(out, ",%zu", n);
}

void ch_hunk_head(const struct ch_line_hunk *h, struct ch_buf *out) {
    ch_buf_add_str(out, "@@ ");
    add_range(out, '-', h->old_from, h->old_n);
    ch_buf_addc(out, ' ');
    add_range(out, '+', h->new_from, h->new_n);
    ch_buf_add_str(out, " @@");
}

static void line_diff_add_lines(struct ch_buf *out, char sign, const struct ch_lines *lines,
                                size_t from, size_t n) {
    for (size_t i = from; i < from + n; i++) {
        struct ch_sv line = lines->v[i];
        ch_buf_addc(out, sign);
        ch_buf_add_sv(out, line);
        if (line.p[line.n - 1] != '\n')
            ch_buf_add_str(out, "\n\\ No newline at end of file\n");
    }
}

void ch_hunk_write(const struct ch_line_diff *d, const struct ch_line_hunk *h, struct ch_buf *out) {
    size_t at = h->old_from;

    ch_hunk_head(h, out);
    ch_buf_addc(out, '\n');
    for (size_t i = h->first; i < h->first + h->n; i++) {
        const struct ch_line_edit *e = &d->edits[i];
        line_diff_add_lines(out, ' ', &d->old, at, e->old_from - at);
        line_diff_add_lines(out, '-', &d->old, e->old_from, e->old_n);
        line_diff_add_lines(out, '+', &d->new, e->new_from, e->new_n);
        at = e->old_from + e->old_n;
    }
    line_diff_add_lines(out, ' ', &d->old, at, h->old_from + h->old_n - at);
}

static void line_diff_copy(struct ch_buf *out, const struct ch_lines *lines, size_t from,
                           size_t n) {
    for (size_t i = from; i < from + n; i++)
        ch_buf_add_sv(out, lines->v[i]);
}

void ch_line_diff_apply(const struct ch_line_diff *d, const bool *taken, struct ch_buf *out) {
    size_t at = 0;

    for (size_t h = 0; h < d->nhunks; h++)
        for (size_t i = d->hunks[h].first; taken[h] && i < d->hunks[h].first + d->hunks[h].n; i++) {
            const struct ch_line_edit *e = &d->edits[i];
            line_diff_copy(out, &d->old, at, e->old_from - at);
            line_diff_copy(out, &d->new, e->new_from, e->new_n);
            at = e->old_from + e->old_n;
        }
    line_diff_copy(out, &d->old, at, d->old.n - at);
}
