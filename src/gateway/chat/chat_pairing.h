/* chat_pairing.h -- messages of unknown senders where the channel allows pairing
 * (chela/pairing.h). */
#ifndef CH_GATEWAY_CHAT_PAIRING_H
#define CH_GATEWAY_CHAT_PAIRING_H
#include "gateway/chat/chat_event.h"

/* Dispatches the event if its sender is paired; otherwise replies with a code. */
void ch_chat_pairing_check(struct ch_chat_event *e);
/* /pair CODE; answers the event. */
void ch_chat_pairing_command(struct ch_chat_event *e, struct ch_sv rest);

#endif
