/* openai_responses.c -- POST /v1/responses.
 *
 * Like openai_chat.c: input items become the history, and calls of the client's function
 * tools are returned as function_call items. Responses are not stored by their id: `store`
 * is answered with false, and previous_response_id is refused. A session stores a
 * conversation (X-Chela-Session). */
#include "gateway/http/openai_responses.h"

#include <stdio.h>

#include "agent/handle/lookup.h"
#include "base/error.h"
#include "gateway/http/openai.h"
#include "gateway/http/openai_completion.h"
#include "gateway/lane/client_history.h"
#include "gateway/lane/lane.h"
#include "gateway/request/request.h"

struct openai_response {
    struct ch_completion r;
    char item[40]; /* id of the open text item */
    bool open;
    int64_t seq;
    struct ch_buf text;   /* of the open item */
    struct ch_buf output; /* completed items: JSON, comma separated */
    unsigned nitems;
};

static struct openai_response *openai_response_of(struct ch_completion *r) {
    return CH_CONTAINER(r, struct openai_response, r);
}

/* --- writing */

/* status: in_progress, completed, incomplete or failed; end: NULL before RUN_END. */
static void write_response(const struct openai_response *r, struct ch_jw *w, const char *status,
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
    if (end)
        ch_openai_write_usage(w, "input", "output", &end->end.usage);
    else
        ch_jw_kcstr(w, "usage", NULL);
    ch_jw_end(w, '}');
}

/* Begins an event with its type and sequence number. */
static struct ch_jw openai_response_begin_event(struct openai_response *r, struct ch_buf *out,
                                                const char *type) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", type);
    ch_jw_kint(&w, "sequence_number", r->seq++);
    return w;
}

static void openai_response_end_event(struct openai_response *r, struct ch_jw *w,
                                      const char *type) {
    ch_jw_end(w, '}');
    ch_request_send_event(r->r.request, type, NULL, ch_buf_sv(w->out));
}

static void send_state(struct openai_response *r, const char *type, const char *status,
                       const struct chela_event *end) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = openai_response_begin_event(r, &out, type);
    ch_jw_key(&w, "response");
    write_response(r, &w, status, end);
    openai_response_end_event(r, &w, type);
}

static void openai_response_begin_stream(struct openai_response *r) {
    if (r->r.begun || !r->r.stream)
        return;
    r->r.begun = true;
    ch_request_begin_stream(r->r.request);
    send_state(r, "response.created", "in_progress", NULL);
    send_state(r, "response.in_progress", "in_progress", NULL);
}

static void send_item(struct openai_response *r, const char *type, struct ch_sv item) {
    CH_BUF_AUTO out = {0};
    if (!r->r.stream)
        return;
    struct ch_jw w = openai_response_begin_event(r, &out, type);
    ch_jw_kint(&w, "output_index", r->nitems);
    ch_jw_kraw(&w, "item", item);
    openai_response_end_event(r, &w, type);
}

/* --- text items */

static void openai_response_write_part(struct ch_jw *w, struct ch_sv text) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "output_text");
    ch_jw_kstr(w, "text", text);
    ch_jw_kraw(w, "annotations", CH_SV("[]"));
    ch_jw_end(w, '}');
}

static void openai_response_write_message(const struct openai_response *r, struct ch_buf *out,
                                          bool done) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", "message");
    ch_jw_kcstr(&w, "id", r->item);
    ch_jw_kcstr(&w, "status", done ? "completed" : "in_progress");
    ch_jw_kcstr(&w, "role", "assistant");
    ch_jw_key(&w, "content");
    ch_jw_begin(&w, '[');
    if (done)
        openai_response_write_part(&w, ch_buf_sv(&r->text));
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
}

/* An event about the only part of the open item; key NULL: it holds the part itself. */
static void openai_response_send_part(struct openai_response *r, const char *type, const char *key,
                                      struct ch_sv text) {
    CH_BUF_AUTO out = {0};
    if (!r->r.stream)
        return;
    struct ch_jw w = openai_response_begin_event(r, &out, type);
    ch_jw_kcstr(&w, "item_id", r->item);
    ch_jw_kint(&w, "output_index", r->nitems);
    ch_jw_kint(&w, "content_index", 0);
    if (key) {
        ch_jw_kstr(&w, key, text);
        ch_jw_kraw(&w, "logprobs", CH_SV("[]"));
    } else {
        ch_jw_key(&w, "part");
        openai_response_write_part(&w, text);
    }
    openai_response_end_event(r, &w, type);
}

static void keep_item(struct openai_response *r, struct ch_sv item) {
    ch_buf_addf(&r->output, "%s%.*s", r->nitems ? "," : "", CH_SV_FMT(item));
    r->nitems++;
}

