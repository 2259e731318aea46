/* report.h -- lines for the runtime, on a descriptor that the command never
 * gets: "error KIND MESSAGE" and "note MESSAGE". */
#ifndef CH_SANDBOX_REPORT_H
#define CH_SANDBOX_REPORT_H
#include "sandbox/box.h"

/* Write a note to the report: information, not a failure. */
void ch_note(const char *fmt, ...) CHELA_PRINTF(1, 2);

/* Report why the command was ended. kind: as in ch_die. */
void ch_complain(const char *kind, const char *fmt, ...) CHELA_PRINTF(2, 3);

/* Report that the command cannot run, and exit. kind: an error type of tool
 * results. */
_Noreturn void ch_die(const char *kind, const char *fmt, ...) CHELA_PRINTF(2, 3);

#endif
