/* wecom_hook.h -- callback mode: requests, and answers that the service fetches. */
#ifndef CH_CHANNEL_WECOM_HOOK_H
#define CH_CHANNEL_WECOM_HOOK_H
#include "channel/wecom/wecom.h"
#include "channel/wecom/wecom_post.h"

void ch_wecom_receive(void *self, const struct chela_channel_callback *in, chela_channel_arena *a,
                      struct chela_channel_verdict *out);
void ch_wecom_hook_post(struct ch_wecom_post *p);
/* Once a second: answers that the service does not fetch are sent. */
void ch_wecom_hook_sweep(struct ch_wecom *w);

#endif
