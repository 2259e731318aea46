/* channel_host.h -- the services that a channel gets from the library: struct
 * chela_channel_host. Timers, sockets and requests that a channel leaves behind end with
 * it. */
#ifndef CH_CHANNEL_CHANNEL_HOST_H
#define CH_CHANNEL_CHANNEL_HOST_H
#include "channel/channel.h"

/* Fills c->host. */
void ch_channel_host_init(struct ch_channel *c);
/* No callback of a service after this. */
void ch_channel_host_cancel(struct ch_channel *c);
void ch_channel_host_release(struct ch_channel *c);

/* Whether a URL may carry secrets: https or wss, or a loopback address. */
bool ch_channel_is_safe_url(const char *url);

#endif
