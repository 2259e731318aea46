/* outbox.c -- messages to the outside, none lost; see chela/mailbox.h.
 *
 *   STORING --stored--> READY --channel's turn--> SENDING --sent, refused--> gone
 *                         ^                          |      \--elsewhere--> in the store only
 *                         \------time-- RESTING <----/ uncertain
 *
 * A message is stored under its key before anybody sends it, and its receipt after. The
 * store has all messages; the list in memory has those that this process sends. A message
 * stored as "failed" was given up and stays in the store for the operator; an "uncertain"
 * message is sent again, also after a restart.
 *
 * A message of a session that is open here is stored under the session's lease, and sent
 * only while this process still holds it: another process that took the session over finds
 * the message in the store and sends it. Messages of other sessions (a channel's own
 * answers) need no lease.
 *
 * Callbacks come from pump(), a deferred task. Messages of one session leave in
 * the order in which they came. */

#include "agent/journal/outbox.h"

#include "agent/handle/lookup.h"
#include "agent/handle/run_origin.h"
#include "agent/handle/session.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/event.h"
#include "agent/machine/run.h"
#include "base/choice.h"
#include "base/error.h"
#include "base/key_table.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/opts.h"
#include "io/loop_entry.h"
#include "json/json.h"
#include "json/writer.h"

#define LATE_MS 500 /* a lease that was not renewed in time is looked at again after this */
#define FIRST_REST_MS 1000
#define LONGEST_REST_MS 300000
#define LONGEST_WAIT_MS 3600000 /* the same, if the receiver asked for the wait */

enum letter_state { STORING, READY, SENDING, RESTING };

struct letter {
    struct ch_link link;
    struct ch_keyed of_session; /* in the outbox's sessions */
    struct ch_outbox *box;
    enum letter_state state;
    int64_t due;             /* RESTING: until then, on the loop's clock */
    uint64_t token;          /* token of the session's lease; 0: none is needed */
    const void *by;          /* SENDING: `user` of the channel that sends it */
    struct chela_outbound m; /* texts in the arena */
    struct ch_arena arena;
    bool lent; /* passed to the send function, which has not returned */
    bool gone; /* dropped meanwhile: freed when the send function returns */
    chela_accepted_fn *stored; /* called when the message is stored; may be NULL */
    void *user;
    ch_receipt_fn *watch; /* NULL: none */
    void *watch_user;
};

struct channel {
    struct channel *next;
    char *name;
    chela_send_fn *send; /* NULL: no channel of this name is open */
    void *user;
    ch_sent_fn *sent; /* called for every sent message; NULL: none */
    void *sent_user;
};

struct ch_outbox {
    chela_runtime *rt;
    struct ch_list letters;
    struct ch_key_table sessions; /* the letters by session, in the order of the list */
    size_t n;
    struct channel *channels;
    struct ch_task task;
    struct ch_timer timer;
    bool held; /* counted by ch_runtime_busy */
};

static void pump(struct ch_task *task);

static struct ch_outbox *outbox(chela_runtime *rt) {
    if (rt->outbox)
        return rt->outbox;
    struct ch_outbox *box = ch_alloc(sizeof(*box));
    box->rt = rt;
    box->task.fn = pump;
    ch_list_init(&box->letters);
    return rt->outbox = box;
}

/* Keeps the runtime busy while messages wait. */
static void outbox_hold(struct ch_outbox *box) {
    bool held = box->n > 0;

    if (held == box->held)
        return;
    box->held = held;
    ch_runtime_busy(box->rt, held);
}

static void wake(struct ch_outbox *box) {
    ch_task_defer(box->rt->loop, &box->task);
}

/* --- letters ----------------------------------------------------------------------- */

static const char *outbox_copy(struct letter *l, const char *text) {
    return text ? ch_arena_str(&l->arena, ch_sv_str(text)) : NULL;
}

