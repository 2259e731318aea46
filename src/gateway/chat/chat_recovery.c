/* chat_recovery.c -- see chat_recovery.h. */
#include "gateway/chat/chat_recovery.h"

#include "agent/feature/heartbeat/beat.h"
#include "agent/journal/outbox.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/chat/approval_prompt.h"
#include "gateway/chat/chat_dispatch.h"
#include "gateway/chat/chat_event.h"
#include "gateway/chat/chat_lane.h"
#include "gateway/chat/chat_notes.h"
#include "gateway/chat/chat_overrides.h"
#include "gateway/chat/chat_room.h"
#include "gateway/chat/chat_service.h"
#include "gateway/chat/reply_target.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/lane_inbox.h"
#include "gateway/lane/orphans.h"
#include "gateway/request/gateway_state.h"
#include "io/worker.h"
#include "store/owner.h"
#include "store/store.h"

#define LOOK_BACK_MS (24 * 60 * 60 * 1000) /* idle sessions that were used since then */
#define LEFT_MS 5000                       /* age at which an undelivered event is taken over */
#define ABANDONED_MS 30000                 /* age at which an unsent message is taken over */

struct recovered_item {
    struct ch_link link;
    enum { EVENT, MESSAGE, SESSION, OVERRIDE, NOTE } kind;
    char *id, *key, *state, *data; /* owned; key: session or owner of a note */
    char *receipt;                 /* owned: of a MESSAGE; may be NULL */
    size_t n;
    uint64_t attempts;
    bool held; /* MESSAGE: another process may hold the lease of its session */
    bool waits; /* MESSAGE: its session waits for a person after a restore */
    bool left; /* MESSAGE: the process that wrote it left it to the one that is connected */
};

struct ch_chat_recovery {
    struct ch_work work;
    chela_gateway *gw; /* NULL: the gateway was closed */
    chela_store *store;
    char **names; /* owned: names of the channels; NULL-terminated */
    int64_t since, now;
    bool first; /* the first scan, which reads idle sessions, too */
    int rc;
    struct ch_list found;
};

static struct recovered_item *add_recovered(struct ch_chat_recovery *r, int kind, const char *key) {
    struct recovered_item *f = ch_alloc(sizeof(*f));
    f->kind = kind;
    f->key = ch_strdup(key);
    ch_list_add(&r->found, &f->link);
    return f;
}

static bool is_of_channel(const struct ch_chat_recovery *r, const char *id) {
    for (char **name = r->names; *name; name++) {
        size_t n = strlen(*name);
        if (strncmp(id, *name, n) == 0 && id[n] == ':')
            return true;
    }
    return false;
}

static int recover_item(struct ch_chat_recovery *r, const struct chela_store_item *i, int kind) {
    struct recovered_item *f = add_recovered(r, kind, i->key);
    f->id = ch_strdup(i->id);
    f->state = ch_strdup(i->state);
    f->receipt = ch_strdup(i->receipt);
    f->data = ch_strndup(i->data, i->n);
    f->n = i->n;
    f->attempts = i->attempts;
    f->left = kind == MESSAGE && ch_outbox_is_elsewhere(i);
    return 0;
}

static int recover_event(const struct chela_store_item *i, void *user) {
    return is_of_channel(user, i->id) ? recover_item(user, i, EVENT) : 0;
}

static int recover_message(const struct chela_store_item *i, void *user) {
    return is_of_channel(user, i->key) ? recover_item(user, i, MESSAGE) : 0;
}

static int recover_note(const struct chela_store_item *i, void *user) {
    const char *override = ch_chat_overrides_session_of_note(i->id);
    const char *session = override ? override : ch_chat_notes_owner(i->id);
    if (!session || !is_of_channel(user, session))
        return 0;
    recover_item(user, i, override ? OVERRIDE : NOTE);
    struct recovered_item *f = CH_CONTAINER(((struct ch_chat_recovery *)user)->found.head.prev,
                                            struct recovered_item, link);
    ch_free(f->key);
    f->key = ch_strdup(session);
    return 0;
}

