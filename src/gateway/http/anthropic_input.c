/* anthropic_input.c -- see anthropic_input.h. */
#include "gateway/http/anthropic_input.h"

#include "base/base64.h"
#include "base/error.h"
#include "gateway/http/openai.h"
#include "json/writer.h"

/* --- media */

static struct ch_sv plain_source(struct ch_client_history *h, const struct ch_json *source) {
    const struct ch_json *content = ch_json_get(source, "content");
    CH_BUF_AUTO text = {0}, data = {0};
    ch_buf_add_sv(&text, ch_json_get_str(source, "data"));
    ch_buf_add_sv(&text, ch_json_str(content));
    for (CH_JSON_EACH(part, content))
        ch_buf_add_sv(&text, ch_json_get_str(part, "text"));
    ch_base64_add(&data, ch_buf_sv(&text));
    return ch_arena_sv(h->arena, ch_buf_sv(&data));
}

static int read_source(struct ch_client_history *h, const struct ch_json *block,
                       enum ch_block_type kind, struct chela_error *err) {
    if (ch_request_check_types(block, "content[]",
                               "source:object source.type:string source.data:string "
                               "source.content:string|array source.media_type:string",
                               err) < 0)
        return CHELA_EINVAL;
    const struct ch_json *source = ch_json_get(block, "source");
    struct ch_sv type = ch_json_get_str(source, "type"), title = ch_json_get_str(block, "title");
    struct ch_sv media = ch_json_get_str(source, "media_type");
    if (ch_sv_is(type, "base64")) {
        ch_client_history_add_data(h, kind, media, ch_json_get_str(source, "data"), title);
        return 0;
    }
    if (ch_sv_is(type, "url"))
        return ch_client_history_add_media(h, kind, ch_json_get_str(source, "url"), title, err);
    if (ch_sv_is(type, "text") || ch_sv_is(type, "content")) {
        ch_client_history_add_data(h, CH_BLOCK_DOCUMENT, CH_SV("text/plain"),
                                   plain_source(h, source), title);
        return 0;
    }
    if (ch_sv_is(type, "file")) {
        ch_client_history_add_absent(h, "uploaded file", ch_json_get_str(source, "file_id"));
        return 0;
    }
    return ch_fail(err, CHELA_EINVAL, "a source of type '%.*s' is not supported", CH_SV_FMT(type));
}

/* A search result that the client found, as text. */
static struct ch_sv search_result_text(struct ch_client_history *h, const struct ch_json *block) {
    CH_BUF_AUTO text = {0};
    ch_buf_addf(&text, "%.*s (%.*s)\n", CH_SV_FMT(ch_json_get_str(block, "title")),
                CH_SV_FMT(ch_json_get_str(block, "source")));
    for (CH_JSON_EACH(part, ch_json_get(block, "content")))
        ch_buf_add_sv(&text, ch_json_get_str(part, "text"));
    return ch_arena_sv(h->arena, ch_buf_sv(&text));
}

/* --- blocks */

static bool is_media(struct ch_sv type) {
    return ch_sv_is(type, "image") || ch_sv_is(type, "document");
}

static int read_media(struct ch_client_history *h, const struct ch_json *block,
                      struct chela_error *err) {
    bool image = ch_sv_is(ch_json_get_str(block, "type"), "image");
    return read_source(h, block, image ? CH_BLOCK_IMAGE : CH_BLOCK_DOCUMENT, err);
}

/* A part of a result as text: its own, or words for a reference to a tool that the client found
 * and lists from now on. */
static struct ch_sv result_text(struct ch_client_history *h, const struct ch_json *part) {
    struct ch_sv type = ch_json_get_str(part, "type");
    if (ch_sv_is(type, "search_result"))
        return search_result_text(h, part);
    if (!ch_sv_is(type, "tool_reference"))
        return ch_json_get_str(part, "text");
    struct ch_sv name =
        ch_client_tools_name(h->arena, CH_SV(""), ch_json_get_str(part, "tool_name"));
    return ch_sv_str(ch_arena_printf(h->arena, "The tool %.*s can be called now.",
                                     CH_SV_FMT(name)));
}

static bool is_of_result(struct ch_sv type) {
    return is_media(type) || ch_sv_is(type, "text") || ch_sv_is(type, "search_result") ||
           ch_sv_is(type, "tool_reference");
}

static int check_result(const struct ch_json *block, struct chela_error *err) {
    const struct ch_json *content = ch_json_get(block, "content");
    int rc = ch_request_check_types(
        block, "content[]", "tool_use_id:string content:string|array is_error:boolean", err);
    if (rc == 0)
        rc = ch_request_check_each(content, "content[].content[]",
                                   "type:string text:string tool_name:string", err);
    for (CH_JSON_EACH(part, content))
        if (rc == 0 && !is_of_result(ch_json_get_str(part, "type")))
            rc = ch_fail(err, CHELA_EINVAL, "a result's content of type '%.*s' is not supported",
                         CH_SV_FMT(ch_json_get_str(part, "type")));
    return rc;
}

