/* chat_recovery.h -- takes over work that other processes left in the store: messages of the
 * inbox and of the outbox, and interrupted sessions of chats. */
#ifndef CH_GATEWAY_CHAT_RECOVERY_H
#define CH_GATEWAY_CHAT_RECOVERY_H
#include "gateway/chat/chat_service.h"
#include "gateway/request/gateway_state.h"

/* Reads the store on a worker thread, then takes over. Does nothing while a recovery is in
 * progress, or without chat services. */
void ch_chat_recovery_start(chela_gateway *gw);
/* The gateway is closed: the recovery in progress ends without effect. */
void ch_chat_recovery_cancel(chela_gateway *gw);

/* Opens the session, if it is not open, with the options of its chat. Then its interrupted run
 * is resumed, its waiting messages begin a run, or its open questions are sent. */
void ch_chat_recovery_resume(struct ch_chat_service *chat, const char *key);
/* Delivers one event of the inbox, unless the service has it. */
enum ch_restored ch_chat_recovery_restore(chela_gateway *gw, const char *id, struct ch_sv data);

#endif
