/* feishu_out.h -- sends answers and typing marks. */
#ifndef CH_CHANNEL_FEISHU_OUT_H
#define CH_CHANNEL_FEISHU_OUT_H
#include "channel/feishu.h"

/* True for transient failures: network, service, token, rate limit. */
bool ch_feishu_may_pass(const struct ch_feishu_answer *a);

/* Write the idempotency id of part `part` of the message with this key; the service accepts
 * each id once. */
void ch_feishu_add_uuid(struct ch_jw *w, const char *key, unsigned part);

/* api and stream are borrowed and must be closed first. */
struct ch_feishu_out *ch_feishu_out_new(const struct chela_channel_host *host,
                                        struct ch_feishu_api *api, struct ch_feishu_stream *stream);

void ch_feishu_out_free(struct ch_feishu_out *o);

void ch_feishu_deliver(struct ch_feishu_out *o, const struct chela_outbound *m);

/* Implements react of struct chela_channel_ops. */
void ch_feishu_react(struct ch_feishu_out *o, const char *message, const char *emoji,
                     chela_channel_acted_fn *done, void *tag);

/* Add or remove the typing mark of a message that was written at ts. */
void ch_feishu_working(struct ch_feishu_out *o, const char *message, int64_t ts, int at_work);

#endif
