/* anthropic_messages.c -- see anthropic_messages.h.
 *
 * Like openai_chat.c: the request brings the history, the agent's own tools run here and are
 * not shown, and calls of the client's tools end the response. Text of several turns becomes
 * several blocks. Thinking is shown with its signature, so that the client can post it back
 * inside a tool loop; reasoning of other vendors has a sealed block as its signature
 * (sealed_reasoning.h). */
#include "gateway/http/anthropic_messages.h"

#include "agent/context/context_budget.h"
#include "agent/run/think.h"
#include "base/error.h"
#include "gateway/http/anthropic_input.h"
#include "gateway/http/completion.h"
#include "gateway/http/openai.h"
#include "gateway/lane/lane.h"
#include "gateway/request/request.h"
#include "model/provider/target.h"
#include "prompt/tokens.h"

#define PICTURE_TOKENS 1600 /* estimate for a picture or document */

struct anthropic_message {
    struct ch_completion r;
    enum { BLOCK_NONE, BLOCK_TEXT, BLOCK_THINKING } open;
    unsigned nblocks;      /* completed blocks */
    struct ch_buf text;    /* text of the open block */
    struct ch_buf content; /* completed blocks: JSON, comma separated */
    bool hides_thinking;   /* the client turned thinking off */
    bool has_text;         /* there was text */
    bool calls;            /* there were calls of the client's tools */
    struct chela_usage expected; /* input until the stream begins: the last request is estimated */
};

static struct anthropic_message *anthropic_message_of(struct ch_completion *r) {
    return CH_CONTAINER(r, struct anthropic_message, r);
}

/* --- writing */

/* whole: of a message; otherwise of an event of a stream, which has fewer members. */
static void write_usage(struct ch_jw *w, const struct chela_usage *u, bool whole) {
    ch_jw_kbegin(w, "usage", '{');
    ch_jw_kint(w, "input_tokens", u->input - u->cache_read - u->cache_write);
    ch_jw_kint(w, "cache_creation_input_tokens", u->cache_write);
    ch_jw_kint(w, "cache_read_input_tokens", u->cache_read);
    ch_jw_kint(w, "output_tokens", u->output);
    ch_jw_kbegin(w, "output_tokens_details", '{');
    ch_jw_kint(w, "thinking_tokens", u->reasoning);
    ch_jw_end(w, '}');
    ch_jw_kcstr(w, "server_tool_use", NULL);
    if (whole) {
        ch_jw_kcstr(w, "cache_creation", NULL);
        ch_jw_kcstr(w, "inference_geo", NULL);
        ch_jw_kcstr(w, "service_tier", NULL);
        ch_jw_kcstr(w, "speed", NULL);
    }
    ch_jw_end(w, '}');
}

static const char *stop_reason(const struct anthropic_message *m, const struct chela_event *end) {
    if (m->calls)
        return "tool_use";
    if (end->end.reason == CHELA_REASON_REFUSED)
        return "refusal";
    if (end->end.status == CHELA_STATUS_STOPPED || end->end.reason == CHELA_REASON_LENGTH)
        return "max_tokens";
    return "end_turn";
}

/* end NULL: the message begins. */
static void write_stop(const struct anthropic_message *m, struct ch_jw *w,
                       const struct chela_event *end) {
    const chela_run *run = ch_completion_run(&m->r);
    const char *reason = end ? stop_reason(m, end) : NULL, *sequence = NULL;
    if (end && run && strcmp(reason, "end_turn") == 0)
        sequence = ch_think_stop_sequence(run);
    ch_jw_kcstr(w, "stop_reason", sequence ? "stop_sequence" : reason);
    ch_jw_kcstr(w, "stop_sequence", sequence);
    if (end && strcmp(reason, "refusal") == 0)
        ch_jw_kraw(w, "stop_details",
                   CH_SV("{\"type\":\"refusal\",\"category\":null,\"explanation\":null}"));
    else
        ch_jw_kcstr(w, "stop_details", NULL);
    ch_jw_kcstr(w, "container", NULL);
}

/* end NULL: the message begins. */
static void write_message(const struct anthropic_message *m, struct ch_jw *w,
                          const struct chela_event *end) {
    CH_BUF_AUTO blocks = {0};
    ch_buf_addf(&blocks, "[%s]", ch_buf_str(&m->content));
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "id", m->r.id);
    ch_jw_kcstr(w, "type", "message");
    ch_jw_kcstr(w, "role", "assistant");
    ch_jw_kcstr(w, "model", m->r.agent);
    ch_jw_kraw(w, "content", ch_buf_sv(&blocks));
    write_stop(m, w, end);
    ch_jw_kcstr(w, "diagnostics", NULL);
    write_usage(w, end ? &end->end.usage : &m->expected, true);
    ch_jw_end(w, '}');
}

