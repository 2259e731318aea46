/* utf8.h -- the little Unicode knowledge the lower layers need. */
#ifndef CH_BASE_UTF8_H
#define CH_BASE_UTF8_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/sv.h"

/* Length in bytes of the valid sequence at s.p, or 0 when the bytes there are
 * not valid UTF-8 (overlong forms, surrogates and values past U+10FFFF are
 * invalid). *cp, unless NULL, gets the code point. */
unsigned ch_utf8_next(struct ch_sv s, uint32_t *cp);

bool ch_utf8_valid(struct ch_sv s);

/* Where the run of valid characters that starts at `at` ends: at the first
 * invalid byte or at `end`. */
const char *ch_utf8_run(const char *at, const char *end);

/* The same, but stops at the first ASCII character too: what a scanner calls
 * when its look at ASCII ends. */
const char *ch_utf8_run_multibyte(const char *at, const char *end);

/* Encode cp into out[4]; returns the length. */
unsigned ch_utf8_put(char out[4], uint32_t cp);

/* Append s with every invalid byte replaced by U+FFFD. */
int ch_utf8_add_valid(struct ch_buf *out, struct ch_sv s);

/* The longest prefix of s of at most max bytes that splits no character. Where
 * the bytes at the cut are not UTF-8 it is simply max bytes. */
struct ch_sv ch_utf8_cut(struct ch_sv s, size_t max);

#endif
