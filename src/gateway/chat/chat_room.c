/* chat_room.c -- see chat_room.h.
 *
 *   line --> reply? --yes--> a moment of quiet --> one run with all new lines
 *              `--no--> the line is part of the next run
 *
 * A room holds the agent's propensity to reply in one chat, and the lines that no run has
 * seen. Lines stay in the inbox until a run has them, so the next process hears them again
 * after a crash. Lines that the session already holds are recognized by their ids, and
 * lines that were decided about by the room's note (chat_room_notes.h). A room keeps only as
 * many lines as a run can see; lines that are addressed to the agent are kept longest.
 *
 * Lines are heard during a run, too. A line that is addressed to the agent gets a run of its
 * own afterwards, and so does a line that the agent chose to reply to, unless the agent is
 * configured to skip those. Every decision is logged with the propensity. */
#include "gateway/chat/chat_room.h"

#include "agent/feature/heartbeat/beat.h"
#include "agent/feature/heartbeat/chat_view.h"
#include "agent/machine/event.h"
#include "base/error.h"
#include "base/log.h"
#include "gateway/chat/approval_prompt.h"
#include "gateway/chat/chat_event.h"
#include "gateway/chat/chat_lane.h"
#include "gateway/chat/chat_room_notes.h"
#include "gateway/chat/chat_service.h"
#include "gateway/chat/reply_target.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"

#define TIME 6 /* length of "[10:02", the beginning of a line */

static int64_t room_now(const struct ch_chat_room *r) {
    return ch_now_ms(ch_loop_clock(r->chat->gw->rt->loop));
}

static int64_t room_mono(const struct ch_chat_room *r) {
    return ch_mono_ms(ch_loop_clock(r->chat->gw->rt->loop));
}

/* NULL: after a reload the agent is no longer in mode heartbeat. */
static const struct ch_companion *companion_of(const struct ch_chat_room *r) {
    return ch_companion_of(ch_chat_service_agent(r->chat));
}

static int64_t debounce_of(const struct ch_chat_room *r) {
    return companion_of(r) ? companion_of(r)->opts.debounce_ms : 0;
}

/* --- life */

static void free_room(struct ch_chat_room *r) {
    struct ch_list *lists[] = {&r->heard, &r->taken};
    for (size_t i = 0; i < CH_LEN(lists); i++)
        while (!ch_list_empty(lists[i]))
            ch_list_del(lists[i]->head.next);
    if (ch_task_queued(&r->write_task))
        ch_chat_room_notes_write(r);
    ch_timer_stop(r->chat->gw->rt->loop, &r->quiet_timer);
    ch_list_del(&r->wait.link);
    ch_list_del(&r->turn.link);
    ch_free(r->turn_id);
    ch_lane_unwatch(&r->watcher);
    ch_list_del(&r->link);
    chela_willing_free(r->willing);
    ch_free(r->decided.ids);
    ch_free(r->session);
    ch_free(r);
}

void ch_chat_rooms_release(struct ch_chat_service *chat) {
    ch_chat_room_notes_stop_reading(chat);
    for (struct ch_chat_room *r; (r = CH_LIST_FIRST(&chat->rooms, struct ch_chat_room, link));)
        free_room(r);
}

/* Can the room be freed? Its note holds its state. */
static bool room_is_idle(const struct ch_chat_room *r) {
    return !r->nheard && !r->running && !r->waiting && !r->reading && ch_list_empty(&r->taken);
}

/* Frees the room that was idle longest if there are too many. */
static void evict_idle_room(struct ch_chat_service *chat) {
    size_t n = 0;
    struct ch_chat_room *oldest = NULL;
    for (CH_LIST_EACH(k, &chat->rooms)) {
        struct ch_chat_room *r = CH_CONTAINER(k, struct ch_chat_room, link);
        n++;
        if (!oldest && room_is_idle(r))
            oldest = r;
    }
    if (n >= CH_LIMIT_CHAT_ROOMS && oldest)
        free_room(oldest);
}

static void on_room_ready(struct ch_chat_room *r);

