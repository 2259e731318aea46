/* schema_pattern.h -- compiled regular expressions; the home of PCRE2.
 *
 * Matching is bounded in steps, depth and memory (limits.h). A pattern that is
 * used again and again is turned into machine code on the way, where the
 * library and the system can; who compiles a thousand tools pays nothing for
 * it. */
#ifndef CH_SCHEMA_SCHEMA_PATTERN_H
#define CH_SCHEMA_SCHEMA_PATTERN_H
#include "base/arena.h"
#include "base/sv.h"
#include "chela/error.h"

struct ch_pattern;

/* The patterns of one schema and the room they match in. */
struct ch_patterns {
    struct ch_pattern *list; /* owned */
    size_t n;
    void *general, *match; /* owned: PCRE2's contexts */
};

void ch_patterns_release(struct ch_patterns *p);

/* The same source gives the same pattern. Kept until release. CHELA_EINVAL
 * with the reason when it is none. */
int ch_patterns_add(struct ch_patterns *p, struct ch_sv source, struct ch_pattern **out,
                    struct chela_error *err);

/* The same for an expression of ours in PCRE2's own words. */
int ch_patterns_add_native(struct ch_patterns *p, struct ch_sv source, struct ch_pattern **out);

/* Does it occur in text, which is valid UTF-8? Negative: given up
 * (CHELA_ELIMIT). */
int ch_pattern_match(struct ch_pattern *p, struct ch_sv text);

struct ch_sv ch_pattern_source(const struct ch_pattern *p);

#endif
