/* ui_chat.c -- POST /api/chat and GET /api/chat/{id}/stream.
 *
 * A chat is a session, its id the session's key: the history is the one kept
 * here, and of what a page posts only the last message is looked at. From the
 * user it begins a run. From the assistant it brings results of the page's own
 * tools and answers to questions for consent; only those that the paused run
 * waits for count, so results that come late, twice or for calls that nobody
 * made change nothing. */
#include "base/error.h"
#include "base/limits.h"
#include "gateway/http/openai.h"
#include "gateway/http/ui_stream.h"

struct chat {
    struct ch_lane_wait wait;
    struct ch_visit *visit;
    const struct ch_json *last; /* message, in the visit's arena */
    struct ch_buf mine;         /* names of the page's tools */
};

static void free_chat(struct chat *c) {
    ch_list_del(&c->wait.link);
    ch_buf_release(&c->mine);
    ch_free(c);
}

static void on_left(struct ch_visit *v) {
    free_chat(v->user);
}

/* --- what the user says */

static int read_parts(const struct ch_json *message, struct ch_history *h,
                      struct chela_error *err) {
    ch_history_begin(h, CH_MSG_USER);
    for (CH_JSON_EACH(p, ch_json_get(message, "parts"))) {
        struct ch_sv type = ch_json_get_str(p, "type");
        bool image = ch_sv_starts(ch_json_get_str(p, "mediaType"), "image/");
        int rc = 0;
        if (ch_sv_is(type, "text"))
            ch_history_text(h, ch_json_get_str(p, "text"));
        else if (ch_sv_is(type, "file"))
            rc = ch_history_media(h, image ? CH_BLOCK_IMAGE : CH_BLOCK_DOCUMENT,
                                  ch_json_get_str(p, "url"), ch_json_get_str(p, "filename"), err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int begin(struct chat *c, struct ch_lane *l, struct chela_error *err) {
    struct ch_visit *v = c->visit;
    struct ch_history h;
    struct ch_msg *input;
    ch_history_init(&h, &v->arena, ch_now_ms(ch_loop_clock(v->gw->rt->loop)));
    int rc = read_parts(c->last, &h, err);
    if (rc == 0)
        rc = ch_history_end(&h, &input, err);
    if (rc == 0)
        rc = ch_lane_start(l, input, "ask", err);
    ch_history_release(&h);
    return rc;
}

/* --- what the page answers */

static struct ch_sv output_text(struct ch_visit *v, const struct ch_json *output) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    if (ch_json_is(output, CH_JSON_STRING))
        return ch_json_str(output);
    ch_jw_value(&w, output);
    return ch_arena_sv(&v->arena, ch_buf_sv(&text));
}

/* Of one part; counted if somebody waited for it. */
static void take_answer(struct chat *c, struct ch_lane *l, const struct ch_json *p, size_t *taken,
                        struct ch_buf *denied) {
    struct ch_visit *v = c->visit;
    struct ch_sv state = ch_json_get_str(p, "state");
    const char *id = ch_arena_str(&v->arena, ch_json_get_str(p, "toolCallId"));
    const struct ch_json *approval = ch_json_get(p, "approval");
    int rc = CHELA_ENOENT;
    if (ch_sv_is(state, "output-available")) {
        struct ch_sv text = output_text(v, ch_json_get(p, "output"));
        rc = chela_session_answer(l->session, id, text.p, text.n, false, NULL);
    } else if (ch_sv_is(state, "output-error")) {
        struct ch_sv text = ch_json_get_str(p, "errorText");
        rc = chela_session_answer(l->session, id, text.p ? text.p : "", text.n, true, NULL);
    } else if (ch_sv_is(state, "approval-responded")) {
        bool yes = ch_json_bool(ch_json_get(approval, "approved"), false);
        struct ch_sv why = ch_json_get_str(approval, "reason");
        rc = chela_session_approve(l->session,
                                   ch_arena_str(&v->arena, ch_json_get_str(approval, "id")),
                                   yes ? CHELA_ALLOW_ONCE : CHELA_DENY,
                                   why.n ? ch_arena_str(&v->arena, why) : NULL, NULL);
        if (rc == 0 && !yes)
            ch_buf_addf(denied, "%s\n", id);
    }
    *taken += rc == 0;
}

static int go_on(struct chat *c, struct ch_lane *l, struct ch_buf *denied,
                 struct chela_error *err) {
    size_t taken = 0;
    if (strcmp(chela_session_status(l->session), "paused") != 0)
        return ch_fail(err, CHELA_ESTATE, "chat '%s' waits for no answer", l->session->key);
    for (CH_JSON_EACH(p, ch_json_get(c->last, "parts")))
        take_answer(c, l, p, &taken, denied);
    if (!taken)
        return ch_fail(err, CHELA_ESTATE, "chat '%s' waits for other answers than these",
                       l->session->key);
    return ch_lane_resume(l, "ask", err);
}

/* --- a request */

static void on_ready(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *failed) {
    struct chat *c = CH_CONTAINER(w, struct chat, wait);
    struct ch_visit *v = c->visit;
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    CH_BUF_AUTO denied = {0};
    bool answers = ch_sv_is(ch_json_get_str(c->last, "role"), "assistant");
    char fresh[24];
    int rc = failed ? err.code : answers ? go_on(c, l, &denied, &err) : begin(c, l, &err);
    v->left = NULL;
    if (rc < 0) {
        free_chat(c);
        ch_visit_error(v, &err);
        return;
    }
    ch_random_id("msg_", fresh);
    struct ch_sv id = ch_json_get_str(c->last, "id");
    const char *message = answers && id.n ? ch_arena_str(&v->arena, id) : fresh;
    struct ch_ui_talk *t = ch_ui_talk_new(l, message, ch_buf_str(&c->mine));
    for (struct ch_sv rest = ch_buf_sv(&denied); rest.n;)
        ch_ui_talk_denied(t, ch_sv_split(&rest, '\n'));
    free_chat(c);
    ch_ui_talk_view(t, v);
}

/* Definitions as a list, or as an object by name. */
static int read_tools(struct chat *c, struct ch_lane_opts *o, struct chela_error *err) {
    struct ch_visit *v = c->visit;
    const struct ch_json *tools = ch_json_get(v->json, "tools");
    size_t max = tools && tools->type >= CH_JSON_ARRAY ? tools->n : 0;
    struct chela_tool_opts *list = ch_arena_alloc(&v->arena, (max + 1) * sizeof(*list));
    int rc = 0;
    for (CH_JSON_EACH(t, tools))
        if (rc == 0)
            rc = ch_openai_tool(v, t, list, &o->ntools, err);
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
            rc = ch_json_parse(&v->arena, ch_arena_sv(&v->arena, ch_buf_sv(&one)), CH_JSON_STRICT,
                               &named, NULL, err);
        if (rc == 0)
            rc = ch_openai_tool(v, named, list, &o->ntools, err);
    }
    for (size_t i = 0; i < o->ntools; i++)
        ch_buf_addf(&c->mine, "%s%s", i ? "," : "", list[i].name);
    o->tools = list;
    return rc;
}

static int use_lane(struct chat *c, struct ch_lane **out, struct chela_error *err) {
    struct ch_visit *v = c->visit;
    struct ch_sv key = ch_json_get_str(v->json, "id"), agent = ch_json_get_str(v->json, "agent");
    const struct ch_json *messages = ch_json_get(v->json, "messages");
    struct ch_lane_opts o = {.agent = ch_gateway_agent(v->gw, agent)};
    if (ch_sv_is(ch_json_get_str(v->json, "trigger"), "regenerate-message"))
        return ch_fail(err, CHELA_EINVAL, "an answer that is kept is not made again");
    for (CH_JSON_EACH(m, messages))
        c->last = m;
    if (!c->last)
        return ch_fail(err, CHELA_EINVAL, "`messages` is a list with at least one message");
    if (!o.agent)
        return ch_fail(err, CHELA_ENOENT, "there is no agent '%.*s'", CH_SV_FMT(agent));
    int rc = ch_lane_key_check(key, err);
    if (rc == 0)
        rc = read_tools(c, &o, err);
    o.key = ch_arena_str(&v->arena, key);
    return rc < 0 ? rc : ch_lane_use(v->gw, &o, out, err);
}

void ch_ui_chat(struct ch_visit *v) {
    struct chela_error err = {0};
    struct ch_lane *lane;
    if (!v->gw->store) {
        ch_visit_fail(v, 501, NULL, "this gateway keeps no sessions");
        return;
    }
    struct chat *c = ch_alloc(sizeof(*c));
    c->visit = v;
    c->wait.ready = on_ready;
    if (use_lane(c, &lane, &err) < 0) {
        free_chat(c);
        ch_visit_error(v, &err);
        return;
    }
    v->user = c;
    v->left = on_left;
    ch_lane_when_ready(lane, &c->wait);
}

void ch_ui_resume(struct ch_visit *v) {
    struct ch_ui_talk *t = ch_ui_talk_find(v->gw, v->param);
    if (t)
        ch_ui_talk_view(t, v);
    else
        ch_visit_text(v, 204, NULL, CH_SV(""));
}
