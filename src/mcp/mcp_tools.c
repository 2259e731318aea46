/* mcp_tools.c -- see mcp_tools.h. */
#include "mcp/mcp_tools.h"

#include "agent/handle/agent.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/sha256.h"
#include "mcp/mcp_call.h"
#include "mcp/mcp_protocol.h"
#include "mcp/mcp_server_connection.h"
#include "mcp/mcp_skills.h"
#include "tool/call/function.h"
#include "tool/call/question.h"
#include "tool/registry/registry.h"

/* A tool in an agent. Survives the client, because a running call may. */
struct ch_mcp_binding {
    struct ch_link link; /* in the client's bindings; unlinked: the client is closed */
    chela_mcp *mcp;      /* NULL: closed */
    chela_agent *agent;
    char *name, *output; /* owned: the tool's name at the server, schema of its result or NULL */
    bool task;           /* a call may be a task */
    const char *method;  /* not a tool of the server, but this method; NULL: a tool */
    bool skills;         /* not a tool of the server, but the reader of its skills */
    unsigned revision; /* revision of the tool's definition */
    bool withdrawn; /* the definition changed: calls are refused until it is accepted */
};

struct ch_mcp_agent {
    struct ch_extension extension; /* to the agent */
    struct ch_link link;             /* in the client's agents */
    chela_agent *agent;
};

struct ch_mcp_tools {
    chela_mcp *mcp;
    struct ch_mcp_manifest manifest;
    char *path;   /* owned: the file; NULL: nothing is stored */
    char origin[2 * CH_SHA256_SIZE + 1];
    struct ch_list bindings, agents;
    struct ch_mcp_op *listing; /* NULL: no list is read */
    struct ch_mcp_op *notices; /* waits for notifications of changes; NULL: none */
    struct ch_timer retry_timer; /* before notices are asked for again */
    unsigned pages;
    bool accept, changed;
    ch_mcp_listed_fn *done;
    void *user;
};

/* --- calls */

void ch_mcp_tools_headers(const chela_mcp *m, const char *tool, const char *params,
                          struct ch_buf *out) {
    const struct ch_mcp_manifest *list = &m->tools->manifest;
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO arguments = {0};
    struct ch_jw w = ch_jw(&arguments);
    const struct ch_json *root;

    if (ch_json_parse(&arena, ch_sv_str(params), CH_JSON_STRICT, &root, NULL, NULL) < 0 ||
        !ch_json_get(root, "arguments"))
        return;
    ch_jw_value(&w, ch_json_get(root, "arguments"));
    for (size_t i = 0; i < list->n; i++)
        if (list->tools[i].listed.schema && strcmp(list->tools[i].name, tool) == 0)
            ch_mcp_call_headers(out, list->tools[i].listed.schema, ch_buf_str(&arguments));
}

static int call_tool(chela_call *call, void *user) {
    struct ch_mcp_binding *b = user;

    if (!b->mcp || b->withdrawn)
        ch_question_drop(call);
    if (!b->mcp)
        return chela_result_error(call, "unavailable", "The MCP server of this tool is closed.");
    if (b->withdrawn)
        return chela_result_error(call, "permission_denied",
                                  "The server %s changed the definition of this tool. A person "
                                  "has to accept the new one: chela mcp tools %s --accept",
                                  b->mcp->opts.name, b->mcp->opts.name);
    if (b->skills)
        return ch_mcp_skills_call(call, b->mcp);
    return ch_mcp_call(
        call, &(struct ch_mcp_target){b->mcp, b->name, b->output, b->task, b->method});
}

/* --- tools in agents */

static void free_binding(void *user) {
    struct ch_mcp_binding *b = user;

    ch_list_del(&b->link);
    ch_free(b->name);
    ch_free(b->output);
    ch_free(b);
}

/* By the agent's tools: the client has the bindings of all agents. */
static struct ch_mcp_binding *find_binding(const chela_mcp *m, const chela_agent *agent,
                                           const struct ch_mcp_tool *t) {
    const struct ch_tool *tool = ch_registry_find(&agent->registry, ch_sv_str(t->alias));
    struct ch_mcp_binding *b = tool && tool->release == free_binding ? tool->user : NULL;

    return b && b->mcp == m && !b->method && !b->skills && strcmp(b->name, t->name) == 0 ? b : NULL;
}

