/* trace_html.h -- a trace as one page that needs nothing else: no script, no font,
 * nothing from elsewhere, so it may be kept, mailed and opened anywhere. */
#ifndef CH_CLI_TRACE_HTML_H
#define CH_CLI_TRACE_HTML_H
#include "cli/report/trace.h"

void ch_trace_html(const struct ch_trace *t, const char *key, FILE *out);

#endif
