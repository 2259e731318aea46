/* rooms.c -- chats that an agent listens to, in mode heartbeat.
 *
 *   arrival --> willing? --yes--> a moment of quiet --> all new lines, one run
 *                 `--no--> it is a new line of the next run
 *
 * A room is one chat: how willing the agent is to speak there, and the lines
 * that no run has seen. They stay in the inbox until a run has them: what this
 * process dies with, the next one hears again; lines that the session has
 * already are told by their ids, and those that were decided about by the room's
 * note (room_notes.c). A room listens to the newest of them alone, as a view would
 * show no more, and to those that ask for an answer before others.
 *
 * While a run is under way lines are heard all the same. One that asks for an
 * answer gets a turn of its own once the run has ended; one that would merely be
 * answered does too, unless the agent skips those. What is decided, silence
 * included, is logged with its willingness. */
#include "gateway/chat/rooms.h"

#include "agent/feature/heartbeat/beat.h"
#include "base/error.h"
#include "base/log.h"

#define TIME 6 /* bytes of a line: "[10:02" */

static int64_t now(const struct ch_room *r) {
    return ch_now_ms(ch_loop_clock(r->chat->gw->rt->loop));
}

static int64_t mono(const struct ch_room *r) {
    return ch_mono_ms(ch_loop_clock(r->chat->gw->rt->loop));
}

/* NULL: by a reload the agent of the chat has become one that answers everything. */
static const struct ch_companion *companion_of(const struct ch_room *r) {
    return ch_chat_agent(r->chat)->companion;
}

static int64_t debounce_of(const struct ch_room *r) {
    return companion_of(r) ? companion_of(r)->opts.debounce_ms : 0;
}

/* --- life */

static void free_room(struct ch_room *r) {
    struct ch_list *lists[] = {&r->heard, &r->taken};
    for (size_t i = 0; i < CH_LEN(lists); i++)
        while (!ch_list_empty(lists[i]))
            ch_list_del(lists[i]->head.next);
    if (ch_task_queued(&r->keep))
        ch_room_keep(r);
    ch_timer_stop(r->chat->gw->rt->loop, &r->quiet);
    ch_list_del(&r->wait.link);
    ch_lane_unwatch(&r->watcher);
    ch_list_del(&r->link);
    chela_willing_free(r->willing);
    ch_free(r->had.ids);
    ch_free(r->session);
    ch_free(r);
}

void ch_rooms_release(struct ch_chat *chat) {
    ch_room_reading_ends(chat);
    for (struct ch_room *r; (r = CH_LIST_FIRST(&chat->rooms, struct ch_room, link));)
        free_room(r);
}

/* Nothing waits here, and its note has the rest. */
static bool is_idle(const struct ch_room *r) {
    return !r->nheard && !r->running && !r->waiting && !r->reading && ch_list_empty(&r->taken);
}

/* The one that was quiet for longest makes room. */
static void make_room(struct ch_chat *chat) {
    size_t n = 0;
    struct ch_room *oldest = NULL;
    for (CH_LIST_EACH(k, &chat->rooms)) {
        struct ch_room *r = CH_CONTAINER(k, struct ch_room, link);
        n++;
        if (!oldest && is_idle(r))
            oldest = r;
    }
    if (n >= CH_LIMIT_ROOMS && oldest)
        free_room(oldest);
}

static struct ch_room *room_of(struct ch_chat *chat, const char *session) {
    for (CH_LIST_EACH(k, &chat->rooms)) {
        struct ch_room *r = CH_CONTAINER(k, struct ch_room, link);
        if (strcmp(r->session, session) != 0)
            continue;
        ch_list_del(&r->link); /* the busiest last */
        ch_list_add(&chat->rooms, &r->link);
        return r;
    }
    make_room(chat);
    struct ch_room *r = ch_alloc(sizeof(*r));
    r->chat = chat;
    r->session = ch_strdup(session);
    ch_list_init(&r->heard);
    ch_list_init(&r->taken);
    ch_list_add(&chat->rooms, &r->link);
    return r;
}

