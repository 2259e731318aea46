/* approval_decision.c -- see approval_decision.h.
 *
 *   button or /approve --> channel checks the sender --> inbox --> session --> run resumes
 *
 * The channel decides who may answer. The decision is an inbox event (delivery.h): the
 * service gets its answer when the session has applied the event, but soon after the store has
 * it, because services show an error after about 3 seconds. The gateway that holds the session
 * applies the decision. The session checks that the id belongs to a call that waits.
 * A button carries only the id of the call: if another gateway asked, the session is looked up
 * in the store. */
#include "base/say.h"
#include "gateway/chat/approval_decision.h"

#include "agent/feature/heartbeat/beat.h"
#include "agent/journal/inbox.h"
#include "base/choice.h"
#include "base/error.h"
#include "base/random_id.h"
#include "base/log.h"
#include "gateway/chat/approval_prompt.h"
#include "gateway/chat/chat_lane.h"
#include "gateway/chat/chat_room.h"
#include "gateway/chat/chat_service.h"
#include "gateway/chat/reply_target.h"
#include "gateway/lane/delivery.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "io/worker.h"
#include "json/writer.h"
#include "store/paused_calls.h"

#define LATE_MS 1000 /* longest time from the commit of the event to the answer */

struct decision_search;

struct approval_decision {
    struct ch_link link; /* in the service's decisions */
    struct ch_chat_service *chat;
    struct ch_arena arena;
    struct chela_channel_decision d; /* in the arena */
    const char *reason, *shown; /* in the arena; of a denial; text of the question if another
                                   gateway asked; both may be NULL */
    struct decision_search *search; /* NULL: none */
    struct ch_delivery *delivery; /* being stored or applied; else NULL */
    struct ch_timer late;
    bool in_words;
    enum chela_language language; /* of the words */
    struct ch_request *request; /* waits for the response; may be NULL */
    chela_channel_decided_fn *done;
    void *tag;
};

static void decision_write_words(struct ch_buf *out, const struct chela_channel_decision *d,
                                 enum chela_language to, const struct chela_error *err) {
    bool denied = strcmp(d->word, "deny") == 0;
    if (!*d->approval)
        ch_buf_add_str(out, ch_say(CH_SAY_DECIDE_WHICH, to));
    else if (err && err->code == CHELA_ENOENT)
        ch_buf_add_str(out, ch_say(CH_SAY_DECIDE_UNKNOWN, to));
    else if (err)
        ch_say_add(out, CH_SAY_DECIDE_FAILED, to, CH_SAY_VALUES(ch_sv_str(err->message)));
    else
        ch_buf_addf(out, "%s: %s", ch_say(denied ? CH_SAY_DENIED : CH_SAY_ALLOWED, to),
                    d->approval);
}

static void decision_search_leave(struct approval_decision *g);

static void decision_free(struct approval_decision *g) {
    decision_search_leave(g);
    ch_timer_stop(g->chat->gw->rt->loop, &g->late);
    if (g->request)
        g->request->on_disconnect = NULL;
    ch_list_del(&g->link);
    ch_arena_release(&g->arena);
    ch_free(g);
}

static void decision_finish(struct approval_decision *g, const struct chela_error *err) {
    struct ch_chat_service *chat = g->chat;
    struct ch_approval_prompt *a = ch_approval_prompt_find(chat, ch_sv_str(g->d.approval));
    CH_BUF_AUTO answer = {0};
    if (g->in_words)
        decision_write_words(&answer, &g->d, g->language, err);
    else
        ch_channel_decided(chat->channel, &g->d,
                           a          ? a->text
                           : g->shown ? g->shown
                                      : "",
                           err, &answer);
    if (a && (!err || err->code == CHELA_EEXIST))
        ch_approval_prompt_free(chat, a);
    g->done(ch_text(ch_buf_sv(&answer)), g->tag);
    decision_free(g);
}

/* --- the event of the inbox */