static struct ch_chat_room *room_need(struct ch_chat_service *chat, const char *session) {
    for (CH_LIST_EACH(k, &chat->rooms)) {
        struct ch_chat_room *r = CH_CONTAINER(k, struct ch_chat_room, link);
        if (strcmp(r->session, session) != 0)
            continue;
        ch_list_del(&r->link); /* most recently used last */
        ch_list_add(&chat->rooms, &r->link);
        return r;
    }
    evict_idle_room(chat);
    struct ch_chat_room *r = ch_alloc(sizeof(*r));
    r->chat = chat;
    r->ready = on_room_ready;
    r->session = ch_strdup(session);
    ch_list_init(&r->heard);
    ch_list_init(&r->taken);
    ch_list_add(&chat->rooms, &r->link);
    return r;
}

/* --- hearing lines */

static void room_schedule_turn(struct ch_chat_room *r, int64_t ms);

/* The oldest line that is not addressed to the agent, else the oldest; never the pending
 * one. NULL: no such line. */
static struct ch_chat_event *least_important_line(const struct ch_chat_room *r) {
    struct ch_chat_event *asked = NULL;
    for (CH_LIST_EACH(k, &r->heard)) {
        struct ch_chat_event *e = CH_CONTAINER(k, struct ch_chat_event, room_link);
        if (e == r->pending)
            continue;
        if (!e->wants_reply)
            return e;
        asked = asked ? asked : e;
    }
    return asked;
}

static void room_forget_line(struct ch_chat_room *r, struct ch_chat_event *e) {
    if (e->wants_reply)
        ch_log(CH_LOG_WARN, "heartbeat", "%s: %s: dropped, because %zu other lines wait",
               r->session, e->in.id, r->nheard - 1);
    ch_list_del(&e->room_link);
    r->nheard--;
    ch_chat_event_settle(e);
}

static bool is_addressed(const struct chela_urge *u) {
    return u->reply && u->reason != CHELA_URGE_WILLING;
}

static void room_set_pending(struct ch_chat_room *r, struct ch_chat_event *e,
                             const struct chela_urge *u) {
    if (r->pending && !is_addressed(u) && is_addressed(&r->pending_urge))
        return;
    if (!r->pending)
        r->deadline = room_mono(r) + CH_DEFAULT_ROOM_PATIENCE * debounce_of(r);
    r->pending = e;
    r->pending_urge = *u;
}

static int64_t line_time(const struct ch_chat_room *r, const struct ch_chat_event *e) {
    return e->in.about.ts ? e->in.about.ts : room_now(r);
}

/* The time of a line. The propensity uses one clock: that of the chat, continued from its
 * newest line, because our own clock may be wrong and be corrected later. Times in the
 * future are cut to our clock, because the chat's may be wrong, too. */
static int64_t heard_at(struct ch_chat_room *r, const struct ch_chat_event *e) {
    int64_t at = CH_MIN(line_time(r, e), room_now(r));
    if (at > r->newest) {
        r->newest = at;
        r->newest_mono = room_mono(r);
    }
    return at;
}

static int64_t chat_now(const struct ch_chat_room *r) {
    return r->newest ? r->newest + (room_mono(r) - r->newest_mono) : room_now(r);
}

/* Another process may have decided about the line without beginning a run. */
static void room_decide(struct ch_chat_room *r, struct ch_chat_event *e) {
    const struct chela_channel_arrival *in = &e->in;
    uint64_t id = ch_chat_room_notes_digest(in->id);
    struct chela_heard line = {.at = heard_at(r, e),
                               .text = {in->text, strlen(in->text)},
                               .mention = in->about.mentioned,
                               .quote = in->about.answers_us};
    struct chela_urge u = {.reply = true, .reason = r->pending_reason};
    bool before = e->decided;
    e->decided = true;
    if (id == r->pending_digest) { /* the ring of decided lines may have lost it */
        e->wants_reply = is_addressed(&u);
        room_set_pending(r, e, &u);
        return;
    }
    if (ch_chat_room_notes_is_decided(&r->decided, id))
        return;
    chela_willing_hear(r->willing, &line, &u);
    ch_chat_room_notes_add_decided(&r->decided, id);
    ch_chat_room_notes_write_later(r);
    if (before)
        return; /* decided here before, then the note of another gateway replaced the state */
    ch_log(CH_LOG_INFO, "heartbeat", "%s: %s: %s, W %.1f, p %.2f, %s", r->session, in->id,
           u.reply ? "reply" : "silent", u.willingness, u.probability, chela_urge_name(u.reason));
    e->wants_reply = is_addressed(&u);
    if (u.reply && !(r->running && companion_of(r)->skips && !is_addressed(&u)))
        room_set_pending(r, e, &u);
}

