/* journal_replay.c -- see journal_replay.h. One function for each type of record. */
#include "agent/journal/journal_replay.h"

#include "agent/journal/journal.h"
#include "agent/machine/message_origin.h"
#include "agent/machine/principal.h"
#include "agent/machine/run.h"
#include "agent/machine/run_counters.h"
#include <string.h>

#include "base/choice.h"
#include "base/error.h"
#include "json/json.h"
#include "json/writer.h"
#include "model/message/message_json.h"

struct reading {
    struct ch_journal_replay *past;
    const struct chela_store_record *record;
    const struct ch_json *v;
    struct chela_error *err;
};

const char *ch_journal_replay_status_name(enum ch_replay_status s) {
    static const char *const names[] = {"idle", "running", "paused", "parked"};
    return names[s];
}

struct ch_journal_replay *ch_journal_replay_new(void) {
    struct ch_journal_replay *p = ch_alloc(sizeof(*p));
    ch_list_init(&p->notes);
    return p;
}

/* --- calls -------------------------------------------------------------------- */

static void drop_below(struct ch_journal_replay *p) {
    for (struct ch_replay_below *b; (b = p->below);) {
        p->below = b->next;
        ch_free(b->child);
        ch_free(b->state);
        ch_free(b->approval);
        ch_free(b->id);
        ch_free(b->name);
        ch_free(b->arguments);
        ch_free(b->summary);
        ch_free(b->reason);
        ch_free(b->answer);
        ch_free(b);
    }
}

static void drop_calls(struct ch_journal_replay *p) {
    drop_below(p);
    for (size_t i = 0; i < p->ncalls; i++) {
        struct ch_replay_call *c = &p->calls[i];
        ch_msg_free(c->result);
        ch_free(c->approval);
        ch_free(c->arguments);
        ch_free(c->summary);
        ch_free(c->name);
        ch_free(c->state);
        ch_free(c->reason);
    }
    ch_free(p->calls);
    p->calls = NULL;
    p->ncalls = p->ndone = 0;
    p->reply = NULL;
}

static void drop_job(struct ch_journal_replay *p) {
    ch_free(CH_TAKE(p->job.id));
    ch_free(CH_TAKE(p->job.model));
}

static void free_note(struct ch_replay_note *n) {
    ch_list_del(&n->link);
    ch_msg_free(n->msg);
    ch_principal_release(&n->principal);
    ch_free(n->answer_to);
    ch_message_origin_release(&n->origin);
    ch_free(n);
}

void ch_journal_replay_free(struct ch_journal_replay *p) {
    if (!p)
        return;
    drop_calls(p);
    drop_job(p);
    for (struct ch_replay_note *n; (n = CH_LIST_FIRST(&p->notes, struct ch_replay_note, link));)
        free_note(n);
    ch_transcript_release(&p->transcript);
    ch_free(p->answer_to);
    ch_free(p->drop_if);
    ch_message_origin_release(&p->origin);
    ch_buf_release(&p->delivered);
    ch_memory_release(&p->memory);
    ch_labels_release(&p->labels);
    ch_arena_release(&p->arena);
    ch_buf_release(&p->state);
    ch_part_ids_release(&p->parts);
    ch_run_counters_release(&p->counters);
    ch_principal_release(&p->principal);
    ch_free(p);
}

/* Text of the result for a call without one. A call that had started may have taken effect;
 * one that had not started did not. */
static struct ch_sv journal_replay_interruption(const struct ch_replay_call *c) {
    return c->started
               ? CH_SV("{\"error\":\"The program was stopped after this call had begun and before "
                       "its result was known. Whether it took effect is unknown.\","
                       "\"error_type\":\"interrupted\",\"retryable\":false}")
               : CH_SV("{\"error\":\"The program was stopped before this call was made.\","
                       "\"error_type\":\"cancelled\",\"retryable\":false}");
}