/* --- hearing */

static void begin_later(struct ch_room *r, int64_t ms);

/* The oldest, and one that asks for an answer last; never the one that the next
 * turn is about. NULL: there is no other. */
static struct ch_parcel *least_missed(const struct ch_room *r) {
    struct ch_parcel *asked = NULL;
    for (CH_LIST_EACH(k, &r->heard)) {
        struct ch_parcel *p = CH_CONTAINER(k, struct ch_parcel, room);
        if (p == r->asking)
            continue;
        if (!p->asks)
            return p;
        asked = asked ? asked : p;
    }
    return asked;
}

static void forget(struct ch_room *r, struct ch_parcel *p) {
    if (p->asks)
        ch_log(CH_LOG_WARN, "heartbeat", "%s: %s: no turn will see it: %zu others wait",
               r->session, p->in.id, r->nheard - 1);
    ch_list_del(&p->room);
    r->nheard--;
    ch_parcel_settle(p);
}

static bool is_asked(const struct chela_urge *u) {
    return u->reply && u->reason != CHELA_URGE_WILLING;
}

static void ask(struct ch_room *r, struct ch_parcel *p, const struct chela_urge *u) {
    if (r->asking && !is_asked(u) && is_asked(&r->urge))
        return;
    if (!r->asking)
        r->patience = mono(r) + CH_DEFAULT_ROOM_PATIENCE * debounce_of(r);
    r->asking = p;
    r->urge = *u;
}

static int64_t time_of(const struct ch_room *r, const struct ch_parcel *p) {
    return p->in.about.ts ? p->in.about.ts : now(r);
}

/* One clock for all that a room's willingness is told: that of the chat, on from
 * its newest line. Ours may be wrong, and be set right later; and so may theirs,
 * so that nothing happens in the future. */
static int64_t heard_at(struct ch_room *r, const struct ch_parcel *p) {
    int64_t at = CH_MIN(time_of(r, p), now(r));
    if (at > r->newest) {
        r->newest = at;
        r->newest_mono = mono(r);
    }
    return at;
}

static int64_t chat_now(const struct ch_room *r) {
    return r->newest ? r->newest + (mono(r) - r->newest_mono) : now(r);
}

/* Another process may have decided, and may have begun nothing yet. */
static void decide(struct ch_room *r, struct ch_parcel *p) {
    const struct ch_arrival *in = &p->in;
    uint64_t id = ch_had_digest(in->id);
    struct chela_heard line = {.at = heard_at(r, p),
                               .text = {in->text, strlen(in->text)},
                               .mention = in->about.mentioned,
                               .quote = in->about.answers_us};
    struct chela_urge u = {.reply = true, .reason = r->why};
    bool before = p->decided;
    p->decided = true;
    if (id == r->asked) { /* so many may have followed that it is not among those we had */
        p->asks = is_asked(&u);
        ask(r, p, &u);
        return;
    }
    if (ch_had(&r->had, id))
        return;
    chela_willing_hear(r->willing, &line, &u);
    ch_had_add(&r->had, id);
    ch_room_keep_later(r);
    if (before)
        return; /* by us, but what counts is what another gateway knows, and that was news */
    ch_log(CH_LOG_INFO, "heartbeat", "%s: %s: %s, W %.1f, p %.2f, %s", r->session, in->id,
           u.reply ? "reply" : "silent", u.willingness, u.probability, chela_urge_name(u.reason));
    p->asks = is_asked(&u);
    if (u.reply && !(r->running && companion_of(r)->skips && !is_asked(&u)))
        ask(r, p, &u);
}

