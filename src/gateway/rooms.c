/* rooms.c -- chats that an agent listens to, in mode heartbeat.
 *
 *   arrival --> willing? --yes--> a moment of quiet --> all new lines, one run
 *                 `--no--> it is a new line of the next run
 *
 * A room is one chat: how willing the agent is to speak there, and the lines
 * that no run has seen. They stay in the inbox until a run has them: what this
 * process dies with, the next one hears again; lines that the session has
 * already are told by their ids. A room listens to the newest of them alone, as
 * a view would show no more.
 *
 * While a run is under way lines are heard all the same. One that asks for an
 * answer gets a turn of its own once the run has ended; one that would merely be
 * answered does too, unless the agent skips those. What is decided, silence
 * included, is logged with its willingness. */
#include "agent/beat.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/channels.h"
#include "model/ids.h"

#define TIME 6 /* bytes of a line: "[10:02" */

struct ch_room {
    struct ch_link link; /* in the chat's rooms */
    struct ch_chat *chat;
    char *session; /* owned */
    chela_willing *willing;
    struct ch_list heard;     /* parcels that no run has, oldest first */
    size_t nheard;
    struct ch_list taken;     /* those that a run begins with */
    struct ch_parcel *asking; /* the newest of `heard` that is to be answered; NULL: none */
    struct chela_urge urge;   /* and why */
    struct ch_timer quiet;
    struct ch_lane_wait wait;
    struct ch_watcher watcher;
    bool waiting; /* for the lane */
    bool running;
    unsigned said; /* in this run */
};

static int64_t now(const struct ch_room *r) {
    return ch_now_ms(ch_loop_clock(r->chat->gw->rt->loop));
}

static const struct ch_companion *companion_of(const struct ch_room *r) {
    return ch_chat_agent(r->chat)->companion;
}

/* --- life */

static void free_room(struct ch_room *r) {
    struct ch_list *lists[] = {&r->heard, &r->taken};
    for (size_t i = 0; i < CH_LEN(lists); i++)
        while (!ch_list_empty(lists[i]))
            ch_list_del(lists[i]->head.next);
    ch_timer_stop(r->chat->gw->rt->loop, &r->quiet);
    ch_list_del(&r->wait.link);
    ch_lane_unwatch(&r->watcher);
    ch_list_del(&r->link);
    chela_willing_free(r->willing);
    ch_free(r->session);
    ch_free(r);
}

void ch_rooms_release(struct ch_chat *chat) {
    for (struct ch_room *r; (r = CH_LIST_FIRST(&chat->rooms, struct ch_room, link));)
        free_room(r);
}

/* The one that was quiet for longest makes room. */
static void make_room(struct ch_chat *chat) {
    size_t n = 0;
    struct ch_room *oldest = NULL;
    for (CH_LIST_EACH(k, &chat->rooms)) {
        struct ch_room *r = CH_CONTAINER(k, struct ch_room, link);
        n++;
        if (!oldest && !r->nheard && !r->running && !r->waiting && ch_list_empty(&r->taken))
            oldest = r;
    }
    if (n >= CH_LIMIT_ROOMS && oldest)
        free_room(oldest);
}

static struct ch_room *room_of(struct ch_chat *chat, const struct ch_arrival *in) {
    const chela_agent *a = ch_chat_agent(chat);
    bool direct = in->about.chat_type && strcmp(in->about.chat_type, "direct") == 0;
    for (CH_LIST_EACH(k, &chat->rooms)) {
        struct ch_room *r = CH_CONTAINER(k, struct ch_room, link);
        if (strcmp(r->session, in->session) != 0)
            continue;
        ch_list_del(&r->link); /* the busiest last */
        ch_list_add(&chat->rooms, &r->link);
        return r;
    }
    make_room(chat);
    struct ch_room *r = ch_alloc(sizeof(*r));
    struct chela_willing_rules rules = a->companion->opts.rules;
    r->chat = chat;
    r->session = ch_strdup(in->session);
    ch_list_init(&r->heard);
    ch_list_init(&r->taken);
    ch_list_add(&chat->rooms, &r->link);
    rules.seed = rules.seed ? rules.seed : ch_hash((uint64_t)now(r), ch_sv_str(in->session));
    r->willing = chela_willing_new(direct ? CHELA_CHAT_DIRECT : CHELA_CHAT_GROUP,
                                   direct ? a->companion->opts.direct : a->companion->opts.group,
                                   &rules);
    return r;
}

/* --- hearing */

static void begin_later(struct ch_room *r, int64_t ms);

