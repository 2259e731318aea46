/* feishu_fetch.h -- fetches what belongs to a message: its sender's name, the quoted
 * message, earlier messages of its topic, its files. */
#ifndef CH_CHANNEL_FEISHU_FETCH_H
#define CH_CHANNEL_FEISHU_FETCH_H
#include "channel/feishu.h"

/* api is borrowed and must be closed first. */
struct ch_feishu_fetch *ch_feishu_fetch_new(chela_runtime *rt, struct ch_feishu_api *api);

void ch_feishu_fetch_free(struct ch_feishu_fetch *d);

/* Implements prepare of struct chela_channel_ops; in->message is a struct ch_feishu_message. */
void ch_feishu_prepare(struct ch_feishu_fetch *d, struct chela_channel_arrival *in,
                       struct ch_arena *a, const char *workspace, void (*done)(void *), void *tag);

#endif