/* An idle session may have queued messages, and a paused one a question that was not
 * sent. */
static int recover_session(const struct chela_store_session *s, void *user) {
    struct ch_chat_recovery *r = user;
    bool rests = strcmp(s->status, "idle") == 0, runs = strcmp(s->status, "running") == 0;
    if (is_of_channel(r, s->key) && !ch_orphans_lease_is_held(s, r->now) &&
        (runs || (r->first && (!rests || s->updated > r->since))))
        add_recovered(r, SESSION, s->key);
    return 0;
}

static int check_lease(const struct chela_store_session *s, void *user) {
    struct recovered_item *f = user;
    f->held = ch_orphans_lease_is_held(s, ch_store_now());
    f->waits = ch_owner_is_held(s->owner);
    return 0;
}

static void recovery_read_store(struct ch_work *w) {
    struct ch_chat_recovery *r = CH_CONTAINER(w, struct ch_chat_recovery, work);
    struct chela_error err = {0}, gone = {0};
    struct chela_store_filter all = CHELA_STORE_FILTER(.limit = CH_LIMIT_LISTED,
                                                       .status = r->first ? NULL : "running");
    int rc = chela_store_items(r->store, CHELA_STORE_NOTES, recover_note, r, &err);
    if (rc == 0)
        rc = chela_store_list(r->store, &all, recover_session, r, &err);
    if (rc == 0)
        rc = chela_store_items(r->store, CHELA_STORE_OUTBOX, recover_message, r, &err);
    if (rc == 0)
        rc = chela_store_items(r->store, CHELA_STORE_INBOX, recover_event, r, &err);
    r->rc = rc;
    if (rc < 0)
        ch_log(CH_LOG_ERROR, "gateway", "the store cannot be read for recovery: %s", err.message);
    for (CH_LIST_EACH(k, &r->found)) {
        struct recovered_item *f = CH_CONTAINER(k, struct recovered_item, link);
        if (f->kind == MESSAGE)
            chela_store_session(r->store, f->key, check_lease, f, &gone);
    }
}

static void free_recovered(struct recovered_item *f) {
    ch_list_del(&f->link);
    ch_free(f->id);
    ch_free(f->key);
    ch_free(f->state);
    ch_free(f->receipt);
    ch_free(f->data);
    ch_free(f);
}

static void recovery_free(struct ch_work *w) {
    struct ch_chat_recovery *r = CH_CONTAINER(w, struct ch_chat_recovery, work);
    for (struct recovered_item *f; (f = CH_LIST_FIRST(&r->found, struct recovered_item, link));)
        free_recovered(f);
    for (char **name = r->names; *name; name++)
        ch_free(*name);
    ch_free(r->names);
    ch_free(r);
}

static void recovery_on_lane_ready(struct ch_lane_wait *w, struct ch_lane *l,
                                   const struct chela_error *failed) {
    struct ch_chat_event *e = CH_CONTAINER(w, struct ch_chat_event, wait);
    enum chela_approve approve = ch_approval_prompt_policy(e->chat);
    struct chela_run_opts opts = CHELA_RUN_OPTS(.approve = approve);
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    int rc = failed ? err.code : ch_reply_target_attach(e->chat, l, NULL, &err);
    if (rc == 0 && chela_session_status(l->session) == CHELA_SESSION_PAUSED)
        ch_reply_target_ask_again(e->chat, l);
    else if (rc == 0)
        rc = ch_lane_was_interrupted(l) ? ch_lane_resume(l, approve, &err)
                                        : ch_lane_send(l, ch_sv(NULL, 0), &opts, &err);
    if (rc == 0 && l->running && ch_companion_of(ch_chat_service_agent(e->chat)))
        ch_chat_room_follow(e->chat, l);
    if (rc < 0 && rc != CHELA_ENOENT)
        ch_log(CH_LOG_WARN, "gateway", "session %s cannot be resumed: %s", e->in.session,
               err.message);
    ch_chat_event_drop(e);
}

