/* similar.c -- see similar.h. The distance is the number of typing errors (insertion,
 * deletion, substitution, transposition) between lower-case forms. A name that contains the
 * other counts as close too. */
#include "tool/result/similar.h"

#include "base/nearest.h"

static bool contains(struct ch_sv hay, struct ch_sv needle) {
    for (size_t i = 0; i + needle.n <= hay.n; i++)
        if (ch_sv_eq_nocase(ch_sv(hay.p + i, needle.n), needle))
            return true;
    return false;
}

/* The distance, or UINT_MAX if too large. */
static unsigned similar_cost_of(struct ch_sv wanted, struct ch_sv name) {
    unsigned d = ch_edits(wanted, name);
    size_t longer = CH_MIN(CH_MAX(wanted.n, name.n), CH_NEAREST_LONGEST);

    if (d <= 1 + longer / 4)
        return d;
    if (wanted.n >= 3 && name.n >= 3 && (contains(name, wanted) || contains(wanted, name)))
        return d;
    return UINT32_MAX;
}

void ch_similar_offer(struct ch_similar *s, struct ch_sv name) {
    unsigned cost = similar_cost_of(s->wanted, name);
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
