/* progress.h -- passes lines of progress from a tool's thread to the loop. */
#ifndef CH_TOOL_PROGRESS_H
#define CH_TOOL_PROGRESS_H
#include "tool/call/call.h"

void ch_progress_init(chela_call *call);

/* Free undelivered lines. */
void ch_progress_drop(chela_call *call);

#endif
