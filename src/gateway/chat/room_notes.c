/* room_notes.c -- what a room remembers, across processes.
 *
 * A chat's willingness, the lines that were decided about and the one that is to
 * be answered are a note of the store ("room:KEY"), which is gone with the
 * session. It is written after every line and for every turn, in the transaction
 * of whatever is stored then and never with a sync of its own: a line that a
 * note does not know yet is in the inbox, and is decided about once more.
 *
 * It is read before a room decides about anything, for all rooms that wait in one
 * go; and where several gateways share the store, again once what is known is no
 * longer fresh, unless the session is ours because a run is under way. */
#include "agent/feature/heartbeat/beat.h"
#include "agent/journal/journal.h"
#include "base/log.h"
#include "gateway/chat/rooms.h"
#include "io/worker.h"
#include "model/message/ids.h"

#define PREFIX "room:"
#define FRESH_MS 1000 /* where others may write it */
#define SPARE 32      /* lines beyond those that a room listens to */

/* --- lines that were decided about */

uint64_t ch_had_digest(const char *id) {
    return (ch_hash(0, ch_sv_str(id)) >> 11) | 1; /* JSON keeps 53 bits; never 0 */
}

bool ch_had(const struct ch_had *h, uint64_t id) {
    for (size_t i = 0; i < h->cap; i++)
        if (h->ids[i] == id)
            return true;
    return false;
}

void ch_had_add(struct ch_had *h, uint64_t id) {
    h->ids[h->next++ % h->cap] = id;
}

/* A room listens to so many lines, and its note may be a little behind. */
static void forget_all(struct ch_room *r) {
    ch_free(r->had.ids);
    r->had = (struct ch_had){.cap = ch_chat_agent(r->chat)->companion->history + SPARE};
    r->had.ids = ch_alloc(r->had.cap * sizeof(*r->had.ids));
}

/* --- writing */

static int64_t mono(const struct ch_room *r) {
    return ch_mono_ms(ch_loop_clock(r->chat->gw->rt->loop));
}

static void write_had(const struct ch_had *h, struct ch_jw *w) {
    ch_jw_key(w, "had");
    ch_jw_begin(w, '[');
    for (size_t i = 0; i < h->cap; i++) {
        uint64_t id = h->ids[(h->next + i) % h->cap]; /* the oldest first */
        if (id)
            ch_jw_int(w, (int64_t)id);
    }
    ch_jw_end(w, ']');
}

static void write_note(const struct ch_room *r, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    CH_AUTOFREE char *willing = chela_willing_save(r->willing);
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "n", (int64_t)r->version);
    ch_jw_kbool(&w, "direct", r->direct);
    ch_jw_kraw(&w, "willing", ch_sv_str(willing));
    write_had(&r->had, &w);
    if (r->asking) {
        ch_jw_kint(&w, "asked", (int64_t)ch_had_digest(r->asking->in.id));
        ch_jw_kcstr(&w, "why", chela_urge_name(r->urge.reason));
    }
    ch_jw_end(&w, '}');
}

void ch_room_keep(struct ch_room *r) {
    struct ch_journal *j = r->chat->gw->rt->journal;
    CH_BUF_AUTO id = {0}, data = {0};
    ch_task_cancel(r->chat->gw->rt->loop, &r->keep);
    if (!r->willing)
        return;
    ch_buf_addf(&id, PREFIX "%s", r->session);
    r->version++;
    write_note(r, &data);
    struct chela_store_change c = {.kind = CHELA_STORE_NOTE,
                                   .id = ch_buf_str(&id),
                                   .key = r->session,
                                   .data = data.p,
                                   .n = data.n,
                                   .now = ch_now_ms(ch_loop_clock(r->chat->gw->rt->loop))};
    j->ops->change(j, &c, CH_SYNC_LATER, NULL, NULL);
    r->kept = ch_hash(0, ch_buf_sv(&data));
    r->fresh = mono(r);
}

static void keep_now(struct ch_task *t) {
    ch_room_keep(CH_CONTAINER(t, struct ch_room, keep));
}

void ch_room_keep_later(struct ch_room *r) {
    r->keep.fn = keep_now;
    ch_task_defer(r->chat->gw->rt->loop, &r->keep);
}

/* --- what a note says */

static enum chela_urge_reason read_reason(struct ch_sv name) {
    for (int i = 0; i < CHELA_URGE_WILLING; i++)
        if (ch_sv_is(name, chela_urge_name((enum chela_urge_reason)i)))
            return (enum chela_urge_reason)i;
    return CHELA_URGE_WILLING;
}

static void make_willing(struct ch_room *r) {
    const struct ch_companion *c = ch_chat_agent(r->chat)->companion;
    struct chela_willing_rules rules = c->rules;
    int64_t now = ch_now_ms(ch_loop_clock(r->chat->gw->rt->loop));
    rules.seed = rules.seed ? rules.seed : ch_hash((uint64_t)now, ch_sv_str(r->session));
    chela_willing_free(CH_TAKE(r->willing));
    chela_willing_new(r->direct ? CHELA_CHAT_DIRECT : CHELA_CHAT_GROUP,
                      r->direct ? &c->direct : &c->group, &rules, &r->willing, NULL);
    r->settings = c->serial;
}

