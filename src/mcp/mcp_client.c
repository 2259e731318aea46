/* mcp_client.c -- see mcp_client.h. */
#include "mcp/mcp_client.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "mcp/mcp_ask.h"
#include "mcp/mcp_auth.h"
#include "mcp/mcp_http.h"
#include "mcp/mcp_protocol.h"
#include "mcp/mcp_server_connection.h"
#include "mcp/mcp_stdio.h"

struct ch_mcp_op {
    struct ch_link link;
    chela_mcp *mcp;
    char *method, *members, *meta, *name, *headers; /* owned */
    char *input;                                    /* owned: members of a repeated request */
    int64_t timeout_ms;
    int64_t id; /* 0: waits for the connection */
    unsigned rounds, logins;
    unsigned token; /* m->tokens when the request was sent */
    bool repeated; /* sent again after the session was lost */
    bool takes_input, takes_task, asks_task;
    bool *freed; /* set when the request is freed; NULL: nobody asks */
    struct ch_timer later; /* before the request is sent */
    struct chela_error failed;
    char *hit;           /* owned: a kept result, which is reported; NULL: none */
    struct ch_task fail; /* reports `hit` or `failed` */
    void (*progress)(struct ch_sv text, void *user);
    bool (*elicit)(struct ch_rpc_request *r, const struct ch_rpc_message *msg, void *user);
    ch_mcp_done_fn *done;
    void *user;
};

static void send_op(struct ch_mcp_op *op);
static void connection_failed(chela_mcp *m, const struct chela_error *err);

/* --- requests */

static void free_op(struct ch_mcp_op *op) {
    if (!op->id && !ch_timer_armed(&op->later))
        op->mcp->nwaiting--;
    if (op->freed)
        *op->freed = true;
    ch_task_cancel(op->mcp->rt->loop, &op->fail);
    ch_timer_stop(op->mcp->rt->loop, &op->later);
    ch_list_del(&op->link);
    ch_free(op->method);
    ch_free(op->members);
    ch_free(op->meta);
    ch_free(op->name);
    ch_free(op->headers);
    ch_free(op->input);
    ch_free(op->hit);
    ch_free(op);
}

static void end_op(struct ch_mcp_op *op, const struct ch_mcp_reply *r) {
    ch_mcp_done_fn *done = op->done;
    void *user = op->user;

    free_op(op);
    done(r, user);
}

static void fail_op(struct ch_mcp_op *op, const struct chela_error *err) {
    struct ch_mcp_reply r = {.err = *err};

    end_op(op, &r);
}

static void on_fail_op(struct ch_task *t) {
    struct ch_mcp_op *op = CH_CONTAINER(t, struct ch_mcp_op, fail);
    CH_ARENA_AUTO arena = {0};
    struct ch_mcp_reply r = {0};

    if (op->hit && ch_json_parse(&arena, ch_arena_sv(&arena, ch_sv_str(op->hit)), CH_JSON_STRICT,
                                 &r.result, NULL, NULL) == 0)
        end_op(op, &r);
    else
        fail_op(op, &op->failed);
}

static void fail_op_later(struct ch_mcp_op *op, const struct chela_error *err) {
    op->failed = *err;
    ch_task_defer(op->mcp->rt->loop, &op->fail);
}

void ch_mcp_cancel(struct ch_mcp_op *op) {
    chela_mcp *m = op->mcp;
    int64_t id = op->id;

    free_op(op);
    if (!id || !m->peer)
        return;
    ch_rpc_forget(m->peer, id, true);
    if (m->link->ops->forget)
        m->link->ops->forget(m->link, id);
}

/* --- messages */

static int client_send(struct ch_sv message, int64_t id, void *tag, void *user) {
    chela_mcp *m = user;
    struct ch_mcp_send s = {.id = id};

    if (tag)
        s = *(struct ch_mcp_send *)tag;
    s.message = message;
    s.id = id;
    s.modern = m->modern;
    /* the handshake has no version header yet */
    s.version = m->state == CH_MCP_INITIALIZING && !m->modern ? NULL : m->version;
    if (m->state == CH_MCP_READY && !s.version[0])
        s.version = NULL;
    /* closing the stream of a request is its cancellation */
    if (m->modern && !tag && m->opts.url)
        return 0;
    return m->link->ops->send(m->link, &s);
}

/* asks: a person can be asked. extension: that the request uses; NULL: none. */
static void write_capabilities(chela_mcp *m, struct ch_jw *w, bool asks, const char *extension) {
    ch_jw_begin(w, '{');
    if (m->opts.input || asks) {
        ch_jw_kraw(w, "elicitation",
                   m->modern ? CH_SV("{\"form\":{},\"url\":{}}") : CH_SV("{\"form\":{}}"));
    }
    if (m->opts.input || (m->opts.sampling && asks))
        ch_jw_kraw(w, "sampling", CH_SV("{}"));
    if (m->opts.input || m->opts.roots)
        ch_jw_kraw(w, "roots", CH_SV("{}"));
    if (extension) {
        ch_jw_kbegin(w, "extensions", '{');
        ch_jw_kraw(w, extension, CH_SV("{}"));
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, '}');
}

