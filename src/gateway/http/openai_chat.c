/* openai_chat.c -- POST /v1/chat/completions.
 *
 * The request brings the history, and the agent replies with the help of its own tools,
 * whose calls and results are not shown. Tools of the client are run by the client: the run
 * pauses, the response holds the calls, and the next request brings the results.
 *
 * A stream begins with the first text; an error before that is sent with its HTTP status. A
 * stream holds all text of the run; a response without a stream, or with a schema, holds the
 * last reply only. */
#include "gateway/http/openai_chat.h"

#include "base/error.h"
#include "gateway/http/openai.h"
#include "gateway/http/openai_extras.h"
#include "gateway/http/completion.h"
#include "gateway/http/openai_messages.h"
#include "gateway/lane/lane.h"
#include "gateway/request/request.h"

struct openai_chat {
    struct ch_completion r;
    bool with_usage;
    bool has_text;       /* text of this turn was sent */
    bool gap;            /* text of an earlier turn was sent: insert a blank line */
    bool reasoned;       /* likewise reasoning */
    bool legacy;         /* the client's tools are `functions`: the form before tools */
    struct ch_buf calls; /* calls of the client's tools: JSON objects, comma separated */
    unsigned ncalls;
    struct ch_buf reasoning; /* reasoning of the last reply: text */
    struct ch_buf details;   /* reasoning of the last reply: sealed blocks, JSON, comma separated */
    unsigned ndetails;
    struct ch_buf images; /* images of the answer: JSON objects, comma separated */
    unsigned nimages;
};

static struct openai_chat *openai_chat_of(struct ch_completion *r) {
    return CH_CONTAINER(r, struct openai_chat, r);
}

/* --- writing */

static void openai_chat_begin_object(const struct openai_chat *c, struct ch_jw *w,
                                     const char *object) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "id", c->r.id);
    ch_jw_kcstr(w, "object", object);
    ch_jw_kint(w, "created", c->r.created);
    ch_jw_kcstr(w, "model", c->r.agent);
}

/* An extension of the protocol: the session, and how its run ended. */
static void openai_chat_write_session(const struct openai_chat *c, struct ch_jw *w) {
    const struct chela_event *ev = c->r.outcome;
    if (!c->r.session)
        return;
    ch_jw_kbegin(w, "chela", '{');
    ch_jw_kcstr(w, "session", c->r.session);
    ch_jw_kcstr(w, "run", ev->run);
    ch_jw_kcstr(w, "status", chela_status_name(ev->end.status));
    ch_jw_kcstr(w, "reason", chela_reason_name(ev->end.reason));
    ch_jw_end(w, '}');
}

/* delta: a JSON object; finish: NULL unless this is the last chunk. */
static void openai_chat_send_chunk(struct openai_chat *c, struct ch_sv delta, const char *finish) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    openai_chat_begin_object(c, &w, "chat.completion.chunk");
    ch_jw_kbegin(&w, "choices", '[');
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "index", 0);
    ch_jw_kraw(&w, "delta", delta);
    ch_jw_kcstr(&w, "finish_reason", finish);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, ']');
    if (c->with_usage)
        ch_jw_kraw(&w, "usage", CH_SV("null"));
    ch_jw_end(&w, '}');
    ch_request_send_event(c->r.request, NULL, NULL, ch_buf_sv(&out));
}

static void openai_chat_begin_stream(struct openai_chat *c) {
    if (c->r.begun)
        return;
    c->r.begun = true;
    ch_request_begin_stream(c->r.request);
    openai_chat_send_chunk(c, CH_SV("{\"role\":\"assistant\",\"content\":\"\"}"), NULL);
}

static void openai_chat_send_text(struct openai_chat *c, struct chela_str text) {
    CH_BUF_AUTO delta = {0};
    openai_chat_begin_stream(c);
    ch_buf_add_str(&delta, "{\"content\":\"");
    if (c->gap && !c->has_text)
        ch_buf_add_str(&delta, "\\n\\n");
    ch_json_escape(&delta, ch_sv(text.p, text.n));
    ch_buf_add_str(&delta, "\"}");
    c->has_text = true;
    openai_chat_send_chunk(c, ch_buf_sv(&delta), NULL);
}

