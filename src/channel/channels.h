/* channels.h -- the list of chat services. */
#ifndef CH_CHANNEL_CHANNELS_H
#define CH_CHANNEL_CHANNELS_H
#include "channel/channel.h"

/* channels.c: NULL if the name is unknown. */
const struct ch_channel_ops *ch_channel_find(const char *name);

/* status: "ok", "warn", "fail". mend: the remedy; NULL: none needed. */
void ch_channel_finding(struct ch_jw *w, const char *channel, const char *status,
                        const char *detail, const char *mend);

#endif
