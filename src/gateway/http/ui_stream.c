/* ui_stream.c -- see ui_stream.h. */
#include "gateway/http/ui_stream.h"

#include <stdio.h>

#include "base/limits.h"
#include "gateway/lane/lane.h"
#include "gateway/http/openai_extras.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "tool/registry/registry.h"

struct ui_stream_viewer {
    struct ch_link link;
    struct ch_request *request;
};

struct ch_ui_stream {
    struct ch_link link; /* in the gateway's ui_streams */
    struct ch_lane_watcher watcher;
    struct ch_list viewers;
    struct ch_buf sent;          /* all chunks so far, as they were sent */
    bool full;                   /* `said` has reached its limit: no more viewers can join */
    bool shown;                  /* there is, or was, a viewer */
    char *key, *page_tools;      /* owned */
    struct ch_buf denied, begun; /* ids of calls, a line each */
    struct ch_buf indexed;       /* ids of calls, in the order of the reply */
    struct ch_buf held;          /* ids of calls of the page's tools that may still be refused */
    bool in_step, in_text, in_reasoning;
    unsigned parts;
};

void ch_ui_stream_free(struct ch_ui_stream *t) {
    ch_lane_unwatch(&t->watcher);
    ch_list_del(&t->link);
    ch_buf_release(&t->sent);
    ch_buf_release(&t->denied);
    ch_buf_release(&t->begun);
    ch_buf_release(&t->indexed);
    ch_buf_release(&t->held);
    ch_free(t->key);
    ch_free(t->page_tools);
    ch_free(t);
}

/* --- viewers */

static void viewer_on_disconnect(struct ch_request *req) {
    struct ui_stream_viewer *w = req->user;
    ch_list_del(&w->link);
    ch_free(w);
}

void ch_ui_stream_add_viewer(struct ch_ui_stream *t, struct ch_request *req) {
    struct ui_stream_viewer *w = ch_alloc(sizeof(*w));
    w->request = req;
    req->user = w;
    req->on_disconnect = viewer_on_disconnect;
    ch_list_add(&t->viewers, &w->link);
    t->shown = true;
    ch_request_add_header(req, "x-vercel-ai-ui-message-stream", "v1");
    ch_request_begin_stream(req);
    ch_request_write(req, ch_buf_sv(&t->sent));
}

static void ui_stream_send_text(struct ch_ui_stream *t, const char *json) {
    CH_BUF_AUTO line = {0};
    ch_buf_addf(&line, "data: %s\n\n", json);
    if (t->sent.n + line.n > CH_LIMIT_CLIENT_BUFFER)
        t->full = true;
    else
        ch_buf_add_sv(&t->sent, ch_buf_sv(&line));
    for (CH_LIST_EACH(k, &t->viewers))
        ch_request_write(CH_CONTAINER(k, struct ui_stream_viewer, link)->request,
                         ch_buf_sv(&line));
}

static void ui_stream_dismiss_viewers(struct ch_ui_stream *t) {
    for (struct ui_stream_viewer *w;
         (w = CH_LIST_FIRST(&t->viewers, struct ui_stream_viewer, link));) {
        struct ch_request *req = w->request;
        ch_list_del(&w->link);
        ch_free(w);
        req->on_disconnect = NULL;
        ch_request_end_stream(req);
    }
}

/* --- chunks */

static struct ch_jw begin_chunk(struct ch_buf *out, const char *type) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", type);
    return w;
}

static void end_chunk(struct ch_ui_stream *t, struct ch_jw *w) {
    ch_jw_end(w, '}');
    ui_stream_send_text(t, ch_buf_str(w->out));
}

static void send_plain_chunk(struct ch_ui_stream *t, const char *type) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = begin_chunk(&out, type);
    end_chunk(t, &w);
}

static void send_part_chunk(struct ch_ui_stream *t, const char *type, struct chela_str delta) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = begin_chunk(&out, type);
    char id[24];
    snprintf(id, sizeof(id), "p%u", t->parts);
    ch_jw_kcstr(&w, "id", id);
    if (delta.p)
        ch_jw_kstr(&w, "delta", ch_sv(delta.p, delta.n));
    end_chunk(t, &w);
}

static void close_parts(struct ch_ui_stream *t) {
    if (t->in_text)
        send_part_chunk(t, "text-end", (struct chela_str){0});
    if (t->in_reasoning)
        send_part_chunk(t, "reasoning-end", (struct chela_str){0});
    t->in_text = t->in_reasoning = false;
}

static void ui_stream_send_delta(struct ch_ui_stream *t, bool reasoning, struct chela_str text) {
    bool *in = reasoning ? &t->in_reasoning : &t->in_text;
    if (!*in) {
        close_parts(t);
        t->parts++;
        send_part_chunk(t, reasoning ? "reasoning-start" : "text-start", (struct chela_str){0});
        *in = true;
    }
    send_part_chunk(t, reasoning ? "reasoning-delta" : "text-delta", text);
}

