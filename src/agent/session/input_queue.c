/* input_queue.c -- messages that arrive while a session is busy.
 *
 * A session has one run at a time. A message that arrives meanwhile is steered into the
 * run, follows it, waits until the input is quiet and then starts a run together with
 * others, or interrupts the run. A message that waits outside of any run is stored on
 * arrival. The run that starts with it is stored in the same transaction. A message that is
 * dropped is mentioned in the text that the model and the reader get. */
#include "agent/session/input_queue.h"

#include "agent/handle/lookup.h"
#include "agent/handle/run_origin.h"
#include "agent/handle/session.h"
#include "agent/journal/inbox.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/media.h"
#include "agent/machine/message_origin.h"
#include "agent/machine/principal.h"
#include "agent/machine/queue.h"
#include "agent/session/restore.h"
#include "agent/session/session.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/opts.h"
#include "io/loop_entry.h"

struct ch_input_queue {
    chela_session *session;
    struct chela_queue_opts opts;
    struct ch_queue waiting;
    unsigned dropped; /* waiting messages that were dropped */
    struct ch_timer timer;
    bool held; /* counted by ch_runtime_busy */
    chela_event_fn *on_event;
    void *user;
};

#define DEFAULT_CAP 20
#define DEFAULT_DEBOUNCE_MS 1000
#define NOTES 256 /* bytes for separators and for the note about dropped messages */

static struct ch_loop *loop_of(const struct ch_input_queue *f) {
    return f->session->agent->rt->loop;
}

/* Keeps the runtime busy while messages wait. */
static void input_queue_hold(struct ch_input_queue *f, bool held) {
    if (f->held == held)
        return;
    f->held = held;
    ch_runtime_busy(f->session->agent->rt, held);
}

static struct ch_input_queue *inflow(chela_session *s) {
    if (s->input)
        return s->input;
    struct ch_input_queue *f = ch_alloc(sizeof(*f));
    f->session = s;
    f->opts = s->agent->queue;
    ch_queue_init(&f->waiting);
    return s->input = f;
}

void ch_input_queue_listen(chela_session *s, chela_event_fn *on_event, void *user) {
    struct ch_input_queue *f = inflow(s);
    f->on_event = on_event;
    f->user = user;
}

void ch_input_queue_free(chela_session *s) {
    struct ch_input_queue *f = CH_TAKE(s->input);

    if (!f)
        return;
    ch_timer_stop(loop_of(f), &f->timer);
    input_queue_hold(f, false);
    ch_queue_release(&f->waiting);
    ch_free(f);
}

static void on_lost(chela_session *s) {
    uint64_t safe = s->journal->safe;

    if (s->input)
        ch_queue_lost(&s->input->waiting, safe);
    if (!s->run)
        return;
    ch_queue_lost(&s->run->steering, safe);
    ch_queue_lost(&s->run->follow_ups, safe);
}

int ch_input_queue_opts(struct chela_queue_opts *o, struct chela_error *err) {
    if (o->mode < CHELA_QUEUE_STEER || o->mode > CHELA_QUEUE_INTERRUPT ||
        o->overflow < CHELA_OVERFLOW_REFUSE || o->overflow > CHELA_OVERFLOW_DROP_OLDEST ||
        o->cap > CH_LIMIT_QUEUE || o->debounce_ms < 0)
        return ch_fail(err, CHELA_EINVAL, "queue: unknown mode or overflow, or a cap above %d",
                       CH_LIMIT_QUEUE);
    o->cap = o->cap ? o->cap : DEFAULT_CAP;
    o->debounce_ms = o->debounce_ms ? o->debounce_ms : DEFAULT_DEBOUNCE_MS;
    return 0;
}

uint64_t ch_input_queue_oldest(const chela_session *s) {
    return s->input ? ch_queue_seq(&s->input->waiting) : 0;
}

size_t ch_input_queue_waiting(const chela_session *s) {
    return s->input ? s->input->waiting.n : 0;
}

bool ch_input_queue_is_full(const chela_session *s) {
    return s->input && (s->input->waiting.n >= CH_LIMIT_QUEUE ||
                        s->input->waiting.bytes >= CH_LIMIT_QUEUE_BYTES);
}

size_t ch_input_queue_room(const chela_session *s) {
    const struct chela_queue_opts *o = s->input ? &s->input->opts : &s->agent->queue;
    size_t n = ch_input_queue_waiting(s);
    return o->overflow != CHELA_OVERFLOW_REFUSE ? SIZE_MAX : o->cap > n ? o->cap - n : 0;
}