static void write_info(struct ch_jw *w) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", "chela");
    ch_jw_kcstr(w, "title", "chela");
    ch_jw_kcstr(w, "version", chela_version());
    ch_jw_end(w, '}');
}

static const char *extension_of(const struct ch_mcp_op *op) {
    if (op && op->takes_task)
        return CH_MCP_TASKS;
    return op && strncmp(op->method, "skills/", 7) == 0 ? CH_MCP_SKILLS : NULL;
}

/* The parameters of a request: its members, and the metadata of the era. */
static void write_params(chela_mcp *m, struct ch_buf *out, const struct ch_mcp_op *op,
                         struct ch_sv members) {
    struct ch_jw w = ch_jw(out);
    bool token = op && op->progress;

    ch_buf_addc(out, '{');
    if (members.n)
        ch_jw_raw(&w, members);
    if (op && op->input)
        ch_jw_raw(&w, ch_sv_str(op->input));
    if (op && op->asks_task && m->tasks && !m->modern)
        ch_jw_kraw(&w, "task", CH_SV("{}"));
    if (m->modern || token || (op && *op->meta)) {
        ch_jw_kbegin(&w, "_meta", '{');
        if (m->modern) {
            ch_jw_kcstr(&w, CH_MCP_META "protocolVersion", CH_MCP_MODERN);
            ch_jw_key(&w, CH_MCP_META "clientInfo");
            write_info(&w);
            ch_jw_key(&w, CH_MCP_META "clientCapabilities");
            write_capabilities(m, &w, op && op->takes_input, extension_of(op));
            if (op && m->opts.log_level)
                ch_jw_kcstr(&w, CH_MCP_META "logLevel", m->opts.log_level);
        }
        if (token)
            ch_jw_kint(&w, "progressToken", ch_rpc_next_id(m->peer));
        if (op && *op->meta)
            ch_jw_raw(&w, ch_sv_str(op->meta));
        ch_jw_end(&w, '}');
    }
    ch_buf_addc(out, '}');
}

/* --- input that the server asks for */

/* Append the answer to a request for input; false: refused. */
static bool answer_input(chela_mcp *m, const char *method, const struct ch_json *params,
                         struct ch_buf *out) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    const struct ch_json *answer;

    if (m->opts.roots && strcmp(method, "roots/list") == 0) {
        ch_mcp_roots(out, m->opts.roots);
        return true;
    }
    if (!m->opts.input)
        return false;
    if (params)
        ch_jw_value(&w, params);
    else
        ch_jw_raw(&w, CH_SV("{}"));
    char *said = m->opts.input(method, ch_buf_str(&text), m->opts.user);
    if (!said)
        return false;
    struct ch_sv copy = ch_arena_sv(&arena, ch_sv_str(said));
    free(said);
    if (ch_json_parse(&arena, copy, CH_JSON_STRICT, &answer, NULL, NULL) < 0 ||
        answer->type != CH_JSON_OBJECT)
        return false;
    if (strcmp(method, "elicitation/create") == 0)
        ch_mcp_fill_defaults(out, params, answer);
    else
        ch_buf_add_sv(out, copy);
    return true;
}

static bool is_input_method(struct ch_sv method) {
    return ch_sv_is(method, "elicitation/create") || ch_sv_is(method, "sampling/createMessage") ||
           ch_sv_is(method, "roots/list");
}

/* Write the answers to the requests. CHELA_ECANCELED: the function that answers closed the
 * client, and op is freed. */
static int answer_all(struct ch_mcp_op *op, const struct ch_json *requests, struct ch_jw *w,
                      struct chela_error *err) {
    ch_jw_kbegin(w, "inputResponses", '{');
    for (CH_JSON_MEMBERS(key, request, requests)) {
        struct ch_sv method = ch_json_get_str(request, "method");
        CH_BUF_AUTO name = {0};
        CH_BUF_AUTO answer = {0};
        bool freed = false;
        ch_buf_add_sv(&name, method);
        op->freed = &freed;
        bool ok = is_input_method(method) &&
                  answer_input(op->mcp, ch_buf_str(&name), ch_json_get(request, "params"), &answer);
        if (freed)
            return CHELA_ECANCELED;
        op->freed = NULL;
        if (!ok)
            return ch_fail(err, CHELA_EPROTO, "the server asks for input (%s), and nobody can "
                           "give it", ch_buf_str(&name));
        ch_jw_key_sv(w, ch_json_str(key));
        ch_jw_raw(w, ch_buf_sv(&answer));
    }
    ch_jw_end(w, '}');
    return 0;
}

