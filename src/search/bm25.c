/* bm25.c -- see bm25.h.
 *
 * An entry is a term in a document with its number of occurrences in each
 * field. Entries are sorted rather than hashed: the texts come from outside,
 * and no choice of words makes sorting slow. New entries are sorted separately
 * and merged. Values that depend on averages (document frequency, average field
 * length) are then recomputed in one pass. */
#include "search/bm25.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/grow.h"
#include "base/limits.h"

struct ch_bm25_entry {
    uint64_t term;
    uint32_t doc;
    float impact; /* effect of the term on the document's score, 0 to 1 */
    uint8_t count[CH_FIELDS];
};

struct ch_bm25_doc {
    uint32_t length[CH_FIELDS]; /* in terms */
};

struct ch_bm25_term {
    uint64_t id;
    size_t first, n; /* entries */
    float rarity;    /* inverse document frequency */
};

/* Parameters tuned on several public sets of function descriptions. The optima
 * are flat, so none of the parameters is a setting. */
static const struct {
    float weight, normal; /* normal: share of the length normalization, b */
} fields[CH_FIELDS] = {
    [CH_FIELD_NAME] = {2, .3f},         [CH_FIELD_DESCRIPTION] = {1, .6f},
    [CH_FIELD_PARAMETERS] = {.7f, .6f}, [CH_FIELD_PARAMETER_TEXTS] = {.3f, .6f},
    [CH_FIELD_VALUES] = {.2f, .6f},     [CH_FIELD_JOINED] = {1, .6f},
};
static const float saturation = 1.2f;     /* k1 */
static const float repetition = .3f;      /* n occurrences count n to the power of this */
static const float joined_weight = .3f;   /* weight of word pairs */
static const float sentence_weight = .3f; /* weight of the best sentence */

/* --- adding ------------------------------------------------------------------------ */

void ch_bm25_release(struct ch_bm25 *ix) {
    ch_free(ix->entries);
    ch_free(ix->docs);
    ch_free(ix->terms);
    ch_thesaurus_release(&ix->thesaurus);
    ch_terms_release(&ix->words);
    *ix = (struct ch_bm25){0};
}

void ch_bm25_begin(struct ch_bm25 *ix) {
    CH_GROW(ix->docs, ix->ndocs, ix->docs_cap, 32);
    ix->docs[ix->ndocs++] = (struct ch_bm25_doc){0};
}

static void bm25_add_entry(struct ch_bm25 *ix, uint64_t term, enum ch_field field) {
    CH_GROW(ix->entries, ix->nentries + ix->nfresh, ix->cap, 256);
    struct ch_bm25_entry *e = &ix->entries[ix->nentries + ix->nfresh++];
    *e = (struct ch_bm25_entry){.term = term, .doc = (uint32_t)(ix->ndocs - 1)};
    e->count[field] = 1;
    ix->docs[ix->ndocs - 1].length[field]++;
}

void ch_bm25_text(struct ch_bm25 *ix, enum ch_field field, struct ch_sv text) {
    bool joins = field == CH_FIELD_NAME || field == CH_FIELD_DESCRIPTION;

    ch_terms_clear(&ix->words);
    ch_terms_read(&ix->words, text, CH_LIMIT_SELECT_TERMS);
    for (size_t i = 0; i < ix->words.n; i++) {
        const struct ch_search_term *t = &ix->words.list[i];
        if (t->kind != CH_TERM_JOINED)
            bm25_add_entry(ix, t->id, field);
        else if (joins)
            bm25_add_entry(ix, t->id, CH_FIELD_JOINED);
    }
}

/* --- sorting ------------------------------------------------------------------------- */

static int bm25_by_term(const void *a, const void *b) {
    const struct ch_bm25_entry *x = a, *y = b;
    if (x->term != y->term)
        return x->term < y->term ? -1 : 1;
    return x->doc < y->doc ? -1 : x->doc > y->doc;
}

/* Terms are hashes: their first bits share the entries out evenly. */
static void bm25_sort(struct ch_bm25_entry *e, size_t n) {
    enum { BITS = 10, BUCKETS = 1 << BITS };
    size_t ends[BUCKETS] = {0};
    CH_AUTOFREE struct ch_bm25_entry *copy = ch_memdup(e, n * sizeof(*e));

    for (size_t i = 0; i < n; i++)
        ends[copy[i].term >> (64 - BITS)]++;
    for (size_t i = 1; i < BUCKETS; i++)
        ends[i] += ends[i - 1];
    for (size_t i = n; i-- > 0;)
        e[--ends[copy[i].term >> (64 - BITS)]] = copy[i];
    for (size_t i = 0; i < BUCKETS; i++) { /* each is now where its bucket begins */
        size_t end = i + 1 < BUCKETS ? ends[i + 1] : n;
        qsort(e + ends[i], end - ends[i], sizeof(*e), bm25_by_term);
    }
}

