/* acp_follow.c -- shows messages that other processes add to a session.
 *
 * A session that is loaded is shown with the endings of its runs. Between runs any process may
 * continue the session. The store is polled once a second: new messages are shown, and questions
 * about calls that were decided elsewhere are withdrawn. */
#include "acp/acp_follow.h"

#include "acp/acp_ask.h"
#include "acp/acp_forward.h"
#include "acp/acp_reply.h"
#include "acp/acp_turn.h"
#include "agent/handle/runtime.h"
#include "agent/journal/journal.h"
#include "base/error.h"
#include "base/grow.h"
#include "store/store.h"

enum { LOOK_MS = 1000 };

/* --- calls that wait for a person ----------------------------------------------------------- */

static struct ch_acp_ask *find_ask(struct ch_acp_session *s, struct ch_sv call) {
    for (CH_LIST_EACH(k, &s->asks)) {
        struct ch_acp_ask *a = CH_CONTAINER(k, struct ch_acp_ask, link);
        if (ch_sv_is(call, a->call))
            return a;
    }
    return NULL;
}

static bool is_waiting(const struct ch_json *waiting, const struct ch_acp_ask *a) {
    for (CH_JSON_EACH(w, waiting))
        if (ch_sv_is(ch_json_get_str(w, "id"), a->call))
            return true;
    return false;
}

static char *member(const struct ch_json *v, const char *key) {
    struct ch_sv text = ch_json_get_str(v, key);
    return ch_json_is(ch_json_get(v, key), CH_JSON_STRING) ? ch_strndup(text.p, text.n) : NULL;
}

/* Bring the questions in line with the store. */
static void adopt_waiting(struct ch_acp_session *s, const struct ch_json *waiting) {
    struct ch_link *next;
    for (struct ch_link *k = s->asks.head.next; k != &s->asks.head; k = next) {
        struct ch_acp_ask *a = CH_CONTAINER(k, struct ch_acp_ask, link);
        next = k->next;
        if (!is_waiting(waiting, a))
            ch_acp_ask_drop(a);
    }
    for (CH_JSON_EACH(w, waiting)) {
        struct ch_sv name = ch_json_get_str(w, "name");
        bool question = !ch_json_get(w, "approval_id");
        if (find_ask(s, ch_json_get_str(w, "id")) || (question && !ch_sv_is(name, "ask_user")))
            continue;
        struct ch_acp_ask ask = {.approval = member(w, "approval_id"),
                                 .call = member(w, "id"),
                                 .name = member(w, "name"),
                                 .arguments = member(w, "arguments"),
                                 .summary = member(w, "summary"),
                                 .can_remember =
                                     ch_json_bool(ch_json_get(w, "can_remember"), false)};
        ch_acp_ask_add(s, &ask);
    }
}

static int take_row(const struct chela_store_session *row, void *user) {
    *(uint64_t *)user = row->last;
    return 1;
}

/* How a run ended, of a state record. */
static void show_ending(struct ch_acp_session *s, const struct ch_json *v) {
    CH_ARENA_AUTO a = {0};
    struct ch_sv ending = ch_json_get_str(v, "ending");
    struct chela_event end = {.type = CHELA_EV_RUN_END,
                              .run = ch_arena_str(&a, ch_json_get_str(v, "run")),
                              .end = {.ending = {ending.p, ending.n}}};
    if (ending.n && !ch_sv_is(ch_json_get_str(v, "status"), "cancelled"))
        s->acp->version->event(&s->shown, &end, ch_acp_send_update, s);
}

/* --- endings of earlier runs, which no message of the transcript holds */

struct past_endings {
    struct ch_arena arena;
    struct past_ending {
        int64_t ts;
        const struct ch_json *state;
    } *list; /* owned; oldest first */
    size_t n, cap, shown;
};

static int note_ending(const struct chela_store_record *r, void *user) {
    struct past_endings *p = user;
    const struct ch_json *v;
    if (r->type != CH_REC_STATE || !memmem(r->data, r->n, "\"ending\"", 8) ||
        ch_json_parse(&p->arena, ch_arena_sv(&p->arena, ch_sv(r->data, r->n)), CH_JSON_REPLACE, &v,
                      NULL, NULL) < 0)
        return 0;
    CH_GROW(p->list, p->n, p->cap, 16);
    p->list[p->n++] = (struct past_ending){r->ts, v};
    return 0;
}