/* Gather the members with which the request is repeated. Errors as of answer_all. */
static int gather_input(struct ch_mcp_op *op, const struct ch_json *result,
                        struct chela_error *err) {
    const struct ch_json *requests = ch_json_get(result, "inputRequests");
    const struct ch_json *state = ch_json_get(result, "requestState");
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);

    int rc = ch_mcp_ask_check(requests, state, ++op->rounds, err);
    if (rc == 0 && requests)
        rc = answer_all(op, requests, &w, err);
    if (rc < 0)
        return rc;
    if (state)
        ch_jw_kvalue(&w, "requestState", state);
    ch_free(op->input);
    op->input = ch_buf_take(&out);
    return 0;
}

/* --- responses */

/* Caches a result if the server allows it. Results of repeated requests are not cached,
 * because they depend on a person's input. */
static void keep_result(struct ch_mcp_op *op, const struct ch_json *result) {
    chela_mcp *m = op->mcp;
    int64_t ttl = ch_json_int(ch_json_get(result, "ttlMs"), 0);
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);

    if (!m->modern || op->input || ttl <= 0 || !ch_mcp_cache_takes(op->method))
        return;
    ch_jw_value(&w, result);
    ch_mcp_cache_add(&m->cache, op->method, op->members, ch_buf_sv(&text), ttl,
                     ch_mono_ms(ch_loop_clock(m->rt->loop)));
}

static void take_result(struct ch_mcp_op *op, const struct ch_json *result) {
    struct ch_sv type = ch_json_get_str(result, "resultType");
    struct chela_error err = {0};

    if (!op->mcp->modern || !type.p || ch_sv_is(type, "complete") ||
        (op->takes_task && ch_sv_is(type, "task"))) {
        if (ch_json_is(result, CH_JSON_OBJECT)) {
            keep_result(op, result);
            end_op(op, &(struct ch_mcp_reply){.result = result});
            return;
        }
        ch_fail(&err, CHELA_EPROTO, "the result is not an object");
    } else if (!ch_sv_is(type, "input_required"))
        ch_fail(&err, CHELA_EPROTO, "the result has an unknown type");
    else if (op->takes_input && !op->mcp->opts.input) {
        end_op(op, &(struct ch_mcp_reply){.input = result});
        return;
    } else {
        int rc = gather_input(op, result, &err);
        if (rc == 0)
            send_op(op);
        if (rc == 0 || rc == CHELA_ECANCELED)
            return;
    }
    fail_op(op, &err);
}

static void op_done(const struct ch_rpc_message *msg, const struct chela_error *err, void *user) {
    struct ch_mcp_op *op = user;
    chela_mcp *m = op->mcp;
    struct ch_mcp_reply r = {0};

    if (msg && msg->kind == CH_RPC_RESULT) {
        m->failures = 0;
        take_result(op, msg->result);
        return;
    }
    if (msg) {
        r.code = msg->code;
        struct ch_sv text = ch_sv(msg->text.p, CH_MIN(msg->text.n, 500));
        ch_fail(&r.err, CHELA_EPROTO, "the server answered with error %lld: %.*s",
                (long long)msg->code, CH_SV_FMT(text));
    } else {
        r.err = *err;
        if (m->link && m->link->ops->forget)
            m->link->ops->forget(m->link, op->id);
    }
    end_op(op, &r);
}

static void send_op(struct ch_mcp_op *op) {
    chela_mcp *m = op->mcp;
    CH_BUF_AUTO params = {0};
    CH_BUF_AUTO name = {0};
    struct ch_mcp_send s = {.method = op->method};

    write_params(m, &params, op, ch_sv_str(op->members));
    if (m->modern) {
        if (*op->name)
            ch_mcp_header_value(&name, ch_sv_str(op->name));
        s.name = ch_buf_sv(&name);
        s.headers = ch_sv_str(op->headers);
    }
    if (!op->id)
        m->nwaiting--;
    op->token = m->tokens;
    op->id = ch_rpc_call(m->peer, op->method, ch_buf_sv(&params), op->timeout_ms, &s, op_done, op);
}

/* --- the connection */

/* The request with this id that was sent and has not failed; NULL: none. Requests of the
 * handshake are not in the list. */
static struct ch_mcp_op *find_op(const chela_mcp *m, int64_t id) {
    for (CH_LIST_EACH(k, &m->ops)) {
        struct ch_mcp_op *op = CH_CONTAINER(k, struct ch_mcp_op, link);
        if (id && op->id == id && !op->failed.code)
            return op;
    }
    return NULL;
}