static const char *decision_text(struct ch_delivery *d, const char *key) {
    struct ch_sv text = ch_json_get_str(d->data, key);
    return ch_arena_str(&d->arena, text.p ? text : CH_SV(""));
}

/* May the decision be made in this chat? */
static int decision_check(struct ch_chat_service *chat, struct ch_lane *l, const char *approval,
                          enum chela_decision decision, struct chela_error *err) {
    int rc = chat ? ch_reply_target_resume(chat, l, err)
                  : ch_fail(err, CHELA_ENOENT, "the channel is not open");
    if (rc < 0)
        return rc;
    if (decision < CHELA_DENY || decision > CHELA_ALLOW_ALWAYS)
        return ch_fail(err, CHELA_EINVAL, "say allow-once, allow-always or deny");
    const struct ch_approval_prompt *a = ch_approval_prompt_find(chat, ch_sv_str(approval));
    if (!a) { /* another gateway asked */
        ch_reply_target_ask_again(chat, l);
        a = ch_approval_prompt_find(chat, ch_sv_str(approval));
    }
    bool elsewhere = !a && !l->session->channel->name; /* the chat was not asked */
    if ((elsewhere || (a && !a->whole)) && decision != CHELA_DENY)
        return ch_fail(err, CHELA_EPERM,
                       "the call was not shown here in full: allow it in the console");
    return rc;
}

static int decision_carry_out(struct ch_delivery *d, struct ch_lane *l, struct chela_error *err) {
    struct ch_chat_service *chat = ch_chat_service_of_session(d->gw, d->key);
    const char *approval = decision_text(d, "approval"), *by = decision_text(d, "by"),
               *word = decision_text(d, "word"), *why = decision_text(d, "reason");
    enum chela_decision decision =
        (enum chela_decision)ch_choice_of(CHELA_CHOICE_DECISION, word);
    struct chela_error ignored = {0};
    CH_BUF_AUTO reason = {0};
    ch_buf_addf(&reason, "denied in the chat by %s%s%s", by, *why ? ": " : "", why);
    int rc = decision_check(chat, l, approval, decision, err);
    if (rc == 0)
        rc = chela_session_approve(l->session, approval, decision,
                                   decision == CHELA_DENY ? ch_buf_str(&reason) : NULL, err);
    if (rc < 0)
        return rc;
    ch_inbox_take(l->session, d->id);
    ch_lane_resume(l, ch_approval_prompt_policy(chat), &ignored); /* fails while other calls wait */
    if (l->running && ch_companion_of(ch_chat_service_agent(chat)))
        ch_chat_room_follow(chat, l);
    ch_log(CH_LOG_INFO, "gateway", "%s: %s, by %s", approval, word, by);
    return 0;
}

const struct ch_delivery_kind ch_chat_press = {.name = "press",
                                               .turn = CH_TURN_CONTROLS,
                                               .open = ch_chat_lane_open,
                                               .apply = decision_carry_out};

/* A decision that waits in the inbox counts as made: a gateway will apply it. */
static void decision_on_late(struct ch_timer *t) {
    struct approval_decision *g = CH_CONTAINER(t, struct approval_decision, late);
    ch_delivery_leave(g->delivery);
    decision_finish(g, NULL);
}

static void decision_on_told(struct ch_delivery *d, enum ch_delivery_stage stage, struct ch_lane *l,
                             const struct chela_error *err, void *user) {
    struct approval_decision *g = user;
    (void)l;
    if (stage == CH_DELIVERY_ACCEPTED) {
        ch_timer_start(d->gw->rt->loop, &g->late, LATE_MS, decision_on_late);
        return;
    }
    ch_delivery_leave(d);
    decision_finish(g, err);
}

