/* send_tool.h -- the tool `sessions_send`, for agents that have `sendTo`. */
#ifndef CH_GATEWAY_SEND_H
#define CH_GATEWAY_SEND_H
#include "gateway/lane/delivery.h"
#include "gateway/request/gateway_state.h"

/* Adds the tool to the agents that may use it. */
int ch_send_tool_add(chela_gateway *gw, chela_agent *const *agents, struct chela_error *err);
/* Takes the tool from an agent that the gateway no longer serves: the tool would outlive
 * the gateway. */
void ch_send_tool_remove(const chela_gateway *gw, chela_agent *agent);

/* A message of another session, as an event of the inbox. */
extern const struct ch_delivery_kind ch_send_message;

#endif
