/* openai_chat.c -- POST /v1/chat/completions.
 *
 * The posted history is the history, and the agent answers it with its own
 * tools: their calls and results are its own business and not shown. Tools of
 * the caller are theirs to run: the run pauses, the answer is their calls, and
 * the next request brings the results.
 *
 * A stream begins with the first word; what fails before that is answered with
 * a proper status. In a stream everything the model says is sent as it comes;
 * an answer that is not streamed holds the last reply alone. */
#include "base/error.h"
#include "gateway/http/openai.h"

struct chat {
    struct ch_completion r;
    bool with_usage;
    bool said;       /* some text of this turn */
    bool gap;        /* text of an earlier turn stands before what comes */
    struct ch_buf calls; /* of the caller's tools: JSON objects, comma separated */
    unsigned ncalls;
};

static struct chat *of(struct ch_completion *r) {
    return CH_CONTAINER(r, struct chat, r);
}

/* --- writing */

static void write_usage(struct ch_jw *w, const struct chela_usage *u) {
    ch_jw_key(w, "usage");
    ch_jw_begin(w, '{');
    ch_jw_kint(w, "prompt_tokens", u->input);
    ch_jw_kint(w, "completion_tokens", u->output);
    ch_jw_kint(w, "total_tokens", u->input + u->output);
    ch_jw_key(w, "prompt_tokens_details");
    ch_jw_begin(w, '{');
    ch_jw_kint(w, "cached_tokens", u->cache_read);
    ch_jw_end(w, '}');
    ch_jw_key(w, "completion_tokens_details");
    ch_jw_begin(w, '{');
    ch_jw_kint(w, "reasoning_tokens", u->reasoning);
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

static void begin_object(const struct chat *c, struct ch_jw *w, const char *object) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "id", c->r.id);
    ch_jw_kcstr(w, "object", object);
    ch_jw_kint(w, "created", c->r.created);
    ch_jw_kcstr(w, "model", c->r.agent);
}

/* What OpenAI's protocol has no words for: which session, and how it stands. */
static void write_session(const struct chat *c, struct ch_jw *w, const struct chela_event *ev) {
    if (!c->r.lane->kept)
        return;
    ch_jw_key(w, "chela");
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "session", c->r.lane->session->key);
    ch_jw_kcstr(w, "run", ev->run);
    ch_jw_kcstr(w, "status", ev->end.status);
    ch_jw_kcstr(w, "reason", ev->end.reason);
    ch_jw_end(w, '}');
}

/* delta: members of it, JSON; finish: NULL while there is more. */
static void send_chunk(struct chat *c, struct ch_sv delta, const char *finish) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    begin_object(c, &w, "chat.completion.chunk");
    ch_jw_key(&w, "choices");
    ch_jw_begin(&w, '[');
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "index", 0);
    ch_jw_kraw(&w, "delta", delta);
    ch_jw_kcstr(&w, "finish_reason", finish);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, ']');
    if (c->with_usage)
        ch_jw_kraw(&w, "usage", CH_SV("null"));
    ch_jw_end(&w, '}');
    ch_visit_data(c->r.visit, NULL, NULL, ch_buf_sv(&out));
}

static void begin_stream(struct chat *c) {
    if (c->r.begun)
        return;
    c->r.begun = true;
    ch_visit_stream(c->r.visit);
    send_chunk(c, CH_SV("{\"role\":\"assistant\",\"content\":\"\"}"), NULL);
}

static void send_text(struct chat *c, struct chela_str text) {
    CH_BUF_AUTO delta = {0};
    begin_stream(c);
    ch_buf_add_str(&delta, "{\"content\":\"");
    if (c->gap && !c->said)
        ch_buf_add_str(&delta, "\\n\\n");
    ch_json_escape(&delta, ch_sv(text.p, text.n));
    ch_buf_add_str(&delta, "\"}");
    c->said = true;
    send_chunk(c, ch_buf_sv(&delta), NULL);
}

/* A call of a tool that is the caller's. */
static void add_call(struct chat *c, const struct chela_event *ev) {
    CH_BUF_AUTO one = {0};
    struct ch_jw w = ch_jw(&one);
    ch_jw_begin(&w, '{');
    if (c->r.stream)
        ch_jw_kint(&w, "index", c->ncalls);
    ch_jw_kstr(&w, "id", ch_sv(ev->call.id.p, ev->call.id.n));
    ch_jw_kcstr(&w, "type", "function");
    ch_jw_key(&w, "function");
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "name", ch_sv(ev->call.name.p, ev->call.name.n));
    ch_jw_kstr(&w, "arguments", ch_sv(ev->call.arguments.p, ev->call.arguments.n));
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    ch_buf_addf(&c->calls, "%s%s", c->ncalls++ ? "," : "", ch_buf_str(&one));
    if (!c->r.stream)
        return;
    CH_BUF_AUTO delta = {0};
    ch_buf_addf(&delta, "{\"tool_calls\":[%s]}", ch_buf_str(&one));
    begin_stream(c);
    send_chunk(c, ch_buf_sv(&delta), NULL);
}

