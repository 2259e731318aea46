/* openai_input.c -- see openai_input.h. */
#include "gateway/http/openai_input.h"

#include "base/error.h"
#include "base/limits.h"
#include "gateway/http/openai.h"
#include "gateway/http/openai_messages.h"
#include "gateway/http/response_store.h"
#include "json/writer.h"

struct input {
    struct ch_completion *r;
    struct ch_client_history *h;
    struct ch_buf *items;
    struct chela_error *err;
    unsigned references;
};

/* --- parts of a message */

static int input_file(struct input *in, const struct ch_json *p) {
    struct ch_sv data = ch_json_get_str(p, "file_data"), url = ch_json_get_str(p, "file_url");
    struct ch_sv name = ch_json_get_str(p, "filename");
    if (url.n)
        return ch_client_history_add_media(in->h, CH_BLOCK_DOCUMENT, url, name, in->err);
    if (!data.n) {
        ch_client_history_add_absent(in->h, "uploaded file", ch_json_get_str(p, "file_id"));
        return 0;
    }
    if (ch_sv_starts(data, "data:"))
        return ch_client_history_add_media(in->h, CH_BLOCK_DOCUMENT, data, name, in->err);
    ch_client_history_add_data(in->h, CH_BLOCK_DOCUMENT, CH_SV("application/pdf"), data, name);
    return 0;
}

static int input_image(struct input *in, const struct ch_json *p) {
    struct ch_sv url = ch_json_get_str(p, "image_url");
    if (!url.n) /* as in Chat Completions */
        url = ch_json_str(ch_json_path(p, "image_url", "url", NULL));
    if (!url.n) {
        ch_client_history_add_absent(in->h, "uploaded picture", ch_json_get_str(p, "file_id"));
        return 0;
    }
    return ch_client_history_add_media(in->h, CH_BLOCK_IMAGE, url, CH_SV(""), in->err);
}

static bool is_text_part(struct ch_sv type) {
    return ch_sv_is(type, "input_text") || ch_sv_is(type, "output_text") ||
           ch_sv_is(type, "text") || ch_sv_is(type, "summary_text") ||
           ch_sv_is(type, "reasoning_text");
}

static int input_media(struct input *in, const struct ch_json *p) {
    struct ch_sv type = ch_json_get_str(p, "type");
    if (ch_sv_is(type, "input_image") || ch_sv_is(type, "image_url"))
        return input_image(in, p);
    if (ch_sv_is(type, "input_file"))
        return input_file(in, p);
    if (ch_sv_is(type, "input_audio")) {
        const struct ch_json *audio = ch_json_get(p, "input_audio");
        return ch_openai_messages_audio(in->h, audio ? audio : p, in->err);
    }
    return ch_fail(in->err, CHELA_EINVAL, "content of type '%.*s' is not supported",
                   CH_SV_FMT(type));
}

static int input_part(struct input *in, const struct ch_json *p) {
    struct ch_sv type = ch_json_get_str(p, "type");
    if (ch_sv_is(type, "refusal"))
        ch_client_history_add_text(in->h, ch_json_get_str(p, "refusal"));
    else if (is_text_part(type))
        ch_client_history_add_text(in->h, ch_json_get_str(p, "text"));
    else
        return input_media(in, p);
    return 0;
}

static int input_check_parts(const struct ch_json *parts, const char *where,
                             struct chela_error *err) {
    return ch_request_check_each(parts, where,
                                 "type:string text:string refusal:string file_data:string "
                                 "file_url:string image_url:string|object "
                                 "input_audio:object|string",
                                 err);
}

/* The phase of an answer goes back to a model of the same protocol. */
static void input_phase(struct input *in, struct ch_sv phase, size_t from) {
    CH_BUF_AUTO extra = {0};
    struct ch_jw w = ch_jw(&extra);
    if (!phase.n || !ch_client_history_is_of_vendor(in->h))
        return;
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "phase", phase);
    ch_jw_end(&w, '}');
    for (size_t i = from; i < in->h->nblocks; i++)
        if (in->h->blocks[i].type == CH_BLOCK_TEXT)
            in->h->blocks[i].extra = ch_arena_sv(in->h->arena, ch_buf_sv(&extra));
}

