/* suggest.c -- see suggest.h. Edit distance with swaps of two neighbours, the
 * commonest slip of a hand; a third of a word may be wrong. */
#include "cli/suggest.h"

#include <stdbool.h>
#include <string.h>

enum { LONGEST = 64 }; /* longer words are no slips of the hand */

static unsigned min3(unsigned a, unsigned b, unsigned c) {
    unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

static unsigned distance(const char *a, size_t na, const char *b, size_t nb) {
    unsigned rows[3][LONGEST + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];

    for (size_t j = 0; j <= nb; j++)
        above[j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned same = a[i - 1] == b[j - 1] ? 0 : 1;
            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + same);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        unsigned *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[nb];
}

void ch_suggest_init(struct ch_suggest *s, const char *word, size_t n) {
    *s = (struct ch_suggest){
        .word = word, .word_n = n, .distance = (unsigned)(n <= LONGEST ? n / 3 + 2 : 0)};
}

void ch_suggest_try(struct ch_suggest *s, const char *name, size_t n) {
    if (s->word_n > LONGEST || n > LONGEST)
        return;
    /* a word that was only begun: "conf" for "config" */
    bool begun = s->word_n >= 3 && n > s->word_n && memcmp(s->word, name, s->word_n) == 0;
    unsigned d = begun ? 1 : distance(s->word, s->word_n, name, n);
    if (d < s->distance && d < s->word_n) {
        s->distance = d;
        s->best = name;
        s->best_n = n;
    }
}
