/* openai_messages.c -- see openai_messages.h. */
#include "gateway/http/openai_messages.h"

#include "base/error.h"
#include "gateway/http/client_tools.h"
#include "gateway/lane/client_history.h"
#include "gateway/lane/sealed_reasoning.h"
#include "gateway/request/request.h"
#include "model/message/sound.h"

static int openai_messages_read_file(const struct ch_json *part, struct ch_client_history *h,
                                     struct chela_error *err) {
    const struct ch_json *file = ch_json_get(part, "file");
    struct ch_sv data = ch_json_get_str(file, "file_data"), id = ch_json_get_str(file, "file_id");
    if (!data.n) {
        ch_client_history_add_absent(h, "uploaded file", id);
        return 0;
    }
    if (!ch_sv_starts(data, "data:") && !ch_sv_starts(data, "http")) {
        ch_client_history_add_data(h, CH_BLOCK_DOCUMENT, CH_SV("application/pdf"), data,
                                   ch_json_get_str(file, "filename"));
        return 0;
    }
    return ch_client_history_add_media(h, CH_BLOCK_DOCUMENT, data,
                                       ch_json_get_str(file, "filename"), err);
}

/* {"KEY":"URL"} or {"KEY":{"url":"URL"}} */
static struct ch_sv openai_messages_url(const struct ch_json *part, const char *key) {
    const struct ch_json *v = ch_json_get(part, key);
    return ch_json_is(v, CH_JSON_STRING) ? ch_json_str(v) : ch_json_get_str(v, "url");
}

int ch_openai_messages_audio(struct ch_client_history *h, const struct ch_json *audio,
                             struct chela_error *err) {
    bool bare = ch_json_is(audio, CH_JSON_STRING);
    struct ch_sv data = bare ? ch_json_str(audio) : ch_json_get_str(audio, "data");
    struct ch_sv format = ch_json_get_str(audio, "format"), type = CH_SV("audio/wav");
    const char *known = ch_sound_type(data);
    if (bare && (ch_sv_starts(data, "data:") || ch_sv_starts(data, "http")))
        return ch_client_history_add_media(h, CH_BLOCK_AUDIO, data, CH_SV(""), err);
    if (ch_sv_is(format, "mp3"))
        type = CH_SV("audio/mpeg");
    else if (format.n)
        type = ch_sv_str(ch_arena_printf(h->arena, "audio/%.*s", CH_SV_FMT(format)));
    else if (known)
        type = ch_sv_str(known);
    ch_client_history_add_data(h, CH_BLOCK_AUDIO, type, data, CH_SV(""));
    return 0;
}

static int openai_messages_read_part(const struct ch_json *part, struct ch_client_history *h,
                                     struct chela_error *err) {
    struct ch_sv type = ch_json_get_str(part, "type");
    if (ch_sv_is(type, "text") || ch_sv_is(type, "refusal")) {
        ch_client_history_add_text(
            h, ch_json_get_str(part, ch_sv_is(type, "text") ? "text" : "refusal"));
        return 0;
    }
    if (ch_sv_is(type, "image_url"))
        return ch_client_history_add_media(h, CH_BLOCK_IMAGE,
                                           openai_messages_url(part, "image_url"), CH_SV(""), err);
    if (ch_sv_is(type, "document_url") || ch_sv_is(type, "file_url"))
        return ch_client_history_add_media(
            h, CH_BLOCK_DOCUMENT,
            openai_messages_url(part, ch_sv_is(type, "file_url") ? "file_url" : "document_url"),
            ch_json_get_str(part, "document_name"), err);
    if (ch_sv_is(type, "thinking"))
        return 0; /* reasoning whose author is not known */
    if (ch_sv_is(type, "video_url")) {
        ch_client_history_add_absent(h, "video", CH_SV(""));
        return 0;
    }
    if (ch_sv_is(type, "file"))
        return openai_messages_read_file(part, h, err);
    if (ch_sv_is(type, "input_audio"))
        return ch_openai_messages_audio(h, ch_json_get(part, "input_audio"), err);
    return ch_fail(err, CHELA_EINVAL, "content of type '%.*s' is not supported", CH_SV_FMT(type));
}