void ch_chat_recovery_resume(struct ch_chat_service *chat, const char *key) {
    struct ch_chat_event *e = ch_chat_event_new(chat);
    struct chela_error err = {0};
    struct ch_lane *lane;
    e->in = (struct chela_channel_arrival){
        .session = ch_arena_str(&e->arena, ch_sv_str(key)), .to = "", .about = {.chat_id = ""}};
    e->wait.ready = recovery_on_lane_ready;
    if (ch_chat_lane_resume(chat, e->in.session, &lane, &err) == 0) {
        ch_lane_when_ready(lane, &e->wait);
        return;
    }
    ch_log(CH_LOG_WARN, "gateway", "session %s cannot be resumed: %s", e->in.session, err.message);
    ch_chat_event_drop(e);
}

static void recovery_take_event(struct ch_chat_service *chat, const struct recovered_item *f) {
    struct ch_chat_event *e = ch_chat_event_new(chat);
    struct chela_error err = {0};
    if (ch_channel_recall(chat->channel, ch_sv(f->data, f->n), &e->arena, &e->in, &err) == 0) {
        ch_chat_dispatch_judge(e);
        return;
    }
    ch_log(CH_LOG_WARN, "gateway", "event %s is dropped: %s", f->id, err.message);
    e->in.id = ch_arena_str(&e->arena, ch_sv_str(f->id));
    e->in.session = f->key ? ch_arena_str(&e->arena, ch_sv_str(f->key)) : "";
    ch_chat_event_settle(e);
}

static const struct ch_chat_event *recovery_find(const struct ch_chat_service *chat,
                                                 const char *id) {
    for (CH_LIST_EACH(k, &chat->events)) {
        const struct ch_chat_event *e = CH_CONTAINER(k, struct ch_chat_event, link);
        if (e->in.id && strcmp(e->in.id, id) == 0)
            return e;
    }
    return NULL;
}

static bool recovery_is_active(const struct ch_chat_service *chat, const struct recovered_item *f) {
    return f->id && recovery_find(chat, f->id);
}

/* The lane of an open session reads its events itself. */
static void recovery_refresh_lane(chela_gateway *gw, const struct recovered_item *f) {
    struct ch_lane *l = f->kind == EVENT ? ch_lane_find(gw, ch_sv_str(f->key)) : NULL;
    if (l)
        ch_lane_inbox_refresh(l);
}

/* Lines that a room heard wait for its next turn. */
enum ch_restored ch_chat_recovery_restore(chela_gateway *gw, const char *id, struct ch_sv data) {
    struct ch_sv name = ch_sv_str(id);
    struct ch_chat_service *chat = ch_chat_service_named(gw, ch_sv_split(&name, ':'));
    struct recovered_item f = {.id = (char *)id, .data = (char *)data.p, .n = data.n};
    if (!chat || chat->leaving)
        return CH_RESTORED_ASIDE;
    const struct ch_chat_event *known = recovery_find(chat, id);
    if (known && known->accepting)
        return CH_RESTORED_LATER;
    if (!known)
        recovery_take_event(chat, &f);
    return ch_companion_of(ch_chat_service_agent(chat)) ? CH_RESTORED_ASIDE : CH_RESTORED;
}

/* Another gateway may have changed the overrides since the first read. */
static bool recovery_reads_overrides(const struct ch_chat_service *chat) {
    return !chat->overrides_read || ch_gateway_is_shared(chat->gw);
}

/* May this gateway take the item? The holder of the session comes first, and a new item is
 * left to the gateway that accepted or wrote it. */
static bool recovery_may_take(const struct ch_chat_recovery *r, const struct recovered_item *f) {
    chela_gateway *gw = r->gw;
    bool open = ch_lane_find(gw, ch_sv_str(f->key));
    if (f->kind == NOTE)
        return true;
    if (f->kind == SESSION || f->kind == OVERRIDE)
        return f->kind == OVERRIDE
                   ? recovery_reads_overrides(ch_chat_service_of_session(gw, f->key))
                   : !open;
    int64_t age = ch_orphans_age(gw->orphans, f->id);
    if (f->waits)
        return false;
    if (r->first && !ch_gateway_is_shared(gw))
        return f->kind != EVENT || !open;
    if (f->kind == EVENT)
        return !open && age >= LEFT_MS;
    if (f->left)
        return ch_channel_is_connected(ch_chat_service_of_session(gw, f->key)->channel);
    return open ? age >= LEFT_MS : !f->held && age >= ABANDONED_MS;
}

