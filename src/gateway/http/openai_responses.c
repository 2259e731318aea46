/* openai_responses.c -- POST /v1/responses.
 *
 * As Chat Completions, in the other protocol: input items become the history,
 * the caller's function tools are handed back as function_call items. Nothing
 * is stored under a response's id (`store` is answered with false, and
 * previous_response_id is refused): a conversation that is to be kept has a
 * session. */
#include <stdio.h>

#include "base/error.h"
#include "gateway/http/openai.h"

struct response {
    struct ch_completion r;
    char item[40]; /* id of the text that is open */
    bool open;
    int64_t seq;
    struct ch_buf text;   /* of the open item */
    struct ch_buf output; /* items that are done: JSON, comma separated */
    unsigned nitems;
};

static struct response *of(struct ch_completion *r) {
    return CH_CONTAINER(r, struct response, r);
}

/* --- writing */

static void write_usage(struct ch_jw *w, const struct chela_usage *u) {
    if (!u) {
        ch_jw_kcstr(w, "usage", NULL);
        return;
    }
    ch_jw_key(w, "usage");
    ch_jw_begin(w, '{');
    ch_jw_kint(w, "input_tokens", u->input);
    ch_jw_kint(w, "output_tokens", u->output);
    ch_jw_kint(w, "total_tokens", u->input + u->output);
    ch_jw_key(w, "input_tokens_details");
    ch_jw_begin(w, '{');
    ch_jw_kint(w, "cached_tokens", u->cache_read);
    ch_jw_end(w, '}');
    ch_jw_key(w, "output_tokens_details");
    ch_jw_begin(w, '{');
    ch_jw_kint(w, "reasoning_tokens", u->reasoning);
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

/* status: in_progress, completed, incomplete or failed; end: NULL before it. */
static void write_response(const struct response *r, struct ch_jw *w, const char *status,
                           const struct chela_event *end) {
    CH_BUF_AUTO items = {0};
    ch_buf_addf(&items, "[%s]", ch_buf_str(&r->output));
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "id", r->r.id);
    ch_jw_kcstr(w, "object", "response");
    ch_jw_kint(w, "created_at", r->r.created);
    ch_jw_kcstr(w, "status", status);
    if (strcmp(status, "incomplete") == 0)
        ch_jw_kraw(w, "incomplete_details", CH_SV("{\"reason\":\"max_output_tokens\"}"));
    else
        ch_jw_kcstr(w, "incomplete_details", NULL);
    ch_jw_key(w, "error");
    if (strcmp(status, "failed") == 0) {
        ch_jw_begin(w, '{');
        ch_jw_kcstr(w, "code", "server_error");
        ch_jw_kstr(w, "message", ch_sv(end->end.error.p, end->end.error.n));
        ch_jw_end(w, '}');
    } else {
        ch_jw_null(w);
    }
    ch_jw_kcstr(w, "model", r->r.agent);
    ch_jw_kraw(w, "output", ch_buf_sv(&items));
    ch_jw_kbool(w, "parallel_tool_calls", true);
    ch_jw_kcstr(w, "previous_response_id", NULL);
    ch_jw_kbool(w, "store", false);
    ch_jw_kraw(w, "tools", CH_SV("[]"));
    ch_jw_kcstr(w, "tool_choice", "auto");
    ch_jw_kraw(w, "metadata", CH_SV("{}"));
    write_usage(w, end ? &end->end.usage : NULL);
    ch_jw_end(w, '}');
}

/* An event begins with its type and number; the caller adds the rest. */
static struct ch_jw begin_event(struct response *r, struct ch_buf *out, const char *type) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", type);
    ch_jw_kint(&w, "sequence_number", r->seq++);
    return w;
}

static void end_event(struct response *r, struct ch_jw *w, const char *type) {
    ch_jw_end(w, '}');
    ch_visit_data(r->r.visit, type, NULL, ch_buf_sv(w->out));
}

static void send_state(struct response *r, const char *type, const char *status,
                       const struct chela_event *end) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = begin_event(r, &out, type);
    ch_jw_key(&w, "response");
    write_response(r, &w, status, end);
    end_event(r, &w, type);
}