static void close_step(struct ch_ui_stream *t) {
    close_parts(t);
    if (t->in_step)
        send_plain_chunk(t, "finish-step");
    t->in_step = false;
    ch_buf_clear(&t->indexed);
}

/* --- calls */

static bool ui_stream_has_line(const struct ch_buf *lines, struct ch_sv line) {
    struct ch_sv rest = ch_buf_sv(lines);
    while (rest.n)
        if (ch_sv_eq(ch_sv_split(&rest, '\n'), line))
            return true;
    return false;
}

static struct ch_sv nth_line(const struct ch_buf *lines, unsigned n) {
    struct ch_sv rest = ch_buf_sv(lines), line = {0};
    for (unsigned i = 0; i <= n; i++) {
        if (!rest.n)
            return ch_sv(NULL, 0);
        line = ch_sv_split(&rest, '\n');
    }
    return line;
}

static void ui_stream_add_line(struct ch_buf *lines, struct ch_sv line) {
    ch_buf_addf(lines, "%.*s\n", CH_SV_FMT(line));
}

static bool ui_stream_take_line(struct ch_buf *lines, struct ch_sv line) {
    CH_BUF_AUTO kept = {0};
    struct ch_sv rest = ch_buf_sv(lines), one;
    if (!ui_stream_has_line(lines, line))
        return false;
    while (rest.n)
        if (!ch_sv_eq(one = ch_sv_split(&rest, '\n'), line))
            ui_stream_add_line(&kept, one);
    ch_buf_clear(lines);
    ch_buf_add_sv(lines, ch_buf_sv(&kept));
    return true;
}

static bool is_page_tool(const struct ch_ui_stream *t, struct ch_sv name) {
    return ch_tool_matches(ch_sv_str(t->page_tools), name);
}

static struct ch_jw ui_stream_begin_call(struct ch_buf *out, const char *type, struct ch_sv id) {
    struct ch_jw w = begin_chunk(out, type);
    ch_jw_kstr(&w, "toolCallId", id);
    return w;
}

/* The page does not know the tools that run in the gateway: these are dynamic. */
static void name_tool(const struct ch_ui_stream *t, struct ch_jw *w, struct ch_sv name) {
    ch_jw_kstr(w, "toolName", name);
    if (!is_page_tool(t, name))
        ch_jw_kbool(w, "dynamic", true);
}

static void begin_input(struct ch_ui_stream *t, struct ch_sv id, struct ch_sv name) {
    CH_BUF_AUTO out = {0};
    if (ui_stream_has_line(&t->begun, id))
        return;
    close_parts(t);
    ui_stream_add_line(&t->begun, id);
    struct ch_jw w = ui_stream_begin_call(&out, "tool-input-start", id);
    name_tool(t, &w, name);
    end_chunk(t, &w);
}

static void on_call_delta(struct ch_ui_stream *t, const struct chela_event *ev) {
    CH_BUF_AUTO out = {0};
    struct ch_sv id = ch_sv(ev->call.id.p, ev->call.id.n);
    struct ch_sv name = ch_sv(ev->call.name.p, ev->call.name.n);
    bool next = nth_line(&t->indexed, ev->call.index).p == NULL;
    if (next && id.n && name.n) {
        begin_input(t, id, name);
        ui_stream_add_line(&t->indexed, id);
    }
    id = nth_line(&t->indexed, ev->call.index);
    if (!id.n || !ev->call.arguments.n)
        return;
    struct ch_jw w = ui_stream_begin_call(&out, "tool-input-delta", id);
    ch_jw_kstr(&w, "inputTextDelta", ch_sv(ev->call.arguments.p, ev->call.arguments.n));
    end_chunk(t, &w);
}

/* The call is complete, and a page runs its own tool at once. */
static void send_input(struct ch_ui_stream *t, const struct chela_event *ev) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO out = {0};
    struct ch_sv id = ch_sv(ev->call.id.p, ev->call.id.n);
    struct ch_sv name = ch_sv(ev->call.name.p, ev->call.name.n);
    struct ch_sv args = ch_sv(ev->call.arguments.p, ev->call.arguments.n);
    const struct ch_json *v = NULL;
    ch_json_parse(&arena, args, CH_JSON_STRICT, &v, NULL, NULL);
    struct ch_jw w = ui_stream_begin_call(&out, "tool-input-available", id);
    name_tool(t, &w, name);
    ch_jw_key(&w, "input");
    if (v)
        ch_jw_value(&w, v);
    else
        ch_jw_str(&w, args);
    end_chunk(t, &w);
}

/* A call of the page's own tool is shown when the run waits for the page: it may have invalid
 * arguments, for which the run itself gives a result. */
