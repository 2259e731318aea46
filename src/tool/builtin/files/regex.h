/* regex.h -- Perl-compatible regular expressions, matched against single lines.
 *
 * Every match is bounded in steps, depth and memory (limits.h), so no pattern can block a
 * thread. The text may contain invalid UTF-8; invalid bytes match nothing. JSON Schema
 * patterns use another dialect and other bounds (json/). */
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

/* CHELA_EINVAL with the reason for an invalid pattern, CHELA_ELIMIT for one that is too
 * long. */
int ch_regex_new(struct ch_sv pattern, unsigned flags, struct ch_regex **out,
                 struct chela_error *err);
void ch_regex_free(struct ch_regex *r);
CH_DEFINE_AUTO(ch_regex)

/* Find the first match in line. Returns 1 and sets *start and *end, 0 for no match, or
 * CHELA_ELIMIT if a bound was exceeded. One thread at a time per regex. */
int ch_regex_find(struct ch_regex *r, struct ch_sv line, size_t *start, size_t *end);

#endif
