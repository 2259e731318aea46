/* trace_text.h -- a trace as text and JSON. */
#ifndef CH_CLI_TRACE_TEXT_H
#define CH_CLI_TRACE_TEXT_H
#include "cli/report/trace.h"

/* Three output formats; `key` is the session's. columns: width of the terminal. */
void ch_trace_text(const struct ch_trace *t, const char *key, unsigned columns, FILE *out);

void ch_trace_json(const struct ch_trace *t, FILE *out);

#endif
