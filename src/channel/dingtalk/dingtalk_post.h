/* dingtalk_post.h -- messages, cards and files out, actions. */
#ifndef CH_CHANNEL_DINGTALK_POST_H
#define CH_CHANNEL_DINGTALK_POST_H
#include "channel/dingtalk/dingtalk.h"

/* Members of struct chela_channel_ops (chela/sys/channel.h), which states their contracts. */
void ch_dingtalk_post(void *self, const struct chela_channel_post *p, chela_channel_posted_fn *done,
                      void *tag);
void ch_dingtalk_working(void *self, const struct chela_channel_arrival *in, int at_work);
void ch_dingtalk_react(void *self, const char *chat, const char *message, const char *emoji,
                       chela_channel_acted_fn *done, void *tag);
void ch_dingtalk_unsend(void *self, const char *chat, const char *message,
                        chela_channel_acted_fn *done, void *tag);
void ch_dingtalk_mute(void *self, const char *chat, const char *member, int64_t seconds,
                      chela_channel_acted_fn *done, void *tag);
void ch_dingtalk_remind(void *self, const char *id, struct chela_text data);
void ch_dingtalk_reminded(void *self);

/* A press of a button of the card `track` by `user`. done is called if the result is nonzero: the
 * decision is being stored. */
int ch_dingtalk_press(struct ch_dingtalk *d, const char *track, const char *user, const char *word,
                      chela_accepted_fn *done, void *tag);
void ch_dingtalk_posts_release(struct ch_dingtalk *d);
/* Notes the conversation of a direct chat. */
void ch_dingtalk_room(struct ch_dingtalk *d, const char *chat, struct ch_sv conversation);

#endif