static void client_on_progress(chela_mcp *m, const struct ch_json *params) {
    const struct ch_json *token = ch_json_get(params, "progressToken");
    CH_BUF_AUTO text = {0};
    struct ch_mcp_op *op = find_op(m, ch_json_int(token, 0));

    if (!op || !op->progress)
        return; /* the request has no token */
    ch_rpc_touch(m->peer, op->id);
    double at = ch_json_double(ch_json_get(params, "progress"), 0);
    double total = ch_json_double(ch_json_get(params, "total"), 0);
    struct ch_sv said = ch_json_get_str(params, "message");
    if (said.n)
        ch_buf_addf(&text, "%.*s", (int)CH_MIN(said.n, 500), said.p);
    else if (total > 0)
        ch_buf_addf(&text, "%g of %g", at, total);
    else
        ch_buf_addf(&text, "%g", at);
    op->progress(ch_buf_sv(&text), op->user);
}

static void client_on_notification(const struct ch_rpc_message *msg, void *user) {
    chela_mcp *m = user;

    if (ch_sv_starts(msg->method, "notifications/prompts/") ||
        ch_sv_starts(msg->method, "notifications/resources/"))
        ch_mcp_cache_clear(&m->cache);
    if (ch_sv_is(msg->method, "notifications/progress"))
        client_on_progress(m, msg->params);
    else if (ch_sv_is(msg->method, "notifications/tools/list_changed") && m->on_changed)
        m->on_changed(m);
    else if (ch_sv_is(msg->method, "notifications/message")) {
        CH_BUF_AUTO text = {0};
        struct ch_jw w = ch_jw(&text);
        ch_buf_init(&text, CH_KB);
        ch_jw_value(&w, ch_json_get(msg->params, "data"));
        int level = ch_mcp_level_read(ch_json_get_str(msg->params, "level"));
        ch_log(level >= CHELA_MCP_WARNING ? CH_LOG_WARN : CH_LOG_INFO, "mcp", "%s: %s",
               m->opts.name, ch_buf_str(&text));
    }
}

/* A server's request names no call: the newest call that can ask a person takes the request. */
static bool ask_person(chela_mcp *m, struct ch_rpc_request *r, const struct ch_rpc_message *msg) {
    const struct ch_mcp_op *found = NULL;

    for (CH_LIST_EACH(k, &m->ops)) {
        const struct ch_mcp_op *op = CH_CONTAINER(k, struct ch_mcp_op, link);
        if (op->elicit && op->id && !op->failed.code)
            found = op;
    }
    return found && !m->modern &&
           (ch_sv_is(msg->method, "elicitation/create") ||
            (m->opts.sampling && ch_sv_is(msg->method, "sampling/createMessage"))) &&
           found->elicit(r, msg, found->user);
}

static void client_on_request(struct ch_rpc_request *r, const struct ch_rpc_message *msg,
                              void *user) {
    chela_mcp *m = user;
    CH_BUF_AUTO method = {0};
    CH_BUF_AUTO answer = {0};

    ch_buf_add_sv(&method, msg->method);
    if (ch_sv_is(msg->method, "ping"))
        ch_rpc_reply(r, CH_SV("{}"));
    else if (!m->modern && is_input_method(msg->method) &&
             answer_input(m, ch_buf_str(&method), msg->params, &answer))
        ch_rpc_reply(r, ch_buf_sv(&answer));
    else if (!ask_person(m, r, msg))
        ch_rpc_refuse(r, CH_RPC_NO_METHOD, "the client does not support this method",
                      ch_sv(NULL, 0));
}

static void client_on_message(struct ch_sv text, void *user) {
    chela_mcp *m = user;
    struct chela_error err = {0};

    if (ch_rpc_receive(m->peer, text, &err) < 0 && !m->closed)
        ch_log(CH_LOG_WARN, "mcp", "%s: a message is ignored: %s", m->opts.name, err.message);
}

/* Drop the link; requests that were sent end with an error. */
static void drop_link(chela_mcp *m) {
    struct ch_mcp_link *link = CH_TAKE(m->link);
    struct ch_rpc_peer *peer = CH_TAKE(m->peer);

    ch_timer_stop(m->rt->loop, &m->start_timer);
    m->state = CH_MCP_DOWN;
    m->leaving = false; /* a link that is closed does not report its end */
    ch_rpc_peer_close(peer);
    if (link)
        link->ops->close(link);
}

static void disconnect(chela_mcp *m, const struct chela_error *why) {
    drop_link(m);
    for (CH_LIST_EACH(k, &m->ops))
        fail_op_later(CH_CONTAINER(k, struct ch_mcp_op, link), why);
}

static void client_on_left(void *user) {
    ((chela_mcp *)user)->leaving = false;
}