static bool decision_is_for_service(const struct ch_chat_service *chat,
                                    const struct chela_channel_decision *d) {
    size_t n = strlen(chat->channel->ops->name);
    CH_AUTOFREE char *asked_in = ch_chat_service_chat_id(d->session);
    return strncmp(d->session, chat->channel->ops->name, n) == 0 && d->session[n] == ':' &&
           (!d->chat || strcmp(d->chat, asked_in) == 0);
}

static struct approval_decision *decision_new(struct ch_chat_service *chat,
                                              const struct chela_channel_decision *d, bool in_words,
                                              chela_channel_decided_fn *done, void *tag) {
    struct approval_decision *g = ch_alloc(sizeof(*g));
    g->chat = chat;
    g->in_words = in_words;
    g->done = done;
    g->tag = tag;
    const struct ch_approval_prompt *a = ch_approval_prompt_find(chat, ch_sv_str(d->approval));
    const char *session = d->session ? d->session : a ? a->session : "";
    g->d = (struct chela_channel_decision){
        .session = ch_arena_str(&g->arena, ch_sv_str(session)),
        .chat = d->chat ? ch_arena_str(&g->arena, ch_sv_str(d->chat)) : NULL,
        .approval = ch_arena_str(&g->arena, ch_sv_str(d->approval)),
        .word = ch_arena_str(&g->arena, ch_sv_str(d->word)),
        .by = ch_arena_str(&g->arena, ch_sv_str(d->by))};
    ch_list_add(&chat->decisions, &g->link);
    return g;
}

static void decision_accept(struct approval_decision *g) {
    struct chela_error err = {0};
    const struct ch_approval_prompt *a = ch_approval_prompt_find(g->chat, ch_sv_str(g->d.approval));
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);
    char id[24];
    if (!*g->d.approval || !decision_is_for_service(g->chat, &g->d) ||
        (a && strcmp(a->session, g->d.session) != 0)) {
        ch_fail(&err, CHELA_ENOENT, "no such call waits here");
        decision_finish(g, &err);
        return;
    }
    ch_jw_kcstr(&w, "approval", g->d.approval);
    ch_jw_kcstr(&w, "word", g->d.word);
    ch_jw_kcstr(&w, "by", g->d.by);
    if (g->reason)
        ch_jw_kcstr(&w, "reason", g->reason);
    ch_random_id(CH_PRESS_EVENT, id);
    g->delivery = ch_delivery_new(g->chat->gw, ch_chat_press.name, id, g->d.session, "",
                                  ch_buf_sv(&data));
    ch_delivery_accept(g->delivery, decision_on_told, g);
}

/* --- the session of a call about which another gateway asked, or the only call of a session */

struct decision_search {
    struct ch_work work;
    struct approval_decision *decision; /* NULL: not awaited any more */
    chela_store *store;
    char *prefix, *approval; /* owned */
    char *session, *shown;   /* owned; results; NULL: not found */
    bool only;  /* approval is a result: the only call of the session whose key is `prefix` */
    unsigned n; /* calls found */
};

static int decision_on_found(const char *session, const struct ch_json *agent,
                            const struct ch_json *call, void *user) {
    struct decision_search *s = user;
    struct ch_sv shown = ch_json_get_str(call, "summary"),
                 id = ch_json_get_str(call, "approval_id");
    (void)agent;
    if (s->only && (!id.n || strcmp(session, s->prefix) != 0))
        return 0;
    if (s->n++)
        return 1;
    s->session = ch_strdup(session);
    s->shown = ch_strndup(shown.p, shown.n);
    if (s->only)
        s->approval = ch_strndup(id.p, id.n);
    return !s->only;
}

static void decision_search_run(struct ch_work *w) {
    struct decision_search *s = CH_CONTAINER(w, struct decision_search, work);
    struct chela_error err = {0};
    struct ch_paused_search search = {s->prefix, s->approval, decision_on_found, s};
    if (ch_paused_calls(s->store, &search, &err) < 0)
        ch_log(CH_LOG_WARN, "gateway", "the call to decide about cannot be looked up: %s",
               err.message);
}