static size_t count_blocks(const struct ch_journal_replay *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->ncalls; i++)
        n += p->calls[i].result ? p->calls[i].result->nblocks : 1;
    return n;
}

/* Writes the blocks of one call's result; returns their number. */
static size_t put_result(struct ch_journal_replay *p, const struct ch_replay_call *c,
                         const struct ch_block *call, struct ch_block *to) {
    p->refused += c->refused;
    p->terminated |= c->terminates;
    if (c->result) {
        memcpy(to, c->result->blocks, c->result->nblocks * sizeof(*to));
        return c->result->nblocks;
    }
    *to = (struct ch_block){.type = CH_BLOCK_TOOL_RESULT,
                            .flags = CH_F_ERROR,
                            .id = call->id,
                            .name = call->name,
                            .text = journal_replay_interruption(c)};
    return 1;
}

struct ch_msg *ch_journal_replay_close(struct ch_journal_replay *p, int64_t ts) {
    const struct ch_msg *reply = p->reply;
    size_t n = 0, at = 0;

    if (!reply)
        return NULL;
    CH_AUTOFREE struct ch_block *blocks = ch_alloc(count_blocks(p) * sizeof(*blocks));
    p->refused = 0;
    p->terminated = false;
    for (uint32_t i = 0; i < reply->nblocks; i++)
        if (reply->blocks[i].type == CH_BLOCK_TOOL_CALL)
            n += put_result(p, &p->calls[at++], &reply->blocks[i], blocks + n);
    p->answered = (unsigned)(p->ncalls - p->refused);
    struct ch_msg *m = ch_msg_new(CH_MSG_RESULTS, blocks, n, ts);
    drop_calls(p);
    return m;
}

const struct ch_block *ch_journal_replay_block(const struct ch_journal_replay *p, size_t index) {
    for (uint32_t i = 0; i < p->reply->nblocks; i++)
        if (p->reply->blocks[i].type == CH_BLOCK_TOOL_CALL && index-- == 0)
            return &p->reply->blocks[i];
    CH_UNREACHABLE();
}

static int damaged(const struct reading *r, const char *what) {
    return ch_fail(r->err, CHELA_EPARSE, "record %llu (%s) makes no sense: %s",
                   (unsigned long long)r->record->seq, ch_record_name(r->record->type), what);
}

static char *dup_sv(struct ch_sv s) {
    return ch_strndup(s.p ? s.p : "", s.n);
}

/* --- messages ------------------------------------------------------------------- */

/* Leaves out a message past CH_LIMIT_HISTORY. The run that stored the message did the same. */
static bool add_message(struct ch_journal_replay *p, struct ch_msg *m) {
    bool fits = ch_transcript_add(&p->transcript, m) == 0;

    p->full |= !fits;
    return fits;
}

/* True: no call is open, or the results of the open calls have joined the transcript. */
static bool close_calls(const struct reading *r) {
    struct ch_msg *m = ch_journal_replay_close(r->past, r->record->ts);

    bool fits = !m || ch_transcript_add_results(&r->past->transcript, m) == 0;

    r->past->full |= !fits;
    return fits;
}

static int read_message(const struct reading *r, struct ch_msg **out) {
    const struct ch_json *m = ch_json_get(r->v, "message");

    return m ? ch_msg_read(m, out, r->err) : damaged(r, "there is no message");
}

static size_t count_calls(const struct ch_msg *m) {
    size_t n = 0;
    for (uint32_t i = 0; i < m->nblocks; i++)
        n += m->blocks[i].type == CH_BLOCK_TOOL_CALL;
    return n;
}

static void open_calls(struct ch_journal_replay *p, const struct ch_msg *m) {
    size_t n = count_calls(m);

    drop_calls(p);
    p->results = false;
    if (m->kind == CH_MSG_ASSISTANT)
        drop_job(p);
    if (m->kind != CH_MSG_ASSISTANT || n == 0)
        return;
    p->reply = m;
    p->calls = ch_alloc(n * sizeof(*p->calls));
    p->ncalls = n;
}

