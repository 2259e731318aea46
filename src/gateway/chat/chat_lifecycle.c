/* chat_lifecycle.c -- see chat_lifecycle.h.
 *
 *   reload --same options--> the service stays as it is
 *          --other options-> a new channel takes over at once; the old one leaves
 *          --removed-------> the service leaves: its runs end, its replies are sent
 *
 * A service keeps its events, reply targets and approval prompts when its channel is
 * replaced. A channel that leaves fetches nothing more. It is closed when all messages it
 * sends have a receipt and all messages it fetched are in the inbox. */
#include "gateway/chat/chat_lifecycle.h"

#include "agent/feature/heartbeat/beat.h"
#include "agent/handle/session.h"
#include "agent/journal/outbox.h"
#include "base/choice.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/opts.h"
#include "channel/channels.h"
#include "gateway/chat/approval_decision.h"
#include "gateway/chat/approval_prompt.h"
#include "gateway/chat/chat_actions.h"
#include "gateway/chat/chat_callback.h"
#include "gateway/chat/chat_dispatch.h"
#include "gateway/chat/chat_event.h"
#include "gateway/chat/chat_notes.h"
#include "gateway/chat/chat_overrides.h"
#include "gateway/chat/chat_recovery.h"
#include "gateway/chat/chat_room.h"
#include "gateway/chat/chat_service.h"
#include "gateway/chat/chat_window.h"
#include "gateway/chat/gateway_tool.h"
#include "gateway/chat/reply_target.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"

/* A service of the new configuration. */
struct planned_channel {
    struct ch_link link;
    struct ch_chat_service *chat; /* owned if fresh */
    struct ch_channel *channel;   /* owned; NULL: the service keeps its channel */
    char *agent;                /* owned */
    unsigned char made_of[CH_SHA256_SIZE];
    bool fresh; /* the service is new */
};

struct ch_chat_plan {
    struct ch_list list;
};

/* A channel that was replaced. */
struct old_channel {
    struct ch_link link;        /* in the service's old_channels */
    struct ch_channel *channel; /* owned */
};

static struct ch_chat_service *find_service(const chela_gateway *gw, const char *name) {
    for (CH_LIST_EACH(k, &gw->chats)) {
        struct ch_chat_service *chat = CH_CONTAINER(k, struct ch_chat_service, link);
        if (strcmp(chat->channel->ops->name, name) == 0)
            return chat;
    }
    return NULL;
}

/* --- planning */

static void lifecycle_add_text(struct ch_buf *out, const char *text) {
    ch_buf_addf(out, "%zu:%s,", text ? strlen(text) : 0, text ? text : "");
}

static void lifecycle_add_texts(struct ch_buf *out, const char *const *list) {
    for (; list && *list; list++)
        lifecycle_add_text(out, *list);
    ch_buf_addc(out, ';');
}

static void lifecycle_digest_opts(const struct chela_channel_opts *o, bool listens,
                                  unsigned char out[CH_SHA256_SIZE]) {
    const char *const texts[] = {o->agent, o->account, o->secret,
                                 o->token, o->domain,  o->encrypt_key};
    CH_BUF_AUTO all = {0};
    for (size_t i = 0; i < CH_LEN(texts); i++)
        lifecycle_add_text(&all, texts[i]);
    lifecycle_add_texts(&all, o->allow_from);
    lifecycle_add_texts(&all, o->groups);
    lifecycle_add_texts(&all, o->owners);
    lifecycle_add_texts(&all, o->settings);
    ch_buf_addf(&all, "%d%d%d %d %d %d %d %d", o->unasked, listens, o->streaming, (int)o->dm_policy,
                (int)o->mode, (int)o->group_policy, (int)o->group_session, (int)o->language);
    ch_buf_addf(&all, " %lld %lld", (long long)o->group_lines, (long long)o->group_minutes);
    ch_sha256_of(ch_buf_sv(&all), out);
}

static void free_planned(struct planned_channel *p) {
    ch_list_del(&p->link);
    if (p->channel)
        ch_channel_close(p->channel);
    if (p->fresh)
        ch_free(p->chat);
    ch_free(p->agent);
    ch_free(p);
}

