/* chat_commands.h -- commands for the gateway itself, such as /stop, in a chat. */
#ifndef CH_GATEWAY_CHAT_COMMANDS_H
#define CH_GATEWAY_CHAT_COMMANDS_H
#include "gateway/chat/chat_event.h"
#include "gateway/lane/delivery.h"

/* Runs the command that the message is, and answers the event; false: no command. */
bool ch_chat_commands_run(struct ch_chat_event *e);
/* /stop as an event of the inbox: the gateway that holds the session cancels its run. */
extern const struct ch_delivery_kind ch_chat_stop;

#endif