static int input_message(struct input *in, const struct ch_json *item) {
    struct ch_sv role = ch_json_get_str(item, "role");
    const struct ch_json *content = ch_json_get(item, "content");
    int rc = ch_request_check_types(item, "input[]", "content:string|array", in->err);
    if (rc == 0)
        rc = input_check_parts(content, "content[]", in->err);
    if (rc < 0)
        return rc;
    if (ch_sv_is(role, "system") || ch_sv_is(role, "developer")) {
        ch_client_history_add_system(in->h, ch_json_str(content));
        for (CH_JSON_EACH(p, content))
            ch_client_history_add_system(in->h, ch_json_get_str(p, "text"));
        return 0;
    }
    if (!ch_sv_is(role, "user") && !ch_sv_is(role, "assistant"))
        return ch_fail(in->err, CHELA_EINVAL, "unknown `role` '%.*s' of a message",
                       CH_SV_FMT(role));
    ch_client_history_begin(in->h, ch_sv_is(role, "user") ? CH_MSG_USER : CH_MSG_ASSISTANT);
    size_t from = in->h->nblocks;
    ch_client_history_add_text(in->h, ch_json_str(content));
    for (CH_JSON_EACH(p, content))
        if (rc == 0)
            rc = input_part(in, p);
    input_phase(in, ch_json_get_str(item, "phase"), from);
    return rc;
}

/* --- calls, results, reasoning */

static int input_call(struct input *in, const struct ch_json *item, bool is_text) {
    struct ch_sv id = ch_json_get_str(item, "call_id"), name = ch_json_get_str(item, "name");
    struct ch_arena *a = in->h->arena;
    if (ch_request_check_types(item, "input[]", "arguments:string|object input:string",
                               in->err) < 0)
        return CHELA_EINVAL;
    if (!id.n || !name.n)
        return ch_fail(in->err, CHELA_EINVAL, "a call must have a call_id and a name");
    struct ch_block call = {
        .type = CH_BLOCK_TOOL_CALL,
        .id = id,
        .name = ch_client_tools_name(a, ch_json_get_str(item, "namespace"), name),
        .text = is_text ? ch_client_tools_wrap(a, ch_json_get_str(item, "input"))
                        : ch_client_tools_arguments(a, ch_json_get(item, "arguments"))};
    ch_client_history_begin(in->h, CH_MSG_ASSISTANT);
    ch_client_history_add_block(in->h, &call);
    return 0;
}

static int input_result(struct input *in, const struct ch_json *item) {
    const struct ch_json *output = ch_json_get(item, "output");
    CH_BUF_AUTO text = {0};
    int rc = ch_request_check_types(item, "input[]", "call_id:string output:string|array",
                                    in->err);
    if (rc == 0)
        rc = input_check_parts(output, "output[]", in->err);
    if (rc < 0)
        return rc;
    ch_buf_add_sv(&text, ch_json_str(output));
    for (CH_JSON_EACH(part, output)) {
        if (text.n && ch_json_get_str(part, "text").n)
            ch_buf_addc(&text, '\n');
        ch_buf_add_sv(&text, ch_json_get_str(part, "text"));
    }
    size_t at = ch_client_history_add_result(in->h, ch_json_get_str(item, "call_id"),
                                             ch_arena_sv(in->h->arena, ch_buf_sv(&text)), false);
    for (CH_JSON_EACH(media, output))
        if (rc == 0 && !is_text_part(ch_json_get_str(media, "type")))
            rc = input_media(in, media);
    ch_client_history_close_result(in->h, at);
    return rc;
}

/* Reasoning of a stored response, which may come back without its encrypted content: the item
 * that is remembered. */
static const struct ch_json *whole_reasoning(struct input *in, const struct ch_json *item) {
    struct ch_sv id = ch_json_get_str(item, "id");
    const struct ch_json *found = NULL;
    if (ch_json_get_str(item, "encrypted_content").n || !id.n ||
        ++in->references > CH_LIMIT_CLIENT_REFERENCES)
        return item;
    struct ch_sv json = ch_response_store_item(in->r->request->gw, in->h->arena, id);
    if (!json.p || ch_json_parse(in->h->arena, json, CH_JSON_STRICT, &found, NULL, NULL) < 0 ||
        !ch_sv_is(ch_json_get_str(found, "type"), "reasoning"))
        return item;
    return found;
}

static void input_reasoning(struct input *in, const struct ch_json *posted) {
    const struct ch_json *item = whole_reasoning(in, posted);
    struct ch_sv sealed = ch_json_get_str(item, "encrypted_content");
    CH_BUF_AUTO text = {0};
    for (CH_JSON_EACH(part, ch_json_get(item, "summary")))
        ch_buf_addf(&text, "%s%.*s", text.n ? "\n\n" : "",
                    CH_SV_FMT(ch_json_get_str(part, "text")));
    struct ch_block b = {.type = CH_BLOCK_REASONING,
                         .text = ch_arena_sv(in->h->arena, ch_buf_sv(&text)),
                         .id = ch_json_get_str(item, "id"),
                         .extra = sealed};
    ch_client_history_begin(in->h, CH_MSG_ASSISTANT);
    if (sealed.n)
        ch_client_history_add_reasoning(in->h, &b, sealed);
}

