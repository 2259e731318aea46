/* telegram_act.h -- typing indicator and actions of the model. */
#ifndef CH_CHANNEL_TELEGRAM_ACT_H
#define CH_CHANNEL_TELEGRAM_ACT_H
#include "channel/telegram.h"

void ch_telegram_working(struct ch_channel *c, const struct ch_arrival *in, bool at_work);

void ch_telegram_react(struct ch_channel *c, const char *chat, const char *message,
                       const char *emoji, ch_acted_fn *done, void *tag);

void ch_telegram_unsend(struct ch_channel *c, const char *chat, const char *message,
                        ch_acted_fn *done, void *tag);

void ch_telegram_mute(struct ch_channel *c, const char *chat, const char *member, int64_t seconds,
                      ch_acted_fn *done, void *tag);

void ch_telegram_remove(struct ch_channel *c, const char *chat, const char *member,
                        ch_acted_fn *done, void *tag);

void ch_telegram_act_release(struct ch_telegram *t);

#endif
