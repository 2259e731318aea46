/* chat_dispatch.c -- see chat_dispatch.h. */
#include "gateway/chat/chat_dispatch.h"

#include "agent/context/context.h"
#include "agent/feature/heartbeat/beat.h"
#include "agent/handle/run.h"
#include "agent/handle/run_origin.h"
#include "agent/machine/event.h"
#include "agent/session/input_queue.h"
#include "base/error.h"
#include "base/log.h"
#include "channel/files.h"
#include "gateway/chat/approval_decision.h"
#include "gateway/chat/approval_prompt.h"
#include "gateway/chat/chat_actions.h"
#include "gateway/chat/chat_callback.h"
#include "gateway/chat/chat_commands.h"
#include "gateway/chat/chat_event.h"
#include "gateway/chat/chat_lane.h"
#include "gateway/chat/chat_language.h"
#include "gateway/chat/chat_notes.h"
#include "gateway/chat/chat_pairing.h"
#include "gateway/chat/chat_room.h"
#include "gateway/chat/chat_service.h"
#include "gateway/chat/chat_window.h"
#include "gateway/chat/gateway_tool.h"
#include "gateway/chat/reply_target.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"

#define NO_WORDS "[a message without words]"

/* --- sending an event to its session */

/* A run that processes several messages replies to the newest. */
static bool dispatch_is_answered(const struct ch_chat_event *e) {
    const chela_run *run = e->lane->run;
    const char *to = run ? ch_run_origin_answer_to(run) : NULL;
    return to && strcmp(to, e->in.to) == 0;
}

static void stream_reply(struct ch_chat_event *e, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_TEXT_DELTA && dispatch_is_answered(e))
        ch_channel_stream(e->chat->channel, &e->in, ch_unstr(ev->delta.so_far));
}

/* The event lives until its run ends. */
static void dispatch_on_event(struct ch_lane_watcher *w, const struct chela_event *ev) {
    struct ch_chat_event *e = CH_CONTAINER(w, struct ch_chat_event, watcher);
    if (ev->type != CHELA_EV_RUN_END) {
        stream_reply(e, ev);
        return;
    }
    ch_chat_event_show_working(e, false);
    ch_chat_event_drop(e);
}

/* The oldest event of the session that is preparing or queued. */
static struct ch_chat_event *find_predecessor(struct ch_chat_service *chat, const char *session) {
    for (CH_LIST_EACH(k, &chat->events)) {
        struct ch_chat_event *e = CH_CONTAINER(k, struct ch_chat_event, link);
        if ((e->preparing || e->queued) && strcmp(e->in.session, session) == 0)
            return e;
    }
    return NULL;
}

/* The event stays in the inbox: the gateway that holds the session takes the event up, or
 * the next recovery finds it. If a command closed the session, the event follows the command. */
static void dispatch_leave(struct ch_chat_event *e, const struct chela_error *why) {
    bool elsewhere = why->code == CHELA_EBUSY || why->code == CHELA_EEXIST;
    e->queued = why->code == CHELA_ESTATE && find_predecessor(e->chat, e->in.session);
    if (e->queued)
        return;
    ch_log(elsewhere ? CH_LOG_INFO : CH_LOG_WARN, "gateway", "message %s waits: %s", e->in.id,
           why->message);
    ch_chat_event_drop(e);
}

/* Tools that a run for this message must not use. */
static const char *denied_tools(const struct ch_chat_event *e) {
    bool bound = ch_chat_service_agent(e->chat)->gateway_tool &&
                 !ch_gateway_tool_is_allowed(e->chat, &e->in.about);
    return bound ? "gateway" : NULL;
}

static int send_to_session(struct ch_chat_event *e, struct ch_lane *l, struct ch_sv text,
                           struct chela_error *err) {
    enum chela_approve approve = ch_approval_prompt_policy(e->chat);
    struct chela_run_opts opts =
        CHELA_RUN_OPTS(.approve = approve, .channel = e->in.about.channel,
                       .sender = e->in.about.sender_id, .inbound = &e->in.about,
                       .event_id = e->in.id, .answer_to = e->in.to, .deny = denied_tools(e),
                       .media = e->in.media, .nmedia = e->in.nmedia);
    int rc = ch_reply_target_attach(e->chat, l, e->in.to, err);
    if (rc < 0)
        return rc;
    ch_lane_resume_first(l, approve);
    return ch_lane_send(l, text, &opts, err);
}

