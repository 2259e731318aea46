/* feishu_stream.c -- streamed answers: a card whose text is repeatedly replaced by the
 * answer so far.
 *
 *       first text --> CREATING --> NOTING --> UNSENT --> SHOWN --text, text ...
 *                          |           |          |          |
 *                          |           |          |          +--answer--> done
 *                          +-----------+----------+----------+--refused-> GONE
 *
 * A card is created with the first text and recorded in the store before it is sent, so
 * that after a crash the next process knows the card of an answer. The card is sent under
 * an idempotency id, so it can safely be sent again. The answer itself is in the outbox;
 * its sender calls ch_feishu_stream_end first. If the text cannot be put into the card,
 * this is recorded, the card is deleted, and the answer is sent as a normal message. So
 * exactly one answer appears in all cases.
 *
 * Operations on a card are numbered, and each number must be larger than all before,
 * including those of a process that died: the numbers count the time since the card was
 * created. */
#include "channel/feishu_stream.h"

#include "agent/handle/agent.h"
#include "agent/journal/outbox.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/log.h"
#include "base/utf8.h"
#include "channel/feishu.h"
#include "channel/feishu_api.h"
#include "channel/feishu_out.h"
#include "channel/feishu_post.h"
#include "json/writer.h"

#define ELEMENT "answer"
#define STEP_MS 300         /* between two updates; the service permits ten operations a second */
#define TICK_MS 250         /* unit of operation numbers: less than STEP_MS */
#define SLOWEST_MS 5000     /* maximum interval after a rate limit */
#define PAUSE_MS 60000      /* after a card could not be created */
#define LEFT_MS 20000       /* after the end of a run without an answer */
#define CLOSED 300309       /* code: the card no longer accepts streamed text */
#define OUT_OF_ORDER 300317 /* code: the number was too small */
#define SUMMARY_CHARS 50

struct card {
    struct ch_link link;
    struct ch_feishu_stream *st;
    char *to, *session;   /* owned; session NULL: card of an earlier process */
    char *id, *message;   /* owned: id of the card, and of its message; NULL: not known yet */
    enum { CREATING, NOTING, UNSENT, SHOWN, GONE } state;
    struct ch_buf text;   /* text to show */
    struct ch_buf put;    /* text sent last */
    int64_t since, number;
    int64_t step_ms;
    bool busy;            /* a call or a note is in progress */
    bool still;           /* no streamed text is accepted any more */
    bool over;            /* the run has ended */
    bool retold;          /* repeated once with a larger number */
    bool seen;            /* its note was seen in the current pass over the store */
    struct ch_timer timer;
    ch_feishu_ended_fn *fn; /* callback of the pending end; NULL: none */
    void *user;
};

struct ch_feishu_stream {
    struct chela_channel_host host;
    struct ch_feishu_api *api; /* borrowed */
    struct ch_list cards;
    int64_t not_before; /* monotonic time; no card is created before */
};

static struct ch_loop *feishu_stream_loop_of(const struct card *c) {
    return c->st->host.rt->loop;
}

static int64_t feishu_stream_mono(const struct ch_feishu_stream *st) {
    return ch_mono_ms(ch_loop_clock(st->host.rt->loop));
}

static int64_t wall(const struct ch_feishu_stream *st) {
    return ch_now_ms(ch_loop_clock(st->host.rt->loop));
}

/* --- cards */

static struct card *feishu_stream_find(const struct ch_feishu_stream *st, const char *to) {
    for (CH_LIST_EACH(k, &st->cards)) {
        struct card *c = CH_CONTAINER(k, struct card, link);
        if (strcmp(c->to, to) == 0)
            return c;
    }
    return NULL;
}

static struct card *new_card(struct ch_feishu_stream *st, const char *to, const char *session) {
    struct card *c = ch_alloc(sizeof(*c));
    c->st = st;
    c->to = ch_strdup(to);
    c->session = session ? ch_strdup(session) : NULL;
    c->since = wall(st);
    c->step_ms = STEP_MS;
    ch_list_add(&st->cards, &c->link);
    return c;
}