static void forget_oldest(struct ch_room *r) {
    struct ch_parcel *p = CH_CONTAINER(r->heard.head.next, struct ch_parcel, room);
    ch_list_del(&p->room);
    r->nheard--;
    r->asking = r->asking == p ? NULL : r->asking;
    ch_parcel_settle(p);
}

static bool is_asked(const struct chela_urge *u) {
    return u->reply && u->reason != CHELA_URGE_WILLING;
}

static void decide(struct ch_room *r, struct ch_parcel *p) {
    const struct ch_arrival *in = &p->in;
    struct chela_heard line = {.at = in->about.ts ? in->about.ts : now(r),
                               .text = {in->text, strlen(in->text)},
                               .mention = in->about.mentioned};
    struct chela_urge u;
    chela_willing_hear(r->willing, &line, &u);
    ch_log(CH_LOG_INFO, "heartbeat", "%s: %s: %s, W %.1f, p %.2f, %s", r->session, in->id,
           u.reply ? "reply" : "silent", u.willingness, u.probability, chela_urge_name(u.reason));
    if (!u.reply || (r->running && companion_of(r)->skips && !is_asked(&u)))
        return;
    if (!r->asking || is_asked(&u) || !is_asked(&r->urge)) {
        r->asking = p;
        r->urge = u;
    }
}

void ch_room_hear(struct ch_parcel *p) {
    struct ch_room *r = room_of(p->chat, &p->in);
    const struct ch_companion *c = companion_of(r);
    ch_list_add(&r->heard, &p->room);
    r->nheard++;
    decide(r, p);
    while (r->nheard > c->history && &p->room != r->heard.head.next)
        forget_oldest(r);
    if (r->asking && !r->running)
        begin_later(r, c->opts.debounce_ms);
}

/* --- a turn */

static void on_ready(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *failed);

static void begin(struct ch_timer *t) {
    struct ch_room *r = CH_CONTAINER(t, struct ch_room, quiet);
    struct chela_error err = {0};
    struct ch_lane *lane;
    if (!r->asking || r->running || r->waiting)
        return;
    if (ch_chat_lane(r->chat, r->session, &lane, &err) < 0) {
        ch_log(CH_LOG_WARN, "heartbeat", "%s: lines wait: %s", r->session, err.message);
        begin_later(r, CH_DEFAULT_ROOM_RETRY_MS);
        return;
    }
    r->waiting = true;
    r->wait.ready = on_ready;
    ch_lane_when_ready(lane, &r->wait);
}

static void begin_later(struct ch_room *r, int64_t ms) {
    ch_timer_start(r->chat->gw->rt->loop, &r->quiet, ms, begin);
}

/* Has the text a line with this mark? Only at the beginning of one: behind it is
 * what people write, whose own lines are indented. */
static bool has_mark(struct ch_sv text, struct ch_sv mark) {
    while (text.n) {
        struct ch_sv line = ch_sv_split(&text, '\n');
        if (line.n >= TIME + mark.n && line.p[0] == '[' &&
            memcmp(line.p + TIME, mark.p, mark.n) == 0)
            return true;
    }
    return false;
}

/* A run of an earlier process may have had it: it is known by " om_1] ", as
 * ch_view_line() wrote that. */
static bool has_line(const struct ch_lane *l, struct ch_sv line) {
    const struct ch_transcript *t = &l->session->transcript;
    size_t from = t->n > CH_LIMIT_ROOM_LOOKBACK ? t->n - CH_LIMIT_ROOM_LOOKBACK : 0;
    const char *end = memmem(line.p, line.n, "] ", 2);
    struct ch_sv mark = ch_sv(line.p + TIME, (size_t)(end + 2 - line.p) - TIME);
    for (size_t i = from; i < t->n; i++)
        for (uint32_t k = 0; k < t->msgs[i]->nblocks; k++)
            if (t->msgs[i]->kind == CH_MSG_USER && has_mark(t->msgs[i]->blocks[k].text, mark))
                return true;
    return false;
}

static const char *id_of(const struct ch_parcel *p) {
    return p->in.about.message_id ? p->in.about.message_id : p->in.id;
}

static void add_line(const struct ch_room *r, const struct ch_parcel *p, struct ch_buf *out) {
    const struct chela_inbound *in = &p->in.about;
    const char *name = in->sender ? in->sender : in->sender_id;
    ch_view_line(in->ts ? in->ts : now(r), companion_of(r)->utc_offset, ch_sv_str(id_of(p)),
                 ch_sv_str(name), ch_sv_str(p->in.text), out);
}

