/* mcp_manifest.c -- see mcp_manifest.h. */
#include "mcp/mcp_manifest.h"

#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/writer.h"
#include "mcp/mcp_protocol.h"

#define FILE_VERSION 1
#define TOOL_BYTES 512 /* of a tool in the file, besides description and schemas, at most */

/* --- definitions */

static void definition_release(struct ch_mcp_definition *d) {
    ch_free(d->description);
    ch_free(d->schema);
    ch_free(d->output);
    *d = (struct ch_mcp_definition){0};
}

static void definition_copy(struct ch_mcp_definition *to, const struct ch_mcp_definition *from) {
    struct ch_mcp_definition copy = *from;

    copy.description = ch_strdup(from->description);
    copy.schema = ch_strdup(from->schema);
    copy.output = ch_strdup(from->output);
    definition_release(to);
    *to = copy;
}

static bool is_same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool definition_equal(const struct ch_mcp_definition *a,
                             const struct ch_mcp_definition *b) {
    return is_same_text(a->description, b->description) && is_same_text(a->schema, b->schema) &&
           is_same_text(a->output, b->output);
}

static char *json_text(const struct ch_json *v) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);

    if (!v)
        return NULL;
    ch_jw_value(&w, v);
    return ch_buf_take(&out);
}

static int definition_read(struct ch_mcp_definition *d, const struct ch_json *tool,
                           struct chela_error *err) {
    const struct ch_json *schema = ch_json_get(tool, "inputSchema");
    CH_BUF_AUTO text = {0};

    if (!ch_json_is(schema, CH_JSON_OBJECT) ||
        !ch_sv_is(ch_json_get_str(schema, "type"), "object"))
        return ch_fail(err, CHELA_EPROTO, "its inputSchema is not the schema of an object");
    int rc = ch_mcp_header_check(schema, err);
    if (rc < 0)
        return rc;
    ch_mcp_clean(&text, ch_json_get_str(tool, "description"));
    if (text.n == 0)
        ch_mcp_clean(&text, ch_json_get_str(tool, "title"));
    d->description = text.n ? ch_buf_take(&text) : ch_strdup("");
    d->schema = json_text(schema);
    d->output = json_text(ch_json_get(tool, "outputSchema"));
    struct ch_sv task = ch_json_str(ch_json_path(tool, "execution", "taskSupport", NULL));
    d->task = ch_sv_is(task, "optional") || ch_sv_is(task, "required");
    if (strlen(d->schema) > CH_LIMIT_MCP_SCHEMA ||
        (d->output && strlen(d->output) > CH_LIMIT_MCP_SCHEMA)) {
        definition_release(d);
        return ch_fail(err, CHELA_ELIMIT, "its schema is larger than %zu bytes",
                       (size_t)CH_LIMIT_MCP_SCHEMA);
    }
    return 0;
}

/* --- tools */

void ch_mcp_manifest_release(struct ch_mcp_manifest *m) {
    for (size_t i = 0; i < m->n; i++) {
        definition_release(&m->tools[i].accepted);
        definition_release(&m->tools[i].listed);
        definition_release(&m->tools[i].next);
        ch_free(m->tools[i].name);
        ch_free(m->tools[i].alias);
    }
    ch_free(m->tools);
    *m = (struct ch_mcp_manifest){0};
}

bool ch_mcp_tool_offered(const struct ch_mcp_tool *t) {
    return t->accepted.schema && t->listed.schema &&
           definition_equal(&t->accepted, &t->listed);
}

bool ch_mcp_tool_changed(const struct ch_mcp_tool *t) {
    return t->listed.schema && !ch_mcp_tool_offered(t);
}

void ch_mcp_manifest_begin(struct ch_mcp_manifest *m) {
    m->bytes = 0;
    for (size_t i = 0; i < m->n; i++)
        definition_release(&m->tools[i].next);
}

static struct ch_mcp_tool *find_tool(struct ch_mcp_manifest *m, struct ch_sv name) {
    for (size_t i = 0; i < m->n; i++)
        if (ch_sv_is(name, m->tools[i].name))
            return &m->tools[i];
    return NULL;
}

