/* chat_dispatch.c -- see chat_dispatch.h. */
#include "gateway/chat/chat_dispatch.h"

#include "agent/context/context.h"
#include "agent/feature/heartbeat/beat.h"
#include "agent/handle/driver.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "channel/files.h"
#include "gateway/chat/approval_decision.h"
#include "gateway/chat/approval_prompt.h"
#include "gateway/chat/chat_actions.h"
#include "gateway/chat/chat_commands.h"
#include "gateway/chat/chat_event.h"
#include "gateway/chat/chat_lane.h"
#include "gateway/chat/chat_notes.h"
#include "gateway/chat/chat_pairing.h"
#include "gateway/chat/chat_room.h"
#include "gateway/chat/chat_service.h"
#include "gateway/chat/gateway_tool.h"
#include "gateway/chat/reply_target.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"

#define NO_WORDS "[a message without words]"

/* --- sending an event to its session */

/* A run that processes several messages replies to the newest. */
static bool dispatch_is_answered(const struct ch_chat_event *p) {
    const chela_run *run = p->lane->run;
    return run && run->answer_to && strcmp(run->answer_to, p->in.to) == 0;
}

static void stream_reply(struct ch_chat_event *p, const struct chela_event *ev) {
    const struct ch_channel_ops *ops = p->chat->channel->ops;
    if (ops->stream && ev->type == CHELA_EV_TEXT_DELTA && dispatch_is_answered(p))
        ops->stream(p->chat->channel, &p->in, ch_unstr(ev->delta.so_far));
}

/* The event lives until its run ends. */
static void dispatch_on_event(struct ch_lane_watcher *w, const struct chela_event *ev) {
    struct ch_chat_event *p = CH_CONTAINER(w, struct ch_chat_event, watcher);
    if (ev->type != CHELA_EV_RUN_END) {
        stream_reply(p, ev);
        return;
    }
    ch_chat_event_show_working(p, false);
    ch_chat_event_drop(p);
}

/* Another gateway holds the session's lease. It takes the event from the inbox, or this
 * gateway does when the lease is free, whichever comes first. Other errors leave the event
 * to the next recovery. */
static void dispatch_postpone(struct ch_chat_event *p, const struct chela_error *why) {
    p->postponed = why->code == CHELA_EBUSY;
    if (p->tries++ == 0)
        ch_log(p->postponed ? CH_LOG_INFO : CH_LOG_WARN, "gateway", "message %s waits: %s",
               p->in.id, why->message);
    if (!p->postponed)
        ch_chat_event_drop(p);
}

/* Tools that a run for this message must not use. */
static const char *denied_tools(const struct ch_chat_event *p) {
    bool bound = ch_chat_service_agent(p->chat)->gateway_tool &&
                 !ch_gateway_tool_is_allowed(p->chat, &p->in.about);
    return bound ? "gateway" : NULL;
}

static int send_to_session(struct ch_chat_event *p, struct ch_lane *l, struct ch_sv text,
                           struct chela_error *err) {
    const char *approve = ch_approval_prompt_policy(p->chat);
    struct chela_run_opts opts =
        CHELA_RUN_OPTS(.approve = approve, .channel = p->in.about.channel,
                       .sender = p->in.about.sender_id, .inbound = &p->in.about,
                       .event_id = p->in.id, .answer_to = p->in.to, .deny = denied_tools(p),
                       .media = p->in.media, .nmedia = p->in.nmedia);
    int rc = ch_reply_target_attach(p->chat, l, p->in.to, err);
    if (rc == 0 && ch_lane_was_interrupted(l))
        rc = ch_lane_resume(l, approve, err);
    return rc < 0 ? rc : ch_lane_send(l, text, &opts, err);
}

static void dispatch_on_lane_ready(struct ch_lane_wait *w, struct ch_lane *l,
                                   const struct chela_error *failed) {
    struct ch_chat_event *p = CH_CONTAINER(w, struct ch_chat_event, wait);
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    if (!failed && p->in.nmedia)
        ch_pictures_fit(&p->in, ch_session_shown(l->session), &p->arena);
    struct ch_sv text = ch_sv_str(*p->in.text ? p->in.text : NO_WORDS);
    CH_BUF_AUTO words = {0};
    if (!failed && ch_context_words(l->agent, p->in.about.channel, p->in.about.sender_id, text,
                                    &words, &err) < 0) {
        ch_chat_event_reply(p, err.message);
        return;
    }
    int rc = failed ? err.code : send_to_session(p, l, ch_buf_sv(&words), &err);
    if (rc == 0) {
        ch_chat_event_show_working(p, true);
        p->watcher.event = dispatch_on_event;
        p->lane = l;
        ch_lane_watch(l, &p->watcher);
        return;
    }
    if (rc == CHELA_ELIMIT) {
        ch_chat_event_reply(p, "Too many messages are waiting. Please repeat yours later.");
        return;
    }
    if (rc == CHELA_EEXIST)
        ch_chat_event_drop(p);
    else
        dispatch_postpone(p, &err);
}

void ch_chat_dispatch_to_lane(struct ch_chat_event *p) {
    struct chela_error err = {0};
    struct ch_lane *lane;
    ch_chat_actions_on_received(p->chat, &p->in);
    if (ch_chat_service_agent(p->chat)->companion) {
        ch_chat_room_hear(p);
        return;
    }
    p->wait.ready = dispatch_on_lane_ready;
    if (ch_chat_lane_use(p->chat, p->in.session, &lane, &err) == 0) {
        ch_lane_when_ready(lane, &p->wait);
        return;
    }
    dispatch_postpone(p, &err);
}