struct ch_media_total ch_input_queue_media(const chela_session *s) {
    struct ch_media_total sum = {0};
    for (size_t i = 0; i < s->transcript.n; i++)
        ch_media_count(s->transcript.msgs[i], &sum);
    if (s->input)
        ch_queue_media(&s->input->waiting, &sum);
    if (!s->run)
        return sum;
    if (ch_run_origin_input(s->run))
        ch_media_count(ch_run_origin_input(s->run), &sum);
    ch_queue_media(&s->run->steering, &sum);
    ch_queue_media(&s->run->follow_ups, &sum);
    return sum;
}

int chela_session_queue(chela_session *s, const struct chela_queue_opts *given,
                        struct chela_error *err) {
    CH_ENTER(s, s->agent->rt->loop, err);
    struct ch_input_queue *f = inflow(s);
    struct chela_queue_opts opts;
    int rc = CH_OPTS_NEED(chela_queue_opts, &opts, given, err);
    if (rc == 0)
        rc = ch_input_queue_opts(&opts, err);
    if (rc == 0)
        f->opts = opts;
    return rc;
}

/* --- starting a run with waiting input ---------------------------------------------- */

static bool same(const struct ch_input_queue *f, const struct ch_principal *a,
                 const struct ch_principal *b) {
    return ch_principal_same(a, b, f->session->agent->policies);
}

/* Messages that are joined to one input. */
struct joined {
    struct ch_buf context, text, seqs; /* seqs: their journal positions, uint64_t each */
    struct ch_arena arena;
    struct ch_block media[CH_LIMIT_INPUT_MEDIA]; /* data is in the arena */
    size_t n;
    char *to; /* address of the answer, from the newest message that has one */
    struct ch_message_origin origin; /* origin of the newest message */
};

static void input_queue_release(struct joined *j) {
    ch_buf_release(&j->context);
    ch_buf_release(&j->text);
    ch_buf_release(&j->seqs);
    ch_arena_release(&j->arena);
    ch_free(j->to);
    ch_message_origin_release(&j->origin);
}

static void add_picture(struct joined *j, const struct ch_block *from) {
    struct ch_block *b = &j->media[j->n++];
    *b = *from;
    b->text = ch_arena_sv(&j->arena, b->text);
    b->name = ch_arena_sv(&j->arena, b->name);
    b->id = ch_arena_sv(&j->arena, b->id);
    b->extra = ch_arena_sv(&j->arena, b->extra);
}

static void add_blocks(struct joined *j, const struct ch_msg *m) {
    unsigned left_out = 0;
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (b->type == CH_BLOCK_CONTEXT)
            ch_buf_add_sv(&j->context, b->text);
        else if (b->type != CH_BLOCK_TEXT && j->n < CH_LEN(j->media))
            add_picture(j, b);
        else
            left_out += b->type != CH_BLOCK_TEXT;
    }
    if (left_out)
        ch_buf_addf(&j->text, "\n[%u left out: too many pictures came at once]", left_out);
}

/* True: the next message fits into the input. The first one always fits. */
static bool has_room(const struct ch_input_queue *f, const struct joined *j) {
    return !j->seqs.n || j->text.n + ch_queue_text(&f->waiting).n + NOTES <= CH_LIMIT_INPUT;
}

/* Joins the messages at the front that have the same principal, as many as one input may
 * hold. */
static void input_queue_join(struct ch_input_queue *f, const struct ch_principal *whose,
                             struct joined *j) {
    if (f->dropped)
        ch_buf_addf(&j->text, "[%u earlier message%s dropped: too many came at once]", f->dropped,
                    f->dropped == 1 ? " was" : "s were");
    f->dropped = 0;
    while (f->waiting.n > 0 && same(f, whose, ch_queue_principal(&f->waiting)) && has_room(f, j)) {
        uint64_t seq = ch_queue_seq(&f->waiting);
        char *to = ch_queue_take_to(&f->waiting);
        ch_queue_take_origin(&f->waiting, &j->origin);
        struct ch_msg *one = ch_queue_pop(&f->waiting);
        if (to) {
            ch_free(j->to);
            j->to = to;
        }
        ch_buf_add_str(&j->text, j->text.n ? "\n\n" : "");
        ch_buf_add_sv(&j->text, ch_msg_words(one));
        add_blocks(j, one);
        ch_buf_add(&j->seqs, &seq, sizeof(seq));
        ch_msg_free(one);
    }
}

