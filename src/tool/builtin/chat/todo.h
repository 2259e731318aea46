/* todo.h -- the built-in tool todo. */
#ifndef CH_TOOL_BUILTIN_TODO_H
#define CH_TOOL_BUILTIN_TODO_H
#include "chela/tool.h"

chela_tool_fn ch_todo_run, ch_todo_check;

#endif
