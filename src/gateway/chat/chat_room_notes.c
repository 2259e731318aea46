/* chat_room_notes.c -- see chat_room_notes.h.
 *
 * The propensity, the decided lines and the pending line of a room are stored as the note
 * "room:KEY", which is deleted with the session. The note is written after every line and
 * for every run, with the next transaction and without a sync of its own. A line that the
 * stored note lacks is still in the inbox and is decided about again.
 *
 * The notes are read before a room decides anything, for all waiting rooms at once. If
 * gateways share the store, a note is read again when it is older than FRESH_MS, unless a
 * run in progress holds the session. */
#include "gateway/chat/chat_room_notes.h"

#include "agent/feature/heartbeat/beat.h"
#include "agent/journal/journal.h"
#include "base/log.h"
#include "gateway/chat/chat_room.h"
#include "gateway/chat/chat_service.h"
#include "gateway/request/gateway_state.h"
#include "io/worker.h"
#include "model/message/ids.h"

#define PREFIX "room:"
#define FRESH_MS 1000 /* age at which a note of a shared store is read again */
#define SPARE 32      /* room for decided lines beyond the limit of a room */

/* --- decided lines */

uint64_t ch_chat_room_notes_digest(const char *id) {
    return (ch_hash(0, ch_sv_str(id)) >> 11) | 1; /* 53 bits, which JSON keeps; never 0 */
}

bool ch_chat_room_notes_is_decided(const struct ch_decided_lines *h, uint64_t id) {
    for (size_t i = 0; i < h->cap; i++)
        if (h->ids[i] == id)
            return true;
    return false;
}

void ch_chat_room_notes_add_decided(struct ch_decided_lines *h, uint64_t id) {
    h->ids[h->next++ % h->cap] = id;
}

/* A ring for the lines that a room keeps, and some more because the note may lag behind. */
static void reset_decided(struct ch_chat_room *r) {
    ch_free(r->decided.ids);
    r->decided = (struct ch_decided_lines){
        .cap = ch_companion_of(ch_chat_service_agent(r->chat))->history + SPARE};
    r->decided.ids = ch_alloc(r->decided.cap * sizeof(*r->decided.ids));
}

/* --- writing */

static int64_t room_notes_mono(const struct ch_chat_room *r) {
    return ch_mono_ms(ch_loop_clock(r->chat->gw->rt->loop));
}

static void write_decided(const struct ch_decided_lines *h, struct ch_jw *w) {
    ch_jw_kbegin(w, "had", '[');
    for (size_t i = 0; i < h->cap; i++) {
        uint64_t id = h->ids[(h->next + i) % h->cap]; /* oldest first */
        if (id)
            ch_jw_int(w, (int64_t)id);
    }
    ch_jw_end(w, ']');
}

static void room_notes_write_json(const struct ch_chat_room *r, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    CH_AUTOFREE char *willing = chela_willing_save(r->willing);
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "n", (int64_t)r->version);
    ch_jw_kbool(&w, "direct", r->direct);
    ch_jw_kraw(&w, "willing", ch_sv_str(willing));
    write_decided(&r->decided, &w);
    if (r->pending) {
        ch_jw_kint(&w, "asked", (int64_t)ch_chat_room_notes_digest(r->pending->in.id));
        ch_jw_kcstr(&w, "why", chela_urge_name(r->pending_urge.reason));
    }
    ch_jw_end(&w, '}');
}

void ch_chat_room_notes_write(struct ch_chat_room *r) {
    struct ch_journal *j = r->chat->gw->rt->journal;
    CH_BUF_AUTO id = {0}, data = {0};
    ch_task_cancel(r->chat->gw->rt->loop, &r->write_task);
    if (!r->willing)
        return;
    ch_buf_addf(&id, PREFIX "%s", r->session);
    r->version++;
    room_notes_write_json(r, &data);
    struct chela_store_change c = {.kind = CHELA_STORE_NOTE,
                                   .id = ch_buf_str(&id),
                                   .key = r->session,
                                   .data = data.p,
                                   .n = data.n,
                                   .now = ch_now_ms(ch_loop_clock(r->chat->gw->rt->loop))};
    j->ops->change(j, &c, CH_SYNC_LATER, NULL, NULL);
    r->written_digest = ch_hash(0, ch_buf_sv(&data));
    r->synced_at = room_notes_mono(r);
}

