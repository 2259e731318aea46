/* wild.c -- see wild.h. Without recursion: on a mismatch, the last star matches
 * one byte more. */
#include "base/wild.h"

#include <stdint.h>

/* Length of the pattern element at i (not a star) if it matches c; 0 if it does
 * not match. */
static size_t takes(struct ch_sv p, size_t i, char c) {
    if (i + 1 < p.n && p.p[i] == '\\')
        return p.p[i + 1] == c ? 2 : 0;
    return i < p.n && (p.p[i] == '?' || p.p[i] == c) ? 1 : 0;
}

bool ch_wild(struct ch_sv p, struct ch_sv s) {
    size_t i = 0, j = 0, star = SIZE_MAX, from = 0, n;

    while (j < s.n) {
        if (i < p.n && p.p[i] == '*') {
            star = i++;
            from = j;
        } else if ((n = takes(p, i, s.p[j])) > 0) {
            i += n;
            j++;
        } else if (star != SIZE_MAX) {
            i = star + 1;
            j = ++from;
        } else {
            return false;
        }
    }
    while (i < p.n && p.p[i] == '*')
        i++;
    return i == p.n;
}