/* --- reasoning: an extension that many servers of this protocol have */

static void openai_chat_add_reasoning(struct openai_chat *c, struct ch_sv text) {
    CH_BUF_AUTO delta = {0};
    bool apart = c->reasoned && !c->reasoning.n;
    ch_buf_add_sv(&c->reasoning, text);
    if (!c->r.stream)
        return;
    openai_chat_begin_stream(c);
    ch_buf_addf(&delta, "{\"reasoning_content\":\"%s", apart ? "\\n\\n" : "");
    ch_json_escape(&delta, text);
    ch_buf_add_str(&delta, "\"}");
    openai_chat_send_chunk(c, ch_buf_sv(&delta), NULL);
}

/* A client that posts the message back unchanged returns the reasoning to its author. */
static void openai_chat_on_reasoned(struct ch_completion *r, const struct ch_block *b) {
    struct openai_chat *c = openai_chat_of(r);
    CH_BUF_AUTO sealed = {0}, one = {0}, delta = {0};
    struct ch_jw w = ch_jw(&one);
    ch_completion_seal(r, b, &sealed);
    if (!sealed.n)
        return;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", "reasoning.encrypted");
    ch_jw_kstr(&w, "data", ch_buf_sv(&sealed));
    ch_jw_kcstr(&w, "format", "chela-v1");
    ch_jw_kint(&w, "index", c->ndetails);
    ch_jw_end(&w, '}');
    ch_buf_addf(&c->details, "%s%s", c->ndetails++ ? "," : "", ch_buf_str(&one));
    if (!c->r.stream)
        return;
    openai_chat_begin_stream(c);
    ch_buf_addf(&delta, "{\"reasoning_details\":[%s]}", ch_buf_str(&one));
    openai_chat_send_chunk(c, ch_buf_sv(&delta), NULL);
}

static void openai_chat_forget_reasoning(struct openai_chat *c) {
    ch_buf_clear(&c->reasoning);
    ch_buf_clear(&c->details);
    c->ndetails = 0;
}

/* --- calls of the client's tools */

static void openai_chat_write_call(struct openai_chat *c, struct ch_jw *w,
                                   const struct chela_event *ev) {
    struct ch_sv name = ch_sv(ev->call.name.p, ev->call.name.n);
    struct ch_sv arguments = ch_sv(ev->call.arguments.p, ev->call.arguments.n);
    const struct ch_client_tool *tool = ch_client_tools_find(&c->r.tools, name);
    bool is_text = tool && tool->is_text;
    if (!c->legacy) {
        ch_jw_kcstr(w, "type", is_text ? "custom" : "function");
        ch_jw_kbegin(w, is_text ? "custom" : "function", '{');
    }
    ch_jw_kstr(w, "name", tool ? tool->name : name);
    if (is_text)
        arguments = ch_client_tools_unwrap(&c->r.request->arena, arguments);
    ch_jw_kstr(w, is_text ? "input" : "arguments", arguments);
    if (!c->legacy)
        ch_jw_end(w, '}');
}

static void openai_chat_add_call(struct openai_chat *c, const struct chela_event *ev) {
    CH_BUF_AUTO one = {0};
    struct ch_jw w = ch_jw(&one);
    if (c->legacy && c->ncalls)
        return; /* the form has one call; the model makes the others again */
    ch_jw_begin(&w, '{');
    if (c->r.stream && !c->legacy)
        ch_jw_kint(&w, "index", c->ncalls);
    if (!c->legacy)
        ch_jw_kstr(&w, "id", ch_sv(ev->call.id.p, ev->call.id.n));
    openai_chat_write_call(c, &w, ev);
    ch_jw_end(&w, '}');
    ch_buf_addf(&c->calls, "%s%s", c->ncalls++ ? "," : "", ch_buf_str(&one));
    if (!c->r.stream)
        return;
    CH_BUF_AUTO delta = {0};
    ch_buf_addf(&delta, c->legacy ? "{\"function_call\":%s}" : "{\"tool_calls\":[%s]}",
                ch_buf_str(&one));
    openai_chat_begin_stream(c);
    openai_chat_send_chunk(c, ch_buf_sv(&delta), NULL);
}

