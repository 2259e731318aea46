/* telegram_act.h -- typing indicator and actions of the model. */
#ifndef CH_CHANNEL_TELEGRAM_ACT_H
#define CH_CHANNEL_TELEGRAM_ACT_H
#include "channel/telegram.h"

/* Members of struct chela_channel_ops (chela/sys/channel.h), which states their contracts. */
void ch_telegram_working(void *c, const struct chela_channel_arrival *in, int at_work);

void ch_telegram_react(void *c, const char *chat, const char *message, const char *emoji,
                       chela_channel_acted_fn *done, void *tag);

void ch_telegram_unsend(void *c, const char *chat, const char *message,
                        chela_channel_acted_fn *done, void *tag);

void ch_telegram_mute(void *c, const char *chat, const char *member, int64_t seconds,
                      chela_channel_acted_fn *done, void *tag);

void ch_telegram_remove(void *c, const char *chat, const char *member, chela_channel_acted_fn *done,
                        void *tag);

void ch_telegram_act_release(struct ch_telegram *t);

#endif
