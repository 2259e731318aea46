/* feishu_out.h -- what people see of an agent: its answers, and that it works. */
#ifndef CH_CHANNEL_FEISHU_OUT_H
#define CH_CHANNEL_FEISHU_OUT_H
#include "channel/feishu.h"

/* What failed is not about this call: the network, the service, our token, or
 * that there were too many. */
bool ch_feishu_may_pass(const struct ch_feishu_answer *a);

/* An id under which the service takes a message once: of part `part` of what has
 * this key. */
void ch_feishu_add_uuid(struct ch_jw *w, const char *key, unsigned part);

/* api and stream, which are borrowed, go first. */
struct ch_feishu_out *ch_feishu_out_new(const struct ch_channel_host *host,
                                        struct ch_feishu_api *api,
                                        struct ch_feishu_stream *stream);

void ch_feishu_out_free(struct ch_feishu_out *o);

void ch_feishu_deliver(struct ch_feishu_out *o, const struct chela_outbound *m);

/* struct ch_channel_ops' react. */
void ch_feishu_react(struct ch_feishu_out *o, const char *message, const char *emoji,
                     ch_acted_fn *done, void *tag);

/* Mark a message that was written at ts, or no longer. */
void ch_feishu_working(struct ch_feishu_out *o, const char *message, int64_t ts, bool at_work);

#endif
