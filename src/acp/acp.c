/* acp.c -- a connection with an editor: messages in and out. */
#include "acp/acp.h"

#include "acp/acp_reply.h"
#include "acp/acp_session.h"
#include "acp/acp_turn.h"
#include "agent/handle/runtime.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/opts.h"
#include "io/loop_entry.h"

/* --- versions --------------------------------------------------------------------------- */

/* Keys of model services come from the environment: there is nothing to log in to. */
static void acp_authenticate(chela_acp *acp, struct ch_rpc_request *r,
                             const struct ch_json *params) {
    (void)acp;
    (void)params;
    ch_acp_refuse(r, CH_RPC_INVALID_PARAMS, "authenticate: chela has no method to log in");
}

static const struct ch_acp_method methods_1[] = {
    {"authenticate", acp_authenticate},
    {"session/new", ch_acp_session_new},
    {"session/load", ch_acp_session_load},
    {"session/resume", ch_acp_session_resume},
    {"session/list", ch_acp_session_list},
    {"session/close", ch_acp_session_close},
    {"session/delete", ch_acp_session_delete},
    {"session/set_mode", ch_acp_session_mode},
    {"session/set_config_option", ch_acp_session_option},
    {"session/prompt", ch_acp_turn_prompt},
    {NULL, NULL},
};

static const struct ch_acp_version versions[] = { /* the newest first */
    {1, methods_1, ch_acp_update_event, ch_acp_update_message},
};

/* The editor's version, or else the newest. */
static const struct ch_acp_version *choose_version(int64_t number) {
    for (size_t i = 0; i < CH_LEN(versions); i++)
        if (versions[i].number == number)
            return &versions[i];
    return &versions[0];
}

/* --- initialize ------------------------------------------------------------------------- */

static void write_capabilities(struct ch_jw *w) {
    static const char *const session[] = {"list", "resume", "close", "delete"};
    ch_jw_begin(w, '{');
    ch_jw_kbool(w, "loadSession", true);
    ch_jw_kbegin(w, "promptCapabilities", '{');
    ch_jw_kbool(w, "image", true);
    ch_jw_kbool(w, "audio", false);
    ch_jw_kbool(w, "embeddedContext", true);
    ch_jw_end(w, '}');
    ch_jw_kbegin(w, "mcpCapabilities", '{');
    ch_jw_kbool(w, "http", true);
    ch_jw_kbool(w, "sse", false);
    ch_jw_end(w, '}');
    ch_jw_kbegin(w, "sessionCapabilities", '{');
    for (size_t i = 0; i < CH_LEN(session); i++)
        ch_jw_kraw(w, session[i], CH_SV("{}"));
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

static void acp_initialize(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params) {
    const struct ch_json *can = ch_json_get(params, "clientCapabilities");
    const struct ch_json *session = ch_json_get(can, "session");
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);

    const struct ch_json *number = ch_json_get(params, "protocolVersion");
    if (!ch_json_is(number, CH_JSON_NUMBER)) {
        ch_acp_refuse(r, CH_RPC_INVALID_PARAMS, "initialize: protocolVersion must be a number");
        return;
    }
    acp->client.notices = ch_json_is(ch_json_get(session, "notices"), CH_JSON_OBJECT);
    acp->client.compaction = ch_json_is(ch_json_get(session, "compaction"), CH_JSON_OBJECT);
    acp->client.reads = ch_json_bool(ch_json_path(can, "fs", "readTextFile", NULL), false);
    acp->client.writes = ch_json_bool(ch_json_path(can, "fs", "writeTextFile", NULL), false);
    acp->client.forms = ch_json_is(ch_json_path(can, "elicitation", "form", NULL), CH_JSON_OBJECT);
    acp->version = choose_version(ch_json_int(number, 0));
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "protocolVersion", acp->version->number);
    ch_jw_key(&w, "agentCapabilities");
    write_capabilities(&w);
    ch_jw_kbegin(&w, "agentInfo", '{');
    ch_jw_kcstr(&w, "name", "chela");
    ch_jw_kcstr(&w, "title", "chela");
    ch_jw_kcstr(&w, "version", chela_version());
    ch_jw_end(&w, '}');
    ch_jw_kraw(&w, "authMethods", CH_SV("[]"));
    ch_jw_end(&w, '}');
    ch_acp_reply(r, &out);
}

/* --- messages --------------------------------------------------------------------------- */