void ch_mcp_leave(chela_mcp *m) {
    if (m->link && !m->leaving && m->state == CH_MCP_READY && m->link->ops->leave)
        m->leaving = m->link->ops->leave(m->link, client_on_left, m);
}

void ch_mcp_close_now(chela_mcp *m, const struct chela_error *why) {
    m->on_ready = m->on_changed = NULL;
    drop_link(m);
    for (struct ch_mcp_op *op; (op = CH_LIST_FIRST(&m->ops, struct ch_mcp_op, link));)
        fail_op(op, why);
}

/* The first restart is immediate, the next ones wait 1, 2, 4 ... seconds. */
static void connection_failed(chela_mcp *m, const struct chela_error *err) {
    int64_t delay = m->failures == 0 ? 0 : (int64_t)1000 << CH_MIN(m->failures - 1, 6);

    m->failures++;
    m->retry_at = ch_mono_ms(ch_loop_clock(m->rt->loop)) + CH_MIN(delay, CH_LIMIT_MCP_BACKOFF_MS);
    ch_fail(&m->last, err->code, "MCP server %s: %s", m->opts.name, err->message);
    if (!m->awaited)
        ch_log(CH_LOG_WARN, "mcp", "%s", m->last.message);
    disconnect(m, &m->last);
}

static void send_waiting(chela_mcp *m) {
    for (struct ch_link *k = m->ops.head.next, *next; k != &m->ops.head; k = next) {
        next = k->next;
        struct ch_mcp_op *op = CH_CONTAINER(k, struct ch_mcp_op, link);
        if (!op->id && !op->failed.code && !op->hit && !ch_timer_armed(&op->later))
            send_op(op);
    }
}

static void connection_ready(chela_mcp *m) {
    ch_timer_stop(m->rt->loop, &m->start_timer);
    m->state = CH_MCP_READY;
    m->logins = 0;
    m->last = (struct chela_error){0};
    ch_rpc_accept_batches(m->peer, !m->modern && strcmp(m->version, CH_MCP_BATCHES) == 0);
    if (!m->modern && m->link->ops->listen)
        m->link->ops->listen(m->link, m->version);
    send_waiting(m);
    if (m->on_ready)
        m->on_ready(m);
}

static char *copy_info(struct ch_sv text) {
    CH_BUF_AUTO clean = {0};

    ch_mcp_clean(&clean, ch_sv(text.p, CH_MIN(text.n, CH_LIMIT_MCP_INFO)));
    return ch_buf_take(&clean);
}

static void take_server_info(chela_mcp *m, const struct ch_json *info,
                             const struct ch_json *capabilities) {
    ch_free(m->server);
    ch_free(m->server_version);
    m->server = copy_info(ch_json_get_str(info, "name"));
    m->server_version = copy_info(ch_json_get_str(info, "version"));
    m->tools_change = ch_json_bool(ch_json_path(capabilities, "tools", "listChanged", NULL), false);
    m->tasks = ch_json_path(capabilities, "tasks", "requests", "tools", "call", NULL) != NULL;
}

/* --- the handshake of the older versions */

static void connection_refused(chela_mcp *m, const struct ch_rpc_message *msg,
                               const struct chela_error *err) {
    struct chela_error why = {0};

    if (msg)
        ch_fail(&why, CHELA_EPROTO, "the server refused the connection: %.*s",
                (int)CH_MIN(msg->text.n, 500), msg->text.p);
    else if (err->code == CHELA_EAUTH && m->failure.status)
        ch_fail(&why, CHELA_EAUTH, "the server wants a log-in (HTTP status %d)",
                m->failure.status);
    else
        why = *err;
    connection_failed(m, &why);
}

static void on_level_set(const struct ch_rpc_message *msg, const struct chela_error *err,
                         void *user) {
    const chela_mcp *m = user;

    (void)err;
    if (msg && msg->kind == CH_RPC_ERROR)
        ch_log(CH_LOG_WARN, "mcp", "%s: the server refused the log level",
               m->opts.name);
}

/* Versions with a handshake agree on the level once; 2026-07-28 names it in every request. */
static void set_level(chela_mcp *m, const struct ch_json *capabilities) {
    struct ch_mcp_send s = {.method = "logging/setLevel"};
    CH_BUF_AUTO params = {0};
    struct ch_jw w = ch_jw(&params);

    if (!m->opts.log_level || !ch_json_get(capabilities, "logging"))
        return;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "level", m->opts.log_level);
    ch_jw_end(&w, '}');
    ch_rpc_call(m->peer, s.method, ch_buf_sv(&params), CH_DEFAULT_MCP_START_MS, &s, on_level_set,
                m);
}