static bool tool_is_wanted(const chela_mcp *m, const char *name) {
    struct ch_sv text = ch_sv_str(name);

    return (!m->opts.allow || ch_tool_matches(ch_sv_str(m->opts.allow), text)) &&
           !(m->opts.deny && ch_tool_matches(ch_sv_str(m->opts.deny), text));
}

/* The operator chose the server. */
static bool server_address(chela_call *call, struct ch_buf *url) {
    const struct ch_mcp_binding *b = call->tool->user;

    if (b->mcp)
        ch_buf_add_str(url, b->mcp->opts.url);
    return true;
}

static void add_binding(chela_mcp *m, struct ch_mcp_binding *b, const char *alias,
                        const char *description, const char *schema) {
    struct chela_error err = {0};
    bool asks = !m->opts.no_confirm && !b->skills; /* a person accepted the skills */
    struct chela_tool_opts opts = CHELA_TOOL_OPTS(
            .name = alias, .description = description, .schema = schema, .fn = call_tool,
            .user = b,
            .effect = b->method || b->skills ? CHELA_EFFECT_READ : m->opts.effect,
            .permission = m->opts.permission,
            .flags = CHELA_TOOL_ON_LOOP | CHELA_TOOL_SENDS | (asks ? CHELA_TOOL_CONFIRM : 0) |
                     (b->method || b->skills ? CH_TOOL_CLOSED : 0),
            .timeout_ms = m->opts.timeout_ms, .release = free_binding,
            .max_retries = m->opts.max_retries, .retry_backoff_ms = m->opts.retry_backoff_ms,
            .retry_max_backoff_ms = m->opts.retry_max_backoff_ms,
            .retry_deadline_ms = m->opts.retry_deadline_ms);

    /* the schema of a server's tool keeps its own meaning: it is not closed */
    if (ch_function_add(&b->agent->registry, &opts, &err) < 0) {
        ch_log(CH_LOG_WARN, "mcp", "%s: tool %s is left out: %s", m->opts.name, b->name,
               err.message);
        free_binding(b);
        return;
    }
    struct ch_tool *tool = ch_registry_find(&b->agent->registry, ch_sv_str(alias));
    CH_BUF_AUTO origin = {0};
    ch_buf_addf(&origin, "mcp:%s", m->opts.name);
    tool->origin = ch_strdup(ch_buf_str(&origin));
    tool->flow = m->opts.flow ? ch_tool_flow_of(m->opts.flow) : CH_FLOW_ALL;
    if (m->opts.url)
        tool->destination = server_address;
    ch_list_add(&m->tools->bindings, &b->link);
}

static void bind_tool(chela_mcp *m, const struct ch_mcp_tool *t, chela_agent *agent) {
    struct ch_mcp_binding *b = ch_alloc(sizeof(*b));

    *b = (struct ch_mcp_binding){.mcp = m,
                                 .agent = agent,
                                 .name = ch_strdup(t->name),
                                 .output = ch_strdup(t->accepted.output),
                                 .task = t->accepted.task,
                                 .revision = t->revision};
    add_binding(m, b, t->alias, t->accepted.description, t->accepted.schema);
}

/* The server's resources as tools of the model. Their definitions are chela's own, so there is
 * nothing to accept. */
static const struct ch_mcp_reader {
    const char *name, *method, *description, *schema;
} mcp_readers[] = {
    {"list_resources", "resources/list", "Lists the resources of the MCP server: URIs and names.",
     "{\"type\":\"object\",\"properties\":{\"cursor\":{\"type\":\"string\",\"description\":\"page "
     "after the first, as the last page named it\"}},\"additionalProperties\":false}"},
    {"list_resource_templates", "resources/templates/list",
     "Lists the templates for URIs of further resources of the MCP server.",
     "{\"type\":\"object\",\"properties\":{\"cursor\":{\"type\":\"string\"}},"
     "\"additionalProperties\":false}"},
    {"read_resource", "resources/read", "Reads a resource of the MCP server.",
     "{\"type\":\"object\",\"properties\":{\"uri\":{\"type\":\"string\"}},\"required\":[\"uri\"],"
     "\"additionalProperties\":false}"},
};

