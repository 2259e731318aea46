/* mcp_api.c -- see mcp_api.h.
 *
 *   request --> gateway's token?  yes --> mcp/mcp_server_http.c
 *                   no --> OAuth token? (mcp_token.h) --> the same, as another principal
 *   of a session that another worker has: mcp_relay.h
 *
 * A client with the gateway's token may do everything that the HTTP interface lets it do. A
 * client with an OAuth token sees the sessions that it began itself, and no others. */
#include "gateway/http/mcp_api.h"

#include "agent/handle/agent.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/opts.h"
#include "gateway/http/mcp_ask.h"
#include "gateway/http/mcp_relay.h"
#include "gateway/http/mcp_token.h"
#include "mcp/mcp_server.h"
#include "mcp/mcp_server_http.h"
#include "store/store.h"

#define SESSIONS "chela://sessions/"
#define MOST_KEYS 100 /* suggestions of one completion */

struct ch_mcp_plan {
    chela_mcp_server *server;     /* owned */
    struct ch_mcp_tokens *tokens; /* owned; NULL: none */
};

struct ch_mcp_api {
    chela_gateway *gw;
    chela_mcp_server *server;     /* owned; NULL: nothing is offered */
    struct ch_mcp_tokens *tokens; /* owned; NULL: none */
    struct ch_list asks;          /* calls of mcp_ask.c */
    struct ch_list relays;        /* requests for other workers: mcp_relay.h */
};

/* --- transcripts: read on threads of their own */

/* May the client read the session? */
static bool may_read(const chela_mcp_call *call, const char *key) {
    const char *principal = chela_mcp_call_principal(call);
    CH_BUF_AUTO prefix = {0};

    if (strncmp(principal, CH_MCP_OPERATOR, strlen(CH_MCP_OPERATOR)) == 0)
        return true;
    ch_mcp_ask_prefix(&prefix, principal);
    return strncmp(key, ch_buf_str(&prefix), prefix.n) == 0;
}

static int read_session(chela_mcp_call *call, void *user) {
    const chela_gateway *gw = user;
    const char *key = chela_mcp_call_argument(call, "key");
    char *json = NULL;

    if (!may_read(call, key) || chela_store_show(gw->store, key, &json, NULL) < 0)
        return chela_mcp_result_not_found(call);
    chela_mcp_result_text(call, json, strlen(json));
    chela_free(json);
    return 0;
}

/* The title of a session is text of its first message, which its reader may see. */
static int list_session(const struct chela_store_session *s, void *user) {
    CH_BUF_AUTO uri = {0};

    ch_buf_addf(&uri, SESSIONS "%s", s->key);
    if (may_read(user, s->key))
        chela_mcp_result_link(user, ch_buf_str(&uri), s->title && *s->title ? s->title : s->key,
                              "application/json", NULL);
    return 0;
}

static int list_sessions(chela_mcp_call *call, void *user) {
    const chela_gateway *gw = user;
    const char *principal = chela_mcp_call_principal(call);
    CH_BUF_AUTO prefix = {0};
    struct chela_store_filter filter = CHELA_STORE_FILTER(.limit = CH_LIMIT_MCP_ITEMS);

    if (strncmp(principal, CH_MCP_OPERATOR, strlen(CH_MCP_OPERATOR)) != 0) {
        ch_mcp_ask_prefix(&prefix, principal);
        filter.prefix = ch_buf_str(&prefix);
    }
    return chela_store_list(gw->store, &filter, list_session, call, NULL);
}

static int suggest_key(const struct chela_store_session *s, void *user) {
    if (may_read(user, s->key))
        chela_mcp_result_text(user, s->key, strlen(s->key));
    return 0;
}

static int complete_session(chela_mcp_call *call, void *user) {
    const chela_gateway *gw = user;
    struct chela_store_filter filter = CHELA_STORE_FILTER(
        .prefix = chela_mcp_call_argument(call, "value"), .limit = MOST_KEYS);

    return chela_store_list(gw->store, &filter, suggest_key, call, NULL);
}

/* --- the offer */

static int offer_sessions(chela_mcp_server *s, chela_gateway *gw, struct chela_error *err) {
    struct chela_mcp_resource_opts sessions = CHELA_MCP_RESOURCE_OPTS(
        .uri = SESSIONS "{+key}", .name = "sessions", .description = "A stored conversation.",
        .mime_type = "application/json", .fn = read_session, .complete = complete_session,
        .list = list_sessions, .flags = CH_MCP_LISTS_APART, .user = gw);

    ch_mcp_ask_offer_tasks(s, gw);
    return chela_mcp_server_resource(s, &sessions, err);
}

