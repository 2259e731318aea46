/* exec.h -- the built-in tool exec. */
#ifndef CH_TOOL_BUILTIN_EXEC_H
#define CH_TOOL_BUILTIN_EXEC_H
#include "tool/call/resource_locks.h"
#include "tool/registry/registry.h"

chela_tool_fn ch_exec_check;
ch_resources_fn ch_exec_uses;
int ch_exec_add(struct ch_registry *r, const struct chela_tool_opts *opts, struct chela_error *err);

#endif
