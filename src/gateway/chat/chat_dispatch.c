/* channels.c -- chat services: what arrives there reaches an agent, and its
 * answer goes back (channel/channel.h).
 *
 *   callback --verified, judged--> inbox --stored--> 200
 *       inbox --judged--> lane ready --sent into its session--> settled
 *       end of the run --> outbox --> deliver --> receipt
 *
 * The service is told that it need not send an event again once the inbox has
 * it. An event leaves the inbox when its session has it, in the store; the
 * answer enters the outbox with the end of the run. So whatever this process
 * dies in, the next one finds: at the start it takes up the events of the inbox,
 * the messages of the outbox, and the sessions that were in the middle of
 * something. */
#include "agent/feature/heartbeat/beat.h"
#include "agent/context/context.h"
#include "agent/handle/driver.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "channel/files.h"
#include "gateway/chat/channels.h"

#define NO_WORDS "[a message without words]"

/* --- at work */

/* Of several messages that a run is about the newest is answered. */
static bool is_answered(const struct ch_parcel *p) {
    const chela_run *run = p->lane->run;
    return run && run->answer_to && strcmp(run->answer_to, p->in.to) == 0;
}

static void show_growing(struct ch_parcel *p, const struct chela_event *ev) {
    const struct ch_channel_ops *ops = p->chat->channel->ops;
    if (ops->stream && ev->type == CHELA_EV_TEXT_DELTA && is_answered(p))
        ops->stream(p->chat->channel, &p->in, ch_unstr(ev->delta.so_far));
}

/* The parcel stays until the run that it is in has ended. */
static void on_event(struct ch_watcher *w, const struct chela_event *ev) {
    struct ch_parcel *p = CH_CONTAINER(w, struct ch_parcel, watcher);
    if (ev->type != CHELA_EV_RUN_END) {
        show_growing(p, ev);
        return;
    }
    ch_parcel_working(p, false);
    ch_parcel_drop(p);
}

/* Somebody else has its session. Who that is takes it from the inbox, or we do
 * once they have let go: what comes first. */
static void put_off(struct ch_parcel *p, const struct chela_error *why) {
    p->put_off = why->code == CHELA_EBUSY;
    if (p->tries++ == 0)
        ch_log(p->put_off ? CH_LOG_INFO : CH_LOG_WARN, "gateway", "message %s waits: %s", p->in.id,
               why->message);
    if (!p->put_off)
        ch_parcel_drop(p);
}

/* What a run for this message may not have, whatever its agent may. */
static const char *denied(const struct ch_parcel *p) {
    bool bound = ch_chat_agent(p->chat)->gateway_tool &&
                 !ch_gateway_tool_is_for(p->chat, &p->in.about);
    return bound ? "gateway" : NULL;
}

static int send_in(struct ch_parcel *p, struct ch_lane *l, struct ch_sv text,
                   struct chela_error *err) {
    const char *approve = ch_chat_approve(p->chat);
    struct chela_run_opts opts =
        CHELA_RUN_OPTS(.approve = approve, .channel = p->in.about.channel,
                       .sender = p->in.about.sender_id, .inbound = &p->in.about,
                       .event_id = p->in.id, .answer_to = p->in.to,
                       .deny = denied(p), .media = p->in.media,
                       .nmedia = p->in.nmedia);
    int rc = ch_desk_furnish(p->chat, l, p->in.to, err);
    if (rc == 0 && ch_lane_was_cut_off(l))
        rc = ch_lane_resume(l, approve, err);
    return rc < 0 ? rc : ch_lane_send(l, text, &opts, err);
}

static void on_ready(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *failed) {
    struct ch_parcel *p = CH_CONTAINER(w, struct ch_parcel, wait);
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    if (!failed && p->in.nmedia)
        ch_pictures_fit(&p->in, ch_session_shown(l->session), &p->arena);
    struct ch_sv text = ch_sv_str(*p->in.text ? p->in.text : NO_WORDS);
    CH_BUF_AUTO words = {0};
    if (!failed && ch_context_words(l->agent, p->in.about.channel, p->in.about.sender_id, text,
                                    &words, &err) < 0) {
        ch_parcel_answer(p, err.message);
        return;
    }
    int rc = failed ? err.code : send_in(p, l, ch_buf_sv(&words), &err);
    if (rc == 0) {
        ch_parcel_working(p, true);
        p->watcher.event = on_event;
        p->lane = l;
        ch_lane_watch(l, &p->watcher);
        return;
    }
    if (rc == CHELA_ELIMIT) {
        ch_parcel_answer(p, "Too many messages wait here already. Please say it again later.");
        return;
    }
    if (rc == CHELA_EEXIST)
        ch_parcel_drop(p);
    else
        put_off(p, &err);
}

void ch_parcel_to_lane(struct ch_parcel *p) {
    struct chela_error err = {0};
    struct ch_lane *lane;
    ch_actions_see(p->chat, &p->in);
    if (ch_chat_agent(p->chat)->companion) {
        ch_room_hear(p);
        return;
    }
    p->wait.ready = on_ready;
    if (ch_chat_lane(p->chat, p->in.session, &lane, &err) == 0) {
        ch_lane_when_ready(lane, &p->wait);
        return;
    }
    put_off(p, &err);
}

