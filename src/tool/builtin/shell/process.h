/* process.h -- the built-in tool process. */
#ifndef CH_TOOL_BUILTIN_PROCESS_H
#define CH_TOOL_BUILTIN_PROCESS_H
#include "tool/registry/registry.h"

chela_tool_fn ch_process_check;
bool ch_process_stays(chela_call *call); /* ch_tool.stays */
int ch_process_add(struct ch_registry *r, const struct chela_tool_opts *opts,
                   struct chela_error *err);

#endif
