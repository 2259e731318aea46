/* openai_responses.c -- POST /v1/responses.
 *
 * Like openai_chat.c: input items become the history, and calls of the client's tools are
 * returned as items. Reasoning becomes items whose encrypted content the client can post
 * back. Responses are remembered by their id for a day (response_store.h),
 * unless `store` is false; a session stores a conversation for good (X-Chela-Session, or
 * `conversation`). A `background` response is a run in the log of a session (response_run.h):
 * what is known of the response is written from the events of the run, at any time. */
#include "gateway/http/openai_responses.h"

#include <stdio.h>

#include "agent/run/think.h"
#include "base/error.h"
#include "base/mem.h"
#include "gateway/http/openai.h"
#include "gateway/http/openai_extras.h"
#include "gateway/http/openai_input.h"
#include "gateway/http/response_echo.h"
#include "gateway/http/response_run.h"
#include "gateway/http/response_store.h"
#include "gateway/http/completion.h"
#include "gateway/lane/client_input.h"
#include "gateway/lane/lane.h"
#include "gateway/request/idempotency.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"

#define RESPONSE "resp_" /* prefix of the id of a response */

struct openai_response {
    struct ch_completion r;
    char item[CH_ID_ROOM + 8]; /* id of the open item */
    enum { ITEM_NONE, ITEM_TEXT, ITEM_REASONING } open;
    bool has_text; /* there was text */
    bool cut;  /* the open item ends here, but the model did not end it */
    const char *phase; /* of the text that is being closed; NULL: unknown */
    int64_t seq;
    int64_t completed; /* seconds since the epoch */
    struct ch_buf text;   /* text of the open item */
    struct ch_buf annotations; /* annotations of the text that is being closed: a JSON array */
    struct ch_buf output; /* completed items: JSON, comma separated */
    unsigned nitems;
    struct ch_buf kept;   /* completed items with encrypted content, for ch_response_store_put */
    struct ch_buf input;  /* items of the request, for ch_response_store_put */
    bool encrypted;       /* the client wants encrypted content */
    bool store, background;
    bool called; /* the model called a tool of the client */
    int64_t after; /* events of a stream up to this number are not sent */
    struct ch_sv conversation; /* empty: none */
    struct ch_buf object; /* of a background response: the complete response */
};

static struct openai_response *openai_response_of(struct ch_completion *r) {
    return CH_CONTAINER(r, struct openai_response, r);
}

/* --- writing */

static void write_incomplete_details(struct ch_jw *w, const struct chela_event *end) {
    bool refused = end->end.reason == CHELA_REASON_REFUSED;
    ch_jw_kbegin(w, "incomplete_details", '{');
    ch_jw_kcstr(w, "reason", refused ? "content_filter" : "max_output_tokens");
    ch_jw_end(w, '}');
}

static void write_error(const struct openai_response *r, struct ch_jw *w,
                        const struct chela_event *end) {
    ch_jw_kbegin(w, "error", '{');
    ch_jw_kcstr(w, "code", ch_completion_failure_of(&r->r, end).code);
    ch_jw_kcstr(w, "message", ch_completion_message(&r->r, end));
    ch_jw_end(w, '}');
}

static void write_conversation(const struct openai_response *r, struct ch_jw *w) {
    if (!r->conversation.n)
        return;
    ch_jw_kbegin(w, "conversation", '{');
    ch_jw_kstr(w, "id", r->conversation);
    ch_jw_end(w, '}');
}

/* status: queued, in_progress, completed, incomplete, failed or cancelled; end: NULL before
 * RUN_END. */
