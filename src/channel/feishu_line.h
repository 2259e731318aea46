/* feishu_line.h -- the long connection: events come to us over a WebSocket that we
 * open, so no address of ours need be known outside. */
#ifndef CH_CHANNEL_FEISHU_LINE_H
#define CH_CHANNEL_FEISHU_LINE_H
#include "channel/feishu.h"

/* Keeps a connection open from now on. api must outlive it; texts are copied. */
struct ch_feishu_line *ch_feishu_line_new(chela_runtime *rt, struct ch_feishu_api *api,
                                          const char *app_id, const char *secret,
                                          ch_feishu_event_fn *fn, void *user);

/* Hang up, for good. True: nobody acknowledges anything any more. */
bool ch_feishu_line_leave(struct ch_feishu_line *l);

/* All acks that are due are gone with it. */
const char *ch_feishu_line_trouble(const struct ch_feishu_line *l); /* NULL: none */

void ch_feishu_line_close(struct ch_feishu_line *l);

/* code: 200: it need not come again; 500: it should. answer: JSON for the
 * service; n 0: none. */
void ch_feishu_line_ack(struct ch_feishu_ack *a, int code, struct ch_sv answer);

#endif
