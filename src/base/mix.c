/* mix.c -- see mix.h. */
#include "base/mix.h"

#include "base/word.h"

uint64_t ch_mix_text(uint64_t h, struct ch_sv s) {
    for (; s.n >= 8; s = ch_sv(s.p + 8, s.n - 8))
        h = ch_mix(h, ch_word_load(s.p));
    return ch_mix(h, (uint64_t)s.n << 56 | ch_word_load_part(s.p, s.n));
}
