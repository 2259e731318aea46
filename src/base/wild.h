/* wild.h -- wildcard patterns for short texts: tool names, arguments,
 * addresses.
 *
 * "*" matches any text, "?" one byte, and "\" makes the next byte literal.
 * Every other byte matches itself. Every text is a valid pattern, so a deny
 * rule cannot fail to parse. Time is bounded by the product of the two lengths.
 * Patterns for paths are in tool/builtin/files/glob.h. */
#ifndef CH_BASE_WILD_H
#define CH_BASE_WILD_H
#include "base/sv.h"

bool ch_wild(struct ch_sv pattern, struct ch_sv text);

#endif