void ch_chat_lifecycle_drop_plan(struct ch_chat_plan *plan) {
    if (!plan)
        return;
    for (struct planned_channel *p; (p = CH_LIST_FIRST(&plan->list, struct planned_channel, link));)
        free_planned(p);
    ch_free(plan);
}

static int open_channel(struct planned_channel *p, const struct chela_channel_ops *ops,
                        const struct chela_channel_opts *o, bool listens, struct chela_error *err) {
    struct ch_channel_gateway host = ch_chat_dispatch_host(p->chat, listens);
    ch_channel_redact(ops, o);
    return ch_channel_open(ops, &host, o, &p->channel, err);
}

static int read_channel_opts(const struct chela_channel_opts *given, struct chela_channel_opts *o,
                             struct chela_error *err) {
    int rc = CH_OPTS_NEED(chela_channel_opts, o, given, err);
    if (rc == 0)
        rc = ch_choice_check(CHELA_CHOICE_ACCESS, o->dm_policy, err);
    if (rc == 0)
        rc = ch_choice_check(CHELA_CHOICE_ACCESS, o->group_policy, err);
    if (rc == 0)
        rc = ch_choice_check(CHELA_CHOICE_GROUP_SESSION, o->group_session, err);
    if (rc == 0)
        rc = ch_choice_check(CHELA_CHOICE_TRANSPORT, o->mode, err);
    if (rc == 0)
        rc = ch_choice_check(CHELA_CHOICE_LANGUAGE, o->language, err);
    if (rc == 0 && !o->name)
        o->name = "";
    return rc;
}

/* Adds the channel to the plan. A channel whose options are unchanged stays open. */
static int add_planned(chela_gateway *gw, const struct chela_channel_ops *ops,
                       const struct chela_channel_opts *o, const chela_agent *agent,
                       struct ch_chat_plan *plan, struct chela_error *err) {
    struct planned_channel *p = ch_alloc(sizeof(*p));
    bool listens = ch_companion_of(agent) != NULL;
    p->chat = find_service(gw, o->name);
    p->fresh = !p->chat;
    p->chat = p->fresh ? ch_chat_service_new(gw, ch_chat_dispatch_event) : p->chat;
    p->agent = ch_strdup(o->agent ? o->agent : "");
    lifecycle_digest_opts(o, listens, p->made_of);
    ch_list_add(&plan->list, &p->link);
    bool same = !p->fresh && !p->chat->leaving &&
                memcmp(p->made_of, p->chat->options_digest, sizeof(p->made_of)) == 0;
    return same ? 0 : open_channel(p, ops, o, listens, err);
}

static int plan_channel(chela_gateway *gw, const struct chela_channel_opts *given,
                        struct ch_chat_plan *plan, struct chela_error *err) {
    struct chela_channel_opts o;
    const struct chela_channel_ops *ops = NULL;
    int rc = read_channel_opts(given, &o, err);
    if (rc < 0)
        return rc;
    rc = ch_channel_find(o.name, gw->rt->module_path, &ops, err);
    if (rc == CHELA_ENOENT)
        return ch_fail(err, CHELA_ECONFIG, "unknown channel '%s'", o.name);
    if (rc < 0)
        return rc;
    if (!gw->rt->journal || !gw->store)
        return ch_fail(err, CHELA_ECONFIG, "channel %s needs a store, so that no message is lost",
                       o.name);
    const chela_agent *agent = ch_gateway_agent(gw, ch_sv_str(o.agent ? o.agent : ""));
    if (!agent)
        return ch_fail(err, CHELA_ECONFIG, "channel %s: there is no agent '%s'", o.name, o.agent);
    return add_planned(gw, ops, &o, agent, plan, err);
}

int ch_chat_lifecycle_plan(chela_gateway *gw, const struct chela_gateway_opts *o,
                           struct ch_chat_plan **out, struct chela_error *err) {
    struct ch_chat_plan *plan = ch_alloc(sizeof(*plan));
    int rc = 0;
    ch_list_init(&plan->list);
    for (size_t i = 0; rc == 0 && o->channels && o->channels[i]; i++)
        rc = plan_channel(gw, o->channels[i], plan, err);
    if (rc < 0)
        ch_chat_lifecycle_drop_plan(plan);
    else
        *out = plan;
    return rc;
}

/* --- leaving */

