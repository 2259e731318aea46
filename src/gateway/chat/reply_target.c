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

/* A question that was asked. */
struct ask {
    struct ch_link link; /* in the chat's asks */
    char *session, *id, *text; /* owned */
    bool whole;                /* the text is all of it */
};

static const char *name_of(const struct ch_chat *chat) {
    return chat->channel->ops->name;
}

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
                                               .channel = name_of(d->chat), .to = to,
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

/* "oc_1" of "feishu:oc_1:omt_2" */
static char *chat_id(const char *session) {
    struct ch_sv rest = ch_sv_str(session);
    ch_sv_split(&rest, ':');
    struct ch_sv id = ch_sv_split(&rest, ':');
    return id.p ? ch_strndup(id.p, id.n) : ch_strdup("");
}

static struct desk *new_desk(struct ch_chat *chat, const char *session) {
    struct desk *d = ch_alloc(sizeof(*d));
    d->chat = chat;
    d->session = ch_strdup(session);
    d->conversation = chat_id(session);
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
    struct chela_channel c = CHELA_CHANNEL(.name = name_of(chat), .conversation = d->conversation,
                                           .send = say, .reply = answer,
                                           .react = chat->channel->ops->react ? react : NULL,
                                           .user = d, .parts = 1);
    return l->session->channel.user == d ? 0 : chela_session_channel(l->session, &c, err);
}

/* --- questions */

const char *ch_chat_approve(const struct ch_chat *chat) {
    const struct ch_channel_ops *ops = chat->channel->ops;
    return ops->is_owner && ops->is_owner(chat->channel, NULL) ? "ask" : "deny";
}

static void free_ask(struct ch_chat *chat, struct ask *a) {
    chat->nasks--;
    ch_list_del(&a->link);
    ch_free(a->session);
    ch_free(a->id);
    ch_free(a->text);
    ch_free(a);
}

static struct ask *find_ask(const struct ch_chat *chat, struct ch_sv id) {
    for (CH_LIST_EACH(k, &chat->asks)) {
        struct ask *a = CH_CONTAINER(k, struct ask, link);
        if (ch_sv_is(id, a->id))
            return a;
    }
    return NULL;
}

static struct ask *new_ask(struct ch_chat *chat, const char *session, struct ch_sv id,
                           struct ch_sv summary) {
    struct ask *a = find_ask(chat, id);
    CH_BUF_AUTO text = {0};
    if (a)
        return a;
    a = ch_alloc(sizeof(*a));
    a->session = ch_strdup(session);
    a->id = ch_strndup(id.p, id.n);
    a->whole = summary.n <= chat->channel->ops->most_question;
    if (a->whole)
        ch_buf_add_sv(&text, summary);
    else
        ch_buf_addf(&text,
                    "A call waits for consent. Its %zu bytes are too many to be shown here: "
                    "decide about %.*s in the console.",
                    summary.n, CH_SV_FMT(id));
    a->text = ch_buf_take(&text);
    ch_list_add(&chat->asks, &a->link);
    if (++chat->nasks > CH_LIMIT_ASKS)
        free_ask(chat, CH_LIST_FIRST(&chat->asks, struct ask, link));
    return a;
}

static void put_question(const struct desk *d, struct ch_sv id, struct ch_sv summary) {
    struct ask *a = new_ask(d->chat, d->session, id, summary);
    struct chela_error err = {0};
    CH_BUF_AUTO key = {0};
    ch_buf_addf(&key, "ask:%s", a->id);
    struct chela_outbound m = CHELA_OUTBOUND(.key = ch_buf_str(&key), .session = d->session,
                                             .channel = name_of(d->chat), .to = d->to,
                                             .text = a->text, .approval = a->whole ? a->id : NULL);
    if (chela_outbox_put(d->chat->gw->rt, &m, NULL, NULL, &err) < 0)
        ch_log(CH_LOG_WARN, "gateway", "nobody is asked about %s: %s", a->id, err.message);
}

static void on_asked(const struct chela_event *ev, void *user) {
    put_question(user, ch_sv(ev->approval.approval_id.p, ev->approval.approval_id.n),
                 ch_sv(ev->approval.summary.p, ev->approval.summary.n));
}

