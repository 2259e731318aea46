/* health.h -- what /readyz knows; health.c says how. */
#ifndef CH_GATEWAY_HEALTH_H
#define CH_GATEWAY_HEALTH_H
#include "gateway/request/gateway.h"

struct ch_health;

struct ch_health *ch_health_new(chela_gateway *gw);
void ch_health_free(struct ch_health *h); /* no visit waits any more */
/* As they were seen last: a store that nobody asked is well. */
bool ch_health_store_works(const struct ch_health *h);
bool ch_health_model_works(const struct ch_health *h);
/* An event of a run: is the model well? */
void ch_health_hear(struct ch_health *h, const struct chela_event *ev);

#endif