/* --- the stream */

static struct ch_jw begin_event(struct ch_buf *out, const char *type) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", type);
    return w;
}

static void end_event(struct anthropic_message *m, struct ch_jw *w, const char *type) {
    ch_jw_end(w, '}');
    ch_request_send_event(m->r.request, type, NULL, ch_buf_sv(w->out));
}

static void begin_stream(struct anthropic_message *m) {
    CH_BUF_AUTO out = {0};
    if (!m->r.stream || m->r.begun)
        return;
    m->r.begun = true;
    ch_request_begin_stream(m->r.request);
    struct ch_jw w = begin_event(&out, "message_start");
    ch_jw_key(&w, "message");
    write_message(m, &w, NULL);
    end_event(m, &w, "message_start");
}

static void send_start(struct anthropic_message *m, struct ch_sv block) {
    CH_BUF_AUTO out = {0};
    begin_stream(m);
    if (!m->r.stream)
        return;
    struct ch_jw w = begin_event(&out, "content_block_start");
    ch_jw_kint(&w, "index", m->nblocks);
    ch_jw_kraw(&w, "content_block", block);
    end_event(m, &w, "content_block_start");
}

static void send_delta(struct anthropic_message *m, const char *type, const char *key,
                       struct ch_sv piece) {
    CH_BUF_AUTO out = {0};
    if (!m->r.stream)
        return;
    struct ch_jw w = begin_event(&out, "content_block_delta");
    ch_jw_kint(&w, "index", m->nblocks);
    ch_jw_kbegin(&w, "delta", '{');
    ch_jw_kcstr(&w, "type", type);
    ch_jw_kstr(&w, key, piece);
    ch_jw_end(&w, '}');
    end_event(m, &w, "content_block_delta");
}

/* Ends a block. block: the complete block, for a response that is not a stream. */
static void finish_block(struct anthropic_message *m, struct ch_sv block) {
    CH_BUF_AUTO out = {0};
    ch_buf_addf(&m->content, "%s%.*s", m->nblocks ? "," : "", CH_SV_FMT(block));
    if (m->r.stream) {
        struct ch_jw w = begin_event(&out, "content_block_stop");
        ch_jw_kint(&w, "index", m->nblocks);
        end_event(m, &w, "content_block_stop");
    }
    m->nblocks++;
}

/* --- text and thinking */

static void write_block(struct ch_buf *out, const char *type, const char *key, struct ch_sv text,
                        const char *more, struct ch_sv value) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", type);
    ch_jw_kstr(&w, key, text);
    if (more)
        ch_jw_kstr(&w, more, value);
    if (strcmp(type, "text") == 0)
        ch_jw_kcstr(&w, "citations", NULL);
    ch_jw_end(&w, '}');
}

static void close_block(struct anthropic_message *m, struct ch_sv signature) {
    CH_BUF_AUTO block = {0};
    bool thinking = m->open == BLOCK_THINKING;
    if (m->open == BLOCK_NONE)
        return;
    if (thinking && signature.n)
        send_delta(m, "signature_delta", "signature", signature);
    if (thinking)
        write_block(&block, "thinking", "thinking", ch_buf_sv(&m->text), "signature", signature);
    else
        write_block(&block, "text", "text", ch_buf_sv(&m->text), NULL, CH_SV(""));
    m->open = BLOCK_NONE;
    finish_block(m, ch_buf_sv(&block));
}

static void open_block(struct anthropic_message *m, int kind) {
    CH_BUF_AUTO block = {0};
    if ((int)m->open == kind)
        return;
    close_block(m, CH_SV(""));
    if (kind == BLOCK_THINKING)
        write_block(&block, "thinking", "thinking", CH_SV(""), "signature", CH_SV(""));
    else
        write_block(&block, "text", "text", CH_SV(""), NULL, CH_SV(""));
    send_start(m, ch_buf_sv(&block));
    m->open = kind;
    ch_buf_clear(&m->text);
}

static void add_text(struct anthropic_message *m, struct ch_sv text) {
    open_block(m, BLOCK_TEXT);
    ch_buf_add_sv(&m->text, text);
    m->has_text = true;
    send_delta(m, "text_delta", "text", text);
}

static void add_thinking(struct anthropic_message *m, struct ch_sv text) {
    if (m->hides_thinking)
        return;
    open_block(m, BLOCK_THINKING);
    ch_buf_add_sv(&m->text, text);
    send_delta(m, "thinking_delta", "thinking", text);
}