void ch_desk_ask_again(struct ch_chat *chat, struct ch_lane *l) {
    const struct ch_past *past = l->session->keep ? l->session->keep->past : NULL;
    const struct desk *d = find_desk(chat, l->session->key);
    for (size_t i = 0; past && d && i < past->ncalls; i++) {
        const struct ch_past_call *c = &past->calls[i];
        if (c->approval && c->summary && c->decision == CHELA_UNDECIDED)
            put_question(d, ch_sv_str(c->approval), ch_sv_str(c->summary));
    }
}

const char *ch_desk_find(const struct ch_chat *chat, const char *session, struct ch_sv id) {
    const struct ask *found = NULL;
    for (CH_LIST_EACH(k, &chat->asks)) {
        const struct ask *a = CH_CONTAINER(k, struct ask, link);
        if (strcmp(a->session, session) != 0 || (id.n && !ch_sv_is(id, a->id)))
            continue;
        if (found)
            return NULL;
        found = a;
    }
    return found ? found->id : NULL;
}

/* --- answers */

struct deciding {
    struct ch_link link; /* in the chat's decidings */
    struct ch_chat *chat;
    struct ch_lane_wait wait;
    struct ch_arena arena;
    struct ch_decision d; /* in the arena */
    bool in_words;
    struct ch_visit *visit; /* that waits for it; NULL */
    ch_decided_fn *done;
    void *tag;
};