static void read_principal(const struct reading *r) {
    ch_principal_release(&r->past->principal);
    r->past->principal = ch_principal_read(r->v);
    ch_labels_read_text(&r->past->labels, ch_sv_str(r->past->principal.labels));
}

/* The run ended before its messages were delivered: they wait in the session. */
static void leave_notes(struct ch_journal_replay *p) {
    for (CH_LIST_EACH(k, &p->notes))
        CH_CONTAINER(k, struct ch_replay_note, link)->alone = true;
}

/* The newest message with an address sets the address of the answer. */
static void set_answer_to(struct ch_journal_replay *p, struct ch_sv to) {
    if (!to.n)
        return;
    ch_free(p->answer_to);
    p->answer_to = dup_sv(to);
}

static void begin_run(struct reading *r, const struct ch_msg *asked) {
    struct ch_journal_replay *p = r->past;
    struct ch_sv run = ch_json_get_str(r->v, "run");

    leave_notes(p);
    drop_job(p);
    p->m = (struct ch_run){0};
    p->status = CH_REPLAY_RUNNING;
    p->recoveries = p->called = 0;
    read_principal(r);
    ch_buf_clear(&p->state);
    ch_run_counters_release(&p->counters);
    ch_run_counters_goal(&p->counters, asked);
    p->results = false;
    ch_free(CH_TAKE(p->answer_to));
    ch_free(CH_TAKE(p->drop_if));
    struct ch_sv words = ch_json_get_str(r->v, "drop_if");
    p->drop_if = words.n ? dup_sv(words) : NULL;
    p->began = p->transcript.n;
    p->mailed = 0;
    ch_message_origin_release(&p->origin);
    ch_buf_clear(&p->delivered);
    size_t n = CH_MIN(run.n, sizeof(p->run) - 1);
    memcpy(p->run, run.p ? run.p : "", n);
    p->run[n] = '\0';
}

static struct ch_message_origin read_origin(const struct reading *r) {
    struct ch_sv id = ch_json_get_str(r->v, "about_id");
    return (struct ch_message_origin){id.n ? dup_sv(id) : NULL};
}

static int fold_inbound(struct reading *r) {
    struct ch_sv mode = ch_json_get_str(r->v, "mode"), to = ch_json_get_str(r->v, "to");
    struct ch_msg *m;
    int rc = read_message(r, &m);

    if (rc < 0)
        return rc;
    if (ch_sv_is(mode, "start")) {
        close_calls(r);
        begin_run(r, m);
        set_answer_to(r->past, to);
        r->past->origin = read_origin(r);
        add_message(r->past, m);
        return 0;
    }
    struct ch_replay_note *n = ch_alloc(sizeof(*n));
    n->seq = r->record->seq;
    n->follow_up = ch_sv_is(mode, "follow_up");
    n->alone = ch_sv_is(mode, "collect");
    n->answer_to = to.n ? dup_sv(to) : NULL;
    n->origin = read_origin(r);
    n->msg = m;
    n->principal = ch_principal_read(r->v);
    ch_labels_read_text(&r->past->labels, ch_sv_str(n->principal.labels));
    ch_list_add(&r->past->notes, &n->link);
    return 0;
}

static int deliver_note(struct reading *r, uint64_t seq) {
    bool dropped = ch_json_bool(ch_json_get(r->v, "dropped"), false);

    for (CH_LIST_EACH(k, &r->past->notes)) {
        struct ch_replay_note *n = CH_CONTAINER(k, struct ch_replay_note, link);
        if (n->seq != seq)
            continue;
        struct ch_msg *m = CH_TAKE(n->msg);
        if (!dropped && n->answer_to)
            set_answer_to(r->past, ch_sv_str(n->answer_to));
        if (!dropped)
            ch_message_origin_move(&r->past->origin, &n->origin);
        free_note(n);
        if (dropped) {
            ch_msg_free(m);
            return 0;
        }
        close_calls(r); /* open calls are those of a superseded run */
        add_message(r->past, m);
        return 0;
    }
    return 0; /* the message was accepted before `keep` and compacted away */
}