static int begin_with(chela_session *s, const struct joined *j, const struct chela_run_opts *opts,
                      struct chela_error *err) {
    int64_t now = ch_now_ms(ch_loop_clock(s->agent->rt->loop));
    struct ch_block blocks[2 + CH_LIMIT_INPUT_MEDIA];
    size_t n = 0;
    if (j->context.n)
        blocks[n++] = (struct ch_block){.type = CH_BLOCK_CONTEXT, .text = ch_buf_sv(&j->context)};
    blocks[n++] = (struct ch_block){.type = CH_BLOCK_TEXT, .text = ch_buf_sv(&j->text)};
    memcpy(&blocks[n], j->media, j->n * sizeof(*blocks));
    n += j->n;
    return ch_session_start(s, ch_msg_new(CH_MSG_USER, blocks, n, now), opts, NULL, err);
}

static bool input_queue_is_busy(const chela_session *s) {
    return s->run && !s->run->over;
}

static void start_soon(struct ch_input_queue *f);

/* The messages cannot start a run: their sender gets the end of a failed one. Messages of other
 * senders start a separate run, after that end. */
static void refuse(struct ch_input_queue *f, const struct chela_run_opts *opts,
                   const struct chela_error *why) {
    ch_log(CH_LOG_ERROR, "session", "%s: the waiting messages cannot start a run: %s",
           f->session->key, why->message);
    if (ch_session_refuse(f->session, opts, why) < 0 && f->waiting.n > 0)
        start_soon(f);
}

static void start_waiting(struct ch_input_queue *f) {
    chela_session *s = f->session;
    struct chela_error err = {0};
    struct joined j = {0};

    if (f->waiting.n == 0 || input_queue_is_busy(s) ||
        chela_session_status(s) == CHELA_SESSION_PAUSED) {
        input_queue_hold(f, false);
        return;
    }
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = f->on_event, .user = f->user);
    ch_principal_apply(ch_queue_principal(&f->waiting), &opts);
    struct ch_principal whose = ch_principal_of(&opts); /* a copy, because the queue frees its
                                                         * principal with the message */
    ch_principal_apply(&whose, &opts);
    input_queue_join(f, &whose, &j);
    opts.answer_to = s->channel->name ? j.to : NULL;
    input_queue_hold(f, false);
    int rc = begin_with(s, &j, &opts, &err);
    if (rc == 0)
        ch_run_origin_answers(s->run, &j.origin, NULL); /* the run begins later, on the loop */
    for (size_t i = 0; i < j.seqs.n / sizeof(uint64_t); i++) {
        uint64_t seq;
        memcpy(&seq, j.seqs.p + i * sizeof(seq), sizeof(seq));
        if (rc == 0)
            ch_run_journal_delivered(s->run, seq, true); /* delivered as part of the input */
        else
            ch_run_journal_forgotten(s, seq);
    }
    if (rc == 0 && s->on_begun)
        s->on_begun(s, s->begun_user);
    if (rc < 0)
        refuse(f, &opts, &err);
    input_queue_release(&j);
    ch_principal_release(&whose);
}

static void input_queue_on_timer(struct ch_timer *t) {
    start_waiting(CH_CONTAINER(t, struct ch_input_queue, timer));
}

static void start_in(struct ch_input_queue *f, int64_t ms) {
    input_queue_hold(f, true);
    ch_timer_start(loop_of(f), &f->timer, ms, input_queue_on_timer);
}

static void start_soon(struct ch_input_queue *f) {
    start_in(f, f->opts.mode == CHELA_QUEUE_COLLECT ? f->opts.debounce_ms : 0);
}

static void on_rested(chela_session *s) {
    if (s->input && s->input->waiting.n > 0)
        start_soon(s->input);
}

/* --- arriving input -------------------------------------------------------------------- */

static bool is_full(const struct ch_input_queue *f, const struct ch_msg *m) {
    return f->waiting.n >= f->opts.cap || (f->waiting.n && !ch_queue_fits(&f->waiting, m));
}

static int too_large(struct chela_error *err) {
    return ch_fail(err, CHELA_ELIMIT, "the input is larger than %zu MB", CH_LIMIT_INPUT / CH_MB);
}

