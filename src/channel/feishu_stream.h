/* feishu_stream.h -- streamed answers: a card whose text is repeatedly replaced by the
 * answer so far. */
#ifndef CH_CHANNEL_FEISHU_STREAM_H
#define CH_CHANNEL_FEISHU_STREAM_H
#include "channel/feishu.h"

/* api is borrowed and must be closed first. */
struct ch_feishu_stream *ch_feishu_stream_new(const struct chela_channel_host *host,
                                              struct ch_feishu_api *api);

void ch_feishu_stream_free(struct ch_feishu_stream *st);

/* True if no call and no note is in progress. */
bool ch_feishu_stream_is_idle(const struct ch_feishu_stream *st);

/* Implements stream of struct chela_channel_ops: the answer to `in` so far; and its end. */
void ch_feishu_stream_text(struct ch_feishu_stream *st, const struct chela_channel_arrival *in,
                           struct ch_sv text);

void ch_feishu_stream_over(struct ch_feishu_stream *st, const char *to);

/* Implements remind and reminded of struct chela_channel_ops. */
void ch_feishu_stream_recall(struct ch_feishu_stream *st, const char *id, struct ch_sv data);

void ch_feishu_stream_recalled(struct ch_feishu_stream *st);

/* The answer to `to` begins with text: the card is updated to text, and fn is called once,
 * later. False: there is no card. */
bool ch_feishu_stream_end(struct ch_feishu_stream *st, const char *to, struct ch_sv text,
                          ch_feishu_ended_fn *fn, void *user);

/* The answer was sent, or never will be. */
void ch_feishu_stream_forget(struct ch_feishu_stream *st, const char *to);

#endif
