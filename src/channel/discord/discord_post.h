/* discord_post.h -- messages and files out, typing, reactions, moderation. */
#ifndef CH_CHANNEL_DISCORD_POST_H
#define CH_CHANNEL_DISCORD_POST_H
#include "channel/discord/discord.h"

/* Members of struct chela_channel_ops (chela/sys/channel.h), which states their contracts. */
void ch_discord_post(void *self, const struct chela_channel_post *p, chela_channel_posted_fn *done,
                     void *tag);
void ch_discord_working(void *self, const struct chela_channel_arrival *in, int at_work);
void ch_discord_react(void *self, const char *chat, const char *message, const char *emoji,
                      chela_channel_acted_fn *done, void *tag);
void ch_discord_unsend(void *self, const char *chat, const char *message,
                       chela_channel_acted_fn *done, void *tag);
void ch_discord_mute(void *self, const char *chat, const char *member, int64_t seconds,
                     chela_channel_acted_fn *done, void *tag);
void ch_discord_remove(void *self, const char *chat, const char *member,
                       chela_channel_acted_fn *done, void *tag);

/* Replace a question by its outcome. */
void ch_discord_settle(struct ch_discord *d, const char *channel, const char *message,
                       struct ch_sv text);
void ch_discord_posts_release(struct ch_discord *d);

#endif
