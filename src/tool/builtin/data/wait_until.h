/* wait_until.h -- the built-in tool wait_until. */
#ifndef CH_TOOL_BUILTIN_WAIT_UNTIL_H
#define CH_TOOL_BUILTIN_WAIT_UNTIL_H
#include "chela/tool.h"

chela_tool_fn ch_wait_until_run, ch_wait_until_check;

#endif
