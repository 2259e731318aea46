/* nearest.c -- see nearest.h. Optimal string alignment distance with three rows
 * of the usual table. Words longer than a row are never suggested or compared. */
#include "base/nearest.h"

#include "base/mem.h"
#include "chela/error.h"

struct ch_nearest ch_nearest(struct ch_sv word) {
    unsigned accepted = word.n < 4 ? 1 : 1 + (unsigned)(word.n / 3);
    return (struct ch_nearest){.word = word, .distance = accepted + 1};
}

static char nearest_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static unsigned least(unsigned a, unsigned b, unsigned c) {
    return CH_MIN(a, CH_MIN(b, c));
}

unsigned ch_edits(struct ch_sv a, struct ch_sv b) {
    unsigned rows[3][CH_NEAREST_LONGEST + 1];
    a.n = CH_MIN(a.n, CH_NEAREST_LONGEST);
    b.n = CH_MIN(b.n, CH_NEAREST_LONGEST);
    for (unsigned j = 0; j <= b.n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b.n; j++) {
            char x = nearest_lower(a.p[i - 1]), y = nearest_lower(b.p[j - 1]);
            row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == nearest_lower(b.p[j - 2]) && y == nearest_lower(a.p[i - 2]))
                row[j] = CH_MIN(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a.n % 3][b.n];
}

unsigned chela_edits(const char *a, size_t na, const char *b, size_t nb) {
    return ch_edits(ch_sv(a, na), ch_sv(b, nb));
}

void ch_nearest_try(struct ch_nearest *n, struct ch_sv known) {
    if (n->word.n == 0 || n->word.n > CH_NEAREST_LONGEST || known.n == 0 ||
        known.n > CH_NEAREST_LONGEST)
        return;
    unsigned distance = ch_edits(n->word, known);
    if (distance >= n->distance)
        return;
    n->distance = distance;
    n->best = known;
}
