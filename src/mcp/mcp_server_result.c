/* mcp_server_result.c -- see mcp_server.h: the result that a function sets.
 *
 * Blocks are written as JSON when they are added: content of a tool, messages of a prompt,
 * contents of a resource, suggestions of a completion, entries of a list. */
#include "mcp/mcp_server_result.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/entry.h"
#include "base/limits.h"
#include "mcp/mcp_server_connection.h"

#define MOST_VALUES 100 /* suggestions of one completion */

void ch_mcp_result_clear(chela_mcp_call *call) {
    struct ch_buf *bufs[] = {&call->blocks, &call->structured, &call->error};

    for (size_t i = 0; i < CH_LEN(bufs); i++) {
        ch_buf_release(bufs[i]);
        ch_buf_init(bufs[i], CH_LIMIT_RPC_MESSAGE);
    }
    call->nblocks = 0;
    call->failed = call->not_found = call->overflow = false;
    call->role = "user";
}

/* --- blocks */

/* Begin a block; a message of a prompt wraps its content. */
static struct ch_jw block_begin(chela_mcp_call *call) {
    struct ch_jw w = ch_jw(&call->blocks);

    if (call->nblocks++ > 0)
        ch_buf_addc(&call->blocks, ',');
    if (call->verb == CH_MCP_GET) {
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "role", call->role);
        ch_jw_key(&w, "content");
    }
    return w;
}

static void block_end(const chela_mcp_call *call, struct ch_jw *w) {
    if (call->verb == CH_MCP_GET)
        ch_jw_end(w, '}');
}

static void write_contents(struct ch_jw *w, const char *uri, const char *mime, const char *key,
                           struct ch_sv data) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "uri", uri);
    if (mime)
        ch_jw_kcstr(w, "mimeType", mime);
    ch_jw_kstr(w, key, data);
    ch_jw_end(w, '}');
}

void chela_mcp_result_text(chela_mcp_call *call, const char *text, size_t len) {
    CH_NEEDS_OR(call, NULL, );
    struct ch_sv s = ch_sv(text, len);

    if (call->verb == CH_MCP_COMPLETE && call->nblocks >= MOST_VALUES) {
        call->nblocks++; /* counted for `total` */
        return;
    }
    struct ch_jw w = block_begin(call);
    if (call->verb == CH_MCP_COMPLETE) {
        ch_jw_str(&w, s);
    } else if (call->verb == CH_MCP_READ) {
        write_contents(&w, call->name, call->item->mime, "text", s);
    } else {
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "type", "text");
        ch_jw_kstr(&w, "text", s);
        ch_jw_end(&w, '}');
    }
    block_end(call, &w);
}

void chela_mcp_result_printf(chela_mcp_call *call, const char *fmt, ...) {
    CH_NEEDS_OR(call, NULL, );
    CH_BUF_AUTO text = {0};
    va_list ap;

    va_start(ap, fmt);
    ch_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    chela_mcp_result_text(call, ch_buf_str(&text), text.n);
}

void chela_mcp_result_media(chela_mcp_call *call, const char *mime, const void *data, size_t len) {
    CH_NEEDS_OR(call, NULL, );
    CH_BUF_AUTO text = {0};

    ch_buf_init(&text, CH_LIMIT_RPC_MESSAGE);
    ch_base64_add(&text, ch_sv(data, len));
    struct ch_jw w = block_begin(call);
    if (!mime)
        mime = call->item->mime ? call->item->mime : "application/octet-stream";
    if (call->verb == CH_MCP_READ) {
        write_contents(&w, call->name, mime, "blob", ch_buf_sv(&text));
    } else {
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "type", strncmp(mime, "audio/", 6) == 0 ? "audio" : "image");
        ch_jw_kstr(&w, "data", ch_buf_sv(&text));
        ch_jw_kcstr(&w, "mimeType", mime);
        ch_jw_end(&w, '}');
    }
    call->overflow |= text.overflow;
    block_end(call, &w);
}

