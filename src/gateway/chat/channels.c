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
#include "io/worker.h"
#include "gateway/http/routes.h"
#include "gateway/server/orphan_scan.h"
#include "store/store.h"

#define NO_WORDS "[a message without words]"
#define LOOK_BACK_MS (24 * 60 * 60 * 1000)
#define LEFT_MS 5000       /* an event that its gateway did not deliver */
#define ABANDONED_MS 30000 /* a message that its gateway did not send */

/* --- an arrival on its way */

static struct ch_parcel *new_parcel(struct ch_chat *chat) {
    struct ch_parcel *p = ch_alloc(sizeof(*p));
    p->chat = chat;
    ch_list_add(&chat->parcels, &p->link);
    return p;
}

void ch_parcel_drop(struct ch_parcel *p) {
    ch_list_del(&p->link);
    ch_list_del(&p->room);
    ch_list_del(&p->wait.link);
    ch_lane_unwatch(&p->watcher);
    ch_arena_release(&p->arena);
    ch_free(p);
}

void ch_parcel_settle(struct ch_parcel *p) {
    chela_inbox_settle(p->chat->gw->rt, p->in.id, NULL);
    ch_parcel_drop(p);
}

void ch_parcel_answer(struct ch_parcel *p, const char *text) {
    struct chela_error err = {0};
    CH_BUF_AUTO key = {0};
    ch_buf_addf(&key, "%s:answer", p->in.id);
    struct chela_outbound m = CHELA_OUTBOUND(.key = ch_buf_str(&key), .session = p->in.session,
                                             .channel = p->chat->channel->ops->name,
                                             .to = p->in.to, .text = text);
    if (chela_outbox_put(p->chat->gw->rt, &m, NULL, NULL, &err) < 0)
        ch_log(CH_LOG_WARN, "gateway", "message %s is not answered: %s", p->in.id, err.message);
    ch_parcel_settle(p);
}

/* --- at work */

void ch_parcel_working(struct ch_parcel *p, bool at_work) {
    const struct ch_channel_ops *ops = p->chat->channel->ops;
    p->at_work = at_work;
    if (ops->working)
        ops->working(p->chat->channel, &p->in, at_work);
}

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

chela_agent *ch_chat_agent(const struct ch_chat *chat) {
    chela_agent *agent = ch_gateway_agent(chat->gw, ch_sv_str(chat->agent));
    return agent ? agent : chat->gw->agents[0];
}

static int equip(chela_gateway *gw, chela_agent *agent, const char *key,
                 struct chela_error *err) {
    int rc = ch_actions_equip(gw, agent, key, err);
    return rc < 0 ? rc : ch_gateway_tool_equip(gw, agent, key, err);
}

int ch_chat_lane(struct ch_chat *chat, const char *key, struct ch_lane **out,
                 struct chela_error *err) {
    struct ch_lane_opts o = {.agent = ch_chat_agent(chat), .key = key, .equip = equip};
    ch_wish_patch(chat, key, &o.patch);
    return ch_lane_use(chat->gw, &o, out, err);
}

static void to_lane(struct ch_parcel *p) {
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

static const char *workspace(void *user) {
    const struct ch_chat *chat = user;
    const chela_agent *agent = ch_gateway_agent(chat->gw, ch_sv_str(chat->agent));
    return (agent ? agent : chat->gw->agents[0])->workspace;
}

static void complete(struct ch_parcel *p) {
    struct ch_channel *c = p->chat->channel;
    p->in.overheard = ch_chat_agent(p->chat)->companion != NULL;
    c->ops->prepare(c, &p->in, &p->arena, workspace(p->chat), on_prepared, p);
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
    to_lane(p);
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
        to_lane(p);
    else if (find_ahead(p->chat, p->in.session))
        p->behind = true;
    else
        prepare(p);
}

static void consider(struct ch_parcel *p) {
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
            consider(p);
    }
}

/* --- a callback */

static struct ch_sv header_of(const void *request, const char *name) {
    return ch_inbound_count(request, name) == 1 ? ch_inbound_header(request, name)
                                                : ch_sv(NULL, 0);
}

static void on_left(struct ch_visit *v) {
    ((struct ch_parcel *)v->user)->visit = NULL;
}

static void answer(struct ch_visit *v, struct ch_sv json) {
    CH_BUF_AUTO out = {0};
    ch_buf_add_sv(&out, json);
    ch_visit_json(v, 200, &out);
}

