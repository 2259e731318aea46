/* eval_report.h -- reads parts of a report; private to this folder. */
#ifndef CH_EVAL_REPORT_H
#define CH_EVAL_REPORT_H
#include "json/json.h"

double ch_eval_number(const struct ch_json *object, const char *key); /* NaN: none */
/* The first check of a trial that does not hold; NULL: none. */
const struct ch_json *ch_eval_failed_check(const struct ch_json *trial);
/* Appends text for XML and HTML. */
void ch_eval_escape(struct ch_buf *out, struct ch_sv text);

#endif