static int put_aside(struct ch_input_queue *f, struct ch_msg *m, const struct chela_run_opts *opts,
                     struct chela_error *err) {
    if (ch_msg_words(m).n > CH_LIMIT_INPUT)
        return too_large(err);
    if (is_full(f, m) && f->opts.overflow == CHELA_OVERFLOW_REFUSE)
        return ch_fail(err, CHELA_ELIMIT, "%zu messages wait in session '%s' already, %zu kB",
                       f->waiting.n, f->session->key, f->waiting.bytes / CH_KB);
    while (is_full(f, m)) {
        ch_run_journal_forgotten(f->session, ch_queue_seq(&f->waiting));
        ch_msg_free(ch_queue_pop(&f->waiting));
        f->dropped++;
    }
    struct ch_principal principal = ch_principal_of(opts);
    ch_labels_read_text(&f->session->labels, ch_sv_str(principal.labels));
    ch_queue_push(&f->waiting, m);
    struct ch_message_origin origin = {0};
    ch_message_origin_set(&origin, opts->inbound);
    ch_queue_set_origin(&f->waiting, &origin);
    struct ch_inbound_origin from = {opts->event_id, opts->answer_to, &origin};
    bool idle = chela_session_status(f->session) == CHELA_SESSION_IDLE;
    ch_queue_mark(&f->waiting, ch_run_journal_waiting(f->session, m, &principal, &from, idle));
    ch_queue_set_principal(&f->waiting, principal);
    ch_queue_keep(&f->waiting, opts->answer_to);
    if (opts->event_id)
        ch_queue_from_inbox(&f->waiting);
    ch_message_origin_release(&origin);
    return 0;
}

/* Queues the message in the run, if the run still accepts it and has the same principal. */
static bool into_run(const struct ch_input_queue *f, const struct chela_run_opts *opts,
                     struct ch_msg *m) {
    chela_session *s = f->session;
    bool follow_up = f->opts.mode == CHELA_QUEUE_FOLLOW_UP;
    struct ch_message_origin origin = {0};
    struct ch_inbound_origin from = {opts->event_id, opts->answer_to, &origin};

    if (!input_queue_is_busy(s) || (f->opts.mode != CHELA_QUEUE_STEER && !follow_up))
        return false;
    struct ch_principal principal = ch_principal_of(opts);
    bool fits = same(f, &principal, ch_run_origin_principal(s->run));
    if (fits)
        ch_labels_read_text(&s->labels, ch_sv_str(principal.labels));
    ch_principal_release(&principal);
    if (!fits)
        return false;
    ch_message_origin_set(&origin, opts->inbound);
    int rc = ch_session_enqueue(s->run, follow_up, m, &from);
    ch_message_origin_release(&origin);
    return rc == 0;
}

/* Starts a run with the messages that wait, without a pause for further ones. */
static int begin_waiting(struct ch_input_queue *f, struct chela_error *err) {
    if (f->waiting.n == 0)
        return ch_fail(err, CHELA_ENOENT, "nothing waits in session '%s'", f->session->key);
    if (!input_queue_is_busy(f->session))
        start_in(f, 0);
    return 0;
}

int ch_input_queue_message(const chela_session *s, enum ch_msg_kind kind, struct ch_sv text,
                           const struct chela_run_opts *opts, struct ch_msg **out,
                           struct chela_error *err) {
    CH_BUF_AUTO context = {0};
    CH_AUTOFREE char *line =
        opts->inbound ? chela_inbound_line(opts->inbound, text.p, text.n, NULL) : NULL;
    if (text.n > CH_LIMIT_INPUT || (line && strlen(line) > CH_LIMIT_INPUT))
        return too_large(err);
    ch_message_origin_tell(opts->inbound, s->key, &context);
    struct ch_media_input in = {kind, ch_buf_sv(&context), line ? ch_sv_str(line) : text,
                                ch_now_ms(ch_loop_clock(s->agent->rt->loop))};
    if (opts->nmedia)
        return ch_media_message(&in, opts->media, opts->nmedia, out, err);
    struct ch_block blocks[] = {{.type = CH_BLOCK_CONTEXT, .text = in.context},
                                {.type = CH_BLOCK_TEXT, .text = in.text}};
    size_t first = in.context.n ? 0 : 1;
    *out = ch_msg_new(kind, blocks + first, CH_LEN(blocks) - first, in.ts);
    return 0;
}