/* The block in progress ends with its signature; a block without text comes whole. */
static void anthropic_on_reasoned(struct ch_completion *r, const struct ch_block *b) {
    struct anthropic_message *m = anthropic_message_of(r);
    CH_BUF_AUTO sealed = {0}, block = {0};
    bool plain = ch_completion_plain(r, b);
    if (m->hides_thinking)
        return;
    if (!plain)
        ch_completion_seal(r, b, &sealed);
    struct ch_sv extra = plain ? b->extra : ch_buf_sv(&sealed);
    if (m->open == BLOCK_THINKING) {
        close_block(m, extra);
        return;
    }
    if (!extra.n)
        return;
    close_block(m, CH_SV(""));
    if (plain && !(b->flags & CH_F_REDACTED))
        write_block(&block, "thinking", "thinking", b->text, "signature", extra);
    else
        write_block(&block, "redacted_thinking", "data", extra, NULL, CH_SV(""));
    send_start(m, ch_buf_sv(&block));
    finish_block(m, ch_buf_sv(&block));
}

/* --- calls of the client's tools */

static void write_call(struct ch_buf *out, const struct ch_completion *r,
                       const struct chela_event *ev, struct ch_sv input) {
    struct ch_sv name = ch_sv(ev->call.name.p, ev->call.name.n);
    const struct ch_client_tool *tool = ch_client_tools_find(&r->tools, name);
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", "tool_use");
    ch_jw_kstr(&w, "id", ch_sv(ev->call.id.p, ev->call.id.n));
    ch_jw_kstr(&w, "name", tool ? tool->name : name);
    ch_jw_kraw(&w, "input", input);
    ch_jw_kraw(&w, "caller", CH_SV("{\"type\":\"direct\"}"));
    ch_jw_end(&w, '}');
}

static void add_call(struct anthropic_message *m, const struct chela_event *ev) {
    CH_BUF_AUTO begun = {0}, done = {0};
    struct ch_sv input = ch_sv(ev->call.arguments.p, ev->call.arguments.n);
    close_block(m, CH_SV(""));
    write_call(&begun, &m->r, ev, CH_SV("{}"));
    write_call(&done, &m->r, ev, input.n ? input : CH_SV("{}"));
    send_start(m, ch_buf_sv(&begun));
    send_delta(m, "input_json_delta", "partial_json", input);
    finish_block(m, ch_buf_sv(&done));
    m->calls = true;
}

/* --- the end */

static void end_failed(struct anthropic_message *m, const struct chela_event *ev) {
    struct ch_completion_failure f = ch_completion_failure_of(&m->r, ev);
    CH_BUF_AUTO out = {0};
    struct ch_jw w = begin_event(&out, "error");
    ch_jw_kbegin(&w, "error", '{');
    ch_jw_kcstr(&w, "type", ch_request_error_type(m->r.request, f.status));
    ch_jw_kcstr(&w, "message", ch_completion_message(&m->r, ev));
    ch_jw_end(&w, '}');
    end_event(m, &w, "error");
    ch_request_end_stream(m->r.request);
}

static void end_stream(struct anthropic_message *m, const struct chela_event *ev) {
    CH_BUF_AUTO last = {0}, out = {0};
    begin_stream(m);
    struct ch_jw w = begin_event(&out, "message_delta");
    ch_jw_kbegin(&w, "delta", '{');
    write_stop(m, &w, ev);
    ch_jw_end(&w, '}');
    write_usage(&w, &ev->end.usage, false);
    end_event(m, &w, "message_delta");
    w = begin_event(&last, "message_stop");
    end_event(m, &w, "message_stop");
    ch_request_end_stream(m->r.request);
}

static void anthropic_on_end(struct ch_completion *r, const struct chela_event *ev) {
    struct anthropic_message *m = anthropic_message_of(r);
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    if (!m->has_text && !m->calls && ev->end.text.n && !ch_completion_failed(ev))
        add_text(m, ch_sv(ev->end.text.p, ev->end.text.n));
    close_block(m, CH_SV(""));
    if (ch_completion_failed(ev)) {
        end_failed(m, ev);
    } else if (r->stream) {
        end_stream(m, ev);
    } else {
        write_message(m, &w, ev);
        ch_request_respond_json(r->request, 200, &out);
    }
}

/* Some clients read the input from the start of a stream, when the service has not counted it. */
static void expect_usage(struct anthropic_message *m) {
    const chela_run *run = ch_completion_run(&m->r);
    if (m->r.stream && !m->r.begun && run)
        m->expected.input = run->m.usage.input + (int64_t)ch_context_budget_tokens(run);
}

static void anthropic_on_event(struct ch_completion *r, const struct chela_event *ev) {
    struct anthropic_message *m = anthropic_message_of(r);
    switch (ev->type) {
    case CHELA_EV_MODEL_REQUEST: /* another turn, or another attempt */
        expect_usage(m);
        close_block(m, CH_SV(""));
        break;
    case CHELA_EV_TURN_END:
        close_block(m, CH_SV(""));
        break;
    case CHELA_EV_TEXT_DELTA:
        add_text(m, ch_sv(ev->delta.text.p, ev->delta.text.n));
        break;
    case CHELA_EV_REASONING_DELTA:
        add_thinking(m, ch_sv(ev->delta.text.p, ev->delta.text.n));
        break;
    case CHELA_EV_CLIENT_TOOL_REQUIRED:
        add_call(m, ev);
        break;
    default:
        break;
    }
}

