/* feishu_fetch.h -- what belongs to a message and has to be asked for: its sender's
 * name, the message that it answers, what was said in its topic before, the files that
 * came with it. */
#ifndef CH_CHANNEL_FEISHU_FETCH_H
#define CH_CHANNEL_FEISHU_FETCH_H
#include "channel/feishu.h"

/* api, borrowed, is closed first. */
struct ch_feishu_fetch *ch_feishu_fetch_new(chela_runtime *rt, struct ch_feishu_api *api);

void ch_feishu_fetch_free(struct ch_feishu_fetch *d);

/* struct ch_channel_ops' prepare; in->message is a struct ch_feishu_message. */
void ch_feishu_prepare(struct ch_feishu_fetch *d, struct ch_arrival *in, struct ch_arena *a,
                       const char *workspace, void (*done)(void *), void *tag);

#endif
