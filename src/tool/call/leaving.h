/* leaving.h -- the arguments of a call that leaves this machine hold no secret. */
#ifndef CH_TOOL_CALL_LEAVING_H
#define CH_TOOL_CALL_LEAVING_H
#include "tool/call/call.h"

/* True: a tool with CHELA_TOOL_SENDS would send a secret (guard/leak.h); the reason for the model
 * is appended. */
bool ch_leaving_is_refused(const chela_call *call, struct ch_buf *why);

#endif
