/* trace_html.h -- a trace as a self-contained page: no script, no font, no external
 * resource, so it can be archived, mailed and opened anywhere. */
#ifndef CH_CLI_TRACE_HTML_H
#define CH_CLI_TRACE_HTML_H
#include "cli/report/trace.h"

/* why: a report of `chela why --json`, shown at the beginning; NULL: none. */
void ch_trace_html(const struct ch_trace *t, chela_store *store, const char *key, const char *why,
                   FILE *out);

#endif
