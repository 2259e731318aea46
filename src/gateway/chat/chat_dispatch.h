/* chat_dispatch.h -- passes received messages to the agent, and replies back to the chat.
 *
 *   callback --verified, sender allowed--> inbox --stored--> 200
 *       inbox --sender allowed--> lane ready --passed to its session--> settled
 *       end of the run --> outbox --> deliver --> receipt
 *
 * A message is acknowledged to the service once the inbox holds it. A message leaves the
 * inbox when the session's journal holds it; the reply enters the outbox with the end of the
 * run. After a crash the next process therefore finds the messages of the inbox, those of
 * the outbox, and the interrupted sessions (chat_recovery.h). */
#ifndef CH_GATEWAY_CHAT_DISPATCH_H
#define CH_GATEWAY_CHAT_DISPATCH_H
#include "gateway/chat/chat_event.h"

/* Stores the event in the inbox, then judges it. done, which may be NULL, receives the
 * result; not if this function fails, and not after the gateway was closed. */
int ch_chat_dispatch_accept(struct ch_chat_event *e, chela_accepted_fn *done, void *tag,
                            struct chela_error *err);
/* Asks the channel whether the sender may talk to the agent, and acts on the verdict. */
void ch_chat_dispatch_judge(struct ch_chat_event *e);
/* Dispatches the events that waited for an event of the session, which is not preparing any
 * more. */
void ch_chat_dispatch_next(struct ch_chat_service *chat, const char *session);
/* Runs a command, or prepares the event and sends it to its session. */
void ch_chat_dispatch_event(struct ch_chat_event *e);

/* What a channel may call. listens: the agent listens to chats (mode heartbeat). */
struct ch_channel_gateway ch_chat_dispatch_host(struct ch_chat_service *chat, bool listens);

#endif
