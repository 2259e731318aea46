/* chats.c -- the chat services that are served: opened at the start, changed by
 * a reload, closed.
 *
 *   reload --same options--> stays as it is
 *          --others--------> a new channel takes over at once; the old one leaves
 *          --not named-----> the chat leaves: its runs end, its answers are sent
 *
 * What a configuration asks for is made before anything is taken away, so one
 * that is wrong changes nothing. A chat keeps its parcels, desks and questions
 * over a change of its channel. A channel that leaves fetches nothing more; it
 * is closed when nobody waits for it: no message that it sends lacks a receipt,
 * and nothing that it brought is on its way into the inbox. */
#include "agent/handle/driver.h"
#include "agent/journal/mailbox.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/opts.h"
#include "gateway/chat/channels.h"

/* A channel that is to be used. */
struct planned {
    struct ch_link link;
    struct ch_chat *chat;       /* that it is for; owned if it is a new one */
    struct ch_channel *channel; /* owned; NULL: the chat keeps the one it has */
    char *agent;                /* owned */
    unsigned char made_of[CH_SHA256_SIZE];
    bool fresh; /* the chat is a new one */
};

struct ch_chats_plan {
    struct ch_list list;
};

/* A channel that another took over from. */
struct former {
    struct ch_link link; /* in the chat's formers */
    struct ch_channel *channel; /* owned */
};

static struct ch_chat *find_chat(const chela_gateway *gw, const char *name) {
    for (CH_LIST_EACH(k, &gw->chats)) {
        struct ch_chat *chat = CH_CONTAINER(k, struct ch_chat, link);
        if (strcmp(chat->channel->ops->name, name) == 0)
            return chat;
    }
    return NULL;
}

/* --- a plan */

static void add_text(struct ch_buf *out, const char *text) {
    ch_buf_addf(out, "%zu:%s,", text ? strlen(text) : 0, text ? text : "");
}

static void add_texts(struct ch_buf *out, const char *const *list) {
    for (; list && *list; list++)
        add_text(out, *list);
    ch_buf_addc(out, ';');
}

static void digest(const struct chela_channel_opts *o, bool listens,
                   unsigned char out[CH_SHA256_SIZE]) {
    const char *const texts[] = {o->agent,     o->account,      o->secret,        o->token,
                                 o->domain,    o->encrypt_key,  o->dm_policy,     o->mode,
                                 o->group_policy, o->group_session};
    CH_BUF_AUTO all = {0};
    for (size_t i = 0; i < CH_LEN(texts); i++)
        add_text(&all, texts[i]);
    add_texts(&all, o->allow_from);
    add_texts(&all, o->groups);
    add_texts(&all, o->owners);
    ch_buf_addf(&all, "%d%d%d", o->unasked, listens, o->streaming);
    ch_sha256_of(ch_buf_sv(&all), out);
}

struct ch_chat *ch_chat_new(chela_gateway *gw) {
    struct ch_chat *chat = ch_alloc(sizeof(*chat));
    chat->gw = gw;
    ch_list_init(&chat->parcels);
    ch_list_init(&chat->wishes);
    ch_list_init(&chat->rooms);
    ch_list_init(&chat->notes);
    ch_list_init(&chat->notings);
    ch_list_init(&chat->formers);
    ch_desks_init(chat);
    ch_actions_init(chat);
    ch_list_init(&chat->chores);
    return chat;
}

static void free_planned(struct planned *p) {
    ch_list_del(&p->link);
    if (p->channel)
        p->channel->ops->close(p->channel);
    if (p->fresh)
        ch_free(p->chat);
    ch_free(p->agent);
    ch_free(p);
}

void ch_chats_drop(struct ch_chats_plan *plan) {
    if (!plan)
        return;
    for (struct planned *p; (p = CH_LIST_FIRST(&plan->list, struct planned, link));)
        free_planned(p);
    ch_free(plan);
}

static int open_channel(struct planned *p, const struct ch_channel_ops *ops,
                        const struct chela_channel_opts *o, bool listens,
                        struct chela_error *err) {
    struct ch_channel_host host = ch_chat_host(p->chat, listens);
    ch_redact_add(o->secret ? o->secret : "");
    ch_redact_add(o->token ? o->token : "");
    ch_redact_add(o->encrypt_key ? o->encrypt_key : "");
    return ops->open(&host, o, &p->channel, err);
}