/* A note of the runtime became a part of the newest message. */
static int amend(struct reading *r, struct ch_sv note) {
    close_calls(r);
    if (r->past->transcript.n)
        ch_transcript_amend(&r->past->transcript, note);
    return 0;
}

/* A number of tokens or events. A record that another program wrote must not give a run more
 * than its budget. */
static int64_t amount(const struct ch_json *v, const char *name) {
    int64_t n = ch_json_int(ch_json_get(v, name), 0);
    return CH_MIN(CH_MAX(n, 0), INT64_MAX / 8);
}

static struct ch_usage usage_of(const struct ch_json *v) {
    const struct ch_json *u = ch_json_get(v, "usage");

    return (struct ch_usage){.input = amount(u, "input"),
                             .output = amount(u, "output"),
                             .cache_read = amount(u, "cache_read"),
                             .cache_write = amount(u, "cache_write"),
                             .reasoning = amount(u, "reasoning")};
}

/* The turn of a reply with calls ends when the calls have results. */
static void open_turn(struct reading *r) {
    struct ch_journal_replay *p = r->past;
    struct ch_sv stop = ch_json_get_str(r->v, "stop");

    p->turn.n = (unsigned)amount(r->v, "turn");
    p->turn.stop = (enum chela_stop)ch_choice_of(CHELA_CHOICE_STOP, ch_arena_str(&p->arena, stop));
    p->turn.usage = usage_of(r->v);
    p->turn.cost = ch_json_double(ch_json_get(r->v, "cost"), 0);
}

static int fold_message(struct reading *r) {
    int64_t of = ch_json_int(ch_json_get(r->v, "of"), 0);
    struct ch_sv note = ch_json_get_str(r->v, "note");
    struct ch_msg *m;

    if (of > 0)
        return deliver_note(r, (uint64_t)of);
    if (note.n)
        return amend(r, note);
    int rc = read_message(r, &m);
    if (rc < 0)
        return rc;
    close_calls(r);
    if (add_message(r->past, m))
        open_calls(r->past, m);
    if (r->past->reply == m)
        open_turn(r);
    return 0;
}

/* --- outcomes of calls -------------------------------------------------------------- */

static struct ch_replay_call *journal_replay_call_of(const struct reading *r) {
    int64_t i = ch_json_int(ch_json_get(r->v, "call"), -1);

    return i >= 0 && (size_t)i < r->past->ncalls ? &r->past->calls[i] : NULL;
}

static int fold_started(struct reading *r) {
    struct ch_replay_call *c = journal_replay_call_of(r);

    if (!c)
        return 0;
    c->started = true;
    struct ch_sv effect = ch_json_get_str(r->v, "effect");
    c->once = !ch_sv_is(effect, "keyed") && !ch_sv_is(effect, "read");
    c->child = ch_json_get(r->v, "child") != NULL;
    c->question = NULL; /* the call went on, and may have an effect now */
    struct ch_sv state = ch_json_get_str(r->v, "state");
    if (state.p) { /* a process that continues the call keeps the state */
        ch_free(c->state);
        c->state = state.n ? dup_sv(state) : NULL;
    }
    return 0;
}