static void write_response(const struct openai_response *r, struct ch_jw *w, const char *status,
                           const struct chela_event *end, const struct ch_buf *output) {
    CH_BUF_AUTO items = {0};
    ch_buf_addf(&items, "[%s]", output->n ? output->p : "");
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "id", r->r.id);
    ch_jw_kcstr(w, "object", "response");
    ch_jw_kint(w, "created_at", r->r.created);
    if (strcmp(status, "completed") == 0)
        ch_jw_kint(w, "completed_at", r->completed);
    else
        ch_jw_kcstr(w, "completed_at", NULL);
    ch_jw_kcstr(w, "status", status);
    if (strcmp(status, "incomplete") == 0)
        write_incomplete_details(w, end);
    else
        ch_jw_kcstr(w, "incomplete_details", NULL);
    if (strcmp(status, "failed") == 0)
        write_error(r, w, end);
    else
        ch_jw_kcstr(w, "error", NULL);
    ch_jw_kcstr(w, "model", r->r.agent);
    ch_jw_kraw(w, "output", ch_buf_sv(&items));
    ch_jw_kbool(w, "parallel_tool_calls", !r->r.opts.patch.one_call);
    ch_response_echo(w, r->r.request->json);
    ch_jw_kbool(w, "store", r->store);
    ch_jw_kbool(w, "background", r->background);
    write_conversation(r, w);
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
    ch_jw_kint(&w, "sequence_number", r->seq++); /* counts from 0 */
    return w;
}

static void openai_response_end_event(struct openai_response *r, struct ch_jw *w,
                                      const char *type) {
    ch_jw_end(w, '}');
    if (r->seq > r->after)
        ch_request_send_event(r->r.request, type, NULL, ch_buf_sv(w->out));
}

static void send_state(struct openai_response *r, const char *type, const char *status,
                       const struct chela_event *end) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = openai_response_begin_event(r, &out, type);
    ch_jw_key(&w, "response");
    write_response(r, &w, status, end, &r->output);
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

static const char *item_status(const struct openai_response *r, bool done) {
    return !done ? "in_progress" : r->cut ? "incomplete" : "completed";
}

/* --- text items */

static void openai_response_write_part(const struct openai_response *r, struct ch_jw *w,
                                       struct ch_sv text) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "output_text");
    ch_jw_kstr(w, "text", text);
    ch_jw_kraw(w, "annotations", r->annotations.n ? ch_buf_sv(&r->annotations) : CH_SV("[]"));
    ch_jw_kraw(w, "logprobs", CH_SV("[]"));
    ch_jw_end(w, '}');
}

static void openai_response_write_message(const struct openai_response *r, struct ch_buf *out,
                                          bool done) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", "message");
    ch_jw_kcstr(&w, "id", r->item);
    ch_jw_kcstr(&w, "status", item_status(r, done));
    ch_jw_kcstr(&w, "role", "assistant");
    ch_jw_kbegin(&w, "content", '[');
    if (done)
        openai_response_write_part(r, &w, ch_buf_sv(&r->text));
    ch_jw_end(&w, ']');
    if (done && r->phase)
        ch_jw_kcstr(&w, "phase", r->phase);
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
        openai_response_write_part(r, &w, text);
    }
    openai_response_end_event(r, &w, type);
}

/* kept: the item for the store. */
static void keep_item(struct openai_response *r, struct ch_sv item, struct ch_sv kept) {
    ch_buf_addf(&r->output, "%s%.*s", r->nitems ? "," : "", CH_SV_FMT(item));
    ch_buf_addf(&r->kept, "%s%.*s", r->nitems ? "," : "", CH_SV_FMT(kept));
    r->nitems++;
}

/* Whoever writes the response gives its items the same ids. */
static void item_id(const struct openai_response *r, const char *prefix, char *out, size_t room) {
    snprintf(out, room, "%s%s%02u", prefix, r->r.id + strlen(RESPONSE), r->nitems);
}

static void name_item(struct openai_response *r, const char *prefix) {
    item_id(r, prefix, r->item, sizeof(r->item));
    ch_buf_clear(&r->text);
}

static void close_text(struct openai_response *r) {
    CH_BUF_AUTO item = {0};
    r->open = ITEM_NONE;
    openai_response_write_message(r, &item, true);
    openai_response_send_part(r, "response.output_text.done", "text", ch_buf_sv(&r->text));
    openai_response_send_part(r, "response.content_part.done", NULL, ch_buf_sv(&r->text));
    send_item(r, "response.output_item.done", ch_buf_sv(&item));
    keep_item(r, ch_buf_sv(&item), ch_buf_sv(&item));
}

