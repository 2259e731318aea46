/* edit.h -- the built-in tool edit. */
#ifndef CH_TOOL_BUILTIN_EDIT_H
#define CH_TOOL_BUILTIN_EDIT_H
#include "chela/tool.h"

chela_tool_fn ch_edit_run, ch_edit_check;

#endif
