/* chat_recovery.c -- takes up what other processes left: the events of the inbox, the
 * messages of the outbox, and the sessions that were in the middle of something. */
#include "base/limits.h"
#include "base/log.h"
#include "gateway/chat/channels.h"
#include "gateway/lane/orphans.h"
#include "io/worker.h"
#include "store/store.h"

#define LOOK_BACK_MS (24 * 60 * 60 * 1000)
#define LEFT_MS 5000       /* an event that its gateway did not deliver */
#define ABANDONED_MS 30000 /* a message that its gateway did not send */

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
    if (is_of_channel(r, s->key) && !ch_orphans_lease_is_held(s, r->now) &&
        (runs || (r->first && (!rests || s->updated > r->since))))
        add_found(r, SESSION, s->key);
    return 0;
}

static int see_if_held(const struct chela_store_session *s, void *user) {
    struct found *f = user;
    f->held = ch_orphans_lease_is_held(s, ch_store_now());
    return 0;
}

static void look(struct ch_work *w) {
    struct ch_recovery *r = CH_CONTAINER(w, struct ch_recovery, work);
    struct chela_error err = {0}, gone = {0};
    struct chela_store_filter all = {.limit = CH_LIMIT_LISTED,
                                     .status = r->first ? NULL : "running"};
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

static void take_up_session(struct ch_chat *chat, const struct found *f) {
    struct ch_parcel *p = ch_parcel_new(chat);
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
    struct ch_parcel *p = ch_parcel_new(chat);
    struct chela_error err = {0};
    struct ch_channel *c = chat->channel;
    if (c->ops->recall(c, ch_sv(f->data, f->n), &p->arena, &p->in, &err) == 0) {
        ch_parcel_consider(p);
        return;
    }
    ch_log(CH_LOG_WARN, "gateway", "event %s is dropped: %s", f->id, err.message);
    p->in.id = ch_arena_str(&p->arena, ch_sv_str(f->id));
    ch_parcel_settle(p);
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
    int64_t age = ch_orphans_age(gw->orphans, f->id);
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
            ch_parcel_to_lane(p);
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
        struct ch_chat *chat = ch_chat_named(r->gw, ch_sv_str(*name));
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
    r->first = ch_orphans_is_first_scan(gw->orphans);
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
