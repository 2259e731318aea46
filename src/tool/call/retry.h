/* retry.h -- decides whether and when a failed call is retried.
 *
 * A call is retried only if the failure is transient, a second run is harmless (effect
 * read, or keyed: the key stays the same), the maximum number of attempts is not reached,
 * and the call's time limit allows an attempt that takes as long as those before.
 *
 * With a retry policy (struct ch_tool), the deadline of the policy takes the place of the
 * time limit, and a call with effect once is retried if its failure states that the call
 * took no effect. */
#ifndef CH_TOOL_RETRY_H
#define CH_TOOL_RETRY_H
#include "tool/registry/registry.h"
#include "tool/result/result.h"

/* Milliseconds until the next attempt; negative: do not retry. attempts: attempts made so
 * far; elapsed_ms: time since the first attempt began. */
int64_t ch_retry_delay(const struct ch_tool *t, const struct ch_outcome *o, unsigned attempts,
                       int64_t elapsed_ms);

#endif
