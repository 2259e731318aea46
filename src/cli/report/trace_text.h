/* trace_text.h -- a trace for terminals and for programs. */
#ifndef CH_CLI_TRACE_TEXT_H
#define CH_CLI_TRACE_TEXT_H
#include "cli/report/trace.h"

/* Three ways to show it; `key` is the session's. columns: of the terminal. */
void ch_trace_text(const struct ch_trace *t, const char *key, unsigned columns, FILE *out);

void ch_trace_json(const struct ch_trace *t, FILE *out);

#endif