/* --- reasoning items */

/* An event about the only part of the summary; key NULL: it holds the part itself. */
static void send_summary(struct openai_response *r, const char *type, const char *key,
                         struct ch_sv text) {
    CH_BUF_AUTO out = {0};
    if (!r->r.stream)
        return;
    struct ch_jw w = openai_response_begin_event(r, &out, type);
    ch_jw_kcstr(&w, "item_id", r->item);
    ch_jw_kint(&w, "output_index", r->nitems);
    ch_jw_kint(&w, "summary_index", 0);
    if (key) {
        ch_jw_kstr(&w, key, text);
    } else {
        ch_jw_kbegin(&w, "part", '{');
        ch_jw_kcstr(&w, "type", "summary_text");
        ch_jw_kstr(&w, "text", text);
        ch_jw_end(&w, '}');
    }
    openai_response_end_event(r, &w, type);
}

static void write_reasoning(const struct openai_response *r, struct ch_buf *out, bool done,
                            struct ch_sv encrypted) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", "reasoning");
    ch_jw_kcstr(&w, "id", r->item);
    ch_jw_kcstr(&w, "status", item_status(r, done));
    ch_jw_kbegin(&w, "summary", '[');
    if (done && r->text.n) {
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "type", "summary_text");
        ch_jw_kstr(&w, "text", ch_buf_sv(&r->text));
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, ']');
    if (encrypted.n)
        ch_jw_kstr(&w, "encrypted_content", encrypted);
    ch_jw_end(&w, '}');
}

static void open_reasoning(struct openai_response *r, struct ch_sv id) {
    CH_BUF_AUTO item = {0};
    openai_response_begin_stream(r);
    name_item(r, "rs_");
    if (id.n && id.n < sizeof(r->item))
        snprintf(r->item, sizeof(r->item), "%.*s", CH_SV_FMT(id));
    r->open = ITEM_REASONING;
    write_reasoning(r, &item, false, CH_SV(""));
    send_item(r, "response.output_item.added", ch_buf_sv(&item));
}

static void close_reasoning(struct openai_response *r, struct ch_sv encrypted) {
    CH_BUF_AUTO item = {0}, kept = {0};
    struct ch_sv text = ch_buf_sv(&r->text);
    r->open = ITEM_NONE;
    write_reasoning(r, &item, true, r->encrypted ? encrypted : CH_SV(""));
    write_reasoning(r, &kept, true, encrypted);
    if (text.n) {
        send_summary(r, "response.reasoning_summary_text.done", "text", text);
        send_summary(r, "response.reasoning_summary_part.done", NULL, text);
    }
    send_item(r, "response.output_item.done", ch_buf_sv(&item));
    keep_item(r, ch_buf_sv(&item), ch_buf_sv(&kept));
}

static void close_item(struct openai_response *r) {
    if (r->open == ITEM_TEXT)
        close_text(r);
    else if (r->open == ITEM_REASONING)
        close_reasoning(r, CH_SV(""));
}

static void openai_response_add_reasoning(struct openai_response *r, struct ch_sv text) {
    struct ch_block b = {0};
    if (r->open != ITEM_REASONING) {
        close_item(r);
        const chela_run *run = ch_completion_run(&r->r);
        if (run)
            ch_think_reasoning(run, r->r.nreasoning, &b);
        open_reasoning(r, b.id);
    }
    if (!r->text.n)
        send_summary(r, "response.reasoning_summary_part.added", NULL, CH_SV(""));
    ch_buf_add_sv(&r->text, text);
    send_summary(r, "response.reasoning_summary_text.delta", "delta", text);
}

/* The item in progress is complete, or a block without text comes whole. */
static void openai_response_on_reasoned(struct ch_completion *completion,
                                        const struct ch_block *b) {
    struct openai_response *r = openai_response_of(completion);
    CH_BUF_AUTO sealed = {0};
    bool plain = b->id.n && ch_completion_plain(completion, b);
    if (!plain)
        ch_completion_seal(completion, b, &sealed);
    if (r->open != ITEM_REASONING) {
        close_item(r);
        open_reasoning(r, b->id);
    }
    close_reasoning(r, plain ? b->extra : ch_buf_sv(&sealed));
}