static int fold_done(struct reading *r) {
    struct ch_replay_call *c = journal_replay_call_of(r);

    if (!c || c->result)
        return 0;
    int rc = read_message(r, &c->result);
    if (rc < 0)
        return rc;
    if (c->result->kind != CH_MSG_RESULTS || c->result->nblocks == 0)
        return damaged(r, "this is no result");
    c->ran = ch_json_bool(ch_json_get(r->v, "ran"), false);
    c->refused = ch_json_bool(ch_json_get(r->v, "refused"), false);
    c->terminates = ch_json_bool(ch_json_get(r->v, "terminates"), false);
    ch_labels_read(&r->past->labels, r->v);
    struct ch_sv delivered = ch_json_get_str(r->v, "delivered");
    if (delivered.n) {
        ch_buf_add_sv(&r->past->delivered, delivered);
        ch_buf_add(&r->past->delivered, "", 1);
    }
    if (++r->past->ndone < r->past->ncalls)
        return 0;
    r->past->results = close_calls(r); /* every call has a result: they join the transcript in the
                                          order of the calls */
    return 0;
}

/* False: there is no digest; out is all zero, which equals no digest. */
static bool read_digest(struct ch_sv hex, unsigned char out[CH_SHA256_SIZE]) {
    bool good = ch_sha256_read(hex, out);

    if (!good)
        memset(out, 0, CH_SHA256_SIZE);
    return good;
}

struct ch_replay_below *ch_journal_replay_asked(const struct ch_journal_replay *p,
                                                struct ch_sv approval) {
    struct ch_replay_below *b = p->below;
    while (b && !(b->approval && ch_sv_is(approval, b->approval)))
        b = b->next;
    return b;
}

struct ch_replay_below *ch_journal_replay_left(const struct ch_journal_replay *p,
                                               struct ch_sv call_id) {
    struct ch_replay_below *b = p->below;
    while (b && (b->approval || !ch_sv_is(call_id, b->id)))
        b = b->next;
    return b;
}

/* A question of a child run, or of the call itself. */
static int fold_below(struct reading *r, struct ch_replay_call *c) {
    struct ch_sv approval = ch_json_get_str(r->v, "approval"), id = ch_json_get_str(r->v, "id");
    if (approval.n ? ch_journal_replay_asked(r->past, approval)
                   : ch_journal_replay_left(r->past, id))
        return 0; /* the question was repeated */
    struct ch_replay_below *b = ch_alloc(sizeof(*b));
    b->child = dup_sv(ch_json_get_str(r->v, "child"));
    b->approval = approval.n ? dup_sv(approval) : NULL;
    b->id = dup_sv(id);
    b->name = dup_sv(ch_json_get_str(r->v, "name"));
    b->arguments = dup_sv(ch_json_get_str(r->v, "arguments"));
    b->summary = dup_sv(ch_json_get_str(r->v, "summary"));
    bool bound = read_digest(ch_json_get_str(r->v, "digest"), b->digest);
    b->remember = bound && ch_json_bool(ch_json_get(r->v, "remember"), false);
    b->next = r->past->below;
    r->past->below = b;
    c->child = true;
    if (*b->child)
        return 0;
    struct ch_sv state = ch_json_get_str(r->v, "state");
    b->state = state.n ? dup_sv(state) : NULL;
    c->question = b;
    c->nquestions++;
    return 0;
}

static int fold_asked(struct reading *r) {
    struct ch_replay_call *c = journal_replay_call_of(r);

    if (!c)
        return 0;
    if (ch_json_get(r->v, "child"))
        return fold_below(r, c);
    ch_free(c->approval);
    ch_free(c->arguments);
    ch_free(c->summary);
    ch_free(c->name);
    c->approval = dup_sv(ch_json_get_str(r->v, "approval"));
    c->asked_at = r->record->ts;
    c->arguments = dup_sv(ch_json_get_str(r->v, "arguments"));
    c->summary = dup_sv(ch_json_get_str(r->v, "summary"));
    c->name = dup_sv(ch_json_get_str(r->v, "name"));
    bool bound = read_digest(ch_json_get_str(r->v, "digest"), c->digest);
    c->remember = bound && ch_json_bool(ch_json_get(r->v, "remember"), false);
    c->decision = CHELA_UNDECIDED;
    return 0;
}