static void room_notes_write_now(struct ch_task *t) {
    ch_chat_room_notes_write(CH_CONTAINER(t, struct ch_chat_room, write_task));
}

void ch_chat_room_notes_write_later(struct ch_chat_room *r) {
    r->write_task.fn = room_notes_write_now;
    ch_task_defer(r->chat->gw->rt->loop, &r->write_task);
}

/* --- applying a note */

static enum chela_urge_reason read_urge_reason(struct ch_sv name) {
    for (int i = 0; i < CHELA_URGE_WILLING; i++)
        if (ch_sv_is(name, chela_urge_name((enum chela_urge_reason)i)))
            return (enum chela_urge_reason)i;
    return CHELA_URGE_WILLING;
}

static void make_willing(struct ch_chat_room *r) {
    const struct ch_companion *c = ch_companion_of(ch_chat_service_agent(r->chat));
    struct chela_willing_rules rules = c->rules;
    int64_t now = ch_now_ms(ch_loop_clock(r->chat->gw->rt->loop));
    rules.seed = rules.seed ? rules.seed : ch_hash((uint64_t)now, ch_sv_str(r->session));
    chela_willing_free(CH_TAKE(r->willing));
    chela_willing_new(r->direct ? CHELA_CHAT_DIRECT : CHELA_CHAT_GROUP,
                      r->direct ? &c->direct : &c->group, &rules, &r->willing, NULL);
    r->settings_serial = c->serial;
}

/* v NULL: the room has no note yet. */
static void room_notes_apply(struct ch_chat_room *r, const struct ch_json *v) {
    CH_BUF_AUTO willing = {0};
    struct ch_jw w = ch_jw(&willing);
    r->direct = ch_json_bool(ch_json_get(v, "direct"), r->direct);
    make_willing(r);
    reset_decided(r);
    if (!v)
        return;
    ch_jw_value(&w, ch_json_get(v, "willing"));
    chela_willing_restore(r->willing, willing.p, willing.n,
                          ch_now_ms(ch_loop_clock(r->chat->gw->rt->loop)), NULL);
    for (CH_JSON_EACH(id, ch_json_get(v, "had")))
        ch_chat_room_notes_add_decided(&r->decided, (uint64_t)ch_json_int(id, 0));
    r->pending_digest = (uint64_t)ch_json_int(ch_json_get(v, "asked"), 0);
    r->pending_reason = read_urge_reason(ch_json_get_str(v, "why"));
    r->version = (uint64_t)ch_json_int(ch_json_get(v, "n"), 0);
}

void ch_chat_room_notes_renew(struct ch_chat_room *r) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO note = {0};
    const struct ch_json *v = NULL;
    if (r->settings_serial == ch_companion_of(ch_chat_service_agent(r->chat))->serial)
        return;
    room_notes_write_json(r, &note);
    ch_json_parse(&arena, ch_buf_sv(&note), CH_JSON_REPLACE, &v, NULL, NULL);
    room_notes_apply(r, v);
}

/* Was the note written after ours, or concurrently by another gateway? */
static bool room_notes_is_newer(const struct ch_chat_room *r, const struct ch_json *v,
                                uint64_t digest) {
    int64_t n = ch_json_int(ch_json_get(v, "n"), 0);
    return digest != r->written_digest && n >= (int64_t)r->version;
}

static void room_notes_restore(struct ch_chat_room *r, struct ch_sv data) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    uint64_t digest = ch_hash(0, data);
    if (data.n)
        ch_json_parse(&arena, data, CH_JSON_REPLACE, &v, NULL, NULL);
    if (r->willing && (!v || !room_notes_is_newer(r, v, digest)))
        return;
    room_notes_apply(r, v);
    r->written_digest = digest;
}

/* --- reading, on a worker thread */

struct room_note {
    struct room_note *next;
    char *session, *data; /* owned */
    size_t n;
};

struct ch_chat_room_reading {
    struct ch_work work;
    struct ch_chat_service *chat; /* NULL: the service was closed */
    chela_store *store;
    struct room_note *found; /* owned */
    int rc;
    struct chela_error err;
};