/* --- text, as it comes */

static void open_text(struct openai_response *r) {
    CH_BUF_AUTO item = {0};
    if (r->open == ITEM_TEXT)
        return;
    close_item(r);
    openai_response_begin_stream(r);
    name_item(r, "msg_");
    r->open = ITEM_TEXT;
    openai_response_write_message(r, &item, false);
    send_item(r, "response.output_item.added", ch_buf_sv(&item));
    openai_response_send_part(r, "response.content_part.added", NULL, CH_SV(""));
}

static void openai_response_add_text(struct openai_response *r, struct chela_str text) {
    open_text(r);
    r->has_text = true;
    ch_buf_add(&r->text, text.p, text.n);
    openai_response_send_part(r, "response.output_text.delta", "delta", ch_sv(text.p, text.n));
}

/* --- calls of the client's tools */

struct response_call {
    char id[CH_ID_ROOM + 8]; /* of the item */
    struct ch_sv call_id, name, space;
    struct ch_sv input; /* arguments, or the text of a tool that takes one */
    bool is_text;
};

static void openai_response_write_call(struct ch_buf *out, const struct response_call *c,
                                       bool done) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", c->is_text ? "custom_tool_call" : "function_call");
    ch_jw_kcstr(&w, "id", c->id);
    ch_jw_kstr(&w, "call_id", c->call_id);
    ch_jw_kstr(&w, "name", c->name);
    if (c->space.n)
        ch_jw_kstr(&w, "namespace", c->space);
    ch_jw_kstr(&w, c->is_text ? "input" : "arguments", done ? c->input : CH_SV(""));
    ch_jw_kcstr(&w, "status", done ? "completed" : "in_progress");
    ch_jw_end(&w, '}');
}

static void send_input(struct openai_response *r, const struct response_call *c, bool done) {
    CH_BUF_AUTO out = {0}, type = {0};
    if (!r->r.stream)
        return;
    ch_buf_addf(&type, "response.%s.%s",
                c->is_text ? "custom_tool_call_input" : "function_call_arguments",
                done ? "done" : "delta");
    struct ch_jw w = openai_response_begin_event(r, &out, ch_buf_str(&type));
    ch_jw_kcstr(&w, "item_id", c->id);
    ch_jw_kint(&w, "output_index", r->nitems);
    if (done && !c->is_text)
        ch_jw_kstr(&w, "name", c->name);
    ch_jw_kstr(&w, !done ? "delta" : c->is_text ? "input" : "arguments", c->input);
    openai_response_end_event(r, &w, ch_buf_str(&type));
}

static struct response_call openai_response_call(struct openai_response *r,
                                                 const struct chela_event *ev) {
    struct ch_sv name = ch_sv(ev->call.name.p, ev->call.name.n);
    const struct ch_client_tool *tool = ch_client_tools_find(&r->r.tools, name);
    struct response_call c = {.call_id = ch_sv(ev->call.id.p, ev->call.id.n),
                              .name = name,
                              .input = ch_sv(ev->call.arguments.p, ev->call.arguments.n)};
    if (tool) {
        c.name = tool->name;
        c.space = tool->space;
        c.is_text = tool->is_text;
    }
    if (c.is_text)
        c.input = ch_client_tools_unwrap(&r->r.request->arena, c.input);
    item_id(r, c.is_text ? "ctc_" : "fc_", c.id, sizeof(c.id));
    return c;
}

static void openai_response_add_call(struct openai_response *r, const struct chela_event *ev) {
    CH_BUF_AUTO begun = {0}, done = {0};
    r->phase = "commentary";
    close_item(r);
    struct response_call c = openai_response_call(r, ev);
    r->phase = NULL;
    r->called = true;
    openai_response_begin_stream(r);
    openai_response_write_call(&begun, &c, false);
    openai_response_write_call(&done, &c, true);
    send_item(r, "response.output_item.added", ch_buf_sv(&begun));
    send_input(r, &c, false);
    send_input(r, &c, true);
    send_item(r, "response.output_item.done", ch_buf_sv(&done));
    keep_item(r, ch_buf_sv(&done), ch_buf_sv(&done));
}

