/* sv.c -- string-view functions that are too long to inline. */
#include "base/sv.h"

#include "base/word.h"

static unsigned char sv_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : (unsigned char)c;
}

bool ch_sv_eq_nocase(struct ch_sv a, struct ch_sv b) {
    size_t i = 0;
    if (a.n != b.n)
        return false;
    while (a.n - i >= 8 && ch_word_load(a.p + i) == ch_word_load(b.p + i)) /* mostly equal bytes */
        i += 8;
    for (; i < a.n; i++)
        if (a.p[i] != b.p[i] && sv_lower(a.p[i]) != sv_lower(b.p[i]))
            return false;
    return true;
}

bool ch_sv_contains_nocase(struct ch_sv hay, const char *needle) {
    size_t n = strlen(needle);
    for (size_t i = 0; i + n <= hay.n; i++)
        if (ch_sv_eq_nocase(ch_sv(hay.p + i, n), ch_sv(needle, n)))
            return true;
    return false;
}

static bool sv_is_space(char c) {
    return (unsigned char)c <= ' ' && (c == ' ' || (c >= '\t' && c <= '\r'));
}

struct ch_sv ch_sv_trim(struct ch_sv s) {
    while (s.n && sv_is_space(s.p[0]))
        s.p++, s.n--;
    while (s.n && sv_is_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

struct ch_sv ch_sv_split(struct ch_sv *rest, char sep) {
    const char *at = rest->n ? memchr(rest->p, sep, rest->n) : NULL;
    struct ch_sv head = *rest;
    if (!at) {
        *rest = (struct ch_sv){NULL, 0};
        return head;
    }
    head.n = (size_t)(at - head.p);
    *rest = ch_sv(at + 1, rest->n - head.n - 1);
    return head;
}
