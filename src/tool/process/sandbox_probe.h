/* sandbox_probe.h -- finds chela-sandbox and tests its layers. */
#ifndef CH_TOOL_SANDBOX_PROBE_H
#define CH_TOOL_SANDBOX_PROBE_H
#include "tool/process/sandbox_policy.h"

/* All layers, in a fixed order. Tested once per process and cached. The first call blocks
 * for some tens of milliseconds, so it must not run on the loop thread. Callable from any
 * thread. helper: as in the policy. */
const struct ch_sandbox_layer *ch_sandbox_probe(const char *helper, size_t *n);

#endif