/* --- images and sources: extensions as well */

static void openai_chat_add_image(struct openai_chat *c, const struct chela_event *ev) {
    CH_BUF_AUTO url = {0}, one = {0}, delta = {0};
    struct ch_jw w = ch_jw(&one);
    ch_openai_image_url(ev, &url);
    if (!url.n)
        return;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", "image_url");
    ch_jw_kbegin(&w, "image_url", '{');
    ch_jw_kstr(&w, "url", ch_buf_sv(&url));
    ch_jw_end(&w, '}');
    ch_jw_kint(&w, "index", c->nimages);
    ch_jw_end(&w, '}');
    ch_buf_addf(&c->images, "%s%s", c->nimages++ ? "," : "", ch_buf_str(&one));
    if (!c->r.stream)
        return;
    openai_chat_begin_stream(c);
    ch_buf_addf(&delta, "{\"images\":[%s]}", ch_buf_str(&one));
    openai_chat_send_chunk(c, ch_buf_sv(&delta), NULL);
}

/* --- the end */

static const char *openai_chat_finish_reason(const struct openai_chat *c,
                                             const struct chela_event *ev) {
    if (c->ncalls)
        return c->legacy ? "function_call" : "tool_calls";
    if (ev->end.reason == CHELA_REASON_REFUSED)
        return "content_filter";
    if (ev->end.status == CHELA_STATUS_STOPPED || ev->end.reason == CHELA_REASON_LENGTH)
        return "length";
    return "stop";
}

static void openai_chat_end_stream(struct openai_chat *c, const struct chela_event *ev) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    CH_BUF_AUTO sources = {0}, delta = {0};
    openai_chat_begin_stream(c);
    if (!c->has_text && !c->gap && !c->ncalls && ev->end.text.n)
        openai_chat_send_text(c, ev->end.text);
    ch_openai_annotations(ev->end.citations, true, &sources);
    if (sources.n) {
        ch_buf_addf(&delta, "{\"annotations\":%s}", ch_buf_str(&sources));
        openai_chat_send_chunk(c, ch_buf_sv(&delta), NULL);
    }
    openai_chat_send_chunk(c, CH_SV("{}"), openai_chat_finish_reason(c, ev));
    if (c->with_usage) {
        openai_chat_begin_object(c, &w, "chat.completion.chunk");
        ch_jw_kraw(&w, "choices", CH_SV("[]"));
        ch_openai_write_usage(&w, "prompt", "completion", &ev->end.usage);
        ch_jw_end(&w, '}');
        ch_request_send_event(c->r.request, NULL, NULL, ch_buf_sv(&out));
    }
    ch_request_send_event(c->r.request, NULL, NULL, CH_SV("[DONE]"));
    ch_request_end_stream(c->r.request);
}

