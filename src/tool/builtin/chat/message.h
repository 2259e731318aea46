/* message.h -- the built-in tool message. */
#ifndef CH_TOOL_BUILTIN_MESSAGE_H
#define CH_TOOL_BUILTIN_MESSAGE_H
#include "tool/call/resource_locks.h"
#include "tool/registry/registry.h"

chela_tool_fn ch_message_run, ch_message_check;
ch_resources_fn ch_message_uses;
bool ch_message_stays(chela_call *call); /* ch_tool.stays */

/* The built-in tool `message` of registry r; NULL if r does not contain the built-in. A
 * tool that the host added under the same name is not the built-in and needs no channel. */
#define CH_MESSAGE_TOOL "message"
const char *ch_channel_tool(const struct ch_registry *r);

#endif
