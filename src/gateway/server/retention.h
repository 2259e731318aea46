/* retention.h -- deletes old sessions, settled events and sent messages from the store. */
#ifndef CH_GATEWAY_RETENTION_H
#define CH_GATEWAY_RETENTION_H
#include "gateway/request/gateway_state.h"

struct ch_retention;

struct ch_retention *ch_retention_new(chela_gateway *gw);
void ch_retention_free(struct ch_retention *r);
/* Begins, or changes the age at which idle sessions are deleted; 0: never. */
void ch_retention_set(struct ch_retention *r, int64_t days);

#endif