static void room_after_lines(struct ch_chat_room *r) {
    for (struct ch_chat_event *e;
         r->nheard > companion_of(r)->history && (e = least_important_line(r));)
        room_forget_line(r, e);
    if (r->pending && !r->running)
        room_schedule_turn(r, CH_MAX(0, CH_MIN(debounce_of(r), r->deadline - room_mono(r))));
}

static void room_end_turn(struct ch_chat_room *r);

/* The agent is no longer in mode heartbeat: the pending line becomes an ordinary message,
 * the others are settled. */
static void room_retire(struct ch_chat_room *r) {
    struct ch_chat_event *asking = CH_TAKE(r->pending);
    for (struct ch_chat_event *e;
         (e = CH_LIST_FIRST(&r->heard, struct ch_chat_event, room_link));) {
        ch_list_del(&e->room_link);
        if (e == asking)
            e->chat->dispatch(e);
        else
            ch_chat_event_settle(e);
    }
    r->nheard = 0;
}

static void on_room_ready(struct ch_chat_room *r) {
    if (!companion_of(r)) {
        room_retire(r);
        return;
    }
    for (CH_LIST_EACH(k, &r->heard))
        room_decide(r, CH_CONTAINER(k, struct ch_chat_event, room_link));
    if (r->ended)
        room_end_turn(r);
    room_after_lines(r);
}

void ch_chat_room_hear(struct ch_chat_event *e) {
    struct ch_chat_room *r = room_need(e->chat, e->in.session);
    if (!r->willing)
        r->direct = e->in.about.chat_type && strcmp(e->in.about.chat_type, "direct") == 0;
    ch_list_add(&r->heard, &e->room_link);
    r->nheard++;
    if (ch_chat_room_notes_read(r))
        return;
    ch_chat_room_notes_renew(r);
    room_decide(r, e);
    room_after_lines(r);
}

/* --- a turn */

static void room_on_lane_ready(struct ch_lane_wait *w, struct ch_lane *l,
                               const struct chela_error *failed);

static void room_on_quiet_timer(struct ch_timer *t) {
    struct ch_chat_room *r = CH_CONTAINER(t, struct ch_chat_room, quiet_timer);
    struct chela_error err = {0};
    struct ch_lane *lane;
    if (!r->pending || r->running || r->waiting || r->reading)
        return;
    if (!companion_of(r)) {
        room_retire(r);
        return;
    }
    if (!r->chat->overrides_read) { /* lines from before the start may be in the store */
        room_schedule_turn(r, CH_DEFAULT_ROOM_START_MS);
        return;
    }
    if (ch_chat_lane_use(r->chat, r->session, &lane, &err) < 0) {
        ch_log(CH_LOG_WARN, "heartbeat", "%s: lines wait: %s", r->session, err.message);
        room_schedule_turn(r, CH_DEFAULT_ROOM_RETRY_MS);
        return;
    }
    r->waiting = true;
    r->wait.ready = room_on_lane_ready;
    ch_lane_when_ready(lane, &r->wait);
}

static void room_schedule_turn(struct ch_chat_room *r, int64_t ms) {
    ch_timer_start(r->chat->gw->rt->loop, &r->quiet_timer, ms, room_on_quiet_timer);
}

/* Does the text have a line with this id? Ids are matched at the beginning of a line only:
 * people's own text is indented. */
