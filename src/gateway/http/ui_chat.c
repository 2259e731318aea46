/* ui_chat.c -- POST /api/chat and GET /api/chat/{id}/stream.
 *
 * The id of a chat is the key of a session. The history is the stored one; of the posted
 * messages only the last is read. A message of the user begins a run. A message of the
 * assistant brings results of the page's own tools and decisions about calls that need
 * consent. Only those that the paused run waits for have an effect; late, repeated and
 * unexpected ones are ignored. */
#include "gateway/http/ui_chat.h"

#include "agent/handle/lookup.h"
#include "base/error.h"
#include "base/limits.h"
#include "gateway/http/openai.h"
#include "gateway/http/ui_stream.h"
#include "gateway/lane/client_history.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"

struct ui_chat {
    struct ch_lane_wait wait;
    struct ch_request *request;
    const struct ch_json *last; /* message, in the request's arena */
    struct ch_buf page_tools;   /* names of the page's tools */
};

static void ui_chat_free(struct ui_chat *c) {
    ch_list_del(&c->wait.link);
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

static int ui_chat_begin_run(struct ui_chat *c, struct ch_lane *l, struct chela_error *err) {
    struct ch_request *req = c->request;
    struct ch_client_history h;
    struct ch_msg *input;
    ch_client_history_init(&h, &req->arena, ch_now_ms(ch_loop_clock(req->gw->rt->loop)));
    int rc = ui_chat_read_parts(c->last, &h, err);
    if (rc == 0)
        rc = ch_client_history_finish(&h, &input, err);
    if (rc == 0)
        rc = ch_lane_start(l, input, CHELA_APPROVE_ASK, err);
    ch_client_history_release(&h);
    return rc;
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

/* Passes one part on. *taken counts the parts that the run waited for. */
static void ui_chat_take_answer(struct ui_chat *c, struct ch_lane *l, const struct ch_json *p,
                                size_t *taken, struct ch_buf *denied) {
    struct ch_request *req = c->request;
    struct ch_sv state = ch_json_get_str(p, "state");
    const char *id = ch_arena_str(&req->arena, ch_json_get_str(p, "toolCallId"));
    const struct ch_json *approval = ch_json_get(p, "approval");
    int rc = CHELA_ENOENT;
    if (ch_sv_is(state, "output-available")) {
        struct ch_sv text = output_text(req, ch_json_get(p, "output"));
        rc = chela_session_answer(l->session, id, text.p, text.n, false, NULL);
    } else if (ch_sv_is(state, "output-error")) {
        struct ch_sv text = ch_json_get_str(p, "errorText");
        rc = chela_session_answer(l->session, id, text.p ? text.p : "", text.n, true, NULL);
    } else if (ch_sv_is(state, "approval-responded")) {
        bool yes = ch_json_bool(ch_json_get(approval, "approved"), false);
        struct ch_sv why = ch_json_get_str(approval, "reason");
        rc = chela_session_approve(l->session,
                                   ch_arena_str(&req->arena, ch_json_get_str(approval, "id")),
                                   yes ? CHELA_ALLOW_ONCE : CHELA_DENY,
                                   why.n ? ch_arena_str(&req->arena, why) : NULL, NULL);
        if (rc == 0 && !yes)
            ch_buf_addf(denied, "%s\n", id);
    }
    *taken += rc == 0;
}

static int ui_chat_resume_run(struct ui_chat *c, struct ch_lane *l, struct ch_buf *denied,
                              struct chela_error *err) {
    size_t taken = 0;
    if (chela_session_status(l->session) != CHELA_SESSION_PAUSED)
        return ch_fail(err, CHELA_ESTATE, "chat '%s' waits for no answer", l->session->key);
    for (CH_JSON_EACH(p, ch_json_get(c->last, "parts")))
        ui_chat_take_answer(c, l, p, &taken, denied);
    if (!taken)
        return ch_fail(err, CHELA_ESTATE, "chat '%s' waits for other answers than these",
                       l->session->key);
    return ch_lane_resume(l, CHELA_APPROVE_ASK, err);
}

/* --- a request */

static void ui_chat_on_lane_ready(struct ch_lane_wait *w, struct ch_lane *l,
                                  const struct chela_error *failed) {
    struct ui_chat *c = CH_CONTAINER(w, struct ui_chat, wait);
    struct ch_request *req = c->request;
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    CH_BUF_AUTO denied = {0};
    bool answers = ch_sv_is(ch_json_get_str(c->last, "role"), "assistant");
    char fresh[24];
    int rc = failed    ? err.code
             : answers ? ui_chat_resume_run(c, l, &denied, &err)
                       : ui_chat_begin_run(c, l, &err);
    req->on_disconnect = NULL;
    if (rc < 0) {
        ui_chat_free(c);
        ch_request_fail_with(req, &err);
        return;
    }
    ch_random_id("msg_", fresh);
    struct ch_sv id = ch_json_get_str(c->last, "id");
    const char *message = answers && id.n ? ch_arena_str(&req->arena, id) : fresh;
    struct ch_ui_stream *t = ch_ui_stream_new(l, message, ch_buf_str(&c->page_tools));
    for (struct ch_sv rest = ch_buf_sv(&denied); rest.n;)
        ch_ui_stream_mark_denied(t, ch_sv_split(&rest, '\n'));
    ui_chat_free(c);
    ch_ui_stream_add_viewer(t, req);
}

/* Tools may be a list, or an object by name. */
static int ui_chat_read_tools(struct ui_chat *c, struct ch_lane_opts *o, struct chela_error *err) {
    struct ch_request *req = c->request;
    const struct ch_json *tools = ch_json_get(req->json, "tools");
    size_t max = tools && tools->type >= CH_JSON_ARRAY ? tools->n : 0;
    struct chela_tool_opts *list = ch_arena_alloc(&req->arena, (max + 1) * sizeof(*list));
    int rc = 0;
    for (CH_JSON_EACH(t, tools))
        if (rc == 0)
            rc = ch_openai_tool(req, t, list, &o->ntools, err);
    for (CH_JSON_MEMBERS(k, t, tools)) {
        CH_BUF_AUTO one = {0};
        struct ch_jw w = ch_jw(&one);
        const struct ch_json *named = NULL, *schema = ch_json_get(t, "parameters");
        ch_jw_begin(&w, '{');
        ch_jw_kstr(&w, "name", ch_json_str(k));
        ch_jw_kstr(&w, "description", ch_json_get_str(t, "description"));
        ch_jw_key(&w, "parameters");
        ch_jw_value(&w, schema ? schema : ch_json_get(t, "inputSchema"));
        ch_jw_end(&w, '}');
        if (rc == 0)
            rc = ch_json_parse(&req->arena, ch_arena_sv(&req->arena, ch_buf_sv(&one)),
                               CH_JSON_STRICT, &named, NULL, err);
        if (rc == 0)
            rc = ch_openai_tool(req, named, list, &o->ntools, err);
    }
    for (size_t i = 0; i < o->ntools; i++)
        ch_buf_addf(&c->page_tools, "%s%s", i ? "," : "", list[i].name);
    o->tools = list;
    return rc;
}

static int ui_chat_use_lane(struct ui_chat *c, struct ch_lane **out, struct chela_error *err) {
    struct ch_request *req = c->request;
    struct ch_sv key = ch_json_get_str(req->json, "id"),
                 agent = ch_json_get_str(req->json, "agent");
    const struct ch_json *messages = ch_json_get(req->json, "messages");
    struct ch_lane_opts o = {.agent = ch_gateway_agent(req->gw, agent)};
    if (ch_sv_is(ch_json_get_str(req->json, "trigger"), "regenerate-message"))
        return ch_fail(err, CHELA_EINVAL, "a stored reply cannot be regenerated");
    for (CH_JSON_EACH(m, messages))
        c->last = m;
    if (!c->last)
        return ch_fail(err, CHELA_EINVAL, "`messages` must be a list with at least one message");
    if (!o.agent)
        return ch_fail(err, CHELA_ENOENT, "there is no agent '%.*s'", CH_SV_FMT(agent));
    int rc = ch_lane_key_check(key, err);
    if (rc == 0)
        rc = ui_chat_read_tools(c, &o, err);
    o.key = ch_arena_str(&req->arena, key);
    return rc < 0 ? rc : ch_lane_use(req->gw, &o, out, err);
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

void ch_ui_chat_resume(struct ch_request *req) {
    struct ch_ui_stream *t = ch_ui_stream_find(req->gw, req->param);
    if (t)
        ch_ui_stream_add_viewer(t, req);
    else
        ch_request_respond(req, 204, NULL, CH_SV(""));
}
