/* mcp_server_connection.c -- see mcp_server.h: a client, and the era of its requests. */
#include "mcp/mcp_server_connection.h"

#include <stdarg.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "io/loop_entry.h"
#include "mcp/mcp_server_call.h"
#include "mcp/mcp_server_methods.h"

/* --- answers */

static int connection_send(struct ch_sv message, int64_t id, void *tag, void *user) {
    chela_mcp_connection *c = user;
    const chela_mcp_call *call = tag; /* of a question */

    (void)id;
    if (!c->server)
        return CHELA_ECANCELED;
    return c->ops->send(c, message, call ? call->stream : c->stream,
                        ch_rpc_is_batch(message) ? 200 : c->status, call ? false : c->last);
}

static int status_of(int64_t code, bool is_modern) {
    switch (code) {
    case CH_MCP_HEADER_MISMATCH:
    case CH_MCP_MISSING_CAPABILITY:
    case CH_MCP_UNSUPPORTED_VERSION:
    case CH_RPC_PARSE_ERROR:
    case CH_RPC_INVALID_REQUEST:
        return 400;
    case CH_RPC_NO_METHOD:
        return is_modern ? 404 : 200;
    default:
        return 200;
    }
}

/* The result of ch_mcp_reply and ch_mcp_refuse while the peer sends. */
struct ch_mcp_aim {
    struct ch_mcp_stream *stream;
    int status;
    bool last;
};

static struct ch_mcp_aim take_aim(chela_mcp_connection *c, struct ch_mcp_stream *stream,
                                  int status) {
    struct ch_mcp_aim before = {c->stream, c->status, c->last};

    c->stream = stream;
    c->status = status;
    c->last = true;
    return before;
}

static void restore_aim(chela_mcp_connection *c, struct ch_mcp_aim before) {
    c->stream = before.stream;
    c->status = before.status;
    c->last = before.last;
}

/* A cancelled request gets no response, and its stream ends, unless others use it. */
static bool is_cancelled(chela_mcp_connection *c, const struct ch_rpc_request *r,
                         struct ch_mcp_stream *stream) {
    if (!ch_rpc_is_silent(r))
        return false;
    if (c->ops->drop && c->server)
        c->ops->drop(c, stream);
    return true;
}

void ch_mcp_reply(chela_mcp_connection *c, struct ch_rpc_request *r, struct ch_mcp_stream *stream,
                  const struct ch_buf *result) {
    if (!c || is_cancelled(c, r, stream)) {
        ch_rpc_reply(r, CH_SV("{}")); /* frees r; nothing is sent */
        return;
    }
    struct ch_mcp_aim before = take_aim(c, stream, 200);
    ch_rpc_reply(r, ch_buf_sv(result));
    restore_aim(c, before);
}

void ch_mcp_refuse(chela_mcp_connection *c, struct ch_rpc_request *r,
                   struct ch_mcp_stream *stream, int64_t code, struct ch_sv data, const char *fmt,
                   ...) {
    CH_BUF_AUTO text = {0};
    va_list ap;

    va_start(ap, fmt);
    ch_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    if (!c || is_cancelled(c, r, stream)) {
        ch_rpc_refuse(r, code, "", ch_sv(NULL, 0));
        return;
    }
    int status = c->status > 200 ? c->status : status_of(code, c->modern);
    struct ch_mcp_aim before = take_aim(c, stream, status);
    ch_rpc_refuse(r, code, ch_buf_str(&text), data);
    restore_aim(c, before);
}

void ch_mcp_notify(chela_mcp_connection *c, struct ch_mcp_stream *stream, const char *method,
                   struct ch_sv params) {
    struct ch_mcp_aim before = take_aim(c, stream, 200);

    c->last = false;
    ch_rpc_notify(c->peer, method, params);
    restore_aim(c, before);
}

/* --- description of the server */

void ch_mcp_write_info(const chela_mcp_server *s, struct ch_jw *w) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", s->name);
    if (s->title)
        ch_jw_kcstr(w, "title", s->title);
    ch_jw_kcstr(w, "version", s->version);
    ch_jw_end(w, '}');
}

struct ch_jw ch_mcp_result_begin(const chela_mcp_server *s, struct ch_buf *out, bool is_modern,
                                 const char *type) {
    struct ch_jw w = ch_jw(out);

    ch_jw_begin(&w, '{');
    if (!is_modern)
        return w;
    ch_jw_kcstr(&w, "resultType", type);
    ch_jw_kbegin(&w, "_meta", '{');
    ch_jw_key(&w, CH_MCP_META "serverInfo");
    ch_mcp_write_info(s, &w);
    ch_jw_end(&w, '}');
    return w;
}

static bool has_completions(const chela_mcp_server *s) {
    const enum ch_mcp_kind kinds[] = {CH_MCP_PROMPT, CH_MCP_TEMPLATE};

    for (size_t n = 0; n < CH_LEN(kinds); n++)
        for (CH_LIST_EACH(k, &s->items[kinds[n]]))
            if (CH_CONTAINER(k, struct ch_mcp_item, link)->complete)
                return true;
    return false;
}