/* Puts a message into the run or into the queue. Takes m. */
static int take_in(struct ch_input_queue *f, struct ch_msg *m, const struct chela_run_opts *opts,
                   struct chela_error *err) {
    chela_session *s = f->session;
    bool busy = input_queue_is_busy(s);
    int rc = ch_inbox_check(s, opts, err);
    if (rc == 0 && opts->event_id && !ch_run_journal_of_session(s)) {
        if (!busy) /* otherwise the run is about to end */
            ch_restore_open(s);
        rc = ch_fail(err, CHELA_ESTATE, "session '%s' is still being opened", s->key);
    }
    if (rc == 0 && into_run(f, opts, m))
        return 0;
    if (rc == 0)
        rc = put_aside(f, m, opts, err);
    if (rc < 0)
        ch_msg_free(m);
    else if (!busy && chela_session_status(s) != CHELA_SESSION_PAUSED)
        start_soon(f);
    else if (busy && f->opts.mode == CHELA_QUEUE_INTERRUPT)
        chela_cancel(s->run, "a new message came");
    return rc;
}

/* True: a message begins a run at once. */
static bool begins_now(const struct ch_input_queue *f) {
    const chela_session *s = f->session;
    return !input_queue_is_busy(s) && chela_session_status(s) != CHELA_SESSION_PAUSED &&
           f->waiting.n == 0 && f->opts.mode != CHELA_QUEUE_COLLECT;
}

/* Reads the options of a message. The run of the message will report to their on_event. */
static int read_opts(struct ch_input_queue *f, const struct chela_run_opts *given,
                     struct chela_run_opts *opts, struct chela_error *err) {
    int rc = ch_session_run_opts(given, opts, err);
    if (rc < 0)
        return rc;
    if (!opts->channel)
        opts->channel = f->session->channel->name;
    f->on_event = opts->on_event;
    f->user = opts->user;
    return 0;
}

int chela_session_send(chela_session *s, const char *text, size_t len,
                       const struct chela_run_opts *given, struct chela_error *err) {
    CH_ENTER(s, s->agent->rt->loop, err);
    struct ch_input_queue *f = inflow(s);
    struct chela_run_opts opts;
    struct ch_msg *m;
    int rc = read_opts(f, given, &opts, err);
    if (rc < 0)
        return rc;
    if (!text)
        return begin_waiting(f, err);
    if (begins_now(f))
        return chela_run_start(s, text, len, given, NULL, err);
    rc = ch_input_queue_message(s, CH_MSG_USER, ch_sv(text, len), &opts, &m, err);
    return rc < 0 ? rc : take_in(f, m, &opts, err);
}

enum chela_queue_mode ch_input_queue_mode(const chela_session *s) {
    return s->input ? s->input->opts.mode : s->agent->queue.mode;
}

int ch_input_queue_send(chela_session *s, struct ch_msg *m, const struct chela_run_opts *given,
                        struct chela_error *err) {
    struct ch_input_queue *f = inflow(s);
    struct chela_run_opts opts;
    int rc = read_opts(f, given, &opts, err);
    if (rc == 0)
        return begins_now(f) ? ch_session_start(s, m, given, NULL, err)
                             : take_in(f, m, &opts, err);
    ch_msg_free(m);
    return rc;
}

/* Takes m and principal. */
static void wait_again(struct ch_input_queue *f, struct ch_msg *m, uint64_t seq,
                       struct ch_principal principal, const struct ch_inbound_origin *from) {
    ch_queue_restore(&f->waiting, m);
    ch_queue_mark(&f->waiting, seq);
    ch_queue_set_principal(&f->waiting, principal);
    ch_queue_keep(&f->waiting, from->to);
    if (from->event)
        ch_queue_from_inbox(&f->waiting);
    ch_queue_set_origin(&f->waiting, from->origin);
}

void ch_input_queue_recall(chela_session *s, struct ch_replay_note *n) {
    wait_again(inflow(s), CH_TAKE(n->msg), n->seq, n->principal,
               &(struct ch_inbound_origin){.to = n->answer_to, .origin = &n->origin});
    n->principal = (struct ch_principal){0};
}

static void take_back(chela_run *run, struct ch_queue *q) {
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = NULL);
    uint64_t seq = ch_queue_seq(q);
    struct ch_message_origin origin = {0};
    ch_queue_take_origin(q, &origin);
    CH_AUTOFREE char *to = ch_queue_take_to(q);
    const char *event = ch_queue_is_of_inbox(q) ? "" : NULL; /* its id is not needed any more */
    struct ch_msg *m = ch_queue_pop(q);

    ch_principal_apply(ch_run_origin_principal(run), &opts);
    wait_again(inflow(run->session), m, seq, ch_principal_of(&opts),
               &(struct ch_inbound_origin){.event = event, .to = to, .origin = &origin});
    ch_message_origin_release(&origin);
}

const struct ch_session_owner ch_input_queue_owner = {on_rested, take_back, on_lost};
