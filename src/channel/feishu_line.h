/* feishu_line.h -- the long connection: receives events over an outgoing WebSocket, so the
 * gateway needs no public address. */
#ifndef CH_CHANNEL_FEISHU_LINE_H
#define CH_CHANNEL_FEISHU_LINE_H
#include "channel/feishu.h"

/* Keeps a connection open from now on. host and api must outlive the line; texts are copied. */
struct ch_feishu_line *ch_feishu_line_new(const struct chela_channel_host *host,
                                          struct ch_feishu_api *api, const char *app_id,
                                          const char *secret, ch_feishu_event_fn *fn, void *user);

/* Disconnect permanently. Returns true when no acknowledgement is pending. */
bool ch_feishu_line_leave(struct ch_feishu_line *l);

/* Closing the line frees all pending acks. */
const char *ch_feishu_line_trouble(const struct ch_feishu_line *l); /* NULL: none */

void ch_feishu_line_close(struct ch_feishu_line *l);

/* code 200: received; 500: the service should send the event again. answer: JSON for the
 * service; n 0: none. */
void ch_feishu_line_ack(struct ch_feishu_ack *a, int code, struct ch_sv answer);

#endif