static void open_text(struct openai_response *r) {
    CH_BUF_AUTO item = {0};
    char id[24];
    if (r->open)
        return;
    r->open = true;
    openai_response_begin_stream(r);
    ch_random_id("msg_", id);
    snprintf(r->item, sizeof(r->item), "%s", id);
    ch_buf_clear(&r->text);
    openai_response_write_message(r, &item, false);
    send_item(r, "response.output_item.added", ch_buf_sv(&item));
    openai_response_send_part(r, "response.content_part.added", NULL, CH_SV(""));
}

static void close_text(struct openai_response *r) {
    CH_BUF_AUTO item = {0};
    if (!r->open)
        return;
    r->open = false;
    openai_response_write_message(r, &item, true);
    openai_response_send_part(r, "response.output_text.done", "text", ch_buf_sv(&r->text));
    openai_response_send_part(r, "response.content_part.done", NULL, ch_buf_sv(&r->text));
    send_item(r, "response.output_item.done", ch_buf_sv(&item));
    keep_item(r, ch_buf_sv(&item));
}

static void openai_response_add_text(struct openai_response *r, struct chela_str text) {
    open_text(r);
    ch_buf_add(&r->text, text.p, text.n);
    openai_response_send_part(r, "response.output_text.delta", "delta", ch_sv(text.p, text.n));
}

/* --- calls of the client's tools */