/* All agents as tools; the tools, files and skills of one. Without a store sessions end with
 * their call. */
static int offer_agents(chela_mcp_server *s, chela_gateway *gw, chela_agent *chosen,
                        struct chela_error *err) {
    unsigned parts = CHELA_MCP_OFFER_TOOLS | CHELA_MCP_OFFER_FILES | CHELA_MCP_OFFER_SKILLS;
    int rc = 0;

    for (chela_agent **a = gw->agents; rc == 0 && *a; a++)
        rc = gw->store ? ch_mcp_ask_offer(s, gw, &gw->mcp->asks, *a, err)
                       : chela_mcp_server_agent(s, *a, CHELA_MCP_OFFER_AGENT, err);
    if (rc == 0)
        rc = chela_mcp_server_agent(s, chosen, parts, err);
    return rc == 0 && gw->store ? offer_sessions(s, gw, err) : rc;
}

int ch_mcp_api_plan(chela_gateway *gw, const struct chela_gateway_opts *o,
                    struct ch_mcp_plan **out, struct chela_error *err) {
    struct chela_mcp_server_opts so = CHELA_MCP_SERVER_OPTS(
        .name = "chela", .version = chela_version(),
        .instructions = "Tools and agents of chela. ask_AGENT gives an agent a task; the other "
                        "tools run at once.");
    struct chela_gateway_mcp opts;

    *out = NULL;
    if (!o->mcp)
        return 0;
    int rc = CH_OPTS_NEED(chela_gateway_mcp, &opts, o->mcp, err);
    chela_agent *chosen = rc == 0 ? ch_gateway_agent(gw, ch_sv_str(opts.agent)) : NULL;
    if (rc == 0 && !chosen)
        rc = ch_fail(err, CHELA_ECONFIG, "gateway.mcp.agent: there is no agent '%s'", opts.agent);
    if (rc < 0)
        return rc;
    struct ch_mcp_plan *p = ch_alloc(sizeof(*p));
    rc = ch_mcp_tokens_new(gw->rt, &opts, &p->tokens, err);
    if (rc == 0)
        rc = chela_mcp_server_new(gw->rt, &so, &p->server, err);
    if (rc == 0)
        rc = offer_agents(p->server, gw, chosen, err);
    if (rc == 0)
        p->server->worker = (unsigned)gw->worker;
    if (rc < 0) {
        ch_mcp_api_drop_plan(p);
        return rc;
    }
    *out = p;
    return 0;
}

void ch_mcp_api_drop_plan(struct ch_mcp_plan *p) {
    if (!p)
        return;
    chela_mcp_server_close(p->server);
    ch_mcp_tokens_free(p->tokens);
    ch_free(p);
}

void ch_mcp_api_apply(struct ch_mcp_api *a, struct ch_mcp_plan *p) {
    ch_mcp_tokens_free(CH_TAKE(a->tokens));
    if (!p) {
        ch_mcp_ask_end(&a->asks);
        chela_mcp_server_close(CH_TAKE(a->server));
    } else if (a->server) {
        ch_mcp_server_adopt(a->server, p->server);
    } else {
        a->server = p->server;
    }
    if (p)
        a->tokens = p->tokens;
    a->gw->challenge = a->tokens ? ch_mcp_tokens_challenge(a->tokens, false) : NULL;
    ch_free(p);
}

struct ch_mcp_api *ch_mcp_api_new(chela_gateway *gw) {
    struct ch_mcp_api *a = ch_alloc(sizeof(*a));

    a->gw = gw;
    ch_list_init(&a->asks);
    ch_list_init(&a->relays);
    return a;
}

void ch_mcp_api_free(struct ch_mcp_api *a) {
    ch_mcp_relays_end(&a->relays);
    ch_mcp_api_apply(a, NULL);
    ch_free(a);
}

bool ch_mcp_api_busy(const struct ch_mcp_api *a) {
    return ch_mcp_relays_busy(&a->relays) || (a->server && ch_mcp_server_busy(a->server));
}

/* --- the answer of a request */