static void free_card(struct card *c) {
    ch_timer_stop(feishu_stream_loop_of(c), &c->timer);
    ch_list_del(&c->link);
    ch_buf_release(&c->text);
    ch_buf_release(&c->put);
    ch_free(c->to);
    ch_free(c->session);
    ch_free(c->id);
    ch_free(c->message);
    ch_free(c);
}

static void feishu_stream_watch(struct card *c);

static void feishu_stream_end(struct card *c, enum ch_feishu_ended what,
                              const struct ch_feishu_answer *a) {
    ch_feishu_ended_fn *fn = CH_TAKE(c->fn);
    if (what == CH_ENDED_LATER)
        feishu_stream_watch(c); /* the card may be dropped later */
    if (fn)
        fn(what, what == CH_ENDED_SHOWN ? c->message : a ? a->why : NULL, a ? a->wait_ms : 0,
           c->user);
}

/* --- the note */

/* The message id of "CHAT MESSAGE ...". */
static char *note_id(const struct card *c) {
    struct ch_sv rest = ch_sv_str(c->to);
    ch_sv_split(&rest, ' ');
    struct ch_sv message = ch_sv_split(&rest, ' ');
    return ch_strndup(message.p, message.n);
}

static void feishu_stream_note(struct card *c, chela_accepted_fn *done) {
    const struct chela_channel_host *h = &c->st->host;
    CH_AUTOFREE char *id = note_id(c);
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "to", c->to);
    ch_jw_kcstr(&w, "card", c->id);
    ch_jw_kint(&w, "since", c->since);
    if (c->state == GONE)
        ch_jw_kbool(&w, "gone", true);
    if (c->message)
        ch_jw_kcstr(&w, "message", c->message);
    ch_jw_end(&w, '}');
    h->note(id, ch_text(ch_buf_sv(&data)), done, c, h->user);
}

static void feishu_stream_forget(struct card *c) {
    const struct chela_channel_host *h = &c->st->host;
    CH_AUTOFREE char *id = note_id(c);
    if (c->id)
        h->note(id, (struct chela_text){NULL, 0}, NULL, NULL, h->user);
    free_card(c);
}

/* Forget cards of other processes whose note is gone. A card that its owner has finished
 * must not be found, because the next answer to the same message would replace its text. A
 * note made while the store was read is seen in the next pass. */
void ch_feishu_stream_recalled(struct ch_feishu_stream *st) {
    struct ch_link *k = st->cards.head.next, *next;
    for (; k != &st->cards.head; k = next) {
        struct card *c = CH_CONTAINER(k, struct card, link);
        next = k->next;
        bool known = c->seen && wall(st) - c->since <= CH_LIMIT_CARD_MS;
        c->seen = false;
        if (!c->session && !c->busy && !c->fn && !known)
            free_card(c);
    }
}

