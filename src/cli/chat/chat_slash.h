/* chat_slash.h -- the slash commands of a conversation. */
#ifndef CH_CLI_CHAT_SLASH_H
#define CH_CLI_CHAT_SLASH_H
#include "cli/chat/chat.h"

void ch_chat_command(struct ch_chat *c, const char *line);

const char *ch_chat_command_name(size_t i); /* NULL past the last */

#endif