static const char *const decisions[] = {"", "deny", "allow-once", "allow-always",
                                        "edit", "answer", "take-over"};

const char *ch_decision_name(enum chela_decision d) {
    return decisions[d];
}

/* An unknown word is no consent. */
static enum chela_decision decision_of(struct ch_sv word) {
    for (size_t i = 1; i < CH_LEN(decisions); i++)
        if (ch_sv_is(word, decisions[i]))
            return (enum chela_decision)i;
    return CHELA_DENY;
}

static void answer_below(const struct reading *r, struct ch_sv approval) {
    struct ch_journal_replay *p = r->past;
    const struct ch_json *content = ch_json_get(r->v, "content");
    struct ch_replay_below *b = approval.n ? ch_journal_replay_asked(p, approval)
                                         : ch_journal_replay_left(p, ch_json_get_str(r->v, "id"));
    if (!b)
        return;
    if (content) {
        ch_free(b->answer);
        b->answer = dup_sv(ch_json_str(content));
        b->is_error = ch_json_bool(ch_json_get(r->v, "is_error"), false);
        return;
    }
    b->decision = decision_of(ch_json_get_str(r->v, "decision"));
    ch_free(b->reason);
    b->reason = dup_sv(ch_json_get_str(r->v, "reason"));
    if (b->decision == CHELA_ALLOW_ALWAYS && b->remember)
        ch_memory_add(&p->memory, b->digest);
}

static int fold_answered(struct reading *r) {
    struct ch_sv id = ch_json_get_str(r->v, "approval");

    answer_below(r, id);

    for (size_t i = 0; i < r->past->ncalls; i++) {
        struct ch_replay_call *c = &r->past->calls[i];
        if (!c->approval || !ch_sv_is(id, c->approval))
            continue;
        c->decision = decision_of(ch_json_get_str(r->v, "decision"));
        ch_free(c->reason);
        c->reason = dup_sv(ch_json_get_str(r->v, "reason"));
        if (c->decision == CHELA_ALLOW_ALWAYS && c->remember)
            ch_memory_add(&r->past->memory, c->digest);
    }
    return 0;
}

/* --- rewriting ---------------------------------------------------------------------- */

/* Reads the data that a compaction carries over from records before `keep` (run_journal.c,
 * write_lasting). */
static void read_lasting(const struct reading *r) {
    struct ch_journal_replay *p = r->past;
    unsigned char digest[CH_SHA256_SIZE];

    for (CH_JSON_EACH(hex, ch_json_get(r->v, "allowed")))
        if (read_digest(ch_json_str(hex), digest) && !ch_memory_has(&p->memory, digest))
            ch_memory_add(&p->memory, digest);
}

/* Inserts the compaction of a service, unless it came with a reply. */
static int fold_condensed(struct reading *r) {
    struct ch_journal_replay *p = r->past;
    const struct ch_json *item = ch_json_get(r->v, "message");
    struct ch_msg *m;
    int rc = item ? ch_msg_read(item, &m, r->err) : 0;

    if (!item || rc < 0)
        return rc;
    p->began = SIZE_MAX;
    p->mailed = 0;
    p->full |= ch_transcript_insert(&p->transcript, amount(r->v, "at"), m) < 0;
    return 0;
}

/* Replaces the transcript by the messages of the record. */
static int fold_compaction(struct reading *r) {
    struct ch_journal_replay *p = r->past;
    const struct ch_json *messages = ch_json_get(r->v, "messages");

    if (ch_sv_is(ch_json_get_str(r->v, "strategy"), "service"))
        return fold_condensed(r);
    if (!messages)
        return damaged(r, "there are no messages");
    drop_job(p);
    drop_calls(p); /* the record replaces the reply of the calls, too */
    p->results = false;
    p->began = SIZE_MAX;
    p->mailed = 0;
    ch_transcript_release(&p->transcript);
    read_lasting(r);
    for (CH_JSON_EACH(v, messages)) {
        struct ch_msg *m;
        int rc = ch_msg_read(v, &m, r->err);
        if (rc < 0)
            return rc;
        add_message(p, m);
    }
    return 0;
}

