/* calculate.h -- the built-in tool calculate. */
#ifndef CH_TOOL_BUILTIN_CALCULATE_H
#define CH_TOOL_BUILTIN_CALCULATE_H
#include "chela/tool.h"

chela_tool_fn ch_calculate_run, ch_calculate_check;

#endif