static bool text_has_line_id(struct ch_sv text, struct ch_sv id) {
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

static const char *line_id(const struct ch_chat_event *e) {
    return e->in.about.message_id ? e->in.about.message_id : e->in.id;
}

/* Does the session hold the line, from a run of an earlier process? It begins with
 * "[10:02 om_1", as ch_chat_view_line() writes it. */
static bool session_has_line(const struct ch_lane *l, const struct ch_chat_event *e) {
    const struct ch_transcript *t = &l->session->transcript;
    size_t from = t->n > CH_LIMIT_ROOM_LOOKBACK ? t->n - CH_LIMIT_ROOM_LOOKBACK : 0;
    CH_BUF_AUTO id = {0};
    ch_chat_view_id(ch_sv_str(line_id(e)), &id);
    for (size_t i = from; i < t->n; i++)
        for (uint32_t k = 0; k < t->msgs[i]->nblocks; k++)
            if (t->msgs[i]->kind == CH_MSG_USER &&
                text_has_line_id(t->msgs[i]->blocks[k].text, ch_buf_sv(&id)))
                return true;
    return false;
}

static void room_add_line(const struct ch_chat_room *r, const struct ch_chat_event *e,
                          struct ch_buf *out) {
    const struct chela_inbound *in = &e->in.about;
    struct ch_chat_line line = {.at = line_time(r, e),
                                .id = ch_sv_str(line_id(e)),
                                .name = ch_sv_str(in->sender ? in->sender : in->sender_id),
                                .sender = ch_sv_str(in->sender_id),
                                .text = ch_sv_str(e->in.text)};
    if (in->quoted) {
        line.quoted = ch_sv_str(in->quoted->message_id);
        line.quoted_name = in->answers_us ? CH_SV("you") : ch_sv_str(in->quoted->sender);
        line.quoted_text = ch_sv_str(in->quoted->text);
    }
    ch_chat_view_line(&line, companion_of(r)->utc_offset, out);
}

/* Writes all heard lines and moves their events to `taken`. Lines that the session already
 * holds are settled; if one of them was pending, it had its run. */
static void room_collect_lines(struct ch_chat_room *r, const struct ch_lane *l,
                               struct ch_buf *lines) {
    for (struct ch_chat_event *e;
         (e = CH_LIST_FIRST(&r->heard, struct ch_chat_event, room_link));) {
        if (session_has_line(l, e)) {
            r->pending = r->pending == e ? NULL : r->pending;
            ch_chat_event_settle(e);
            continue;
        }
        ch_list_del(&e->room_link);
        ch_list_add(&r->taken, &e->room_link);
        room_add_line(r, e, lines);
    }
    r->nheard = 0;
}

static struct ch_chat_event *room_next_taken(struct ch_chat_room *r) {
    struct ch_chat_event *e = CH_LIST_FIRST(&r->taken, struct ch_chat_event, room_link);
    if (e)
        ch_list_del(&e->room_link);
    return e;
}

/* A run has begun with the taken lines: settles them. */
static void room_settle_taken(struct ch_chat_room *r) {
    for (struct ch_chat_event *e; (e = room_next_taken(r));)
        if (e == r->pending)
            r->answering = e; /* the start of the run settled it */
        else
            ch_chat_event_settle(e);
    r->pending = NULL;
    r->pending_digest = 0;
}

/* No run has begun: the taken lines wait again. */
static void room_return_taken(struct ch_chat_room *r) {
    for (struct ch_chat_event *e; (e = room_next_taken(r));) {
        ch_list_add(&r->heard, &e->room_link);
        r->nheard++;
    }
}

/* --- signs that the agent is working */

/* Shown at once if the agent was addressed; otherwise when it writes, since it may still
 * decide to stay silent. */
static void room_show_working(struct ch_chat_room *r) {
    if (r->answering && !r->answering->shows_working)
        ch_chat_event_show_working(r->answering, true);
}

static void room_stop_working(struct ch_chat_room *r) {
    struct ch_chat_event *e = CH_TAKE(r->answering);
    if (e && e->shows_working)
        ch_chat_event_show_working(e, false);
    if (e)
        ch_chat_event_drop(e);
}

static void room_end_turn(struct ch_chat_room *r) {
    const struct ch_lane *l = ch_lane_find(r->chat->gw, ch_sv_str(r->session));
    r->ended = !r->willing;
    if (r->ended)
        return;
    /* A turn without words counts as a reply for the propensity. */
    chela_willing_said(r->willing, chat_now(r), l ? ch_chat_view_said(&l->session->transcript) : 0);
    ch_chat_room_notes_write(r);
}

static void log_turn(const struct ch_chat_room *r, unsigned beats) {
    const struct ch_lane *l = ch_lane_find(r->chat->gw, ch_sv_str(r->session));
    CH_BUF_AUTO thoughts = {0};
    if (l)
        ch_chat_view_thoughts(&l->session->transcript, &thoughts);
    if (thoughts.n)
        ch_log(CH_LOG_INFO, "heartbeat", "%s: thought: %s", r->session, ch_buf_str(&thoughts));
    ch_log(CH_LOG_INFO, "heartbeat", "%s: %s after %u beat%s", r->session,
           l && ch_chat_view_said(&l->session->transcript) ? "spoke" : "stayed silent", beats,
           beats == 1 ? "" : "s");
}

static void room_on_event(struct ch_lane_watcher *w, const struct chela_event *ev) {
    struct ch_chat_room *r = CH_CONTAINER(w, struct ch_chat_room, watcher);
    if (ev->type == CHELA_EV_TOOL_CALL && ch_sv_is(ch_unstr(ev->call.name), CH_SEND_ACTION))
        room_show_working(r);
    if (ev->type != CHELA_EV_RUN_END)
        return;
    ch_lane_unwatch(&r->watcher);
    r->running = false;
    room_stop_working(r);
    if (ev->end.status == CHELA_STATUS_PAUSED) { /* the decision resumes the turn */
        ch_log(CH_LOG_INFO, "heartbeat", "%s: waits for a decision", r->session);
    } else {
        log_turn(r, ev->end.turns);
        room_end_turn(r);
    }
    if (r->pending)
        room_schedule_turn(r, debounce_of(r));
}

static void room_watch(struct ch_chat_room *r, struct ch_lane *l) {
    r->running = true;
    r->watcher.event = room_on_event;
    ch_lane_watch(l, &r->watcher);
}

void ch_chat_room_follow(struct ch_chat_service *chat, struct ch_lane *l) {
    struct ch_chat_room *r = room_need(chat, l->session->key);
    if (r->running)
        return;
    room_watch(r, l);
    ch_chat_room_notes_read(r);
}

/* An unasked reply does not quote a message, except in a topic, which it would leave. */
static const char *room_reply_address(const struct ch_chat_room *r, struct ch_arena *a) {
    const struct chela_channel_arrival *in = &r->pending->in;
    struct ch_sv to = ch_sv_str(in->to);
    if (is_addressed(&r->pending_urge) || in->about.thread_id)
        return in->to;
    return ch_arena_str(a, ch_sv_split(&to, ' '));
}

static void room_add_message(struct ch_sv id, void *user) {
    const struct ch_chat_room *r = user;
    CH_AUTOFREE char *message = ch_strndup(id.p, id.n);
    ch_reply_target_add_message(r->chat, r->session, message);
}

/* The model may reply to every message that it sees. */
static void add_visible_messages(struct ch_chat_room *r, const struct ch_lane *l) {
    ch_chat_view_ids(&l->session->transcript, companion_of(r)->history, room_add_message, r);
    for (CH_LIST_EACH(k, &r->taken))
        room_add_message(ch_sv_str(line_id(CH_CONTAINER(k, struct ch_chat_event, room_link))), r);
}

static int room_start_run(struct ch_chat_room *r, struct ch_lane *l, struct ch_buf *lines,
                          struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    struct ch_chat_event *e = r->pending;
    struct chela_inbound scene = e->in.about;
    const char *to = room_reply_address(r, &arena);
    scene.message_id = scene.sender = NULL; /* differs from line to line */
    scene.quoted = NULL;
    struct chela_run_opts opts =
        CHELA_RUN_OPTS(.approve = ch_approval_prompt_policy(r->chat),
                       .channel = e->in.about.channel, .sender = e->in.about.sender_id,
                       .inbound = &scene, .event_id = e->in.id, .answer_to = to,
                       .urge = &r->pending_urge);
    int rc = ch_reply_target_attach(r->chat, l, to, err);
    add_visible_messages(r, l);
    return rc < 0 ? rc : ch_lane_send(l, ch_buf_sv(lines), &opts, err);
}

/* Resumes a run that an earlier process left, before other lines are processed. */
static int room_resume_run(struct ch_chat_room *r, struct ch_lane *l, struct chela_error *err) {
    int rc = ch_reply_target_attach(r->chat, l, NULL, err);
    if (rc == 0)
        rc = ch_lane_resume(l, ch_approval_prompt_policy(r->chat), err);
    if (rc == 0)
        room_watch(r, l);
    return rc;
}

static void room_begin_turn(struct ch_chat_room *r, struct ch_lane *l) {
    bool asked = is_addressed(&r->pending_urge);
    room_watch(r, l);
    room_settle_taken(r);
    chela_willing_turn(r->willing, chat_now(r));
    ch_chat_room_notes_write(r); /* in one transaction with the record of the lines */
    if (asked)
        room_show_working(r);
}

static void room_retry(struct ch_chat_room *r, const struct chela_error *err) {
    ch_log(CH_LOG_WARN, "heartbeat", "%s: lines wait: %s", r->session, err->message);
    room_return_taken(r);
    room_schedule_turn(r, CH_DEFAULT_ROOM_RETRY_MS);
}

/* Is the pending line the one whose turn was waited for? */
static bool room_turn_is_pending(const struct ch_chat_room *r) {
    return r->pending && strcmp(r->pending->in.id, r->turn.id) == 0;
}

/* Another process has taken up the pending line. */
static void room_drop_pending(struct ch_chat_room *r) {
    ch_chat_event_drop(CH_TAKE(r->pending));
    r->nheard--;
    r->pending_digest = 0;
}

/* The pending line already had its run. */
static void room_settle_pending(struct ch_chat_room *r) {
    if (r->pending)
        ch_chat_event_settle(r->pending);
    r->pending = NULL;
    r->pending_digest = 0;
    room_return_taken(r);
}

static int room_run_turn(struct ch_chat_room *r, struct ch_lane *l) {
    struct chela_error err = {0};
    CH_BUF_AUTO lines = {0};
    room_collect_lines(r, l, &lines);
    int rc = r->pending ? room_start_run(r, l, &lines, &err) : CHELA_EEXIST;
    if (rc == 0)
        room_begin_turn(r, l);
    else if (rc == CHELA_EEXIST)
        room_settle_pending(r);
    else
        room_retry(r, &err);
    return rc;
}

static int room_take_turn(struct ch_turn *t, struct ch_lane *l, const struct chela_error *failed) {
    struct ch_chat_room *r = CH_CONTAINER(t, struct ch_chat_room, turn);
    struct chela_error err = {0};
    r->waiting = false;
    if (failed && failed->code != CHELA_EEXIST) {
        room_retry(r, failed);
        return 0;
    }
    if (failed) {
        if (room_turn_is_pending(r))
            room_drop_pending(r);
        return 0;
    }
    if (l->running || chela_session_status(l->session) == CHELA_SESSION_PAUSED ||
        !companion_of(r) || !room_turn_is_pending(r)) {
        room_schedule_turn(r, CH_DEFAULT_ROOM_RETRY_MS); /* a run began by other means, or waits */
        return -1;
    }
    if (ch_lane_was_interrupted(l)) {
        if (room_resume_run(r, l, &err) < 0)
            room_retry(r, &err);
        return -1;
    }
    return room_run_turn(r, l);
}

static void room_on_lane_ready(struct ch_lane_wait *w, struct ch_lane *l,
                               const struct chela_error *failed) {
    struct ch_chat_room *r = CH_CONTAINER(w, struct ch_chat_room, wait);
    if (failed || !r->pending) {
        r->waiting = false;
        if (failed)
            room_retry(r, failed);
        return;
    }
    ch_free(r->turn_id);
    r->turn_id = ch_strdup(r->pending->in.id);
    r->turn = (struct ch_turn){.id = r->turn_id, .kind = CH_TURN_CONTROLS, .take = room_take_turn};
    ch_lane_inbox_wait(l, &r->turn);
}
