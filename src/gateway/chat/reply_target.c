/* reply_target.c -- where a session's conversation takes place: what the model sends by
 * itself goes there, and so do questions about its calls.
 *
 *   call needs consent --> run paused, stored --> question in the outbox --> chat
 *   a button, /approve --> the channel: may they? --> session --> run goes on
 *
 * A question shows the bytes of the call, all of them: one that is too long for
 * that cannot be answered in a chat. It is sent under the id that the call has,
 * so it is seen once, whatever this process dies in; a session that was left
 * paused is asked about again, under the same id. Who may answer is the
 * channel's to say; that the id is one that waits is the session's. */
#include "agent/handle/driver.h"
#include "agent/journal/run_journal.h"
#include "agent/journal/journal_replay.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/chat/channels.h"

#define KNOWN 64 /* messages that the model may answer or react to */

/* A desk lives as long as the lane. */
struct desk {
    struct ch_link link; /* in the chat's desks */
    struct ch_chat *chat;
    char *session, *conversation, *to; /* owned */
    char *known[KNOWN]; /* owned: ids of the newest messages, a ring */
    size_t next;
};

/* --- what the model sends by itself */

static void free_desk(struct desk *d) {
    ch_list_del(&d->link);
    ch_free(d->session);
    ch_free(d->conversation);
    ch_free(d->to);
    for (size_t i = 0; i < KNOWN; i++)
        ch_free(d->known[i]);
    ch_free(d);
}

/* "om_2" of "oc_1 om_2 thread"; n 0: none. */
static struct ch_sv message_of(const char *to) {
    struct ch_sv rest = ch_sv_str(to);
    ch_sv_split(&rest, ' ');
    return rest.p ? ch_sv_split(&rest, ' ') : ch_sv("", 0);
}

/* What is sent there without a message to answer would leave it. */
static bool is_in_topic(const char *to) {
    struct ch_sv rest = ch_sv_str(to);
    ch_sv_split(&rest, ' ');
    ch_sv_split(&rest, ' ');
    return rest.n > 0;
}

static bool knows(const struct desk *d, struct ch_sv id) {
    for (size_t i = 0; i < KNOWN; i++)
        if (d->known[i] && ch_sv_is(id, d->known[i]))
            return true;
    return false;
}

static void get_to_know(struct desk *d, struct ch_sv id) {
    if (!id.n || knows(d, id))
        return;
    ch_free(d->known[d->next]);
    d->known[d->next] = ch_strndup(id.p, id.n);
    d->next = (d->next + 1) % KNOWN;
}

static struct ch_sv newest(const struct desk *d) {
    const char *id = d->known[(d->next + KNOWN - 1) % KNOWN];
    return ch_sv_str(id ? id : "");
}

/* The message that is meant, if it is one of this conversation. */
static struct ch_sv meant(const struct desk *d, const struct chela_message *m) {
    struct ch_sv id = m->message_id ? ch_sv_str(m->message_id) : message_of(d->to);
    id = id.n || m->message_id ? id : newest(d);
    return knows(d, id) ? id : ch_sv("", 0);
}

static int refuse(chela_call *call) {
    return chela_result_error(call, "not_found",
                              "There is no such message in this conversation, or it is too old.");
}

static int put(chela_call *call, const struct desk *d, const struct chela_message *m,
               const char *to) {
    struct chela_error err = {0};
    struct chela_outbound out = CHELA_OUTBOUND(.key = m->key, .session = d->session,
                                               .channel = d->chat->channel->ops->name, .to = to,
                                               .text = m->text);
    if (chela_outbox_put(d->chat->gw->rt, &out, NULL, NULL, &err) < 0)
        return chela_result_error(call, "unavailable", "%s", err.message);
    chela_result_text(call, "It will be sent.", 16);
    return 0;
}

static int answer(chela_call *call, const struct chela_message *m, void *user) {
    const struct desk *d = user;
    struct ch_sv id = meant(d, m), rest = ch_sv_str(d->to);
    CH_BUF_AUTO to = {0};
    if (!id.n)
        return refuse(call);
    ch_sv_split(&rest, ' ');
    ch_sv_split(&rest, ' ');
    ch_buf_addf(&to, "%s %.*s", d->conversation, CH_SV_FMT(id));
    if (rest.p)
        ch_buf_addf(&to, " %.*s", CH_SV_FMT(rest));
    return put(call, d, m, ch_buf_str(&to));
}

