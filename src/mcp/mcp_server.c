/* mcp_server.c -- see mcp_server.h: the server and the items that it offers. */
#include "mcp/mcp_server.h"

#include <ctype.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/opts.h"
#include "guard/secrets.h"
#include "io/loop_entry.h"
#include "mcp/mcp_server_http.h"
#include "mcp/mcp_server_item.h"
#include "mcp/mcp_server_listen.h"
#include "mcp/mcp_server_methods.h"
#include "mcp/mcp_template.h"

#define PULSE_MS 15000
#define SECRET_LEAST 16

static const char server_kind; /* its address identifies extensions that are servers */

/* --- life */

static const char *server_copy(struct ch_arena *a, const char *text) {
    return text ? ch_arena_str(a, ch_sv_str(text)) : NULL;
}

static const char *const *copy_list(struct ch_arena *a, const char *const *list) {
    size_t n = 0;

    while (list && list[n])
        n++;
    const char **copy = ch_arena_zalloc(a, (n + 1) * sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        copy[i] = server_copy(a, list[i]);
    return copy;
}

static void make_secret(chela_mcp_server *s, const char *given) {
    if (given)
        ch_sha256_of(ch_sv_str(given), s->secret);
    else if (getrandom(s->secret, sizeof(s->secret), 0) != (ssize_t)sizeof(s->secret))
        abort(); /* a server with a known secret must not run */
}

static void server_on_pulse(struct ch_timer *t) {
    chela_mcp_server *s = CH_CONTAINER(t, chela_mcp_server, pulse);

    ch_mcp_http_pulse(s);
    ch_timer_start(s->rt->loop, t, PULSE_MS, server_on_pulse);
}

static void server_on_notify(struct ch_task *t) {
    chela_mcp_server *s = CH_CONTAINER(t, chela_mcp_server, notify);
    unsigned changed = s->changed;

    s->changed = 0;
    ch_mcp_listeners_changed(s, changed);
}

static void server_on_stop(struct ch_post *p) {
    chela_mcp_server *s = CH_CONTAINER(p, chela_mcp_server, stop);

    atomic_store(&s->stopping, false);
    s->stopped = true;
}

static void server_on_extension_close(struct ch_extension *e) {
    chela_mcp_server_close(CH_CONTAINER(e, chela_mcp_server, extension));
}

static chela_mcp_server *make_server(chela_runtime *rt, const struct chela_mcp_server_opts *o) {
    chela_mcp_server *s = ch_alloc(sizeof(*s));
    struct ch_list *lists[] = {&s->connections, &s->sessions, &s->listeners, &s->streams,
                               &s->buried};

    s->rt = rt;
    s->refs = 1;
    for (size_t i = 0; i < CH_LEN(lists); i++)
        ch_list_init(lists[i]);
    for (size_t i = 0; i < CH_MCP_KINDS; i++)
        ch_list_init(&s->items[i]);
    s->name = server_copy(&s->arena, o->name);
    s->version = server_copy(&s->arena, o->version);
    s->title = server_copy(&s->arena, o->title);
    s->instructions = server_copy(&s->arena, o->instructions);
    s->hosts = copy_list(&s->arena, o->hosts);
    s->origins = copy_list(&s->arena, o->origins);
    s->has_token = o->token != NULL;
    if (s->has_token) {
        ch_secret_add(o->token, "the token of the MCP server");
        ch_sha256_of(ch_sv_str(o->token), s->token);
    }
    s->ttl_ms = o->ttl_ms ? o->ttl_ms : CH_DEFAULT_MCP_TTL_MS;
    s->notify.fn = server_on_notify;
    s->stop.fn = server_on_stop;
    s->extension.kind = &server_kind;
    s->extension.uses_agents = true;
    s->extension.close = server_on_extension_close;
    make_secret(s, o->secret);
    return s;
}

int chela_mcp_server_new(chela_runtime *rt, const struct chela_mcp_server_opts *given,
                         chela_mcp_server **out, struct chela_error *err) {
    CH_NEEDS_ARG(out, err);
    *out = NULL;
    CH_ENTER(rt, rt->loop, err);
    struct chela_mcp_server_opts o;

    int rc = CH_OPTS_NEED(chela_mcp_server_opts, &o, given, err);
    if (rc < 0)
        return rc;
    if (!o.name || !*o.name || !o.version)
        return ch_fail(err, CHELA_EINVAL, "an MCP server needs a name and a version");
    if (o.ttl_ms < 0 || (o.secret && strlen(o.secret) < SECRET_LEAST))
        return ch_fail(err, CHELA_EINVAL, "the secret has fewer than %d bytes, or ttl_ms is "
                       "negative", SECRET_LEAST);
    if (o.token && strlen(o.token) < SECRET_LEAST)
        return ch_fail(err, CHELA_EINVAL, "the token has fewer than %d bytes", SECRET_LEAST);
    chela_mcp_server *s = make_server(rt, &o);
    ch_list_add(&rt->extensions, &s->extension.link);
    ch_timer_start(rt->loop, &s->pulse, PULSE_MS, server_on_pulse);
    *out = s;
    return 0;
}

static void item_remove(struct ch_mcp_item *i) {
    ch_list_del(&i->link);
    i->server->nitems--;
    ch_mcp_item_unref(i);
}

static void remove_items(chela_mcp_server *s) {
    struct ch_mcp_item *i;

    for (size_t k = 0; k < CH_MCP_KINDS; k++)
        while ((i = CH_LIST_FIRST(&s->items[k], struct ch_mcp_item, link)))
            item_remove(i);
    if (s->task) {
        ch_mcp_item_unref(CH_TAKE(s->task));
        ch_mcp_item_unref(CH_TAKE(s->task_cancel));
    }
    if (s->skills) {
        ch_mcp_item_unref(CH_TAKE(s->skills));
        ch_mcp_item_unref(CH_TAKE(s->skill));
    }
}

void chela_mcp_server_close(chela_mcp_server *s) {
    CH_ENTER_OR(s, s->rt->loop, NULL, );
    chela_mcp_connection *c;

    if (!s || s->closed)
        return;
    CH_LOG_SCOPE(s->rt->sink);
    s->closed = true;
    ch_timer_stop(s->rt->loop, &s->pulse);
    ch_task_cancel(s->rt->loop, &s->notify);
    ch_loop_unpost(s->rt->loop, &s->stop);
    ch_mcp_http_close(s);
    ch_mcp_listen_close(s);
    while ((c = CH_LIST_FIRST(&s->connections, chela_mcp_connection, link)))
        chela_mcp_connection_close(c);
    remove_items(s);
    ch_list_del(&s->extension.link);
    s->stopped = true;
    ch_mcp_server_unref(s);
}

int chela_mcp_server_run(chela_mcp_server *s) {
    CH_ENTER(s, s->rt->loop, NULL);
    struct ch_loop *loop = s->rt->loop;
    int rc = ch_loop_may_run(loop, NULL);

    if (rc < 0)
        return rc;
    s->stopped = false;
    s->refs++; /* a callback may close the server */
    ch_loop_hold(loop);
    rc = ch_loop_run(loop, &s->stopped);
    ch_loop_release(loop);
    ch_mcp_server_unref(s);
    return rc;
}

void chela_mcp_server_stop(chela_mcp_server *s) {
    CH_NEEDS_OR(s, NULL, );
    if (!atomic_exchange(&s->stopping, true))
        ch_loop_post(s->rt->loop, &s->stop);
}

/* --- items */

static bool item_is_name(struct ch_sv name, bool strict) {
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (c < 0x20 || c == 0x7f || (strict && !isalnum(c) && !strchr("_-.", c)))
            return false;
    }
    return name.n > 0 && name.n <= CH_LIMIT_MCP_NAME;
}