/* --- the end */

static const char *openai_response_status_of(const struct openai_response *r,
                                             const struct chela_event *ev) {
    if (r->background && ev->end.status == CHELA_STATUS_CANCELLED)
        return "cancelled";
    if (ch_completion_failed(ev))
        return "failed";
    if (ev->end.status == CHELA_STATUS_STOPPED || ev->end.reason == CHELA_REASON_LENGTH ||
        ev->end.reason == CHELA_REASON_REFUSED)
        return "incomplete";
    return "completed";
}

/* Remembers the response. The encrypted content is kept even if the client did not ask for
 * it. */
static void remember(struct openai_response *r, const char *status,
                     const struct chela_event *ev) {
    CH_BUF_AUTO object = {0};
    struct ch_jw w = ch_jw(&object);
    if (!r->store || ch_completion_failed(ev))
        return;
    write_response(r, &w, status, ev, &r->kept);
    if (r->kept.n)
        ch_buf_addf(&r->input, "%s%s", r->input.n ? "," : "", ch_buf_str(&r->kept));
    ch_response_store_put(r->r.request->gw, r->r.id, r->r.session, ch_buf_sv(&object),
                          ch_buf_sv(&r->input));
}

/* Completes the items. Returns the status. */
static const char *openai_response_finish(struct openai_response *r, const struct chela_event *ev,
                                          int64_t now) {
    const char *status = openai_response_status_of(r, ev);
    bool answered =
        ev->end.status == CHELA_STATUS_DONE || ev->end.status == CHELA_STATUS_DECLINED;
    bool silent = !r->has_text && ev->end.text.n && answered;
    if (silent)
        openai_response_add_text(r, ev->end.text);
    r->cut = strcmp(status, "completed") != 0;
    r->completed = now / 1000;
    close_item(r);
    return status;
}

static void openai_response_end_stream(struct openai_response *r, const char *status,
                                       const struct chela_event *ev) {
    CH_BUF_AUTO type = {0};
    openai_response_begin_stream(r);
    /* clients know no event for a cancelled response */
    ch_buf_addf(&type, "response.%s", strcmp(status, "cancelled") == 0 ? "failed" : status);
    send_state(r, ch_buf_str(&type), status, ev);
    ch_request_end_stream(r->r.request);
}

static void openai_response_on_end(struct ch_completion *completion, const struct chela_event *ev) {
    struct openai_response *r = openai_response_of(completion);
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    int64_t now = ch_now_ms(ch_loop_clock(r->r.request->gw->rt->loop));
    const char *status = openai_response_finish(r, ev, now);
    remember(r, status, ev);
    if (r->r.stream) {
        openai_response_end_stream(r, status, ev);
        return;
    }
    write_response(r, &w, status, ev, &r->output);
    ch_request_respond_json(r->r.request, 200, &out);
}

/* --- images */

static void openai_response_add_image(struct openai_response *r, const struct chela_event *ev) {
    CH_BUF_AUTO item = {0};
    struct ch_jw w = ch_jw(&item);
    struct ch_sv type = ch_sv(ev->made.media_type.p, ev->made.media_type.n);
    if (!ev->made.data.n || !ch_sv_starts(type, "image/"))
        return;
    close_item(r); /* the text continues in a new item */
    openai_response_begin_stream(r);
    name_item(r, "ig_");
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", "image_generation_call");
    ch_jw_kcstr(&w, "id", r->item);
    ch_jw_kcstr(&w, "status", "completed");
    ch_jw_kstr(&w, "output_format", ch_sv(type.p + 6, type.n - 6));
    ch_jw_kstr(&w, "result", ch_sv(ev->made.data.p, ev->made.data.n));
    ch_jw_end(&w, '}');
    send_item(r, "response.output_item.added", ch_buf_sv(&item));
    send_item(r, "response.output_item.done", ch_buf_sv(&item));
    keep_item(r, ch_buf_sv(&item), ch_buf_sv(&item));
}

