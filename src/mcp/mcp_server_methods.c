/* mcp_server_methods.c -- see mcp_server.h: the table of methods. */
#include "mcp/mcp_server_methods.h"

#include <stdio.h>

#include "base/limits.h"
#include "mcp/mcp_server_call.h"
#include "mcp/mcp_server_connection.h"
#include "mcp/mcp_server_item.h"
#include "mcp/mcp_server_result.h"

/* A client of 2026-07-28 that wants to know about changes: an open request
 * subscriptions/listen. */
struct ch_mcp_listener {
    struct ch_link link; /* in server->listeners */
    chela_mcp_server *server;
    chela_mcp_connection *c;
    struct ch_mcp_stream *stream;
    struct ch_arena arena;
    const char *id;               /* JSON: the id of the request */
    unsigned kinds;               /* bits by enum ch_mcp_kind: lists */
    const struct ch_json *watched; /* URIs; NULL: none */
};

static void methods_reply(const struct ch_mcp_incoming *in, const struct ch_buf *result) {
    ch_mcp_reply(in->c, in->r, in->c->stream, result);
}

static void methods_refuse(const struct ch_mcp_incoming *in, const char *text) {
    ch_mcp_refuse(in->c, in->r, in->c->stream, CH_RPC_INVALID_PARAMS, ch_sv(NULL, 0), "%s", text);
}

static void reply_empty(const struct ch_mcp_incoming *in) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_mcp_result_begin(in->c->server, &out, in->modern, "complete");

    ch_jw_end(&w, '}');
    methods_reply(in, &out);
}

/* --- opening */

static void write_self(const struct ch_mcp_incoming *in, struct ch_jw *w) {
    const chela_mcp_server *s = in->c->server;

    ch_jw_key(w, "capabilities");
    ch_mcp_write_capabilities(s, w, in->modern);
    if (s->instructions)
        ch_jw_kcstr(w, "instructions", s->instructions);
}

static void methods_initialize(const struct ch_mcp_incoming *in) {
    chela_mcp_connection *c = in->c;
    struct ch_sv version = ch_json_get_str(in->params, "protocolVersion");
    const struct ch_json *can = ch_json_get(in->params, "capabilities");
    CH_BUF_AUTO out = {0};
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);

    if (in->r->batch) {
        methods_refuse(in, "initialize must not be part of a batch");
        return;
    }
    if (!version.p || (can && can->type != CH_JSON_OBJECT)) {
        methods_refuse(in, "initialize needs protocolVersion and capabilities");
        return;
    }
    ch_arena_clear(&c->arena);
    ch_jw_value(&w, can);
    struct ch_sv copy = ch_arena_sv(&c->arena, can ? ch_buf_sv(&text) : CH_SV("{}"));
    ch_json_parse(&c->arena, copy, CH_JSON_STRICT, &c->capabilities, NULL, NULL);
    c->agreed = ch_mcp_is_legacy(version) ? ch_arena_str(&c->arena, version) : CH_MCP_LEGACY;
    ch_rpc_accept_batches(c->peer, strcmp(c->agreed, CH_MCP_BATCHES) == 0);
    w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "protocolVersion", c->agreed);
    ch_jw_key(&w, "serverInfo");
    ch_mcp_write_info(c->server, &w);
    write_self(in, &w);
    ch_jw_end(&w, '}');
    methods_reply(in, &out);
}

static void write_cache(const struct ch_mcp_incoming *in, struct ch_jw *w) {
    if (!in->modern)
        return;
    ch_jw_kint(w, "ttlMs", in->c->server->ttl_ms);
    ch_jw_kcstr(w, "cacheScope", "private");
}

static void methods_discover(const struct ch_mcp_incoming *in) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_mcp_result_begin(in->c->server, &out, true, "complete");

    ch_jw_kraw(&w, "supportedVersions", CH_SV("[\"" CH_MCP_MODERN "\"]"));
    write_self(in, &w);
    write_cache(in, &w);
    ch_jw_end(&w, '}');
    methods_reply(in, &out);
}