static uint64_t hash_in(const struct ch_json *v, const char *name) {
    uint64_t hash = 0;

    ch_part_id_read(ch_json_get_str(v, name), &hash);
    return hash;
}

static struct ch_epoch_prefix prefix_in(const struct ch_json *v) {
    return (struct ch_epoch_prefix){hash_in(v, "service"), hash_in(v, "system"),
                                    hash_in(v, "tools")};
}

/* Records of earlier versions have no "bound". */
static int fold_epoch(struct reading *r) {
    const struct ch_json *bound = ch_json_get(r->v, "bound");
    r->past->epoch = (struct ch_epoch){
        .n = (unsigned)amount(r->v, "n"),
        .unbound = (size_t)amount(r->v, "unbound"),
        .stale = (size_t)amount(r->v, "stale"),
        .prefix = prefix_in(r->v),
        .bound = prefix_in(bound ? bound : r->v),
    };
    return 0;
}

static int fold_job(struct reading *r) {
    struct ch_journal_replay *p = r->past;
    struct ch_sv id = ch_json_get_str(r->v, "id");

    drop_job(p);
    if (!id.n || !ch_sv_is(ch_json_get_str(r->v, "run"), p->run))
        return 0;
    p->job.id = dup_sv(id);
    p->job.model = dup_sv(ch_json_get_str(r->v, "model"));
    return 0;
}

static int fold_dropped(struct reading *r) {
    struct ch_journal_replay *p = r->past;
    int64_t left = ch_json_int(ch_json_get(r->v, "messages"), -1);
    size_t n = left < 0 ? p->began : (size_t)left;

    drop_calls(p);
    p->results = false;
    if (n < p->transcript.n)
        ch_transcript_cut(&p->transcript, n);
    return 0;
}

static int fold_outbound(struct reading *r) {
    r->past->mailed = r->past->transcript.n;
    return 0;
}

static void keep_part_id(struct reading *r, const struct ch_json *part) {
    uint64_t id;

    if (ch_part_id_read(ch_json_get_str(part, "id"), &id))
        ch_part_ids_add(&r->past->parts, id);
}

/* Remembers which parts of requests are stored. */
static int fold_part(struct reading *r) {
    keep_part_id(r, r->v);
    for (CH_JSON_EACH(part, ch_json_get(r->v, "parts")))
        keep_part_id(r, part);
    return 0;
}

/* --- the machine ---------------------------------------------------------------------- */

static enum ch_replay_status journal_replay_status_of(struct ch_sv word) {
    for (enum ch_replay_status s = CH_REPLAY_RUNNING; s <= CH_REPLAY_PARKED; s++)
        if (ch_sv_is(word, ch_journal_replay_status_name(s)))
            return s;
    return CH_REPLAY_IDLE;
}

static enum ch_run_state state_of(struct ch_sv word) {
    for (enum ch_run_state s = CH_RUN_OBSERVE; s <= CH_RUN_DECLINED; s++)
        if (ch_sv_is(word, ch_run_state_name(s)))
            return s;
    return CH_RUN_OBSERVE;
}