/* Text before calls tells what the model does; the last text is the answer. */
static const char *phase_of(enum chela_stop stop) {
    return stop == CHELA_STOP_TOOL_USE ? "commentary"
           : stop == CHELA_STOP_STOP   ? "final_answer"
                                       : NULL;
}

static void openai_response_on_event(struct ch_completion *completion,
                                     const struct chela_event *ev) {
    struct openai_response *r = openai_response_of(completion);
    switch (ev->type) {
    case CHELA_EV_TEXT_DELTA:
        openai_response_add_text(r, ev->delta.text);
        break;
    case CHELA_EV_REASONING_DELTA:
        openai_response_add_reasoning(r, ch_sv(ev->delta.text.p, ev->delta.text.n));
        break;
    case CHELA_EV_TURN_END:
        ch_openai_annotations(ev->turn.citations, false, &r->annotations);
        r->cut = ev->turn.stop_reason == CHELA_STOP_LENGTH ||
                 ev->turn.stop_reason >= CHELA_STOP_ERROR;
        r->phase = phase_of(ev->turn.stop_reason);
        close_item(r);
        r->cut = false;
        r->phase = NULL;
        ch_buf_clear(&r->annotations);
        break;
    case CHELA_EV_MODEL_REQUEST: /* another turn, or another attempt */
        close_item(r);
        break;
    case CHELA_EV_MEDIA:
        openai_response_add_image(r, ev);
        break;
    case CHELA_EV_CLIENT_TOOL_REQUIRED:
        openai_response_add_call(r, ev);
        break;
    default:
        break;
    }
}

/* --- the beginning */

static bool includes(const struct ch_json *list, const char *name) {
    for (CH_JSON_EACH(e, list))
        if (ch_sv_is(ch_json_str(e), name))
            return true;
    return false;
}

static struct ch_sv conversation_of(const struct ch_request *req) {
    const struct ch_json *c = ch_json_get(req->json, "conversation");
    struct ch_sv id = ch_json_str(c);
    return id.n ? id : ch_json_get_str(c, "id");
}

static int read_conversation(struct openai_response *r, struct chela_error *err) {
    const struct ch_request *req = r->r.request;
    r->conversation = conversation_of(req);
    if (r->conversation.n && ch_json_get_str(req->json, "previous_response_id").n)
        return ch_fail(err, CHELA_EINVAL,
                       "`conversation` and `previous_response_id` exclude each other");
    return 0;
}

/* A response without a session gets one of its own, whose key is the id of the response. */
static int read_background(struct openai_response *r, struct chela_error *err) {
    struct ch_request *req = r->r.request;
    if (!r->store || !req->gw->store)
        return ch_fail(err, CHELA_EINVAL, "`background` needs %s",
                       r->store ? "a store, which this gateway does not have"
                                : "a response that is stored: leave out `store`");
    r->r.background = true;
    r->r.imports = !req->session.p;
    if (r->r.imports)
        req->session = ch_sv_str(r->r.id);
    return 0;
}

/* The members of a request that decide how its run is made. */
static int openai_response_read_options(struct ch_completion *completion, struct ch_lane_opts *o,
                                        struct chela_error *err) {
    struct ch_request *req = completion->request;
    const struct ch_json *f = ch_json_path(req->json, "text", "format", NULL);
    int rc = ch_openai_tools(&completion->tools, ch_json_get(req->json, "tools"), err);
    if (rc == 0)
        rc = ch_openai_sampling(req, o, err);
    if (rc == 0)
        rc = ch_openai_format(req, "text.format", f, ch_json_get(f, "schema"), o, err);
    return rc;
}