static void methods_set_level(const struct ch_mcp_incoming *in) {
    int level = ch_mcp_level_read(ch_json_get_str(in->params, "level"));

    if (level < 0) {
        methods_refuse(in, "there is no such level");
        return;
    }
    in->c->level = level;
    reply_empty(in);
}

/* --- lists */

/* A cursor is the number of entries before the page. */
static bool read_cursor(const struct ch_mcp_incoming *in, size_t *skip) {
    const struct ch_json *cursor = ch_json_get(in->params, "cursor");
    struct ch_sv text = ch_json_str(cursor);

    *skip = 0;
    if (!cursor)
        return true;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9' || i > 8)
            return false;
        *skip = *skip * 10 + (size_t)(text.p[i] - '0');
    }
    return text.n > 0;
}

static void add_items(const struct ch_mcp_incoming *in, enum ch_mcp_kind kind,
                      struct ch_mcp_entries *e) {
    for (CH_LIST_EACH(k, &in->c->server->items[kind])) {
        const struct ch_mcp_item *i = CH_CONTAINER(k, struct ch_mcp_item, link);
        struct ch_sv listed = ch_sv_str(!in->modern && i->older ? i->older : i->listed);
        CH_BUF_AUTO text = {0};
        if (!in->modern && kind == CH_MCP_TOOL && i->flags & CH_MCP_TASKABLE) {
            ch_buf_addf(&text, "%.*s,\"execution\":{\"taskSupport\":\"optional\"}}",
                        (int)listed.n - 1, listed.p);
            listed = ch_buf_sv(&text);
        }
        ch_mcp_entries_add(e, listed);
    }
}

/* The resources that templates list. */
static void add_listed(const struct ch_mcp_incoming *in, struct ch_mcp_entries *e) {
    struct ch_link *k = in->c->server->items[CH_MCP_TEMPLATE].head.next;

    for (; k != &in->c->server->items[CH_MCP_TEMPLATE].head; k = k->next) {
        struct ch_mcp_item *i = CH_CONTAINER(k, struct ch_mcp_item, link);
        CH_BUF_AUTO text = {0};
        if (!i->list || i->flags & CH_MCP_LISTS_APART)
            continue;
        ch_mcp_call_list(in, i, &text);
        ch_mcp_entries_add_all(e, ch_buf_sv(&text));
    }
}

static void reply_list(const struct ch_mcp_incoming *in, enum ch_mcp_kind kind, const char *key) {
    struct ch_mcp_entries e = {.room = CH_LIMIT_MCP_PAGE};
    CH_BUF_AUTO out = {0};

    if (!read_cursor(in, &e.skip)) {
        methods_refuse(in, "the cursor is invalid");
        return;
    }
    add_items(in, kind, &e);
    if (kind == CH_MCP_RESOURCE)
        add_listed(in, &e);
    struct ch_jw w = ch_mcp_result_begin(in->c->server, &out, in->modern, "complete");
    ch_mcp_entries_write(&e, &w, key);
    write_cache(in, &w);
    ch_jw_end(&w, '}');
    methods_reply(in, &out);
}

/* The template whose list takes a thread; NULL: none. */
static struct ch_mcp_item *lists_apart(const chela_mcp_server *s) {
    for (CH_LIST_EACH(k, &s->items[CH_MCP_TEMPLATE])) {
        struct ch_mcp_item *i = CH_CONTAINER(k, struct ch_mcp_item, link);
        if (i->list && i->flags & CH_MCP_LISTS_APART)
            return i;
    }
    return NULL;
}

/* The thread adds its entries to those that are known here. */
static void list_apart(const struct ch_mcp_incoming *in, struct ch_mcp_item *item) {
    struct ch_mcp_entries e = {.room = SIZE_MAX};
    CH_BUF_AUTO arguments = {0};
    size_t skip;

    if (!read_cursor(in, &skip)) {
        methods_refuse(in, "the cursor is invalid");
        return;
    }
    add_items(in, CH_MCP_RESOURCE, &e);
    add_listed(in, &e);
    ch_buf_addf(&arguments, "{\"skip\":%zu,\"before\":[%s]}", skip, ch_buf_str(&e.text));
    ch_buf_release(&e.text);
    ch_mcp_call_start(in, item, CH_MCP_LIST, ch_sv_str(item->key), ch_buf_sv(&arguments));
}

