/* mcp_servers_api.c -- see mcp_servers_api.h. */
#include "gateway/http/mcp_servers_api.h"

#include "base/error.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "mcp/mcp_client.h"
#include "mcp/mcp_tools.h"

static void mcp_servers_write(struct ch_jw *w, chela_mcp *m) {
    char *state = chela_mcp_state_json(m);
    ch_jw_raw(w, ch_sv_str(state));
    chela_free(state);
}

void ch_mcp_servers_list(struct ch_request *req) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "servers", '[');
    for (chela_mcp *m = NULL; (m = ch_mcp_next(req->gw->rt, m));)
        mcp_servers_write(&w, m);
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, 200, &out);
}

/* --- listing the tools of one server */

struct mcp_listing {
    struct ch_request *request; /* NULL: the client has left */
    chela_mcp *mcp;
};

static void mcp_listing_on_disconnect(struct ch_request *req) {
    struct mcp_listing *l = req->user;
    l->request = NULL;
}

/* A failure is a part of the state. */
static void mcp_listing_done(const struct chela_error *err, void *user) {
    struct mcp_listing *l = user;
    struct ch_request *req = l->request;
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    if (req) {
        req->on_disconnect = NULL;
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "error", err ? err->message : NULL);
        ch_jw_key(&w, "server");
        mcp_servers_write(&w, l->mcp);
        ch_jw_end(&w, '}');
        ch_request_respond_json(req, 200, &out);
    }
    ch_free(l);
}

void ch_mcp_servers_act(struct ch_request *req) {
    struct ch_sv action = ch_json_get_str(req->json, "action");
    CH_AUTOFREE char *name = ch_strndup(req->param.p, req->param.n);
    chela_mcp *m = chela_mcp_find(req->gw->rt, name);
    bool accept = ch_sv_is(action, "accept");
    if (!m) {
        ch_request_fail(req, 404, NULL, "there is no MCP server of this name");
    } else if (!accept && !ch_sv_is(action, "check")) {
        ch_request_fail(req, 400, NULL, "`action` must be check or accept");
    } else if (ch_mcp_tools_is_listing(m)) {
        ch_request_fail(req, 409, NULL, "the tools of this server are being listed: try again");
    } else {
        struct mcp_listing *l = ch_alloc(sizeof(*l));
        *l = (struct mcp_listing){req, m};
        req->user = l;
        req->on_disconnect = mcp_listing_on_disconnect;
        ch_mcp_tools_list(m, accept, mcp_listing_done, l);
    }
}
