/* thesaurus.c -- see thesaurus.h. The library contains the word list
 * thesaurus.txt.
 *
 * Relations hold between single terms (tokenize.h). A word of several Han
 * characters is represented by its last pair of characters, the most specific
 * one. */
#include "search/thesaurus.h"

#include <stdlib.h>

#include "base/mem.h"
#include "search/tokenize.h"

extern const char ch_thesaurus_text[], ch_thesaurus_text_end[];

/* The path is relative to the directory in which make runs. */
__asm__(".pushsection .rodata\n"
        ".global ch_thesaurus_text\n"
        ".hidden ch_thesaurus_text\n"
        "ch_thesaurus_text:\n"
        ".incbin \"src/search/thesaurus.txt\"\n"
        ".global ch_thesaurus_text_end\n"
        ".hidden ch_thesaurus_text_end\n"
        "ch_thesaurus_text_end:\n"
        ".byte 0\n"
        ".popsection\n");

enum { LINE_MAX_WORDS = 32 };

struct line {
    uint64_t terms[LINE_MAX_WORDS];
    size_t n;
};

static uint64_t term_of(const struct ch_terms *w) {
    const struct ch_search_term *best = &w->list[0];

    for (size_t i = 1; i < w->n; i++)
        if (w->list[i].kind == CH_TERM_CHARS)
            best = &w->list[i];
    return best->id;
}

static struct line thesaurus_read_line(struct ch_sv text, struct ch_terms *scratch) {
    struct line line = {.n = 0};

    while (text.n && line.n < LINE_MAX_WORDS) {
        ch_terms_clear(scratch);
        ch_terms_read(scratch, ch_sv_split(&text, ' '), SIZE_MAX);
        if (scratch->n)
            line.terms[line.n++] = term_of(scratch);
    }
    return line;
}

static void relate(struct ch_thesaurus *t, const struct line *from, const struct line *to,
                   float weight) {
    size_t most = t->n + from->n * to->n;

    if (most >= t->room) {
        t->room = 2 * most + 1024;
        t->list = ch_realloc(t->list, t->room * sizeof(*t->list));
    }
    for (size_t i = 0; i < from->n; i++)
        for (size_t k = 0; k < to->n; k++)
            if (from->terms[i] != to->terms[k])
                t->list[t->n++] = (struct ch_relation){from->terms[i], to->terms[k], weight};
}

static int by_from(const void *a, const void *b) {
    const struct ch_relation *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

static void read_relation(struct ch_thesaurus *t, struct ch_sv text, float weight,
                          struct ch_terms *scratch) {
    struct line left = thesaurus_read_line(ch_sv_split(&text, '>'), scratch);
    struct line right = text.p ? thesaurus_read_line(text, scratch) : left;

    relate(t, &left, &right, weight);
}

void ch_thesaurus_init(struct ch_thesaurus *t) {
    static const char weight_of[] = "@weight ";
    struct ch_sv rest = ch_sv(ch_thesaurus_text,
                              (size_t)(ch_thesaurus_text_end - ch_thesaurus_text));
    struct ch_terms scratch = {0};
    float weight = 0;

    *t = (struct ch_thesaurus){0};
    while (rest.n) {
        struct ch_sv text = ch_sv_split(&rest, '\n');
        if (ch_sv_starts(text, weight_of))
            weight = (float)strtoul(text.p + strlen(weight_of), NULL, 10) / 100;
        else if (text.n && text.p[0] != '#')
            read_relation(t, text, weight, &scratch);
    }
    ch_terms_release(&scratch);
    qsort(t->list, t->n, sizeof(*t->list), by_from);
}

void ch_thesaurus_release(struct ch_thesaurus *t) {
    ch_free(t->list);
    *t = (struct ch_thesaurus){0};
}

const struct ch_relation *ch_thesaurus_find(const struct ch_thesaurus *t, uint64_t term,
                                            size_t *n) {
    size_t low = 0, high = t->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->list[middle].from < term)
            low = middle + 1;
        else
            high = middle;
    }
    for (*n = 0; low + *n < t->n && t->list[low + *n].from == term;)
        ++*n;
    return t->list + low;
}
