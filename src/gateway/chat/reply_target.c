/* reply_target.c -- see reply_target.h.
 *
 * An address is what a channel delivers to: "CHAT MESSAGE TOPIC", the last two optional. The
 * model can reply and react to known messages of its own conversation only. */
#include "gateway/chat/reply_target.h"

#include "agent/run/spoken.h"
#include "agent/handle/session.h"
#include "agent/journal/journal_replay.h"
#include "agent/journal/run_journal.h"
#include "agent/session/input_queue.h"
#include "base/error.h"
#include "channel/id.h"
#include "gateway/chat/approval_prompt.h"
#include "gateway/chat/chat_actions.h"
#include "gateway/chat/chat_service.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"

#define KNOWN 64 /* messages that the model may reply or react to */

/* Lives as long as the lane. */
struct reply_target {
    struct ch_link link; /* in the service's reply_targets */
    struct ch_chat_service *chat;
    char *session, *conversation, *to; /* owned */
    char *known[KNOWN]; /* owned: ids of the newest messages, a ring */
    size_t next;
};

/* --- messages that the model sends by itself */

static void reply_target_free(struct reply_target *t) {
    ch_list_del(&t->link);
    ch_free(t->session);
    ch_free(t->conversation);
    ch_free(t->to);
    for (size_t i = 0; i < KNOWN; i++)
        ch_free(t->known[i]);
    ch_free(t);
}

/* "om_2" of the address "oc_1 om_2 topic"; n 0: none. */
static struct ch_sv message_of_target(const char *to) {
    struct ch_sv rest = ch_sv_str(to);
    ch_sv_split(&rest, ' ');
    return rest.p ? ch_sv_split(&rest, ' ') : ch_sv("", 0);
}

/* A message in a topic must reply to another one there, or it leaves the topic. */
static bool is_in_topic(const char *to) {
    struct ch_sv rest = ch_sv_str(to);
    ch_sv_split(&rest, ' ');
    ch_sv_split(&rest, ' ');
    return rest.n > 0;
}

static bool reply_target_knows(const struct reply_target *t, struct ch_sv id) {
    for (size_t i = 0; i < KNOWN; i++)
        if (t->known[i] && ch_sv_is(id, t->known[i]))
            return true;
    return false;
}

static void reply_target_remember(struct reply_target *t, struct ch_sv id) {
    if (!id.n || reply_target_knows(t, id))
        return;
    ch_free(t->known[t->next]);
    t->known[t->next] = ch_strndup(id.p, id.n);
    t->next = (t->next + 1) % KNOWN;
}

static struct ch_sv newest_message(const struct reply_target *t) {
    const char *id = t->known[(t->next + KNOWN - 1) % KNOWN];
    return ch_sv_str(id ? id : "");
}

/* The message that a call names, or the newest; n 0: not of this conversation. */
static struct ch_sv resolve_message(const struct reply_target *t, const struct chela_message *m) {
    struct ch_sv id = m->message_id ? ch_sv_str(m->message_id) : message_of_target(t->to);
    id = id.n || m->message_id ? id : newest_message(t);
    return reply_target_knows(t, id) ? id : ch_sv("", 0);
}

static int reply_target_refuse(chela_call *call) {
    return chela_result_error(call, "not_found",
                              "This conversation has no such message, or it is too old.");
}

static int reply_target_put(chela_call *call, const struct reply_target *t,
                            const struct chela_message *m, const char *to) {
    struct chela_error err = {0};
    struct chela_outbound out =
        CHELA_OUTBOUND(.key = m->key, .session = t->session, .channel = t->chat->channel->ops->name,
                       .to = to, .text = m->text);
    if (chela_outbox_put(t->chat->gw->rt, &out, NULL, NULL, &err) < 0)
        return chela_result_error(call, "unavailable", "%s", err.message);
    chela_result_text(call, "It will be sent.", 16);
    return 0;
}

static int reply_target_reply(chela_call *call, const struct chela_message *m, void *user) {
    const struct reply_target *t = user;
    struct ch_sv id = resolve_message(t, m), rest = ch_sv_str(t->to);
    CH_BUF_AUTO to = {0};
    if (!id.n)
        return reply_target_refuse(call);
    ch_sv_split(&rest, ' ');
    ch_sv_split(&rest, ' ');
    ch_id_add(&to, ch_sv_str(t->conversation));
    ch_buf_addf(&to, " %.*s", CH_SV_FMT(id));
    if (rest.p)
        ch_buf_addf(&to, " %.*s", CH_SV_FMT(rest));
    return reply_target_put(call, t, m, ch_buf_str(&to));
}

static int reply_target_react(chela_call *call, const struct chela_message *m, void *user) {
    const struct reply_target *t = user;
    struct ch_channel *c = t->chat->channel;
    struct ch_sv id = resolve_message(t, m);
    if (!id.n)
        return reply_target_refuse(call);
    CH_AUTOFREE char *message = ch_strndup(id.p, id.n);
    c->ops->react(c->self, t->conversation, message, m->emoji, ch_chat_actions_done,
                  ch_chat_actions_begin(t->chat, call));
    return 0;
}

static int reply_target_send(chela_call *call, const struct chela_message *m, void *user) {
    const struct reply_target *t = user;
    if (m->target && strcmp(m->target, t->conversation) != 0)
        return chela_result_error(call, "permission_denied",
                                  "You can write to this conversation only.");
    CH_BUF_AUTO chat = {0};
    ch_id_add(&chat, ch_sv_str(t->conversation));
    return reply_target_put(call, t, m, m->more && !is_in_topic(t->to) ? ch_buf_str(&chat) : t->to);
}