static struct ch_parcel *newest_taken(const struct ch_room *r) {
    return ch_list_empty(&r->taken) ? NULL
                                    : CH_CONTAINER(r->taken.head.prev, struct ch_parcel, room);
}

/* All that was heard as lines, the parcels into `taken`. What the session has is
 * settled; if that was to be answered, the newest of the others is instead. */
static void collect(struct ch_room *r, const struct ch_lane *l, struct ch_buf *lines) {
    for (struct ch_parcel *p; (p = CH_LIST_FIRST(&r->heard, struct ch_parcel, room));) {
        CH_BUF_AUTO line = {0};
        add_line(r, p, &line);
        if (has_line(l, ch_buf_sv(&line))) {
            r->asking = r->asking == p ? NULL : r->asking;
            ch_parcel_settle(p);
            continue;
        }
        ch_list_del(&p->room);
        ch_list_add(&r->taken, &p->room);
        ch_buf_add_sv(lines, ch_buf_sv(&line));
    }
    r->nheard = 0;
    r->asking = r->asking ? r->asking : newest_taken(r);
}

/* They are the session's now; or, back: they wait. */
static void let_go(struct ch_room *r, bool back) {
    const struct ch_parcel *with_run = r->asking;
    for (struct ch_link *k; (k = r->taken.head.next) != &r->taken.head;) {
        struct ch_parcel *p = CH_CONTAINER(k, struct ch_parcel, room);
        ch_list_del(&p->room);
        if (back) {
            ch_list_add(&r->heard, &p->room);
            r->nheard++;
        } else if (p == with_run) {
            ch_parcel_drop(p); /* its event was settled with the start of the run */
        } else {
            ch_parcel_settle(p);
        }
    }
    r->asking = back ? r->asking : NULL;
}

static void on_event(struct ch_watcher *w, const struct chela_event *ev) {
    struct ch_room *r = CH_CONTAINER(w, struct ch_room, watcher);
    if (ev->type == CHELA_EV_TOOL_RESULT && !ev->result.is_error &&
        ch_sv_is(ch_unstr(ev->result.name), CH_SEND_ACTION))
        r->said++;
    if (ev->type != CHELA_EV_RUN_END)
        return;
    ch_log(CH_LOG_INFO, "heartbeat", "%s: %s after %u beats", r->session,
           r->said ? "spoke" : "stayed silent", ev->end.turns);
    ch_lane_unwatch(&r->watcher);
    r->running = false;
    chela_willing_said(r->willing, now(r), r->said); /* thinking it over is worth as much */
    if (r->asking)
        begin_later(r, companion_of(r)->opts.debounce_ms);
}

static int start(struct ch_room *r, struct ch_lane *l, struct ch_buf *lines,
                 struct chela_error *err) {
    struct ch_parcel *p = r->asking;
    struct chela_inbound scene = p->in.about;
    scene.message_id = scene.sender = NULL; /* each line has its own */
    struct chela_run_opts opts = CHELA_RUN_OPTS(
        .approve = "deny", .channel = p->in.about.channel, .sender = p->in.about.sender_id,
        .inbound = &scene, .event_id = p->in.id, .answer_to = p->in.to, .urge = &r->urge);
    int rc = ch_desk_furnish(r->chat, l, p->in.to, err);
    r->watcher.event = on_event;
    r->said = 0;
    if (rc == 0)
        rc = ch_lane_send(l, ch_buf_sv(lines), &opts, err);
    if (rc == 0)
        ch_lane_watch(l, &r->watcher);
    return rc;
}

static void on_ready(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *failed) {
    struct ch_room *r = CH_CONTAINER(w, struct ch_room, wait);
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    CH_BUF_AUTO lines = {0};
    r->waiting = false;
    if (!failed && l->running) { /* one that an earlier process left, say */
        begin_later(r, CH_DEFAULT_ROOM_RETRY_MS);
        return;
    }
    if (!failed)
        collect(r, l, &lines);
    if (!failed && !lines.n)
        return; /* all of it was known: nothing to begin with */
    int rc = failed ? err.code : start(r, l, &lines, &err);
    if (rc == 0) {
        r->running = true;
        let_go(r, false);
        return;
    }
    if (rc == CHELA_EEXIST) { /* too long ago to be found: the others' turn */
        ch_parcel_settle(r->asking);
        r->asking = newest_taken(r);
    }
    ch_log(CH_LOG_WARN, "heartbeat", "%s: lines wait: %s", r->session, err.message);
    let_go(r, true);
    begin_later(r, CH_DEFAULT_ROOM_RETRY_MS);
}
