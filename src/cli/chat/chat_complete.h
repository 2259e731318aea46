/* chat_complete.h -- Tab completion: /commands and /skills at the beginning, @paths
 * anywhere, and what MCP servers offer. */
#ifndef CH_CLI_CHAT_COMPLETE_H
#define CH_CLI_CHAT_COMPLETE_H
#include "cli/chat/chat.h"

void ch_chat_complete(struct ch_chat *c);

#endif