void ch_feishu_stream_recall(struct ch_feishu_stream *st, const char *id, struct ch_sv data) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    if (ch_json_parse(&arena, data, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return;
    struct ch_sv to = ch_json_get_str(v, "to"), card = ch_json_get_str(v, "card");
    struct ch_sv message = ch_json_get_str(v, "message");
    int64_t since = ch_json_int(ch_json_get(v, "since"), 0);
    if (wall(st) - since > CH_LIMIT_CARD_MS || !to.n || !card.n) {
        st->host.note(id, (struct chela_text){NULL, 0}, NULL, NULL, st->host.user);
        return;
    }
    struct card *c = feishu_stream_find(st, ch_arena_str(&arena, to));
    if (c) {
        c->seen = true;
        return;
    }
    c = new_card(st, ch_arena_str(&arena, to), NULL);
    c->seen = true;
    c->id = ch_strndup(card.p, card.n);
    c->message = message.n ? ch_strndup(message.p, message.n) : NULL;
    c->since = since;
    c->state = ch_json_bool(ch_json_get(v, "gone"), false) ? GONE : UNSENT;
}

/* --- calls */

static int64_t next_number(struct card *c) {
    return c->number = CH_MAX(c->number + 1, 1 + (wall(c->st) - c->since) / TICK_MS);
}

static void feishu_stream_call(struct card *c, const char *method, const char *path,
                               const struct ch_buf *body, ch_feishu_fn *fn) {
    c->busy = true;
    ch_feishu_call(c->st->api, method, path, body ? ch_buf_str(body) : NULL, fn, c);
}

/* Write sequence and uuid of an operation on a card. */
static void feishu_stream_add_number(struct card *c, struct ch_jw *w) {
    CH_BUF_AUTO uuid = {0};
    int64_t n = next_number(c);
    ch_buf_addf(&uuid, "c_%s_%lld", c->id, (long long)n);
    ch_jw_kint(w, "sequence", n);
    ch_jw_kstr(w, "uuid", ch_buf_sv(&uuid));
}

static void feishu_stream_add_summary(struct ch_jw *w, struct ch_sv text) {
    struct ch_sv line = ch_sv_trim(text);
    line = ch_utf8_cut(ch_sv_split(&line, '\n'), 4 * SUMMARY_CHARS);
    ch_jw_kbegin(w, "summary", '{');
    ch_jw_kstr(w, "content", line);
    ch_jw_end(w, '}');
}

static void write_card(struct ch_buf *out, struct ch_sv text, bool grows) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "schema", "2.0");
    ch_jw_kbegin(&w, "config", '{');
    ch_jw_kbool(&w, "update_multi", true);
    ch_jw_kbool(&w, "streaming_mode", grows);
    feishu_stream_add_summary(&w, grows ? CH_SV("...") : text);
    ch_jw_end(&w, '}');
    ch_jw_kbegin(&w, "body", '{');
    ch_jw_kbegin(&w, "elements", '[');
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "tag", "markdown");
    ch_jw_kcstr(&w, "element_id", ELEMENT);
    ch_jw_kstr(&w, "content", text);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
}

static void feishu_stream_put_text(struct card *c, ch_feishu_fn *fn) {
    CH_BUF_AUTO path = {0}, body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_buf_clear(&c->put);
    ch_buf_add_sv(&c->put, ch_buf_sv(&c->text));
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "content", ch_buf_sv(&c->text));
    feishu_stream_add_number(c, &w);
    ch_jw_end(&w, '}');
    ch_buf_addf(&path, "/open-apis/cardkit/v1/cards/%s/elements/" ELEMENT "/content", c->id);
    feishu_stream_call(c, "PUT", ch_buf_str(&path), &body, fn);
}

/* Replace the whole card and end streaming. */
static void put_whole(struct card *c, ch_feishu_fn *fn) {
    CH_BUF_AUTO path = {0}, body = {0}, card = {0};
    struct ch_jw w = ch_jw(&body);
    write_card(&card, ch_buf_sv(&c->text), false);
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "card", '{');
    ch_jw_kcstr(&w, "type", "card_json");
    ch_jw_kstr(&w, "data", ch_buf_sv(&card));
    ch_jw_end(&w, '}');
    feishu_stream_add_number(c, &w);
    ch_jw_end(&w, '}');
    ch_buf_addf(&path, "/open-apis/cardkit/v1/cards/%s", c->id);
    feishu_stream_call(c, "PUT", ch_buf_str(&path), &body, fn);
}

static void stop_growing(struct card *c, ch_feishu_fn *fn) {
    CH_BUF_AUTO path = {0}, body = {0}, settings = {0};
    struct ch_jw inner = ch_jw(&settings), w = ch_jw(&body);
    ch_jw_begin(&inner, '{');
    ch_jw_kbegin(&inner, "config", '{');
    ch_jw_kbool(&inner, "streaming_mode", false);
    feishu_stream_add_summary(&inner, ch_buf_sv(&c->text));
    ch_jw_end(&inner, '}');
    ch_jw_end(&inner, '}');
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "settings", ch_buf_sv(&settings));
    feishu_stream_add_number(c, &w);
    ch_jw_end(&w, '}');
    ch_buf_addf(&path, "/open-apis/cardkit/v1/cards/%s/settings", c->id);
    feishu_stream_call(c, "PATCH", ch_buf_str(&path), &body, fn);
}

/* --- failure: send the answer without the card */

