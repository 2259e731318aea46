/* message.h -- the built-in tool message. */
#ifndef CH_TOOL_BUILTIN_MESSAGE_H
#define CH_TOOL_BUILTIN_MESSAGE_H
#include "tool/call/resource_locks.h"
#include "tool/registry/registry.h"

chela_tool_fn ch_message_run, ch_message_check;
ch_resources_fn ch_message_uses;

/* The built-in that needs a channel, by its name, if r has it; else NULL. A host
 * may have a tool of its own with that name, which needs none. */
#define CH_MESSAGE_TOOL "message"
const char *ch_channel_tool(const struct ch_registry *r);

#endif
