/* utf8.h -- UTF-8 decoding, encoding and validation. */
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

/* End of the run of valid characters that starts at `at`: the first invalid
 * byte, or `end`. */
const char *ch_utf8_run(const char *at, const char *end);

/* Encode cp into out[4]; returns the length. */
unsigned ch_utf8_put(char out[4], uint32_t cp);

/* Append s with every invalid byte replaced by U+FFFD. */
int ch_utf8_add_valid(struct ch_buf *out, struct ch_sv s);

/* The longest prefix of s of at most max bytes that splits no character. If the
 * bytes at the cut are not UTF-8, the prefix is exactly max bytes. */
struct ch_sv ch_utf8_cut(struct ch_sv s, size_t max);

#endif
