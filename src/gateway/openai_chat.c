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
#include <stdio.h>

#include "base/error.h"
#include "gateway/openai.h"

struct chat {
    struct ch_visit *visit;
    struct ch_watcher watcher;
    struct ch_lane_wait wait;
    struct ch_lane *lane; /* NULL: not yet. Ours, unless it is kept */
    struct ch_history history;
    char id[40];
    char *agent; /* owned: its id */
    int64_t created;
    bool stream, begun, with_usage;
    bool said;       /* some text of this turn */
    bool gap;        /* text of an earlier turn stands before what comes */
    struct ch_buf calls; /* of the caller's tools: JSON objects, comma separated */
    unsigned ncalls;
};

static void free_chat(struct chat *c) {
    ch_lane_unwatch(&c->watcher);
    ch_list_del(&c->wait.link);
    if (c->lane && !c->lane->kept)
        ch_lane_close(c->lane);
    ch_history_release(&c->history);
    ch_buf_release(&c->calls);
    ch_free(c->agent);
    ch_free(c);
}

static void on_left(struct ch_visit *v) {
    free_chat(v->user);
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
    ch_jw_kcstr(w, "id", c->id);
    ch_jw_kcstr(w, "object", object);
    ch_jw_kint(w, "created", c->created);
    ch_jw_kcstr(w, "model", c->agent);
}

/* What OpenAI's protocol has no words for: which session, and how it stands. */
static void write_session(const struct chat *c, struct ch_jw *w, const struct chela_event *ev) {
    if (!c->lane->kept)
        return;
    ch_jw_key(w, "chela");
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "session", c->lane->session->key);
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
    ch_visit_data(c->visit, NULL, NULL, ch_buf_sv(&out));
}

static void begin_stream(struct chat *c) {
    if (c->begun)
        return;
    c->begun = true;
    ch_visit_stream(c->visit);
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
    if (c->stream)
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
    if (!c->stream)
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

static bool has_failed(const struct chela_event *ev) {
    return strcmp(ev->end.status, "error") == 0 || strcmp(ev->end.status, "cancelled") == 0;
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
        ch_visit_data(c->visit, NULL, NULL, ch_buf_sv(&out));
    }
    ch_visit_data(c->visit, NULL, NULL, CH_SV("[DONE]"));
    ch_visit_end(c->visit);
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
    ch_visit_json(c->visit, 200, &out);
}

/* Inside a stream the protocol has an error too. */
static void end_failed(struct chat *c, const struct chela_event *ev) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    bool overflow = strcmp(ev->end.reason, "context_overflow") == 0;
    if (!c->begun) {
        ch_visit_fail(c->visit, overflow ? 400 : 502,
                      overflow ? "context_length_exceeded" : ev->end.reason, "%.*s",
                      (int)ev->end.error.n, ev->end.error.p);
        return;
    }
    ch_jw_begin(&w, '{');
    ch_jw_key(&w, "error");
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "message", ch_sv(ev->end.error.p, ev->end.error.n));
    ch_jw_kcstr(&w, "type", "server_error");
    ch_jw_kcstr(&w, "param", NULL);
    ch_jw_kcstr(&w, "code", ev->end.reason);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    ch_visit_data(c->visit, NULL, NULL, ch_buf_sv(&out));
    ch_visit_end(c->visit);
}

static void on_end(struct chat *c, const struct chela_event *ev) {
    c->visit->left = NULL;
    if (has_failed(ev))
        end_failed(c, ev);
    else if (c->stream)
        end_stream(c, ev);
    else
        end_whole(c, ev);
    free_chat(c);
}

static void on_event(struct ch_watcher *w, const struct chela_event *ev) {
    struct chat *c = CH_CONTAINER(w, struct chat, watcher);
    switch (ev->type) {
    case CHELA_EV_TURN_START:
        c->gap |= c->said;
        c->said = false;
        break;
    case CHELA_EV_TEXT_DELTA:
        if (c->stream)
            send_text(c, ev->delta.text);
        break;
    case CHELA_EV_CLIENT_TOOL_REQUIRED:
        add_call(c, ev);
        break;
    case CHELA_EV_RUN_END:
        on_end(c, ev);
        break;
    default:
        break;
    }
}

/* --- the beginning */