static void ui_stream_on_call(struct ch_ui_stream *t, const struct chela_event *ev) {
    struct ch_sv id = ch_sv(ev->call.id.p, ev->call.id.n);
    struct ch_sv name = ch_sv(ev->call.name.p, ev->call.name.n);
    begin_input(t, id, name);
    if (is_page_tool(t, name))
        ui_stream_add_line(&t->held, id);
    else
        send_input(t, ev);
}

static void ui_stream_on_required(struct ch_ui_stream *t, const struct chela_event *ev) {
    if (ui_stream_take_line(&t->held, ch_sv(ev->call.id.p, ev->call.id.n)))
        send_input(t, ev);
}

static void send_input_error(struct ch_ui_stream *t, struct ch_sv id, struct ch_sv name,
                             struct ch_sv why) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ui_stream_begin_call(&out, "tool-input-error", id);
    ch_jw_kstr(&w, "toolName", name);
    ch_jw_kraw(&w, "input", CH_SV("{}"));
    ch_jw_kstr(&w, "errorText", why);
    end_chunk(t, &w);
}

/* Results that the page itself gave are not sent back to it. */
static void ui_stream_on_result(struct ch_ui_stream *t, const struct chela_event *ev) {
    CH_BUF_AUTO out = {0};
    struct ch_sv id = ch_sv(ev->result.id.p, ev->result.id.n);
    struct ch_sv name = ch_sv(ev->result.name.p, ev->result.name.n);
    struct ch_sv content = ch_sv(ev->result.content.p, ev->result.content.n);
    bool denied = ui_stream_has_line(&t->denied, id);
    if (ui_stream_take_line(&t->held, id))
        send_input_error(t, id, name, content);
    if (is_page_tool(t, name))
        return;
    struct ch_jw w = ui_stream_begin_call(&out,
                                          denied                ? "tool-output-denied"
                                          : ev->result.is_error ? "tool-output-error"
                                                                : "tool-output-available",
                                          id);
    if (!denied)
        ch_jw_kstr(&w, ev->result.is_error ? "errorText" : "output", content);
    if (!denied)
        ch_jw_kbool(&w, "dynamic", true);
    end_chunk(t, &w);
}

static void ui_stream_on_approval(struct ch_ui_stream *t, const struct chela_event *ev) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = begin_chunk(&out, "tool-approval-request");
    ch_jw_kstr(&w, "approvalId", ch_sv(ev->approval.approval_id.p, ev->approval.approval_id.n));
    ch_jw_kstr(&w, "toolCallId", ch_sv(ev->approval.id.p, ev->approval.id.n));
    end_chunk(t, &w);
}

/* --- the end */

static const char *ui_stream_finish_reason(const struct chela_event *ev) {
    if (ev->end.status == CHELA_STATUS_PAUSED)
        return "tool-calls";
    if (ev->end.reason == CHELA_REASON_REFUSED)
        return "content-filter";
    if (ev->end.reason == CHELA_REASON_LENGTH)
        return "length";
    if (ev->end.status == CHELA_STATUS_DONE || ev->end.status == CHELA_STATUS_DECLINED)
        return "stop";
    return ev->end.status == CHELA_STATUS_ERROR ? "error" : "other";
}

static void ui_stream_on_end(struct ch_ui_stream *t, const struct chela_event *ev) {
    CH_BUF_AUTO error = {0}, out = {0};
    bool well = ev->end.status == CHELA_STATUS_DONE || ev->end.status == CHELA_STATUS_PAUSED ||
                ev->end.status == CHELA_STATUS_DECLINED;
    close_parts(t);
    if (ev->end.status == CHELA_STATUS_CANCELLED) {
        send_plain_chunk(t, "abort");
    } else if (!well) {
        struct ch_jw e = begin_chunk(&error, "error");
        ch_jw_kstr(&e, "errorText",
                   ev->end.ending.n ? ch_sv(ev->end.ending.p, ev->end.ending.n)
                                    : ch_sv_str(chela_reason_name(ev->end.reason)));
        end_chunk(t, &e);
    }
    close_step(t);
    struct ch_jw w = begin_chunk(&out, "finish");
    ch_jw_kcstr(&w, "finishReason", ui_stream_finish_reason(ev));
    end_chunk(t, &w);
    ui_stream_send_text(t, "[DONE]");
    ui_stream_dismiss_viewers(t);
    ch_ui_stream_free(t);
}

/* --- files and sources */

