/* function.h -- tools that are C functions. */
#ifndef CH_TOOL_FUNCTION_H
#define CH_TOOL_FUNCTION_H
#include "tool/registry/registry.h"

/* Add a tool that runs opts->fn, or a tool that the host runs (CHELA_TOOL_CLIENT, fn NULL). */
int ch_function_add(struct ch_registry *r, const struct chela_tool_opts *opts,
                    struct chela_error *err);

#endif
