/* similar.c -- see similar.h. Closeness is the number of typing slips (a
 * letter too many, missing, wrong, or two swapped) between lower-case forms; a
 * name that contains the other counts as close too. */
#include "tool/similar.h"

#define LONGEST 64 /* characters compared: names are short, and cost is n * m */

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static unsigned least(unsigned a, unsigned b, unsigned c) {
    return a < b ? CH_MIN(a, c) : CH_MIN(b, c);
}

/* Optimal string alignment distance; rows i, i-1 and i-2 are kept. */
static unsigned slips(struct ch_sv a, struct ch_sv b) {
    unsigned rows[3][LONGEST + 1];

    a.n = CH_MIN(a.n, LONGEST);
    b.n = CH_MIN(b.n, LONGEST);
    for (size_t j = 0; j <= b.n; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a.n; i++) {
        unsigned *row = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b.n; j++) {
            char x = lower(a.p[i - 1]), y = lower(b.p[j - 1]);
            row[j] = least(up[j] + 1, row[j - 1] + 1, up[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == lower(b.p[j - 2]) && lower(a.p[i - 2]) == y)
                row[j] = CH_MIN(row[j], up2[j - 2] + 1);
        }
    }
    return rows[a.n % 3][b.n];
}

static bool contains(struct ch_sv hay, struct ch_sv needle) {
    for (size_t i = 0; i + needle.n <= hay.n; i++)
        if (ch_sv_eq_nocase(ch_sv(hay.p + i, needle.n), needle))
            return true;
    return false;
}

/* How far apart, or UINT_MAX when too far to be meant. */
static unsigned cost_of(struct ch_sv wanted, struct ch_sv name) {
    unsigned d = slips(wanted, name);
    size_t longer = CH_MIN(CH_MAX(wanted.n, name.n), LONGEST);

    if (d <= 1 + longer / 4)
        return d;
    if (wanted.n >= 3 && name.n >= 3 && (contains(name, wanted) || contains(wanted, name)))
        return d;
    return UINT32_MAX;
}

void ch_similar_offer(struct ch_similar *s, struct ch_sv name) {
    unsigned cost = cost_of(s->wanted, name);
    size_t at = s->n;

    while (at > 0 && cost < s->best[at - 1].cost)
        at--;
    if (cost == UINT32_MAX || at == CH_SIMILAR_MAX)
        return;
    s->n = CH_MIN(s->n + 1, CH_SIMILAR_MAX);
    for (size_t i = s->n - 1; i > at; i--)
        s->best[i] = s->best[i - 1];
    s->best[at].name = ch_arena_sv(s->arena, name);
    s->best[at].cost = cost;
}

void ch_similar_list(const struct ch_similar *s, struct ch_buf *out) {
    for (size_t i = 0; i < s->n; i++) {
        if (i)
            ch_buf_add_str(out, ", ");
        ch_buf_add_sv(out, s->best[i].name);
    }
}
