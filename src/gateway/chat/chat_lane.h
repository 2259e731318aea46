/* chat_lane.h -- the lane of a session in a chat. */
#ifndef CH_GATEWAY_CHAT_LANE_H
#define CH_GATEWAY_CHAT_LANE_H
#include "gateway/chat/chat_service.h"
#include "gateway/lane/delivery.h"
#include "gateway/lane/lane.h"

/* The lane with the service's agent, the tools that act in the chat, and the settings that
 * people chose there. */
int ch_chat_lane_use(struct ch_chat_service *chat, const char *key, struct ch_lane **out,
                     struct chela_error *err);
/* The same for a session that exists: one that was deleted meanwhile is not created again. */
int ch_chat_lane_resume(struct ch_chat_service *chat, const char *key, struct ch_lane **out,
                        struct chela_error *err);
/* `open` of a delivery kind whose events concern a run of a session in a chat. Creates no
 * session. */
int ch_chat_lane_open(struct ch_delivery *d, struct ch_lane **out, struct chela_error *err);

#endif
