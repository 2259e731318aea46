/* seen.c -- see seen.h. */
#include "agent/journal/seen.h"

#include "base/mem.h"

void ch_seen_add(struct ch_seen *s, struct ch_sv id) {
    char **slot = &s->ids[s->next++ % CH_LIMIT_SEEN];

    ch_free(*slot);
    *slot = ch_strndup(id.p, id.n);
}

bool ch_seen_has(const struct ch_seen *s, struct ch_sv id) {
    for (size_t i = 0; i < CH_LIMIT_SEEN; i++)
        if (s->ids[i] && ch_sv_is(id, s->ids[i]))
            return true;
    return false;
}

void ch_seen_release(struct ch_seen *s) {
    for (size_t i = 0; i < CH_LIMIT_SEEN; i++)
        ch_free(s->ids[i]);
    *s = (struct ch_seen){0};
}
