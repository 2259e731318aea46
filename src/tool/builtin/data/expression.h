/* expression.h -- evaluating an arithmetic expression; the pure half of
 * `calculate`. Text goes in, text comes out: nothing is ever executed. */
#ifndef CH_TOOL_EXPRESSION_H
#define CH_TOOL_EXPRESSION_H
#include "base/buf.h"

/* Append the result to out; *exact says whether it was rounded. CHELA_EINVAL:
 * err says what is wrong and at which column. */
int ch_expression(struct ch_sv text, struct ch_buf *out, bool *exact, struct chela_error *err);

#endif