static void item_changed(chela_mcp_server *s, enum ch_mcp_kind kind) {
    s->changed |= 1u << kind;
    ch_task_defer(s->rt->loop, &s->notify);
}

/* Add an item that is complete, or free it. */
static int item_add(chela_mcp_server *s, struct ch_mcp_item *i, struct chela_error *err) {
    int rc = 0;

    if (ch_mcp_server_find(s, i->kind, ch_sv_str(i->key)))
        rc = ch_fail(err, CHELA_EEXIST, "%s is offered already", i->key);
    else if (s->nitems >= CH_LIMIT_MCP_ITEMS)
        rc = ch_fail(err, CHELA_ELIMIT, "an MCP server offers at most %d items",
                     CH_LIMIT_MCP_ITEMS);
    if (rc < 0) {
        i->release = NULL;
        ch_mcp_item_unref(i);
        return rc;
    }
    ch_list_add(&s->items[i->kind], &i->link);
    s->nitems++;
    item_changed(s, i->kind);
    return 0;
}

static struct ch_mcp_item *item_new(chela_mcp_server *s, enum ch_mcp_kind kind, const char *key) {
    struct ch_mcp_item *i = ch_alloc(sizeof(*i));

    i->server = s;
    i->kind = kind;
    i->refs = 1;
    i->key = ch_strdup(key);
    return i;
}