/* --- the beginning */

static int anthropic_read(struct ch_completion *r, struct ch_lane_opts *o,
                          struct chela_error *err) {
    static const char members[] =
        "stream:boolean thinking:object thinking.type:string thinking.budget_tokens:integer "
        "output_config:object output_config.format:object output_format:object "
        "tool_choice.disable_parallel_tool_use:boolean";
    struct ch_request *req = r->request;
    struct ch_sv thinking = ch_json_str(ch_json_path(req->json, "thinking", "type", NULL));
    anthropic_message_of(r)->hides_thinking = ch_sv_is(thinking, "disabled");
    int rc = ch_request_check_types(req->json, NULL, members, err);
    if (rc == 0)
        rc = ch_anthropic_input_tools(req->json, &r->tools, err);
    if (rc == 0)
        rc = ch_anthropic_input_settings(req, &r->tools, o, err);
    return rc < 0 ? rc : ch_anthropic_input_history(req->json, &r->history, err);
}

static void anthropic_release(struct ch_completion *r) {
    ch_buf_release(&anthropic_message_of(r)->text);
    ch_buf_release(&anthropic_message_of(r)->content);
}

void ch_anthropic_messages(struct ch_request *req) {
    static const struct ch_completion_ops ops = {.size = sizeof(struct anthropic_message),
                                                 .prefix = "msg_",
                                                 .api = "anthropic",
                                                 .contract = ch_contract_messages,
                                                 .overloaded = 529,
                                                 .read = anthropic_read,
                                                 .event = anthropic_on_event,
                                                 .reasoned = anthropic_on_reasoned,
                                                 .end = anthropic_on_end,
                                                 .release = anthropic_release};
    if (ch_json_is(ch_json_get(req->json, "thread"), CH_JSON_OBJECT))
        ch_request_fail(req, 400, "thread_unsupported_request",
                        "`thread` is not supported: send the whole conversation");
    else
        ch_completion_begin(req, &ops);
}

/* --- counting */

static size_t count_message(const struct ch_msg *m, enum ch_counting how) {
    size_t n = 4;
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        bool media = b->type == CH_BLOCK_IMAGE || b->type == CH_BLOCK_AUDIO ||
                     b->type == CH_BLOCK_DOCUMENT;
        n += media ? PICTURE_TOKENS : ch_tokens_as(b->text, how) + ch_tokens_as(b->name, how);
    }
    return n;
}

static size_t count_request(const struct ch_client_history *h, const struct ch_client_tools *t,
                            const struct ch_msg *last, enum ch_counting how) {
    size_t n = ch_tokens_as(ch_buf_sv(&h->system), how) + count_message(last, how);
    for (size_t i = 0; i < h->n; i++)
        n += count_message(h->msgs[i], how);
    for (size_t i = 0; i < t->n; i++)
        n += ch_tokens_as(ch_sv_str(t->opts[i].name), how) +
             ch_tokens_as(ch_sv_str(t->opts[i].description), how) +
             ch_tokens_as(ch_sv_str(t->opts[i].schema), how);
    return n;
}

static enum ch_counting count_as(const chela_agent *a) {
    return (enum ch_counting)a->targets[0]->facts.counting;
}

/* An estimate of the posted content; the agent's own prompt and tools are not counted. */
void ch_anthropic_count_tokens(struct ch_request *req) {
    struct ch_client_tools tools = {.arena = &req->arena};
    struct ch_client_history h;
    struct ch_lane_opts opts = {0};
    struct ch_msg *last = NULL;
    struct chela_error err = {0};
    CH_BUF_AUTO out = {0};
    ch_client_history_init(&h, &req->arena, 0);
    int rc = ch_openai_agent(req, &opts, &err);
    if (rc == 0)
        rc = ch_anthropic_input_tools(req->json, &tools, &err);
    if (rc == 0)
        rc = ch_anthropic_input_history(req->json, &h, &err);
    if (rc == 0)
        rc = ch_client_history_finish(&h, &last, &err);
    if (rc == 0)
        ch_buf_addf(&out, "{\"input_tokens\":%zu}",
                    count_request(&h, &tools, last, count_as(opts.agent)));
    ch_msg_free(last);
    ch_client_history_release(&h);
    if (rc < 0)
        ch_request_fail_with(req, &err);
    else
        ch_request_respond_json(req, 200, &out);
}
