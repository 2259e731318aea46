/* passage_index.c -- see passage_index.h. */
#include "tool/memory/passage_index.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "model/wire/embed.h"

#define PASSAGE_LINES 12

/* A passage without common words must reach this similarity, and nearly that of the most
 * similar passage: some passage is always the nearest, even if none is relevant. */
#define LEAST_ALIKE 0.2f
#define OF_THE_BEST 0.75f

void ch_shelf_release(struct ch_shelf *s) {
    ch_arena_release(&s->arena);
    ch_bm25_release(&s->index);
    ch_free(s->list);
    *s = (struct ch_shelf){0};
}

/* --- splitting ------------------------------------------------------------------------ */

struct cutting {
    struct ch_shelf *shelf;
    const char *source;
    bool lines;
    struct ch_sv heading;
};

/* True if text follows before the next heading. */
static bool passage_index_has_body(struct ch_sv rest) {
    struct ch_sv next = ch_sv_trim(rest);

    return next.n && !ch_sv_starts(next, "#");
}

/* A heading is stored with each passage below it, and as a passage of its own only if it
 * has no text. */
static void add_passage(const struct cutting *c, size_t line, struct ch_sv text,
                        struct ch_sv rest) {
    struct ch_shelf *s = c->shelf;

    text = ch_sv_trim(text);
    if (!text.n || (text.p == c->heading.p && text.n == ch_sv_trim(c->heading).n &&
                    passage_index_has_body(rest)))
        return;
    if (s->n == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 64;
        s->list = ch_realloc(s->list, s->cap * sizeof(*s->list));
    }
    const char *source = c->lines ? ch_arena_printf(&s->arena, "%s:%zu", c->source, line)
                                  : c->source;
    s->list[s->n] = (struct ch_passage){source, c->heading, text, .order = s->n};
    s->n++;
    ch_bm25_begin(&s->index);
    ch_bm25_text(&s->index, CH_FIELD_NAME, c->heading);
    ch_bm25_text(&s->index, CH_FIELD_DESCRIPTION, text);
}

/* A passage ends before a heading, at a blank line, or at the length limit. */
static void passage_index_cut(struct cutting *c, struct ch_sv rest) {
    struct ch_sv text = ch_sv(rest.p, 0);
    size_t line = 0, first = 1;

    while (rest.n) {
        struct ch_sv l = ch_sv_split(&rest, '\n');
        bool title = ch_sv_starts(l, "#"), blank = ch_sv_trim(l).n == 0;
        line++;
        if (title || blank || line - first >= PASSAGE_LINES ||
            text.n + l.n > CH_LIMIT_NOTE_SHOWN) {
            add_passage(c, first, text, title ? CH_SV("") : rest);
            text = ch_sv(l.p, 0);
            first = line;
        }
        if (title)
            c->heading = l;
        text.n = (size_t)(l.p + l.n - text.p);
        if (blank)
            text = ch_sv(rest.p ? rest.p : l.p, 0), first = line + 1;
    }
    add_passage(c, first, text, rest);
}

void ch_shelf_add(struct ch_shelf *s, const char *source, bool lines, struct ch_sv text) {
    struct cutting c = {.shelf = s,
                        .source = ch_arena_str(&s->arena, ch_sv_str(source)),
                        .lines = lines,
                        .heading = CH_SV("")};

    s->bytes += text.n;
    passage_index_cut(&c, ch_arena_sv(&s->arena, text));
}

void ch_passage_write(const struct ch_passage *p, struct ch_buf *out) {
    if (p->heading.n && p->heading.p != p->text.p)
        ch_buf_addf(out, "%.*s\n", CH_SV_FMT(p->heading));
    ch_buf_add_sv(out, p->text);
}

/* --- ranking --------------------------------------------------------------------------- */

struct place {
    size_t passage, order;
    float score;
};