static void methods_tools(const struct ch_mcp_incoming *in) {
    reply_list(in, CH_MCP_TOOL, "tools");
}

static void methods_resources(const struct ch_mcp_incoming *in) {
    struct ch_mcp_item *apart = lists_apart(in->c->server);

    if (apart)
        list_apart(in, apart);
    else
        reply_list(in, CH_MCP_RESOURCE, "resources");
}

static void methods_templates(const struct ch_mcp_incoming *in) {
    reply_list(in, CH_MCP_TEMPLATE, "resourceTemplates");
}

static void methods_prompts(const struct ch_mcp_incoming *in) {
    reply_list(in, CH_MCP_PROMPT, "prompts");
}

/* --- work of functions */

/* The member `arguments` as JSON text; false: refused. */
static bool read_arguments(const struct ch_mcp_incoming *in, struct ch_buf *out) {
    const struct ch_json *arguments = ch_json_get(in->params, "arguments");
    struct ch_jw w = ch_jw(out);

    if (arguments && arguments->type != CH_JSON_OBJECT) {
        methods_refuse(in, "arguments is not an object");
        return false;
    }
    if (arguments)
        ch_jw_value(&w, arguments);
    else
        ch_buf_add_str(out, "{}");
    return true;
}

static void methods_call(const struct ch_mcp_incoming *in) {
    struct ch_sv name = ch_json_get_str(in->params, "name");
    struct ch_mcp_item *i = ch_mcp_server_find(in->c->server, CH_MCP_TOOL, name);
    CH_BUF_AUTO arguments = {0};

    if (!i)
        ch_mcp_refuse(in->c, in->r, in->c->stream, CH_RPC_INVALID_PARAMS, ch_sv(NULL, 0),
                      "unknown tool: %.*s", (int)CH_MIN(name.n, (size_t)80), name.p ? name.p : "");
    else if (read_arguments(in, &arguments))
        ch_mcp_call_start(in, i, CH_MCP_CALL, name, ch_buf_sv(&arguments));
}

/* Required arguments of a prompt are there, and all are texts. */
static bool check_prompt(const struct ch_mcp_incoming *in, const struct ch_mcp_item *i) {
    const struct ch_json *given = ch_json_get(in->params, "arguments");

    for (CH_JSON_MEMBERS(key, value, given))
        if (!ch_json_is(value, CH_JSON_STRING)) {
            ch_mcp_refuse(in->c, in->r, in->c->stream, CH_RPC_INVALID_PARAMS, ch_sv(NULL, 0),
                          "argument %.*s is not a string", CH_SV_FMT(ch_json_str(key)));
            return false;
        }
    for (CH_JSON_EACH(a, ch_json_get(i->input, "arguments"))) {
        struct ch_sv name = ch_json_get_str(a, "name");
        if (ch_json_bool(ch_json_get(a, "required"), false) && !ch_json_get_sv(given, name)) {
            ch_mcp_refuse(in->c, in->r, in->c->stream, CH_RPC_INVALID_PARAMS, ch_sv(NULL, 0),
                          "argument %.*s is missing", CH_SV_FMT(name));
            return false;
        }
    }
    return true;
}

static void methods_prompt(const struct ch_mcp_incoming *in) {
    struct ch_sv name = ch_json_get_str(in->params, "name");
    struct ch_mcp_item *i = ch_mcp_server_find(in->c->server, CH_MCP_PROMPT, name);
    CH_BUF_AUTO arguments = {0};

    if (!i)
        ch_mcp_refuse(in->c, in->r, in->c->stream, CH_RPC_INVALID_PARAMS, ch_sv(NULL, 0),
                      "unknown prompt: %.*s", (int)CH_MIN(name.n, (size_t)80),
                      name.p ? name.p : "");
    else if (read_arguments(in, &arguments) && check_prompt(in, i))
        ch_mcp_call_start(in, i, CH_MCP_GET, name, ch_buf_sv(&arguments));
}