void chela_mcp_result_resource(chela_mcp_call *call, const char *uri, const char *mime,
                               const char *text, size_t len) {
    CH_NEEDS_OR(call, NULL, );
    struct ch_jw w = block_begin(call);

    if (call->verb == CH_MCP_READ) {
        write_contents(&w, uri, mime, "text", ch_sv(text, len));
        return;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", "resource");
    ch_jw_key(&w, "resource");
    write_contents(&w, uri, mime, "text", ch_sv(text, len));
    ch_jw_end(&w, '}');
    block_end(call, &w);
}

void chela_mcp_result_link(chela_mcp_call *call, const char *uri, const char *name,
                           const char *mime, const char *description) {
    CH_NEEDS_OR(call, NULL, );
    struct ch_jw w = block_begin(call);

    ch_jw_begin(&w, '{');
    if (call->verb != CH_MCP_LIST)
        ch_jw_kcstr(&w, "type", "resource_link");
    ch_jw_kcstr(&w, "uri", uri);
    ch_jw_kcstr(&w, "name", name);
    if (mime)
        ch_jw_kcstr(&w, "mimeType", mime);
    if (description)
        ch_jw_kcstr(&w, "description", description);
    ch_jw_end(&w, '}');
    block_end(call, &w);
}

void chela_mcp_result_json(chela_mcp_call *call, const char *json) {
    CH_NEEDS_OR(call, NULL, );
    ch_buf_clear(&call->structured);
    ch_buf_add_str(&call->structured, json);
}

void chela_mcp_result_role(chela_mcp_call *call, const char *role) {
    CH_NEEDS_OR(call, NULL, );
    call->role = strcmp(role, "assistant") == 0 ? "assistant" : "user";
}

int chela_mcp_result_error(chela_mcp_call *call, const char *fmt, ...) {
    CH_NEEDS(call, NULL);
    va_list ap;

    call->failed = true;
    ch_buf_clear(&call->error);
    va_start(ap, fmt);
    ch_buf_vaddf(&call->error, fmt, ap);
    va_end(ap);
    return CHELA_OK;
}

int chela_mcp_result_not_found(chela_mcp_call *call) {
    CH_NEEDS(call, NULL);
    call->not_found = true;
    return chela_mcp_result_error(call, "there is no %s", call->name);
}

/* --- the result */

/* A structured result that is no JSON, or not of the tool's schema, is an error, and so is its
 * absence if there is a schema. Up to 2025-11-25 a structured result is an object: a client of
 * these versions gets any other value as text only. */
static void check_structured(chela_mcp_call *call) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;

    if (call->failed || (call->structured.n == 0 && !call->item->output))
        return;
    if (call->structured.n == 0) {
        chela_mcp_result_error(call, "the tool's structured result is missing");
        return;
    }
    if (ch_json_parse(&arena, ch_buf_sv(&call->structured), CH_JSON_STRICT, &v, NULL, NULL) < 0 ||
        (call->item->output && !ch_schema_valid(call->item->output, v))) {
        chela_mcp_result_error(call, "the tool's structured result is invalid");
        return;
    }
    if (call->nblocks == 0)
        chela_mcp_result_text(call, call->structured.p, call->structured.n);
    if (!call->modern && v->type != CH_JSON_OBJECT)
        ch_buf_clear(&call->structured);
}

static void write_tool(chela_mcp_call *call, struct ch_jw *w) {
    ch_jw_kbegin(w, "content", '[');
    if (call->failed) {
        ch_jw_begin(w, '{');
        ch_jw_kcstr(w, "type", "text");
        ch_jw_kstr(w, "text", ch_buf_sv(&call->error));
        ch_jw_end(w, '}');
    } else if (call->nblocks) {
        ch_jw_raw(w, ch_buf_sv(&call->blocks));
    }
    ch_jw_end(w, ']');
    if (call->failed)
        ch_jw_kbool(w, "isError", true);
    if (call->structured.n && (!call->failed || call->classed))
        ch_jw_kraw(w, "structuredContent", ch_buf_sv(&call->structured));
}

static void write_state(const chela_mcp_call *call, struct ch_jw *w) {
    const struct ch_mcp_task *t = &call->task;
    bool fails = call->failed && !call->modern; /* since 2026-07-28 a tool error is a result */

    ch_jw_kcstr(w, "taskId", t->id);
    ch_jw_kcstr(w, "status", fails && strcmp(t->status, "completed") == 0 ? "failed" : t->status);
    if (t->message)
        ch_jw_kcstr(w, "statusMessage", t->message);
    else if (fails)
        ch_jw_kstr(w, "statusMessage", ch_buf_sv(&call->error));
    ch_jw_ktime(w, "createdAt", t->created);
    ch_jw_ktime(w, "lastUpdatedAt", t->updated);
    ch_jw_kcstr(w, call->modern ? "ttlMs" : "ttl", NULL);
    ch_jw_kint(w, call->modern ? "pollIntervalMs" : "pollInterval", CH_DEFAULT_MCP_POLL_MS);
}

/* The answer to tools/call, tasks/get or tasks/cancel. */
static void write_task(chela_mcp_call *call, struct ch_jw *w) {
    bool nested = call->verb == CH_MCP_CALL && !call->modern;

    if (nested) {
        ch_jw_kbegin(w, "task", '{');
    }
    write_state(call, w);
    if (nested)
        ch_jw_end(w, '}');
    if (call->modern && call->verb == CH_MCP_TASK_GET &&
        strcmp(call->task.status, "completed") == 0) {
        ch_jw_kbegin(w, "result", '{');
        write_tool(call, w);
        ch_jw_end(w, '}');
    }
}

static void write_list(chela_mcp_call *call, struct ch_jw *w, const char *key) {
    ch_jw_kbegin(w, key, '[');
    if (call->nblocks)
        ch_jw_raw(w, ch_buf_sv(&call->blocks));
    ch_jw_end(w, ']');
}

static void write_completion(chela_mcp_call *call, struct ch_jw *w) {
    ch_jw_kbegin(w, "completion", '{');
    write_list(call, w, "values");
    ch_jw_kint(w, "total", (int64_t)call->nblocks);
    ch_jw_kbool(w, "hasMore", call->nblocks > MOST_VALUES);
    ch_jw_end(w, '}');
}