void ch_mcp_server_tasks(chela_mcp_server *s, chela_mcp_fn *get, chela_mcp_fn *cancel,
                         void *user) {
    s->task = item_new(s, CH_MCP_TOOL, "tasks/get");
    s->task->fn = get;
    s->task->user = user;
    s->task_cancel = item_new(s, CH_MCP_TOOL, "tasks/cancel");
    s->task_cancel->fn = cancel;
    s->task_cancel->user = user;
    s->task_cancel->flags = CHELA_MCP_ON_LOOP;
}

void ch_mcp_server_skill_items(chela_mcp_server *s, chela_mcp_fn *list, chela_mcp_fn *get,
                               void *user, void (*release)(void *user)) {
    s->skills = item_new(s, CH_MCP_TOOL, "skills/list");
    s->skills->fn = list;
    s->skill = item_new(s, CH_MCP_TOOL, "skills/get");
    s->skill->fn = get;
    s->skills->user = s->skill->user = user;
    s->skills->release = s->skill->release = release;
}

void ch_mcp_server_adopt(chela_mcp_server *s, chela_mcp_server *from) {
    struct ch_mcp_item *i;

    remove_items(s);
    for (size_t k = 0; k < CH_MCP_KINDS; k++) {
        while ((i = CH_LIST_FIRST(&from->items[k], struct ch_mcp_item, link))) {
            ch_list_del(&i->link);
            from->nitems--;
            i->server = s;
            ch_list_add(&s->items[k], &i->link);
            s->nitems++;
        }
        item_changed(s, (enum ch_mcp_kind)k);
    }
    s->task = CH_TAKE(from->task);
    s->task_cancel = CH_TAKE(from->task_cancel);
    s->skills = CH_TAKE(from->skills);
    s->skill = CH_TAKE(from->skill);
    chela_mcp_server_close(from);
}

static void write_if(struct ch_jw *w, const char *key, const char *text) {
    if (text)
        ch_jw_kcstr(w, key, text);
}

static int write_json(struct ch_jw *w, const char *key, const char *json, enum ch_json_type type,
                      struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;

    if (!json)
        return 0;
    if (ch_json_parse(&arena, ch_sv_str(json), CH_JSON_STRICT, &v, NULL, err) < 0 ||
        v->type != type)
        return ch_fail(err, CHELA_EINVAL, "%s is not a JSON %s", key, ch_json_type_name(type));
    ch_jw_kvalue(w, key, v);
    return 0;
}

/* err holds the reason, with the code of the function that found it. */
static int item_fail(struct ch_mcp_item *i, struct chela_error *err) {
    i->release = NULL;
    ch_mcp_item_unref(i);
    if (err)
        err->code = CHELA_EINVAL;
    return CHELA_EINVAL;
}