static void on_request(struct ch_rpc_request *r, const struct ch_rpc_message *m, void *user) {
    chela_acp *acp = user;
    int shown = (int)CH_MIN(m->method.n, (size_t)80);
    if (ch_sv_is(m->method, "initialize")) {
        acp_initialize(acp, r, m->params);
        return;
    }
    if (!acp->version) {
        ch_acp_refuse(r, CH_RPC_INVALID_REQUEST, "%.*s: initialize comes first", shown,
                      m->method.p);
        return;
    }
    for (const struct ch_acp_method *k = acp->version->methods; k->name; k++)
        if (ch_sv_is(m->method, k->name)) {
            k->fn(acp, r, m->params);
            return;
        }
    ch_acp_refuse(r, CH_RPC_NO_METHOD, "there is no method '%.*s'", shown, m->method.p);
}

static void on_notification(const struct ch_rpc_message *m, void *user) {
    chela_acp *acp = user;
    if (ch_sv_is(m->method, "session/cancel")) {
        struct ch_acp_session *s = ch_acp_session_of(acp, NULL, m->params);
        if (s)
            ch_acp_turn_cancel(s);
    }
}

static int send_line(struct ch_sv message, int64_t id, void *tag, void *user) {
    chela_acp *acp = user;
    CH_BUF_AUTO line = {0};
    (void)id;
    (void)tag;
    ch_buf_add_sv(&line, message);
    ch_buf_addc(&line, '\n');
    acp->inside++;
    acp->host.write(line.p, line.n, acp->host.user);
    acp->inside--;
    return CHELA_OK;
}

static bool on_line(struct ch_sv line, void *user) {
    chela_acp *acp = user;
    struct chela_error err = {0};
    if (ch_rpc_receive(acp->peer, line, &err) < 0)
        ch_log(CH_LOG_WARN, "acp", "%s", err.message);
    return true;
}

/* --- the connection ---------------------------------------------------------------------- */

int chela_acp_new(chela_runtime *rt, const struct chela_acp_opts *opts, chela_acp **out,
                  struct chela_error *err) {
    CH_NEEDS_ARG(out, err);
    *out = NULL;
    CH_ENTER(rt, rt->loop, err);
    struct chela_acp_opts host;
    int rc = CH_OPTS_NEED(chela_acp_opts, &host, opts, err);
    if (rc < 0)
        return rc;
    if (!host.write || !host.enter || !host.leave || !host.trust || !host.agent || !host.drop)
        return ch_fail(err, CHELA_EINVAL, "chela_acp_opts: a function is missing");
    chela_acp *acp = ch_alloc(sizeof(*acp));
    acp->rt = rt;
    acp->host = host;
    ch_list_init(&acp->sessions);
    ch_list_init(&acp->places);
    ch_rpc_lines_init(&acp->lines, CH_LIMIT_ACP_MESSAGE, on_line, acp);
    struct ch_rpc_peer_opts peer = {.loop = rt->loop,
                                    .send = send_line,
                                    .request = on_request,
                                    .notification = on_notification,
                                    .cancel_method = "$/cancel_request",
                                    .answers_cancelled = true,
                                    .user = acp};
    acp->peer = ch_rpc_peer_new(&peer);
    *out = acp;
    return CHELA_OK;
}

int chela_acp_feed(chela_acp *acp, const char *p, size_t n, struct chela_error *err) {
    CH_ENTER(acp, acp->rt->loop, err);
    if (acp->inside)
        return ch_fail(err, CHELA_EBUSY, "chela_acp_feed: called from a function of its options");
    acp->inside++;
    int rc = ch_rpc_lines_feed(&acp->lines, ch_sv(p, n), err);
    acp->inside--;
    return rc;
}

int chela_acp_busy(const chela_acp *acp) {
    CH_ENTER_OR(acp, acp->rt->loop, NULL, 0);
    for (CH_LIST_EACH(k, &acp->sessions)) {
        const struct ch_acp_session *s = CH_CONTAINER(k, struct ch_acp_session, link);
        if (s->run || s->opening)
            return 1;
    }
    return 0;
}

void chela_acp_close(chela_acp *acp) {
    CH_ENTER_OR(acp, acp->rt->loop, NULL, );
    if (!acp || acp->inside)
        return;
    for (struct ch_acp_session *s;
         (s = CH_LIST_FIRST(&acp->sessions, struct ch_acp_session, link));)
        ch_acp_session_free(s);
    ch_rpc_peer_close(acp->peer);
    ch_rpc_lines_release(&acp->lines);
    ch_free(acp);
}