static void on_initialized(const struct ch_rpc_message *msg, const struct chela_error *err,
                           void *user) {
    chela_mcp *m = user;
    struct chela_error why = {0};

    if (!msg || msg->kind == CH_RPC_ERROR) {
        connection_refused(m, msg, err);
        return;
    }
    struct ch_sv version = ch_json_get_str(msg->result, "protocolVersion");
    if (!ch_mcp_is_legacy(version)) {
        ch_fail(&why, CHELA_EPROTO, "the server speaks version %.*s of the protocol, which chela "
                "does not", (int)CH_MIN(version.n, 40), version.p ? version.p : "");
        connection_failed(m, &why);
        return;
    }
    memcpy(m->version, version.p, version.n);
    m->version[version.n] = '\0';
    take_server_info(m, ch_json_get(msg->result, "serverInfo"),
                     ch_json_get(msg->result, "capabilities"));
    m->state = CH_MCP_READY;
    ch_rpc_notify(m->peer, "notifications/initialized", ch_sv(NULL, 0));
    set_level(m, ch_json_get(msg->result, "capabilities"));
    connection_ready(m);
}

static void initialize(chela_mcp *m) {
    CH_BUF_AUTO params = {0};
    struct ch_jw w = ch_jw(&params);
    struct ch_mcp_send s = {.method = "initialize"};

    m->state = CH_MCP_INITIALIZING;
    m->modern = false;
    m->version[0] = '\0';
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "protocolVersion", CH_MCP_LEGACY);
    ch_jw_key(&w, "capabilities");
    write_capabilities(m, &w, m->asks, NULL);
    ch_jw_key(&w, "clientInfo");
    write_info(&w);
    ch_jw_end(&w, '}');
    ch_rpc_call(m->peer, s.method, ch_buf_sv(&params), 0, &s, on_initialized, m);
}

/* --- the probe */

/* The kind of server that an answer to the probe indicates. */
enum ch_mcp_verdict { CH_MCP_IS_MODERN, CH_MCP_IS_LEGACY, CH_MCP_UNCLEAR };

static enum ch_mcp_verdict judge_versions(const struct ch_json *versions) {
    return ch_mcp_contains(versions, CH_MCP_MODERN) ? CH_MCP_IS_MODERN : CH_MCP_IS_LEGACY;
}

static enum ch_mcp_verdict judge(const chela_mcp *m, const struct ch_rpc_message *msg,
                                 const struct chela_error *err) {
    int status = m->failure.status;

    if (msg && msg->kind == CH_RPC_RESULT)
        return judge_versions(ch_json_get(msg->result, "supportedVersions"));
    if (msg && msg->code == CH_MCP_UNSUPPORTED_VERSION)
        return judge_versions(ch_json_get(msg->data, "supported"));
    if (msg && (msg->code == CH_MCP_HEADER_MISMATCH || msg->code == CH_MCP_MISSING_CAPABILITY))
        return CH_MCP_IS_MODERN;
    if (msg && msg->code == CH_RPC_NO_METHOD && m->link->status == 404)
        return CH_MCP_IS_MODERN;
    if (msg)
        return CH_MCP_IS_LEGACY;
    if (status == 401 || status == 403 ||
        (!status && err->code != CHELA_ETIMEOUT && err->code != CHELA_EPROTO))
        return CH_MCP_UNCLEAR;
    return CH_MCP_IS_LEGACY;
}

static void on_discovered(const struct ch_rpc_message *msg, const struct chela_error *err,
                          void *user) {
    chela_mcp *m = user;
    enum ch_mcp_verdict verdict = judge(m, msg, err);
    bool may_fall_back = m->opts.era != CHELA_MCP_ERA_MODERN;

    if (verdict == CH_MCP_IS_LEGACY && may_fall_back)
        initialize(m);
    else if (verdict != CH_MCP_IS_MODERN)
        connection_refused(m, msg, err);
    else {
        const struct ch_json *result = msg->kind == CH_RPC_RESULT ? msg->result : NULL;
        take_server_info(m, ch_json_path(result, "_meta", CH_MCP_META "serverInfo", NULL),
                         ch_json_get(result, "capabilities"));
        connection_ready(m);
    }
}

static void probe(chela_mcp *m) {
    CH_BUF_AUTO params = {0};
    struct ch_mcp_send s = {.method = "server/discover"};
    bool wait = m->opts.era == CHELA_MCP_ERA_MODERN || m->opts.url;

    m->state = CH_MCP_PROBING;
    m->modern = true;
    memcpy(m->version, CH_MCP_MODERN, sizeof(CH_MCP_MODERN));
    write_params(m, &params, NULL, ch_sv(NULL, 0));
    ch_rpc_call(m->peer, s.method, ch_buf_sv(&params), wait ? 0 : CH_DEFAULT_MCP_PROBE_MS, &s,
                on_discovered, m);
}