static void ui_stream_on_media(struct ch_ui_stream *t, const struct chela_event *ev) {
    CH_BUF_AUTO out = {0}, url = {0};
    ch_openai_image_url(ev, &url);
    if (!url.n)
        return;
    struct ch_jw w = begin_chunk(&out, "file");
    ch_jw_kstr(&w, "mediaType", ev->made.media_type.n
                                    ? ch_sv(ev->made.media_type.p, ev->made.media_type.n)
                                    : CH_SV("image/png"));
    ch_jw_kstr(&w, "url", ch_buf_sv(&url));
    end_chunk(t, &w);
}

static void ui_stream_on_sources(struct ch_ui_stream *t, struct chela_str citations) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *list;
    if (!citations.n || ch_json_parse(&arena, ch_sv(citations.p, citations.n), CH_JSON_STRICT,
                                      &list, NULL, NULL) < 0)
        return;
    for (CH_JSON_EACH(v, list)) {
        CH_BUF_AUTO out = {0};
        struct ch_sv url = ch_json_get_str(v, "url"), title = ch_json_get_str(v, "title");
        if (!url.n)
            continue;
        struct ch_jw w = begin_chunk(&out, "source-url");
        ch_jw_kstr(&w, "sourceId", url);
        ch_jw_kstr(&w, "url", url);
        if (title.n)
            ch_jw_kstr(&w, "title", title);
        end_chunk(t, &w);
    }
}

static void ui_stream_on_event(struct ch_lane_watcher *watcher, const struct chela_event *ev) {
    struct ch_ui_stream *t = CH_CONTAINER(watcher, struct ch_ui_stream, watcher);
    switch (ev->type) {
    case CHELA_EV_TURN_START:
        close_step(t);
        send_plain_chunk(t, "start-step");
        t->in_step = true;
        break;
    case CHELA_EV_TEXT_DELTA:
        ui_stream_send_delta(t, false, ev->delta.text);
        break;
    case CHELA_EV_REASONING_DELTA:
        ui_stream_send_delta(t, true, ev->delta.text);
        break;
    case CHELA_EV_TOOL_CALL_DELTA:
        on_call_delta(t, ev);
        break;
    case CHELA_EV_TOOL_CALL:
        ui_stream_on_call(t, ev);
        break;
    case CHELA_EV_CLIENT_TOOL_REQUIRED:
        ui_stream_on_required(t, ev);
        break;
    case CHELA_EV_TOOL_RESULT:
        ui_stream_on_result(t, ev);
        break;
    case CHELA_EV_APPROVAL_REQUIRED:
        ui_stream_on_approval(t, ev);
        break;
    case CHELA_EV_MEDIA:
        ui_stream_on_media(t, ev);
        break;
    case CHELA_EV_TURN_END:
        ui_stream_on_sources(t, ev->turn.citations);
        close_step(t);
        break;
    case CHELA_EV_RUN_END:
        ui_stream_on_end(t, ev);
        break;
    default:
        break;
    }
}

/* --- life */

struct ch_ui_stream *ch_ui_stream_new(chela_gateway *gw, const char *key, const char *message_id,
                                      const char *page_tools) {
    struct ch_ui_stream *t = ch_alloc(sizeof(*t));
    CH_BUF_AUTO out = {0};
    t->key = ch_strdup(key);
    t->page_tools = ch_strdup(page_tools);
    t->watcher.event = ui_stream_on_event;
    ch_list_init(&t->viewers);
    ch_list_add(&gw->ui_streams, &t->link);
    struct ch_jw w = begin_chunk(&out, "start");
    ch_jw_kcstr(&w, "messageId", message_id);
    end_chunk(t, &w);
    return t;
}

void ch_ui_stream_watch(struct ch_ui_stream *t, struct ch_lane *l) {
    ch_lane_unwatch(&t->watcher);
    ch_lane_watch(l, &t->watcher);
}

struct ch_lane_watcher *ch_ui_stream_watcher(struct ch_ui_stream *t) {
    return &t->watcher;
}

struct ch_ui_stream *ch_ui_stream_find(chela_gateway *gw, struct ch_sv key) {
    for (CH_LIST_EACH(k, &gw->ui_streams)) {
        struct ch_ui_stream *t = CH_CONTAINER(k, struct ch_ui_stream, link);
        if (ch_sv_is(key, t->key) && t->shown && !t->full)
            return t;
    }
    return NULL;
}

void ch_ui_stream_mark_denied(struct ch_ui_stream *t, struct ch_sv call_id) {
    ui_stream_add_line(&t->denied, call_id);
}

void ch_ui_streams_close(chela_gateway *gw) {
    for (struct ch_ui_stream *t; (t = CH_LIST_FIRST(&gw->ui_streams, struct ch_ui_stream, link));) {
        for (struct ui_stream_viewer *w;
             (w = CH_LIST_FIRST(&t->viewers, struct ui_stream_viewer, link));) {
            w->request->on_disconnect = NULL;
            ch_list_del(&w->link);
            ch_free(w);
        }
        ch_ui_stream_free(t);
    }
}