static void begin_stream(struct response *r) {
    if (r->r.begun || !r->r.stream)
        return;
    r->r.begun = true;
    ch_visit_stream(r->r.visit);
    send_state(r, "response.created", "in_progress", NULL);
    send_state(r, "response.in_progress", "in_progress", NULL);
}

static void send_item(struct response *r, const char *type, struct ch_sv item) {
    CH_BUF_AUTO out = {0};
    if (!r->r.stream)
        return;
    struct ch_jw w = begin_event(r, &out, type);
    ch_jw_kint(&w, "output_index", r->nitems);
    ch_jw_kraw(&w, "item", item);
    end_event(r, &w, type);
}

/* --- text items */

static void write_part(struct ch_jw *w, struct ch_sv text) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "output_text");
    ch_jw_kstr(w, "text", text);
    ch_jw_kraw(w, "annotations", CH_SV("[]"));
    ch_jw_end(w, '}');
}

static void write_message(const struct response *r, struct ch_buf *out, bool done) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", "message");
    ch_jw_kcstr(&w, "id", r->item);
    ch_jw_kcstr(&w, "status", done ? "completed" : "in_progress");
    ch_jw_kcstr(&w, "role", "assistant");
    ch_jw_key(&w, "content");
    ch_jw_begin(&w, '[');
    if (done)
        write_part(&w, ch_buf_sv(&r->text));
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
}

/* About the one part of the open item; key NULL: the part itself. */
static void send_part(struct response *r, const char *type, const char *key, struct ch_sv text) {
    CH_BUF_AUTO out = {0};
    if (!r->r.stream)
        return;
    struct ch_jw w = begin_event(r, &out, type);
    ch_jw_kcstr(&w, "item_id", r->item);
    ch_jw_kint(&w, "output_index", r->nitems);
    ch_jw_kint(&w, "content_index", 0);
    if (key) {
        ch_jw_kstr(&w, key, text);
        ch_jw_kraw(&w, "logprobs", CH_SV("[]"));
    } else {
        ch_jw_key(&w, "part");
        write_part(&w, text);
    }
    end_event(r, &w, type);
}

static void keep_item(struct response *r, struct ch_sv item) {
    ch_buf_addf(&r->output, "%s%.*s", r->nitems ? "," : "", CH_SV_FMT(item));
    r->nitems++;
}

static void open_text(struct response *r) {
    CH_BUF_AUTO item = {0};
    char id[24];
    if (r->open)
        return;
    r->open = true;
    begin_stream(r);
    ch_random_id("msg_", id);
    snprintf(r->item, sizeof(r->item), "%s", id);
    ch_buf_clear(&r->text);
    write_message(r, &item, false);
    send_item(r, "response.output_item.added", ch_buf_sv(&item));
    send_part(r, "response.content_part.added", NULL, CH_SV(""));
}

static void close_text(struct response *r) {
    CH_BUF_AUTO item = {0};
    if (!r->open)
        return;
    r->open = false;
    write_message(r, &item, true);
    send_part(r, "response.output_text.done", "text", ch_buf_sv(&r->text));
    send_part(r, "response.content_part.done", NULL, ch_buf_sv(&r->text));
    send_item(r, "response.output_item.done", ch_buf_sv(&item));
    keep_item(r, ch_buf_sv(&item));
}

static void say(struct response *r, struct chela_str text) {
    open_text(r);
    ch_buf_add(&r->text, text.p, text.n);
    send_part(r, "response.output_text.delta", "delta", ch_sv(text.p, text.n));
}

/* --- calls of the caller's tools */

static void write_call(struct ch_buf *out, const char *id, const struct chela_event *ev,
                       bool done) {
    struct ch_jw w = ch_jw(out);
    struct ch_sv arguments = ch_sv(ev->call.arguments.p, ev->call.arguments.n);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", "function_call");
    ch_jw_kcstr(&w, "id", id);
    ch_jw_kstr(&w, "call_id", ch_sv(ev->call.id.p, ev->call.id.n));
    ch_jw_kstr(&w, "name", ch_sv(ev->call.name.p, ev->call.name.n));
    ch_jw_kstr(&w, "arguments", done ? arguments : CH_SV(""));
    ch_jw_kcstr(&w, "status", done ? "completed" : "in_progress");
    ch_jw_end(&w, '}');
}

