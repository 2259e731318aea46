/* call_by_name.h -- the call of a tool that the request did not describe.
 *
 * The model reaches such a tool through call_tool{name, arguments} (select.h). The call then is a
 * call of the named tool everywhere: policy, schema, hooks, approval, events, journal. Only the
 * reply and the result in the history keep what the model wrote. The call of a tool that the vendor
 * defined is treated in the same way (vendor_call.h). */
#ifndef CH_TOOL_CALL_BY_NAME_H
#define CH_TOOL_CALL_BY_NAME_H
#include "base/arena.h"
#include "tool/registry/registry.h"

/* *out: the call that `block` stands for, made in the arena. False: block calls no tool of `own`
 * (may be NULL) that has CH_TOOL_BY_NAME, or names no tool, and is no call of vendor_call.h. */
bool ch_call_by_name(const struct ch_registry *own, const struct ch_block *block,
                     struct ch_arena *arena, struct ch_block *out);

#endif
