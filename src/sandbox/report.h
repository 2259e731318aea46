/* report.h -- lines for the runtime, on a descriptor the command never has: "error KIND
 * MESSAGE" and "note MESSAGE". */
#ifndef CH_SANDBOX_REPORT_H
#define CH_SANDBOX_REPORT_H
#include "sandbox/box.h"

/* One line to the report: what the runtime should know, and no failure. */
void ch_note(const char *fmt, ...) CHELA_PRINTF(1, 2);

/* The command cannot be run. kind: an error type as results have them. */
_Noreturn void ch_die(const char *kind, const char *fmt, ...) CHELA_PRINTF(2, 3);

#endif
