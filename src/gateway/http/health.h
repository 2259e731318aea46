/* health.h -- what /readyz knows; health.c says how. */
#ifndef CH_GATEWAY_HEALTH_H
#define CH_GATEWAY_HEALTH_H
#include "gateway/request/gateway_state.h"

struct ch_health;

struct ch_health *ch_health_new(chela_gateway *gw);
void ch_health_free(struct ch_health *h); /* no visit waits any more */

#endif