static void on_taken_back(const struct ch_feishu_answer *a, void *user) {
    struct card *c = user;
    (void)a; /* the card may already be gone */
    c->busy = false;
    ch_free(CH_TAKE(c->message));
    feishu_stream_end(c, CH_ENDED_NONE, NULL);
}

static void feishu_stream_take_back(struct card *c) {
    CH_BUF_AUTO path = {0};
    if (!c->message) {
        feishu_stream_end(c, CH_ENDED_NONE, NULL);
        return;
    }
    ch_buf_addf(&path, "/open-apis/im/v1/messages/%s", c->message);
    feishu_stream_call(c, "DELETE", ch_buf_str(&path), NULL, on_taken_back);
}

static void feishu_stream_on_gone(int rc, const struct chela_error *err, void *user) {
    struct card *c = user;
    struct ch_feishu_answer later = {.why = err ? err->message : "the store cannot be written"};
    c->busy = false;
    if (rc < 0)
        feishu_stream_end(c, CH_ENDED_LATER, &later);
    else
        feishu_stream_take_back(c);
}

static void feishu_stream_give_up(struct card *c, const struct ch_feishu_answer *a) {
    ch_log(CH_LOG_WARN, "feishu", "the card of an answer is not updated any more: %s", a->why);
    c->state = GONE;
    c->busy = true;
    feishu_stream_note(c, feishu_stream_on_gone);
}

/* --- the final text */

static void send_card(struct card *c);
static void feishu_stream_finish(struct card *c);

static void on_stopped(const struct ch_feishu_answer *a, void *user) {
    struct card *c = user;
    c->busy = false;
    if (a->code != 0) /* the whole answer is shown; the card stops streaming by itself too */
        ch_log(CH_LOG_INFO, "feishu", "a card stays open for a while: %s", a->why);
    feishu_stream_end(c, CH_ENDED_SHOWN, NULL);
}

static void on_last(const struct ch_feishu_answer *a, void *user) {
    struct card *c = user;
    bool whole = c->still;
    c->busy = false;
    if (a->code == 0 && whole) {
        feishu_stream_end(c, CH_ENDED_SHOWN, NULL);
    } else if (a->code == 0) {
        stop_growing(c, on_stopped);
    } else if (a->code == CLOSED && !whole) {
        c->still = true;
        feishu_stream_finish(c);
    } else if (a->code == OUT_OF_ORDER && !c->retold) {
        c->retold = true;
        c->number += CH_LIMIT_CARD_MS / TICK_MS;
        feishu_stream_finish(c);
    } else if (ch_feishu_may_pass(a)) {
        feishu_stream_end(c, CH_ENDED_LATER, a);
    } else {
        feishu_stream_give_up(c, a);
    }
}

static void feishu_stream_finish(struct card *c) {
    if (c->busy)
        return;
    if (c->state == GONE)
        feishu_stream_take_back(c);
    else if (c->state == UNSENT)
        send_card(c);
    else if (c->still)
        put_whole(c, on_last);
    else
        feishu_stream_put_text(c, on_last);
}

/* --- updates */

static void on_put(const struct ch_feishu_answer *a, void *user);

static void feishu_stream_grow(struct ch_timer *t) {
    struct card *c = CH_CONTAINER(t, struct card, timer);
    if (c->busy || c->fn)
        return;
    if (c->state == UNSENT)
        send_card(c);
    else if (c->state == SHOWN && !c->still &&
             !ch_sv_eq(ch_buf_sv(&c->text), ch_buf_sv(&c->put)))
        feishu_stream_put_text(c, on_put);
}

static void grow_later(struct card *c) {
    if (c->over)
        feishu_stream_watch(c);
    else
        ch_timer_start(feishu_stream_loop_of(c), &c->timer, c->step_ms, feishu_stream_grow);
}

static void on_put(const struct ch_feishu_answer *a, void *user) {
    struct card *c = user;
    c->busy = false;
    if (a->code != 0 && !ch_feishu_may_pass(a))
        c->still = true; /* retried with the final text */
    if (a->code != 0)
        ch_log(CH_LOG_INFO, "feishu", "a card does not grow: %s", a->why);
    c->step_ms = a->code == 0 ? STEP_MS : CH_MIN(2 * c->step_ms, SLOWEST_MS);
    if (c->fn)
        feishu_stream_finish(c);
    else
        grow_later(c);
}