void ch_mcp_write_capabilities(const chela_mcp_server *s, struct ch_jw *w, bool is_modern) {
    bool resources = !ch_list_empty(&s->items[CH_MCP_RESOURCE]) ||
                     !ch_list_empty(&s->items[CH_MCP_TEMPLATE]);

    ch_jw_begin(w, '{');
    ch_jw_kraw(w, "logging", CH_SV("{}"));
    if (!ch_list_empty(&s->items[CH_MCP_TOOL]))
        ch_jw_kraw(w, "tools", CH_SV("{\"listChanged\":true}"));
    if (resources)
        ch_jw_kraw(w, "resources", CH_SV("{\"subscribe\":true,\"listChanged\":true}"));
    if (!ch_list_empty(&s->items[CH_MCP_PROMPT]))
        ch_jw_kraw(w, "prompts", CH_SV("{\"listChanged\":true}"));
    if (has_completions(s))
        ch_jw_kraw(w, "completions", CH_SV("{}"));
    if (s->skills || (s->task && is_modern)) {
        ch_jw_kbegin(w, "extensions", '{');
        if (s->skills)
            ch_jw_kraw(w, CH_MCP_SKILLS, CH_SV("{}"));
        if (s->task && is_modern)
            ch_jw_kraw(w, CH_MCP_TASKS, CH_SV("{}"));
        ch_jw_end(w, '}');
    }
    if (s->task && !is_modern)
        ch_jw_kraw(w, "tasks", CH_SV("{\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}"));
    ch_jw_end(w, '}');
}

int ch_mcp_level_read(struct ch_sv name) {
    enum chela_mcp_level level;
    CH_AUTOFREE char *text = ch_strndup(name.p ? name.p : "", name.n);

    return chela_mcp_level_read(text, &level, NULL) == 0 ? (int)level : -1;
}

/* --- requests */

/* Modern requests carry their version; false: the request is refused. */
static bool check_meta(struct ch_mcp_incoming *in) {
    const struct ch_json *version = ch_json_get(in->meta, CH_MCP_META "protocolVersion");
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);

    in->capabilities = ch_json_get(in->meta, CH_MCP_META "clientCapabilities");
    if (!ch_json_is(version, CH_JSON_STRING) || !ch_json_is(in->capabilities, CH_JSON_OBJECT)) {
        in->c->status = 400;
        ch_mcp_refuse(in->c, in->r, in->c->stream, CH_RPC_INVALID_PARAMS, ch_sv(NULL, 0),
                      "_meta needs " CH_MCP_META "protocolVersion and " CH_MCP_META
                      "clientCapabilities");
        return false;
    }
    if (!ch_sv_is(ch_json_str(version), CH_MCP_MODERN)) {
        ch_jw_begin(&w, '{');
        ch_jw_kraw(&w, "supported", CH_SV("[\"" CH_MCP_MODERN "\"]"));
        ch_jw_kstr(&w, "requested", ch_json_str(version));
        ch_jw_end(&w, '}');
        ch_mcp_refuse(in->c, in->r, in->c->stream, CH_MCP_UNSUPPORTED_VERSION, ch_buf_sv(&data),
                      "unsupported protocol version");
        return false;
    }
    in->level = ch_mcp_level_read(ch_json_get_str(in->meta, CH_MCP_META "logLevel"));
    return true;
}

static void connection_on_request(struct ch_rpc_request *r, const struct ch_rpc_message *m,
                                  void *user) {
    chela_mcp_connection *c = user;
    struct ch_mcp_incoming in = {
        .c = c,
        .r = r,
        .method = m->method,
        .params = ch_json_is(m->params, CH_JSON_OBJECT) ? m->params : NULL,
        .capabilities = c->capabilities,
        .level = c->level,
    };

    if (m->params && !in.params) {
        ch_mcp_refuse(c, r, c->stream, CH_RPC_INVALID_PARAMS, ch_sv(NULL, 0),
                      "params is not an object");
        return;
    }
    in.meta = ch_json_get(in.params, "_meta");
    bool opens = ch_sv_is(m->method, "initialize") || ch_sv_is(m->method, "ping");
    in.modern = c->modern || ch_json_get(in.meta, CH_MCP_META "protocolVersion") ||
                (!c->agreed && !opens);
    if (!in.modern || check_meta(&in))
        ch_mcp_dispatch(&in);
}

static void connection_on_notification(const struct ch_rpc_message *m, void *user) {
    (void)user;
    CH_TRACE("mcp", "notification %.*s", CH_SV_FMT(m->method));
}

