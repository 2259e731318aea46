/* schema_ecma.h -- regular expressions of JSON Schema in the words of PCRE2.
 *
 * `pattern` is written in the dialect of ECMA-262 with its Unicode flag. It is
 * read here in full, so that what ECMA-262 refuses is refused and nothing of
 * Perl (verbs, recursion, possessive quantifiers) gets through, and written
 * again as a PCRE2 pattern of the same meaning. More lenient than the
 * Unicode flag in two points that real schemas need: any punctuation may be
 * escaped, and ] } { may stand for themselves where they mean nothing. */
#ifndef CH_SCHEMA_SCHEMA_ECMA_H
#define CH_SCHEMA_SCHEMA_ECMA_H
#include "base/buf.h"
#include "base/sv.h"

/* Append the translation to out. Returns NULL, or why the pattern is none (a
 * literal); *at (may be NULL) is then the offset in bytes. */
const char *ch_ecma_translate(struct ch_sv pattern, struct ch_buf *out, size_t *at);

#endif