static int dispatch_take(struct ch_turn *t, struct ch_lane *l, const struct chela_error *failed) {
    struct ch_chat_event *e = CH_CONTAINER(t, struct ch_chat_event, turn);
    struct chela_error err = {0};
    if (failed) {
        dispatch_leave(e, failed);
        return 0;
    }
    if (e->in.nmedia)
        ch_pictures_fit(&e->in, ch_input_queue_media(l->session), &e->arena);
    struct ch_sv text = ch_sv_str(*e->in.text ? e->in.text : NO_WORDS);
    CH_BUF_AUTO words = {0};
    int rc = ch_context_words(l->agent, e->in.about.channel, e->in.about.sender_id, text, &words,
                              &err);
    struct ch_spender who = {l->agent->id, e->in.about.channel, e->in.about.sender_id};
    if (rc == 0)
        rc = ch_budgets_admit(e->chat->gw, &who, &err);
    if (rc < 0) {
        ch_chat_language_reply(e, rc == CHELA_EBUDGET ? CH_SAY_BUDGET_USED_UP
                                                      : CH_SAY_MESSAGE_REFUSED,
                               CH_SAY_VALUES(ch_sv_str(err.message)));
        return rc;
    }
    ch_chat_language(e); /* remembered for the sender's commands */
    rc = send_to_session(e, l, ch_buf_sv(&words), &err);
    if (rc == 0) {
        ch_chat_event_show_working(e, true);
        e->watcher.event = dispatch_on_event;
        e->lane = l;
        ch_lane_watch(l, &e->watcher);
    } else if (rc == CHELA_ELIMIT) {
        ch_chat_language_tell(e, CH_SAY_TOO_MANY_WAIT);
    } else {
        dispatch_leave(e, &err);
    }
    return rc;
}

static void dispatch_on_lane_ready(struct ch_lane_wait *w, struct ch_lane *l,
                                   const struct chela_error *failed) {
    struct ch_chat_event *e = CH_CONTAINER(w, struct ch_chat_event, wait);
    if (failed) {
        dispatch_leave(e, failed);
        return;
    }
    e->turn.id = e->in.id;
    e->turn.kind = CH_TURN_JOINS;
    e->turn.take = dispatch_take;
    ch_lane_inbox_wait(l, &e->turn);
}

static void dispatch_on_budgets(struct ch_budget_wait *w) {
    struct ch_chat_event *e = CH_CONTAINER(w, struct ch_chat_event, budget);
    struct chela_error err = {0};
    struct ch_lane *lane;
    ch_chat_actions_on_received(e->chat, &e->in);
    if (ch_companion_of(ch_chat_service_agent(e->chat))) {
        ch_chat_room_hear(e);
        return;
    }
    e->wait.ready = dispatch_on_lane_ready;
    if (ch_chat_lane_use(e->chat, e->in.session, &lane, &err) == 0) {
        ch_lane_when_ready(lane, &e->wait);
        return;
    }
    dispatch_leave(e, &err);
}

/* Sends a prepared event to its session. */
static void dispatch_to_lane(struct ch_chat_event *e) {
    e->budget.known = dispatch_on_budgets;
    ch_budgets_when_known(e->chat->gw, &e->budget);
}

static void dispatch_on_prepared(void *tag);

static void dispatch_prepare_arrival(struct ch_chat_event *e) {
    e->in.overheard = ch_companion_of(ch_chat_service_agent(e->chat)) != NULL;
    if (!ch_channel_prepare(e->chat->channel, &e->in, &e->arena, ch_chat_service_workspace(e->chat),
                            dispatch_on_prepared, e))
        dispatch_on_prepared(e);
}

static void dispatch_on_topic_ready(struct ch_lane_wait *w, struct ch_lane *l,
                                    const struct chela_error *failed) {
    struct ch_chat_event *e = CH_CONTAINER(w, struct ch_chat_event, wait);
    e->in.fresh = !failed && l->session->transcript.n == 0;
    dispatch_prepare_arrival(e);
}

/* Tells the channel whether a topic is new to its session. Rooms hear every line of a topic
 * and do not need this. */
static void dispatch_prepare(struct ch_chat_event *e) {
    struct ch_lane *lane;
    e->preparing = true;
    if (!e->in.about.thread_id || ch_companion_of(ch_chat_service_agent(e->chat)) ||
        ch_chat_lane_use(e->chat, e->in.session, &lane, NULL) < 0) {
        dispatch_prepare_arrival(e);
        return;
    }
    e->wait.ready = dispatch_on_topic_ready;
    ch_lane_when_ready(lane, &e->wait);
}