/* The oldest of a session that is being completed, or waits for one that is. */
static struct ch_parcel *find_ahead(struct ch_chat *chat, const char *session) {
    for (CH_LIST_EACH(k, &chat->parcels)) {
        struct ch_parcel *p = CH_CONTAINER(k, struct ch_parcel, link);
        if ((p->preparing || p->behind) && strcmp(p->in.session, session) == 0)
            return p;
    }
    return NULL;
}

static void on_prepared(void *tag);

static void complete(struct ch_parcel *p) {
    struct ch_channel *c = p->chat->channel;
    p->in.overheard = ch_chat_agent(p->chat)->companion != NULL;
    c->ops->prepare(c, &p->in, &p->arena, ch_chat_workspace(p->chat), on_prepared, p);
}

static void on_known(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *failed) {
    struct ch_parcel *p = CH_CONTAINER(w, struct ch_parcel, wait);
    p->in.fresh = !failed && l->session->transcript.n == 0;
    complete(p);
}

/* A room hears what is said in a topic by itself. */
static void prepare(struct ch_parcel *p) {
    struct ch_lane *lane;
    p->preparing = true;
    if (!p->in.about.thread_id || ch_chat_agent(p->chat)->companion ||
        ch_chat_lane(p->chat, p->in.session, &lane, NULL) < 0) {
        complete(p);
        return;
    }
    p->wait.ready = on_known;
    ch_lane_when_ready(lane, &p->wait);
}

/* Messages of one session stay in order: a picture before the question about it. */
static void on_prepared(void *tag) {
    struct ch_parcel *p = tag;
    struct ch_chat *chat = p->chat;
    CH_AUTOFREE char *session = ch_strdup(p->in.session);
    p->preparing = false;
    ch_parcel_to_lane(p);
    struct ch_parcel *next = find_ahead(chat, session);
    if (next && next->behind) {
        next->behind = false;
        prepare(next);
    }
}

void ch_parcel_take_in(struct ch_parcel *p) {
    if (ch_parcel_command(p))
        return;
    if (!p->chat->channel->ops->prepare)
        ch_parcel_to_lane(p);
    else if (find_ahead(p->chat, p->in.session))
        p->behind = true;
    else
        prepare(p);
}

void ch_parcel_consider(struct ch_parcel *p) {
    struct ch_channel *c = p->chat->channel;
    switch (c->ops->judge(c, &p->in)) {
    case CH_TAKE:
        ch_parcel_take_in(p);
        break;
    case CH_MEET:
        ch_parcel_meet(p);
        break;
    case CH_IGNORE:
        ch_parcel_settle(p);
        break;
    case CH_LATER:
        p->later = true;
        break;
    }
}

/* What it says may depend on what the channel knows by now. */
static void on_channel_ready(struct ch_channel *c, void *user) {
    struct ch_chat *chat = user;
    struct ch_link *k = chat->parcels.head.next, *next;
    for (; c == chat->channel && k != &chat->parcels.head; k = next) {
        struct ch_parcel *p = CH_CONTAINER(k, struct ch_parcel, link);
        next = k->next;
        if (!p->later)
            continue;
        p->later = false;
        if (c->ops->recall(c, p->in.data, &p->arena, &p->in, NULL) == 0)
            ch_parcel_consider(p);
    }
}

static void accepted(int rc, const struct chela_error *err, void *user) {
    struct ch_parcel *p = user;
    p->accepting = false;
    if (p->done && p->chat)
        p->done(rc, err, p->tag);
    if (rc == 0 && p->chat)
        ch_parcel_consider(p);
    else
        ch_parcel_drop(p);
}

int ch_parcel_accept(struct ch_parcel *p, chela_accepted_fn *done, void *tag,
                     struct chela_error *err) {
    struct chela_inbox_event e =
        CHELA_INBOX_EVENT(.id = p->in.id, .session = p->in.session, .data = p->in.data.p,
                          .n = p->in.data.n);
    p->accepting = true;
    p->done = done;
    p->tag = tag;
    return chela_inbox_accept(p->chat->gw->rt, &e, accepted, p, err);
}

/* A channel fetched something (channel.h). */
static void on_arrived(const struct ch_arrival *in, struct ch_arena *a, chela_accepted_fn *done,
                       void *tag, void *user) {
    struct chela_error err = {0};
    struct ch_chat *chat = user;
    struct ch_parcel *p = ch_parcel_new(chat);
    p->arena = *a;
    p->in = *in;
    if (ch_parcel_accept(p, done, tag, &err) == 0)
        return;
    ch_parcel_drop(p);
    done(err.code, &err, tag);
}

struct ch_channel_host ch_chat_host(struct ch_chat *chat, bool listens) {
    return (struct ch_channel_host){.rt = chat->gw->rt, .arrived = on_arrived,
                                    .decide = ch_desk_decide, .note = ch_chat_note,
                                    .workspace = ch_chat_workspace,
                                    .ready = on_channel_ready, .user = chat, .listens = listens};
}