static void bind_readers(chela_mcp *m, chela_agent *agent) {
    for (size_t i = 0; m->opts.resources && i < CH_LEN(mcp_readers); i++) {
        const struct ch_mcp_reader *r = &mcp_readers[i];
        if (!tool_is_wanted(m, r->name))
            continue;
        CH_BUF_AUTO alias = {0};
        struct ch_mcp_binding *b = ch_alloc(sizeof(*b));
        *b = (struct ch_mcp_binding){.mcp = m, .agent = agent, .method = r->method};
        b->name = ch_strdup(r->name);
        ch_mcp_alias(&alias, m->opts.name, ch_sv_str(r->name), false);
        add_binding(m, b, ch_buf_str(&alias), r->description, r->schema);
    }
}

static void bind_skills(chela_mcp *m, chela_agent *agent) {
    CH_BUF_AUTO about = {0};
    CH_BUF_AUTO schema = {0};
    CH_BUF_AUTO alias = {0};

    if (!tool_is_wanted(m, CH_MCP_SKILL_TOOL) || !ch_mcp_skills_describe(m, &about, &schema))
        return;
    struct ch_mcp_binding *b = ch_alloc(sizeof(*b));
    *b = (struct ch_mcp_binding){.mcp = m, .agent = agent, .skills = true};
    b->name = ch_strdup(CH_MCP_SKILL_TOOL);
    ch_mcp_alias(&alias, m->opts.name, CH_SV(CH_MCP_SKILL_TOOL), false);
    add_binding(m, b, ch_buf_str(&alias), ch_buf_str(&about), ch_buf_str(&schema));
}

/* Bring the tools of an agent up to date. A tool that is gone or changed stays, so that the
 * prompt stays the same; its calls fail. */
static void update_agent(chela_mcp *m, chela_agent *agent) {
    const struct ch_mcp_manifest *list = &m->tools->manifest;

    for (size_t i = 0; i < list->n; i++) {
        const struct ch_mcp_tool *t = &list->tools[i];
        struct ch_mcp_binding *b = find_binding(m, agent, t);
        bool same = b && b->revision == t->revision;
        if (b && ch_mcp_tool_offered(t) && !same) {
            chela_agent_remove_tool(agent, t->alias, NULL);
            b = NULL;
        }
        if (b)
            b->withdrawn = ch_mcp_tool_changed(t);
        else if (ch_mcp_tool_offered(t) && tool_is_wanted(m, t->name))
            bind_tool(m, t, agent);
    }
}

static void update_agents(chela_mcp *m) {
    for (CH_LIST_EACH(k, &m->tools->agents))
        update_agent(m, CH_CONTAINER(k, struct ch_mcp_agent, link)->agent);
}

/* --- listing */

static int save_manifest(const chela_mcp *m, struct chela_error *err) {
    const struct ch_mcp_tools *t = m->tools;
    int rc = t->path ? ch_mcp_manifest_save(&t->manifest, t->path, t->origin, err) : 0;

    if (rc < 0)
        ch_log(CH_LOG_WARN, "mcp", "%s: %s", m->opts.name, err->message);
    return rc;
}

static void report_changes(const chela_mcp *m) {
    const struct ch_mcp_manifest *list = &m->tools->manifest;

    for (size_t i = 0; i < list->n; i++)
        if (ch_mcp_tool_changed(&list->tools[i]))
            ch_log(CH_LOG_WARN, "mcp",
                   "%s: tool %s %s and is not offered; see: chela mcp tools %s, then --accept",
                   m->opts.name, list->tools[i].name,
                   list->tools[i].accepted.schema ? "has a new definition" : "is new",
                   m->opts.name);
}