static void decision_search_free(struct ch_work *w) {
    struct decision_search *s = CH_CONTAINER(w, struct decision_search, work);
    ch_free(s->prefix);
    ch_free(s->approval);
    ch_free(s->session);
    ch_free(s->shown);
    ch_free(s);
}

static void decision_search_leave(struct approval_decision *g) {
    if (g->search)
        g->search->decision = NULL;
    g->search = NULL;
}

static void decision_on_searched(struct ch_work *w) {
    struct decision_search *s = CH_CONTAINER(w, struct decision_search, work);
    struct approval_decision *g = s->decision;
    if (g) {
        decision_search_leave(g);
        if (!s->only)
            g->d.session = ch_arena_str(&g->arena, ch_sv_str(s->session ? s->session : ""));
        else if (s->n == 1)
            g->d.approval = ch_arena_str(&g->arena, ch_sv_str(s->approval));
        g->shown = s->shown ? ch_arena_str(&g->arena, ch_sv_str(s->shown)) : NULL;
        decision_accept(g);
    }
    decision_search_free(w);
}

static void decision_start(struct approval_decision *g) {
    bool only = !*g->d.approval;
    if (*g->d.session && !only) {
        decision_accept(g);
        return;
    }
    struct decision_search *s = ch_alloc(sizeof(*s));
    CH_BUF_AUTO prefix = {0};
    if (only)
        ch_buf_add_str(&prefix, g->d.session);
    else
        ch_buf_addf(&prefix, "%s:", g->chat->channel->ops->name);
    s->work = (struct ch_work){.run = decision_search_run,
                               .done = decision_on_searched,
                               .dropped = decision_search_free};
    s->decision = g;
    s->store = g->chat->gw->store;
    s->prefix = ch_buf_take(&prefix);
    s->only = only;
    s->approval = only ? NULL : ch_strdup(g->d.approval);
    g->search = s;
    ch_work_submit(g->chat->gw->rt->workers, &s->work);
}

void ch_approval_decision_apply(const struct chela_channel_decision *d,
                                chela_channel_decided_fn *done, void *tag, void *user) {
    decision_start(decision_new(user, d, false, done, tag));
}

void ch_approval_decision_apply_in_words(struct ch_chat_service *chat,
                                         const struct chela_channel_decision *d,
                                         const char *reason, enum chela_language language,
                                         chela_channel_decided_fn *done, void *tag) {
    struct approval_decision *g = decision_new(chat, d, true, done, tag);
    g->language = language;
    g->reason = reason && *reason ? ch_arena_str(&g->arena, ch_sv_str(reason)) : NULL;
    decision_start(g);
}

/* --- a decision in a callback of the service, which waits for the response */

static void decision_on_disconnect(struct ch_request *req) {
    ((struct approval_decision *)req->user)->request = NULL;
}

static void decision_respond(struct chela_text answer, void *tag) {
    struct approval_decision *g = tag;
    struct ch_request *req = CH_TAKE(g->request);
    CH_BUF_AUTO out = {0};
    if (!req)
        return;
    req->on_disconnect = NULL;
    ch_buf_add(&out, answer.p, answer.n);
    ch_request_respond_json(req, 200, &out);
}

void ch_approval_decision_from_request(struct ch_request *req, struct ch_chat_service *chat,
                                       const struct chela_channel_decision *d) {
    struct approval_decision *g = decision_new(chat, d, false, decision_respond, NULL);
    g->tag = g;
    g->request = req;
    req->user = g;
    req->on_disconnect = decision_on_disconnect;
    decision_start(g);
}

void ch_approval_decisions_release(struct ch_chat_service *chat) {
    for (struct approval_decision *g;
         (g = CH_LIST_FIRST(&chat->decisions, struct approval_decision, link));) {
        if (g->in_words)
            g->done((struct chela_text){"", 0},
                    g->tag); /* its event, which has left the service, is freed */
        decision_free(g);
    }
}
