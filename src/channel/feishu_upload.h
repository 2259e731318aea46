/* feishu_upload.h -- a file of the workspace to the service: what it gives for it, a
 * key, is what a message shows. */
#ifndef CH_CHANNEL_FEISHU_UPLOAD_H
#define CH_CHANNEL_FEISHU_UPLOAD_H
#include "channel/feishu.h"

/* No callback after this; api was closed. */
void ch_feishu_upload_drop(struct ch_feishu_upload *u);

#endif