void ch_mcp_refuse_resource(chela_mcp_connection *c, struct ch_rpc_request *r,
                            struct ch_mcp_stream *stream, struct ch_sv uri, bool is_modern) {
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);

    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "uri", uri);
    ch_jw_end(&w, '}');
    ch_mcp_refuse(c, r, stream, is_modern ? CH_RPC_INVALID_PARAMS : CH_MCP_NO_RESOURCE,
                  ch_buf_sv(&data), "Resource not found");
}

static void methods_read(const struct ch_mcp_incoming *in) {
    struct ch_sv uri = ch_json_get_str(in->params, "uri");
    CH_BUF_AUTO variables = {0};
    struct ch_jw w = ch_jw(&variables);

    if (!uri.p) {
        methods_refuse(in, "uri is missing");
        return;
    }
    ch_jw_begin(&w, '{');
    struct ch_mcp_item *i = ch_mcp_server_match(in->c->server, uri, &w);
    ch_jw_end(&w, '}');
    if (i)
        ch_mcp_call_start(in, i, CH_MCP_READ, uri, ch_buf_sv(&variables));
    else
        ch_mcp_refuse_resource(in->c, in->r, in->c->stream, uri, in->modern);
}

static void methods_complete(const struct ch_mcp_incoming *in) {
    const struct ch_json *ref = ch_json_get(in->params, "ref"),
                         *argument = ch_json_get(in->params, "argument");
    bool prompt = ch_sv_is(ch_json_get_str(ref, "type"), "ref/prompt");
    struct ch_sv key = ch_json_get_str(ref, prompt ? "name" : "uri");
    struct ch_mcp_item *i =
        ch_mcp_server_find(in->c->server, prompt ? CH_MCP_PROMPT : CH_MCP_TEMPLATE, key);
    CH_BUF_AUTO arguments = {0};
    struct ch_jw w = ch_jw(&arguments);

    if (!i || !ch_json_get_str(argument, "name").p || !ch_json_get_str(argument, "value").p) {
        methods_refuse(in, "there is no such prompt or template, or no argument");
        return;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "name", ch_json_get_str(argument, "name"));
    ch_jw_kstr(&w, "value", ch_json_get_str(argument, "value"));
    ch_jw_key(&w, "context");
    const struct ch_json *context = ch_json_path(in->params, "context", "arguments", NULL);
    if (ch_json_is(context, CH_JSON_OBJECT))
        ch_jw_value(&w, context);
    else
        ch_jw_raw(&w, CH_SV("{}"));
    ch_jw_end(&w, '}');
    ch_mcp_call_start(in, i, CH_MCP_COMPLETE, key, ch_buf_sv(&arguments));
}

/* --- tasks */

static void task_start(const struct ch_mcp_incoming *in, struct ch_mcp_item *i,
                       enum ch_mcp_verb verb) {
    struct ch_sv id = ch_json_get_str(in->params, "taskId");
    CH_BUF_AUTO arguments = {0};
    struct ch_jw w = ch_jw(&arguments);

    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "taskId", id);
    ch_jw_end(&w, '}');
    if (id.n)
        ch_mcp_call_start(in, i, verb, id, ch_buf_sv(&arguments));
    else
        methods_refuse(in, "taskId is missing");
}

static void methods_task_get(const struct ch_mcp_incoming *in) {
    task_start(in, in->c->server->task, CH_MCP_TASK_GET);
}

static void methods_task_result(const struct ch_mcp_incoming *in) {
    task_start(in, in->c->server->task, CH_MCP_TASK_RESULT);
}

/* No task asks for input. */
static void methods_task_update(const struct ch_mcp_incoming *in) {
    task_start(in, in->c->server->task, CH_MCP_TASK_UPDATE);
}

static void methods_task_cancel(const struct ch_mcp_incoming *in) {
    task_start(in, in->c->server->task, CH_MCP_TASK_CANCEL);
}