static void accepted(int rc, const struct chela_error *err, void *user) {
    struct ch_parcel *p = user;
    struct ch_visit *v = p->visit;
    bool safe = rc == 0 || rc == CHELA_EEXIST;
    p->accepting = false;
    if (v) {
        v->left = NULL;
        p->visit = NULL;
    }
    if (v && safe)
        answer(v, CH_SV("{}"));
    else if (v)
        ch_visit_fail(v, 503, NULL, "the event cannot be stored: %s",
                      err ? err->message : chela_error_text(rc));
    if (p->done && p->chat)
        p->done(rc, err, p->tag);
    if (rc == 0 && p->chat)
        consider(p);
    else
        ch_parcel_drop(p);
}

static int accept_parcel(chela_runtime *rt, struct ch_parcel *p, struct chela_error *err) {
    struct chela_inbox_event e =
        CHELA_INBOX_EVENT(.id = p->in.id, .session = p->in.session, .data = p->in.data.p,
                          .n = p->in.data.n);
    p->accepting = true;
    return chela_inbox_accept(rt, &e, accepted, p, err);
}

static void accept_visit(struct ch_visit *v, struct ch_parcel *p) {
    struct chela_error err = {0};
    p->visit = v;
    v->user = p;
    v->left = on_left;
    if (accept_parcel(v->gw->rt, p, &err) == 0)
        return;
    v->left = NULL;
    ch_parcel_drop(p);
    ch_visit_error(v, &err);
}

/* A channel fetched something (channel.h). */
static void on_arrived(const struct ch_arrival *in, struct ch_arena *a, chela_accepted_fn *done,
                       void *tag, void *user) {
    struct chela_error err = {0};
    struct ch_chat *chat = user;
    struct ch_parcel *p = new_parcel(chat);
    p->arena = *a;
    p->in = *in;
    p->done = done;
    p->tag = tag;
    if (accept_parcel(chat->gw->rt, p, &err) == 0)
        return;
    ch_parcel_drop(p);
    done(err.code, &err, tag);
}

static struct ch_chat *find(const chela_gateway *gw, struct ch_sv name) {
    for (CH_LIST_EACH(k, &gw->chats)) {
        struct ch_chat *chat = CH_CONTAINER(k, struct ch_chat, link);
        if (ch_sv_is(name, chat->channel->ops->name))
            return chat;
    }
    return NULL;
}

struct ch_channel_host ch_chat_host(struct ch_chat *chat, bool listens) {
    return (struct ch_channel_host){.rt = chat->gw->rt, .arrived = on_arrived,
                                    .decide = ch_desk_decide, .note = ch_chat_note,
                                    .workspace = workspace,
                                    .ready = on_channel_ready, .user = chat, .listens = listens};
}

void ch_channel_call(struct ch_visit *v) {
    struct ch_chat *chat = find(v->gw, v->param);
    const struct ch_inbound *in = ch_exchange_inbound(v->x);
    struct ch_callback call = {.header = header_of,
                               .request = in,
                               .body = v->body,
                               .json = v->json,
                               .now = ch_now_ms(ch_loop_clock(v->gw->rt->loop))};
    struct ch_verdict verdict = {.status = 401, .why = "there is no such channel"};
    bool open = chat && !chat->leaving && chat->channel->ops->receive;
    struct ch_parcel *p = open ? new_parcel(chat) : NULL;
    if (p)
        chat->channel->ops->receive(chat->channel, &call, &p->arena, &verdict);
    if (verdict.arrived) {
        p->in = verdict.arrival;
        accept_visit(v, p);
        return;
    }
    if (verdict.decision) {
        ch_desk_visit(v, chat, verdict.decision);
        ch_parcel_drop(p);
        return;
    }
    v->gw->counters.refused += verdict.status == 401;
    if (verdict.status == 200)
        answer(v, verdict.answer);
    else
        ch_visit_fail(v, verdict.status, NULL, "%s", verdict.why);
    if (p)
        ch_parcel_drop(p);
}

/* --- what an earlier process left */

struct found {
    struct ch_link link;
    enum { EVENT, MESSAGE, SESSION, WISH, NOTE } kind;
    char *id, *key, *state, *data; /* owned; those that the kind has */
    size_t n;
    uint64_t attempts;
    bool held; /* MESSAGE: another process may have its session */
};

