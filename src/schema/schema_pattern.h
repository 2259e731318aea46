/* schema_pattern.h -- compiled regular expressions (PCRE2).
 *
 * Matching is bounded in steps, depth and memory (limits.h). Frequently used
 * patterns are compiled to machine code where the library and the system
 * support it; rarely used ones are not, so compiling a thousand tools stays
 * cheap. */
#ifndef CH_SCHEMA_SCHEMA_PATTERN_H
#define CH_SCHEMA_SCHEMA_PATTERN_H
#include "base/arena.h"
#include "base/sv.h"
#include "chela/error.h"

struct ch_pattern;

#define CH_PATTERN_GROUPS 27 /* groups of a pattern that can be read after a match */

/* The patterns of one schema. They share the memory of a match, which takes 20 KB. */
struct ch_patterns {
    struct ch_pattern *list; /* owned */
    size_t n;
    void *general, *match, *data; /* owned: PCRE2's contexts; the memory of a match */
};

void ch_patterns_release(struct ch_patterns *p);

/* Compile source, or return the pattern compiled from the same source before.
 * Patterns live until release. CHELA_EINVAL: invalid pattern; err has the
 * reason. */
int ch_patterns_add(struct ch_patterns *p, struct ch_sv source, struct ch_pattern **out,
                    struct chela_error *err);

/* As ch_patterns_add, for an expression in PCRE2 syntax. The number of patterns is not
 * bounded. */
int ch_patterns_add_native(struct ch_patterns *p, struct ch_sv source, struct ch_pattern **out,
                           struct chela_error *err);

/* Whether the pattern matches anywhere in text, which is valid UTF-8. A match that
 * takes many steps is charged to *fuel. Negative: the bounds were exceeded
 * (CHELA_ELIMIT). */
int ch_pattern_match(struct ch_pattern *p, struct ch_sv text, int64_t *fuel);

/* Number of capture groups. */
size_t ch_pattern_groups(const struct ch_pattern *p);

/* The part of text that group i, from 1 to CH_PATTERN_GROUPS, has captured in the last match;
 * empty if the group took no part in the match. text is the text of that match. No other pattern
 * of the same ch_patterns may have been matched since. */
struct ch_sv ch_pattern_group(const struct ch_pattern *p, size_t i, struct ch_sv text);

struct ch_sv ch_pattern_source(const struct ch_pattern *p);

#endif