static int react(chela_call *call, const struct chela_message *m, void *user) {
    const struct desk *d = user;
    struct ch_channel *c = d->chat->channel;
    struct ch_sv id = meant(d, m);
    if (!id.n)
        return refuse(call);
    CH_AUTOFREE char *message = ch_strndup(id.p, id.n);
    c->ops->react(c, d->conversation, message, m->emoji, ch_acted, ch_acting_new(d->chat, call));
    return 0;
}

static int say(chela_call *call, const struct chela_message *m, void *user) {
    const struct desk *d = user;
    if (m->target && strcmp(m->target, d->conversation) != 0)
        return chela_result_error(call, "permission_denied",
                                  "This conversation can be written to, no other.");
    return put(call, d, m, m->more && !is_in_topic(d->to) ? d->conversation : d->to);
}

static struct desk *find_desk(struct ch_chat *chat, const char *session) {
    struct desk *found = NULL;
    struct ch_link *k = chat->desks.head.next, *next;
    for (; k != &chat->desks.head; k = next) {
        struct desk *d = CH_CONTAINER(k, struct desk, link);
        next = k->next;
        if (strcmp(d->session, session) == 0)
            found = d;
        else if (!ch_lane_find(chat->gw, ch_sv_str(d->session)))
            free_desk(d);
    }
    return found;
}

static struct desk *new_desk(struct ch_chat *chat, const char *session) {
    struct desk *d = ch_alloc(sizeof(*d));
    d->chat = chat;
    d->session = ch_strdup(session);
    d->conversation = ch_chat_id(session);
    ch_list_add(&chat->desks, &d->link);
    return d;
}

void ch_desk_introduce(struct ch_chat *chat, const char *session, const char *message) {
    struct desk *d = find_desk(chat, session);
    if (d)
        get_to_know(d, ch_sv_str(message));
}

static const char *last_place(const struct ch_lane *l) {
    return l->session->answers_to ? l->session->answers_to : "";
}

static void on_asked(const struct chela_event *ev, void *user);

int ch_desk_furnish(struct ch_chat *chat, struct ch_lane *l, const char *to,
                    struct chela_error *err) {
    struct desk *d = find_desk(chat, l->session->key);
    if (!d)
        d = new_desk(chat, l->session->key);
    if (to || !d->to) {
        ch_free(d->to);
        d->to = ch_strdup(to ? to : last_place(l));
        get_to_know(d, message_of(d->to));
    }
    l->asked = on_asked;
    l->asked_user = d;
    struct chela_channel c = CHELA_CHANNEL(.name = chat->channel->ops->name, .conversation = d->conversation,
                                           .send = say, .reply = answer,
                                           .react = chat->channel->ops->react ? react : NULL,
                                           .user = d, .parts = 1);
    return l->session->channel.user == d ? 0 : chela_session_channel(l->session, &c, err);
}

/* --- questions */

static void on_asked(const struct chela_event *ev, void *user) {
    const struct desk *d = user;
    ch_approval_prompt_send(d->chat, d->session, d->to,
                            ch_sv(ev->approval.approval_id.p, ev->approval.approval_id.n),
                            ch_sv(ev->approval.summary.p, ev->approval.summary.n));
}

int ch_channels_furnish(struct ch_lane *l, const char **to, const char **approve,
                        struct chela_error *err) {
    struct ch_chat *chat = ch_chat_of(l->gw, l->session->key);
    const char *place = l->session->answers_to;
    if (!chat || !place)
        return 0;
    *to = place;
    *approve = ch_chat_approve(chat);
    return ch_desk_furnish(chat, l, NULL, err);
}

void ch_desk_ask_again(struct ch_chat *chat, struct ch_lane *l) {
    const struct ch_past *past = l->session->keep ? l->session->keep->past : NULL;
    const struct desk *d = find_desk(chat, l->session->key);
    for (size_t i = 0; past && d && i < past->ncalls; i++) {
        const struct ch_past_call *c = &past->calls[i];
        if (c->approval && c->summary && c->decision == CHELA_UNDECIDED)
            ch_approval_prompt_send(chat, d->session, d->to, ch_sv_str(c->approval),
                                    ch_sv_str(c->summary));
    }
}

/* --- life */

void ch_desks_init(struct ch_chat *chat) {
    ch_list_init(&chat->desks);
}

void ch_desks_release(struct ch_chat *chat) {
    for (struct desk *d; (d = CH_LIST_FIRST(&chat->desks, struct desk, link));)
        free_desk(d);
}
