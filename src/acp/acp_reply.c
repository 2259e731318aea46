/* acp_reply.c -- see acp_reply.h. */
#include "acp/acp_reply.h"

#include <stdarg.h>

#include "base/error.h"

void ch_acp_reply(struct ch_rpc_request *r, const struct ch_buf *result) {
    ch_rpc_reply(r, ch_buf_sv(result));
}

void ch_acp_refuse(struct ch_rpc_request *r, int64_t code, const char *fmt, ...) {
    CH_BUF_AUTO text = {0};
    va_list ap;
    va_start(ap, fmt);
    ch_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    ch_rpc_refuse(r, code, ch_buf_str(&text), ch_sv(NULL, 0));
}

void ch_acp_refuse_error(struct ch_rpc_request *r, const struct chela_error *err) {
    int64_t code = err->code == CHELA_ENOENT   ? (int64_t)CH_ACP_NOT_FOUND
                   : err->code == CHELA_EINVAL ? (int64_t)CH_RPC_INVALID_PARAMS
                                               : (int64_t)CH_RPC_INTERNAL;
    ch_rpc_refuse(r, code, err->message, ch_sv(NULL, 0));
}

void ch_acp_send_update(struct ch_sv update, void *user) {
    struct ch_acp_session *s = user;
    CH_BUF_AUTO params = {0};
    struct ch_jw w = ch_jw(&params);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "sessionId", s->id);
    ch_jw_kraw(&w, "update", update);
    ch_jw_end(&w, '}');
    ch_rpc_notify(s->acp->peer, "session/update", ch_buf_sv(&params));
}

void ch_acp_notice(struct ch_acp_session *s, const char *severity, const char *title) {
    CH_BUF_AUTO update = {0};
    struct ch_jw w = ch_jw(&update);
    if (!s->acp->client.notices)
        return;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "sessionUpdate", "notice");
    ch_jw_kcstr(&w, "severity", severity);
    ch_jw_kcstr(&w, "title", title);
    ch_jw_end(&w, '}');
    ch_acp_send_update(ch_buf_sv(&update), s);
}
