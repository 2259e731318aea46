/* find.h -- the built-in tool find. */
#ifndef CH_TOOL_BUILTIN_FIND_H
#define CH_TOOL_BUILTIN_FIND_H
#include "chela/tool.h"

chela_tool_fn ch_find_run, ch_find_check;

#endif
