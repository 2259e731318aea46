/* probe.h -- what this machine allows, found out by doing it. */
#ifndef CH_SANDBOX_PROBE_H
#define CH_SANDBOX_PROBE_H
#include "sandbox/box.h"

/* Print one line a layer to stdout: name, "ok" or "missing", and why, between
 * tabs. */
void ch_probe(const struct ch_box *box);

#endif
