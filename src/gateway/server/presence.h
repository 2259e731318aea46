/* presence.h -- tells the other gateways of a shared store that this one runs. */
#ifndef CH_GATEWAY_PRESENCE_H
#define CH_GATEWAY_PRESENCE_H
#include "gateway/request/gateway_state.h"

struct ch_presence;

struct ch_presence *ch_presence_new(chela_gateway *gw);
/* Deletes the note of this gateway. */
void ch_presence_free(struct ch_presence *p);
/* Writes the note, and again before the note expires. Without effect if the store is not
 * shared. */
void ch_presence_start(struct ch_presence *p);

#endif
