/* suggest.c -- see suggest.h. Up to a third of a word may be wrong. */
#include "cli/support/suggest.h"

#include <stdbool.h>
#include <string.h>

#include "chela/error.h"

enum { LONGEST = 64 }; /* longer words are not compared */

void ch_suggest_init(struct ch_suggest *s, const char *word, size_t n) {
    *s = (struct ch_suggest){
        .word = word, .word_n = n, .distance = (unsigned)(n <= LONGEST ? n / 3 + 2 : 0)};
}

void ch_suggest_try(struct ch_suggest *s, const char *name, size_t n) {
    if (s->word_n > LONGEST || n > LONGEST)
        return;
    /* a prefix: "conf" for "config" */
    bool begun = s->word_n >= 3 && n > s->word_n && memcmp(s->word, name, s->word_n) == 0;
    unsigned d = begun ? 1 : chela_edits(s->word, s->word_n, name, n);
    if (d < s->distance && d < s->word_n) {
        s->distance = d;
        s->best = name;
        s->best_n = n;
    }
}
