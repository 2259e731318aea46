/* chat_commands.h -- commands for the gateway itself, such as /stop, in a chat. */
#ifndef CH_GATEWAY_CHAT_COMMANDS_H
#define CH_GATEWAY_CHAT_COMMANDS_H
#include "gateway/chat/chat_event.h"

/* Runs the command that the message is, and answers the event; false: no command. */
bool ch_chat_commands_run(struct ch_chat_event *e);

#endif