void ch_mcp_connection_init(chela_mcp_connection *c, chela_mcp_server *s,
                            const struct ch_mcp_connection_ops *ops, const char *principal) {
    c->server = s;
    c->ops = ops;
    c->principal = ch_strdup(principal ? principal : "");
    c->level = CHELA_MCP_INFO;
    ch_list_init(&c->calls);
    c->peer = ch_rpc_peer_new(&(struct ch_rpc_peer_opts){
        .loop = s->rt->loop,
        .send = connection_send,
        .request = connection_on_request,
        .notification = connection_on_notification,
        .cancel_method = "notifications/cancelled",
        .user = c,
    });
}

void ch_mcp_connection_release(chela_mcp_connection *c) {
    chela_mcp_call *call;

    c->server = NULL; /* nothing is sent any more */
    ch_rpc_peer_close(CH_TAKE(c->peer)); /* ends the requests */
    while ((call = CH_LIST_FIRST(&c->calls, chela_mcp_call, link)))
        ch_mcp_call_orphan(call);
    for (size_t i = 0; i < c->nwatched; i++)
        ch_free(c->watched[i]);
    c->nwatched = 0;
    ch_free(CH_TAKE(c->principal));
    ch_arena_release(&c->arena);
}

void ch_mcp_connection_receive(chela_mcp_connection *c, struct ch_sv text,
                               struct ch_mcp_stream *stream) {
    struct chela_error err = {0};
    struct ch_mcp_aim before = take_aim(c, stream, 400); /* an invalid message */

    c->status = 0;
    int rc = ch_rpc_receive(c->peer, text, &err);
    if (rc < 0)
        CH_TRACE("mcp", "invalid message: %s", err.message);
    else if (rc > 0 && stream && c->ops->drop)
        c->ops->drop(c, stream); /* all requests of a batch are cancelled */
    restore_aim(c, before);
}

/* --- a pipe */

static void pipe_free(chela_mcp_connection *c) {
    ch_rpc_lines_release(&c->lines);
    ch_buf_release(&c->unsent);
    ch_free(c);
}

static void pipe_on_flush(struct ch_task *t) {
    chela_mcp_connection *c = CH_CONTAINER(t, chela_mcp_connection, flush);
    struct ch_buf lines = c->unsent;

    ch_buf_init(&c->unsent, lines.max);
    c->writing = true;
    c->write(lines.p, lines.n, c->user);
    c->writing = false;
    ch_buf_release(&lines);
    if (!c->server)
        pipe_free(c);
}

/* The messages of one turn of the loop are written together. */
static int pipe_send(chela_mcp_connection *c, struct ch_sv message, struct ch_mcp_stream *to,
                     int status, bool last) {
    (void)to;
    (void)status;
    (void)last;
    ch_buf_add_sv(&c->unsent, message);
    if (ch_buf_addc(&c->unsent, '\n') < 0)
        return CHELA_ELIMIT;
    ch_task_defer(c->server->rt->loop, &c->flush);
    return 0;
}

static const struct ch_mcp_connection_ops pipe_ops = {.send = pipe_send};

static bool connection_on_line(struct ch_sv line, void *user) {
    ch_mcp_connection_receive(user, line, NULL);
    return true;
}

int chela_mcp_server_open(chela_mcp_server *s, void (*write)(const char *p, size_t n, void *user),
                          void *user, const char *principal, chela_mcp_connection **out,
                          struct chela_error *err) {
    CH_NEEDS_ARG(out, err);
    *out = NULL;
    CH_ENTER(s, s->rt->loop, err);
    if (!write)
        return ch_fail(err, CHELA_EINVAL, "a connection needs a function that writes");
    chela_mcp_connection *c = ch_alloc(sizeof(*c));
    ch_mcp_connection_init(c, s, &pipe_ops, principal);
    c->write = write;
    c->user = user;
    c->flush.fn = pipe_on_flush;
    ch_buf_init(&c->unsent, CH_LIMIT_MCP_UNSENT);
    ch_rpc_lines_init(&c->lines, 0, connection_on_line, c);
    ch_list_add(&s->connections, &c->link);
    *out = c;
    return 0;
}

int chela_mcp_connection_feed(chela_mcp_connection *c, const char *p, size_t n,
                              struct chela_error *err) {
    CH_ENTER(c, c->server ? c->server->rt->loop : NULL, err);
    CH_LOG_SCOPE(c->server->rt->sink);

    int rc = ch_rpc_lines_feed(&c->lines, ch_sv(p, n), err);
    if (rc == 0 && c->unsent.overflow)
        rc = ch_fail(err, CHELA_ELIMIT, "the client asks for more than can be sent");
    return rc;
}

int chela_mcp_connection_busy(const chela_mcp_connection *c) {
    CH_ENTER_OR(c, c->server ? c->server->rt->loop : NULL, NULL, 0);
    return !ch_list_empty(&c->calls) || c->unsent.n > 0;
}

void chela_mcp_connection_close(chela_mcp_connection *c) {
    CH_ENTER_OR(c, c->server ? c->server->rt->loop : NULL, NULL, );
    ch_task_cancel(c->server->rt->loop, &c->flush);
    ch_list_del(&c->link);
    ch_mcp_connection_release(c);
    if (!c->writing)
        pipe_free(c);
}
