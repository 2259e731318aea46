/* sandbox_probe.h -- finding chela-sandbox, and what it can do here. */
#ifndef CH_TOOL_SANDBOX_PROBE_H
#define CH_TOOL_SANDBOX_PROBE_H
#include "tool/process/sandbox_policy.h"

/* Every layer, in a fixed order. Found out by trying, once; the answer stays
 * for the life of the process. Blocks for a few hundredths of a second the
 * first time: not for the loop thread. Any thread. helper: as in the policy. */
const struct ch_sandbox_layer *ch_sandbox_probe(const char *helper, size_t *n);

#endif