static int read_tools(struct ch_visit *v, struct ch_lane_opts *o, struct chela_error *err) {
    const struct ch_json *tools = ch_json_get(v->json, "tools");
    size_t max = ch_json_is(tools, CH_JSON_ARRAY) ? tools->n : 0;
    struct chela_tool_opts *list = ch_arena_alloc(&v->arena, (max + 1) * sizeof(*list));
    for (CH_JSON_EACH(t, tools)) {
        if (!ch_sv_is(ch_json_get_str(t, "type"), "function"))
            return ch_fail(err, CHELA_EINVAL, "only tools of type function are taken");
        int rc = ch_openai_tool(v, ch_json_get(t, "function"), list, &o->ntools, err);
        if (rc < 0)
            return rc;
    }
    o->tools = list;
    return 0;
}

static int read_format(struct ch_visit *v, struct ch_lane_opts *o, struct chela_error *err) {
    const struct ch_json *f = ch_json_get(v->json, "response_format");
    const struct ch_json *schema = ch_json_path(f, "json_schema", "schema", NULL);
    struct ch_sv type = ch_json_get_str(f, "type");
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    if (!type.n || ch_sv_is(type, "text"))
        return 0;
    if (ch_sv_is(type, "json_object"))
        o->patch.output_schema = "{\"type\":\"object\"}";
    else if (!ch_sv_is(type, "json_schema") || !ch_json_is(schema, CH_JSON_OBJECT))
        return ch_fail(err, CHELA_EINVAL, "`response_format` is text, json_object or json_schema");
    if (!schema)
        return 0;
    ch_jw_value(&w, schema);
    o->patch.output_schema = ch_arena_str(&v->arena, ch_buf_sv(&text));
    return 0;
}

static int read_request(struct ch_visit *v, struct ch_openai_params *p, struct ch_lane_opts *o,
                        struct chela_error *err) {
    int rc = ch_openai_agent(v, o, err);
    if (rc == 0 && ch_json_int(ch_json_get(v->json, "n"), 1) != 1)
        rc = ch_fail(err, CHELA_EINVAL, "`n` must be 1");
    if (rc == 0)
        rc = ch_openai_sampling(v, p, o, err);
    if (rc == 0)
        rc = read_tools(v, o, err);
    if (rc == 0)
        rc = ch_openai_choice(v, o, err);
    return rc < 0 ? rc : read_format(v, o, err);
}

static void on_ready(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *failed) {
    struct chat *c = CH_CONTAINER(w, struct chat, wait);
    struct ch_visit *v = c->visit;
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    int rc = failed ? err.code : ch_lane_converse(l, &c->history, &err);
    if (rc == 0) {
        ch_lane_watch(l, &c->watcher);
        return;
    }
    v->left = NULL;
    free_chat(c);
    ch_visit_error(v, &err);
}

static struct chat *new_chat(struct ch_visit *v) {
    struct chat *c = ch_alloc(sizeof(*c));
    char id[24];
    ch_random_id("", id);
    snprintf(c->id, sizeof(c->id), "chatcmpl-%s", id);
    c->visit = v;
    c->created = ch_now_ms(ch_loop_clock(v->gw->rt->loop)) / 1000;
    c->stream = ch_json_bool(ch_json_get(v->json, "stream"), false);
    c->with_usage = ch_json_bool(
        ch_json_path(v->json, "stream_options", "include_usage", NULL), false);
    c->watcher.event = on_event;
    c->wait.ready = on_ready;
    ch_history_init(&c->history, &v->arena, ch_now_ms(ch_loop_clock(v->gw->rt->loop)));
    return c;
}

static int converse(struct chat *c, struct chela_error *err) {
    struct ch_visit *v = c->visit;
    struct ch_openai_params params = {0};
    struct ch_lane_opts opts = {0};
    int rc = read_request(v, &params, &opts, err);
    if (rc == 0)
        rc = ch_openai_messages(ch_json_get(v->json, "messages"), &c->history, err);
    if (rc < 0)
        return rc;
    c->agent = ch_strdup(opts.agent->id);
    opts.patch.system = ch_buf_str(&c->history.system);
    return ch_lane_for(v, &opts, &c->lane, err);
}

void ch_openai_chat(struct ch_visit *v) {
    struct chela_error err = {0};
    struct chat *c = new_chat(v);
    int rc = converse(c, &err);
    if (rc == 0) {
        v->user = c;
        v->left = on_left;
        ch_lane_when_ready(c->lane, &c->wait);
        return;
    }
    free_chat(c);
    if (rc == CHELA_ENOENT)
        ch_visit_fail(v, 404, "model_not_found", "%s", err.message);
    else
        ch_visit_error(v, &err);
}
