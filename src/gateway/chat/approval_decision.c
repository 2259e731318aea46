/* approval_decision.c -- see approval_decision.h.
 *
 *   button or /approve --> channel checks the sender --> session --> run resumes
 *
 * The channel decides who may answer. The session checks that the id belongs to a call that
 * waits. */
#include "gateway/chat/approval_decision.h"

#include "agent/feature/heartbeat/beat.h"
#include "base/error.h"
#include "base/log.h"
#include "gateway/chat/approval_prompt.h"
#include "gateway/chat/chat_lane.h"
#include "gateway/chat/chat_room.h"
#include "gateway/chat/chat_service.h"
#include "gateway/chat/reply_target.h"
#include "gateway/lane/lane.h"
#include "gateway/request/request.h"

struct approval_decision {
    struct ch_link link; /* in the service's decisions */
    struct ch_chat_service *chat;
    struct ch_lane_wait wait;
    struct ch_arena arena;
    struct chela_channel_decision d; /* in the arena */
    bool in_words;
    struct ch_request *request; /* waits for the response; may be NULL */
    chela_channel_decided_fn *done;
    void *tag;
};

static bool decision_read_word(const char *word, enum chela_decision *out) {
    static const struct {
        const char *word;
        enum chela_decision decision;
    } known[] = {{"allow-once", CHELA_ALLOW_ONCE}, {"allow-always", CHELA_ALLOW_ALWAYS},
                 {"deny", CHELA_DENY}};
    for (size_t i = 0; i < CH_LEN(known); i++)
        if (strcmp(word, known[i].word) == 0) {
            *out = known[i].decision;
            return true;
        }
    return false;
}

static void decision_write_words(struct ch_buf *out, const struct chela_channel_decision *d,
                                 const struct chela_error *err) {
    if (err)
        ch_buf_addf(out, "The decision failed: %s", err->message);
    else
        ch_buf_addf(out, "%s: %s", strcmp(d->word, "deny") == 0 ? "Denied" : "Allowed",
                    d->approval);
}

static void decision_free(struct approval_decision *g) {
    if (g->request)
        g->request->on_disconnect = NULL;
    ch_list_del(&g->link);
    ch_list_del(&g->wait.link);
    ch_arena_release(&g->arena);
    ch_free(g);
}

static void decision_finish(struct approval_decision *g, const struct chela_error *err) {
    struct ch_chat_service *chat = g->chat;
    struct ch_approval_prompt *a = ch_approval_prompt_find(chat, ch_sv_str(g->d.approval));
    CH_BUF_AUTO answer = {0};
    if (g->in_words)
        decision_write_words(&answer, &g->d, err);
    else
        ch_channel_decided(chat->channel, &g->d, a ? a->text : "", err, &answer);
    if (a && (!err || err->code == CHELA_EEXIST))
        ch_approval_prompt_free(chat, a);
    g->done(ch_text(ch_buf_sv(&answer)), g->tag);
    decision_free(g);
}

static int decision_carry_out(struct approval_decision *g, struct ch_lane *l,
                              struct chela_error *err) {
    enum chela_decision decision = CHELA_UNDECIDED;
    struct chela_error ignored = {0};
    const struct ch_approval_prompt *a = ch_approval_prompt_find(g->chat, ch_sv_str(g->d.approval));
    CH_BUF_AUTO reason = {0};
    ch_buf_addf(&reason, "denied in the chat by %s", g->d.by);
    int rc = ch_reply_target_attach(g->chat, l, NULL, err);
    if (rc == 0 && !decision_read_word(g->d.word, &decision))
        rc = ch_fail(err, CHELA_EINVAL, "say allow-once, allow-always or deny");
    if (rc == 0 && a && !a->whole && decision != CHELA_DENY)
        rc = ch_fail(err, CHELA_EPERM,
                     "the call was not shown here in full: allow it in the console");
    if (rc == 0)
        rc = chela_session_approve(l->session, g->d.approval, decision,
                                   decision == CHELA_DENY ? ch_buf_str(&reason) : NULL, err);
    if (rc == 0)
        ch_lane_resume(l, ch_approval_prompt_policy(g->chat),
                       &ignored); /* fails while other calls wait */
    if (rc == 0 && l->running && ch_companion_of(ch_chat_service_agent(g->chat)))
        ch_chat_room_follow(g->chat, l);
    if (rc == 0)
        ch_log(CH_LOG_INFO, "gateway", "%s: %s, by %s", g->d.approval, g->d.word, g->d.by);
    return rc;
}

static void decision_on_ready(struct ch_lane_wait *w, struct ch_lane *l,
                              const struct chela_error *failed) {
    struct approval_decision *g = CH_CONTAINER(w, struct approval_decision, wait);
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    int rc = failed ? err.code : decision_carry_out(g, l, &err);
    decision_finish(g, rc < 0 ? &err : NULL);
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
    g->wait.ready = decision_on_ready;
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

static void decision_start(struct approval_decision *g) {
    struct chela_error err = {0};
    struct ch_lane *lane;
    const struct ch_approval_prompt *a = ch_approval_prompt_find(g->chat, ch_sv_str(g->d.approval));
    int rc =
        decision_is_for_service(g->chat, &g->d) && (!a || strcmp(a->session, g->d.session) == 0)
            ? ch_chat_lane_use(g->chat, g->d.session, &lane, &err)
            : ch_fail(&err, CHELA_ENOENT, "no such call waits here");
    if (rc == 0)
        ch_lane_when_ready(lane, &g->wait);
    else
        decision_finish(g, &err);
}

void ch_approval_decision_apply(const struct chela_channel_decision *d,
                                chela_channel_decided_fn *done, void *tag, void *user) {
    decision_start(decision_new(user, d, false, done, tag));
}

void ch_approval_decision_apply_in_words(struct ch_chat_service *chat,
                                         const struct chela_channel_decision *d,
                                         chela_channel_decided_fn *done, void *tag) {
    decision_start(decision_new(chat, d, true, done, tag));
}

static void ignore_answer(struct chela_text answer, void *tag) {
    (void)answer;
    (void)tag;
}

bool ch_approval_decision_deny_all(struct ch_chat_service *chat, const char *session,
                                   const char *by) {
    bool any = false;
    struct ch_link *k = chat->approval_prompts.head.next, *next;
    for (; k != &chat->approval_prompts.head; k = next) {
        const struct ch_approval_prompt *a = CH_CONTAINER(k, struct ch_approval_prompt, link);
        next = k->next;
        if (strcmp(a->session, session) != 0)
            continue;
        struct chela_channel_decision d = {
            .session = session, .approval = a->id, .word = "deny", .by = by};
        any = true;
        ch_approval_decision_apply_in_words(chat, &d, ignore_answer, NULL);
    }
    return any;
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