static void end_listing(chela_mcp *m, const struct chela_error *err) {
    struct ch_mcp_tools *t = m->tools;
    ch_mcp_listed_fn *done = CH_TAKE(t->done);
    struct chela_error why = {0};

    t->listing = NULL;
    if (!err) {
        /* the acceptance of a person that is not stored has failed */
        if (ch_mcp_manifest_end(&t->manifest, t->accept || !t->path) &&
            save_manifest(m, &why) < 0 && t->accept)
            err = &why;
        report_changes(m);
        update_agents(m);
    }
    t->accept = false;
    if (t->changed)
        ch_mcp_tools_list(m, false, NULL, NULL);
    if (done)
        done(err, t->user);
}

static void list_page(chela_mcp *m, struct ch_sv cursor);

static void on_page(const struct ch_mcp_reply *r, void *user) {
    chela_mcp *m = user;
    struct ch_mcp_tools *t = m->tools;
    struct chela_error err = r->err;

    t->listing = NULL;
    if (r->code == CH_RPC_NO_METHOD) { /* a server without tools */
        end_listing(m, NULL);
        return;
    }
    if (!r->result || ch_mcp_manifest_add(&t->manifest, m->opts.name, r->result, &err) < 0) {
        end_listing(m, &err);
        return;
    }
    struct ch_sv next = ch_json_get_str(r->result, "nextCursor");
    if (next.n == 0)
        end_listing(m, NULL);
    else if (++t->pages >= CH_LIMIT_MCP_PAGES || next.n > CH_LIMIT_MCP_CURSOR) {
        ch_fail(&err, CHELA_ELIMIT, "the server's list of tools is too long");
        end_listing(m, &err);
    } else
        list_page(m, next);
}

static void list_page(chela_mcp *m, struct ch_sv cursor) {
    CH_BUF_AUTO members = {0};
    struct ch_jw w = ch_jw(&members);

    if (cursor.n)
        ch_jw_kstr(&w, "cursor", cursor);
    m->tools->listing = ch_mcp_start(m, &(struct ch_mcp_request){
                                            .method = "tools/list",
                                            .members = ch_buf_sv(&members),
                                            .timeout_ms = CH_DEFAULT_MCP_START_MS,
                                            .done = on_page,
                                            .user = m,
                                        });
}

void ch_mcp_tools_list(chela_mcp *m, bool accept, ch_mcp_listed_fn *done, void *user) {
    struct ch_mcp_tools *t = m->tools;

    if (t->listing) { /* begin again, so that the caller's list is complete */
        ch_mcp_cancel(t->listing);
        accept |= t->accept;
    }
    t->accept = accept;
    t->changed = false;
    t->done = done ? done : t->done;
    t->user = done ? user : t->user;
    t->pages = 0;
    ch_mcp_manifest_begin(&t->manifest);
    list_page(m, ch_sv(NULL, 0));
}

bool ch_mcp_tools_is_listing(const chela_mcp *m) {
    return m->tools->listing;
}

bool ch_mcp_tools_awaited(const chela_mcp *m) {
    return m->tools->listing && !m->tools->manifest.known;
}

/* --- changes */

static void ask_for_notices(chela_mcp *m);

static void tools_on_changed(chela_mcp *m) {
    if (m->tools->listing)
        m->tools->changed = true;
    else
        ch_mcp_tools_list(m, false, NULL, NULL);
}

/* Changes since the stream of notifications ended are seen by a new list. */
static void on_again(struct ch_timer *t) {
    chela_mcp *m = CH_CONTAINER(t, struct ch_mcp_tools, retry_timer)->mcp;

    ask_for_notices(m);
    if (m->tools->notices)
        tools_on_changed(m);
}

static void on_notices_end(const struct ch_mcp_reply *r, void *user) {
    chela_mcp *m = user;

    m->tools->notices = NULL;
    if (m->state == CH_MCP_READY && r->code != CH_RPC_NO_METHOD)
        ch_timer_start(m->rt->loop, &m->tools->retry_timer, CH_DEFAULT_MCP_LISTEN_MS, on_again);
}

/* Version 2026-07-28 sends notifications only to a request that asks for them. */
static void ask_for_notices(chela_mcp *m) {
    struct ch_mcp_tools *t = m->tools;

    if (!m->modern || !m->tools_change || t->notices || ch_list_empty(&t->agents) ||
        m->state != CH_MCP_READY)
        return;
    ch_timer_stop(m->rt->loop, &t->retry_timer);
    t->notices = ch_mcp_start(
        m, &(struct ch_mcp_request){
               .method = "subscriptions/listen",
               .members = CH_SV("\"notifications\":{\"toolsListChanged\":true}"),
               .done = on_notices_end,
               .user = m,
           });
}