static int fold_state(struct reading *r) {
    struct ch_journal_replay *p = r->past;
    const struct ch_json *v = r->v;
    const struct ch_json *below = ch_json_get(v, "below");
    struct ch_sv run = ch_json_get_str(v, "run");

    size_t n = CH_MIN(run.n, sizeof(p->run) - 1);
    memcpy(p->run, run.p ? run.p : "", n);
    p->run[n] = '\0';
    p->status = journal_replay_status_of(ch_json_get_str(v, "status"));
    p->m = (struct ch_run){
        .state = state_of(ch_json_get_str(v, "state")),
        .seq = (uint64_t)amount(v, "seq"),
        .reason = ch_reason_of(ch_json_get_str(v, "reason")),
        .turns = (unsigned)ch_json_int(ch_json_get(v, "turns"), 0),
        .tool_calls = (unsigned)ch_json_int(ch_json_get(v, "tool_calls"), 0),
        .below = {(unsigned)ch_json_int(ch_json_get(below, "turns"), 0),
                  (unsigned)ch_json_int(ch_json_get(below, "tool_calls"), 0)},
        .errors = (unsigned)ch_json_int(ch_json_get(v, "errors"), 0),
        .pauses = (unsigned)ch_json_int(ch_json_get(v, "pauses"), 0),
        .nudged = ch_json_bool(ch_json_get(v, "nudged"), false),
        .closing = ch_reason_of(ch_json_get_str(v, "closing")),
        .model = (unsigned)ch_json_int(ch_json_get(v, "model"), 0),
        .cost = CH_MAX(ch_json_double(ch_json_get(v, "cost"), 0), 0),
        .cost_unknown = ch_json_bool(ch_json_get(v, "cost_unknown"), false),
        .usage = usage_of(v),
    };
    p->recoveries = (unsigned)ch_json_int(ch_json_get(v, "recoveries"), 0);
    p->called = (unsigned)ch_json_int(ch_json_get(v, "called"), 0);
    read_principal(r);
    ch_run_counters_release(&p->counters);
    p->counters = ch_run_counters_read(v);
    p->saved = v;
    return 0;
}

/* Keeps the bytes of a STATE record. Each record is complete, so only the last one is
 * parsed. */
static void keep_state(struct ch_journal_replay *p, const struct chela_store_record *record) {
    ch_buf_clear(&p->state);
    ch_buf_add(&p->state, record->data, record->n);
}

int ch_journal_replay_finish(struct ch_journal_replay *p, struct chela_error *err) {
    struct chela_store_record record = {.type = CH_REC_STATE};
    struct reading r = {.past = p, .record = &record, .err = err};

    if (p->state.n == 0)
        return 0;
    ch_arena_clear(&p->arena);
    int rc = ch_json_parse(&p->arena, ch_buf_sv(&p->state), CH_JSON_STRICT, &r.v, NULL, err);
    rc = rc < 0 ? damaged(&r, err->message) : fold_state(&r);
    if (p->status == CH_REPLAY_IDLE)
        leave_notes(p);
    return rc;
}

int ch_journal_replay_fold(const struct chela_store_record *record, void *past,
                           struct chela_error *err) {
    static int (*const folds[CH_REC_TYPES])(struct reading *) = {
        [CH_REC_INBOUND] = fold_inbound,       [CH_REC_MESSAGE] = fold_message,
        [CH_REC_STARTED] = fold_started,       [CH_REC_DONE] = fold_done,
        [CH_REC_ASKED] = fold_asked,           [CH_REC_ANSWERED] = fold_answered,
        [CH_REC_COMPACTION] = fold_compaction, [CH_REC_DROPPED] = fold_dropped,
        [CH_REC_PART] = fold_part,             [CH_REC_OUTBOUND] = fold_outbound,
        [CH_REC_EPOCH] = fold_epoch,           [CH_REC_JOB] = fold_job,
    };
    struct reading r = {.past = past, .record = record, .err = err};

    if (record->type == CH_REC_STATE)
        keep_state(past, record);
    if (record->type >= CH_REC_TYPES || !folds[record->type])
        return 0;
    struct ch_sv text = ch_sv(record->data, record->n);
    ch_arena_clear(&r.past->arena);
    int rc = ch_json_parse(&r.past->arena, text, CH_JSON_STRICT, &r.v, NULL, err);
    if (rc < 0)
        return damaged(&r, err->message);
    return folds[record->type](&r);
}