/* --- creation */

static void on_shown(const struct ch_feishu_answer *a, void *user) {
    struct card *c = user;
    struct ch_sv id = ch_json_get_str(ch_json_get(a->json, "data"), "message_id");
    c->busy = false;
    if (a->code == 0 && id.n && !memchr(id.p, 0, id.n) && !memchr(id.p, '/', id.n)) {
        ch_free(c->message);
        c->message = ch_strndup(id.p, id.n);
        c->state = SHOWN;
        if (c->fn)
            feishu_stream_finish(c);
        else
            grow_later(c);
    } else if (!ch_feishu_may_pass(a)) {
        feishu_stream_give_up(c, a->why ? a : &(struct ch_feishu_answer){.why = "it has no id"});
    } else if (c->fn) {
        feishu_stream_end(c, CH_ENDED_LATER, a);
    } else {
        c->step_ms = CH_MIN(2 * c->step_ms, SLOWEST_MS);
        grow_later(c);
    }
}

static void send_card(struct card *c) {
    CH_BUF_AUTO path = {0}, body = {0}, content = {0}, key = {0};
    struct ch_jw w = ch_jw(&body);
    struct ch_feishu_place at = ch_feishu_place(c->to);
    ch_buf_addf(&content, "{\"type\":\"card\",\"data\":{\"card_id\":\"%s\"}}", c->id);
    ch_buf_addf(&key, "card %s", c->id);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "msg_type", "interactive");
    ch_jw_kstr(&w, "content", ch_buf_sv(&content));
    if (at.thread)
        ch_jw_kbool(&w, "reply_in_thread", true);
    ch_feishu_add_uuid(&w, ch_buf_str(&key), 0);
    ch_jw_end(&w, '}');
    ch_buf_addf(&path, "/open-apis/im/v1/messages/%.*s/reply", CH_SV_FMT(at.message));
    feishu_stream_call(c, "POST", ch_buf_str(&path), &body, on_shown);
}

/* Drop a card that was never sent. */
static void feishu_stream_drop(struct card *c) {
    ch_feishu_ended_fn *fn = c->fn;
    void *user = c->user;
    feishu_stream_forget(c);
    if (fn)
        fn(CH_ENDED_NONE, NULL, 0, user);
}

static void feishu_stream_on_noted(int rc, const struct chela_error *err, void *user) {
    struct card *c = user;
    c->busy = false;
    if (rc < 0)
        ch_log(CH_LOG_WARN, "feishu", "no card is shown: %s",
               err ? err->message : chela_error_text(rc));
    if (rc < 0 || c->fn || c->over) { /* the answer came first, or the run has no answer */
        feishu_stream_drop(c);
        return;
    }
    c->state = UNSENT;
    send_card(c);
}

static void on_created(const struct ch_feishu_answer *a, void *user) {
    struct card *c = user;
    struct ch_sv id = ch_json_get_str(ch_json_get(a->json, "data"), "card_id");
    bool good = a->code == 0 && id.n && id.n <= CH_LIMIT_CHANNEL_ID;
    for (size_t i = 0; good && i < id.n; i++)
        good = (id.p[i] >= '0' && id.p[i] <= '9') || id.p[i] == '_' ||
               ((id.p[i] | 32) >= 'a' && (id.p[i] | 32) <= 'z');
    c->busy = false;
    if (!good) {
        c->st->not_before = feishu_stream_mono(c->st) + PAUSE_MS;
        ch_log(CH_LOG_WARN, "feishu", "answers are sent without cards for a minute: %s",
               a->why ? a->why : "a card has no id");
    }
    if (!good || c->fn || c->over) {
        feishu_stream_drop(c);
        return;
    }
    c->id = ch_strndup(id.p, id.n);
    c->state = NOTING;
    c->busy = true;
    feishu_stream_note(c, feishu_stream_on_noted);
}