/* Does the channel wait for a callback of this gateway? */
static bool has_pending_work(const struct ch_chat_service *chat) {
    for (CH_LIST_EACH(k, &chat->events)) {
        const struct ch_chat_event *e = CH_CONTAINER(k, struct ch_chat_event, link);
        if (e->accepting || e->preparing || e->queued)
            return true;
    }
    return !ch_list_empty(&chat->decisions);
}

/* Tells the channel to leave in any case; true: it can be closed. */
static bool channel_has_left(const struct ch_chat_service *chat, struct ch_channel *c) {
    return ch_channel_leave(c) && !ch_outbox_sends(chat->gw->rt, c) && !has_pending_work(chat);
}

static bool lane_is_of_service(const struct ch_lane *l, const struct ch_chat_service *chat) {
    struct ch_sv rest = ch_sv_str(l->session->key);
    return l->stored && ch_sv_is(ch_sv_split(&rest, ':'), chat->channel->ops->name);
}

static bool service_has_run(const struct ch_chat_service *chat) {
    for (CH_LIST_EACH(k, &chat->gw->lanes)) {
        const struct ch_lane *l = CH_CONTAINER(k, struct ch_lane, link);
        if (lane_is_of_service(l, chat) && (l->running || !l->ready))
            return true;
    }
    return false;
}

static void free_old_channel(struct old_channel *f) {
    ch_list_del(&f->link);
    ch_channel_close(f->channel);
    ch_free(f);
}

static void close_service(struct ch_chat_service *chat) {
    ch_chat_rooms_release(chat);
    ch_chat_windows_release(chat);
    for (struct ch_chat_event *e; (e = CH_LIST_FIRST(&chat->events, struct ch_chat_event, link));) {
        ch_list_del(&e->link);
        if (e->accepting)
            e->chat = NULL; /* its callback frees it */
        else
            ch_chat_event_drop(e);
    }
    ch_approval_decisions_release(chat);
    ch_approval_prompts_release(chat);
    ch_reply_targets_release(chat);
    ch_chat_actions_release(chat);
    ch_gateway_tool_release(chat);
    ch_chat_overrides_release(chat);
    ch_chat_callbacks_release(chat);
    for (struct old_channel *f; (f = CH_LIST_FIRST(&chat->old_channels, struct old_channel, link));)
        free_old_channel(f);
    chela_outbox_channel(chat->gw->rt, chat->channel->ops->name, NULL, NULL, NULL);
    ch_outbox_on_sent(chat->gw->rt, chat->channel->ops->name, NULL, NULL);
    ch_channel_close(chat->channel);
    ch_chat_notes_release(chat); /* a channel that is closed may delete a note */
    ch_list_del(&chat->link);
    ch_free(chat->agent);
    ch_free(chat);
}

/* The lanes of the service use its reply targets. They are idle, and their sessions are
 * stored. */
static void close_service_lanes(struct ch_chat_service *chat) {
    struct ch_link *k = chat->gw->lanes.head.next, *next;
    for (; k != &chat->gw->lanes.head; k = next) {
        struct ch_lane *l = CH_CONTAINER(k, struct ch_lane, link);
        next = k->next;
        if (lane_is_of_service(l, chat))
            ch_lane_close(l);
    }
}

static bool lifecycle_check_service(struct ch_chat_service *chat) {
    struct ch_link *k = chat->old_channels.head.next, *next;
    for (; k != &chat->old_channels.head; k = next) {
        struct old_channel *f = CH_CONTAINER(k, struct old_channel, link);
        next = k->next;
        if (channel_has_left(chat, f->channel))
            free_old_channel(f);
    }
    bool done = chat->leaving && ch_list_empty(&chat->old_channels) && !service_has_run(chat) &&
                !ch_outbox_waits(chat->gw->rt, chat->channel->ops->name) &&
                channel_has_left(chat, chat->channel);
    bool more = !done && (chat->leaving || !ch_list_empty(&chat->old_channels));
    if (done) {
        ch_log(CH_LOG_INFO, "gateway", "channel %s is closed", chat->channel->ops->name);
        close_service_lanes(chat);
        close_service(chat);
    }
    return more;
}