static const char *const *copy_media(struct letter *l, const struct chela_outbound *m) {
    const char **list = ch_arena_alloc(&l->arena, (m->nmedia + 1) * sizeof(*list));

    for (size_t i = 0; i < m->nmedia; i++)
        list[i] = outbox_copy(l, m->media[i]);
    return list;
}

/* The log of the message's session; NULL: it is not open here. */
static struct ch_log *log_of(chela_runtime *rt, const char *session) {
    chela_session *s = ch_session_find(rt, ch_sv_str(session));
    struct ch_run_journal *k = s ? ch_run_journal_of_session(s) : NULL;

    return k ? k->log : NULL;
}

static void owe(const struct letter *l, int n) {
    struct ch_journal *j = l->box->rt->journal;

    if (l->token)
        j->ops->owe(j, l->m.session, n);
}

static struct letter *add_letter(struct ch_outbox *box, const struct chela_outbound *m,
                                 enum letter_state state) {
    struct letter *l = ch_alloc(sizeof(*l));
    struct ch_log *log = log_of(box->rt, m->session);

    l->box = box;
    l->state = state;
    l->m = (struct chela_outbound)
        CHELA_OUTBOUND(.key = outbox_copy(l, m->key), .session = outbox_copy(l, m->session),
                       .channel = outbox_copy(l, m->channel), .to = outbox_copy(l, m->to),
                       .text = outbox_copy(l, m->text ? m->text : ""),
                       .run = outbox_copy(l, m->run), .status = m->status, .reason = m->reason,
                       .error = outbox_copy(l, m->error), .reply_to = outbox_copy(l, m->reply_to),
                       .media = copy_media(l, m), .nmedia = m->nmedia, .voice = m->voice,
                       .attempts = m->attempts, .approval = outbox_copy(l, m->approval));
    l->token = log ? box->rt->journal->ops->token(log) : 0;
    owe(l, 1);
    ch_list_add(&box->letters, &l->link);
    ch_key_table_add(&box->sessions, &l->of_session, l->m.session);
    box->n++;
    outbox_hold(box);
    return l;
}

static void free_letter(struct letter *l) {
    ch_arena_release(&l->arena);
    ch_free(l);
}

static void drop_letter(struct letter *l) {
    struct ch_outbox *box = l->box;

    if (box->rt->journal)
        owe(l, -1);
    ch_list_del(&l->link);
    ch_key_table_del(&box->sessions, &l->of_session);
    box->n--;
    outbox_hold(box);
    l->gone = true;
    if (!l->lent)
        free_letter(l);
}

static struct letter *find_letter(const struct ch_outbox *box, const char *key) {
    for (CH_LIST_EACH(k, &box->letters)) {
        struct letter *l = CH_CONTAINER(k, struct letter, link);
        if (strcmp(l->m.key, key) == 0)
            return l;
    }
    return NULL;
}

void ch_outbox_free(struct ch_outbox *box) {
    if (!box)
        return;
    ch_task_cancel(box->rt->loop, &box->task);
    ch_timer_stop(box->rt->loop, &box->timer);
    for (struct letter *l; (l = CH_LIST_FIRST(&box->letters, struct letter, link));)
        drop_letter(l);
    ch_key_table_release(&box->sessions);
    for (struct channel *c = box->channels, *next; c; c = next) {
        next = c->next;
        ch_free(c->name);
        ch_free(c);
    }
    ch_free(box);
}

/* --- being stored -------------------------------------------------------------------- */

static void outbox_kopt(struct ch_jw *w, const char *key, const char *text) {
    if (text)
        ch_jw_kcstr(w, key, text);
}

