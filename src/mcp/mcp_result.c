/* mcp_result.c -- see mcp_result.h. */
#include "mcp/mcp_result.h"

#include "base/base64.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "json/writer.h"
#include "mcp/mcp_protocol.h"
#include "mcp/mcp_server_connection.h"
#include "schema/schema.h"

/* Pieces of text are separated by a line break. */
static void add_text(struct ch_buf *out, struct ch_sv text) {
    if (out->n && out->p[out->n - 1] != '\n')
        ch_buf_addc(out, '\n');
    ch_buf_add_sv(out, text);
}

static void result_add_note(struct ch_buf *out, const char *what, struct ch_sv uri,
                            struct ch_sv name) {
    CH_BUF_AUTO note = {0};

    ch_buf_addf(&note, "[%s: %.*s", what, (int)CH_MIN(uri.n, CH_LIMIT_URL), uri.p ? uri.p : "");
    if (name.n)
        ch_buf_addf(&note, " (%.*s)", (int)CH_MIN(name.n, 200), name.p);
    ch_buf_addc(&note, ']');
    add_text(out, ch_buf_sv(&note));
}

static bool is_media(struct ch_sv type) {
    return ch_sv_starts(type, "image/") || ch_sv_starts(type, "audio/") ||
           ch_sv_is(type, "application/pdf");
}

static void result_add_media(chela_call *call, struct ch_buf *out, const struct ch_json *block,
                             const char *key) {
    struct ch_sv type = ch_json_get_str(block, "mimeType");
    CH_BUF_AUTO bytes = {0};
    CH_BUF_AUTO name = {0};

    ch_buf_add(&name, type.p ? type.p : "", CH_MIN(type.n, CH_LIMIT_MCP_NAME));
    if (is_media(type) && ch_base64_read(ch_json_get_str(block, key), &bytes) && bytes.n)
        chela_result_media(call, ch_buf_str(&name), bytes.p, bytes.n);
    else
        result_add_note(out, "binary content", ch_buf_sv(&name), ch_sv(NULL, 0));
}

static void result_add_resource(chela_call *call, struct ch_buf *out,
                                const struct ch_json *resource) {
    result_add_note(out, "resource", ch_json_get_str(resource, "uri"), ch_sv(NULL, 0));
    if (ch_json_get(resource, "text"))
        add_text(out, ch_json_get_str(resource, "text"));
    else
        result_add_media(call, out, resource, "blob");
}

static void result_add_block(chela_call *call, struct ch_buf *out, const struct ch_json *block) {
    struct ch_sv type = ch_json_get_str(block, "type");

    if (ch_sv_is(type, "text"))
        add_text(out, ch_json_get_str(block, "text"));
    else if (ch_sv_is(type, "image") || ch_sv_is(type, "audio"))
        result_add_media(call, out, block, "data");
    else if (ch_sv_is(type, "resource_link"))
        result_add_note(out, "link to a resource, not fetched", ch_json_get_str(block, "uri"),
                        ch_json_get_str(block, "name"));
    else if (ch_sv_is(type, "resource"))
        result_add_resource(call, out, ch_json_get(block, "resource"));
    else
        add_text(out, CH_SV("[content of an unknown type]"));
}

/* Append why the structured content does not match its schema. */
static bool matches(const struct ch_json *structured, const char *output, struct ch_buf *why) {
    CH_ARENA_AUTO arena = {0};
    CH_AUTO(ch_schema) schema = NULL;
    struct ch_violations found = {0};
    struct chela_error err = {0};

    if (!output)
        return true;
    if (!structured)
        ch_buf_add_str(why, "there is none");
    else if (ch_schema_parse(ch_sv_str(output), NULL, &schema, &err) < 0)
        return true; /* an invalid schema cannot reject the result */
    else if (ch_schema_check(schema, structured, &arena, &found) < 0)
        ch_violations_text(&found, why);
    return why->n == 0;
}

void ch_mcp_result(chela_call *call, const struct ch_json *result, const char *output) {
    const struct ch_json *structured = ch_json_get(result, "structuredContent");
    bool is_error = ch_json_bool(ch_json_get(result, "isError"), false);
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO json = {0};
    CH_BUF_AUTO why = {0};
    struct ch_jw w = ch_jw(&json);

    for (CH_JSON_EACH(block, ch_json_get(result, "content")))
        result_add_block(call, &text, block);
    bool fits = is_error || matches(structured, output, &why);
    if (structured && fits)
        ch_jw_value(&w, structured);
    if (is_error) {
        chela_result_error(call, "internal", "%.*s", (int)CH_MIN(text.n, 64 * CH_KB),
                           text.n ? text.p : "the tool failed without a message");
        return;
    }
    if (text.n == 0 && json.n)
        add_text(&text, ch_buf_sv(&json));
    if (!fits) {
        add_text(&text, CH_SV("[The structured content does not match the output schema of the "
                              "tool: "));
        ch_buf_add_sv(&text, ch_utf8_cut(ch_sv_trim(ch_buf_sv(&why)), CH_KB));
        ch_buf_addc(&text, ']');
    }
    chela_result_text(call, ch_buf_str(&text), text.n);
    if (json.n)
        chela_result_details(call, ch_buf_str(&json));
}

static void add_member(struct ch_buf *out, const char *before, const struct ch_json *entry,
                       const char *key) {
    struct ch_sv text = ch_json_get_str(entry, key);

    if (!text.n)
        return;
    ch_buf_add_str(out, before);
    ch_mcp_clean(out, ch_sv(text.p, CH_MIN(text.n, CH_KB)));
}

/* One line for each resource or template. */
static void add_entries(struct ch_buf *out, const struct ch_json *entries, const char *uri) {
    for (CH_JSON_EACH(e, entries)) {
        CH_BUF_AUTO line = {0};
        add_member(&line, "", e, uri);
        add_member(&line, "  ", e, "name");
        add_member(&line, "  ", e, "mimeType");
        add_member(&line, ": ", e, "description");
        for (size_t i = 0; i < line.n; i++)
            if (line.p[i] == '\n')
                line.p[i] = ' ';
        add_text(out, ch_buf_sv(&line));
    }
}

void ch_mcp_result_resources(chela_call *call, const struct ch_json *result) {
    CH_BUF_AUTO text = {0};

    for (CH_JSON_EACH(resource, ch_json_get(result, "contents")))
        result_add_resource(call, &text, resource);
    add_entries(&text, ch_json_get(result, "resources"), "uri");
    add_entries(&text, ch_json_get(result, "resourceTemplates"), "uriTemplate");
    if (ch_json_get_str(result, "nextCursor").n) {
        CH_BUF_AUTO more = {0};
        add_member(&more, "There are more. The next page has the cursor ", result, "nextCursor");
        add_text(&text, ch_buf_sv(&more));
    }
    if (!text.n)
        add_text(&text, CH_SV("There are none."));
    chela_result_text(call, ch_buf_str(&text), text.n);
}

void ch_mcp_result_failed(chela_call *call, const struct ch_mcp_reply *r) {
    const char *type = "internal";

    if (r->code == CH_RPC_INVALID_PARAMS)
        type = "invalid_arguments";
    else if (r->err.code == CHELA_ETIMEOUT)
        type = "timeout";
    else if (r->err.code == CHELA_EAUTH || r->err.code == CHELA_EPERM)
        type = "permission_denied";
    else if (r->err.code == CHELA_ENET || r->err.code == CHELA_ENOENT ||
             r->err.code == CHELA_ESTATE)
        type = "unavailable";
    chela_result_error(call, type, "%s", r->err.message);
}