/* An item that only the vendor understands. */
static void input_opaque(struct input *in, struct ch_sv type, const struct ch_json *item) {
    if (in->h->vendor.api)
        ch_client_history_begin(in->h, CH_MSG_ASSISTANT);
    ch_client_history_add_opaque(in->h, type, item);
}

/* --- items */

static int input_item(struct input *in, const struct ch_json *item);

static int input_reference(struct input *in, const struct ch_json *item) {
    struct ch_sv id = ch_json_get_str(item, "id");
    const struct ch_json *found = NULL;
    if (++in->references > CH_LIMIT_CLIENT_REFERENCES || in->items->n > CH_LIMIT_INBOUND_BODY)
        return ch_fail(in->err, CHELA_ELIMIT, "`input` refers to too many items");
    struct ch_sv json = ch_response_store_item(in->r->request->gw, in->h->arena, id);
    if (!json.p)
        return ch_fail(in->err, CHELA_EINVAL,
                       "there is no item '%.*s', or it is no longer remembered: post the item",
                       CH_SV_FMT(id));
    int rc = ch_json_parse(in->h->arena, json, CH_JSON_STRICT, &found, NULL, in->err);
    return rc < 0 ? rc : input_item(in, found);
}

/* Tools that the conversation adds. A later list may have a tool again. */
static int input_tools(struct input *in, const struct ch_json *item) {
    int rc = ch_request_check_types(item, "input[]", "tools:array", in->err);
    in->r->tools.replaces = true;
    if (rc == 0)
        rc = ch_openai_tools(&in->r->tools, ch_json_get(item, "tools"), in->err);
    in->r->tools.replaces = false;
    return rc;
}

static int input_read(struct input *in, struct ch_sv type, const struct ch_json *item) {
    if (!type.n || ch_sv_is(type, "message"))
        return input_message(in, item);
    if (ch_sv_is(type, "function_call") || ch_sv_is(type, "custom_tool_call"))
        return input_call(in, item, ch_sv_is(type, "custom_tool_call"));
    if (ch_sv_is(type, "function_call_output") || ch_sv_is(type, "custom_tool_call_output"))
        return input_result(in, item);
    if (ch_sv_is(type, "additional_tools"))
        return input_tools(in, item);
    if (ch_sv_is(type, "reasoning"))
        input_reasoning(in, item);
    else
        input_opaque(in, type, item);
    return 0;
}

static int input_item(struct input *in, const struct ch_json *item) {
    struct ch_sv type = ch_json_get_str(item, "type");
    if (ch_request_check_types(item, "input[]", "type:string role:string", in->err) < 0)
        return CHELA_EINVAL;
    if (ch_sv_is(type, "item_reference") || (!type.n && !ch_json_get(item, "role")))
        return input_reference(in, item);
    if (in->items->n)
        ch_buf_addc(in->items, ',');
    struct ch_jw w = ch_jw(in->items);
    ch_jw_value(&w, item);
    return input_read(in, type, item);
}

/* Puts the items of an earlier response before those of the request. */
static int input_previous(struct input *in, struct ch_sv id) {
    struct ch_arena *arena = in->h->arena;
    struct ch_sv items = ch_response_store_items(in->r->request->gw, id);
    const struct ch_json *list = NULL;
    if (!id.n)
        return 0;
    int rc = ch_json_parse(arena, ch_sv_str(ch_arena_printf(arena, "[%.*s]", CH_SV_FMT(items))),
                           CH_JSON_STRICT, &list, NULL, in->err);
    for (CH_JSON_EACH(item, list))
        if (rc == 0)
            rc = input_item(in, item);
    return rc;
}

static void input_text(struct input *in, struct ch_sv text) {
    if (in->items->n)
        ch_buf_addc(in->items, ',');
    struct ch_jw w = ch_jw(in->items);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "role", "user");
    ch_jw_kstr(&w, "content", text);
    ch_jw_end(&w, '}');
    ch_client_history_begin(in->h, CH_MSG_USER);
    ch_client_history_add_text(in->h, text);
}

int ch_openai_input(struct ch_completion *r, struct ch_buf *items, struct chela_error *err) {
    struct input in = {.r = r, .h = &r->history, .items = items, .err = err};
    const struct ch_json *input = ch_json_get(r->request->json, "input");
    int rc = input_previous(&in, ch_json_get_str(r->request->json, "previous_response_id"));
    if (rc < 0)
        return rc;
    if (ch_json_is(input, CH_JSON_STRING)) {
        input_text(&in, ch_json_str(input));
        return 0;
    }
    if (!ch_json_is(input, CH_JSON_ARRAY))
        return ch_fail(err, CHELA_EINVAL, "`input` must be a text or a list of items");
    for (CH_JSON_EACH(item, input))
        if (rc == 0)
            rc = input_item(&in, item);
    return rc;
}
