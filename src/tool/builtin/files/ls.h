/* ls.h -- the built-in tool ls. */
#ifndef CH_TOOL_BUILTIN_LS_H
#define CH_TOOL_BUILTIN_LS_H
#include "chela/tool.h"

chela_tool_fn ch_ls_run;

#endif