/* --- lists */

void ch_mcp_entries_add(struct ch_mcp_entries *e, struct ch_sv json) {
    if (e->n++ < e->skip)
        return;
    if (e->room == 0) {
        e->more = true;
        return;
    }
    e->room--;
    if (e->text.n)
        ch_buf_addc(&e->text, ',');
    ch_buf_add_sv(&e->text, json);
}

static void add_values(struct ch_mcp_entries *e, const struct ch_json *list) {
    for (CH_JSON_EACH(entry, list)) {
        CH_BUF_AUTO one = {0};
        struct ch_jw w = ch_jw(&one);
        ch_jw_value(&w, entry);
        ch_mcp_entries_add(e, ch_buf_sv(&one));
    }
}

void ch_mcp_entries_add_all(struct ch_mcp_entries *e, struct ch_sv array) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *list;

    if (ch_json_parse(&arena, array, CH_JSON_STRICT, &list, NULL, NULL) == 0)
        add_values(e, list);
}

void ch_mcp_entries_write(struct ch_mcp_entries *e, struct ch_jw *w, const char *key) {
    CH_BUF_AUTO list = {0};

    ch_buf_addf(&list, "[%s]", ch_buf_str(&e->text));
    ch_jw_kraw(w, key, ch_buf_sv(&list));
    ch_buf_release(&e->text);
    if (e->more) {
        char cursor[24];
        snprintf(cursor, sizeof(cursor), "%zu", e->skip + CH_LIMIT_MCP_PAGE);
        ch_jw_kcstr(w, "nextCursor", cursor);
    }
}

/* The resources that a thread listed, after those that were known before. */
static void write_resources(const chela_mcp_call *call, struct ch_jw *w) {
    struct ch_mcp_entries e = {
        .room = CH_LIMIT_MCP_PAGE,
        .skip = (size_t)ch_json_int(ch_json_get(call->arguments, "skip"), 0)};
    CH_BUF_AUTO listed = {0};

    ch_buf_addf(&listed, "[%s]", ch_buf_str((struct ch_buf *)&call->blocks));
    add_values(&e, ch_json_get(call->arguments, "before"));
    ch_mcp_entries_add_all(&e, ch_buf_sv(&listed));
    ch_mcp_entries_write(&e, w, "resources");
    if (call->modern) {
        ch_jw_kint(w, "ttlMs", 0);
        ch_jw_kcstr(w, "cacheScope", "private");
    }
}

static void write_body(chela_mcp_call *call, struct ch_jw *w) {
    switch (call->verb) {
    case CH_MCP_CALL:
        if (call->task.id)
            write_task(call, w);
        else
            write_tool(call, w);
        break;
    case CH_MCP_TASK_RESULT:
        write_tool(call, w);
        ch_jw_kbegin(w, "_meta", '{');
        ch_jw_kbegin(w, CH_MCP_META "related-task", '{');
        ch_jw_kcstr(w, "taskId", call->name);
        ch_jw_end(w, '}');
        ch_jw_end(w, '}');
        break;
    case CH_MCP_TASK_UPDATE:
        break;
    case CH_MCP_TASK_CANCEL: /* a client of 2026-07-28 gets an empty answer */
        if (!call->modern)
            write_task(call, w);
        break;
    case CH_MCP_TASK_GET:
        write_task(call, w);
        break;
    case CH_MCP_SKILL_LIST:
    case CH_MCP_SKILL_GET: /* the members of the object */
        ch_jw_raw(w, ch_sv(call->structured.p + 1, call->structured.n - 2));
        if (call->modern) {
            ch_jw_kint(w, "ttlMs", call->server->ttl_ms);
            ch_jw_kcstr(w, "cacheScope", "private");
        }
        break;
    case CH_MCP_GET:
        write_list(call, w, "messages");
        break;
    case CH_MCP_READ:
        write_list(call, w, "contents");
        if (call->modern) {
            ch_jw_kint(w, "ttlMs", 0);
            ch_jw_kcstr(w, "cacheScope", "private");
        }
        break;
    case CH_MCP_COMPLETE:
        write_completion(call, w);
        break;
    case CH_MCP_LIST:
        write_resources(call, w);
        break;
    }
}

bool ch_mcp_result_write(chela_mcp_call *call, struct ch_buf *out) {
    check_structured(call);
    if (call->overflow || call->blocks.overflow || call->structured.overflow)
        chela_mcp_result_error(call, "the result is too large");
    if (call->verb == CH_MCP_READ && !call->failed && call->nblocks == 0)
        chela_mcp_result_error(call, "the resource has no content");
    if (call->failed && call->verb != CH_MCP_CALL && !call->task.id)
        return false;
    bool task = call->verb == CH_MCP_CALL && call->task.id;
    struct ch_jw w =
        ch_mcp_result_begin(call->server, out, call->modern, task ? "task" : "complete");
    write_body(call, &w);
    ch_jw_end(&w, '}');
    return true;
}
