/* feishu_seal.h -- is a callback what the service sent, to this app, just now? */
#ifndef CH_CHANNEL_FEISHU_SEAL_H
#define CH_CHANNEL_FEISHU_SEAL_H
#include "channel/feishu.h"

/* Open a callback. 0, or the status to refuse it with and *why. */
int ch_feishu_unseal(const struct ch_feishu_keys *k, const struct ch_callback *in,
                     struct ch_arena *a, struct ch_feishu_letter *out, const char **why);

/* What came over a connection of our own: it needs no seal, and must be for us. */
int ch_feishu_unwrap(const struct ch_feishu_keys *k, const struct ch_json *v,
                     struct ch_feishu_letter *out, const char **why);

#endif