/* Shows those that come before the message; NULL: the rest. Endings before the first message are
 * of runs that the transcript no longer has. */
static void show_past_endings(struct ch_acp_session *s, struct past_endings *p,
                              const struct ch_json *message, bool first) {
    int64_t ts = message ? ch_json_int(ch_json_get(message, "ts"), 0) : INT64_MAX;
    bool person = ch_sv_is(ch_json_get_str(message, "role"), "user");
    for (; p->shown < p->n; p->shown++) {
        int64_t at = p->list[p->shown].ts;
        if (at > ts || (at == ts && !person))
            return;
        if (!first)
            show_ending(s, p->list[p->shown].state);
    }
}

static void show_transcript(struct ch_acp_session *s, const struct ch_json *transcript) {
    struct past_endings past = {.n = 0};
    bool first = true;
    chela_store_records(s->place->given.store, s->id, 1, note_ending, &past, NULL);
    for (CH_JSON_EACH(m, transcript)) {
        show_past_endings(s, &past, m, first);
        s->acp->version->message(&s->shown, m, ch_acp_send_update, s);
        first = false;
    }
    show_past_endings(s, &past, NULL, first);
    ch_free(past.list);
    ch_arena_release(&past.arena);
}

int ch_acp_follow_replay(struct ch_acp_session *s, bool show, struct chela_error *err) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v = NULL;
    char *json = NULL;
    uint64_t last = 0;
    int rc = chela_store_session(s->place->given.store, s->id, take_row, &last, err);
    if (rc == 0)
        rc = chela_store_show(s->place->given.store, s->id, &json, err);
    if (rc == 0)
        rc = ch_json_parse(&a, ch_sv_str(json), CH_JSON_REPLACE, &v, NULL, err);
    if (rc == 0) {
        s->kept = true;
        s->seen = last;
        if (show)
            show_transcript(s, ch_json_get(v, "transcript"));
        adopt_waiting(s, ch_json_get(v, "waiting"));
    }
    chela_free(json);
    return rc;
}

/* --- looking -------------------------------------------------------------------------------- */

static int show_record(const struct chela_store_record *r, void *user) {
    struct ch_acp_session *s = user;
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v = NULL;
    s->seen = r->seq;
    if (r->type != CH_REC_INBOUND && r->type != CH_REC_MESSAGE && r->type != CH_REC_DONE &&
        r->type != CH_REC_STATE)
        return 0;
    if (ch_json_parse(&a, ch_sv(r->data, r->n), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return 0;
    if (r->type == CH_REC_STATE)
        show_ending(s, v);
    else
        s->acp->version->message(&s->shown, ch_json_get(v, "message"), ch_acp_send_update, s);
    return 0;
}

struct row {
    uint64_t last;
    bool idle;
};

static int take_status(const struct chela_store_session *row, void *user) {
    struct row *out = user;
    out->last = row->last;
    out->idle = strcmp(row->status, "idle") == 0;
    return 1;
}

static void look_at_store(struct ch_acp_session *s) {
    struct row row = {0};
    chela_store *store = s->place->given.store;
    bool expired, forwards = s->forwarded;
    bool waits = ch_acp_forward_waits(s, &expired); /* before the row is read */
    if (expired)
        ch_acp_turn_end(s, NULL, "another program holds the session and takes no message up");
    if (chela_store_session(store, s->id, take_status, &row, NULL) < 0 ||
        (row.last <= s->seen && !forwards))
        return;
    if (row.last > s->seen) {
        if (chela_store_records(store, s->id, s->seen + 1, show_record, s, NULL) < 0)
            s->seen = row.last;
        ch_acp_follow_replay(s, false, NULL);
    }
    if (row.idle && s->nprompts > 0 && !s->input && !waits)
        ch_acp_turn_end(s, s->cancelled ? "cancelled" : "end_turn", NULL);
    else
        ch_acp_ask_next(s);
}

static void on_look(struct ch_timer *t) {
    struct ch_acp_session *s = CH_CONTAINER(t, struct ch_acp_session, poll_timer);
    if (!s->run && !s->opening && !s->session && s->kept)
        look_at_store(s);
    ch_acp_follow(s);
}

void ch_acp_follow(struct ch_acp_session *s) {
    ch_timer_start(s->acp->rt->loop, &s->poll_timer, LOOK_MS, on_look);
}

void ch_acp_follow_stop(struct ch_acp_session *s) {
    ch_timer_stop(s->acp->rt->loop, &s->poll_timer);
}