static int openai_response_read_request(struct ch_completion *completion, struct ch_lane_opts *o,
                                        struct chela_error *err) {
    static const char members[] =
        "instructions:string tools:array text:object text.format:object include:array "
        "store:boolean background:boolean stream:boolean previous_response_id:string "
        "conversation:string|object conversation.id:string metadata:object";
    struct openai_response *r = openai_response_of(completion);
    struct ch_request *req = completion->request;
    r->store = ch_json_bool(ch_json_get(req->json, "store"), true);
    r->background = ch_json_bool(ch_json_get(req->json, "background"), false);
    r->encrypted = includes(ch_json_get(req->json, "include"), "reasoning.encrypted_content");
    int rc = ch_request_check_types(req->json, NULL, members, err);
    if (rc == 0)
        rc = read_conversation(r, err);
    if (rc == 0 && r->background)
        rc = read_background(r, err);
    if (rc == 0)
        rc = openai_response_read_options(completion, o, err);
    ch_client_history_add_system(&completion->history, ch_json_get_str(req->json, "instructions"));
    if (rc == 0)
        rc = ch_openai_input(completion, &r->input, err);
    return rc < 0 ? rc : ch_openai_choice(req, "tool_choice", &completion->tools, o, err);
}

static void openai_response_release(struct ch_completion *r) {
    ch_buf_release(&openai_response_of(r)->text);
    ch_buf_release(&openai_response_of(r)->annotations);
    ch_buf_release(&openai_response_of(r)->output);
    ch_buf_release(&openai_response_of(r)->kept);
    ch_buf_release(&openai_response_of(r)->input);
    ch_buf_release(&openai_response_of(r)->object);
}

/* --- in the background */

/* A turn whose options are stored with it. */
static int openai_response_apply(struct ch_delivery *d, struct ch_lane *l,
                                 struct chela_error *err) {
    struct ch_request req = {.gw = d->gw, .json = ch_json_get(d->data, "request")};
    struct ch_completion r = {.request = &req, .tools = {.arena = &req.arena}};
    const struct ch_lane_opts *given = d->lane_opts;
    int rc = given ? 0 : ch_openai_agent(&req, &r.opts, err);
    if (!given && rc == 0)
        rc = openai_response_read_options(&r, &r.opts, err);
    if (!given && rc == 0)
        rc = ch_openai_choice(&req, "tool_choice", &r.tools, &r.opts, err);
    if (!given && rc == 0) {
        r.opts.key = d->key;
        r.opts.tools = r.tools.opts;
        r.opts.ntools = r.tools.n;
        r.opts.patch.system = ch_arena_str(&req.arena, ch_json_get_str(d->data, "system"));
        d->lane_opts = &r.opts;
    }
    if (rc == 0)
        rc = ch_client_input_apply_turn(d, l, err);
    d->lane_opts = given;
    ch_arena_release(&req.arena);
    return rc;
}

const struct ch_delivery_kind ch_openai_response_turn = {
    .name = "response", .turn = CH_TURN_BEGINS, .apply = openai_response_apply};

static int openai_response_admit(struct ch_completion *completion, const char *event,
                                 uint64_t after, const struct ch_delivery_kind **kind,
                                 struct ch_jw *w, struct chela_error *err) {
    struct openai_response *r = openai_response_of(completion);
    if (*kind == &ch_client_turn) {
        *kind = &ch_openai_response_turn;
        ch_jw_kstr(w, "system", ch_buf_sv(&r->r.history.system));
        ch_jw_kvalue(w, "request", r->r.request->json);
    }
    const struct ch_response_run run = {.id = r->r.id,
                                        .agent = r->r.agent,
                                        .session = ch_sv_str(r->r.session),
                                        .event = ch_sv_str(event),
                                        .input = ch_buf_sv(&r->input),
                                        .after = after,
                                        .created = r->r.created,
                                        .request = r->r.request->json};
    return ch_response_run_keep(r->r.request->gw, &run, err);
}

static void openai_response_accepted(struct ch_completion *completion, bool started) {
    struct openai_response *r = openai_response_of(completion);
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    if (r->r.stream) {
        ch_response_store_stream(r->r.request, r->r.id);
        return;
    }
    write_response(r, &w, started ? "in_progress" : "queued", NULL, &r->output);
    ch_request_respond_json(r->r.request, 200, &out);
}