static void openai_chat_end_whole(struct openai_chat *c, const struct chela_event *ev) {
    CH_BUF_AUTO out = {0}, calls = {0}, details = {0}, images = {0}, sources = {0};
    struct ch_jw w = ch_jw(&out);
    openai_chat_begin_object(c, &w, "chat.completion");
    ch_jw_kbegin(&w, "choices", '[');
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "index", 0);
    ch_jw_kbegin(&w, "message", '{');
    ch_jw_kcstr(&w, "role", "assistant");
    if (!c->ncalls || (ev->end.text.n && !ch_completion_structured(&c->r)))
        ch_jw_kstr(&w, "content", ch_sv(ev->end.text.p, ev->end.text.n));
    else
        ch_jw_kcstr(&w, "content", NULL);
    ch_jw_kcstr(&w, "refusal", NULL);
    ch_openai_annotations(ev->end.citations, true, &sources);
    if (sources.n)
        ch_jw_kraw(&w, "annotations", ch_buf_sv(&sources));
    if (c->nimages) {
        ch_buf_addf(&images, "[%s]", ch_buf_str(&c->images));
        ch_jw_kraw(&w, "images", ch_buf_sv(&images));
    }
    if (c->reasoning.n)
        ch_jw_kstr(&w, "reasoning_content", ch_buf_sv(&c->reasoning));
    if (c->ndetails) {
        ch_buf_addf(&details, "[%s]", ch_buf_str(&c->details));
        ch_jw_kraw(&w, "reasoning_details", ch_buf_sv(&details));
    }
    if (c->ncalls) {
        ch_buf_addf(&calls, c->legacy ? "%s" : "[%s]", ch_buf_str(&c->calls));
        ch_jw_kraw(&w, c->legacy ? "function_call" : "tool_calls", ch_buf_sv(&calls));
    }
    ch_jw_end(&w, '}');
    ch_jw_kcstr(&w, "logprobs", NULL);
    ch_jw_kcstr(&w, "finish_reason", openai_chat_finish_reason(c, ev));
    ch_jw_end(&w, '}');
    ch_jw_end(&w, ']');
    ch_openai_write_usage(&w, "prompt", "completion", &ev->end.usage);
    openai_chat_write_session(c, &w);
    ch_jw_end(&w, '}');
    ch_request_respond_json(c->r.request, 200, &out);
}

/* An error inside a stream. */
static void openai_chat_end_failed(struct openai_chat *c, const struct chela_event *ev) {
    struct ch_completion_failure f = ch_completion_failure_of(&c->r, ev);
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "error", '{');
    ch_jw_kcstr(&w, "message", ch_completion_message(&c->r, ev));
    ch_jw_kcstr(&w, "type", ch_request_error_type(c->r.request, f.status));
    ch_jw_kcstr(&w, "param", NULL);
    ch_jw_kcstr(&w, "code", f.code);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    ch_request_send_event(c->r.request, NULL, NULL, ch_buf_sv(&out));
    ch_request_end_stream(c->r.request);
}

static void openai_chat_on_end(struct ch_completion *r, const struct chela_event *ev) {
    if (ch_completion_failed(ev))
        openai_chat_end_failed(openai_chat_of(r), ev);
    else if (r->stream)
        openai_chat_end_stream(openai_chat_of(r), ev);
    else
        openai_chat_end_whole(openai_chat_of(r), ev);
}

static void openai_chat_on_event(struct ch_completion *r, const struct chela_event *ev) {
    struct openai_chat *c = openai_chat_of(r);
    switch (ev->type) {
    case CHELA_EV_TURN_START:
        c->gap |= c->has_text;
        c->has_text = false;
        c->reasoned |= c->reasoning.n > 0;
        openai_chat_forget_reasoning(c);
        break;
    case CHELA_EV_REASONING_DELTA:
        openai_chat_add_reasoning(c, ch_sv(ev->delta.text.p, ev->delta.text.n));
        break;
    case CHELA_EV_TEXT_DELTA:
        if (c->r.stream)
            openai_chat_send_text(c, ev->delta.text);
        break;
    case CHELA_EV_CLIENT_TOOL_REQUIRED:
        openai_chat_add_call(c, ev);
        break;
    case CHELA_EV_MEDIA:
        openai_chat_add_image(c, ev);
        break;
    default:
        break;
    }
}

/* --- the beginning */

