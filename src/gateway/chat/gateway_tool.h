/* gateway_tool.h -- the tool `gateway`: an owner reads and changes the gateway's settings. */
#ifndef CH_GATEWAY_GATEWAY_TOOL_H
#define CH_GATEWAY_GATEWAY_TOOL_H
#include "gateway/chat/chat_service.h"

/* Adds the tool to an agent that may use it; add_tools of struct ch_lane_opts. */
int ch_gateway_tool_add(chela_gateway *gw, chela_agent *agent, const char *key,
                        struct chela_error *err);
/* May a run for this message use the tool? */
bool ch_gateway_tool_is_allowed(struct ch_chat_service *chat, const struct chela_inbound *in);
void ch_gateway_tool_release(struct ch_chat_service *chat);

#endif