static void settle_down(struct ch_room *r) {
    for (struct ch_parcel *p;
         r->nheard > companion_of(r)->history && (p = least_missed(r));)
        forget(r, p);
    if (r->asking && !r->running)
        begin_later(r, CH_MAX(0, CH_MIN(debounce_of(r), r->patience - mono(r))));
}

static void end_turn(struct ch_room *r);

/* Its lines are not what the agent listens to any more: the one that is to be
 * answered is a message like others. */
static void retire(struct ch_room *r) {
    struct ch_parcel *asking = CH_TAKE(r->asking);
    for (struct ch_parcel *p; (p = CH_LIST_FIRST(&r->heard, struct ch_parcel, room));) {
        ch_list_del(&p->room);
        if (p == asking)
            ch_parcel_take_in(p);
        else
            ch_parcel_settle(p);
    }
    r->nheard = 0;
}

void ch_room_ready(struct ch_room *r) {
    if (!companion_of(r)) {
        retire(r);
        return;
    }
    for (CH_LIST_EACH(k, &r->heard))
        decide(r, CH_CONTAINER(k, struct ch_parcel, room));
    if (r->ended)
        end_turn(r);
    settle_down(r);
}

void ch_room_hear(struct ch_parcel *p) {
    struct ch_room *r = room_of(p->chat, p->in.session);
    if (!r->willing)
        r->direct = p->in.about.chat_type && strcmp(p->in.about.chat_type, "direct") == 0;
    ch_list_add(&r->heard, &p->room);
    r->nheard++;
    if (ch_room_read(r))
        return;
    ch_room_renew(r);
    decide(r, p);
    settle_down(r);
}

/* --- a turn */

static void on_ready(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *failed);

static void begin(struct ch_timer *t) {
    struct ch_room *r = CH_CONTAINER(t, struct ch_room, quiet);
    struct chela_error err = {0};
    struct ch_lane *lane;
    if (!r->asking || r->running || r->waiting || r->reading)
        return;
    if (!companion_of(r)) {
        retire(r);
        return;
    }
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

/* Has the text a line with this id? Only at the beginning of one: behind it is
 * what people write, whose own lines are indented. */
static bool has_id(struct ch_sv text, struct ch_sv id) {
    while (text.n) {
        struct ch_sv line = ch_sv_split(&text, '\n');
        size_t end = TIME + 1 + id.n;
        if (line.n > end && line.p[0] == '[' && line.p[TIME] == ' ' &&
            memcmp(line.p + TIME + 1, id.p, id.n) == 0 &&
            (line.p[end] == ']' || line.p[end] == ' '))
            return true;
    }
    return false;
}

static const char *id_of(const struct ch_parcel *p) {
    return p->in.about.message_id ? p->in.about.message_id : p->in.id;
}

/* A run of an earlier process may have had it: it is known by "[10:02 om_1", as
 * ch_view_line() wrote that. */
static bool has_line(const struct ch_lane *l, const struct ch_parcel *p) {
    const struct ch_transcript *t = &l->session->transcript;
    size_t from = t->n > CH_LIMIT_ROOM_LOOKBACK ? t->n - CH_LIMIT_ROOM_LOOKBACK : 0;
    CH_BUF_AUTO id = {0};
    ch_view_id(ch_sv_str(id_of(p)), &id);
    for (size_t i = from; i < t->n; i++)
        for (uint32_t k = 0; k < t->msgs[i]->nblocks; k++)
            if (t->msgs[i]->kind == CH_MSG_USER &&
                has_id(t->msgs[i]->blocks[k].text, ch_buf_sv(&id)))
                return true;
    return false;
}

static void add_line(const struct ch_room *r, const struct ch_parcel *p, struct ch_buf *out) {
    const struct chela_inbound *in = &p->in.about;
    struct ch_line line = {.at = time_of(r, p),
                           .id = ch_sv_str(id_of(p)),
                           .name = ch_sv_str(in->sender ? in->sender : in->sender_id),
                           .text = ch_sv_str(p->in.text)};
    if (in->quoted) {
        line.quoted = ch_sv_str(in->quoted->message_id);
        line.quoted_name = in->answers_us ? CH_SV("you") : ch_sv_str(in->quoted->sender);
        line.quoted_text = ch_sv_str(in->quoted->text);
    }
    ch_view_line(&line, companion_of(r)->utc_offset, out);
}

/* All that was heard as lines, the parcels into `taken`. What the session has is
 * settled: if that was to be answered, it was. */
static void collect(struct ch_room *r, const struct ch_lane *l, struct ch_buf *lines) {
    for (struct ch_parcel *p; (p = CH_LIST_FIRST(&r->heard, struct ch_parcel, room));) {
        if (has_line(l, p)) {
            r->asking = r->asking == p ? NULL : r->asking;
            ch_parcel_settle(p);
            continue;
        }
        ch_list_del(&p->room);
        ch_list_add(&r->taken, &p->room);
        add_line(r, p, lines);
    }
    r->nheard = 0;
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
            r->answering = p; /* its event was settled with the start of the run */
        } else {
            ch_parcel_settle(p);
        }
    }
    r->asking = back ? r->asking : NULL;
    r->asked = back ? r->asked : 0;
}

