/* grep.h -- the built-in tool grep. */
#ifndef CH_TOOL_BUILTIN_GREP_H
#define CH_TOOL_BUILTIN_GREP_H
#include "chela/tool.h"

chela_tool_fn ch_grep_run, ch_grep_check;

#endif