static void write_letter(const struct chela_outbound *m, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);

    ch_jw_begin(&w, '{');
    outbox_kopt(&w, "channel", m->channel);
    outbox_kopt(&w, "to", m->to);
    outbox_kopt(&w, "text", m->text);
    outbox_kopt(&w, "run", m->run);
    if (m->run) {
        ch_jw_kcstr(&w, "status", chela_status_name(m->status));
        if (m->reason)
            ch_jw_kcstr(&w, "reason", chela_reason_name(m->reason));
    }
    outbox_kopt(&w, "error", m->error);
    outbox_kopt(&w, "reply_to", m->reply_to);
    outbox_kopt(&w, "approval", m->approval);
    if (m->nmedia) {
        ch_jw_kbegin(&w, "media", '[');
        for (size_t i = 0; i < m->nmedia; i++)
            ch_jw_str(&w, ch_sv_str(m->media[i]));
        ch_jw_end(&w, ']');
    }
    if (m->voice)
        ch_jw_kbool(&w, "voice", true);
    ch_jw_end(&w, '}');
}

static void on_stored(int rc, const struct chela_error *err, void *user) {
    struct letter *l = user;
    struct ch_outbox *box = l->box;
    chela_accepted_fn *fn = l->stored;
    void *fn_user = l->user;

    wake(box); /* sends this message, or else the next one of the session */
    if (rc == 0) {
        l->state = READY;
    } else {
        if (rc != CHELA_EEXIST)
            ch_log(CH_LOG_ERROR, "outbox", "%s cannot be stored, and is not sent: %s", l->m.key,
                   err ? err->message : chela_error_text(rc));
        drop_letter(l);
    }
    if (fn)
        fn(rc, err, fn_user);
}

/* Stores a message. l NULL: this process does not send it. */
static void store_letter(chela_runtime *rt, const struct chela_outbound *m, struct letter *l) {
    struct ch_journal *j = rt->journal;
    CH_BUF_AUTO data = {0};

    write_letter(m, &data);
    struct ch_log *log = log_of(rt, m->session);
    if (log) {
        j->ops->send(log, m->key, ch_buf_sv(&data), j->gate, l ? on_stored : NULL, l);
        return;
    }
    struct chela_store_change c = {.kind = CHELA_STORE_INTENT,
                                   .id = m->key,
                                   .key = m->session,
                                   .data = data.p,
                                   .n = data.n};
    j->ops->change(j, &c, j->gate, l ? on_stored : NULL, l);
}

/* until: the receiver asked not to try before this time, in ms since the epoch; 0: it did not.
 * elsewhere: a process that has the connection sends the message. */
static void store_receipt(const struct letter *l, const char *state, const char *note,
                          int64_t until, bool elsewhere) {
    chela_runtime *rt = l->box->rt;
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);

    ch_jw_begin(&w, '{');
    outbox_kopt(&w, "note", note);
    if (until)
        ch_jw_kint(&w, "until", until);
    if (elsewhere)
        ch_jw_kbool(&w, "elsewhere", true);
    ch_jw_end(&w, '}');
    struct chela_store_change c = {.kind = CHELA_STORE_RECEIPT,
                                   .id = l->m.key,
                                   .state = state,
                                   .data = data.p,
                                   .n = data.n};
    rt->journal->ops->change(rt->journal, &c, CH_SYNC_LATER, NULL, NULL);
    ch_run_journal_receipt(rt, l->m.session, l->m.key, state);
}

/* --- sending ---------------------------------------------------------------------------- */