/* v NULL: there is no note. */
static void take_note(struct ch_room *r, const struct ch_json *v) {
    CH_BUF_AUTO willing = {0};
    struct ch_jw w = ch_jw(&willing);
    r->direct = ch_json_bool(ch_json_get(v, "direct"), r->direct);
    make_willing(r);
    forget_all(r);
    if (!v)
        return;
    ch_jw_value(&w, ch_json_get(v, "willing"));
    chela_willing_restore(r->willing, willing.p, willing.n,
                          ch_now_ms(ch_loop_clock(r->chat->gw->rt->loop)), NULL);
    for (CH_JSON_EACH(id, ch_json_get(v, "had")))
        ch_had_add(&r->had, (uint64_t)ch_json_int(id, 0));
    r->asked = (uint64_t)ch_json_int(ch_json_get(v, "asked"), 0);
    r->why = read_reason(ch_json_get_str(v, "why"));
    r->version = (uint64_t)ch_json_int(ch_json_get(v, "n"), 0);
}

void ch_room_renew(struct ch_room *r) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO note = {0};
    const struct ch_json *v = NULL;
    if (r->settings == ch_chat_agent(r->chat)->companion->serial)
        return;
    write_note(r, &note);
    ch_json_parse(&arena, ch_buf_sv(&note), CH_JSON_REPLACE, &v, NULL, NULL);
    take_note(r, v);
}

/* Was it written after ours, or at the same time by another gateway? */
static bool is_news(const struct ch_room *r, const struct ch_json *v, uint64_t digest) {
    int64_t n = ch_json_int(ch_json_get(v, "n"), 0);
    return digest != r->kept && n >= (int64_t)r->version;
}

static void recall(struct ch_room *r, struct ch_sv data) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    uint64_t digest = ch_hash(0, data);
    if (data.n)
        ch_json_parse(&arena, data, CH_JSON_REPLACE, &v, NULL, NULL);
    if (r->willing && (!v || !is_news(r, v, digest)))
        return;
    take_note(r, v);
    r->kept = digest;
}

/* --- reading, on a worker thread */

struct found {
    struct found *next;
    char *session, *data; /* owned */
    size_t n;
};

struct ch_room_reading {
    struct ch_work work;
    struct ch_chat *chat; /* NULL: it was closed */
    chela_store *store;
    struct found *found; /* owned */
    int rc;
    struct chela_error err;
};

static int on_note(const struct chela_store_item *i, void *user) {
    struct ch_room_reading *g = user;
    if (strncmp(i->id, PREFIX, strlen(PREFIX)) != 0)
        return 0;
    struct found *f = ch_alloc(sizeof(*f));
    *f = (struct found){g->found, ch_strdup(i->id + strlen(PREFIX)), ch_strndup(i->data, i->n),
                        i->n};
    g->found = f;
    return 0;
}

static void read_notes(struct ch_work *w) {
    struct ch_room_reading *g = CH_CONTAINER(w, struct ch_room_reading, work);
    g->rc = chela_store_items(g->store, CHELA_STORE_NOTES, on_note, g, &g->err);
}

static void drop(struct ch_work *w) {
    struct ch_room_reading *g = CH_CONTAINER(w, struct ch_room_reading, work);
    for (struct found *f; (f = g->found);) {
        g->found = f->next;
        ch_free(f->session);
        ch_free(f->data);
        ch_free(f);
    }
    ch_free(g);
}

static struct ch_sv note_of(const struct ch_room_reading *g, const char *session) {
    for (const struct found *f = g->found; f; f = f->next)
        if (strcmp(f->session, session) == 0)
            return ch_sv(f->data, f->n);
    return ch_sv("", 0);
}

static void read_again(struct ch_timer *t);

static void tell_rooms(struct ch_room_reading *g, struct ch_chat *chat) {
    struct ch_link *k = chat->rooms.head.next, *next;
    for (; k != &chat->rooms.head; k = next) {
        struct ch_room *r = CH_CONTAINER(k, struct ch_room, link);
        next = k->next;
        if (!r->reading)
            continue;
        r->reading = false;
        if (ch_chat_agent(chat)->companion)
            recall(r, note_of(g, r->session));
        r->fresh = mono(r);
        ch_room_ready(r);
    }
}

/* As long as it cannot be read nothing is decided: it would be forgotten. */
static void on_read(struct ch_work *w) {
    struct ch_room_reading *g = CH_CONTAINER(w, struct ch_room_reading, work);
    struct ch_chat *chat = g->chat;
    if (chat)
        chat->reading = NULL;
    if (chat && g->rc < 0) {
        ch_log(CH_LOG_WARN, "heartbeat", "what is known of chats cannot be read: lines wait: %s",
               g->err.message);
        ch_timer_start(chat->gw->rt->loop, &chat->read_again, CH_DEFAULT_ROOM_RETRY_MS, read_again);
    } else if (chat) {
        tell_rooms(g, chat);
    }
    drop(w);
}

static void start_reading(struct ch_chat *chat) {
    struct ch_room_reading *g = ch_alloc(sizeof(*g));
    g->work = (struct ch_work){.run = read_notes, .done = on_read, .dropped = drop};
    g->chat = chat;
    g->store = chat->gw->store;
    chat->reading = g;
    ch_work_submit(chat->gw->rt->workers, &g->work);
}

static void read_again(struct ch_timer *t) {
    start_reading(CH_CONTAINER(t, struct ch_chat, read_again));
}

bool ch_room_read(struct ch_room *r) {
    bool shared = ch_gateway_is_shared(r->chat->gw);
    if (r->reading)
        return true;
    if (r->willing && (!shared || r->running || mono(r) - r->fresh < FRESH_MS))
        return false;
    r->reading = true;
    if (!r->chat->reading && !ch_timer_armed(&r->chat->read_again))
        start_reading(r->chat);
    return true;
}

void ch_room_reading_ends(struct ch_chat *chat) {
    if (chat->reading)
        chat->reading->chat = NULL;
    chat->reading = NULL;
    ch_timer_stop(chat->gw->rt->loop, &chat->read_again);
}
