/* quoted.h -- readable JSON in C tables: 'a' is replaced by "a". */
#ifndef CH_TESTS_QUOTED_H
#define CH_TESTS_QUOTED_H
#include <string.h>

#include "base/arena.h"

/* text with every ' turned into a ", in the arena. */
static inline struct ch_sv quoted(struct ch_arena *a, const char *text) {
    size_t n = strlen(text);
    char *p = ch_arena_str(a, ch_sv(text, n));
    for (size_t i = 0; i < n; i++)
        if (p[i] == '\'')
            p[i] = '"';
    return ch_sv(p, n);
}

#endif