/* --- skills */

static void skill_start(const struct ch_mcp_incoming *in, struct ch_mcp_item *i,
                        enum ch_mcp_verb verb) {
    CH_BUF_AUTO arguments = {0};
    struct ch_jw w = ch_jw(&arguments);

    ch_jw_begin(&w, '{');
    for (CH_JSON_MEMBERS(key, value, in->params))
        if (ch_sv_is(ch_json_str(key), "cursor") || ch_sv_is(ch_json_str(key), "uri")) {
            ch_jw_key_sv(&w, ch_json_str(key));
            ch_jw_value(&w, value);
        }
    ch_jw_end(&w, '}');
    ch_mcp_call_start(in, i, verb, in->method, ch_buf_sv(&arguments));
}

static void methods_skills(const struct ch_mcp_incoming *in) {
    skill_start(in, in->c->server->skills, CH_MCP_SKILL_LIST);
}

static void methods_skill(const struct ch_mcp_incoming *in) {
    skill_start(in, in->c->server->skill, CH_MCP_SKILL_GET);
}

/* --- changes: versions with a handshake */

static void watch_drop(chela_mcp_connection *c, struct ch_sv uri) {
    for (size_t i = 0; i < c->nwatched; i++)
        if (ch_sv_is(uri, c->watched[i])) {
            ch_free(c->watched[i]);
            c->watched[i] = c->watched[--c->nwatched];
            return;
        }
}

static void methods_subscribe(const struct ch_mcp_incoming *in) {
    struct ch_sv uri = ch_json_get_str(in->params, "uri");
    chela_mcp_connection *c = in->c;

    if (!uri.p || uri.n > CH_LIMIT_MCP_URI || memchr(uri.p, '\0', uri.n)) {
        methods_refuse(in, "uri is missing or too long");
        return;
    }
    watch_drop(c, uri);
    if (c->nwatched == CH_LEN(c->watched)) {
        methods_refuse(in, "too many resources are watched");
        return;
    }
    c->watched[c->nwatched++] = ch_strndup(uri.p, uri.n);
    reply_empty(in);
}

static void methods_unsubscribe(const struct ch_mcp_incoming *in) {
    watch_drop(in->c, ch_json_get_str(in->params, "uri"));
    reply_empty(in);
}

/* --- changes: 2026-07-28 */

static void listener_free(struct ch_mcp_listener *l) {
    ch_list_del(&l->link);
    l->server->nlisteners--;
    ch_arena_release(&l->arena);
    ch_free(l);
}

/* The client cancelled the request, or left. */
static void listener_on_gone(struct ch_rpc_request *r) {
    struct ch_mcp_listener *l = r->user;
    chela_mcp_connection *c = l->c;
    struct ch_mcp_stream *stream = l->stream;
    CH_BUF_AUTO nothing = {0};

    listener_free(l);
    ch_mcp_reply(c->server ? c : NULL, r, stream, &nothing);
}

static void listener_write_id(const struct ch_mcp_listener *l, struct ch_jw *w) {
    ch_jw_kbegin(w, "_meta", '{');
    ch_jw_kraw(w, CH_MCP_META "subscriptionId", ch_sv_str(l->id));
    ch_jw_end(w, '}');
}

static const struct {
    const char *wish, *notice;
    unsigned kinds;
} lists[] = {
    {"toolsListChanged", "notifications/tools/list_changed", 1u << CH_MCP_TOOL},
    {"promptsListChanged", "notifications/prompts/list_changed", 1u << CH_MCP_PROMPT},
    {"resourcesListChanged", "notifications/resources/list_changed",
     1u << CH_MCP_RESOURCE | 1u << CH_MCP_TEMPLATE},
};

static void listener_acknowledge(struct ch_mcp_listener *l) {
    CH_BUF_AUTO params = {0};
    struct ch_jw w = ch_jw(&params);

    ch_jw_begin(&w, '{');
    listener_write_id(l, &w);
    ch_jw_kbegin(&w, "notifications", '{');
    for (size_t i = 0; i < CH_LEN(lists); i++)
        if (l->kinds & lists[i].kinds)
            ch_jw_kbool(&w, lists[i].wish, true);
    if (l->watched) {
        ch_jw_kvalue(&w, "resourceSubscriptions", l->watched);
    }
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    ch_mcp_notify(l->c, l->stream, "notifications/subscriptions/acknowledged", ch_buf_sv(&params));
}