static void send_arguments(struct response *r, const char *id, const char *type, const char *key,
                           const struct chela_event *ev) {
    CH_BUF_AUTO out = {0};
    if (!r->r.stream)
        return;
    struct ch_jw w = begin_event(r, &out, type);
    ch_jw_kcstr(&w, "item_id", id);
    ch_jw_kint(&w, "output_index", r->nitems);
    ch_jw_kstr(&w, key, ch_sv(ev->call.arguments.p, ev->call.arguments.n));
    end_event(r, &w, type);
}

static void hand_over(struct response *r, const struct chela_event *ev) {
    CH_BUF_AUTO begun = {0}, done = {0};
    char id[24];
    close_text(r);
    begin_stream(r);
    ch_random_id("fc_", id);
    write_call(&begun, id, ev, false);
    write_call(&done, id, ev, true);
    send_item(r, "response.output_item.added", ch_buf_sv(&begun));
    send_arguments(r, id, "response.function_call_arguments.delta", "delta", ev);
    send_arguments(r, id, "response.function_call_arguments.done", "arguments", ev);
    send_item(r, "response.output_item.done", ch_buf_sv(&done));
    keep_item(r, ch_buf_sv(&done));
}

/* --- the end */

static const char *status_of(const struct chela_event *ev) {
    if (ch_completion_failed(ev))
        return "failed";
    if (strcmp(ev->end.status, "stopped") == 0 || strcmp(ev->end.reason, "length") == 0)
        return "incomplete";
    return "completed";
}

static void on_end(struct ch_completion *completion, const struct chela_event *ev) {
    struct response *r = of(completion);
    CH_BUF_AUTO out = {0}, type = {0};
    struct ch_jw w = ch_jw(&out);
    const char *status = status_of(ev);
    close_text(r);
    if (!r->r.stream) {
        write_response(r, &w, status, ev);
        ch_visit_json(r->r.visit, 200, &out);
        return;
    }
    begin_stream(r);
    ch_buf_addf(&type, "response.%s", status);
    send_state(r, ch_buf_str(&type), status, ev);
    ch_visit_end(r->r.visit);
}

static void on_event(struct ch_completion *completion, const struct chela_event *ev) {
    struct response *r = of(completion);
    switch (ev->type) {
    case CHELA_EV_TEXT_DELTA:
        say(r, ev->delta.text);
        break;
    case CHELA_EV_TURN_END:
        close_text(r);
        break;
    case CHELA_EV_CLIENT_TOOL_REQUIRED:
        hand_over(r, ev);
        break;
    default:
        break;
    }
}

/* --- reading */

static int read_part(const struct ch_json *p, struct ch_history *h, struct chela_error *err) {
    struct ch_sv type = ch_json_get_str(p, "type");
    if (ch_sv_is(type, "input_text") || ch_sv_is(type, "output_text") || ch_sv_is(type, "text")) {
        ch_history_text(h, ch_json_get_str(p, "text"));
        return 0;
    }
    if (ch_sv_is(type, "input_image"))
        return ch_history_media(h, CH_BLOCK_IMAGE, ch_json_get_str(p, "image_url"), CH_SV(""),
                                err);
    if (ch_sv_is(type, "input_file") && ch_json_get_str(p, "file_data").n)
        return ch_history_media(h, CH_BLOCK_DOCUMENT, ch_json_get_str(p, "file_data"),
                                ch_json_get_str(p, "filename"), err);
    return ch_fail(err, CHELA_EINVAL, "content of type '%.*s' is not understood", CH_SV_FMT(type));
}