/* --- the end */

static const char *finish_reason(const struct chat *c, const struct chela_event *ev) {
    if (c->ncalls)
        return "tool_calls";
    if (strcmp(ev->end.reason, "refused") == 0)
        return "content_filter";
    if (strcmp(ev->end.status, "stopped") == 0 || strcmp(ev->end.reason, "length") == 0)
        return "length";
    return "stop";
}

static void end_stream(struct chat *c, const struct chela_event *ev) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    begin_stream(c);
    send_chunk(c, CH_SV("{}"), finish_reason(c, ev));
    if (c->with_usage) {
        begin_object(c, &w, "chat.completion.chunk");
        ch_jw_kraw(&w, "choices", CH_SV("[]"));
        write_usage(&w, &ev->end.usage);
        ch_jw_end(&w, '}');
        ch_visit_data(c->r.visit, NULL, NULL, ch_buf_sv(&out));
    }
    ch_visit_data(c->r.visit, NULL, NULL, CH_SV("[DONE]"));
    ch_visit_end(c->r.visit);
}

static void end_whole(struct chat *c, const struct chela_event *ev) {
    CH_BUF_AUTO out = {0}, calls = {0};
    struct ch_jw w = ch_jw(&out);
    begin_object(c, &w, "chat.completion");
    ch_jw_key(&w, "choices");
    ch_jw_begin(&w, '[');
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "index", 0);
    ch_jw_key(&w, "message");
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "role", "assistant");
    if (ev->end.text.n || !c->ncalls)
        ch_jw_kstr(&w, "content", ch_sv(ev->end.text.p, ev->end.text.n));
    else
        ch_jw_kcstr(&w, "content", NULL);
    ch_jw_kcstr(&w, "refusal", NULL);
    if (c->ncalls) {
        ch_buf_addf(&calls, "[%s]", ch_buf_str(&c->calls));
        ch_jw_kraw(&w, "tool_calls", ch_buf_sv(&calls));
    }
    ch_jw_end(&w, '}');
    ch_jw_kcstr(&w, "logprobs", NULL);
    ch_jw_kcstr(&w, "finish_reason", finish_reason(c, ev));
    ch_jw_end(&w, '}');
    ch_jw_end(&w, ']');
    write_usage(&w, &ev->end.usage);
    write_session(c, &w, ev);
    ch_jw_end(&w, '}');
    ch_visit_json(c->r.visit, 200, &out);
}

/* Inside a stream the protocol has an error too. */
static void end_failed(struct chat *c, const struct chela_event *ev) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_key(&w, "error");
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "message", ch_sv(ev->end.error.p, ev->end.error.n));
    ch_jw_kcstr(&w, "type", "server_error");
    ch_jw_kcstr(&w, "param", NULL);
    ch_jw_kcstr(&w, "code", ev->end.reason);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    ch_visit_data(c->r.visit, NULL, NULL, ch_buf_sv(&out));
    ch_visit_end(c->r.visit);
}

static void on_end(struct ch_completion *r, const struct chela_event *ev) {
    if (ch_completion_failed(ev))
        end_failed(of(r), ev);
    else if (r->stream)
        end_stream(of(r), ev);
    else
        end_whole(of(r), ev);
}

static void on_event(struct ch_completion *r, const struct chela_event *ev) {
    struct chat *c = of(r);
    switch (ev->type) {
    case CHELA_EV_TURN_START:
        c->gap |= c->said;
        c->said = false;
        break;
    case CHELA_EV_TEXT_DELTA:
        if (c->r.stream)
            send_text(c, ev->delta.text);
        break;
    case CHELA_EV_CLIENT_TOOL_REQUIRED:
        add_call(c, ev);
        break;
    default:
        break;
    }
}

/* --- the beginning */

static int read_request(struct ch_completion *r, struct ch_lane_opts *o, struct chela_error *err) {
    struct ch_visit *v = r->visit;
    const struct ch_json *f = ch_json_get(v->json, "response_format");
    const struct ch_json *schema = ch_json_path(f, "json_schema", "schema", NULL);
    of(r)->with_usage =
        ch_json_bool(ch_json_path(v->json, "stream_options", "include_usage", NULL), false);
    if (ch_json_int(ch_json_get(v->json, "n"), 1) != 1)
        return ch_fail(err, CHELA_EINVAL, "`n` must be 1");
    int rc = ch_openai_tools(v, "function", o, err);
    if (rc == 0)
        rc = ch_openai_format(v, "response_format", f, schema, o, err);
    if (rc == 0)
        rc = ch_openai_messages(ch_json_get(v->json, "messages"), &r->history, err);
    return rc;
}

static void release(struct ch_completion *r) {
    ch_buf_release(&of(r)->calls);
}

void ch_openai_chat(struct ch_visit *v) {
    static const struct ch_completion_ops ops = {.size = sizeof(struct chat),
                                            .prefix = "chatcmpl-",
                                            .read = read_request,
                                            .event = on_event,
                                            .end = on_end,
                                            .release = release};
    ch_completion_begin(v, &ops);
}
