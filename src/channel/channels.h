/* channels.h -- the chat services there are. */
#ifndef CH_CHANNEL_CHANNELS_H
#define CH_CHANNEL_CHANNELS_H
#include "channel/channel.h"

/* channels.c: NULL if there is none of that name. */
const struct ch_channel_ops *ch_channel_find(const char *name);

/* status: "ok", "warn", "fail". mend: what helps; NULL: nothing need be done. */
void ch_channel_finding(struct ch_jw *w, const char *channel, const char *status,
                        const char *detail, const char *mend);

#endif
