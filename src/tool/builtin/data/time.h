/* time.h -- the built-in tool time. */
#ifndef CH_TOOL_BUILTIN_TIME_H
#define CH_TOOL_BUILTIN_TIME_H
#include "chela/tool.h"

chela_tool_fn ch_time_run, ch_time_check;

#endif
