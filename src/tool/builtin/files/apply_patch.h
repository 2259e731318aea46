/* apply_patch.h -- the built-in tool apply_patch. */
#ifndef CH_TOOL_BUILTIN_APPLY_PATCH_H
#define CH_TOOL_BUILTIN_APPLY_PATCH_H
#include "tool/call/resource_locks.h"

chela_tool_fn ch_apply_patch_run, ch_apply_patch_check;
ch_resources_fn ch_apply_patch_uses;

#endif