static struct channel *find_channel(const struct ch_outbox *box, const char *name) {
    for (struct channel *c = box->channels; c; c = c->next)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

static bool is_first_of_session(const struct letter *l) {
    return ch_key_table_find(&l->box->sessions, ch_sv_str(l->m.session)) == &l->of_session;
}

static struct letter *next_ready(const struct ch_outbox *box, const struct channel **out) {
    for (CH_LIST_EACH(k, &box->letters)) {
        struct letter *l = CH_CONTAINER(k, struct letter, link);
        if (l->state != READY || !is_first_of_session(l))
            continue;
        *out = find_channel(box, l->m.channel);
        if (*out && (*out)->send)
            return l;
    }
    return NULL;
}

static void outbox_rest(struct letter *l, int64_t ms);

/* True: the message may be sent now. Otherwise the message was dropped, because another process
 * has its session and sends it, or is tried again when the lease was renewed. */
static bool outbox_check_lease(struct letter *l) {
    struct ch_journal *j = l->box->rt->journal;
    enum ch_lease lease =
        l->token ? j->ops->lease(j, l->m.session, l->token) : CH_LEASE_HELD;

    if (lease == CH_LEASE_GONE) {
        ch_log(CH_LOG_WARN, "outbox", "%s is not sent: this process no longer holds session '%s'",
               l->m.key, l->m.session);
        drop_letter(l);
    } else if (lease == CH_LEASE_LATE) {
        outbox_rest(l, LATE_MS);
    }
    return lease == CH_LEASE_HELD;
}

/* Sends the ready messages. A channel's callback may change the list, so the search starts
 * again after each message. */
static void pump(struct ch_task *task) {
    struct ch_outbox *box = CH_CONTAINER(task, struct ch_outbox, task);
    const struct channel *c = NULL;

    for (struct letter *l; (l = next_ready(box, &c));) {
        if (!outbox_check_lease(l))
            continue;
        l->state = SENDING;
        l->by = c->user;
        l->lent = true;
        c->send(box->rt, &l->m, c->user);
        l->lent = false;
        if (l->gone) /* the receipt came inside the call */
            free_letter(l);
    }
}

/* --- resting ------------------------------------------------------------------------------ */

static void arm(struct ch_outbox *box);

static void outbox_on_timer(struct ch_timer *t) {
    struct ch_outbox *box = CH_CONTAINER(t, struct ch_outbox, timer);
    int64_t now = ch_mono_ms(ch_loop_clock(box->rt->loop));

    for (CH_LIST_EACH(k, &box->letters)) {
        struct letter *l = CH_CONTAINER(k, struct letter, link);
        if (l->state == RESTING && l->due <= now)
            l->state = READY;
    }
    wake(box);
    arm(box);
}

static void arm(struct ch_outbox *box) {
    int64_t first = INT64_MAX, now = ch_mono_ms(ch_loop_clock(box->rt->loop));

    for (CH_LIST_EACH(k, &box->letters)) {
        const struct letter *l = CH_CONTAINER(k, struct letter, link);
        if (l->state == RESTING)
            first = CH_MIN(first, l->due);
    }
    ch_timer_stop(box->rt->loop, &box->timer);
    if (first != INT64_MAX)
        ch_timer_start(box->rt->loop, &box->timer, CH_MAX(first - now, 1), outbox_on_timer);
}

static void outbox_rest(struct letter *l, int64_t ms) {
    l->state = RESTING;
    l->due = ch_mono_ms(ch_loop_clock(l->box->rt->loop)) + ms;
    arm(l->box);
}

static int64_t back_off(const struct letter *l) {
    return CH_MIN((int64_t)FIRST_REST_MS << CH_MIN(l->m.attempts - 1, 16u), LONGEST_REST_MS);
}

int chela_outbox_receipt(chela_runtime *rt, const char *key, enum chela_receipt what,
                         const char *note, int64_t wait_ms, struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    CH_LOG_SCOPE(rt->sink);
    struct letter *l = find_letter(outbox(rt), key);

    if (what < CHELA_RECEIPT_SENT || what > CHELA_RECEIPT_ELSEWHERE)
        return ch_fail(err, CHELA_EINVAL, "there is no receipt %d", (int)what);
    if (!l || l->state != SENDING)
        return ch_fail(err, CHELA_ENOENT, "no message %s is being sent", key);
    l->m.attempts += what == CHELA_RECEIPT_UNCERTAIN;
    if (l->watch)
        l->watch(what, note, l->watch_user);
    if (what == CHELA_RECEIPT_UNCERTAIN && l->m.attempts < CH_LIMIT_SENDS) {
        int64_t asked = CH_MIN(wait_ms, LONGEST_WAIT_MS);
        store_receipt(l, "uncertain", note,
                      asked > 0 ? ch_now_ms(ch_loop_clock(rt->loop)) + asked : 0, false);
        outbox_rest(l, CH_MAX(asked, back_off(l)));
        return 0;
    }
    bool elsewhere = what == CHELA_RECEIPT_ELSEWHERE;
    store_receipt(l, what == CHELA_RECEIPT_SENT ? "sent" : elsewhere ? "uncertain" : "failed", note,
                  0, elsewhere);
    const struct channel *c = find_channel(l->box, l->m.channel);
    if (what == CHELA_RECEIPT_SENT && c && c->sent)
        c->sent(&l->m, note ? note : "", c->sent_user);
    if (what != CHELA_RECEIPT_SENT && !elsewhere)
        ch_log(CH_LOG_ERROR, "outbox", "%s is not sent: %s", key, note ? note : "it was refused");
    drop_letter(l);
    wake(rt->outbox); /* wakes the next message of the session */
    return 0;
}

/* --- for channels --------------------------------------------------------------------------- */

static struct channel *need_channel(struct ch_outbox *box, const char *name) {
    struct channel *c = find_channel(box, name);