static void recovery_take(chela_gateway *gw, const struct recovered_item *f) {
    struct ch_chat_service *chat = ch_chat_service_of_session(gw, f->key);
    struct chela_error err = {0};
    struct chela_store_item item = {.id = f->id, .key = f->key, .state = f->state, .data = f->data,
                                    .n = f->n, .receipt = f->receipt, .attempts = f->attempts};
    if (chat && f->kind == OVERRIDE)
        ch_chat_overrides_restore(chat, f->key, ch_sv(f->data, f->n));
    else if (chat && f->kind == NOTE)
        ch_chat_notes_pass_on(chat, f->key, ch_sv(f->data, f->n));
    else if (chat && f->kind == SESSION)
        ch_chat_recovery_resume(chat, f->key);
    else if (chat && f->kind == EVENT)
        recovery_take_event(chat, f);
    else if (chat && chela_outbox_recall(gw->rt, &item, &err) < 0)
        ch_log(CH_LOG_WARN, "gateway", "message %s cannot be sent: %s", f->id, err.message);
}

void ch_chat_recovery_cancel(chela_gateway *gw) {
    if (gw->chat_recovery)
        gw->chat_recovery->gw = NULL;
}

static void recovery_end_read(const struct ch_chat_recovery *r, struct ch_chat_service *chat) {
    bool draining = r->gw->draining;
    if (!chat || r->rc != 0)
        return;
    if (!draining && recovery_reads_overrides(chat))
        ch_chat_overrides_end_read(chat);
    chat->overrides_read = true;
    if (!draining)
        ch_chat_notes_end_read(chat);
}

static void recovery_on_read(struct ch_work *w) {
    struct ch_chat_recovery *r = CH_CONTAINER(w, struct ch_chat_recovery, work);
    for (struct recovered_item *f;
         r->gw && (f = CH_LIST_FIRST(&r->found, struct recovered_item, link));) {
        struct ch_chat_service *chat = ch_chat_service_of_session(r->gw, f->key);
        recovery_refresh_lane(r->gw, f);
        if (chat && !r->gw->draining && !recovery_is_active(chat, f) && recovery_may_take(r, f))
            recovery_take(r->gw, f);
        free_recovered(f);
    }
    for (char **name = r->names; r->gw && *name; name++)
        recovery_end_read(r, ch_chat_service_named(r->gw, ch_sv_str(*name)));
    if (r->gw)
        r->gw->chat_recovery = NULL;
    recovery_free(w);
}

void ch_chat_recovery_start(chela_gateway *gw) {
    size_t n = 0;
    if (ch_list_empty(&gw->chats) || gw->chat_recovery)
        return;
    struct ch_chat_recovery *r = ch_alloc(sizeof(*r));
    r->work = (struct ch_work){
        .run = recovery_read_store, .done = recovery_on_read, .dropped = recovery_free};
    r->gw = gw;
    r->store = gw->store;
    r->now = ch_now_ms(ch_loop_clock(gw->rt->loop));
    r->since = r->now - LOOK_BACK_MS;
    r->first = ch_orphans_is_first_scan(gw->orphans);
    ch_list_init(&r->found);
    r->names = ch_alloc(sizeof(*r->names));
    for (CH_LIST_EACH(k, &gw->chats)) {
        struct ch_chat_service *chat = CH_CONTAINER(k, struct ch_chat_service, link);
        if (chat->leaving)
            continue;
        r->names = ch_realloc(r->names, (n + 2) * sizeof(*r->names));
        r->names[n++] = ch_strdup(chat->channel->ops->name);
        r->names[n] = NULL;
        ch_chat_notes_begin_read(chat);
        ch_chat_overrides_begin_read(chat);
    }
    gw->chat_recovery = r;
    ch_work_submit(gw->rt->workers, &r->work);
}