/* `functions` and `function_call` are older names of `tools` and `tool_choice`. */
static int openai_chat_read_functions(struct ch_completion *r, struct ch_lane_opts *o,
                                      struct chela_error *err) {
    int rc = 0;
    for (CH_JSON_EACH(f, ch_json_get(r->request->json, "functions"))) {
        openai_chat_of(r)->legacy = true;
        if (rc == 0)
            rc = ch_client_tools_add(&r->tools, f, "parameters", CH_SV(""), err);
    }
    return rc < 0 ? rc : ch_openai_choice(r->request, "function_call", &r->tools, o, err);
}

static int openai_chat_read_tools(struct ch_completion *r, struct ch_lane_opts *o,
                                  struct chela_error *err) {
    struct ch_request *req = r->request;
    int rc = ch_openai_tools(&r->tools, ch_json_get(req->json, "tools"), err);
    if (ch_json_get(req->json, "web_search_options"))
        ch_client_tools_skip(&r->tools, CH_SV("web_search_options"));
    if (rc == 0)
        rc = openai_chat_read_functions(r, o, err);
    return rc < 0 ? rc : ch_openai_choice(req, "tool_choice", &r->tools, o, err);
}

/* An answer is text; a client that also takes other forms gets text. */
static int openai_chat_read_modalities(struct ch_completion *r, struct chela_error *err) {
    const struct ch_json *list = ch_json_get(r->request->json, "modalities");
    bool text = !list || !list->n, other = false;
    for (CH_JSON_EACH(m, list)) {
        text |= ch_sv_is(ch_json_str(m), "text");
        other |= !ch_sv_is(ch_json_str(m), "text");
    }
    if (!text)
        return ch_fail(err, CHELA_EINVAL,
                       "`modalities` must include text: there is no other answer");
    if (other)
        r->dropped = CH_SV("modalities");
    return 0;
}

static int openai_chat_read_request(struct ch_completion *r, struct ch_lane_opts *o,
                                    struct chela_error *err) {
    static const char members[] =
        "stream:boolean stream_options:object stream_options.include_usage:boolean tools:array "
        "functions:array response_format:object response_format.json_schema:object n:integer "
        "modalities:array";
    struct ch_request *req = r->request;
    const struct ch_json *f = ch_json_get(req->json, "response_format");
    const struct ch_json *schema = ch_json_path(f, "json_schema", "schema", NULL);
    openai_chat_of(r)->with_usage =
        ch_json_bool(ch_json_path(req->json, "stream_options", "include_usage", NULL), false);
    int rc = ch_request_check_types(req->json, NULL, members, err);
    if (rc == 0 && ch_json_int(ch_json_get(req->json, "n"), 1) != 1)
        rc = ch_fail(err, CHELA_EINVAL, "`n` must be 1");
    if (rc == 0)
        rc = openai_chat_read_modalities(r, err);
    if (rc == 0)
        rc = openai_chat_read_tools(r, o, err);
    if (rc == 0)
        rc = ch_openai_sampling(req, o, err);
    if (rc == 0)
        rc = ch_openai_format(req, "response_format", f, schema, o, err);
    if (rc == 0)
        rc = ch_openai_messages(ch_json_get(req->json, "messages"), &r->history, err);
    return rc;
}

static void openai_chat_release(struct ch_completion *r) {
    ch_buf_release(&openai_chat_of(r)->images);
    ch_buf_release(&openai_chat_of(r)->calls);
    ch_buf_release(&openai_chat_of(r)->reasoning);
    ch_buf_release(&openai_chat_of(r)->details);
}

void ch_openai_chat(struct ch_request *req) {
    static const struct ch_completion_ops ops = {.size = sizeof(struct openai_chat),
                                                 .prefix = "chatcmpl-",
                                                 .api = "openai",
                                                 .contract = ch_contract_chat,
                                                 .overloaded = 503,
                                                 .reasoned = openai_chat_on_reasoned,
                                                 .read = openai_chat_read_request,
                                                 .event = openai_chat_on_event,
                                                 .end = openai_chat_on_end,
                                                 .release = openai_chat_release};
    ch_completion_begin(req, &ops);
}
