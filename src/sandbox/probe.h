/* probe.h -- test which layers of the sandbox work on this machine. */
#ifndef CH_SANDBOX_PROBE_H
#define CH_SANDBOX_PROBE_H
#include "sandbox/box.h"

/* Print one line per layer to stdout: name, "ok" or "missing", and the reason,
 * separated by tabs. */
void ch_probe(const struct ch_box *box);

#endif