struct ch_recovery {
    struct ch_work work;
    chela_gateway *gw; /* NULL: it was closed */
    chela_store *store;
    char **names; /* owned: of the channels; NULL-terminated */
    int64_t since, now;
    bool first; /* at the start: what rests is looked at, too */
    int rc;
    struct ch_list found;
};

static struct found *add_found(struct ch_recovery *r, int kind, const char *key) {
    struct found *f = ch_alloc(sizeof(*f));
    f->kind = kind;
    f->key = ch_strdup(key);
    ch_list_add(&r->found, &f->link);
    return f;
}

static bool is_of_channel(const struct ch_recovery *r, const char *id) {
    for (char **name = r->names; *name; name++) {
        size_t n = strlen(*name);
        if (strncmp(id, *name, n) == 0 && id[n] == ':')
            return true;
    }
    return false;
}

static int found_item(struct ch_recovery *r, const struct chela_store_item *i, int kind) {
    struct found *f = add_found(r, kind, i->key);
    f->id = ch_strdup(i->id);
    f->state = ch_strdup(i->state);
    f->data = ch_strndup(i->data, i->n);
    f->n = i->n;
    f->attempts = i->attempts;
    return 0;
}

static int found_event(const struct chela_store_item *i, void *user) {
    return is_of_channel(user, i->id) ? found_item(user, i, EVENT) : 0;
}

static int found_message(const struct chela_store_item *i, void *user) {
    return is_of_channel(user, i->key) ? found_item(user, i, MESSAGE) : 0;
}

static int found_note(const struct chela_store_item *i, void *user) {
    const char *wish = ch_wish_session(i->id);
    const char *session = wish ? wish : ch_chat_note_owner(i->id);
    if (!session || !is_of_channel(user, session))
        return 0;
    found_item(user, i, wish ? WISH : NOTE);
    struct found *f = CH_CONTAINER(((struct ch_recovery *)user)->found.head.prev, struct found,
                                   link);
    ch_free(f->key);
    f->key = ch_strdup(session);
    return 0;
}

/* One that rests may still have messages that wait for a run; one that is paused,
 * a question that nobody was asked. */
static int found_session(const struct chela_store_session *s, void *user) {
    struct ch_recovery *r = user;
    bool rests = strcmp(s->status, "idle") == 0, runs = strcmp(s->status, "running") == 0;
    if (is_of_channel(r, s->key) && !ch_session_is_held(s, r->now) &&
        (runs || (r->first && (!rests || s->updated > r->since))))
        add_found(r, SESSION, s->key);
    return 0;
}

static int see_if_held(const struct chela_store_session *s, void *user) {
    struct found *f = user;
    f->held = ch_session_is_held(s, ch_store_now());
    return 0;
}

static void look(struct ch_work *w) {
    struct ch_recovery *r = CH_CONTAINER(w, struct ch_recovery, work);
    struct chela_error err = {0}, gone = {0};
    struct chela_store_filter all = CHELA_STORE_FILTER(.limit = CH_LIMIT_LISTED,
                                                       .status = r->first ? NULL : "running");
    int rc = chela_store_items(r->store, CHELA_STORE_NOTES, found_note, r, &err);
    if (rc == 0)
        rc = chela_store_list(r->store, &all, found_session, r, &err);
    if (rc == 0)
        rc = chela_store_items(r->store, CHELA_STORE_OUTBOX, found_message, r, &err);
    if (rc == 0)
        rc = chela_store_items(r->store, CHELA_STORE_INBOX, found_event, r, &err);
    r->rc = rc;
    if (rc < 0)
        ch_log(CH_LOG_ERROR, "gateway", "what channels left cannot be read: %s", err.message);
    for (CH_LIST_EACH(k, &r->found)) {
        struct found *f = CH_CONTAINER(k, struct found, link);
        if (f->kind == MESSAGE)
            chela_store_session(r->store, f->key, see_if_held, f, &gone);
    }
}

static void free_found(struct found *f) {
    ch_list_del(&f->link);
    ch_free(f->id);
    ch_free(f->key);
    ch_free(f->state);
    ch_free(f->data);
    ch_free(f);
}

