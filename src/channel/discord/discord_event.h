/* discord_event.h -- messages, files and presses of buttons. */
#ifndef CH_CHANNEL_DISCORD_EVENT_H
#define CH_CHANNEL_DISCORD_EVENT_H
#include "channel/discord/discord.h"

/* The text of an id that consists of digits; NULL: it does not. */
const char *ch_discord_id(const struct ch_json *v, const char *key, struct ch_arena *a);
bool ch_discord_is_id(struct ch_sv s);

void ch_discord_take_message(struct ch_discord *d, const struct ch_json *v, int64_t seq);
/* The press of a button. */
void ch_discord_take_press(struct ch_discord *d, const struct ch_json *v, bool acknowledged);
/* Note the bot's own roles in a server: a mention of one is a mention of the bot. */
void ch_discord_take_roles(struct ch_discord *d, const struct ch_json *guild);
/* A channel or a thread was changed or deleted. */
void ch_discord_forget_place(struct ch_discord *d, const struct ch_json *channel);
/* The server of a channel that is known; NULL: not known. */
const char *ch_discord_guild_of(const struct ch_discord *d, const char *chat);
/* The last seq before the events of the session that are not stored yet. */
int64_t ch_discord_safe_seq(const struct ch_discord *d);
void ch_discord_fetch(void *self, const char *handle, chela_channel_bytes_fn *done, void *tag);
void ch_discord_events_release(struct ch_discord *d);

#endif