/* Compile the schemas of a tool, and check the headers in them. */
static int read_schemas(struct ch_mcp_item *i, const struct chela_mcp_tool_opts *o,
                        struct chela_error *err) {
    if (o->output_schema &&
        ch_schema_parse(ch_sv_str(o->output_schema), NULL, &i->output, err) < 0)
        return CHELA_EINVAL;
    if (!o->schema)
        return 0;
    if (ch_schema_parse(ch_sv_str(o->schema), NULL, &i->schema, err) < 0 ||
        ch_json_parse(&i->arena, ch_sv_str(o->schema), CH_JSON_STRICT, &i->input, NULL, err) < 0)
        return CHELA_EINVAL;
    if (!ch_sv_is(ch_json_get_str(i->input, "type"), "object"))
        return ch_fail(err, CHELA_EINVAL, "the schema of tool %s is not that of an object",
                       o->name);
    return ch_mcp_header_check(i->input, err) < 0 ? CHELA_EINVAL : 0;
}

/* Sets *out to the entry of a list. */
static int list_tool(const struct chela_mcp_tool_opts *o, const char *output_schema, char **out,
                     struct chela_error *err) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "name", o->name);
    write_if(&w, "title", o->title);
    write_if(&w, "description", o->description);
    int rc = write_json(&w, "inputSchema", o->schema ? o->schema : "{\"type\":\"object\"}",
                        CH_JSON_OBJECT, err);
    if (rc == 0)
        rc = write_json(&w, "outputSchema", output_schema, CH_JSON_OBJECT, err);
    if (rc == 0)
        rc = write_json(&w, "annotations", o->annotations, CH_JSON_OBJECT, err);
    ch_jw_end(&w, '}');
    if (rc == 0)
        *out = ch_buf_take(&text);
    return rc;
}

/* Up to 2025-11-25 an output schema is that of an object; clients refuse a list with another. */
static bool older_clients_take(const char *output_schema) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;

    return !output_schema ||
           (ch_json_parse(&arena, ch_sv_str(output_schema), CH_JSON_STRICT, &v, NULL, NULL) == 0 &&
            ch_sv_is(ch_json_get_str(v, "type"), "object"));
}

int chela_mcp_server_tool(chela_mcp_server *s, const struct chela_mcp_tool_opts *given,
                          struct chela_error *err) {
    CH_ENTER(s, s->rt->loop, err);
    struct chela_mcp_tool_opts o;
    int rc = CH_OPTS_NEED(chela_mcp_tool_opts, &o, given, err);

    if (rc < 0)
        return rc;
    if (!o.fn || !o.name || !item_is_name(ch_sv_str(o.name), true))
        return ch_fail(err, CHELA_EINVAL,
                       "a tool needs a function and a name of a-z A-Z 0-9 _ - .");
    struct ch_mcp_item *i = item_new(s, CH_MCP_TOOL, o.name);
    if (read_schemas(i, &o, err) < 0 || list_tool(&o, o.output_schema, &i->listed, err) < 0 ||
        (!older_clients_take(o.output_schema) && list_tool(&o, NULL, &i->older, err) < 0))
        return item_fail(i, err);
    i->fn = o.fn;
    i->user = o.user;
    i->flags = o.flags;
    i->release = o.release;
    return item_add(s, i, err);
}

