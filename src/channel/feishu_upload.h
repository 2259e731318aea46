/* feishu_upload.h -- uploads a file of the workspace; the service returns a key that a
 * message refers to. */
#ifndef CH_CHANNEL_FEISHU_UPLOAD_H
#define CH_CHANNEL_FEISHU_UPLOAD_H
#include "channel/feishu.h"

/* No callback after this; api must be closed before. */
void ch_feishu_upload_drop(struct ch_feishu_upload *u);

#endif