static void methods_listen(const struct ch_mcp_incoming *in) {
    chela_mcp_server *s = in->c->server;
    const struct ch_json *wishes = ch_json_get(in->params, "notifications");
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);

    if (!ch_json_is(wishes, CH_JSON_OBJECT) || s->nlisteners >= CH_LIMIT_MCP_LISTENERS) {
        methods_refuse(in, wishes ? "notifications is not an object, or too many clients listen"
                                  : "notifications is missing");
        return;
    }
    struct ch_mcp_listener *l = ch_alloc(sizeof(*l));
    *l = (struct ch_mcp_listener){.server = s, .c = in->c, .stream = in->c->stream};
    for (size_t i = 0; i < CH_LEN(lists); i++)
        if (ch_json_bool(ch_json_get(wishes, lists[i].wish), false))
            l->kinds |= lists[i].kinds;
    const struct ch_json *uris = ch_json_get(wishes, "resourceSubscriptions");
    if (ch_json_is(uris, CH_JSON_ARRAY) && uris->n <= CH_LIMIT_MCP_WATCHED) {
        ch_jw_value(&w, uris);
        ch_json_parse(&l->arena, ch_arena_sv(&l->arena, ch_buf_sv(&text)), CH_JSON_STRICT,
                      &l->watched, NULL, NULL);
    }
    CH_BUF_AUTO id = {0};
    w = ch_jw(&id);
    ch_rpc_write_id(&w, in->r->id);
    l->id = ch_arena_str(&l->arena, ch_buf_sv(&id));
    in->r->user = l;
    in->r->gone = listener_on_gone;
    ch_list_add(&s->listeners, &l->link);
    s->nlisteners++;
    listener_acknowledge(l);
}

void ch_mcp_listeners_changed(chela_mcp_server *s, unsigned kinds) {
    for (size_t i = 0; i < CH_LEN(lists); i++) {
        if (!(kinds & lists[i].kinds))
            continue;
        for (CH_LIST_EACH(k, &s->connections)) {
            chela_mcp_connection *c = CH_CONTAINER(k, chela_mcp_connection, link);
            if (c->agreed)
                ch_mcp_notify(c, NULL, lists[i].notice, ch_sv(NULL, 0));
        }
        for (CH_LIST_EACH(k, &s->listeners)) {
            struct ch_mcp_listener *l = CH_CONTAINER(k, struct ch_mcp_listener, link);
            CH_BUF_AUTO params = {0};
            struct ch_jw w = ch_jw(&params);
            if (!(l->kinds & lists[i].kinds))
                continue;
            ch_jw_begin(&w, '{');
            listener_write_id(l, &w);
            ch_jw_end(&w, '}');
            ch_mcp_notify(l->c, l->stream, lists[i].notice, ch_buf_sv(&params));
        }
    }
}

static bool connection_watches(const chela_mcp_connection *c, const char *uri) {
    for (size_t i = 0; i < c->nwatched; i++)
        if (strcmp(c->watched[i], uri) == 0)
            return true;
    return false;
}

void ch_mcp_listeners_updated(chela_mcp_server *s, const char *uri) {
    for (CH_LIST_EACH(k, &s->connections)) {
        chela_mcp_connection *c = CH_CONTAINER(k, chela_mcp_connection, link);
        CH_BUF_AUTO params = {0};
        struct ch_jw w = ch_jw(&params);
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "uri", uri);
        ch_jw_end(&w, '}');
        if (connection_watches(c, uri))
            ch_mcp_notify(c, NULL, "notifications/resources/updated", ch_buf_sv(&params));
    }
    for (CH_LIST_EACH(k, &s->listeners)) {
        struct ch_mcp_listener *l = CH_CONTAINER(k, struct ch_mcp_listener, link);
        CH_BUF_AUTO params = {0};
        struct ch_jw w = ch_jw(&params);
        if (!ch_mcp_contains(l->watched, uri))
            continue;
        ch_jw_begin(&w, '{');
        listener_write_id(l, &w);
        ch_jw_kcstr(&w, "uri", uri);
        ch_jw_end(&w, '}');
        ch_mcp_notify(l->c, l->stream, "notifications/resources/updated", ch_buf_sv(&params));
    }
}