static void feishu_stream_create(struct card *c) {
    CH_BUF_AUTO body = {0}, card = {0};
    struct ch_jw w = ch_jw(&body);
    write_card(&card, ch_buf_sv(&c->text), true);
    ch_buf_add_sv(&c->put, ch_buf_sv(&c->text));
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", "card_json");
    ch_jw_kstr(&w, "data", ch_buf_sv(&card));
    ch_jw_end(&w, '}');
    feishu_stream_call(c, "POST", "/open-apis/cardkit/v1/cards", &body, on_created);
}

/* --- interface for the channel */

void ch_feishu_stream_text(struct ch_feishu_stream *st, const struct chela_channel_arrival *in,
                           struct ch_sv text) {
    struct ch_parts rest = {.text = text};
    CH_BUF_AUTO part = {0};
    struct card *c = feishu_stream_find(st, in->to);
    if ((!c && feishu_stream_mono(st) < st->not_before) || (c && (c->fn || !c->session)))
        return;
    if (!ch_feishu_cut(&rest, &part)) /* text beyond a card's limit is sent at the end */
        return;
    bool fresh = !c;
    if (fresh)
        c = new_card(st, in->to, in->session);
    ch_buf_clear(&c->text);
    ch_buf_add_sv(&c->text, ch_buf_sv(&part));
    if (fresh)
        feishu_stream_create(c);
    else if (c->state == SHOWN && !c->busy && !ch_timer_armed(&c->timer))
        grow_later(c);
}

static void on_left_alone(const struct ch_feishu_answer *a, void *user) {
    struct card *c = user;
    (void)a; /* ignore failures: the card can be replaced in either case */
    c->busy = false;
    c->still = true;
    if (c->fn) /* the final text arrived in between */
        feishu_stream_finish(c);
    else
        feishu_stream_forget(c);
}

/* The answer may still wait for others of its session. */
static void feishu_stream_on_left(struct ch_timer *t) {
    struct card *c = CH_CONTAINER(t, struct card, timer);
    if (c->fn)
        return;
    if (c->busy || ch_outbox_has(c->st->host.rt, c->session))
        feishu_stream_watch(c);
    else if (c->state == SHOWN)
        stop_growing(c, on_left_alone);
    else
        feishu_stream_forget(c);
}

/* Cards of an earlier process expire. */
static void feishu_stream_watch(struct card *c) {
    if (c->session)
        ch_timer_start(feishu_stream_loop_of(c), &c->timer, LEFT_MS, feishu_stream_on_left);
}

void ch_feishu_stream_over(struct ch_feishu_stream *st, const char *to) {
    struct card *c = feishu_stream_find(st, to);
    if (!c || !c->session || c->fn)
        return;
    c->over = true;
    grow_later(c);
}

bool ch_feishu_stream_end(struct ch_feishu_stream *st, const char *to, struct ch_sv text,
                          ch_feishu_ended_fn *fn, void *user) {
    struct card *c = feishu_stream_find(st, to);
    if (!c || c->fn || (c->state == GONE && !c->message))
        return false;
    ch_timer_stop(feishu_stream_loop_of(c), &c->timer);
    ch_buf_clear(&c->text);
    ch_buf_add_sv(&c->text, text);
    c->fn = fn;
    c->user = user;
    feishu_stream_finish(c);
    return true;
}

void ch_feishu_stream_forget(struct ch_feishu_stream *st, const char *to) {
    struct card *c = feishu_stream_find(st, to);
    if (c && !c->busy)
        feishu_stream_forget(c);
}

bool ch_feishu_stream_is_idle(const struct ch_feishu_stream *st) {
    for (CH_LIST_EACH(k, &st->cards))
        if (CH_CONTAINER(k, struct card, link)->busy)
            return false;
    return true;
}

struct ch_feishu_stream *ch_feishu_stream_new(const struct chela_channel_host *host,
                                              struct ch_feishu_api *api) {
    struct ch_feishu_stream *st = ch_alloc(sizeof(*st));
    st->host = *host;
    st->api = api;
    ch_list_init(&st->cards);
    return st;
}

void ch_feishu_stream_free(struct ch_feishu_stream *st) {
    if (!st)
        return;
    for (struct card *c; (c = CH_LIST_FIRST(&st->cards, struct card, link));)
        free_card(c);
    ch_free(st);
}