/* The oldest event of the session that is preparing or queued. */
static struct ch_chat_event *find_predecessor(struct ch_chat_service *chat, const char *session) {
    for (CH_LIST_EACH(k, &chat->events)) {
        struct ch_chat_event *p = CH_CONTAINER(k, struct ch_chat_event, link);
        if ((p->preparing || p->queued) && strcmp(p->in.session, session) == 0)
            return p;
    }
    return NULL;
}

static void dispatch_on_prepared(void *tag);

static void dispatch_prepare_arrival(struct ch_chat_event *p) {
    struct ch_channel *c = p->chat->channel;
    p->in.overheard = ch_chat_service_agent(p->chat)->companion != NULL;
    c->ops->prepare(c, &p->in, &p->arena, ch_chat_service_workspace(p->chat), dispatch_on_prepared,
                    p);
}

static void dispatch_on_topic_ready(struct ch_lane_wait *w, struct ch_lane *l,
                                    const struct chela_error *failed) {
    struct ch_chat_event *p = CH_CONTAINER(w, struct ch_chat_event, wait);
    p->in.fresh = !failed && l->session->transcript.n == 0;
    dispatch_prepare_arrival(p);
}

/* The channel is told whether a topic is new to its session. Rooms hear every line of a
 * topic and need not know. */
static void dispatch_prepare(struct ch_chat_event *p) {
    struct ch_lane *lane;
    p->preparing = true;
    if (!p->in.about.thread_id || ch_chat_service_agent(p->chat)->companion ||
        ch_chat_lane_use(p->chat, p->in.session, &lane, NULL) < 0) {
        dispatch_prepare_arrival(p);
        return;
    }
    p->wait.ready = dispatch_on_topic_ready;
    ch_lane_when_ready(lane, &p->wait);
}

/* Keeps the messages of one session in order: a picture before the question about it. */
static void dispatch_on_prepared(void *tag) {
    struct ch_chat_event *p = tag;
    struct ch_chat_service *chat = p->chat;
    CH_AUTOFREE char *session = ch_strdup(p->in.session);
    p->preparing = false;
    ch_chat_dispatch_to_lane(p);
    struct ch_chat_event *next = find_predecessor(chat, session);
    if (next && next->queued) {
        next->queued = false;
        dispatch_prepare(next);
    }
}

void ch_chat_dispatch_event(struct ch_chat_event *p) {
    if (ch_chat_commands_run(p))
        return;
    if (!p->chat->channel->ops->prepare)
        ch_chat_dispatch_to_lane(p);
    else if (find_predecessor(p->chat, p->in.session))
        p->queued = true;
    else
        dispatch_prepare(p);
}

void ch_chat_dispatch_judge(struct ch_chat_event *p) {
    struct ch_channel *c = p->chat->channel;
    switch (c->ops->judge(c, &p->in)) {
    case CH_TAKE:
        ch_chat_dispatch_event(p);
        break;
    case CH_MEET:
        ch_chat_pairing_check(p);
        break;
    case CH_IGNORE:
        ch_chat_event_settle(p);
        break;
    case CH_LATER:
        p->awaits_channel = true;
        break;
    }
}

/* The events are parsed again: the channel may now read them differently. */
static void dispatch_on_channel_ready(struct ch_channel *c, void *user) {
    struct ch_chat_service *chat = user;
    struct ch_link *k = chat->events.head.next, *next;
    for (; c == chat->channel && k != &chat->events.head; k = next) {
        struct ch_chat_event *p = CH_CONTAINER(k, struct ch_chat_event, link);
        next = k->next;
        if (!p->awaits_channel)
            continue;
        p->awaits_channel = false;
        if (c->ops->recall(c, p->in.data, &p->arena, &p->in, NULL) == 0)
            ch_chat_dispatch_judge(p);
    }
}

static void dispatch_on_accepted(int rc, const struct chela_error *err, void *user) {
    struct ch_chat_event *p = user;
    p->accepting = false;
    if (p->on_accepted && p->chat)
        p->on_accepted(rc, err, p->accepted_tag);
    if (rc == 0 && p->chat)
        ch_chat_dispatch_judge(p);
    else
        ch_chat_event_drop(p);
}

int ch_chat_dispatch_accept(struct ch_chat_event *p, chela_accepted_fn *done, void *tag,
                            struct chela_error *err) {
    struct chela_inbox_event e =
        CHELA_INBOX_EVENT(.id = p->in.id, .session = p->in.session, .data = p->in.data.p,
                          .n = p->in.data.n);
    p->accepting = true;
    p->on_accepted = done;
    p->accepted_tag = tag;
    return chela_inbox_accept(p->chat->gw->rt, &e, dispatch_on_accepted, p, err);
}

/* A channel fetched a message itself (channel.h). */
static void dispatch_on_arrived(const struct ch_arrival *in, struct ch_arena *a,
                                chela_accepted_fn *done, void *tag, void *user) {
    struct chela_error err = {0};
    struct ch_chat_service *chat = user;
    struct ch_chat_event *p = ch_chat_event_new(chat);
    p->arena = *a;
    p->in = *in;
    if (ch_chat_dispatch_accept(p, done, tag, &err) == 0)
        return;
    ch_chat_event_drop(p);
    done(err.code, &err, tag);
}

struct ch_channel_host ch_chat_dispatch_host(struct ch_chat_service *chat, bool listens) {
    return (struct ch_channel_host){.rt = chat->gw->rt,
                                    .arrived = dispatch_on_arrived,
                                    .decide = ch_approval_decision_apply,
                                    .note = ch_chat_notes_put,
                                    .workspace = ch_chat_service_workspace,
                                    .ready = dispatch_on_channel_ready,
                                    .user = chat,
                                    .listens = listens};
}