/* Merge entries with the same term and document; returns the new number. */
static size_t bm25_fold(struct ch_bm25_entry *e, size_t n) {
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (kept && bm25_by_term(&e[kept - 1], &e[i]) == 0) {
            for (size_t f = 0; f < CH_FIELDS; f++)
                e[kept - 1].count[f] =
                    (uint8_t)CH_MIN(e[kept - 1].count[f] + e[i].count[f], UINT8_MAX);
        } else {
            e[kept++] = e[i];
        }
    }
    return kept;
}

static void bm25_merge(struct ch_bm25 *ix) {
    size_t old = ix->nentries, fresh = ix->nfresh, at = old + fresh;
    CH_AUTOFREE struct ch_bm25_entry *copy =
        ch_memdup(ix->entries + old, fresh * sizeof(*ix->entries));

    while (fresh) {
        bool older = old && bm25_by_term(&ix->entries[old - 1], &copy[fresh - 1]) > 0;
        ix->entries[--at] = older ? ix->entries[--old] : copy[--fresh];
    }
    ix->nentries += ix->nfresh;
    ix->nfresh = 0;
}

/* --- weights ---------------------------------------------------------------------- */

/* The weight of one occurrence in each field of a document. */
struct share {
    float of[CH_FIELDS];
};

static struct share *weigh_fields(const struct ch_bm25 *ix) {
    struct share *shares = ch_malloc((ix->ndocs + 1) * sizeof(*shares));

    for (size_t f = 0; f < CH_FIELDS; f++) {
        double total = 0;
        for (size_t d = 0; d < ix->ndocs; d++)
            total += ix->docs[d].length[f];
        float average = (float)(total / (double)CH_MAX(ix->ndocs, (size_t)1));
        for (size_t d = 0; d < ix->ndocs; d++) {
            float length = average > 0 ? (float)ix->docs[d].length[f] / average : 1;
            float b = fields[f].normal;
            shares[d].of[f] = fields[f].weight / (1 - b + b * length);
        }
    }
    return shares;
}

static void weigh_entries(struct ch_bm25 *ix) {
    CH_AUTOFREE struct share *shares = weigh_fields(ix);

    for (size_t i = 0; i < ix->nentries; i++) {
        struct ch_bm25_entry *e = &ix->entries[i];
        float x = 0;
        for (size_t f = 0; f < CH_FIELDS; f++)
            x += e->count[f] ? e->count[f] * shares[e->doc].of[f] : 0;
        e->impact = x / (saturation + x);
    }
}

static void list_terms(struct ch_bm25 *ix) {
    size_t n = 0;

    for (size_t i = 0; i < ix->nentries; i++)
        n += i == 0 || ix->entries[i].term != ix->entries[i - 1].term;
    ix->terms = ch_realloc(ix->terms, (n + 1) * sizeof(*ix->terms));
    ix->nterms = 0;
    for (size_t i = 0; i < ix->nentries; i++) {
        if (i == 0 || ix->entries[i].term != ix->entries[i - 1].term)
            ix->terms[ix->nterms++] = (struct ch_bm25_term){.id = ix->entries[i].term, .first = i};
        ix->terms[ix->nterms - 1].n++;
    }
    for (size_t i = 0; i < n; i++) {
        float with = (float)ix->terms[i].n, without = (float)ix->ndocs - with;
        ix->terms[i].rarity = logf(1 + (without + .5f) / (with + .5f));
    }
}

void ch_bm25_settle(struct ch_bm25 *ix) {
    struct ch_bm25_entry *fresh = ix->entries + ix->nentries;

    if (!ix->nfresh && ix->settled == ix->ndocs && ix->thesaurus.list)
        return;
    ix->settled = ix->ndocs;
    if (ix->nfresh) {
        bm25_sort(fresh, ix->nfresh);
        ix->nfresh = bm25_fold(fresh, ix->nfresh);
        bm25_merge(ix);
    }
    weigh_entries(ix);
    list_terms(ix);
    if (!ix->thesaurus.list)
        ch_thesaurus_init(&ix->thesaurus);
}

/* --- queries ---------------------------------------------------------------------- */

/* A term of the query and its weight. */
struct wanted {
    uint64_t id;
    float weight;
    float rarity; /* upper bound for a related term: no rarer than the word it replaces */
};

struct query {
    struct ch_bm25 *ix;
    struct ch_arena arena;
    float *scores; /* scores of the current sentence or text */
};