static int plan_one(chela_gateway *gw, const struct chela_channel_opts *given,
                    struct ch_chats_plan *plan, struct chela_error *err) {
    struct chela_channel_opts o;
    int rc = CH_OPTS_NEED(chela_channel_opts, &o, given, err);
    if (rc < 0)
        return rc;
    const struct ch_channel_ops *ops = ch_channel_find(o.name);
    if (!ops)
        return ch_fail(err, CHELA_ECONFIG, "there is no channel '%s'", o.name);
    if (!gw->rt->journal || !gw->store)
        return ch_fail(err, CHELA_ECONFIG,
                       "channel %s needs a store: a message must not be lost", o.name);
    const chela_agent *agent = ch_gateway_agent(gw, ch_sv_str(o.agent ? o.agent : ""));
    if (!agent)
        return ch_fail(err, CHELA_ECONFIG, "channel %s: there is no agent '%s'", o.name, o.agent);
    struct planned *p = ch_alloc(sizeof(*p));
    bool listens = agent->companion != NULL;
    p->chat = find_chat(gw, o.name);
    p->fresh = !p->chat;
    p->chat = p->fresh ? ch_chat_new(gw) : p->chat;
    p->agent = ch_strdup(o.agent ? o.agent : "");
    digest(&o, listens, p->made_of);
    ch_list_add(&plan->list, &p->link);
    bool same = !p->fresh && !p->chat->leaving &&
                memcmp(p->made_of, p->chat->made_of, sizeof(p->made_of)) == 0;
    return same ? 0 : open_channel(p, ops, &o, listens, err);
}

int ch_chats_plan(chela_gateway *gw, const struct chela_gateway_opts *o,
                  struct ch_chats_plan **out, struct chela_error *err) {
    struct ch_chats_plan *plan = ch_alloc(sizeof(*plan));
    int rc = 0;
    ch_list_init(&plan->list);
    for (size_t i = 0; rc == 0 && o->channels && o->channels[i]; i++)
        rc = plan_one(gw, o->channels[i], plan, err);
    if (rc < 0)
        ch_chats_drop(plan);
    else
        *out = plan;
    return rc;
}

/* --- leaving */

/* Has anybody work that a channel of this chat is to hear the end of? */
static bool owes_word(const struct ch_chat *chat) {
    for (CH_LIST_EACH(k, &chat->parcels)) {
        const struct ch_parcel *p = CH_CONTAINER(k, struct ch_parcel, link);
        if (p->accepting || p->preparing || p->behind)
            return true;
    }
    return !ch_list_empty(&chat->decidings);
}

/* Both ways: it is told to, also if somebody still waits for it. */
static bool has_left(const struct ch_chat *chat, struct ch_channel *c) {
    bool idle = !c->ops->leave || c->ops->leave(c);
    return idle && !ch_outbox_sends(chat->gw->rt, c) && !owes_word(chat);
}

static bool is_of(const struct ch_lane *l, const struct ch_chat *chat) {
    struct ch_sv rest = ch_sv_str(l->session->key);
    return l->kept && ch_sv_is(ch_sv_split(&rest, ':'), chat->channel->ops->name);
}

static bool has_run(const struct ch_chat *chat) {
    for (CH_LIST_EACH(k, &chat->gw->lanes)) {
        const struct ch_lane *l = CH_CONTAINER(k, struct ch_lane, link);
        if (is_of(l, chat) && (l->running || !l->ready))
            return true;
    }
    return false;
}

static void free_former(struct former *f) {
    ch_list_del(&f->link);
    f->channel->ops->close(f->channel);
    ch_free(f);
}

static void close_chat(struct ch_chat *chat) {
    ch_rooms_release(chat);
    for (struct ch_parcel *p; (p = CH_LIST_FIRST(&chat->parcels, struct ch_parcel, link));) {
        ch_list_del(&p->link);
        if (p->accepting)
            p->chat = NULL; /* the inbox will say so, later */
        else
            ch_parcel_drop(p);
    }
    ch_desks_release(chat);
    ch_actions_release(chat);
    ch_gateway_tool_release(chat);
    ch_wishes_release(chat);
    ch_chat_notes_release(chat);
    for (struct former *f; (f = CH_LIST_FIRST(&chat->formers, struct former, link));)
        free_former(f);
    chela_outbox_channel(chat->gw->rt, chat->channel->ops->name, NULL, NULL, NULL);
    ch_outbox_on_sent(chat->gw->rt, chat->channel->ops->name, NULL, NULL);
    chat->channel->ops->close(chat->channel);
    ch_list_del(&chat->link);
    ch_free(chat->agent);
    ch_free(chat);
}

/* Its sessions speak through its desks, and are at rest: the store has all of them. */
static void close_lanes(struct ch_chat *chat) {
    struct ch_link *k = chat->gw->lanes.head.next, *next;
    for (; k != &chat->gw->lanes.head; k = next) {
        struct ch_lane *l = CH_CONTAINER(k, struct ch_lane, link);
        next = k->next;
        if (is_of(l, chat))
            ch_lane_close(l);
    }
}

