/* eval_page.h -- a report as a page without scripts that needs no other file. */
#ifndef CH_EVAL_PAGE_H
#define CH_EVAL_PAGE_H
#include "json/json.h"

/* Appends the page. The trials of a case are side by side, with their messages if the report has
 * them. */
void ch_eval_page(const struct ch_json *report, struct ch_buf *out);

#endif