/* --- at work */

/* One that was asked will answer; another one may yet think better of it. */
static void show(struct ch_room *r) {
    if (r->answering && !r->answering->at_work)
        ch_parcel_working(r->answering, true);
}

static void show_no_more(struct ch_room *r) {
    struct ch_parcel *p = CH_TAKE(r->answering);
    if (p && p->at_work)
        ch_parcel_working(p, false);
    if (p)
        ch_parcel_drop(p);
}

static void end_turn(struct ch_room *r) {
    const struct ch_lane *l = ch_lane_find(r->chat->gw, ch_sv_str(r->session));
    r->ended = !r->willing;
    if (r->ended)
        return;
    /* Thinking it over is worth as much as saying something. */
    chela_willing_said(r->willing, chat_now(r), l ? ch_view_said(&l->session->transcript) : 0);
    ch_room_keep(r);
}

static void log_turn(const struct ch_room *r, unsigned beats) {
    const struct ch_lane *l = ch_lane_find(r->chat->gw, ch_sv_str(r->session));
    CH_BUF_AUTO thoughts = {0};
    if (l)
        ch_view_thoughts(&l->session->transcript, &thoughts);
    if (thoughts.n)
        ch_log(CH_LOG_INFO, "heartbeat", "%s: thought: %s", r->session, ch_buf_str(&thoughts));
    ch_log(CH_LOG_INFO, "heartbeat", "%s: %s after %u beat%s", r->session,
           l && ch_view_said(&l->session->transcript) ? "spoke" : "stayed silent", beats,
           beats == 1 ? "" : "s");
}

static void on_event(struct ch_watcher *w, const struct chela_event *ev) {
    struct ch_room *r = CH_CONTAINER(w, struct ch_room, watcher);
    if (ev->type == CHELA_EV_TOOL_CALL && ch_sv_is(ch_unstr(ev->call.name), CH_SEND_ACTION))
        show(r);
    if (ev->type != CHELA_EV_RUN_END)
        return;
    log_turn(r, ev->end.turns);
    ch_lane_unwatch(&r->watcher);
    r->running = false;
    show_no_more(r);
    end_turn(r);
    if (r->asking)
        begin_later(r, debounce_of(r));
}

static void watch(struct ch_room *r, struct ch_lane *l) {
    r->running = true;
    r->watcher.event = on_event;
    ch_lane_watch(l, &r->watcher);
}

void ch_room_follow(struct ch_chat *chat, struct ch_lane *l) {
    struct ch_room *r = room_of(chat, l->session->key);
    if (r->running)
        return;
    watch(r, l);
    ch_room_read(r);
}

