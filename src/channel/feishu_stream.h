/* feishu_stream.h -- an answer that people see grow: a card whose text is replaced,
 * again and again, by all of it so far. */
#ifndef CH_CHANNEL_FEISHU_STREAM_H
#define CH_CHANNEL_FEISHU_STREAM_H
#include "channel/feishu.h"

/* api, borrowed, is closed first. */
struct ch_feishu_stream *ch_feishu_stream_new(const struct ch_channel_host *host,
                                              struct ch_feishu_api *api);

void ch_feishu_stream_free(struct ch_feishu_stream *st);

/* No call, nor a note, is under way. */
bool ch_feishu_stream_is_idle(const struct ch_feishu_stream *st);

/* struct ch_channel_ops' stream: all that the answer to `in` says so far; and that
 * there will be no more of it. */
void ch_feishu_stream_text(struct ch_feishu_stream *st, const struct ch_arrival *in,
                           struct ch_sv text);

void ch_feishu_stream_over(struct ch_feishu_stream *st, const char *to);

/* struct ch_channel_ops' remind, and reminded. */
void ch_feishu_stream_recall(struct ch_feishu_stream *st, const char *id, struct ch_sv data);

void ch_feishu_stream_recalled(struct ch_feishu_stream *st);

/* The answer that goes to `to` begins with text: that becomes what its card shows,
 * and fn is called once, later. false: there is no card. */
bool ch_feishu_stream_end(struct ch_feishu_stream *st, const char *to, struct ch_sv text,
                          ch_feishu_ended_fn *fn, void *user);

/* It was sent, or never will be. */
void ch_feishu_stream_forget(struct ch_feishu_stream *st, const char *to);

#endif
