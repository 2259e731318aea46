/* ui_chat.c -- POST /api/chat and GET /api/chat/{id}/stream.
 *
 * The id of a chat is the key of a session. The history is the stored one; of the posted
 * messages only the last is read. A message of the user begins a run. A message of the
 * assistant brings results of the page's own tools and decisions about calls that need
 * consent. Only those that the paused run waits for have an effect; late, repeated and
 * unexpected ones are ignored. */
#include "gateway/http/ui_chat.h"

#include "base/error.h"
#include "base/random_id.h"
#include "gateway/http/admission.h"
#include "gateway/http/client_tools.h"
#include "gateway/http/ui_stream.h"
#include "gateway/lane/client_history.h"
#include "gateway/lane/client_input.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/tail.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/idempotency.h"
#include "gateway/request/request.h"

struct ui_chat {
    struct ch_lane_wait wait;
    struct ch_request *request;
    const struct ch_json *last; /* message, in the request's arena */
    struct ch_buf page_tools;   /* names of the page's tools */
    const char *key, *agent;      /* in the request's arena */
    struct ch_lane_opts opts;     /* options of the lane; in the request's arena */
    struct ch_delivery *delivery; /* NULL: not stored yet */
    struct ch_ui_stream *stream;  /* another gateway has the session; else NULL. Owned */
};

static void ui_chat_free(struct ui_chat *c) {
    ch_list_del(&c->wait.link);
    if (c->stream)
        ch_ui_stream_free(c->stream);
    if (c->delivery)
        ch_delivery_leave(c->delivery);
    ch_buf_release(&c->page_tools);
    ch_free(c);
}

static void ui_chat_on_disconnect(struct ch_request *req) {
    ui_chat_free(req->user);
}

/* --- a message of the user */

