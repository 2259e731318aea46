/* function.h -- the kind of tool that is a C function. */
#ifndef CH_TOOL_FUNCTION_H
#define CH_TOOL_FUNCTION_H
#include "tool/registry/registry.h"

const struct ch_tool_ops *ch_function_ops(void);
void *ch_function_new(chela_tool_fn *fn, void *user); /* its ch_tool.impl */

#endif
