/* feishu_post.h -- Markdown as posts, in parts that the service takes. */
#ifndef CH_CHANNEL_FEISHU_POST_H
#define CH_CHANNEL_FEISHU_POST_H
#include "channel/feishu.h"

/* The next part of a text as the `content` of a post; false: there is none. */
bool ch_feishu_part(struct ch_parts *rest, struct ch_buf *content);

/* The same as Markdown. */
bool ch_feishu_cut(struct ch_parts *rest, struct ch_buf *part);

#endif