static void forget(struct ch_work *w) {
    struct ch_recovery *r = CH_CONTAINER(w, struct ch_recovery, work);
    for (struct found *f; (f = CH_LIST_FIRST(&r->found, struct found, link));)
        free_found(f);
    for (char **name = r->names; *name; name++)
        ch_free(*name);
    ch_free(r->names);
    ch_free(r);
}

static void on_taken_up(struct ch_lane_wait *w, struct ch_lane *l,
                        const struct chela_error *failed) {
    struct ch_parcel *p = CH_CONTAINER(w, struct ch_parcel, wait);
    const char *approve = ch_chat_approve(p->chat);
    struct chela_run_opts opts = CHELA_RUN_OPTS(.approve = approve);
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    int rc = failed ? err.code : ch_desk_furnish(p->chat, l, NULL, &err);
    if (rc == 0 && strcmp(chela_session_status(l->session), "paused") == 0)
        ch_desk_ask_again(p->chat, l);
    else if (rc == 0)
        rc = ch_lane_was_cut_off(l) ? ch_lane_resume(l, approve, &err)
                            : ch_lane_send(l, ch_sv(NULL, 0), &opts, &err);
    if (rc == 0 && l->running && ch_chat_agent(p->chat)->companion)
        ch_room_follow(p->chat, l);
    if (rc < 0 && rc != CHELA_ENOENT)
        ch_log(CH_LOG_WARN, "gateway", "session %s is not taken up: %s", p->in.session,
               err.message);
    ch_parcel_drop(p);
}

struct ch_chat *ch_chat_of(const chela_gateway *gw, const char *key) {
    struct ch_sv rest = ch_sv_str(key);
    return find(gw, ch_sv_split(&rest, ':'));
}

static void take_up_session(struct ch_chat *chat, const struct found *f) {
    struct ch_parcel *p = new_parcel(chat);
    struct chela_error err = {0};
    struct ch_lane *lane;
    p->in = (struct ch_arrival){.session = ch_arena_str(&p->arena, ch_sv_str(f->key)),
                                .to = "", .about = {.chat_id = ""}};
    p->wait.ready = on_taken_up;
    if (ch_chat_lane(chat, p->in.session, &lane, &err) == 0) {
        ch_lane_when_ready(lane, &p->wait);
        return;
    }
    ch_log(CH_LOG_WARN, "gateway", "session %s is not taken up: %s", f->key, err.message);
    ch_parcel_drop(p);
}

