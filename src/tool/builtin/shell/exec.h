/* exec.h -- the built-in tool exec. */
#ifndef CH_TOOL_BUILTIN_EXEC_H
#define CH_TOOL_BUILTIN_EXEC_H
#include "tool/registry/registry.h"

chela_tool_fn ch_exec_check;
int ch_exec_add(struct ch_registry *r, const struct chela_tool_opts *opts, struct chela_error *err);

#endif