/* Keeps the messages of one session in order: a picture before the question about it. */
static void dispatch_on_prepared(void *tag) {
    struct ch_chat_event *e = tag;
    struct ch_chat_service *chat = e->chat;
    CH_AUTOFREE char *session = ch_strdup(e->in.session);
    e->preparing = false;
    e->prepared = true;
    dispatch_to_lane(e);
    ch_chat_dispatch_next(chat, session);
}

void ch_chat_dispatch_next(struct ch_chat_service *chat, const char *session) {
    struct ch_chat_event *next = find_predecessor(chat, session);
    if (!next || !next->queued)
        return;
    next->queued = false;
    if (next->prepared)
        dispatch_on_prepared(next);
    else
        dispatch_prepare(next);
}

void ch_chat_dispatch_event(struct ch_chat_event *e) {
    if (ch_chat_commands_run(e))
        return;
    ch_chat_window_take(e);
    if (find_predecessor(e->chat, e->in.session))
        e->queued = true;
    else
        dispatch_prepare(e);
}

void ch_chat_dispatch_judge(struct ch_chat_event *e) {
    switch (ch_channel_judge(e->chat->channel, &e->in)) {
    case CHELA_CHANNEL_TAKE:
        ch_chat_dispatch_event(e);
        break;
    case CHELA_CHANNEL_MEET:
        ch_chat_pairing_check(e);
        break;
    case CHELA_CHANNEL_IGNORE:
        ch_chat_event_settle(e);
        break;
    case CHELA_CHANNEL_LATER:
        e->awaits_channel = true;
        break;
    }
}

/* The events are parsed again: the channel may now read them differently. */
static void dispatch_on_channel_ready(struct ch_channel *c, void *user) {
    struct ch_chat_service *chat = user;
    struct ch_link *k = chat->events.head.next, *next;
    for (; c == chat->channel && k != &chat->events.head; k = next) {
        struct ch_chat_event *e = CH_CONTAINER(k, struct ch_chat_event, link);
        next = k->next;
        if (!e->awaits_channel)
            continue;
        e->awaits_channel = false;
        if (ch_channel_recall(c, ch_sv_of(e->in.data), &e->arena, &e->in, NULL) == 0)
            ch_chat_dispatch_judge(e);
    }
}

static void dispatch_on_accepted(int rc, const struct chela_error *err, void *user) {
    struct ch_chat_event *e = user;
    e->accepting = false;
    if (e->on_accepted && e->chat)
        e->on_accepted(rc, err, e->accepted_tag);
    if (rc == 0 && e->chat) {
        ch_chat_dispatch_judge(e);
        return;
    }
    /* If the lane read the event meanwhile, the lane left it to e. */
    struct ch_lane *l = e->chat ? ch_lane_find(e->chat->gw, ch_sv_str(e->in.session)) : NULL;
    ch_chat_event_drop(e);
    if (l)
        ch_lane_inbox_poke(l);
}

int ch_chat_dispatch_accept(struct ch_chat_event *e, chela_accepted_fn *done, void *tag,
                            struct chela_error *err) {
    struct chela_inbox_event stored = CHELA_INBOX_EVENT(.id = e->in.id, .session = e->in.session,
                                                        .data = e->in.data.p, .n = e->in.data.n);
    e->chat->channel->last_seen = ch_now_ms(ch_loop_clock(e->chat->gw->rt->loop));
    e->accepting = true;
    e->on_accepted = done;
    e->accepted_tag = tag;
    return chela_inbox_accept(e->chat->gw->rt, &stored, dispatch_on_accepted, e, err);
}

/* A channel fetched a message itself (channel.h). */
static void dispatch_on_arrived(const struct chela_channel_arrival *in, struct ch_arena *a,
                                chela_accepted_fn *done, void *tag, void *user) {
    struct chela_error err = {0};
    struct ch_chat_service *chat = user;
    struct ch_chat_event *e = ch_chat_event_new(chat);
    e->arena = *a;
    e->in = *in;
    if (ch_chat_dispatch_accept(e, done, tag, &err) == 0)
        return;
    ch_chat_event_drop(e);
    done(err.code, &err, tag);
}

struct ch_channel_gateway ch_chat_dispatch_host(struct ch_chat_service *chat, bool listens) {
    return (struct ch_channel_gateway){.rt = chat->gw->rt,
                                       .arrived = dispatch_on_arrived,
                                       .overheard = ch_chat_window_hear,
                                       .respond = ch_chat_callback_respond,
                                       .decide = ch_approval_decision_apply,
                                       .note = ch_chat_notes_put,
                                       .workspace = ch_chat_service_workspace,
                                       .ready = dispatch_on_channel_ready,
                                       .user = chat,
                                       .listens = listens,
                                       .others_fetch = chat->gw->worker > 1};
}
