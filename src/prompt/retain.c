/* retain.c -- see retain.h. */
#include "prompt/retain.h"

#include <stdlib.h>

#include "base/mem.h"
#include "prompt/summary_carryover.h"

static size_t retain_tokens(const struct ch_transcript *t, size_t i) {
    return ch_msg_tokens(t->msgs[i], (enum ch_counting)t->counting);
}

size_t ch_window_start(const struct ch_transcript *t, size_t room) {
    size_t i = t->n, tokens = 0;
    while (i > 0) {
        tokens += retain_tokens(t, i - 1);
        if (t->n - i >= CH_RETAIN_LAST && tokens > room)
            break;
        i--;
    }
    /* A window that would begin with results begins with their calls or, if possible, after
     * them. */
    size_t later = i;
    while (later < t->n && t->msgs[later]->kind == CH_MSG_RESULTS)
        later++;
    if (t->n - later >= CH_RETAIN_LAST)
        return later;
    while (i > 0 && t->msgs[i]->kind == CH_MSG_RESULTS)
        i--;
    return i;
}

static bool all_failed(const struct ch_msg *m) {
    for (uint32_t i = 0; i < m->nblocks; i += 1u + m->blocks[i].span)
        if (m->blocks[i].type == CH_BLOCK_TOOL_RESULT && !(m->blocks[i].flags & CH_F_ERROR))
            return false;
    return m->nblocks > 0;
}

unsigned ch_importance(const struct ch_transcript *t, size_t i) {
    const struct ch_msg *m = t->msgs[i];
    switch (m->kind) {
    case CH_MSG_USER:
        return 80;
    case CH_MSG_RESULTS:
        return all_failed(m) ? 20 : 40;
    case CH_MSG_ASSISTANT:
        if (ch_msg_has_calls(m))
            return 50;
        return i + 1 == t->n || t->msgs[i + 1]->kind == CH_MSG_USER ? 90 : 50;
    default:
        return ch_carry_is(m) ? 100 : 50;
    }
}

/* A unit: one message, or a reply with calls and their results. */
struct piece {
    size_t at, n, tokens;
    unsigned score;
};

static int by_importance(const void *a, const void *b) {
    const struct piece *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->at > y->at ? -1 : x->at < y->at;
}

static struct piece piece_at(const struct ch_transcript *t, size_t i, size_t end) {
    struct piece p = {.at = i, .n = 1, .score = ch_importance(t, i)};
    p.tokens = retain_tokens(t, i);
    while (i + p.n < end && t->msgs[i + p.n]->kind == CH_MSG_RESULTS) {
        p.tokens += retain_tokens(t, i + p.n);
        p.score = CH_MIN(p.score, ch_importance(t, i + p.n));
        p.n++;
    }
    return p;
}

size_t ch_retain(const struct ch_transcript *t, size_t n, size_t room, bool *stays) {
    CH_AUTOFREE struct piece *pieces = ch_malloc((n + 1) * sizeof(*pieces));
    size_t count = 0, gone = n;
    for (size_t i = 0; i < n; i += pieces[count++].n)
        pieces[count] = piece_at(t, i, n);
    qsort(pieces, count, sizeof(*pieces), by_importance);
    for (size_t i = 0; i < n; i++)
        stays[i] = false;
    for (size_t i = 0; i < count; i++) {
        const struct piece *p = &pieces[i];
        if (p->tokens > room || ch_carry_is(t->msgs[p->at]))
            continue; /* the carry-over message is rebuilt */
        room -= p->tokens;
        gone -= p->n;
        for (size_t k = 0; k < p->n; k++)
            stays[p->at + k] = true;
    }
    return gone;
}