static bool read_word(const char *word, enum chela_decision *out) {
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

static void write_words(struct ch_buf *out, const struct ch_decision *d,
                        const struct chela_error *err) {
    if (err)
        ch_buf_addf(out, "That cannot be decided: %s", err->message);
    else
        ch_buf_addf(out, "%s: %s", strcmp(d->word, "deny") == 0 ? "Denied" : "Allowed",
                    d->approval);
}

static void free_deciding(struct deciding *g) {
    if (g->visit)
        g->visit->left = NULL;
    ch_list_del(&g->link);
    ch_list_del(&g->wait.link);
    ch_arena_release(&g->arena);
    ch_free(g);
}

static void end_deciding(struct deciding *g, const struct chela_error *err) {
    struct ch_chat *chat = g->chat;
    struct ask *a = find_ask(chat, ch_sv_str(g->d.approval));
    CH_BUF_AUTO answer = {0};
    if (g->in_words)
        write_words(&answer, &g->d, err);
    else
        chat->channel->ops->decided(chat->channel, &g->d, a ? a->text : "", err, &answer);
    if (a && (!err || err->code == CHELA_EEXIST))
        free_ask(chat, a);
    g->done(ch_buf_sv(&answer), g->tag);
    free_deciding(g);
}

static int carry_out(struct deciding *g, struct ch_lane *l, struct chela_error *err) {
    enum chela_decision decision = CHELA_UNDECIDED;
    struct chela_error ignored = {0};
    const struct ask *a = find_ask(g->chat, ch_sv_str(g->d.approval));
    CH_BUF_AUTO reason = {0};
    ch_buf_addf(&reason, "denied in the chat by %s", g->d.by);
    int rc = ch_desk_furnish(g->chat, l, NULL, err);
    if (rc == 0 && !read_word(g->d.word, &decision))
        rc = ch_fail(err, CHELA_EINVAL, "say allow-once, allow-always or deny");
    if (rc == 0 && a && !a->whole && decision != CHELA_DENY)
        rc = ch_fail(err, CHELA_EPERM, "it was not shown here: allow it in the console");
    if (rc == 0)
        rc = chela_session_approve(l->session, g->d.approval, decision,
                                   decision == CHELA_DENY ? ch_buf_str(&reason) : NULL, err);
    if (rc == 0)
        ch_lane_resume(l, ch_chat_approve(g->chat), &ignored); /* unless others still wait */
    if (rc == 0)
        ch_log(CH_LOG_INFO, "gateway", "%s: %s, by %s", g->d.approval, g->d.word, g->d.by);
    return rc;
}

static void on_ready(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *failed) {
    struct deciding *g = CH_CONTAINER(w, struct deciding, wait);
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    int rc = failed ? err.code : carry_out(g, l, &err);
    end_deciding(g, rc < 0 ? &err : NULL);
}

static bool is_here(const struct ch_chat *chat, const struct ch_decision *d) {
    size_t n = strlen(name_of(chat));
    CH_AUTOFREE char *asked_in = chat_id(d->session);
    return strncmp(d->session, name_of(chat), n) == 0 && d->session[n] == ':' &&
           (!d->chat || strcmp(d->chat, asked_in) == 0);
}

static struct deciding *start(struct ch_chat *chat, const struct ch_decision *d, bool in_words,
                              ch_decided_fn *done, void *tag) {
    struct deciding *g = ch_alloc(sizeof(*g));
    g->chat = chat;
    g->in_words = in_words;
    g->done = done;
    g->tag = tag;
    g->wait.ready = on_ready;
    const struct ask *a = find_ask(chat, ch_sv_str(d->approval));
    const char *session = d->session ? d->session : a ? a->session : "";
    g->d = (struct ch_decision){.session = ch_arena_str(&g->arena, ch_sv_str(session)),
                                .chat = d->chat ? ch_arena_str(&g->arena, ch_sv_str(d->chat))
                                                : NULL,
                                .approval = ch_arena_str(&g->arena, ch_sv_str(d->approval)),
                                .word = ch_arena_str(&g->arena, ch_sv_str(d->word)),
                                .by = ch_arena_str(&g->arena, ch_sv_str(d->by))};
    ch_list_add(&chat->decidings, &g->link);
    return g;
}

static void go_on(struct deciding *g) {
    struct chela_error err = {0};
    struct ch_lane *lane;
    const struct ask *a = find_ask(g->chat, ch_sv_str(g->d.approval));
    int rc = is_here(g->chat, &g->d) && (!a || strcmp(a->session, g->d.session) == 0)
                 ? ch_chat_lane(g->chat, g->d.session, &lane, &err)
                 : ch_fail(&err, CHELA_ENOENT, "nothing of that kind waits here");
    if (rc == 0)
        ch_lane_when_ready(lane, &g->wait);
    else
        end_deciding(g, &err);
}

void ch_desk_decide(const struct ch_decision *d, ch_decided_fn *done, void *tag, void *user) {
    go_on(start(user, d, false, done, tag));
}

void ch_desk_decide_in_words(struct ch_chat *chat, const struct ch_decision *d,
                             ch_decided_fn *done, void *tag) {
    go_on(start(chat, d, true, done, tag));
}

static void tell_nobody(struct ch_sv answer, void *tag) {
    (void)answer;
    (void)tag;
}

bool ch_desk_deny(struct ch_chat *chat, const char *session, const char *by) {
    bool any = false;
    struct ch_link *k = chat->asks.head.next, *next;
    for (; k != &chat->asks.head; k = next) {
        const struct ask *a = CH_CONTAINER(k, struct ask, link);
        next = k->next;
        if (strcmp(a->session, session) != 0)
            continue;
        struct ch_decision d = {.session = session, .approval = a->id, .word = "deny", .by = by};
        any = true;
        ch_desk_decide_in_words(chat, &d, tell_nobody, NULL);
    }
    return any;
}

/* A callback of the service, which waits for the answer. */

static void on_left(struct ch_visit *v) {
    ((struct deciding *)v->user)->visit = NULL;
}

static void tell_visit(struct ch_sv answer, void *tag) {
    struct deciding *g = tag;
    struct ch_visit *v = CH_TAKE(g->visit);
    CH_BUF_AUTO out = {0};
    if (!v)
        return;
    v->left = NULL;
    ch_buf_add_sv(&out, answer);
    ch_visit_json(v, 200, &out);
}

void ch_desk_visit(struct ch_visit *v, struct ch_chat *chat, const struct ch_decision *d) {
    struct deciding *g = start(chat, d, false, tell_visit, NULL);
    g->tag = g;
    g->visit = v;
    v->user = g;
    v->left = on_left;
    go_on(g);
}

/* --- life */

void ch_desks_init(struct ch_chat *chat) {
    ch_list_init(&chat->desks);
    ch_list_init(&chat->asks);
    ch_list_init(&chat->decidings);
}

void ch_desks_release(struct ch_chat *chat) {
    for (struct deciding *g; (g = CH_LIST_FIRST(&chat->decidings, struct deciding, link));) {
        if (g->in_words)
            g->done(ch_sv("", 0), g->tag); /* a parcel, which is no longer of the chat */
        free_deciding(g);
    }
    for (struct ask *a; (a = CH_LIST_FIRST(&chat->asks, struct ask, link));)
        free_ask(chat, a);
    for (struct desk *d; (d = CH_LIST_FIRST(&chat->desks, struct desk, link));)
        free_desk(d);
}
