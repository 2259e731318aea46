/* feishu_post.h -- splits Markdown into posts that the service accepts. */
#ifndef CH_CHANNEL_FEISHU_POST_H
#define CH_CHANNEL_FEISHU_POST_H
#include "channel/feishu.h"

/* The next part of a text as the `content` of a post; false at the end. */
bool ch_feishu_part(struct ch_parts *rest, struct ch_buf *content);

/* The next part as Markdown. */
bool ch_feishu_cut(struct ch_parts *rest, struct ch_buf *part);

#endif
