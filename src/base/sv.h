/* sv.h -- a string view: a borrowed pointer and a length, without a terminator. */
#ifndef CH_BASE_SV_H
#define CH_BASE_SV_H
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct ch_sv {
    const char *p;
    size_t n;
};

#define CH_SV(literal) ((struct ch_sv){"" literal, sizeof(literal) - 1})
#define CH_SV_FMT(s) (int)(s).n, (s).p /* for "%.*s" */

static inline struct ch_sv ch_sv(const char *p, size_t n) {
    return (struct ch_sv){p, n};
}
static inline struct ch_sv ch_sv_str(const char *s) {
    return (struct ch_sv){s, s ? strlen(s) : 0};
}
static inline bool ch_sv_eq(struct ch_sv a, struct ch_sv b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
/* With a literal, the compiler knows the length at compile time. */
static inline bool ch_sv_is(struct ch_sv a, const char *s) {
    size_t n = s ? strlen(s) : 0;
    return a.n == n && (n == 0 || memcmp(a.p, s, n) == 0);
}
static inline bool ch_sv_starts(struct ch_sv a, const char *prefix) {
    size_t n = strlen(prefix);
    return a.n >= n && (n == 0 || memcmp(a.p, prefix, n) == 0);
}
static inline bool ch_sv_ends(struct ch_sv a, const char *tail) {
    size_t n = strlen(tail);
    return a.n >= n && (n == 0 || memcmp(a.p + a.n - n, tail, n) == 0);
}

bool ch_sv_eq_nocase(struct ch_sv a, struct ch_sv b); /* ASCII only */
bool ch_sv_contains_nocase(struct ch_sv hay, const char *needle);
struct ch_sv ch_sv_trim(struct ch_sv s); /* ASCII white space, both ends */

/* Remove the text before the first sep from *rest and return it. *rest keeps
 * the text after the separator, or becomes {NULL,0} if there is no separator. */
struct ch_sv ch_sv_split(struct ch_sv *rest, char sep);

#endif
