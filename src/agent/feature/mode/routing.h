/* routing.h -- asks the router how to handle a request. */
#ifndef CH_AGENT_ROUTING_H
#define CH_AGENT_ROUTING_H
#include "agent/feature/mode/mode_private.h"

void ch_routing_ask(chela_run *run);

#endif
