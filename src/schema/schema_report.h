/* schema_report.h -- describe violations in words that a model can act on. */
#ifndef CH_SCHEMA_SCHEMA_REPORT_H
#define CH_SCHEMA_SCHEMA_REPORT_H
#include "schema/schema_run.h"

void ch_report_add(struct ch_report *r, const struct ch_schema_finding *f);

#endif
