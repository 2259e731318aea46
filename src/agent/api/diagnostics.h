/* diagnostics.h -- a finding of chela_runtime_survey and of the checks with the same form. */
#ifndef CH_AGENT_DIAGNOSTICS_H
#define CH_AGENT_DIAGNOSTICS_H
#include "json/writer.h"

/* Writes {area, name, status, detail, mend}. status: "ok", "warn" or "fail". mend: the remedy;
 * NULL: none. */
void ch_diagnostics_row(struct ch_jw *w, const char *area, const char *name, const char *status,
                        const char *detail, const char *mend);

#endif
