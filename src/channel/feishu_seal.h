/* feishu_seal.h -- verifies that a callback is genuine, recent and for this app. */
#ifndef CH_CHANNEL_FEISHU_SEAL_H
#define CH_CHANNEL_FEISHU_SEAL_H
#include "channel/feishu.h"

/* Verify and decrypt a callback; json: its body. Returns 0, or the HTTP status of the refusal and
 * *why. */
int ch_feishu_unseal(const struct ch_feishu_keys *k, const struct chela_channel_callback *in,
                     const struct ch_json *json, struct ch_arena *a, struct ch_feishu_letter *out,
                     const char **why);

/* Check an event of the long connection: it needs no signature but must be for this app. */
int ch_feishu_unwrap(const struct ch_feishu_keys *k, const struct ch_json *v,
                     struct ch_feishu_letter *out, const char **why);

#endif