static const struct ch_bm25_term *find_term(const struct ch_bm25 *ix, uint64_t id) {
    size_t low = 0, high = ix->nterms;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ix->terms[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < ix->nterms && ix->terms[low].id == id ? &ix->terms[low] : NULL;
}

static int by_id(const void *a, const void *b) {
    const struct wanted *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->weight > y->weight ? -1 : x->weight < y->weight; /* descending weight */
}

/* Collect the distinct terms, weighted by their number of occurrences; returns
 * how many. */
static size_t distinct(const struct ch_search_term *terms, size_t n, struct wanted *out) {
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        out[i] = (struct wanted){.id = terms[i].id,
                                 .weight = terms[i].kind == CH_TERM_JOINED ? joined_weight : 1};
    qsort(out, n, sizeof(*out), by_id);
    for (size_t i = 0, same = 1; i < n; i++, same++) {
        if (i + 1 < n && out[i + 1].id == out[i].id)
            continue;
        struct wanted first = out[i + 1 - same];
        first.weight *= powf((float)same, repetition);
        first.rarity = INFINITY;
        out[kept++] = first;
        same = 0;
    }
    return kept;
}

static void count_in(struct query *q, const struct wanted *w) {
    const struct ch_bm25_term *t = find_term(q->ix, w->id);

    if (!t)
        return;
    float weight = w->weight * fminf(t->rarity, w->rarity);
    for (size_t i = t->first; i < t->first + t->n; i++)
        q->scores[q->ix->entries[i].doc] += weight * q->ix->entries[i].impact;
}

static bool includes(const struct wanted *list, size_t n, uint64_t id) {
    struct wanted key = {.id = id, .weight = INFINITY};
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_id(&list[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && list[low].id == id;
}

/* Add terms related to the wanted ones, each once, with its highest weight. */
static void count_related(struct query *q, const struct wanted *list, size_t n) {
    const struct ch_thesaurus *th = &q->ix->thesaurus;
    size_t room = 0, found = 0, related;

    for (size_t i = 0; i < n; i++) {
        ch_thesaurus_find(th, list[i].id, &related);
        room += related;
    }
    struct wanted *more = ch_arena_alloc(&q->arena, (room + 1) * sizeof(*more));
    for (size_t i = 0; i < n; i++) {
        const struct ch_relation *r = ch_thesaurus_find(th, list[i].id, &related);
        const struct ch_bm25_term *known = related ? find_term(q->ix, list[i].id) : NULL;
        for (size_t k = 0; k < related; k++)
            if (!includes(list, n, r[k].to))
                more[found++] = (struct wanted){.id = r[k].to,
                                                .weight = list[i].weight * r[k].weight,
                                                .rarity = known ? known->rarity : INFINITY};
    }
    qsort(more, found, sizeof(*more), by_id);
    for (size_t i = 0; i < found; i++)
        if (i == 0 || more[i].id != more[i - 1].id)
            count_in(q, &more[i]);
}

/* Compute the scores for these terms; returns the highest. */
static float bm25_rank(struct query *q, const struct ch_search_term *terms, size_t n) {
    struct wanted *list = ch_arena_alloc(&q->arena, (n + 1) * sizeof(*list));
    float best = 0;

    memset(q->scores, 0, q->ix->ndocs * sizeof(*q->scores));
    n = distinct(terms, n, list);
    for (size_t i = 0; i < n; i++)
        count_in(q, &list[i]);
    count_related(q, list, n);
    for (size_t d = 0; d < q->ix->ndocs; d++)
        best = fmaxf(best, q->scores[d]);
    return best;
}

/* For each document, its relative score (0 to 1) in its best-matching sentence. */
static void rank_sentences(struct query *q, float *best) {
    const struct ch_terms *w = &q->ix->words;

    for (size_t from = 0, to, parts = 1; from < w->n; from = to, parts++) {
        for (to = from; to < w->n && w->list[to].sentence == w->list[from].sentence;)
            to++;
        if (parts == CH_LIMIT_SELECT_PARTS)
            to = w->n;
        float most = bm25_rank(q, w->list + from, to - from);
        for (size_t d = 0; most > 0 && d < q->ix->ndocs; d++)
            best[d] = fmaxf(best[d], q->scores[d] / most);
    }
}

void ch_bm25_score(struct ch_bm25 *ix, struct ch_sv query, float *scores) {
    struct query q = {.ix = ix};
    size_t room = (ix->ndocs + 1) * sizeof(*scores);

    ch_terms_clear(&ix->words);
    ch_terms_read(&ix->words, query, CH_LIMIT_SELECT_TERMS);
    q.scores = scores;
    float most = bm25_rank(&q, ix->words.list, ix->words.n);
    if (ix->words.n && ix->words.list[ix->words.n - 1].sentence != ix->words.list[0].sentence) {
        float *best = ch_arena_zalloc(&q.arena, room);
        q.scores = ch_arena_alloc(&q.arena, room);
        rank_sentences(&q, best);
        for (size_t d = 0; d < ix->ndocs; d++)
            scores[d] += sentence_weight * (best[d] * most - scores[d]);
    }
    ch_arena_release(&q.arena);
}