static bool look_at(struct ch_chat *chat) {
    struct ch_link *k = chat->formers.head.next, *next;
    for (; k != &chat->formers.head; k = next) {
        struct former *f = CH_CONTAINER(k, struct former, link);
        next = k->next;
        if (has_left(chat, f->channel))
            free_former(f);
    }
    bool done = chat->leaving && ch_list_empty(&chat->formers) && !has_run(chat) &&
                !ch_outbox_waits(chat->gw->rt, chat->channel->ops->name) &&
                has_left(chat, chat->channel);
    bool more = !done && (chat->leaving || !ch_list_empty(&chat->formers));
    if (done) {
        ch_log(CH_LOG_INFO, "gateway", "channel %s is closed", chat->channel->ops->name);
        close_lanes(chat);
        close_chat(chat);
    }
    return more;
}

static void on_farewell(struct ch_timer *t) {
    chela_gateway *gw = CH_CONTAINER(t, chela_gateway, farewell);
    struct ch_link *k = gw->chats.head.next, *next;
    bool more = false;
    for (; k != &gw->chats.head; k = next) {
        next = k->next;
        more |= look_at(CH_CONTAINER(k, struct ch_chat, link));
    }
    if (more)
        ch_timer_start(gw->rt->loop, t, CH_DEFAULT_DRAIN_LOOK_MS, on_farewell);
}

/* --- a plan in use */

static void send_out(chela_runtime *rt, const struct chela_outbound *m, void *user) {
    struct ch_channel *c = user;
    (void)rt;
    c->ops->deliver(c, m);
}

/* A sign that somebody is at work is taken back by who made it. */
static void mark(struct ch_chat *chat, bool at_work) {
    for (CH_LIST_EACH(k, &chat->parcels)) {
        struct ch_parcel *p = CH_CONTAINER(k, struct ch_parcel, link);
        const struct ch_channel_ops *ops = chat->channel->ops;
        if (p->at_work && ops->working)
            ops->working(chat->channel, &p->in, at_work);
    }
}

static void take_over(struct ch_chat *chat, struct ch_channel *fresh) {
    struct former *f = ch_alloc(sizeof(*f));
    mark(chat, false);
    f->channel = chat->channel;
    ch_list_add(&chat->formers, &f->link);
    if (f->channel->ops->leave)
        f->channel->ops->leave(f->channel);
    chat->channel = fresh;
    ch_chat_remind_all(chat);
    mark(chat, true);
    ch_log(CH_LOG_INFO, "gateway", "channel %s is set up anew", fresh->ops->name);
}

static void use(chela_gateway *gw, struct planned *p) {
    struct ch_chat *chat = p->chat;
    struct ch_channel *fresh = CH_TAKE(p->channel);
    chat->leaving = false;
    memcpy(chat->made_of, p->made_of, sizeof(chat->made_of));
    ch_free(chat->agent);
    chat->agent = CH_TAKE(p->agent);
    if (p->fresh) {
        ch_outbox_on_sent(gw->rt, fresh->ops->name, ch_actions_sent, chat);
        chat->channel = fresh;
        ch_list_add(&gw->chats, &chat->link);
        p->fresh = false;
    } else if (fresh) {
        take_over(chat, fresh);
    }
    if (fresh)
        chela_outbox_channel(gw->rt, fresh->ops->name, send_out, fresh, NULL);
}

static void dismiss(struct ch_chat *chat) {
    if (!chat->leaving)
        ch_log(CH_LOG_INFO, "gateway", "channel %s takes nothing in any more",
               chat->channel->ops->name);
    chat->leaving = true;
    if (chat->channel->ops->leave)
        chat->channel->ops->leave(chat->channel);
}

static bool is_planned(const struct ch_chats_plan *plan, const struct ch_chat *chat) {
    for (CH_LIST_EACH(k, &plan->list))
        if (CH_CONTAINER(k, struct planned, link)->chat == chat)
            return true;
    return false;
}

void ch_chats_use(chela_gateway *gw, struct ch_chats_plan *plan) {
    for (CH_LIST_EACH(k, &gw->chats))
        if (!is_planned(plan, CH_CONTAINER(k, struct ch_chat, link)))
            dismiss(CH_CONTAINER(k, struct ch_chat, link));
    for (CH_LIST_EACH(k, &plan->list))
        use(gw, CH_CONTAINER(k, struct planned, link));
    ch_chats_drop(plan);
    ch_timer_start(gw->rt->loop, &gw->farewell, CH_DEFAULT_DRAIN_LOOK_MS, on_farewell);
}

void ch_chats_close(chela_gateway *gw) {
    ch_channels_forget_recovery(gw);
    ch_timer_stop(gw->rt->loop, &gw->farewell);
    for (struct ch_chat *c; (c = CH_LIST_FIRST(&gw->chats, struct ch_chat, link));)
        close_chat(c);
}