static int ui_chat_read_parts(const struct ch_json *message, struct ch_client_history *h,
                              struct chela_error *err) {
    ch_client_history_begin(h, CH_MSG_USER);
    for (CH_JSON_EACH(p, ch_json_get(message, "parts"))) {
        struct ch_sv type = ch_json_get_str(p, "type");
        bool image = ch_sv_starts(ch_json_get_str(p, "mediaType"), "image/");
        int rc = 0;
        if (ch_sv_is(type, "text"))
            ch_client_history_add_text(h, ch_json_get_str(p, "text"));
        else if (ch_sv_is(type, "file"))
            rc = ch_client_history_add_media(h, image ? CH_BLOCK_IMAGE : CH_BLOCK_DOCUMENT,
                                             ch_json_get_str(p, "url"),
                                             ch_json_get_str(p, "filename"), err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int ui_chat_write_message(struct ui_chat *c, struct ch_jw *w, struct chela_error *err) {
    struct ch_request *req = c->request;
    struct ch_client_history h;
    struct ch_msg *input;
    ch_client_history_init(&h, &req->arena, ch_now_ms(ch_loop_clock(req->gw->rt->loop)));
    int rc = ui_chat_read_parts(c->last, &h, err);
    if (rc == 0)
        rc = ch_client_history_finish(&h, &input, err);
    ch_client_history_release(&h);
    if (rc < 0)
        return rc;
    ch_client_input_write(w, input, CH_SV("run"));
    ch_msg_free(input);
    return 0;
}

/* --- results and decisions of the page */

static struct ch_sv output_text(struct ch_request *req, const struct ch_json *output) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    if (ch_json_is(output, CH_JSON_STRING))
        return ch_json_str(output);
    ch_jw_value(&w, output);
    return ch_arena_sv(&req->arena, ch_buf_sv(&text));
}

static void ui_chat_write_results(struct ui_chat *c, struct ch_jw *w) {
    ch_jw_kbegin(w, "results", '[');
    for (CH_JSON_EACH(p, ch_json_get(c->last, "parts"))) {
        struct ch_sv state = ch_json_get_str(p, "state"), id = ch_json_get_str(p, "toolCallId");
        if (ch_sv_is(state, "output-available"))
            ch_client_input_write_result(w, id, output_text(c->request, ch_json_get(p, "output")),
                                         false);
        else if (ch_sv_is(state, "output-error"))
            ch_client_input_write_result(w, id, ch_json_get_str(p, "errorText"), true);
    }
    ch_jw_end(w, ']');
}

static bool ui_chat_is_decision(const struct ch_json *part) {
    return ch_sv_is(ch_json_get_str(part, "state"), "approval-responded");
}

static void ui_chat_write_approvals(const struct ui_chat *c, struct ch_jw *w) {
    ch_jw_kbegin(w, "approvals", '[');
    for (CH_JSON_EACH(p, ch_json_get(c->last, "parts"))) {
        const struct ch_json *approval = ch_json_get(p, "approval");
        if (!ui_chat_is_decision(p))
            continue;
        ch_jw_begin(w, '{');
        ch_jw_kstr(w, "id", ch_json_get_str(approval, "id"));
        ch_jw_kbool(w, "approved", ch_json_bool(ch_json_get(approval, "approved"), false));
        ch_jw_kstr(w, "reason", ch_json_get_str(approval, "reason"));
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
}

/* Marks calls that a person denied as denied in the stream. */
static void ui_chat_mark_denied(const struct ui_chat *c, struct ch_ui_stream *t) {
    for (CH_JSON_EACH(p, ch_json_get(c->last, "parts")))
        if (ui_chat_is_decision(p) &&
            !ch_json_bool(ch_json_get(ch_json_get(p, "approval"), "approved"), false))
            ch_ui_stream_mark_denied(t, ch_json_get_str(p, "toolCallId"));
}

/* --- a request */

static bool ui_chat_answers(const struct ui_chat *c) {
    return ch_sv_is(ch_json_get_str(c->last, "role"), "assistant");
}

static void ui_chat_refuse(struct ui_chat *c, const struct chela_error *err) {
    struct ch_request *req = c->request;
    req->on_disconnect = NULL;
    ui_chat_free(c);
    ch_request_fail_with(req, err);
}

static struct ch_ui_stream *ui_chat_make_stream(struct ui_chat *c) {
    struct ch_request *req = c->request;
    char fresh[24];
    ch_random_id("msg_", fresh);
    struct ch_sv id = ch_json_get_str(c->last, "id");
    const char *message = ui_chat_answers(c) && id.n ? ch_arena_str(&req->arena, id) : fresh;
    struct ch_ui_stream *t =
        ch_ui_stream_new(req->gw, c->key, message, ch_buf_str(&c->page_tools));
    ui_chat_mark_denied(c, t);
    return t;
}

static void ui_chat_begin_stream(struct ui_chat *c, struct ch_ui_stream *t) {
    struct ch_request *req = c->request;
    req->on_disconnect = NULL;
    ui_chat_free(c);
    ch_ui_stream_add_viewer(t, req);
}

static void ui_chat_settled(const struct chela_error *err, void *user) {
    struct ui_chat *c = user;
    if (err)
        ui_chat_refuse(c, err);
    else
        ui_chat_begin_stream(c, CH_TAKE(c->stream));
}

static void ui_chat_told(struct ch_delivery *d, enum ch_delivery_stage stage, struct ch_lane *l,
                         const struct chela_error *err, void *user) {
    struct ui_chat *c = user;
    struct chela_error why = err ? *err : (struct chela_error){0};
    if (stage == CH_DELIVERY_ACCEPTED)
        return;
    ch_delivery_leave(d);
    c->delivery = NULL;
    ch_admission_note(c->request, stage, err);
    if (stage == CH_DELIVERY_DUPLICATE)
        l = ch_client_input_find_run(d);
    if (l) {
        struct ch_ui_stream *t = c->stream ? CH_TAKE(c->stream) : ui_chat_make_stream(c);
        ch_ui_stream_watch(t, l);
        ui_chat_begin_stream(c, t);
        return;
    }
    if (stage == CH_DELIVERY_QUEUED && c->stream) {
        ch_tail_await(ch_ui_stream_watcher(c->stream), d->id, d->kind->turn != CH_TURN_CONTROLS,
                      ui_chat_settled, c);
        return;
    }
    if (!why.code && stage == CH_DELIVERY_DUPLICATE)
        ch_fail(&why, CHELA_EBUSY, "the request was accepted before: chat '%s' has the answer",
                d->key);
    if (!why.code)
        ch_admission_waits(c->request, d, &why);
    ui_chat_refuse(c, &why);
}

static void ui_chat_admit(struct ui_chat *c) {
    struct chela_error err = {0};
    CH_BUF_AUTO data = {0};
    struct ch_jw out = ch_jw(&data);
    bool answers = ui_chat_answers(c);
    int rc = answers ? 0 : ui_chat_write_message(c, &out, &err);
    if (answers) {
        ui_chat_write_results(c, &out);
        ui_chat_write_approvals(c, &out);
    }
    ch_client_input_write_context(&data, c->request, c->stream != NULL);
    const struct ch_delivery_kind *kind = answers ? &ch_client_answers : &ch_client_turn;
    if (rc < 0 || (!c->stream && ch_admission_stops(c->request, kind, c->key, &err))) {
        ui_chat_refuse(c, &err);
        return;
    }
    ch_idempotency_belongs(c->request, c->key);
    c->delivery = ch_client_input_accept(c->request->gw, kind, c->key, c->agent, &data,
                                         c->request->event, ui_chat_told, c);
    c->delivery->lane_opts = &c->opts;
}

static void ui_chat_on_tail(struct ch_lane_watcher *w, bool gap, const struct chela_error *err,
                            void *user) {
    (void)w;
    (void)gap;
    if (err)
        ui_chat_refuse(user, err);
    else
        ui_chat_admit(user);
}

/* Another gateway has the session: the stream is built from the session's journal. */
static void ui_chat_on_lane_ready(struct ch_lane_wait *w, struct ch_lane *l,
                                  const struct chela_error *failed) {
    struct ui_chat *c = CH_CONTAINER(w, struct ui_chat, wait);
    (void)l;
    if (!failed) {
        ui_chat_admit(c);
    } else if (failed->code == CHELA_EBUSY) {
        c->stream = ui_chat_make_stream(c);
        ch_tail_open(c->request->gw, c->key, CH_TAIL_AWAIT, CH_SV(""),
                     ch_ui_stream_watcher(c->stream), ui_chat_on_tail, c);
    } else {
        ui_chat_refuse(c, failed);
    }
}

/* Tools may be a list, or an object by name. */
static int ui_chat_read_tools(struct ui_chat *c, struct ch_lane_opts *o, struct chela_error *err) {
    struct ch_request *req = c->request;
    const struct ch_json *tools = ch_json_get(req->json, "tools");
    struct ch_client_tools list = {.arena = &req->arena};
    int rc = 0;
    for (CH_JSON_EACH(t, tools))
        if (rc == 0)
            rc = ch_client_tools_add(&list, t, "parameters", CH_SV(""), err);
    for (CH_JSON_MEMBERS(k, t, tools)) {
        CH_BUF_AUTO one = {0};
        struct ch_jw w = ch_jw(&one);
        const struct ch_json *named = NULL, *schema = ch_json_get(t, "parameters");
        ch_jw_begin(&w, '{');
        ch_jw_kstr(&w, "name", ch_json_str(k));
        ch_jw_kstr(&w, "description", ch_json_get_str(t, "description"));
        ch_jw_kvalue(&w, "parameters", schema ? schema : ch_json_get(t, "inputSchema"));
        ch_jw_end(&w, '}');
        if (rc == 0)
            rc = ch_json_parse(&req->arena, ch_arena_sv(&req->arena, ch_buf_sv(&one)),
                               CH_JSON_STRICT, &named, NULL, err);
        if (rc == 0)
            rc = ch_client_tools_add(&list, named, "parameters", CH_SV(""), err);
    }
    for (size_t i = 0; i < list.n; i++)
        ch_buf_addf(&c->page_tools, "%s%s", i ? "," : "", list.opts[i].name);
    o->tools = list.opts;
    o->ntools = list.n;
    return rc;
}

static int ui_chat_use_lane(struct ui_chat *c, struct ch_lane **out, struct chela_error *err) {
    struct ch_request *req = c->request;
    struct ch_sv key = ch_json_get_str(req->json, "id"),
                 agent = ch_request_agent_id(req, "agent");
    const struct ch_json *messages = ch_json_get(req->json, "messages");
    struct ch_lane_opts *o = &c->opts;
    int rc = ch_request_check_types(
        req->json, NULL, "id:string messages:array tools:array|object trigger:string", err);
    if (rc < 0)
        return rc;
    o->agent = ch_gateway_agent(req->gw, agent);
    if (ch_sv_is(ch_json_get_str(req->json, "trigger"), "regenerate-message"))
        return ch_fail(err, CHELA_EINVAL, "a stored reply cannot be regenerated");
    for (CH_JSON_EACH(m, messages))
        c->last = m;
    if (!c->last)
        return ch_fail(err, CHELA_EINVAL, "`messages` must be a list with at least one message");
    if (!o->agent)
        return ch_fail(err, CHELA_ENOENT, "there is no agent '%.*s'", CH_SV_FMT(agent));
    rc = key.n ? ch_lane_key_check(key, err) : ch_fail(err, CHELA_EINVAL, "`id` is missing");
    if (rc == 0)
        rc = ui_chat_read_tools(c, o, err);
    c->key = o->key = ch_arena_str(&req->arena, key);
    c->agent = ch_arena_str(&req->arena, ch_sv_str(o->agent->id));
    return rc < 0 ? rc : ch_lane_use(req->gw, o, out, err);
}

void ch_ui_chat_post(struct ch_request *req) {
    struct chela_error err = {0};
    struct ch_lane *lane;
    if (!req->gw->store) {
        ch_request_fail(req, 501, NULL, "this gateway has no store");
        return;
    }
    struct ui_chat *c = ch_alloc(sizeof(*c));
    c->request = req;
    c->wait.ready = ui_chat_on_lane_ready;
    if (ui_chat_use_lane(c, &lane, &err) < 0) {
        ui_chat_free(c);
        ch_request_fail_with(req, &err);
        return;
    }
    req->user = c;
    req->on_disconnect = ui_chat_on_disconnect;
    ch_lane_when_ready(lane, &c->wait);
}

/* --- a page that is opened again */

static void ui_chat_resume_none(struct ch_request *req) {
    ch_request_respond(req, 204, NULL, CH_SV(""));
}

static void ui_chat_resume_on_disconnect(struct ch_request *req) {
    ch_ui_stream_free(req->user);
}

static void ui_chat_resume_on_tail(struct ch_lane_watcher *w, bool gap,
                                   const struct chela_error *err, void *user) {
    struct ch_request *req = user;
    struct ch_ui_stream *t = req->user;
    (void)w;
    (void)gap;
    req->on_disconnect = NULL;
    if (!err) {
        ch_ui_stream_add_viewer(t, req);
        return;
    }
    ch_ui_stream_free(t);
    ui_chat_resume_none(req);
}

/* A run that another gateway has, or that a request to another gateway began, is shown from
 * its journal. */
void ch_ui_chat_resume(struct ch_request *req) {
    struct ch_ui_stream *t = ch_ui_stream_find(req->gw, req->param);
    char id[24];
    if (t) {
        ch_ui_stream_add_viewer(t, req);
        return;
    }
    if (!req->gw->store) {
        ui_chat_resume_none(req);
        return;
    }
    const char *key = ch_arena_str(&req->arena, req->param);
    ch_random_id("msg_", id);
    t = ch_ui_stream_new(req->gw, key, id, "");
    req->user = t;
    req->on_disconnect = ui_chat_resume_on_disconnect;
    ch_tail_open(req->gw, key, CH_TAIL_RUN, CH_SV(""), ch_ui_stream_watcher(t),
                 ui_chat_resume_on_tail, req);
}