static int room_notes_on_item(const struct chela_store_item *i, void *user) {
    struct ch_chat_room_reading *g = user;
    if (strncmp(i->id, PREFIX, strlen(PREFIX)) != 0)
        return 0;
    struct room_note *f = ch_alloc(sizeof(*f));
    *f = (struct room_note){g->found, ch_strdup(i->id + strlen(PREFIX)), ch_strndup(i->data, i->n),
                            i->n};
    g->found = f;
    return 0;
}

static void read_notes(struct ch_work *w) {
    struct ch_chat_room_reading *g = CH_CONTAINER(w, struct ch_chat_room_reading, work);
    g->rc = chela_store_items(g->store, CHELA_STORE_NOTES, room_notes_on_item, g, &g->err);
}

static void room_reading_free(struct ch_work *w) {
    struct ch_chat_room_reading *g = CH_CONTAINER(w, struct ch_chat_room_reading, work);
    for (struct room_note *f; (f = g->found);) {
        g->found = f->next;
        ch_free(f->session);
        ch_free(f->data);
        ch_free(f);
    }
    ch_free(g);
}

static struct ch_sv room_reading_note_of(const struct ch_chat_room_reading *g,
                                         const char *session) {
    for (const struct room_note *f = g->found; f; f = f->next)
        if (strcmp(f->session, session) == 0)
            return ch_sv(f->data, f->n);
    return ch_sv("", 0);
}

static void room_reading_retry(struct ch_timer *t);

static void notify_rooms(struct ch_chat_room_reading *g, struct ch_chat_service *chat) {
    struct ch_link *k = chat->rooms.head.next, *next;
    for (; k != &chat->rooms.head; k = next) {
        struct ch_chat_room *r = CH_CONTAINER(k, struct ch_chat_room, link);
        next = k->next;
        if (!r->reading)
            continue;
        r->reading = false;
        if (ch_companion_of(ch_chat_service_agent(chat)))
            room_notes_restore(r, room_reading_note_of(g, r->session));
        r->synced_at = room_notes_mono(r);
        r->ready(r);
    }
}

/* Nothing is decided until the notes could be read: the decision would be lost. */
static void room_reading_done(struct ch_work *w) {
    struct ch_chat_room_reading *g = CH_CONTAINER(w, struct ch_chat_room_reading, work);
    struct ch_chat_service *chat = g->chat;
    if (chat)
        chat->room_reading = NULL;
    if (chat && g->rc < 0) {
        ch_log(CH_LOG_WARN, "heartbeat", "the notes of chats cannot be read, lines wait: %s",
               g->err.message);
        ch_timer_start(chat->gw->rt->loop, &chat->room_read_timer, CH_DEFAULT_ROOM_RETRY_MS,
                       room_reading_retry);
    } else if (chat) {
        notify_rooms(g, chat);
    }
    room_reading_free(w);
}

static void start_reading(struct ch_chat_service *chat) {
    struct ch_chat_room_reading *g = ch_alloc(sizeof(*g));
    g->work = (struct ch_work){
        .run = read_notes, .done = room_reading_done, .dropped = room_reading_free};
    g->chat = chat;
    g->store = chat->gw->store;
    chat->room_reading = g;
    ch_work_submit(chat->gw->rt->workers, &g->work);
}

static void room_reading_retry(struct ch_timer *t) {
    start_reading(CH_CONTAINER(t, struct ch_chat_service, room_read_timer));
}

bool ch_chat_room_notes_read(struct ch_chat_room *r) {
    bool shared = ch_gateway_is_shared(r->chat->gw);
    if (r->reading)
        return true;
    if (r->willing && (!shared || r->running || room_notes_mono(r) - r->synced_at < FRESH_MS))
        return false;
    r->reading = true;
    if (!r->chat->room_reading && !ch_timer_armed(&r->chat->room_read_timer))
        start_reading(r->chat);
    return true;
}

void ch_chat_room_notes_stop_reading(struct ch_chat_service *chat) {
    if (chat->room_reading)
        chat->room_reading->chat = NULL;
    chat->room_reading = NULL;
    ch_timer_stop(chat->gw->rt->loop, &chat->room_read_timer);
}