static bool alias_is_used(const struct ch_mcp_manifest *m, const char *alias) {
    for (size_t i = 0; i < m->n; i++)
        if (m->tools[i].alias && strcmp(m->tools[i].alias, alias) == 0)
            return true;
    return false;
}

static char *make_alias(const struct ch_mcp_manifest *m, const char *server, struct ch_sv name) {
    CH_BUF_AUTO alias = {0};

    ch_mcp_alias(&alias, server, name, false);
    if (alias_is_used(m, ch_buf_str(&alias))) {
        ch_buf_clear(&alias);
        ch_mcp_alias(&alias, server, name, true);
    }
    return alias_is_used(m, ch_buf_str(&alias)) ? NULL : ch_buf_take(&alias);
}

static bool is_tool_name(struct ch_sv name) {
    for (size_t i = 0; i < name.n; i++)
        if ((unsigned char)name.p[i] <= 0x20 || (unsigned char)name.p[i] >= 0x7f)
            return false;
    return name.n > 0 && name.n <= CH_LIMIT_MCP_NAME;
}

static int find_or_add(struct ch_mcp_manifest *m, const char *server, struct ch_sv name,
                       struct ch_mcp_tool **out, struct chela_error *err) {
    *out = find_tool(m, name);
    if (*out)
        return 0;
    if (m->n >= CH_LIMIT_MCP_TOOLS)
        return ch_fail(err, CHELA_ELIMIT, "the server has more than %d tools", CH_LIMIT_MCP_TOOLS);
    char *alias = make_alias(m, server, name);
    if (!alias)
        return ch_fail(err, CHELA_EEXIST, "its name collides with another tool");
    if ((m->n & (m->n - 1)) == 0) /* the room doubles */
        m->tools = ch_realloc(m->tools, CH_MAX(2 * m->n, 1) * sizeof(*m->tools));
    *out = &m->tools[m->n++];
    **out = (struct ch_mcp_tool){.name = ch_strndup(name.p, name.n), .alias = alias};
    return 0;
}

static void leave_out(const char *server, struct ch_sv name, const char *why) {
    CH_BUF_AUTO clean = {0};

    ch_mcp_clean(&clean, ch_sv(name.p, CH_MIN(name.n, CH_LIMIT_MCP_NAME)));
    ch_log(CH_LOG_WARN, "mcp", "%s: tool %s is left out: %s", server, ch_buf_str(&clean), why);
}

/* A file that is too large to be read would make every first list an accepted one. */
static bool definition_fits(struct ch_mcp_manifest *m, const struct ch_mcp_definition *d) {
    m->bytes += TOOL_BYTES + 2 * strlen(d->description) + strlen(d->schema) +
                (d->output ? strlen(d->output) : 0);
    return m->bytes < CH_LIMIT_MCP_MANIFEST;
}

static int add_tool(struct ch_mcp_manifest *m, const char *server, const struct ch_json *tool,
                    struct chela_error *err) {
    struct ch_sv name = ch_json_get_str(tool, "name");
    struct ch_mcp_definition d = {0};
    struct chela_error why = {0};
    struct ch_mcp_tool *t;

    if (!is_tool_name(name)) {
        leave_out(server, name, "its name is not valid");
        return 0;
    }
    int rc = definition_read(&d, tool, &why);
    if (rc == 0 && !definition_fits(m, &d)) {
        definition_release(&d);
        return ch_fail(err, CHELA_ELIMIT, "the definitions of the server's tools are too large");
    }
    if (rc == 0)
        rc = find_or_add(m, server, name, &t, &why);
    if (rc == 0 && t->next.schema)
        rc = ch_fail(&why, CHELA_EEXIST, "the server lists it twice");
    if (rc == 0) {
        t->next = d;
        return 0;
    }
    definition_release(&d);
    if (rc == CHELA_ELIMIT && m->n >= CH_LIMIT_MCP_TOOLS)
        return ch_fail(err, rc, "%s", why.message);
    leave_out(server, name, why.message);
    return 0;
}

int ch_mcp_manifest_add(struct ch_mcp_manifest *m, const char *server, const struct ch_json *page,
                        struct chela_error *err) {
    const struct ch_json *tools = ch_json_get(page, "tools");
    int rc = 0;

    if (!ch_json_is(tools, CH_JSON_ARRAY))
        return ch_fail(err, CHELA_EPROTO, "the server's answer has no list of tools");
    for (CH_JSON_EACH(tool, tools))
        if (rc == 0)
            rc = add_tool(m, server, tool, err);
    return rc;
}

