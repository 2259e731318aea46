/* write.h -- the built-in tool write. */
#ifndef CH_TOOL_BUILTIN_WRITE_H
#define CH_TOOL_BUILTIN_WRITE_H
#include "chela/tool.h"

chela_tool_fn ch_write_run, ch_write_check;

#endif
