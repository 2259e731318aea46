/* process.h -- the built-in tool process. */
#ifndef CH_TOOL_BUILTIN_PROCESS_H
#define CH_TOOL_BUILTIN_PROCESS_H
#include "tool/registry/registry.h"

chela_tool_fn ch_process_check;
int ch_process_add(struct ch_registry *r, const struct chela_tool_opts *opts,
                   struct chela_error *err);

#endif
