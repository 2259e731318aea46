/* discord_line.h -- the Gateway of Discord: identify, resume, heartbeats. */
#ifndef CH_CHANNEL_DISCORD_LINE_H
#define CH_CHANNEL_DISCORD_LINE_H
#include "channel/discord/discord.h"

/* Disconnects; the session can be continued. _leave stores the position in the session first. */
void ch_discord_line_leave(struct ch_discord *d);
void ch_discord_line_stop(struct ch_discord *d);
/* An event was stored, or not: rc as in chela_accepted_fn. */
void ch_discord_line_stored(struct ch_discord *d, int rc);
void ch_discord_remind(void *self, const char *id, struct chela_text data);
void ch_discord_reminded(void *self);

#endif