/* A server that starts because of a call is asked for its tools, so that changes are seen. */
static void tools_on_ready(chela_mcp *m) {
    ask_for_notices(m);
    if (!m->tools->listing && m->tools->path)
        ch_mcp_tools_list(m, false, NULL, NULL);
}

/* --- life */

static void detach_agent(struct ch_extension *extension) {
    struct ch_mcp_agent *a = CH_CONTAINER(extension, struct ch_mcp_agent, extension);

    ch_list_del(&a->link);
    ch_list_del(&extension->link);
    ch_free(a);
}

/* The digest of the server's identity: its command, or its URL. */
static void make_origin(const chela_mcp *m, char out[2 * CH_SHA256_SIZE + 1]) {
    unsigned char digest[CH_SHA256_SIZE];
    CH_BUF_AUTO text = {0};

    for (size_t i = 0; m->opts.command && m->opts.command[i]; i++)
        ch_buf_addf(&text, "%zu:%s", strlen(m->opts.command[i]), m->opts.command[i]);
    ch_buf_addf(&text, "|%s", m->opts.url ? m->opts.url : "");
    ch_sha256_of(ch_buf_sv(&text), digest);
    ch_sha256_hex(digest, out);
}

void ch_mcp_tools_open(chela_mcp *m) {
    struct ch_mcp_tools *t = m->tools = ch_alloc(sizeof(*t));
    CH_BUF_AUTO path = {0};
    struct chela_error err = {0};

    t->mcp = m;
    ch_list_init(&t->bindings);
    ch_list_init(&t->agents);
    m->on_ready = tools_on_ready;
    m->on_changed = tools_on_changed;
    make_origin(m, t->origin);
    ch_mcp_skills_open(m, t->origin);
    if (!m->opts.state_dir)
        return;
    ch_buf_addf(&path, "%s/%s.json", m->opts.state_dir, m->opts.name);
    t->path = ch_buf_take(&path);
    int rc = ch_mcp_manifest_load(&t->manifest, m->opts.name, t->path, t->origin, &err);
    if (rc < 0 && rc != CHELA_ENOENT)
        ch_log(CH_LOG_WARN, "mcp",
               "%s: no tool is offered, because the accepted tools cannot be read: %s; see: chela "
               "mcp tools %s, then --accept", m->opts.name, err.message, m->opts.name);
}

void ch_mcp_tools_close(chela_mcp *m) {
    struct ch_mcp_tools *t = CH_TAKE(m->tools);

    ch_timer_stop(m->rt->loop, &t->retry_timer);
    for (struct ch_mcp_binding *b;
         (b = CH_LIST_FIRST(&t->bindings, struct ch_mcp_binding, link));) {
        b->mcp = NULL;
        ch_list_del(&b->link);
    }
    for (struct ch_mcp_agent *a; (a = CH_LIST_FIRST(&t->agents, struct ch_mcp_agent, link));)
        detach_agent(&a->extension);
    ch_mcp_manifest_release(&t->manifest);
    ch_mcp_skills_close(m);
    ch_free(t->path);
    ch_free(t);
}

void ch_mcp_tools_attach(chela_mcp *m, chela_agent *agent) {
    struct ch_mcp_agent *a = ch_alloc(sizeof(*a));

    a->agent = agent;
    a->extension.close = detach_agent;
    m->asks = true;
    ch_list_add(&m->tools->agents, &a->link);
    ch_list_add(&agent->extensions, &a->extension.link);
    update_agent(m, agent);
    bind_readers(m, agent);
    bind_skills(m, agent);
    ask_for_notices(m);
    if (!m->tools->manifest.known && !m->tools->listing)
        ch_mcp_tools_list(m, false, NULL, NULL);
}

const struct ch_mcp_manifest *ch_mcp_tools_manifest(const chela_mcp *m) {
    return &m->tools->manifest;
}