struct openai_response *ch_openai_response_view(const struct ch_response_run *run,
                                                struct ch_request *req, bool stream) {
    struct openai_response *r = ch_alloc(sizeof(*r));
    const struct ch_json *v = run->request;
    struct ch_sv format =
        ch_json_str(ch_json_path(v, "text", "format", "type", NULL));
    req->json = v;
    snprintf(r->r.id, sizeof(r->r.id), "%s", run->id);
    r->r.request = req;
    r->r.stream = stream;
    r->r.created = run->created;
    r->r.agent = ch_strdup(run->agent);
    r->r.tools.arena = &req->arena;
    r->r.opts.patch.one_call = !ch_json_bool(ch_json_get(v, "parallel_tool_calls"), true);
    r->r.opts.patch.output_schema = ch_sv_starts(format, "json") ? "{}" : NULL;
    r->store = r->background = true;
    r->conversation = conversation_of(req);
    ch_openai_tools(&r->r.tools, ch_json_get(v, "tools"), NULL);
    return r;
}

void ch_openai_response_free(struct openai_response *r) {
    openai_response_release(&r->r);
    ch_free(r->r.agent);
    ch_free(r);
}

void ch_openai_response_begin(struct openai_response *r, int64_t after) {
    r->after = after;
    openai_response_begin_stream(r);
}

bool ch_openai_response_show(struct openai_response *r, const struct chela_event *ev) {
    struct ch_jw w = ch_jw(&r->object);
    if (ev->type != CHELA_EV_RUN_END) {
        if (ev->type == CHELA_EV_TURN_END)
            r->r.stop = ev->turn.stop_reason;
        if (ev->type != CHELA_EV_TEXT_DELTA || !ch_completion_structured(&r->r))
            openai_response_on_event(&r->r, ev);
        return false;
    }
    if (ev->end.status == CHELA_STATUS_PAUSED && !r->called)
        return false; /* waits for a person or a time */
    struct chela_event end = ch_completion_end_of(ev, r->r.stop);
    const char *status = openai_response_finish(r, &end, ev->ts);
    write_response(r, &w, status, &end, &r->output);
    if (r->r.stream)
        openai_response_end_stream(r, status, &end);
    return true;
}

struct ch_sv ch_openai_response_object(struct openai_response *r, const char *status) {
    struct ch_jw w = ch_jw(&r->object);
    if (!r->object.n)
        write_response(r, &w, status, NULL, &r->output);
    return ch_buf_sv(&r->object);
}

struct ch_sv ch_openai_response_output(const struct openai_response *r) {
    return ch_buf_sv(&r->output);
}

static void openai_response_begin(struct ch_request *req, struct ch_store_lookup *l) {
    static const struct ch_completion_ops ops = {.size = sizeof(struct openai_response),
                                                 .prefix = RESPONSE,
                                                 .api = "openai-responses",
                                                 .contract = ch_contract_responses,
                                                 .overloaded = 503,
                                                 .read = openai_response_read_request,
                                                 .event = openai_response_on_event,
                                                 .reasoned = openai_response_on_reasoned,
                                                 .end = openai_response_on_end,
                                                 .admit = openai_response_admit,
                                                 .accepted = openai_response_accepted,
                                                 .release = openai_response_release};
    struct ch_sv previous = ch_json_get_str(req->json, "previous_response_id");
    (void)l;
    if (previous.n && !ch_response_store_items(req->gw, previous).p)
        ch_request_fail(req, 400, "previous_response_not_found",
                        "there is no response '%.*s', or it is no longer remembered: post the "
                        "history, or use the header X-Chela-Session",
                        CH_SV_FMT(previous));
    else
        ch_completion_begin(req, &ops);
}

static void openai_response_fetch(struct ch_request *req) {
    struct ch_sv previous = ch_json_get_str(req->json, "previous_response_id");
    if (!ch_response_store_fetch(req, previous, ch_json_get(req->json, "input"),
                                 openai_response_begin))
        openai_response_begin(req, NULL);
}

/* A conversation is a stored session, so the request may have an idempotency key. */
void ch_openai_responses(struct ch_request *req) {
    struct ch_sv conversation = conversation_of(req);
    if (req->session.p || !conversation.n) {
        openai_response_fetch(req);
        return;
    }
    req->session = conversation;
    ch_idempotency_begin(req, NULL, openai_response_fetch);
}