static void api_on_disconnect(struct ch_request *req) {
    ch_mcp_http_gone(req->user);
}

static void api_attach(void *x, struct ch_mcp_stream *stream) {
    struct ch_request *req = x;

    req->user = stream;
    req->on_disconnect = api_on_disconnect;
}

static void api_header(void *x, const char *name, const char *value) {
    ch_request_add_header(x, name, value);
}

static void api_respond(void *x, int status, const char *type, struct ch_sv body) {
    ((struct ch_request *)x)->on_disconnect = NULL;
    ch_request_respond(x, status, type, body);
}

static void api_stream(void *x) {
    ch_request_begin_stream(x);
}

static int api_write(void *x, struct ch_sv bytes) {
    return ch_request_write(x, bytes);
}

static void api_end(void *x) {
    ((struct ch_request *)x)->on_disconnect = NULL;
    ch_request_end_stream(x);
}

static const struct ch_mcp_http_ops api_ops = {
    .attach = api_attach,
    .header = api_header,
    .respond = api_respond,
    .stream = api_stream,
    .write = api_write,
    .end = api_end,
};

/* --- requests */

static void serve_as(struct ch_request *req, const char *principal) {
    size_t worker = ch_mcp_relay_target(req);
    struct ch_mcp_http_request q = {.ops = &api_ops,
                                    .x = req,
                                    .in = ch_exchange_inbound(req->x),
                                    .principal = principal};

    if (worker)
        ch_mcp_relay_start(&req->gw->mcp->relays, req, worker);
    else
        ch_mcp_http_serve(req->gw->mcp->server, &q);
}

static void api_on_checked(const struct ch_mcp_token_answer *answer, void *user) {
    struct ch_request *req = user;
    const struct ch_mcp_tokens *t = req->gw->mcp->tokens;

    req->on_disconnect = NULL;
    if (answer->status == 0)
        serve_as(req, answer->principal);
    else if (answer->status == 503)
        ch_request_fail(req, 503, NULL, "%s", answer->why);
    else
        ch_request_refuse_token(req, answer->status,
                                ch_mcp_tokens_challenge(t, answer->status == 403), answer->why);
}

static void check_on_disconnect(struct ch_request *req) {
    ch_mcp_token_cancel(req->user);
}

static void check_token(struct ch_request *req) {
    const struct ch_inbound *in = ch_exchange_inbound(req->x);
    struct ch_sv shown = ch_inbound_header(in, "authorization");
    bool bearer = ch_inbound_count(in, "authorization") == 1 && shown.n > 7 &&
                  ch_sv_eq_nocase(ch_sv(shown.p, 7), CH_SV("bearer "));
    struct ch_mcp_tokens *t = req->gw->mcp->tokens;

    if (!t || !bearer) {
        ch_request_refuse_token(req, 401, t ? ch_mcp_tokens_challenge(t, false) : "Bearer",
                                "missing or wrong bearer token");
        return;
    }
    req->on_disconnect = NULL;
    struct ch_mcp_token_check *c = ch_mcp_token_check(
        t, ch_sv_trim(ch_sv(shown.p + 7, shown.n - 7)), api_on_checked, req);
    if (c) {
        req->user = c;
        req->on_disconnect = check_on_disconnect;
    }
}

void ch_mcp_api_serve(struct ch_request *req) {
    CH_BUF_AUTO principal = {0};
    char hex[2 * CH_SHA256_SIZE + 1];

    if (!req->gw->mcp->server) {
        ch_request_fail(req, 404, NULL, "/mcp is not served: see gateway.mcp.enabled");
    } else if (ch_auth_has_token(&req->gw->auth, ch_exchange_inbound(req->x))) {
        /* the sessions of a client end when the token is changed */
        ch_sha256_hex(req->gw->auth.token, hex);
        ch_buf_addf(&principal, CH_MCP_OPERATOR "%s", hex);
        serve_as(req, ch_buf_str(&principal));
    } else {
        check_token(req);
    }
}

void ch_mcp_api_metadata(struct ch_request *req) {
    const struct ch_mcp_tokens *t = req->gw->mcp->tokens;
    CH_BUF_AUTO out = {0};

    if (!t) {
        ch_request_fail(req, 404, NULL, "no authorization server is configured");
        return;
    }
    ch_mcp_tokens_metadata(t, &out);
    ch_request_respond_json(req, 200, &out);
}
