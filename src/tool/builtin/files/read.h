/* read.h -- the built-in tool read. */
#ifndef CH_TOOL_BUILTIN_READ_H
#define CH_TOOL_BUILTIN_READ_H
#include "chela/tool.h"

chela_tool_fn ch_read_run, ch_read_check;

#endif
