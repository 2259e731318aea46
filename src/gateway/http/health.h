/* health.h -- GET /healthz and GET /readyz; health.c describes the checks. */
#ifndef CH_GATEWAY_HEALTH_H
#define CH_GATEWAY_HEALTH_H
#include "gateway/request/request.h"

struct ch_health;

struct ch_health *ch_health_new(chela_gateway *gw);
void ch_health_free(struct ch_health *h); /* call it after the requests that wait for the health
                                             check are freed */
ch_http_route_fn ch_health_live, ch_health_ready;

#endif
