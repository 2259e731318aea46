/* feishu_act.h -- actions in a chat other than sending: delete a message, remove a member. */
#ifndef CH_CHANNEL_FEISHU_ACT_H
#define CH_CHANNEL_FEISHU_ACT_H
#include "channel/feishu.h"

/* api is borrowed and must be closed first. */
struct ch_feishu_acts *ch_feishu_acts_new(struct ch_feishu_api *api);

void ch_feishu_acts_free(struct ch_feishu_acts *s);

void ch_feishu_unsend(struct ch_feishu_acts *s, const char *message, chela_channel_acted_fn *done,
                      void *tag);

void ch_feishu_remove(struct ch_feishu_acts *s, const char *chat, const char *member,
                      chela_channel_acted_fn *done, void *tag);

#endif
