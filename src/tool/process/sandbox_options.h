/* sandbox_options.h -- converts the host's sandbox options to a policy. */
#ifndef CH_TOOL_SANDBOX_OPTIONS_H
#define CH_TOOL_SANDBOX_OPTIONS_H
#include "tool/process/sandbox_policy.h"

int ch_sandbox_read(struct ch_arena *a, const struct chela_sandbox_opts *opts,
                    struct ch_sandbox_policy **out, struct chela_error *err);

#endif