static void lifecycle_on_leave_timer(struct ch_timer *t) {
    chela_gateway *gw = CH_CONTAINER(t, chela_gateway, leave_timer);
    struct ch_link *k = gw->chats.head.next, *next;
    bool more = false;
    for (; k != &gw->chats.head; k = next) {
        next = k->next;
        more |= lifecycle_check_service(CH_CONTAINER(k, struct ch_chat_service, link));
    }
    if (more)
        ch_timer_start(gw->rt->loop, t, CH_DEFAULT_DRAIN_LOOK_MS, lifecycle_on_leave_timer);
}

/* --- applying a plan */

static void lifecycle_deliver(chela_runtime *rt, const struct chela_outbound *m, void *user) {
    (void)rt;
    ch_channel_deliver(user, m);
}

/* The old channel removes its signs that the agent is working; the new one adds its own. */
static void lifecycle_mark_working(struct ch_chat_service *chat, bool at_work) {
    for (CH_LIST_EACH(k, &chat->events)) {
        struct ch_chat_event *e = CH_CONTAINER(k, struct ch_chat_event, link);
        if (e->shows_working)
            ch_channel_working(chat->channel, &e->in, at_work);
    }
}

static void lifecycle_replace_channel(struct ch_chat_service *chat, struct ch_channel *fresh) {
    struct old_channel *f = ch_alloc(sizeof(*f));
    lifecycle_mark_working(chat, false);
    f->channel = chat->channel;
    ch_list_add(&chat->old_channels, &f->link);
    ch_channel_leave(f->channel);
    chat->channel = fresh;
    ch_chat_windows_release(chat); /* they may keep more than is now configured */
    ch_chat_notes_replay_own(chat);
    lifecycle_mark_working(chat, true);
    ch_log(CH_LOG_INFO, "gateway", "channel %s is set up again", fresh->ops->name);
}

static void use_planned(chela_gateway *gw, struct planned_channel *p) {
    struct ch_chat_service *chat = p->chat;
    struct ch_channel *fresh = CH_TAKE(p->channel);
    chat->leaving = false;
    memcpy(chat->options_digest, p->made_of, sizeof(chat->options_digest));
    ch_free(chat->agent);
    chat->agent = CH_TAKE(p->agent);
    if (p->fresh) {
        ch_outbox_on_sent(gw->rt, fresh->ops->name, ch_chat_actions_on_sent, chat);
        chat->channel = fresh;
        ch_list_add(&gw->chats, &chat->link);
        p->fresh = false;
    } else if (fresh) {
        lifecycle_replace_channel(chat, fresh);
    }
    if (fresh)
        chela_outbox_channel(gw->rt, fresh->ops->name, lifecycle_deliver, fresh, NULL);
}

static void lifecycle_dismiss(struct ch_chat_service *chat) {
    if (!chat->leaving)
        ch_log(CH_LOG_INFO, "gateway", "channel %s accepts no more messages",
               chat->channel->ops->name);
    chat->leaving = true;
    ch_channel_leave(chat->channel);
}

static bool is_planned(const struct ch_chat_plan *plan, const struct ch_chat_service *chat) {
    for (CH_LIST_EACH(k, &plan->list))
        if (CH_CONTAINER(k, struct planned_channel, link)->chat == chat)
            return true;
    return false;
}

void ch_chat_lifecycle_apply(chela_gateway *gw, struct ch_chat_plan *plan) {
    for (CH_LIST_EACH(k, &gw->chats))
        if (!is_planned(plan, CH_CONTAINER(k, struct ch_chat_service, link)))
            lifecycle_dismiss(CH_CONTAINER(k, struct ch_chat_service, link));
    for (CH_LIST_EACH(k, &plan->list))
        use_planned(gw, CH_CONTAINER(k, struct planned_channel, link));
    ch_chat_lifecycle_drop_plan(plan);
    ch_timer_start(gw->rt->loop, &gw->leave_timer, CH_DEFAULT_DRAIN_LOOK_MS,
                   lifecycle_on_leave_timer);
}

void ch_chat_lifecycle_close_all(chela_gateway *gw) {
    ch_chat_recovery_cancel(gw);
    ch_timer_stop(gw->rt->loop, &gw->leave_timer);
    for (struct ch_chat_service *c; (c = CH_LIST_FIRST(&gw->chats, struct ch_chat_service, link));)
        close_service(c);
}