static struct reply_target *reply_target_find(const struct ch_chat_service *chat,
                                              const char *session) {
    for (CH_LIST_EACH(k, &chat->reply_targets)) {
        struct reply_target *t = CH_CONTAINER(k, struct reply_target, link);
        if (strcmp(t->session, session) == 0)
            return t;
    }
    return NULL;
}

static struct reply_target *reply_target_new(struct ch_chat_service *chat, const char *session) {
    struct reply_target *t = ch_alloc(sizeof(*t));
    t->chat = chat;
    t->session = ch_strdup(session);
    t->conversation = ch_chat_service_chat_id(session);
    ch_list_add(&chat->reply_targets, &t->link);
    return t;
}

void ch_reply_target_add_message(struct ch_chat_service *chat, const char *session,
                                 const char *message) {
    struct reply_target *t = reply_target_find(chat, session);
    if (t)
        reply_target_remember(t, ch_sv_str(message));
}

static const char *last_reply_address(const struct ch_lane *l) {
    return l->session->answers_to ? l->session->answers_to : "";
}

static void reply_target_on_approval(const struct chela_event *ev, void *user);

/* The target of the lane; NULL: the lane has none yet. */
static struct reply_target *reply_target_of(const struct ch_lane *l) {
    return l->on_approval == reply_target_on_approval ? l->on_approval_user : NULL;
}

/* Frees the targets whose lane is closed. */
static void reply_targets_sweep(struct ch_chat_service *chat) {
    struct ch_list used;
    ch_list_init(&used);
    for (CH_LIST_EACH(k, &chat->gw->lanes)) {
        struct reply_target *t = reply_target_of(CH_CONTAINER(k, struct ch_lane, link));
        if (!t || t->chat != chat)
            continue;
        ch_list_del(&t->link);
        ch_list_add(&used, &t->link);
    }
    ch_reply_targets_release(chat);
    for (struct ch_link *k; (k = used.head.next) != &used.head;) {
        ch_list_del(k);
        ch_list_add(&chat->reply_targets, k);
    }
}

/* Finds or makes the target of a lane. A service may have thousands of lanes, so only a new lane
 * looks at all of them. */
static struct reply_target *reply_target_use(struct ch_chat_service *chat, struct ch_lane *l) {
    struct reply_target *t = reply_target_of(l);
    if (t)
        return t;
    t = reply_target_find(chat, l->session->key);
    if (!t)
        t = reply_target_new(chat, l->session->key);
    l->on_approval = reply_target_on_approval;
    l->on_approval_user = t;
    reply_targets_sweep(chat);
    return t;
}

int ch_reply_target_attach(struct ch_chat_service *chat, struct ch_lane *l, const char *to,
                           struct chela_error *err) {
    struct reply_target *t = reply_target_use(chat, l);
    if (to || !t->to) {
        ch_free(t->to);
        t->to = ch_strdup(to ? to : last_reply_address(l));
        reply_target_remember(t, message_of_target(t->to));
    }
    struct chela_channel c =
        CHELA_CHANNEL(.name = chat->channel->ops->name, .conversation = t->conversation,
                      .send = reply_target_send, .reply = reply_target_reply,
                      .react = chat->channel->ops->react ? reply_target_react : NULL, .user = t,
                      .parts = 1, .language = chat->channel->language);
    return l->session->channel->user == t ? 0 : chela_session_channel(l->session, &c, err);
}

int ch_reply_target_resume(struct ch_chat_service *chat, struct ch_lane *l,
                           struct chela_error *err) {
    struct chela_error why = {0};
    int rc = ch_reply_target_attach(chat, l, NULL, &why);
    if (rc == CHELA_EBUSY)
        return 0;
    if (rc < 0)
        *err = why;
    return rc;
}

/* --- approval prompts */

static enum chela_language language_in(const struct ch_lane *l) {
    return l && l->session->run ? ch_run_language(l->session->run) : CHELA_LANGUAGE_AUTO;
}

static void reply_target_on_approval(const struct chela_event *ev, void *user) {
    const struct reply_target *t = user;
    ch_approval_prompt_send(t->chat, t->session, t->to,
                            ch_sv(ev->approval.approval_id.p, ev->approval.approval_id.n),
                            ch_sv(ev->approval.summary.p, ev->approval.summary.n),
                            language_in(ch_lane_find(t->chat->gw, ch_sv_str(t->session))));
}

int ch_reply_target_attach_timer_run(struct ch_lane *l, const char **to,
                                     enum chela_approve *approve, struct chela_error *err) {
    struct ch_chat_service *chat = ch_chat_service_of_session(l->gw, l->session->key);
    const char *place = l->session->answers_to;
    if (!chat || (!place && !ch_input_queue_waiting(l->session)))
        return 0;
    *to = place;
    *approve = ch_approval_prompt_policy(chat);
    return ch_reply_target_attach(chat, l, NULL, err);
}

void ch_reply_target_ask_again(struct ch_chat_service *chat, struct ch_lane *l) {
    const struct ch_journal_replay *past = l->session->journal ? l->session->journal->past : NULL;
    const struct reply_target *t = reply_target_find(chat, l->session->key);
    for (size_t i = 0; past && t && i < past->ncalls; i++) {
        const struct ch_replay_call *c = &past->calls[i];
        if (c->approval && c->summary && c->decision == CHELA_UNDECIDED)
            ch_approval_prompt_send(chat, t->session, t->to, ch_sv_str(c->approval),
                                    ch_sv_str(c->summary), language_in(l));
    }
}

/* --- life */

void ch_reply_targets_release(struct ch_chat_service *chat) {
    for (struct reply_target *t;
         (t = CH_LIST_FIRST(&chat->reply_targets, struct reply_target, link));)
        reply_target_free(t);
}
