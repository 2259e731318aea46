/* eval_print.h -- writes JSON that people edit: one member or element a line. */
#ifndef CH_EVAL_PRINT_H
#define CH_EVAL_PRINT_H
#include "json/json.h"

void ch_eval_print(const struct ch_json *v, struct ch_buf *out);
/* The same for a text of JSON, in which secrets are replaced; a new text for the caller to free. */
char *ch_eval_print_safe(struct ch_sv json, struct chela_error *err);

#endif
