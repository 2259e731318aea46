/* chat_window.h -- what a group said between two messages to the agent.
 *
 * A message of a group that is not addressed to the agent begins no run and is not stored. Its
 * text waits here, in memory, for the next message that is: the model gets the lines with that
 * message, as untrusted text. Each chat, and each topic of a chat, has a window of its own. A line
 * is forgotten when it is too old (groupMinutes of channels.NAME), or when newer lines need its
 * place (groupLines).
 * A restart forgets all lines. Each process of a gateway has the lines that it received itself.
 *
 * Loop thread only. */
#ifndef CH_GATEWAY_CHAT_WINDOW_H
#define CH_GATEWAY_CHAT_WINDOW_H
#include "gateway/chat/chat_event.h"

/* `overheard` of struct ch_channel_gateway; user is the service. */
void ch_chat_window_hear(const struct chela_channel_arrival *in, void *user);
/* Moves the lines that were said before the event into the event. */
void ch_chat_window_take(struct ch_chat_event *e);
void ch_chat_windows_release(struct ch_chat_service *chat);

#endif