static void client_on_opened(void *user) {
    chela_mcp *m = user;

    m->failure = (struct ch_mcp_failure){0};
    if (m->opts.era == CHELA_MCP_ERA_LEGACY || m->probe_died)
        initialize(m);
    else
        probe(m);
}

static void start_connection(chela_mcp *m);

static void client_on_down(const struct chela_error *err, void *user) {
    chela_mcp *m = user;

    if (m->state == CH_MCP_PROBING && m->opts.era != CHELA_MCP_ERA_MODERN && !m->probe_died &&
        err->code == CHELA_ENET) {
        m->probe_died = true; /* servers of the older versions may exit at an unknown request */
        drop_link(m);
        start_connection(m);
        return;
    }
    connection_failed(m, err);
}

/* The server did not process the request: it is sent again later. */
static void wait_again(struct ch_mcp_op *op) {
    ch_rpc_forget(op->mcp->peer, op->id, false);
    op->id = 0;
    op->mcp->nwaiting++;
}

/* A request of a session that the server forgot was not processed: send it again once. */
static bool begin_session_again(chela_mcp *m, int64_t id) {
    struct ch_mcp_op *op = find_op(m, id);
    struct chela_error err = {0};

    if (!op || op->repeated)
        return false;
    op->repeated = true;
    wait_again(op);
    ch_fail(&err, CHELA_ENET, "MCP server %s: the session was lost", m->opts.name);
    drop_link(m);
    for (CH_LIST_EACH(other, &m->ops)) {
        struct ch_mcp_op *lost = CH_CONTAINER(other, struct ch_mcp_op, link);
        if (lost->id)
            fail_op_later(lost, &err);
    }
    if (!m->logging_in) /* client_on_login connects */
        start_connection(m);
    return true;
}

/* --- log-in */

/* Called when the log-in has ended: the waiting requests continue. */
static void client_on_login(const struct chela_error *err, void *user) {
    chela_mcp *m = user;

    m->logging_in = false;
    m->tokens++;
    if (err) {
        struct chela_error why = *err;
        connection_failed(m, &why);
    } else if (m->state == CH_MCP_READY) {
        ch_mcp_http_token(m->link, ch_mcp_auth_token(m->auth));
        send_waiting(m);
    } else
        start_connection(m);
}

/* One log-in serves all requests that the server refuses meanwhile. */
static bool start_login(chela_mcp *m, const struct ch_mcp_failure *f) {
    if (m->logging_in)
        return true;
    if (ch_mcp_auth_start(m->auth, f->status, f->challenge, client_on_login, m) < 0)
        return false;
    ch_mcp_cache_clear(&m->cache); /* the results may be those of another person */
    m->logging_in = true;
    return true;
}

/* Get a token, and send the refused request again. The server may be working on the other
 * requests, so they are not repeated. op NULL: the server refused the handshake. False: a token
 * does not help, or cannot be requested. */
static bool log_in(chela_mcp *m, struct ch_mcp_op *op, const struct ch_mcp_failure *f) {
    bool more_scope =
        f->status == 403 && f->challenge && strstr(f->challenge, "insufficient_scope");

    if (!m->auth || (f->status != 401 && !more_scope) || (!op && m->state == CH_MCP_READY))
        return false;
    unsigned *logins = op ? &op->logins : &m->logins;
    bool is_newer = op && op->token != m->tokens; /* the token came after the request */
    if (++*logins > CH_LIMIT_MCP_LOGINS || !(is_newer || start_login(m, f)))
        return false;
    if (!op)
        drop_link(m);
    else {
        wait_again(op);
        if (!m->logging_in)
            send_op(op);
    }
    return true;
}

static void client_on_failed(int64_t id, const struct ch_mcp_failure *f, void *user) {
    chela_mcp *m = user;

    m->failure = *f;
    m->failure.challenge = NULL;
    if (!f->taken && log_in(m, find_op(m, id), f))
        return;
    if (f->session_lost && !f->taken && m->state == CH_MCP_READY && begin_session_again(m, id))
        return;
    struct chela_error err = f->err;
    if (f->status == 401 || f->status == 403) /* a server may refuse the host name or the origin */
        err.code = f->status == 401 || f->challenge ? CHELA_EAUTH : CHELA_EPERM;
    ch_rpc_fail(m->peer, id, &err);
}

static const struct ch_mcp_link_events client_events = {client_on_opened, client_on_message,
                                                        client_on_failed, client_on_down};

static void on_start_timer(struct ch_timer *t) {
    chela_mcp *m = CH_CONTAINER(t, chela_mcp, start_timer);
    struct chela_error err = {0};

    ch_fail(&err, CHELA_ETIMEOUT, "the server did not answer within %d s",
            CH_DEFAULT_MCP_START_MS / 1000);
    connection_failed(m, &err);
}

