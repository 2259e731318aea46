/* memory.h -- the built-in tools memory_search and memory_write. */
#ifndef CH_TOOL_BUILTIN_MEMORY_H
#define CH_TOOL_BUILTIN_MEMORY_H
#include "chela/tool.h"

/* user: struct ch_tool_settings. */
chela_tool_fn ch_memory_search_run, ch_memory_search_check;
chela_tool_fn ch_memory_write_run, ch_memory_write_check;

#define CH_MEMORY_WRITE_TOOL "memory_write"

#endif