static void openai_response_write_call(struct ch_buf *out, const char *id,
                                       const struct chela_event *ev, bool done) {
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

static void send_arguments(struct openai_response *r, const char *id, const char *type,
                           const char *key, const struct chela_event *ev) {
    CH_BUF_AUTO out = {0};
    if (!r->r.stream)
        return;
    struct ch_jw w = openai_response_begin_event(r, &out, type);
    ch_jw_kcstr(&w, "item_id", id);
    ch_jw_kint(&w, "output_index", r->nitems);
    ch_jw_kstr(&w, key, ch_sv(ev->call.arguments.p, ev->call.arguments.n));
    openai_response_end_event(r, &w, type);
}

static void openai_response_add_call(struct openai_response *r, const struct chela_event *ev) {
    CH_BUF_AUTO begun = {0}, done = {0};
    char id[24];
    close_text(r);
    openai_response_begin_stream(r);
    ch_random_id("fc_", id);
    openai_response_write_call(&begun, id, ev, false);
    openai_response_write_call(&done, id, ev, true);
    send_item(r, "response.output_item.added", ch_buf_sv(&begun));
    send_arguments(r, id, "response.function_call_arguments.delta", "delta", ev);
    send_arguments(r, id, "response.function_call_arguments.done", "arguments", ev);
    send_item(r, "response.output_item.done", ch_buf_sv(&done));
    keep_item(r, ch_buf_sv(&done));
}

/* --- the end */

static const char *openai_response_status_of(const struct chela_event *ev) {
    if (ch_completion_failed(ev))
        return "failed";
    if (ev->end.status == CHELA_STATUS_STOPPED || ev->end.reason == CHELA_REASON_LENGTH)
        return "incomplete";
    return "completed";
}

static void openai_response_on_end(struct ch_completion *completion, const struct chela_event *ev) {
    struct openai_response *r = openai_response_of(completion);
    CH_BUF_AUTO out = {0}, type = {0};
    struct ch_jw w = ch_jw(&out);
    const char *status = openai_response_status_of(ev);
    close_text(r);
    if (!r->r.stream) {
        write_response(r, &w, status, ev);
        ch_request_respond_json(r->r.request, 200, &out);
        return;
    }
    openai_response_begin_stream(r);
    ch_buf_addf(&type, "response.%s", status);
    send_state(r, ch_buf_str(&type), status, ev);
    ch_request_end_stream(r->r.request);
}

static void openai_response_on_event(struct ch_completion *completion,
                                     const struct chela_event *ev) {
    struct openai_response *r = openai_response_of(completion);
    switch (ev->type) {
    case CHELA_EV_TEXT_DELTA:
        openai_response_add_text(r, ev->delta.text);
        break;
    case CHELA_EV_TURN_END:
        close_text(r);
        break;
    case CHELA_EV_CLIENT_TOOL_REQUIRED:
        openai_response_add_call(r, ev);
        break;
    default:
        break;
    }
}

/* --- reading */

static int openai_response_read_part(const struct ch_json *p, struct ch_client_history *h,
                                     struct chela_error *err) {
    struct ch_sv type = ch_json_get_str(p, "type");
    if (ch_sv_is(type, "input_text") || ch_sv_is(type, "output_text") || ch_sv_is(type, "text")) {
        ch_client_history_add_text(h, ch_json_get_str(p, "text"));
        return 0;
    }
    if (ch_sv_is(type, "input_image"))
        return ch_client_history_add_media(h, CH_BLOCK_IMAGE, ch_json_get_str(p, "image_url"),
                                           CH_SV(""), err);
    if (ch_sv_is(type, "input_file") && ch_json_get_str(p, "file_data").n)
        return ch_client_history_add_media(h, CH_BLOCK_DOCUMENT, ch_json_get_str(p, "file_data"),
                                           ch_json_get_str(p, "filename"), err);
    return ch_fail(err, CHELA_EINVAL, "content of type '%.*s' is not supported", CH_SV_FMT(type));
}

static int openai_response_read_content(const struct ch_json *content, struct ch_client_history *h,
                                        struct chela_error *err) {
    ch_client_history_add_text(h, ch_json_str(content));
    for (CH_JSON_EACH(p, content)) {
        int rc = openai_response_read_part(p, h, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int openai_response_read_message(const struct ch_json *item, struct ch_client_history *h,
                                        struct chela_error *err) {
    struct ch_sv role = ch_json_get_str(item, "role");
    const struct ch_json *content = ch_json_get(item, "content");
    if (ch_sv_is(role, "system") || ch_sv_is(role, "developer")) {
        ch_client_history_add_system(h, ch_json_str(content));
        for (CH_JSON_EACH(p, content))
            ch_client_history_add_system(h, ch_json_get_str(p, "text"));
        return 0;
    }
    if (!ch_sv_is(role, "user") && !ch_sv_is(role, "assistant"))
        return ch_fail(err, CHELA_EINVAL, "unknown `role` '%.*s' of a message", CH_SV_FMT(role));
    ch_client_history_begin(h, ch_sv_is(role, "user") ? CH_MSG_USER : CH_MSG_ASSISTANT);
    return openai_response_read_content(content, h, err);
}

/* The text and calls of one reply become one message. */
static int openai_response_read_item(const struct ch_json *item, struct ch_client_history *h,
                                     struct chela_error *err) {
    struct ch_sv type = ch_json_get_str(item, "type");
    struct ch_sv id = ch_json_get_str(item, "call_id"), args = ch_json_get_str(item, "arguments");
    if (!type.n || ch_sv_is(type, "message"))
        return openai_response_read_message(item, h, err);
    if (ch_sv_is(type, "reasoning"))
        return 0; /* reasoning of a client is not used */
    if (ch_sv_is(type, "function_call")) {
        if (h->kind != CH_MSG_ASSISTANT)
            ch_client_history_begin(h, CH_MSG_ASSISTANT);
        ch_client_history_add_block(h, &(struct ch_block){.type = CH_BLOCK_TOOL_CALL,
                                                          .id = id,
                                                          .name = ch_json_get_str(item, "name"),
                                                          .text = args.n ? args : CH_SV("{}")});
        return 0;
    }
    if (!ch_sv_is(type, "function_call_output"))
        return ch_fail(err, CHELA_EINVAL, "input of type '%.*s' is not supported", CH_SV_FMT(type));
    ch_client_history_begin(h, CH_MSG_RESULTS);
    ch_client_history_add_block(h, &(struct ch_block){.type = CH_BLOCK_TOOL_RESULT,
                                                      .id = id,
                                                      .text = ch_json_get_str(item, "output")});
    return 0;
}

static int openai_response_read_input(const struct ch_json *input, struct ch_client_history *h,
                                      struct chela_error *err) {
    int rc = 0;
    if (ch_json_is(input, CH_JSON_STRING)) {
        ch_client_history_begin(h, CH_MSG_USER);
        ch_client_history_add_text(h, ch_json_str(input));
        return 0;
    }
    if (!ch_json_is(input, CH_JSON_ARRAY))
        return ch_fail(err, CHELA_EINVAL, "`input` must be a text or a list of items");
    for (CH_JSON_EACH(item, input))
        if (rc == 0)
            rc = openai_response_read_item(item, h, err);
    return rc;
}

/* --- the beginning */

static int openai_response_read_request(struct ch_completion *r, struct ch_lane_opts *o,
                                        struct chela_error *err) {
    struct ch_request *req = r->request;
    const struct ch_json *f = ch_json_path(req->json, "text", "format", NULL);
    if (ch_json_get_str(req->json, "previous_response_id").n)
        return ch_fail(err, CHELA_EINVAL,
                       "responses are not stored by their id: post the history, or use the header "
                       "X-Chela-Session");
    int rc = ch_openai_tools(req, NULL, o, err);
    if (rc == 0)
        rc = ch_openai_format(req, "text.format", f, ch_json_get(f, "schema"), o, err);
    ch_client_history_add_system(&r->history, ch_json_get_str(req->json, "instructions"));
    return rc < 0 ? rc
                  : openai_response_read_input(ch_json_get(req->json, "input"), &r->history, err);
}

static void openai_response_release(struct ch_completion *r) {
    ch_buf_release(&openai_response_of(r)->text);
    ch_buf_release(&openai_response_of(r)->output);
}

void ch_openai_responses(struct ch_request *req) {
    static const struct ch_completion_ops ops = {.size = sizeof(struct openai_response),
                                                 .prefix = "resp_",
                                                 .read = openai_response_read_request,
                                                 .event = openai_response_on_event,
                                                 .end = openai_response_on_end,
                                                 .release = openai_response_release};
    ch_completion_begin(req, &ops);
}
