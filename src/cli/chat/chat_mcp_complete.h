/* chat_mcp_complete.h -- Tab completion by MCP servers: prompts, their arguments, resources. */
#ifndef CH_CLI_CHAT_MCP_COMPLETE_H
#define CH_CLI_CHAT_MCP_COMPLETE_H
#include "cli/chat/chat.h"

/* Complete the word before the cursor if it names a prompt ("/SERVER:PROMPT"), an argument of a
 * prompt or a resource ("@SERVER:URI"). The server answers later. False: the word is none of
 * these. */
bool ch_chat_mcp_complete(struct ch_chat *c);

#endif