static int read_result(struct ch_client_history *h, const struct ch_json *block,
                       struct chela_error *err) {
    const struct ch_json *content = ch_json_get(block, "content");
    bool failed = ch_json_bool(ch_json_get(block, "is_error"), false);
    CH_BUF_AUTO text = {0};
    int rc = check_result(block, err);
    if (rc < 0)
        return rc;
    ch_buf_add_sv(&text, ch_json_str(content));
    for (CH_JSON_EACH(part, content)) {
        struct ch_sv piece = result_text(h, part);
        if (piece.n && text.n)
            ch_buf_addc(&text, '\n');
        ch_buf_add_sv(&text, piece);
    }
    size_t at = ch_client_history_add_result(h, ch_json_get_str(block, "tool_use_id"),
                                             ch_arena_sv(h->arena, ch_buf_sv(&text)), failed);
    for (CH_JSON_EACH(media, content))
        if (rc == 0 && is_media(ch_json_get_str(media, "type")))
            rc = read_media(h, media, err);
    ch_client_history_close_result(h, at);
    return rc;
}

static int read_call(struct ch_client_history *h, const struct ch_json *block,
                     struct chela_error *err) {
    struct ch_sv id = ch_json_get_str(block, "id"), name = ch_json_get_str(block, "name");
    if (ch_request_check_types(block, "content[]", "input:object|string", err) < 0)
        return CHELA_EINVAL;
    if (!id.n || !name.n)
        return ch_fail(err, CHELA_EINVAL, "a tool_use must have an id and a name");
    ch_client_history_add_block(
        h, &(struct ch_block){.type = CH_BLOCK_TOOL_CALL,
                              .id = id,
                              .name = ch_client_tools_name(h->arena, CH_SV(""), name),
                              .text = ch_client_tools_arguments(
                                  h->arena, ch_json_get(block, "input"))});
    return 0;
}

static void read_thinking(struct ch_client_history *h, const struct ch_json *block) {
    bool redacted = ch_sv_is(ch_json_get_str(block, "type"), "redacted_thinking");
    struct ch_sv extra = ch_json_get_str(block, redacted ? "data" : "signature");
    struct ch_block b = {.type = CH_BLOCK_REASONING,
                         .flags = redacted ? CH_F_REDACTED : 0,
                         .text = ch_json_get_str(block, "thinking"),
                         .extra = extra};
    if (extra.n)
        ch_client_history_add_reasoning(h, &b, extra);
}

static int read_block(struct ch_client_history *h, const struct ch_json *block,
                      struct chela_error *err) {
    struct ch_sv type = ch_json_get_str(block, "type");
    if (ch_request_check_types(block, "content[]", "type:string text:string thinking:string",
                               err) < 0)
        return CHELA_EINVAL;
    if (!type.n)
        return ch_fail(err, CHELA_EINVAL, "a block of `content` must have a `type`");
    if (ch_sv_is(type, "text"))
        ch_client_history_add_text(h, ch_json_get_str(block, "text"));
    else if (is_media(type))
        return read_media(h, block, err);
    else if (ch_sv_is(type, "search_result"))
        ch_client_history_add_text(h, search_result_text(h, block));
    else if (ch_sv_is(type, "container_upload"))
        ch_client_history_add_absent(h, "uploaded file", ch_json_get_str(block, "file_id"));
    else if (h->kind != CH_MSG_ASSISTANT)
        return ch_fail(err, CHELA_EINVAL, "content of type '%.*s' is not supported",
                       CH_SV_FMT(type));
    else if (ch_sv_is(type, "tool_use"))
        return read_call(h, block, err);
    else if (ch_sv_is(type, "thinking") || ch_sv_is(type, "redacted_thinking"))
        read_thinking(h, block);
    else
        ch_client_history_add_opaque(h, type, block);
    return 0;
}

/* --- messages */

static int read_content(struct ch_client_history *h, enum ch_msg_kind kind,
                        const struct ch_json *content, struct chela_error *err) {
    int rc = 0;
    size_t results = 0;
    if (!ch_json_is(content, CH_JSON_STRING) && !ch_json_is(content, CH_JSON_ARRAY))
        return ch_fail(err, CHELA_EINVAL, "`content` must be a text or a list of blocks");
    for (CH_JSON_EACH(result, content))
        if (rc == 0 && ch_sv_is(ch_json_get_str(result, "type"), "tool_result")) {
            rc = read_result(h, result, err);
            results++;
        }
    if (results && results == content->n)
        return rc; /* the next message may have further results */
    ch_client_history_begin(h, kind);
    ch_client_history_add_text(h, ch_json_str(content));
    for (CH_JSON_EACH(block, content))
        if (rc == 0 && !ch_sv_is(ch_json_get_str(block, "type"), "tool_result"))
            rc = read_block(h, block, err);
    return rc;
}