static int passage_index_by_score(const void *a, const void *b) {
    const struct place *x = a, *y = b;

    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static struct place place_of(const struct ch_shelf *s, size_t i, float score) {
    return (struct place){i, s->list[i].order, score};
}

/* Passages with a score above 0, best first. `rest`: followed by the others, in their order.
 * Returns the number of the first; *all: of both. */
static size_t rank_by_words(struct ch_shelf *s, struct ch_sv query, struct place *out, bool rest,
                            size_t *all) {
    CH_AUTOFREE float *scores = ch_malloc((s->n + 1) * sizeof(*scores));
    size_t n = 0, m;

    *all = 0;
    if (s->n == 0)
        return 0;
    ch_bm25_settle(&s->index);
    ch_bm25_score(&s->index, query, scores);
    for (size_t i = 0; i < s->n; i++)
        if (scores[i] > 0 && !s->list[i].gone)
            out[n++] = place_of(s, i, scores[i]);
    qsort(out, n, sizeof(*out), passage_index_by_score);
    m = n;
    for (size_t i = 0; rest && i < s->n; i++)
        if (!(scores[i] > 0) && !s->list[i].gone)
            out[m++] = place_of(s, i, 0);
    qsort(out + n, m - n, sizeof(*out), passage_index_by_score);
    *all = m;
    return n;
}

static size_t passage_index_rank_by_meaning(const struct ch_shelf *s, const struct ch_vectors *vs,
                                            const float *query, struct place *out) {
    CH_BUF_AUTO text = {0};
    size_t n = 0, near = 0;

    for (size_t i = 0; i < s->n; i++) {
        ch_buf_clear(&text);
        ch_passage_write(&s->list[i], &text);
        const float *row = s->list[i].gone ? NULL : ch_vectors_find(vs, ch_buf_sv(&text));
        if (row)
            out[n++] = place_of(s, i, ch_embed_product(query, row, vs->dim));
    }
    qsort(out, n, sizeof(*out), passage_index_by_score);
    while (near < n && out[near].score >= LEAST_ALIKE &&
           out[near].score >= OF_THE_BEST * out[0].score)
        near++;
    return near;
}

/* Reciprocal rank fusion with the usual constant, which keeps one first place from deciding
 * alone. */
static void passage_index_add_ranks(struct place *sums, const struct place *ranked, size_t n) {
    for (size_t i = 0; i < n; i++)
        sums[ranked[i].passage].score += 1.0f / (float)(60 + i + 1);
}

size_t ch_shelf_order(struct ch_shelf *s, struct ch_sv query, size_t *out) {
    CH_AUTOFREE struct place *ranked = ch_malloc((s->n + 1) * sizeof(*ranked));
    size_t all;

    rank_by_words(s, query, ranked, true, &all);
    for (size_t i = 0; i < all; i++)
        out[i] = ranked[i].passage;
    return all;
}

/* Moves the places with a score to the front and sorts them; returns their number. */
static size_t sort_scored(struct place *p, size_t n) {
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (p[i].score > 0)
            p[kept++] = p[i];
    qsort(p, kept, sizeof(*p), passage_index_by_score);
    return kept;
}

void ch_shelf_best(struct ch_shelf *s, struct ch_sv query, const struct ch_vectors *vs,
                   const float *meaning, size_t limit, struct ch_notes *out) {
    CH_AUTOFREE struct place *ranked = ch_malloc((s->n + 1) * sizeof(*ranked));
    CH_AUTOFREE struct place *sums = meaning ? ch_malloc((s->n + 1) * sizeof(*sums)) : NULL;
    size_t most = out->n + limit, all, n = rank_by_words(s, query, ranked, false, &all);

    if (meaning) {
        for (size_t i = 0; i < s->n; i++)
            sums[i] = place_of(s, i, 0);
        passage_index_add_ranks(sums, ranked, n);
        passage_index_add_ranks(sums, ranked,
                                passage_index_rank_by_meaning(s, vs, meaning, ranked));
        n = sort_scored(sums, s->n);
    }
    const struct place *best = meaning ? sums : ranked;
    for (size_t i = 0; i < n && out->n < most; i++) {
        const struct ch_passage *p = &s->list[best[i].passage];
        CH_BUF_AUTO text = {0};
        ch_passage_write(p, &text);
        if (!ch_notes_have(out, ch_buf_sv(&text))) /* skip duplicates, such as a quoted note */
            ch_notes_add(out, p->source, ch_buf_sv(&text));
    }
}