/* --- the table */

enum { LEGACY = 1, MODERN = 2, BOTH = 3 };
enum { TASKS = CH_MCP_KINDS, SKILLS };

static const struct {
    const char *name;
    unsigned eras;
    int kind; /* offered only with items of this kind, tasks or skills; -1: always */
    void (*fn)(const struct ch_mcp_incoming *in);
} methods[] = {
    {"initialize", LEGACY, -1, methods_initialize},
    {"ping", LEGACY, -1, reply_empty},
    {"logging/setLevel", LEGACY, -1, methods_set_level},
    {"server/discover", MODERN, -1, methods_discover},
    {"tools/list", BOTH, CH_MCP_TOOL, methods_tools},
    {"tools/call", BOTH, CH_MCP_TOOL, methods_call},
    {"resources/list", BOTH, CH_MCP_RESOURCE, methods_resources},
    {"resources/templates/list", BOTH, CH_MCP_RESOURCE, methods_templates},
    {"resources/read", BOTH, CH_MCP_RESOURCE, methods_read},
    {"resources/subscribe", LEGACY, CH_MCP_RESOURCE, methods_subscribe},
    {"resources/unsubscribe", LEGACY, CH_MCP_RESOURCE, methods_unsubscribe},
    {"prompts/list", BOTH, CH_MCP_PROMPT, methods_prompts},
    {"prompts/get", BOTH, CH_MCP_PROMPT, methods_prompt},
    {"skills/list", BOTH, SKILLS, methods_skills},
    {"skills/get", BOTH, SKILLS, methods_skill},
    {"completion/complete", BOTH, -1, methods_complete},
    {"subscriptions/listen", MODERN, -1, methods_listen},
    {"tasks/get", BOTH, TASKS, methods_task_get},
    {"tasks/result", LEGACY, TASKS, methods_task_result},
    {"tasks/cancel", BOTH, TASKS, methods_task_cancel},
    {"tasks/update", MODERN, TASKS, methods_task_update},
};

static bool is_offered(const chela_mcp_server *s, int kind) {
    if (kind == TASKS)
        return s->task;
    if (kind == SKILLS)
        return s->skills;
    return kind < 0 || !ch_list_empty(&s->items[kind]) ||
           (kind == CH_MCP_RESOURCE && !ch_list_empty(&s->items[CH_MCP_TEMPLATE]));
}

static void refuse_tasks(const struct ch_mcp_incoming *in) {
    ch_mcp_refuse(in->c, in->r, in->c->stream, CH_MCP_MISSING_CAPABILITY,
                  CH_SV("{\"requiredCapabilities\":{\"extensions\":{\"" CH_MCP_TASKS "\":{}}}}"),
                  "the request needs the client capability %s", CH_MCP_TASKS);
}

void ch_mcp_dispatch(const struct ch_mcp_incoming *in) {
    for (size_t i = 0; i < CH_LEN(methods); i++)
        if (ch_sv_is(in->method, methods[i].name) &&
            (methods[i].eras & (in->modern ? MODERN : LEGACY)) &&
            is_offered(in->c->server, methods[i].kind)) {
            if (methods[i].kind == TASKS && in->modern && !ch_mcp_knows_tasks(in))
                refuse_tasks(in);
            else
                methods[i].fn(in);
            return;
        }
    ch_mcp_refuse(in->c, in->r, in->c->stream, CH_RPC_NO_METHOD, ch_sv(NULL, 0),
                  "unknown method: %.*s", (int)CH_MIN(in->method.n, (size_t)80), in->method.p);
}