    if (c)
        return c;
    c = ch_alloc(sizeof(*c));
    c->name = ch_strdup(name);
    c->next = box->channels;
    return box->channels = c;
}

int chela_outbox_channel(chela_runtime *rt, const char *name, chela_send_fn *fn, void *user,
                         struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    struct ch_outbox *box = outbox(rt);

    if (!name || !*name)
        return ch_fail(err, CHELA_EINVAL, "a channel needs a name");
    struct channel *c = need_channel(box, name);
    c->send = fn;
    c->user = user;
    wake(box);
    return 0;
}

void ch_outbox_on_sent(chela_runtime *rt, const char *channel, ch_sent_fn *fn, void *user) {
    struct channel *c = need_channel(outbox(rt), channel);

    c->sent = fn;
    c->sent_user = user;
}

void ch_outbox_watch(chela_runtime *rt, const char *key, ch_receipt_fn *fn, void *user) {
    struct letter *l = find_letter(outbox(rt), key);

    if (!l)
        return;
    l->watch = fn;
    l->watch_user = user;
}

static int outbox_check(const chela_runtime *rt, const struct chela_outbound *m,
                        struct chela_error *err) {
    if (!rt->journal)
        return ch_fail(err, CHELA_ESTATE, "there is no store to keep messages in");
    if (!m->key || !*m->key || !m->session || !m->channel || !*m->channel)
        return ch_fail(err, CHELA_EINVAL, "a message needs a key, a session and a channel");
    if (strlen(m->key) > CH_LIMIT_EVENT_ID || (m->to && strlen(m->to) > CH_LIMIT_ADDRESS) ||
        (m->text && strlen(m->text) > CH_LIMIT_INPUT))
        return ch_fail(err, CHELA_ELIMIT, "the message is too large");
    if (rt->outbox && rt->outbox->n >= CH_LIMIT_OUTBOX)
        return ch_fail(err, CHELA_ELIMIT, "%zu messages wait to be sent", rt->outbox->n);
    return 0;
}

int chela_outbox_put(chela_runtime *rt, const struct chela_outbound *given, chela_accepted_fn *fn,
                     void *user, struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    struct chela_outbound m;
    int rc = CH_OPTS_NEED(chela_outbound, &m, given, err);

    m.attempts = 0;
    if (rc == 0)
        rc = outbox_check(rt, &m, err);
    if (rc < 0)
        return rc;
    struct letter *l = add_letter(outbox(rt), &m, STORING);
    l->stored = fn;
    l->user = user;
    store_letter(rt, &l->m, l);
    return 0;
}

static const char *opt(struct ch_arena *a, const struct ch_json *v, const char *key) {
    const struct ch_json *text = ch_json_get(v, key);

    return text ? ch_arena_str(a, ch_json_str(text)) : NULL;
}

static void read_media(struct ch_arena *a, const struct ch_json *v, struct chela_outbound *m) {
    const struct ch_json *media = ch_json_get(v, "media");

    if (!ch_json_is(media, CH_JSON_ARRAY))
        return;
    const char **list = ch_arena_alloc(a, (media->n + 1) * sizeof(*list));
    for (CH_JSON_EACH(item, media))
        list[m->nmedia++] = ch_arena_str(a, ch_json_str(item));
    m->media = list;
}

/* The last receipt of a message; NULL: none. */
static const struct ch_json *read_receipt(struct ch_arena *a, const struct chela_store_item *item) {
    const struct ch_json *v;

    return item->receipt && ch_json_parse(a, ch_sv_str(item->receipt), CH_JSON_REPLACE, &v, NULL,
                                          NULL) == 0
               ? v
               : NULL;
}

bool ch_outbox_is_elsewhere(const struct chela_store_item *item) {
    CH_ARENA_AUTO arena = {0};

    return ch_json_bool(ch_json_get(read_receipt(&arena, item), "elsewhere"), false);
}

/* The rest of a wait that the receiver asked an earlier process for, in ms; 0: none. */
static int64_t asked_wait(const chela_runtime *rt, const struct chela_store_item *item) {
    CH_ARENA_AUTO arena = {0};
    int64_t until = ch_json_int(ch_json_get(read_receipt(&arena, item), "until"), 0);
    int64_t ms = until - ch_now_ms(ch_loop_clock(rt->loop));

    return ms > 0 && ms <= LONGEST_WAIT_MS ? ms : 0;
}

int chela_outbox_recall(chela_runtime *rt, const struct chela_store_item *item,
                        struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    CH_NEEDS_ARG(item, err);
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct ch_outbox *box = outbox(rt);

    if (strcmp(item->state, "failed") == 0 || find_letter(box, item->id))
        return 0;
    int rc = ch_json_parse(&arena, ch_sv(item->data, item->n), CH_JSON_STRICT, &v, NULL, err);
    if (rc < 0)
        return ch_fail(err, CHELA_EPARSE, "message %s makes no sense", item->id);
    struct chela_outbound m = CHELA_OUTBOUND(
        .key = item->id, .session = item->key, .channel = opt(&arena, v, "channel"),
        .to = opt(&arena, v, "to"), .text = opt(&arena, v, "text"), .run = opt(&arena, v, "run"),
        .status = (enum chela_status)ch_choice_of(CHELA_CHOICE_STATUS, opt(&arena, v, "status")),
        .reason = (enum chela_reason)ch_choice_of(CHELA_CHOICE_REASON, opt(&arena, v, "reason")),
        .error = opt(&arena, v, "error"), .reply_to = opt(&arena, v, "reply_to"),
        .approval = opt(&arena, v, "approval"),
        .voice = ch_json_bool(ch_json_get(v, "voice"), false),
        .attempts = (unsigned)CH_MIN(item->attempts, (uint64_t)CH_LIMIT_SENDS));
    read_media(&arena, v, &m);
    rc = outbox_check(rt, &m, err);
    if (rc < 0)
        return rc;
    struct letter *l = add_letter(box, &m, READY);
    int64_t ms = asked_wait(rt, item);
    if (ms)
        outbox_rest(l, ms);
    wake(box);
    return 0;
}

bool ch_outbox_has(const chela_runtime *rt, const char *session) {
    return rt->outbox && ch_key_table_find(&rt->outbox->sessions, ch_sv_str(session));
}

bool ch_outbox_sends(const chela_runtime *rt, const void *user) {
    if (!rt->outbox)
        return false;
    for (CH_LIST_EACH(k, &rt->outbox->letters)) {
        const struct letter *l = CH_CONTAINER(k, struct letter, link);
        if (l->state == SENDING && l->by == user)
            return true;
    }
    return false;
}

bool ch_outbox_waits(const chela_runtime *rt, const char *channel) {
    if (!rt->outbox)
        return false;
    for (CH_LIST_EACH(k, &rt->outbox->letters))
        if (strcmp(CH_CONTAINER(k, struct letter, link)->m.channel, channel) == 0)
            return true;
    return false;
}

bool ch_outbox_is_sending(const chela_runtime *rt) {
    const struct channel *c;
    if (!rt->outbox)
        return false;
    for (CH_LIST_EACH(k, &rt->outbox->letters)) {
        enum letter_state state = CH_CONTAINER(k, struct letter, link)->state;
        if (state == STORING || state == SENDING)
            return true;
    }
    return next_ready(rt->outbox, &c) != NULL;
}

size_t chela_outbox_waiting(const chela_runtime *rt) {
    CH_ENTER_OR(rt, rt->loop, NULL, 0);
    return rt->outbox ? rt->outbox->n : 0;
}

size_t ch_outbox_stuck(const chela_runtime *rt, const char *channel, int64_t *next_ms) {
    size_t n = 0;
    int64_t now = ch_mono_ms(ch_loop_clock(rt->loop)), first = INT64_MAX;
    if (rt->outbox)
        for (CH_LIST_EACH(k, &rt->outbox->letters)) {
            const struct letter *l = CH_CONTAINER(k, struct letter, link);
            if (!l->m.attempts || strcmp(l->m.channel, channel) != 0)
                continue;
            n++;
            first = CH_MIN(first, l->state == RESTING ? l->due : now);
        }
    *next_ms = n ? CH_MAX(first - now, 0) : 0;
    return n;
}

/* --- answers ---------------------------------------------------------------------------------- */

void ch_outbox_answer(chela_run *run, unsigned turn, const struct chela_event *end) {
    chela_session *s = run->session;
    enum ch_run_status status = ch_reason_status(run->m.reason);
    CH_BUF_AUTO key = {0};
    CH_BUF_AUTO text = {0};
    CH_ARENA_AUTO arena = {0};

    const char *to = ch_run_origin_answer_to(run);

    if (!to || !s->channel->name || !ch_run_journal_of(run) || end->end.silent ||
        status == CH_STATUS_CANCELLED || (end->end.delivered && !end->end.ending.n))
        return;
    if (!end->end.delivered)
        ch_buf_add_sv(&text, ch_buf_sv(&run->text));
    if (end->end.ending.n)
        ch_buf_addf(&text, "%s%.*s", text.n ? "\n\n" : "", CH_SV_FMT(ch_unstr(end->end.ending)));
    if (!text.n && !end->end.nmedia)
        return;
    const char **media = ch_arena_alloc(&arena, (end->end.nmedia + 1) * sizeof(*media));
    for (size_t i = 0; i < end->end.nmedia; i++)
        media[i] = ch_arena_str(&arena, ch_unstr(end->end.media[i]));
    /* The key is the same for the same turn in every process; a fork of the session has
     * another key. */
    ch_buf_addf(&key, "%s:%s:%u", s->key, run->id, turn);
    struct chela_outbound m = CHELA_OUTBOUND(
        .key = ch_buf_str(&key), .session = s->key, .channel = s->channel->name,
        .to = to, .text = ch_buf_str(&text), .run = run->id,
        .status = (enum chela_status)status, .reason = (enum chela_reason)run->m.reason,
        .error = *ch_run_error(run) ? ch_run_error(run) : NULL,
        .reply_to = end->end.reply_to.n ? ch_arena_str(&arena, ch_unstr(end->end.reply_to)) : NULL,
        .media = media, .nmedia = end->end.nmedia, .voice = end->end.voice);
    struct ch_outbox *box = outbox(s->agent->rt);
    bool room = box->n < CH_LIMIT_OUTBOX;
    if (!room)
        ch_log(CH_LOG_WARN, "outbox", "%s: too many messages wait; this one is stored", m.key);
    ch_run_journal_outbound(run, m.key);
    store_letter(box->rt, &m, room ? add_letter(box, &m, STORING) : NULL);
}
