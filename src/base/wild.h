/* wild.h -- patterns over short texts: names of tools, arguments, addresses.
 *
 * "*" stands for any text, "?" for one byte, "\" makes the next byte ordinary;
 * everything else stands for itself. No pattern is unreadable, so none that was
 * meant to keep something out fails to. Time is bounded by the product of the
 * two lengths. Patterns over paths are in tool/builtin/files/glob.h. */
#ifndef CH_BASE_WILD_H
#define CH_BASE_WILD_H
#include "base/sv.h"

bool ch_wild(struct ch_sv pattern, struct ch_sv text);

#endif