static int openai_messages_read_content(const struct ch_json *content, struct ch_client_history *h,
                                        struct chela_error *err) {
    int rc = 0;
    ch_client_history_add_text(h, ch_json_str(content));
    for (CH_JSON_EACH(part, content)) {
        rc = openai_messages_read_part(part, h, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* All texts of a `content`, joined. */
static struct ch_sv flat(struct ch_client_history *h, const struct ch_json *content) {
    CH_BUF_AUTO all = {0};
    if (ch_json_is(content, CH_JSON_STRING))
        return ch_json_str(content);
    for (CH_JSON_EACH(part, content))
        ch_buf_add_sv(&all, ch_json_get_str(part, "text"));
    return ch_arena_sv(h->arena, ch_buf_sv(&all));
}

static int openai_messages_add_call(struct ch_client_history *h, struct ch_sv id,
                                    struct ch_sv name, struct ch_sv arguments,
                                    struct chela_error *err) {
    if (!id.n || !name.n)
        return ch_fail(err, CHELA_EINVAL, "a tool call must have an id and the name of a function");
    ch_client_history_add_block(
        h, &(struct ch_block){.type = CH_BLOCK_TOOL_CALL,
                              .id = id,
                              .name = ch_client_tools_name(h->arena, CH_SV(""), name),
                              .text = arguments});
    return 0;
}

static int openai_messages_read_calls(const struct ch_json *calls, struct ch_client_history *h,
                                      struct chela_error *err) {
    int rc = 0;
    for (CH_JSON_EACH(c, calls)) {
        const struct ch_json *f = ch_json_get(c, "function"), *custom = ch_json_get(c, "custom");
        struct ch_sv input = ch_json_get_str(custom, "input");
        if (rc == 0)
            rc = openai_messages_add_call(
                h, ch_json_get_str(c, "id"), ch_json_get_str(f ? f : custom, "name"),
                f ? ch_client_tools_arguments(h->arena, ch_json_get(f, "arguments"))
                  : ch_client_tools_wrap(h->arena, input),
                err);
    }
    return rc;
}

/* The form before tools has no ids: the result follows its call. */
static struct ch_sv legacy_id(struct ch_client_history *h, size_t at) {
    return ch_sv_str(ch_arena_printf(h->arena, "function_%zu", at));
}

static int openai_messages_read_function_call(const struct ch_json *f, struct ch_client_history *h,
                                              struct chela_error *err) {
    if (!ch_json_is(f, CH_JSON_OBJECT))
        return 0;
    struct ch_sv arguments = ch_client_tools_arguments(h->arena, ch_json_get(f, "arguments"));
    return openai_messages_add_call(h, legacy_id(h, h->n), ch_json_get_str(f, "name"), arguments,
                                    err);
}

/* Reasoning that the gateway reported: sealed blocks. A text without a sealed block is sent
 * back only to a service with the same protocol. */
static void openai_messages_read_reasoning(const struct ch_json *m, struct ch_client_history *h) {
    struct ch_sv text = ch_json_get_str(m, "reasoning_content");
    bool sealed = false;
    for (CH_JSON_EACH(d, ch_json_get(m, "reasoning_details"))) {
        struct ch_sealed_reasoning r;
        struct ch_sv data = ch_json_get_str(d, "data");
        if (!ch_reasoning_unseal(h->arena, data, &r))
            continue;
        ch_client_history_add_reasoning(h, &r.block, data);
        sealed = true;
    }
    struct ch_block b = {
        .type = CH_BLOCK_REASONING, .name = CH_SV("reasoning_content"), .text = text};
    if (!sealed && text.n)
        ch_client_history_add_reasoning(h, &b, CH_SV(""));
}

static int openai_messages_read_result(const struct ch_json *m, struct ch_client_history *h,
                                       struct chela_error *err) {
    const struct ch_json *content = ch_json_get(m, "content");
    int rc = 0;
    size_t at = ch_client_history_add_result(h, ch_json_get_str(m, "tool_call_id"),
                                             flat(h, content), false);
    for (CH_JSON_EACH(part, content))
        if (rc == 0 && !ch_json_get(part, "text"))
            rc = openai_messages_read_part(part, h, err);
    ch_client_history_close_result(h, at);
    return rc;
}

static int openai_messages_check(const struct ch_json *m, const struct ch_json *content,
                                 struct chela_error *err) {
    int rc = ch_request_check_types(
        m, "messages[]",
        "role:string content:string|array tool_calls:array function_call:object "
        "function_call.arguments:string|object tool_call_id:string reasoning_content:string "
        "reasoning_details:array",
        err);
    if (rc == 0)
        rc = ch_request_check_each(
            ch_json_get(m, "tool_calls"), "tool_calls[]",
            "function:object function.arguments:string|object custom:object custom.input:string",
            err);
    return rc < 0 ? rc
                  : ch_request_check_each(
                        content, "content[]",
                        "type:string text:string refusal:string file:object file.file_data:string "
                        "input_audio:object|string input_audio.data:string "
                        "input_audio.format:string",
                        err);
}

static int openai_messages_read_message(const struct ch_json *m, struct ch_client_history *h,
                                        struct chela_error *err) {
    struct ch_sv role = ch_json_get_str(m, "role");
    const struct ch_json *content = ch_json_get(m, "content");
    if (openai_messages_check(m, content, err) < 0)
        return CHELA_EINVAL;
    if (ch_sv_is(role, "system") || ch_sv_is(role, "developer")) {
        ch_client_history_add_system(h, flat(h, content));
        return 0;
    }
    if (ch_sv_is(role, "user")) {
        ch_client_history_begin(h, CH_MSG_USER);
        return openai_messages_read_content(content, h, err);
    }
    if (ch_sv_is(role, "assistant")) {
        ch_client_history_begin(h, CH_MSG_ASSISTANT);
        openai_messages_read_reasoning(m, h);
        int rc = openai_messages_read_content(content, h, err);
        if (rc == 0)
            rc = openai_messages_read_function_call(ch_json_get(m, "function_call"), h, err);
        return rc < 0 ? rc : openai_messages_read_calls(ch_json_get(m, "tool_calls"), h, err);
    }
    if (ch_sv_is(role, "tool"))
        return openai_messages_read_result(m, h, err);
    if (ch_sv_is(role, "function")) {
        ch_client_history_begin(h, CH_MSG_RESULTS);
        ch_client_history_add_result(h, legacy_id(h, h->n - 1), flat(h, content), false);
        return 0;
    }
    return ch_fail(err, CHELA_EINVAL, "unknown `role` '%.*s' of a message", CH_SV_FMT(role));
}

int ch_openai_messages(const struct ch_json *messages, struct ch_client_history *h,
                       struct chela_error *err) {
    if (!ch_json_is(messages, CH_JSON_ARRAY))
        return ch_fail(err, CHELA_EINVAL, "`messages` must be a list");
    for (CH_JSON_EACH(m, messages)) {
        int rc = openai_messages_read_message(m, h, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}
