/* passage_index.c -- see passage_index.h. */
#include "tool/memory/passage_index.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "model/wire/embed.h"

#define PASSAGE_LINES 12

/* A passage without common words must reach this similarity, and nearly that of the most
 * similar passage: some passage is always the nearest, even if none is relevant. */
#define LEAST_ALIKE 0.2f
#define OF_THE_BEST 0.75f

/* Share of a passage's score that the passages next to it get, and those after them. Chosen
 * with FriendsQA (bench/recall), where the optimum is flat. */
static const float neighbour_share[] = {.4f, .2f};

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
    CH_GROW(s->list, s->n, s->cap, 64);
    const char *source = c->lines ? ch_arena_printf(&s->arena, "%s:%zu", c->source, line)
                                  : c->source;
    s->list[s->n] =
        (struct ch_passage){source, c->heading, text, .section = s->section, .order = s->n};
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
        if (title) {
            c->heading = l;
            ch_shelf_begin(c->shelf);
        }
        text.n = (size_t)(l.p + l.n - text.p);
        if (blank)
            text = ch_sv(rest.p ? rest.p : l.p, 0), first = line + 1;
    }
    add_passage(c, first, text, rest);
}

void ch_shelf_begin(struct ch_shelf *s) {
    s->section++;
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

/* Add to each score the share of the scores beside it. */
static void share_scores(const struct ch_shelf *s, float *scores) {
    CH_AUTOFREE float *own = ch_memdup(scores, s->n * sizeof(*own));

    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 1; own[i] > 0 && k <= CH_LEN(neighbour_share); k++) {
            float share = own[i] * neighbour_share[k - 1];
            if (i >= k && s->list[i - k].section == s->list[i].section)
                scores[i - k] += share;
            if (i + k < s->n && s->list[i + k].section == s->list[i].section)
                scores[i + k] += share;
        }
}

/* The passages that share words with the query, and their neighbours, in no order. all: also
 * the others, with score 0. Returns how many there are. */
static size_t place_by_words(struct ch_shelf *s, struct ch_sv query, bool all,
                             struct place *out) {
    CH_AUTOFREE float *scores = ch_malloc((s->n + 1) * sizeof(*scores));
    size_t n = 0;

    if (s->n == 0)
        return 0;
    ch_bm25_settle(&s->index);
    ch_bm25_score(&s->index, query, scores);
    share_scores(s, scores);
    for (size_t i = 0; i < s->n; i++)
        if ((all || scores[i] > 0) && !s->list[i].gone)
            out[n++] = place_of(s, i, scores[i]);
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
    size_t n = place_by_words(s, query, true, ranked);

    qsort(ranked, n, sizeof(*ranked), passage_index_by_score);
    for (size_t i = 0; i < n; i++)
        out[i] = ranked[i].passage;
    return n;
}

/* Replace the n places by words by the places with a rank by words or by meaning, scored by
 * both; returns their number. */
static size_t merge_meaning(const struct ch_shelf *s, const struct ch_vectors *vs,
                            const float *meaning, struct place *p, size_t n) {
    CH_AUTOFREE struct place *sums = ch_malloc((s->n + 1) * sizeof(*sums));
    size_t kept = 0;

    for (size_t i = 0; i < s->n; i++)
        sums[i] = place_of(s, i, 0);
    qsort(p, n, sizeof(*p), passage_index_by_score);
    passage_index_add_ranks(sums, p, n);
    passage_index_add_ranks(sums, p, passage_index_rank_by_meaning(s, vs, meaning, p));
    for (size_t i = 0; i < s->n; i++)
        if (sums[i].score > 0)
            p[kept++] = sums[i];
    return kept;
}

/* The places are a heap with the best on top, since a search shows few of many. Moves place i
 * down to where it belongs. */
static void sink(struct place *p, size_t n, size_t i) {
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && passage_index_by_score(&p[child + 1], &p[child]) < 0;
        if (passage_index_by_score(&p[i], &p[child]) <= 0)
            return;
        struct place above = p[i];
        p[i] = p[child];
        p[child] = above;
    }
}

void ch_shelf_best(struct ch_shelf *s, struct ch_sv query, const struct ch_vectors *vs,
                   const float *meaning, size_t limit, struct ch_notes *out) {
    CH_AUTOFREE struct place *heap = ch_malloc((s->n + 1) * sizeof(*heap));
    size_t most = out->n + limit, n = place_by_words(s, query, false, heap);

    if (meaning)
        n = merge_meaning(s, vs, meaning, heap, n);
    for (size_t i = n / 2; i-- > 0;)
        sink(heap, n, i);
    while (n && out->n < most) {
        const struct ch_passage *p = &s->list[heap[0].passage];
        CH_BUF_AUTO text = {0};
        ch_passage_write(p, &text);
        if (!ch_notes_have(out, ch_buf_sv(&text))) /* skip duplicates, such as a quoted note */
            ch_notes_add(out, p->source, ch_buf_sv(&text));
        heap[0] = heap[--n];
        sink(heap, n, 0);
    }
}
