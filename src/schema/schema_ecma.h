/* schema_ecma.h -- translate regular expressions of JSON Schema to PCRE2.
 *
 * `pattern` uses the ECMA-262 dialect with the Unicode flag. The whole pattern
 * is parsed here, so that patterns invalid in ECMA-262 are rejected and Perl
 * features (verbs, recursion, possessive quantifiers) cannot pass. The result
 * is a PCRE2 pattern of the same meaning. Two exceptions from the Unicode flag,
 * which real schemas need: any punctuation may be escaped, and ] } { may be
 * literal where they have no meaning. */
#ifndef CH_SCHEMA_SCHEMA_ECMA_H
#define CH_SCHEMA_SCHEMA_ECMA_H
#include "base/buf.h"
#include "base/sv.h"

/* Append the translation to out. Returns NULL, or the reason why the pattern is
 * invalid (a string literal); *at (may be NULL) is then the byte offset. */
const char *ch_ecma_translate(struct ch_sv pattern, struct ch_buf *out, size_t *at);

#endif