bool ch_mcp_manifest_end(struct ch_mcp_manifest *m, bool all) {
    bool first = !m->known || all;

    for (size_t i = 0; i < m->n; i++) {
        struct ch_mcp_tool *t = &m->tools[i];
        definition_release(&t->listed);
        t->listed = t->next;
        t->next = (struct ch_mcp_definition){0};
        if (!first)
            continue;
        t->revision += !definition_equal(&t->accepted, &t->listed);
        if (t->listed.schema)
            definition_copy(&t->accepted, &t->listed);
        else
            definition_release(&t->accepted);
    }
    m->known = true;
    return first;
}

/* --- the file */

static int load_tools(struct ch_mcp_manifest *m, const char *server, const struct ch_json *root,
                      const char *path, struct chela_error *err) {
    for (CH_JSON_EACH(tool, ch_json_get(root, "tools"))) {
        struct ch_sv name = ch_json_get_str(tool, "name");
        struct ch_mcp_tool *t;
        struct ch_mcp_definition d = {0};
        if (!is_tool_name(name) || definition_read(&d, tool, NULL) < 0 ||
            find_or_add(m, server, name, &t, NULL) < 0 || t->accepted.schema) {
            definition_release(&d);
            return ch_fail(err, CHELA_EPARSE, "%s: the list of accepted tools is damaged", path);
        }
        t->accepted = d;
        if (ch_json_bool(ch_json_get(tool, "listed"), true))
            definition_copy(&t->listed, &d);
    }
    return 0;
}

static int read_file(struct ch_mcp_manifest *m, const char *server, const char *path,
                     const char *origin, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    const struct ch_json *root;

    int rc = ch_file_load(path, CH_LIMIT_MCP_MANIFEST, &text, err);
    if (rc < 0)
        return rc;
    rc = ch_json_parse(&arena, ch_buf_sv(&text), CH_JSON_STRICT, &root, NULL, err);
    if (rc < 0)
        return rc;
    if (ch_json_int(ch_json_get(root, "v"), 0) != FILE_VERSION)
        return ch_fail(err, CHELA_EPARSE, "%s: unknown format", path);
    if (!ch_sv_is(ch_json_get_str(root, "origin"), origin))
        return ch_fail(err, CHELA_ENOENT, "%s: of another server", path);
    return load_tools(m, server, root, path, err);
}

int ch_mcp_manifest_load(struct ch_mcp_manifest *m, const char *server, const char *path,
                         const char *origin, struct chela_error *err) {
    int rc = read_file(m, server, path, origin, err);

    if (rc < 0)
        ch_mcp_manifest_release(m);
    m->known = rc != CHELA_ENOENT;
    return rc;
}

static void write_manifest(const struct ch_mcp_manifest *m, const char *origin,
                           struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);

    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "v", FILE_VERSION);
    ch_jw_kcstr(&w, "origin", origin);
    ch_jw_kbegin(&w, "tools", '[');
    for (size_t i = 0; i < m->n; i++) {
        const struct ch_mcp_tool *t = &m->tools[i];
        if (!t->accepted.schema)
            continue;
        ch_buf_addc(out, '\n');
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "name", t->name);
        ch_jw_kcstr(&w, "description", t->accepted.description);
        ch_jw_kraw(&w, "inputSchema", ch_sv_str(t->accepted.schema));
        if (t->accepted.output)
            ch_jw_kraw(&w, "outputSchema", ch_sv_str(t->accepted.output));
        if (t->accepted.task)
            ch_jw_kraw(&w, "execution", CH_SV("{\"taskSupport\":\"optional\"}"));
        if (!t->listed.schema)
            ch_jw_kbool(&w, "listed", false);
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    ch_buf_addc(out, '\n');
}

int ch_mcp_manifest_save(const struct ch_mcp_manifest *m, const char *path, const char *origin,
                         struct chela_error *err) {
    CH_BUF_AUTO text = {0};

    write_manifest(m, origin, &text);
    return ch_file_save(path, ch_buf_sv(&text), err);
}
