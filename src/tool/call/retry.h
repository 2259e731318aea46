/* retry.h -- may a failed call be made again, and when?
 *
 * The runtime tries again before it bothers the model: only after a failure
 * that may pass, only if a second run does no harm (effect read, or keyed: the
 * key is the same every time), a few times, and within the call's time. */
#ifndef CH_TOOL_RETRY_H
#define CH_TOOL_RETRY_H
#include "tool/registry/registry.h"
#include "tool/result/result.h"

/* Milliseconds to wait before the next attempt; negative: the result stands.
 * attempts: made so far; elapsed_ms: since the first began. */
int64_t ch_retry_delay(const struct ch_tool *t, const struct ch_outcome *o, unsigned attempts,
                       int64_t elapsed_ms);

#endif
