/* regex.h -- regular expressions of Perl's kind, looked for in lines.
 *
 * Every match is bounded in steps, depth and memory (limits.h), so no pattern
 * can hold a thread up. The text need not be valid UTF-8: what is not matches
 * nothing. Not for JSON Schema, whose dialect and bounds differ (json/). */
#ifndef CH_TOOL_REGEX_H
#define CH_TOOL_REGEX_H
#include "base/mem.h"
#include "base/sv.h"
#include "chela/error.h"

struct ch_regex;

enum ch_regex_flags {
    CH_REGEX_NOCASE = 1,
    CH_REGEX_LITERAL = 2 /* no character is special */
};

/* CHELA_EINVAL and the reason when it is none, CHELA_ELIMIT when too long. */
int ch_regex_new(struct ch_sv pattern, unsigned flags, struct ch_regex **out,
                 struct chela_error *err);
void ch_regex_free(struct ch_regex *r);
CH_DEFINE_AUTO(ch_regex)

/* The first match in line: 1 and where it begins and ends, 0, or CHELA_ELIMIT:
 * given up. Not from two threads at once. */
int ch_regex_find(struct ch_regex *r, struct ch_sv line, size_t *start, size_t *end);

#endif