static void take_up_event(struct ch_chat *chat, const struct found *f) {
    struct ch_parcel *p = new_parcel(chat);
    struct chela_error err = {0};
    struct ch_channel *c = chat->channel;
    if (c->ops->recall(c, ch_sv(f->data, f->n), &p->arena, &p->in, &err) == 0) {
        consider(p);
        return;
    }
    ch_log(CH_LOG_WARN, "gateway", "event %s is dropped: %s", f->id, err.message);
    p->in.id = ch_arena_str(&p->arena, ch_sv_str(f->id));
    ch_parcel_settle(p);
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

bool ch_channels_own(const chela_gateway *gw, const char *session) {
    return ch_chat_of(gw, session) != NULL;
}

static bool is_under_way(const struct ch_chat *chat, const struct found *f) {
    for (CH_LIST_EACH(k, &chat->parcels)) {
        const struct ch_parcel *p = CH_CONTAINER(k, struct ch_parcel, link);
        if (f->id && p->in.id && strcmp(p->in.id, f->id) == 0)
            return true;
    }
    return false;
}

/* May we have it? Another gateway may be at it: who has the session goes first,
 * and what is new is left to whoever accepted or wrote it. */
static bool is_ours(const struct ch_recovery *r, const struct found *f) {
    chela_gateway *gw = r->gw;
    bool open = ch_lane_find(gw, ch_sv_str(f->key));
    if (f->kind == NOTE)
        return true;
    if (f->kind == SESSION || f->kind == WISH)
        return f->kind == WISH ? !ch_chat_of(gw, f->key)->reminded : !open;
    int64_t age = ch_lookout_sighted(gw->lookout, f->id);
    if (r->first && !ch_gateway_is_shared(gw))
        return true;
    if (f->kind == EVENT)
        return open || age >= LEFT_MS;
    return open ? age >= LEFT_MS : !f->held && age >= ABANDONED_MS;
}

static void take_up(chela_gateway *gw, const struct found *f) {
    struct ch_chat *chat = ch_chat_of(gw, f->key);
    struct chela_error err = {0};
    struct chela_store_item item = {.id = f->id, .key = f->key, .state = f->state, .data = f->data,
                                    .n = f->n, .attempts = f->attempts};
    if (chat && f->kind == WISH)
        ch_wish_recall(chat, f->key, ch_sv(f->data, f->n));
    else if (chat && f->kind == NOTE)
        ch_chat_remind(chat, f->key, ch_sv(f->data, f->n));
    else if (chat && f->kind == SESSION)
        take_up_session(chat, f);
    else if (chat && f->kind == EVENT)
        take_up_event(chat, f);
    else if (chat && chela_outbox_recall(gw->rt, &item, &err) < 0)
        ch_log(CH_LOG_WARN, "gateway", "message %s is not sent: %s", f->id, err.message);
}

void ch_channels_forget_recovery(chela_gateway *gw) {
    if (gw->channel_recovery)
        gw->channel_recovery->gw = NULL;
}

static bool is_in_inbox(const struct ch_recovery *r, const char *id) {
    for (CH_LIST_EACH(k, &r->found)) {
        const struct found *f = CH_CONTAINER(k, struct found, link);
        if (f->kind == EVENT && strcmp(f->id, id) == 0)
            return true;
    }
    return false;
}

/* What was put off: again, unless it has been dealt with elsewhere. */
static void try_again(const struct ch_recovery *r, struct ch_chat *chat) {
    struct ch_link *k = chat->parcels.head.next, *next;
    for (; k != &chat->parcels.head; k = next) {
        struct ch_parcel *p = CH_CONTAINER(k, struct ch_parcel, link);
        next = k->next;
        if (!p->sought)
            continue;
        p->sought = p->put_off = false;
        if (is_in_inbox(r, p->in.id))
            to_lane(p);
        else
            ch_parcel_drop(p);
    }
}

static void looked(struct ch_work *w) {
    struct ch_recovery *r = CH_CONTAINER(w, struct ch_recovery, work);
    if (r->gw && !r->gw->draining && r->rc == 0)
        for (CH_LIST_EACH(k, &r->gw->chats))
            try_again(r, CH_CONTAINER(k, struct ch_chat, link));
    for (struct found *f; r->gw && (f = CH_LIST_FIRST(&r->found, struct found, link));) {
        struct ch_chat *chat = ch_chat_of(r->gw, f->key);
        if (chat && !r->gw->draining && !is_under_way(chat, f) && is_ours(r, f))
            take_up(r->gw, f);
        free_found(f);
    }
    for (char **name = r->names; r->gw && *name; name++) {
        struct ch_chat *chat = find(r->gw, ch_sv_str(*name));
        if (chat && r->rc == 0)
            chat->reminded = true;
        if (chat && r->rc == 0 && !r->gw->draining)
            ch_chat_notes_looked(chat);
    }
    if (r->gw)
        r->gw->channel_recovery = NULL;
    forget(w);
}

void ch_channels_recover(chela_gateway *gw) {
    size_t n = 0;
    if (ch_list_empty(&gw->chats) || gw->channel_recovery)
        return;
    struct ch_recovery *r = ch_alloc(sizeof(*r));
    r->work = (struct ch_work){.run = look, .done = looked, .dropped = forget};
    r->gw = gw;
    r->store = gw->store;
    r->now = ch_now_ms(ch_loop_clock(gw->rt->loop));
    r->since = r->now - LOOK_BACK_MS;
    r->first = ch_lookout_is_first(gw->lookout);
    ch_list_init(&r->found);
    r->names = ch_alloc(sizeof(*r->names));
    for (CH_LIST_EACH(k, &gw->chats)) {
        struct ch_chat *chat = CH_CONTAINER(k, struct ch_chat, link);
        if (chat->leaving)
            continue;
        r->names = ch_realloc(r->names, (n + 2) * sizeof(*r->names));
        r->names[n++] = ch_strdup(chat->channel->ops->name);
        r->names[n] = NULL;
        ch_chat_notes_look(chat);
        for (CH_LIST_EACH(i, &chat->parcels)) {
            struct ch_parcel *p = CH_CONTAINER(i, struct ch_parcel, link);
            p->sought = p->put_off;
        }
    }
    gw->channel_recovery = r;
    ch_work_submit(gw->rt->workers, &r->work);
}