/* What nobody asked for answers no message, unless it would leave its topic. */
static const char *place_of(const struct ch_room *r, struct ch_arena *a) {
    const struct ch_arrival *in = &r->asking->in;
    struct ch_sv to = ch_sv_str(in->to);
    if (is_asked(&r->urge) || in->about.thread_id)
        return in->to;
    return ch_arena_str(a, ch_sv_split(&to, ' '));
}

static void introduce(struct ch_sv id, void *user) {
    const struct ch_room *r = user;
    CH_AUTOFREE char *message = ch_strndup(id.p, id.n);
    ch_desk_introduce(r->chat, r->session, message);
}

/* It may answer whatever it sees. */
static void introduce_lines(struct ch_room *r, const struct ch_lane *l) {
    ch_view_ids(&l->session->transcript, companion_of(r)->history, introduce, r);
    for (CH_LIST_EACH(k, &r->taken))
        introduce(ch_sv_str(id_of(CH_CONTAINER(k, struct ch_parcel, room))), r);
}

static int start(struct ch_room *r, struct ch_lane *l, struct ch_buf *lines,
                 struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    struct ch_parcel *p = r->asking;
    struct chela_inbound scene = p->in.about;
    const char *to = place_of(r, &arena);
    scene.message_id = scene.sender = NULL; /* each line has its own */
    scene.quoted = NULL;
    struct chela_run_opts opts = CHELA_RUN_OPTS(
        .approve = "deny", .channel = p->in.about.channel, .sender = p->in.about.sender_id,
        .inbound = &scene, .event_id = p->in.id, .answer_to = to, .urge = &r->urge);
    int rc = ch_desk_furnish(r->chat, l, to, err);
    introduce_lines(r, l);
    return rc < 0 ? rc : ch_lane_send(l, ch_buf_sv(lines), &opts, err);
}

/* A run that an earlier process left goes first. */
static int resume(struct ch_room *r, struct ch_lane *l, struct chela_error *err) {
    int rc = ch_desk_furnish(r->chat, l, NULL, err);
    if (rc == 0)
        rc = ch_lane_resume(l, "deny", err);
    if (rc == 0)
        watch(r, l);
    return rc;
}

static void begin_turn(struct ch_room *r, struct ch_lane *l) {
    bool asked = is_asked(&r->urge);
    watch(r, l);
    let_go(r, false);
    chela_willing_turn(r->willing, chat_now(r));
    ch_room_keep(r); /* in the transaction of the lines' record */
    if (asked)
        show(r);
}

static void try_again(struct ch_room *r, const struct chela_error *err) {
    ch_log(CH_LOG_WARN, "heartbeat", "%s: lines wait: %s", r->session, err->message);
    let_go(r, true);
    begin_later(r, CH_DEFAULT_ROOM_RETRY_MS);
}

static void on_ready(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *failed) {
    struct ch_room *r = CH_CONTAINER(w, struct ch_room, wait);
    struct chela_error err = {0};
    CH_BUF_AUTO lines = {0};
    int rc;
    r->waiting = false;
    if (failed) {
        try_again(r, failed);
        return;
    }
    if (l->running || !companion_of(r)) { /* somebody began it in another way */
        begin_later(r, CH_DEFAULT_ROOM_RETRY_MS);
        return;
    }
    if (ch_lane_was_cut_off(l)) {
        if (resume(r, l, &err) < 0)
            try_again(r, &err);
        return;
    }
    collect(r, l, &lines);
    rc = r->asking ? start(r, l, &lines, &err) : CHELA_EEXIST;
    if (rc == 0) {
        begin_turn(r, l);
    } else if (rc == CHELA_EEXIST) { /* it had its turn: the others wait for theirs */
        if (r->asking)
            ch_parcel_settle(r->asking);
        r->asking = NULL;
        r->asked = 0;
        let_go(r, true);
    } else {
        try_again(r, &err);
    }
}