/* A tool that is added later is listed from the beginning; one cannot be withdrawn. */
static int read_system(struct ch_client_history *h, const struct ch_json *system,
                       const char *where, struct chela_error *err) {
    int rc = ch_request_check_each(system, where, "type:string text:string", err);
    if (rc < 0)
        return rc;
    ch_client_history_add_system(h, ch_json_str(system));
    for (CH_JSON_EACH(block, system)) {
        struct ch_sv type = ch_json_get_str(block, "type");
        struct ch_sv what = ch_json_str(ch_json_path(block, "tool", "type", NULL));
        if (!type.n || ch_sv_is(type, "text"))
            ch_client_history_add_system(h, ch_json_get_str(block, "text"));
        else if (!ch_sv_is(type, "tool_addition") || ch_sv_is(what, "tool_definition"))
            return ch_fail(err, CHELA_EINVAL, "content of type '%.*s' is not supported",
                           CH_SV_FMT(type));
    }
    return 0;
}

int ch_anthropic_input_history(const struct ch_json *request, struct ch_client_history *h,
                               struct chela_error *err) {
    const struct ch_json *messages = ch_json_get(request, "messages");
    int rc = ch_request_check_types(request, NULL, "system:string|array", err);
    if (rc == 0 && !ch_json_is(messages, CH_JSON_ARRAY))
        rc = ch_fail(err, CHELA_EINVAL, "`messages` must be a list");
    if (rc == 0)
        rc = read_system(h, ch_json_get(request, "system"), "system[]", err);
    for (CH_JSON_EACH(m, messages)) {
        struct ch_sv role = ch_json_get_str(m, "role");
        const struct ch_json *content = ch_json_get(m, "content");
        if (rc == 0)
            rc = ch_request_check_types(m, "messages[]", "role:string content:string|array", err);
        if (rc < 0)
            return rc;
        if (ch_sv_is(role, "user") || ch_sv_is(role, "assistant"))
            rc = read_content(h, ch_sv_is(role, "user") ? CH_MSG_USER : CH_MSG_ASSISTANT, content,
                              err);
        else if (ch_sv_is(role, "system"))
            rc = read_system(h, content, "content[]", err);
        else
            rc = ch_fail(err, CHELA_EINVAL, "unknown `role` '%.*s' of a message",
                         CH_SV_FMT(role));
    }
    return rc;
}

/* --- tools and settings */

int ch_anthropic_input_tools(const struct ch_json *request, struct ch_client_tools *t,
                             struct chela_error *err) {
    int rc = ch_request_check_types(request, NULL, "tools:array", err);
    if (rc == 0)
        rc = ch_request_check_each(ch_json_get(request, "tools"), "tools[]", "type:string", err);
    for (CH_JSON_EACH(tool, ch_json_get(request, "tools"))) {
        struct ch_sv type = ch_json_get_str(tool, "type");
        bool own = !type.n || ch_sv_is(type, "custom");
        if (rc == 0 && own)
            rc = ch_client_tools_add(t, tool, "input_schema", CH_SV(""), err);
        else if (!own)
            ch_client_tools_skip(t, type);
    }
    if (ch_json_get(request, "mcp_servers"))
        ch_client_tools_skip(t, CH_SV("mcp_servers"));
    return rc;
}

int ch_anthropic_input_settings(struct ch_request *req, struct ch_client_tools *t,
                                struct ch_lane_opts *o, struct chela_error *err) {
    const struct ch_json *format = ch_json_path(req->json, "output_config", "format", NULL);
    if (!format)
        format = ch_json_get(req->json, "output_format");
    int rc = ch_openai_number(req, "temperature", 1, &o->patch.temperature, err);
    if (rc == 0)
        rc = ch_openai_number(req, "top_p", 1, &o->patch.top_p, err);
    if (rc == 0)
        rc = ch_openai_stop(req, "stop_sequences", o, err);
    if (rc == 0)
        rc = ch_openai_positive(req, "max_tokens", &o->patch.max_output_tokens, err);
    if (rc == 0)
        rc = ch_openai_positive(req, "top_k", &o->patch.top_k, err);
    if (rc == 0)
        rc = ch_openai_choice(req, "tool_choice", t, o, err);
    if (rc == 0 && format)
        rc = ch_openai_format(req, "output_config.format", format, ch_json_get(format, "schema"),
                              o, err);
    if (rc == 0)
        rc = ch_openai_effort(req->json, &o->patch.reasoning, err);
    o->patch.one_call =
        ch_json_bool(ch_json_path(req->json, "tool_choice", "disable_parallel_tool_use", NULL),
                     false);
    return rc;
}