int chela_mcp_server_prompt(chela_mcp_server *s, const struct chela_mcp_prompt_opts *given,
                            struct chela_error *err) {
    CH_ENTER(s, s->rt->loop, err);
    struct chela_mcp_prompt_opts o;
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    int rc = CH_OPTS_NEED(chela_mcp_prompt_opts, &o, given, err);

    if (rc < 0)
        return rc;
    if (!o.fn || !o.name || !item_is_name(ch_sv_str(o.name), false))
        return ch_fail(err, CHELA_EINVAL,
                       "a prompt needs a function and a name of at most %d bytes",
                       CH_LIMIT_MCP_NAME);
    struct ch_mcp_item *i = item_new(s, CH_MCP_PROMPT, o.name);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "name", o.name);
    write_if(&w, "title", o.title);
    write_if(&w, "description", o.description);
    rc = write_json(&w, "arguments", o.arguments, CH_JSON_ARRAY, err);
    ch_jw_end(&w, '}');
    if (rc < 0 || ch_json_parse(&i->arena, ch_arena_sv(&i->arena, ch_buf_sv(&out)),
                                CH_JSON_STRICT, &i->input, NULL, err) < 0)
        return item_fail(i, err);
    i->listed = ch_buf_take(&out);
    i->fn = o.fn;
    i->complete = o.complete;
    i->user = o.user;
    i->flags = o.flags;
    i->release = o.release;
    return item_add(s, i, err);
}

/* --- resources */

int chela_mcp_server_resource(chela_mcp_server *s, const struct chela_mcp_resource_opts *given,
                              struct chela_error *err) {
    CH_ENTER(s, s->rt->loop, err);
    struct chela_mcp_resource_opts o;
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    int rc = CH_OPTS_NEED(chela_mcp_resource_opts, &o, given, err);

    if (rc < 0)
        return rc;
    if (!o.fn || !o.uri || !strchr(o.uri, ':') || strlen(o.uri) > CH_LIMIT_MCP_URI)
        return ch_fail(err, CHELA_EINVAL, "a resource has a function and an absolute URI");
    bool template = strchr(o.uri, '{');
    if (template && !ch_mcp_template_is_valid(ch_sv_str(o.uri)))
        return ch_fail(err, CHELA_EINVAL, "%s: a template has at most %d variables {name} or "
                       "{+name}", o.uri, CH_MCP_VARIABLES);
    struct ch_mcp_item *i = item_new(s, template ? CH_MCP_TEMPLATE : CH_MCP_RESOURCE, o.uri);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, template ? "uriTemplate" : "uri", o.uri);
    ch_jw_kcstr(&w, "name", o.name ? o.name : o.uri);
    write_if(&w, "title", o.title);
    write_if(&w, "description", o.description);
    write_if(&w, "mimeType", o.mime_type);
    ch_jw_end(&w, '}');
    i->listed = ch_buf_take(&out);
    i->mime = ch_strdup(o.mime_type);
    i->fn = o.fn;
    i->complete = template ? o.complete : NULL;
    i->list = template ? o.list : NULL;
    i->user = o.user;
    i->flags = o.flags;
    i->release = o.release;
    return item_add(s, i, err);
}

/* --- removing */

static int remove_key(chela_mcp_server *s, enum ch_mcp_kind kind, const char *key) {
    struct ch_mcp_item *i = ch_mcp_server_find(s, kind, ch_sv_str(key));

    if (!i)
        return CHELA_ENOENT;
    item_changed(s, kind);
    item_remove(i);
    return 0;
}

int chela_mcp_server_remove_tool(chela_mcp_server *s, const char *name) {
    CH_ENTER(s, s->rt->loop, NULL);
    return remove_key(s, CH_MCP_TOOL, name);
}

int chela_mcp_server_remove_resource(chela_mcp_server *s, const char *uri) {
    CH_ENTER(s, s->rt->loop, NULL);
    CH_NEEDS_ARG(uri, NULL);
    return remove_key(s, strchr(uri, '{') ? CH_MCP_TEMPLATE : CH_MCP_RESOURCE, uri);
}

int chela_mcp_server_remove_prompt(chela_mcp_server *s, const char *name) {
    CH_ENTER(s, s->rt->loop, NULL);
    return remove_key(s, CH_MCP_PROMPT, name);
}

void chela_mcp_server_updated(chela_mcp_server *s, const char *uri) {
    CH_ENTER_OR(s, s->rt->loop, NULL, );
    ch_mcp_listeners_updated(s, uri);
}