static int read_content(const struct ch_json *content, struct ch_history *h,
                        struct chela_error *err) {
    ch_history_text(h, ch_json_str(content));
    for (CH_JSON_EACH(p, content)) {
        int rc = read_part(p, h, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int read_message(const struct ch_json *item, struct ch_history *h,
                        struct chela_error *err) {
    struct ch_sv role = ch_json_get_str(item, "role");
    const struct ch_json *content = ch_json_get(item, "content");
    if (ch_sv_is(role, "system") || ch_sv_is(role, "developer")) {
        ch_history_system(h, ch_json_str(content));
        for (CH_JSON_EACH(p, content))
            ch_history_system(h, ch_json_get_str(p, "text"));
        return 0;
    }
    if (!ch_sv_is(role, "user") && !ch_sv_is(role, "assistant"))
        return ch_fail(err, CHELA_EINVAL, "a message's `role` is not '%.*s'", CH_SV_FMT(role));
    ch_history_begin(h, ch_sv_is(role, "user") ? CH_MSG_USER : CH_MSG_ASSISTANT);
    return read_content(content, h, err);
}

/* Items of one reply, words and calls, are one message. */
static int read_item(const struct ch_json *item, struct ch_history *h, struct chela_error *err) {
    struct ch_sv type = ch_json_get_str(item, "type");
    struct ch_sv id = ch_json_get_str(item, "call_id"), args = ch_json_get_str(item, "arguments");
    if (!type.n || ch_sv_is(type, "message"))
        return read_message(item, h, err);
    if (ch_sv_is(type, "reasoning"))
        return 0; /* it was not ours to show */
    if (ch_sv_is(type, "function_call")) {
        if (h->kind != CH_MSG_ASSISTANT)
            ch_history_begin(h, CH_MSG_ASSISTANT);
        ch_history_block(h, &(struct ch_block){.type = CH_BLOCK_TOOL_CALL,
                                               .id = id,
                                               .name = ch_json_get_str(item, "name"),
                                               .text = args.n ? args : CH_SV("{}")});
        return 0;
    }
    if (!ch_sv_is(type, "function_call_output"))
        return ch_fail(err, CHELA_EINVAL, "input of type '%.*s' is not understood",
                       CH_SV_FMT(type));
    ch_history_begin(h, CH_MSG_RESULTS);
    ch_history_block(h, &(struct ch_block){.type = CH_BLOCK_TOOL_RESULT,
                                           .id = id,
                                           .text = ch_json_get_str(item, "output")});
    return 0;
}

static int read_input(const struct ch_json *input, struct ch_history *h, struct chela_error *err) {
    int rc = 0;
    if (ch_json_is(input, CH_JSON_STRING)) {
        ch_history_begin(h, CH_MSG_USER);
        ch_history_text(h, ch_json_str(input));
        return 0;
    }
    if (!ch_json_is(input, CH_JSON_ARRAY))
        return ch_fail(err, CHELA_EINVAL, "`input` is a text or a list of items");
    for (CH_JSON_EACH(item, input))
        if (rc == 0)
            rc = read_item(item, h, err);
    return rc;
}

/* --- the beginning */

static int read_request(struct ch_completion *r, struct ch_lane_opts *o, struct chela_error *err) {
    struct ch_visit *v = r->visit;
    const struct ch_json *f = ch_json_path(v->json, "text", "format", NULL);
    if (ch_json_get_str(v->json, "previous_response_id").n)
        return ch_fail(err, CHELA_EINVAL,
                       "responses are not kept by their id: post the history, or use the header "
                       "X-Chela-Session");
    int rc = ch_openai_tools(v, NULL, o, err);
    if (rc == 0)
        rc = ch_openai_format(v, "text.format", f, ch_json_get(f, "schema"), o, err);
    ch_history_system(&r->history, ch_json_get_str(v->json, "instructions"));
    return rc < 0 ? rc : read_input(ch_json_get(v->json, "input"), &r->history, err);
}

static void release(struct ch_completion *r) {
    ch_buf_release(&of(r)->text);
    ch_buf_release(&of(r)->output);
}

void ch_openai_responses(struct ch_visit *v) {
    static const struct ch_completion_ops ops = {.size = sizeof(struct response),
                                            .prefix = "resp_",
                                            .read = read_request,
                                            .event = on_event,
                                            .end = on_end,
                                            .release = release};
    ch_completion_begin(v, &ops);
}
