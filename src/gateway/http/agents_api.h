/* agents_api.h -- GET /api/agents, GET /api/skills: the agents of the gateway. */
#ifndef CH_GATEWAY_AGENTS_API_H
#define CH_GATEWAY_AGENTS_API_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_agents_list;
ch_http_route_fn ch_agents_skills;

#endif
