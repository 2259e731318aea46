/* acp_reply.h -- messages to the editor: answers, refusals, updates of a session. */
#ifndef CH_ACP_REPLY_H
#define CH_ACP_REPLY_H
#include "acp/acp.h"

void ch_acp_reply(struct ch_rpc_request *r, const struct ch_buf *result);
void ch_acp_refuse(struct ch_rpc_request *r, int64_t code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Refuse with the message of err. */
void ch_acp_refuse_error(struct ch_rpc_request *r, const struct chela_error *err);
/* Send the object `update` about a session; user is the session. */
void ch_acp_send_update(struct ch_sv update, void *user);
/* A line for the editor's user, if the editor shows notices. */
void ch_acp_notice(struct ch_acp_session *s, const char *severity, const char *title);

#endif
