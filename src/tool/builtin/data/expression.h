/* expression.h -- evaluates an arithmetic expression; the pure half of `calculate`. Text is
 * parsed and computed; no code is executed. */
#ifndef CH_TOOL_EXPRESSION_H
#define CH_TOOL_EXPRESSION_H
#include "base/buf.h"

/* Append the result to out; *exact is false if the result was rounded. CHELA_EINVAL: err
 * gives the error and its column. */
int ch_expression(struct ch_sv text, struct ch_buf *out, bool *exact, struct chela_error *err);

#endif