static void make_dir(const char *path) {
    CH_AUTOFREE char *copy = ch_strdup(path);

    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(copy, 0700);
        *slash = '/';
    }
    mkdir(copy, 0700); /* a failure is reported when the program starts there */
}

static void start_connection(chela_mcp *m) {
    chela_runtime *rt = m->rt;

    m->state = CH_MCP_STARTING;
    m->peer = ch_rpc_peer_new(&(struct ch_rpc_peer_opts){
        .loop = rt->loop,
        .send = client_send,
        .request = client_on_request,
        .notification = client_on_notification,
        .cancel_method = "notifications/cancelled",
        .user = m,
    });
    if (m->opts.url) {
        if (m->opts.state_dir)
            make_dir(m->opts.state_dir);
        m->link = ch_mcp_http_new(
            &(struct ch_mcp_http_opts){rt->loop, ch_http_transport(rt->http), m->opts.url,
                                       m->opts.headers},
            &client_events, m);
        ch_mcp_http_token(m->link, ch_mcp_auth_token(m->auth));
    } else {
        make_dir(m->dir);
        m->link = ch_mcp_stdio_new(
            &(struct ch_mcp_stdio_opts){rt->loop, rt->workers, m->opts.name, m->opts.command,
                                        m->opts.env, m->dir, m->policy, m->pins},
            &client_events, m);
    }
    ch_timer_start(rt->loop, &m->start_timer, CH_DEFAULT_MCP_START_MS, on_start_timer);
}

void ch_mcp_pin(chela_mcp *m, const struct ch_pins *pins) {
    m->pins = ch_pins_copy(&m->arena, pins);
}

/* --- beginning a request */

static char *copy_text(struct ch_sv s) {
    return ch_strndup(s.p ? s.p : "", s.n);
}

static int refuse_start(chela_mcp *m, struct chela_error *err) {
    int64_t now = ch_mono_ms(ch_loop_clock(m->rt->loop));

    if (m->closed)
        return ch_fail(err, CHELA_ESTATE, "MCP server %s: the client is closed", m->opts.name);
    if (m->nwaiting > CH_LIMIT_MCP_WAITING)
        return ch_fail(err, CHELA_ELIMIT, "MCP server %s: too many requests wait for it",
                       m->opts.name);
    if (m->state == CH_MCP_DOWN && !m->logging_in && now < m->retry_at)
        return ch_fail(err, m->last.code ? m->last.code : CHELA_ENET,
                       "%s; the next attempt is possible in %lld s", m->last.message,
                       (long long)(m->retry_at - now + 999) / 1000);
    return 0;
}

static void begin_op(struct ch_mcp_op *op) {
    chela_mcp *m = op->mcp;
    struct chela_error err = {0};

    m->nwaiting++;
    if (!m->closed && !op->hit)
        op->hit = ch_mcp_cache_find(&m->cache, op->method, op->members,
                                    ch_mono_ms(ch_loop_clock(m->rt->loop)));
    if (op->hit)
        ch_task_defer(m->rt->loop, &op->fail);
    else if (refuse_start(m, &err) < 0)
        fail_op_later(op, &err);
    else if (m->state == CH_MCP_READY && !m->logging_in)
        send_op(op);
    else if (m->state == CH_MCP_DOWN && !m->logging_in)
        start_connection(m);
}

static void op_on_later(struct ch_timer *t) {
    begin_op(CH_CONTAINER(t, struct ch_mcp_op, later));
}

struct ch_mcp_op *ch_mcp_start(chela_mcp *m, const struct ch_mcp_request *r) {
    struct ch_mcp_op *op = ch_alloc(sizeof(*op));

    *op = (struct ch_mcp_op){
        .mcp = m,
        .method = ch_strdup(r->method),
        .members = copy_text(r->members),
        .meta = copy_text(r->meta),
        .name = copy_text(r->name),
        .headers = copy_text(r->headers),
        .timeout_ms = r->timeout_ms,
        .fail.fn = on_fail_op,
        .takes_input = r->takes_input,
        .takes_task = r->takes_task,
        .asks_task = r->asks_task,
        .progress = r->progress,
        .elicit = r->elicit,
        .done = r->done,
        .user = r->user,
    };
    ch_list_add(&m->ops, &op->link);
    if (r->after_ms > 0)
        ch_timer_start(m->rt->loop, &op->later, r->after_ms, op_on_later);
    else
        begin_op(op);
    return op;
}

const char *ch_mcp_state_name(const chela_mcp *m) {
    static const char *const names[] = {"down", "starting", "starting", "starting", "ready"};

    return names[m->state];
}
