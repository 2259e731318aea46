/* run_journal.c -- see run_journal.h. */
#include "agent/journal/run_journal.h"

#include "agent/handle/lookup.h"
#include "agent/handle/run_origin.h"
#include "agent/handle/session.h"
#include "agent/journal/inbox.h"
#include "agent/journal/journal.h"
#include "agent/journal/journal_replay.h"
#include "agent/machine/child_key.h"
#include "agent/machine/event.h"
#include "agent/machine/principal.h"
#include "agent/machine/queue.h"
#include "agent/machine/run.h"
#include "agent/machine/run_counters.h"
#include "model/provider/target.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "json/writer.h"
#include "model/message/message_json.h"

struct ch_run_record {
    uint64_t stored_events; /* m.seq in the last stored record */
    uint64_t start_seq; /* position of the INBOUND record of the run; 0: another process wrote it */
    unsigned recoveries;    /* recoveries since the last reply of the run or a child */
    enum ch_replay_status told; /* status in the session's head */
    struct ch_run_counters counters;
    struct { /* usage of the embedding model that is not stored yet */
        unsigned calls;
        int64_t tokens;
        char *model; /* owned */
    } embedded;
};

const size_t ch_run_journal_size = sizeof(struct ch_run_record);

void ch_run_journal_release(chela_run *run) {
    if (!run->record)
        return;
    ch_run_counters_release(&run->record->counters);
    ch_free(run->record->embedded.model);
}

struct ch_run_counters *ch_run_journal_counters(chela_run *run) {
    return &run->record->counters;
}

unsigned ch_run_journal_recoveries(const chela_run *run) {
    return run->record ? run->record->recoveries : 0;
}

void ch_run_journal_recovered(chela_run *run, unsigned times) {
    if (run->record)
        run->record->recoveries = times;
}

void ch_run_journal_recall(chela_run *run, struct ch_journal_replay *past) {
    run->record->told = past->status;
    run->record->counters = past->counters;
    past->counters = (struct ch_run_counters){0};
}

void ch_run_journal_embedded(chela_run *run, const char *model, int64_t tokens) {
    struct ch_run_record *r = run->record;
    if (!r)
        return;
    if (!r->embedded.model || strcmp(r->embedded.model, model) != 0) {
        ch_free(r->embedded.model);
        r->embedded.model = ch_strdup(model);
    }
    r->embedded.calls++;
    r->embedded.tokens += tokens;
}

static const struct ch_journal_ops *ops(const chela_session *s) {
    return s->agent->rt->journal->ops;
}

/* --- the session ---------------------------------------------------------------- */

static void run_journal_fail(chela_session *s, const struct chela_error *err) {
    struct ch_run_journal *k = s->journal;

    k->state = CH_RUN_JOURNAL_FAILED;
    k->err = *err;
    ops(s)->close(CH_TAKE(k->log));
}

static void run_journal_on_opened(const struct ch_log_head *head, void *past,
                                  const struct chela_error *err, void *user) {
    chela_session *s = user;
    struct ch_run_journal *k = s->journal;

    k->safe = k->last_record = head->last;
    s->inherited = head->served;
    k->agent = head->agent;
    k->state = CH_RUN_JOURNAL_OPEN;
    if (k->wait)
        k->wait->over = true;
    struct chela_error damage = {0};
    if (!err && ch_journal_replay_finish(past, &damage) < 0)
        err = &damage;
    if (err) {
        ch_journal_replay_free(CH_TAKE(past));
        run_journal_fail(s, err);
    } else {
        struct ch_journal_replay *read = past;
        ch_part_ids_release(&k->parts);
        k->parts = read->parts;
        read->parts = (struct ch_part_ids){0};
    }
    k->ops->opened(s, past);
}

static void run_journal_on_committed(uint64_t seq, void *user) {
    chela_session *s = user;

    s->journal->safe = seq;
    s->journal->ops->committed(s, seq);
}

static void run_journal_on_lost(const struct chela_error *err, void *user) {
    chela_session *s = user;

    run_journal_fail(s, err);
    s->journal->ops->lost(s, err);
}

static void drop_past(void *past) {
    ch_journal_replay_free(past);
}

static const struct ch_log_handler handler = {
    .fold = ch_journal_replay_fold,
    .opened = run_journal_on_opened,
    .drop = drop_past,
    .committed = run_journal_on_committed,
    .lost = run_journal_on_lost,
};

void ch_run_journal_open(chela_session *s, const struct ch_run_journal_ops *by) {
    struct ch_journal *j = s->agent->rt->journal;

    if (!j)
        return;
    if (!s->journal)
        s->journal = ch_alloc(sizeof(*s->journal));
    ch_run_journal_forget(s);
    s->journal->ops = by;
    s->journal->state = CH_RUN_JOURNAL_OPENING;
    s->journal->err = (struct chela_error){0};
    s->journal->sum.known = false; /* the parts of the last request may be lost */
    s->journal->log = j->ops->open(j, s->key, s->exists ? NULL : s->agent->id, &handler,
                                   ch_journal_replay_new(), s);
}

void ch_run_journal_close(chela_session *s) {
    if (s->journal && s->journal->wait)
        *s->journal->wait = (struct ch_run_journal_wait){.over = true, .closed = true};
    if (s->journal && s->journal->log)
        ops(s)->close(CH_TAKE(s->journal->log));
}

void ch_run_journal_leave(chela_session *s) {
    struct chela_error err = {0};

    ch_fail(&err, CHELA_ESTATE, "session '%s' was left in the middle of a run", s->key);
    s->journal->safe = UINT64_MAX; /* a log that is closed writes all its records */
    run_journal_fail(s, &err);
}

enum ch_lease ch_run_journal_lease(const chela_run *run) {
    const chela_session *s = run->session;
    struct ch_journal *j = s->agent->rt->journal;

    if (!s->journal)
        return CH_LEASE_HELD;
    return s->journal->log ? j->ops->lease(j, s->key, j->ops->token(s->journal->log))
                           : CH_LEASE_GONE;
}

void ch_run_journal_forget(chela_session *s) {
    if (s->journal)
        ch_journal_replay_free(CH_TAKE(s->journal->past));
}

void ch_run_journal_free(chela_session *s) {
    if (!s->journal)
        return;
    ch_run_journal_close(s);
    ch_run_journal_forget(s);
    ch_buf_release(&s->journal->scratch);
    ch_part_ids_release(&s->journal->parts);
    ch_free(s->journal);
    s->journal = NULL;
}

/* --- records ------------------------------------------------------------------------ */

/* Begins a record of the run; the caller writes the members. */
static struct ch_jw run_journal_begin(struct ch_run_journal *k, const chela_run *run) {
    ch_buf_clear(&k->scratch);
    struct ch_jw w = ch_jw(&k->scratch);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "run", run->id);
    if (run->m.turns)
        ch_jw_kint(&w, "turn", run->m.turns);
    return w;
}

void ch_run_journal_watch(chela_session *s, bool watched) {
    const struct ch_run_journal *k = ch_run_journal_of_session(s);

    if (k && watched && !s->watched)
        ops(s)->flush(k->log);
    s->watched = watched;
}

uint64_t ch_run_journal_append(chela_session *s, enum ch_record_type type, struct ch_sv json,
                               enum ch_sync sync) {
    struct ch_run_journal *k = s->journal;

    if (s->watched && sync == CH_SYNC_LATER)
        sync = CH_SYNC_SOON;
    return k->last_record = ops(s)->append(k->log, type, json, sync);
}

/* Ends the record and appends it to the log. Returns its position. */
static uint64_t run_journal_append(chela_session *s, struct ch_jw *w, enum ch_record_type type,
                                   enum ch_sync sync) {
    ch_jw_end(w, '}');
    return ch_run_journal_append(s, type, ch_buf_sv(&s->journal->scratch), sync);
}

static void run_journal_write_message(struct ch_jw *w, const struct ch_msg *m) {
    ch_jw_key(w, "message");
    ch_msg_write(m, w);
}

static enum ch_sync run_journal_gate(const chela_run *run) {
    return run->session->agent->rt->journal->gate;
}

/* Sets the session's title, which lists show, to the first line of the first message. */
static void set_title(chela_run *run, const struct ch_msg *m) {
    struct ch_run_journal *k = run->session->journal;
    struct ch_sv text = ch_sv_trim(ch_msg_words(m));

    if (k->titled || text.n == 0)
        return;
    k->titled = true;
    struct ch_sv line = ch_utf8_cut(ch_sv_split(&text, '\n'), CH_LIMIT_TITLE);
    CH_AUTOFREE char *title = ch_strndup(line.p, line.n);
    ops(run->session)->note(k->log, &(struct chela_store_head){.title = title});
}

static void run_journal_count(chela_run *run, unsigned messages, unsigned turns) {
    ops(run->session)
        ->note(run->session->journal->log,
               &(struct chela_store_head){.messages = messages, .turns = turns});
}

/* The status is stored with the next record. */
static void note_status(chela_session *s, struct ch_run_journal *k, enum ch_replay_status status) {
    ops(s)->note(k->log,
                 &(struct chela_store_head){.status = ch_journal_replay_status_name(status)});
}

/* Ends an INBOUND record. An event of the inbox is stored there, so it need not be synced
 * to disk again. */
static uint64_t end_inbound(chela_session *s, struct ch_jw *w,
                            const struct ch_inbound_origin *from) {
    if (from->event)
        ch_jw_kcstr(w, "event", from->event);
    if (from->to)
        ch_jw_kcstr(w, "to", from->to);
    if (from->origin && from->origin->id)
        ch_jw_kcstr(w, "about_id", from->origin->id);
    ch_inbox_take(s, from->event);
    return run_journal_append(s, w, CH_REC_INBOUND,
                              from->event ? CH_SYNC_COMMIT : s->agent->rt->journal->gate);
}

uint64_t ch_run_journal_inbound(chela_run *run, const struct ch_msg *m, const char *prompt) {
    struct ch_run_journal *k = ch_run_journal_of(run);

    if (!k)
        return 0;
    set_title(run, m);
    run_journal_count(run, 1, 0);
    struct ch_jw w = run_journal_begin(k, run);
    ch_jw_kcstr(&w, "mode", "start");
    if (k->agent && strcmp(k->agent, run->session->agent->id) != 0)
        ch_jw_kcstr(&w, "agent", run->session->agent->id);
    if (prompt)
        ch_jw_kcstr(&w, "prompt", prompt);
    ch_principal_write(ch_run_origin_principal(run), &w);
    if (ch_run_origin_drop_if(run))
        ch_jw_kcstr(&w, "drop_if", ch_run_origin_drop_if(run));
    run_journal_write_message(&w, m);
    run->record->start_seq = end_inbound(
        run->session, &w,
        &(struct ch_inbound_origin){ch_run_origin_event(run), ch_run_origin_answer_to(run),
                                    ch_run_origin_of_message(run)});
    return ch_run_journal_state(run, CH_REPLAY_RUNNING,
                                CH_SYNC_COMMIT); /* in the transaction of the records */
}

uint64_t ch_run_journal_queued(chela_run *run, const struct ch_msg *m, bool follow_up,
                               const struct ch_inbound_origin *from) {
    struct ch_run_journal *k = ch_run_journal_of(run);

    if (!k)
        return 0;
    struct ch_jw w = run_journal_begin(k, run);
    ch_jw_kcstr(&w, "mode", follow_up ? "follow_up" : "steer");
    ch_principal_write(ch_run_origin_principal(run), &w);
    run_journal_write_message(&w, m);
    return end_inbound(run->session, &w, from);
}

/* Begins a record that belongs to no run. */
static struct ch_jw run_journal_begin_alone(struct ch_run_journal *k) {
    ch_buf_clear(&k->scratch);
    struct ch_jw w = ch_jw(&k->scratch);
    ch_jw_begin(&w, '{');
    return w;
}

uint64_t ch_run_journal_waiting(chela_session *s, const struct ch_msg *m,
                                const struct ch_principal *principal,
                                const struct ch_inbound_origin *from, bool idle) {
    struct ch_run_journal *k = ch_run_journal_of_session(s);

    if (!k)
        return 0;
    struct ch_jw w = run_journal_begin_alone(k);
    ch_jw_kcstr(&w, "mode", "collect");
    ch_principal_write(principal, &w);
    run_journal_write_message(&w, m);
    if (idle)
        note_status(s, k, CH_REPLAY_RUNNING);
    return end_inbound(s, &w, from);
}

static void end_waiting(chela_session *s, uint64_t seq, bool dropped) {
    struct ch_run_journal *k = ch_run_journal_of_session(s);

    if (!k || !seq)
        return;
    struct ch_jw w = run_journal_begin_alone(k);
    ch_jw_kint(&w, "of", (int64_t)seq);
    if (dropped)
        ch_jw_kbool(&w, "dropped", true);
    run_journal_append(s, &w, CH_REC_MESSAGE, CH_SYNC_LATER);
}

void ch_run_journal_forgotten(chela_session *s, uint64_t seq) {
    end_waiting(s, seq, true);
}

void ch_run_journal_taken(chela_session *s, uint64_t seq) {
    end_waiting(s, seq, false);
}

void ch_run_journal_delivered(chela_run *run, uint64_t seq, bool dropped) {
    struct ch_run_journal *k = ch_run_journal_of(run);

    if (!k || !seq)
        return;
    run_journal_count(run, !dropped, 0);
    struct ch_jw w = run_journal_begin(k, run);
    ch_jw_kint(&w, "of", (int64_t)seq);
    if (dropped)
        ch_jw_kbool(&w, "dropped", true);
    run_journal_append(run->session, &w, CH_REC_MESSAGE, CH_SYNC_LATER);
}

void ch_run_journal_note(chela_run *run, struct ch_sv text) {
    struct ch_run_journal *k = ch_run_journal_of(run);

    if (!k)
        return;
    struct ch_jw w = run_journal_begin(k, run);
    ch_jw_kstr(&w, "note", text);
    run_journal_append(run->session, &w, CH_REC_MESSAGE, CH_SYNC_LATER);
}

void ch_run_journal_message(chela_run *run, const struct ch_msg *m) {
    struct ch_run_journal *k = ch_run_journal_of(run);

    if (!k)
        return;
    run_journal_count(run, 1, 0);
    struct ch_jw w = run_journal_begin(k, run);
    run_journal_write_message(&w, m);
    run_journal_append(run->session, &w, CH_REC_MESSAGE, CH_SYNC_LATER);
}

static void run_journal_write_usage(struct ch_jw *w, const struct ch_usage *u) {
    ch_jw_kbegin(w, "usage", '{');
    ch_jw_kint(w, "input", u->input);
    ch_jw_kint(w, "output", u->output);
    ch_jw_kint(w, "cache_read", u->cache_read);
    ch_jw_kint(w, "cache_write", u->cache_write);
    ch_jw_kint(w, "reasoning", u->reasoning);
    ch_jw_end(w, '}');
}

static void write_embedded(struct ch_jw *w, const chela_run *run) {
    if (!run->record->embedded.calls)
        return;
    ch_jw_kbegin(w, "embedding", '{');
    ch_jw_kcstr(w, "model", run->record->embedded.model);
    ch_jw_kint(w, "calls", run->record->embedded.calls);
    ch_jw_kint(w, "input", run->record->embedded.tokens);
    ch_jw_end(w, '}');
}

/* Stores the reply with the machine's input, so that the input can be repeated. */
uint64_t ch_run_journal_reply(chela_run *run, const struct ch_msg *m, const struct ch_reply *r,
                              double cost, bool person) {
    struct ch_run_journal *k = ch_run_journal_of(run);

    if (!k)
        return 0;
    run_journal_count(run, 1, 1);
    struct ch_jw w = run_journal_begin(k, run);
    run_journal_write_message(&w, m);
    ch_jw_kcstr(&w, "stop", ch_stop_name(r->stop));
    if (person)
        ch_jw_kbool(&w, "person", true);
    ch_jw_kbegin(&w, "request", '{');
    ch_jw_kcstr(&w, "model", run->target->spec);
    ch_jw_kint(&w, "messages", (int64_t)run->session->transcript.n);
    ch_jw_end(&w, '}');
    run_journal_write_usage(&w, &r->usage);
    if (cost > 0) {
        ch_jw_kdouble(&w, "cost", cost);
    }
    write_embedded(&w, run);
    run->record->embedded.calls = 0;
    run->record->embedded.tokens = 0;
    return run_journal_append(run->session, &w, CH_REC_MESSAGE, CH_SYNC_SOON);
}

void ch_run_journal_job(chela_run *run, struct ch_sv id) {
    struct ch_run_journal *k = ch_run_journal_of(run);

    if (!k)
        return;
    struct ch_jw w = run_journal_begin(k, run);
    ch_jw_kint(&w, "turn", run->m.turns);
    ch_jw_kstr(&w, "id", id);
    ch_jw_kcstr(&w, "model", run->target->spec);
    run_journal_append(run->session, &w, CH_REC_JOB, id.n ? CH_SYNC_COMMIT : CH_SYNC_LATER);
}

void ch_run_journal_role(chela_run *run, const char *role, const char *model,
                         const struct ch_usage *u, double cost, struct ch_sv answer,
                         struct ch_sv notes) {
    struct ch_run_journal *k = ch_run_journal_of(run);

    if (!k)
        return;
    struct ch_jw w = run_journal_begin(k, run);
    ch_jw_kcstr(&w, "role", role);
    ch_jw_kcstr(&w, "model", model);
    run_journal_write_usage(&w, u);
    if (cost > 0)
        ch_jw_kdouble(&w, "cost", cost);
    ch_jw_kstr(&w, "answer", ch_utf8_cut(answer, CH_LIMIT_ROLE_RESULT));
    if (notes.n)
        ch_jw_kstr(&w, "notes", ch_utf8_cut(notes, CH_LIMIT_ROLE_RESULT));
    run_journal_append(run->session, &w, CH_REC_ROLE, CH_SYNC_LATER);
}

void ch_run_journal_attached(chela_run *run, const char *path, const char *refused) {
    struct ch_run_journal *k = ch_run_journal_of(run);

    if (!k)
        return;
    struct ch_jw w = run_journal_begin(k, run);
    ch_jw_kcstr(&w, "path", path);
    ch_jw_kcstr(&w, "call", "read");
    if (refused)
        ch_jw_kcstr(&w, "refused", refused);
    run_journal_append(run->session, &w, CH_REC_ATTACHED, CH_SYNC_COMMIT);
}

uint64_t ch_run_journal_started(chela_run *run, size_t call, const struct ch_block *block,
                                enum chela_effect effect, const char *key,
                                const char *state) {
    struct ch_run_journal *k = ch_run_journal_of(run);

    if (!k)
        return 0;
    struct ch_jw w = run_journal_begin(k, run);
    ch_jw_kint(&w, "call", (int64_t)call);
    ch_jw_kstr(&w, "id", block->id);
    ch_jw_kstr(&w, "name", block->name);
    ch_jw_kcstr(&w, "effect",
                effect == CHELA_EFFECT_KEYED  ? "keyed"
                : effect == CHELA_EFFECT_READ ? "read"
                                              : "once");
    ch_jw_kcstr(&w, "key", key);
    if (state)
        ch_jw_kcstr(&w, "state", state);
    CH_ARENA_AUTO arena = {0};
    const struct ch_tool *tool = ch_registry_find(&run->session->agent->registry, block->name);
    if (ch_tool_is_run(tool))
        ch_jw_kcstr(&w, "child", ch_child_key(run->session->key, tool->name, key, &arena));
    return run_journal_append(run->session, &w, CH_REC_STARTED, run_journal_gate(run));
}

void ch_run_journal_done(chela_run *run, size_t call, const struct ch_msg *result,
                         const struct ch_run_journal_done *how) {
    struct ch_run_journal *k = ch_run_journal_of(run);

    if (!k)
        return;
    struct ch_jw w = run_journal_begin(k, run);
    ch_jw_kint(&w, "call", (int64_t)call);
    run_journal_write_message(&w, result);
    if (how->ran)
        ch_jw_kbool(&w, "ran", true);
    if (how->refused)
        ch_jw_kbool(&w, "refused", true);
    if (how->terminates)
        ch_jw_kbool(&w, "terminates", true);
    if (how->attempts > 1)
        ch_jw_kint(&w, "attempts", how->attempts);
    if (how->delivered)
        ch_jw_kcstr(&w, "delivered", how->delivered);
    if (how->labels)
        ch_labels_write(how->labels, &w);
    run_journal_append(run->session, &w, CH_REC_DONE, how->effect ? CH_SYNC_COMMIT : CH_SYNC_LATER);
}

void ch_run_journal_answer(chela_session *s, size_t call, const struct ch_msg *result) {
    struct ch_run_journal *k = ch_run_journal_of_session(s);

    if (!k)
        return;
    ch_buf_clear(&k->scratch);
    struct ch_jw w = ch_jw(&k->scratch);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "run", k->past->run);
    ch_jw_kint(&w, "call", (int64_t)call);
    run_journal_write_message(&w, result);
    ch_jw_kbool(&w, "ran", true);
    run_journal_append(s, &w, CH_REC_DONE, s->agent->rt->journal->gate);
}

static void write_digest(struct ch_jw *w, const unsigned char digest[CH_SHA256_SIZE]) {
    char text[2 * CH_SHA256_SIZE + 1];

    ch_sha256_hex(digest, text);
    ch_jw_str(w, ch_sv_str(text));
}

static void write_asked(struct ch_jw *w, const struct chela_approval *a,
                        const unsigned char digest[CH_SHA256_SIZE]) {
    ch_jw_kstr(w, "approval", ch_unstr(a->approval_id));
    ch_jw_kstr(w, "name", ch_unstr(a->name));
    ch_jw_kstr(w, "arguments", ch_unstr(a->arguments));
    ch_jw_kstr(w, "summary", ch_unstr(a->summary));
    ch_jw_kbool(w, "remember", a->can_remember);
    ch_jw_key(w, "digest");
    write_digest(w, digest);
}

void ch_run_journal_asked(chela_run *run, size_t call, const struct chela_approval *a,
                          const unsigned char digest[CH_SHA256_SIZE]) {
    struct ch_run_journal *k = ch_run_journal_of(run);

    if (!k)
        return;
    struct ch_jw w = run_journal_begin(k, run);
    ch_jw_kint(&w, "call", (int64_t)call);
    write_asked(&w, a, digest);
    run_journal_append(run->session, &w, CH_REC_ASKED, CH_SYNC_LATER);
}

static struct ch_jw begin_below(struct ch_run_journal *k, const chela_run *run, size_t call,
                                const char *child, struct ch_sv id) {
    struct ch_jw w = run_journal_begin(k, run);
    ch_jw_kint(&w, "call", (int64_t)call);
    ch_jw_kcstr(&w, "child", child);
    ch_jw_kstr(&w, "id", id);
    return w;
}

void ch_run_journal_asked_below(chela_run *run, size_t call, const char *child,
                                const struct chela_approval *a,
                                const unsigned char digest[CH_SHA256_SIZE]) {
    struct ch_run_journal *k = ch_run_journal_of(run);

    if (!k)
        return;
    struct ch_jw w = begin_below(k, run, call, child, ch_unstr(a->id));
    write_asked(&w, a, digest);
    run_journal_append(run->session, &w, CH_REC_ASKED, CH_SYNC_LATER);
}

static void write_left(chela_run *run, size_t call, const char *child,
                       const struct ch_block *block, const char *state) {
    struct ch_run_journal *k = ch_run_journal_of(run);

    if (!k)
        return;
    struct ch_jw w = begin_below(k, run, call, child, block->id);
    ch_jw_kstr(&w, "name", block->name);
    ch_jw_kstr(&w, "arguments", block->text);
    if (state)
        ch_jw_kcstr(&w, "state", state);
    run_journal_append(run->session, &w, CH_REC_ASKED, CH_SYNC_LATER);
}

void ch_run_journal_left_below(chela_run *run, size_t call, const char *child,
                               const struct ch_block *block) {
    write_left(run, call, child, block, NULL);
}

void ch_run_journal_question(chela_run *run, size_t call, const struct ch_block *question,
                             const char *state) {
    write_left(run, call, "", question, state);
}

void ch_run_journal_answered_below(chela_session *s, const char *call_id, struct ch_sv content,
                                   bool is_error) {
    struct ch_run_journal *k = ch_run_journal_of_session(s);

    if (!k)
        return;
    struct ch_jw w = run_journal_begin_alone(k);
    ch_jw_kcstr(&w, "id", call_id);
    ch_jw_kstr(&w, "content", content);
    ch_jw_kbool(&w, "is_error", is_error);
    run_journal_append(s, &w, CH_REC_ANSWERED, s->agent->rt->journal->gate);
}

void ch_run_journal_answered(chela_session *s, const char *approval_id,
                             enum chela_decision decision, const char *reason) {
    struct ch_run_journal *k = ch_run_journal_of_session(s);

    if (!k)
        return;
    ch_buf_clear(&k->scratch);
    struct ch_jw w = ch_jw(&k->scratch);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "approval", approval_id);
    ch_jw_kcstr(&w, "decision", ch_decision_name(decision));
    if (reason && *reason)
        ch_jw_kcstr(&w, "reason", reason);
    run_journal_append(s, &w, CH_REC_ANSWERED, CH_SYNC_COMMIT);
}

/* --- messages of the outbox --------------------------------------------------------------- */

void ch_run_journal_outbound(chela_run *run, const char *id) {
    struct ch_run_journal *k = ch_run_journal_of(run);

    if (!k)
        return;
    struct ch_jw w = run_journal_begin(k, run);
    ch_jw_kcstr(&w, "id", id);
    run_journal_append(run->session, &w, CH_REC_OUTBOUND, CH_SYNC_LATER);
}

void ch_run_journal_receipt(chela_runtime *rt, const char *session, const char *id,
                            const char *state) {
    chela_session *s = ch_session_find(rt, ch_sv_str(session));
    struct ch_run_journal *k = s ? ch_run_journal_of_session(s) : NULL;

    if (!k)
        return;
    struct ch_jw w = run_journal_begin_alone(k);
    ch_jw_kcstr(&w, "id", id);
    ch_jw_kcstr(&w, "state", state);
    run_journal_append(s, &w, CH_REC_RECEIPT, CH_SYNC_LATER);
}

/* --- the machine ------------------------------------------------------------------------- */

static void write_below(struct ch_jw *w, const struct ch_run *m, const struct ch_spent *live) {
    if (m->below.turns == live->turns && m->below.tool_calls == live->tool_calls)
        return;
    ch_jw_kbegin(w, "below", '{');
    ch_jw_kint(w, "turns", m->below.turns - live->turns);
    ch_jw_kint(w, "tool_calls", m->below.tool_calls - live->tool_calls);
    ch_jw_end(w, '}');
}

static void write_machine(struct ch_jw *w, const chela_run *run, const struct ch_spent *live,
                          bool acting) {
    const struct ch_run *m = &run->m;

    ch_jw_kcstr(w, "state", ch_run_state_name(m->state));
    if (m->reason != CH_REASON_NONE)
        ch_jw_kcstr(w, "reason", ch_reason_name(m->reason));
    ch_jw_kint(w, "turns", m->turns);
    ch_jw_kint(w, "tool_calls", m->tool_calls);
    write_below(w, m, live);
    ch_jw_kint(w, "errors", m->errors);
    if (m->pauses)
        ch_jw_kint(w, "pauses", m->pauses);
    if (m->nudged)
        ch_jw_kbool(w, "nudged", true);
    if (m->closing != CH_REASON_NONE)
        ch_jw_kcstr(w, "closing", ch_reason_name(m->closing));
    if (m->model)
        ch_jw_kint(w, "model", m->model);
    if (m->cost - live->cost > 0) {
        ch_jw_kdouble(w, "cost", m->cost - live->cost);
    }
    if (m->cost_unknown)
        ch_jw_kbool(w, "cost_unknown", true);
    ch_jw_kint(w, "seq", (int64_t)m->seq);
    if (acting)
        ch_jw_kbool(w, "acting", true);
    if (run->record->recoveries)
        ch_jw_kint(w, "recoveries", run->record->recoveries);
    struct ch_usage own = {.input = m->usage.input - live->usage.input,
                           .output = m->usage.output - live->usage.output,
                           .cache_read = m->usage.cache_read - live->usage.cache_read,
                           .cache_write = m->usage.cache_write - live->usage.cache_write,
                           .reasoning = m->usage.reasoning - live->usage.reasoning};
    run_journal_write_usage(w, &own);
}

static uint64_t run_journal_write_state(chela_run *run, enum ch_replay_status status,
                                        enum ch_sync sync, bool acting, const char *ending) {
    struct ch_run_journal *k = ch_run_journal_of(run);

    if (!k)
        return 0;
    const char *word = status == CH_REPLAY_IDLE
                           ? ch_run_status_name(ch_reason_status(run->m.reason))
                           : ch_journal_replay_status_name(status);
    struct ch_jw w = run_journal_begin(k, run);
    ch_jw_kcstr(&w, "status", word);
    struct ch_spent live = k->ops->save(run, &w);
    ch_principal_write(ch_run_origin_principal(run), &w);
    write_machine(&w, run, &live, acting);
    ch_run_counters_write(&run->record->counters, &w);
    if (*ch_run_error(run))
        ch_jw_kcstr(&w, "error", ch_run_error(run));
    if (*ending)
        ch_jw_kcstr(&w, "ending", ending);
    run->record->stored_events = run->m.seq;
    if (status == CH_REPLAY_IDLE && k->ops->oldest(run->session))
        status = CH_REPLAY_RUNNING; /* after a crash, a gateway looks for waiting messages there */
    if (status != run->record->told) {
        run->record->told = status;
        note_status(run->session, k, status);
    }
    return run_journal_append(run->session, &w, CH_REC_STATE, sync);
}

uint64_t ch_run_journal_state(chela_run *run, enum ch_replay_status status, enum ch_sync sync) {
    return run_journal_write_state(run, status, sync, false, "");
}

void ch_run_journal_acting(chela_run *run, enum ch_sync sync) {
    run_journal_write_state(run, CH_REPLAY_RUNNING, sync, true, "");
}

void ch_run_journal_unstored(chela_run *run) {
    struct ch_run_record *r = run->record;
    if (!r || run->m.seq < r->stored_events + CH_LIMIT_UNSTORED / 2 || ch_run_over(&run->m))
        return;
    r->stored_events = run->m.seq;
    ch_run_journal_state(run, CH_REPLAY_RUNNING, CH_SYNC_COMMIT);
}

uint64_t ch_run_journal_end(chela_run *run, enum ch_replay_status status, const char *ending) {
    return ch_run_journal_of(run)
               ? run_journal_write_state(run, status, run->session->agent->rt->journal->end, false,
                                         ending)
               : 0;
}

/* --- rewriting ---------------------------------------------------------------------------- */

static uint64_t older(uint64_t a, uint64_t b) {
    return !a ? b : !b ? a : CH_MIN(a, b);
}

/* The first record that a reader needs: the record of the run's principal or of the oldest
 * waiting message, whichever is older; 0: none. */
static uint64_t first_needed(const chela_run *run) {
    uint64_t seq = older(ch_queue_seq(&run->steering), ch_queue_seq(&run->follow_ups));

    return older(run->record->start_seq,
                 older(seq, run->session->journal->ops->oldest(run->session)));
}

/* Writes the data from records before `keep` that is still needed: approvals and event ids. */
static void write_lasting(struct ch_jw *w, const chela_session *s) {
    const struct ch_memory *m = &s->memory;
    size_t oldest = m->next + CH_LIMIT_REMEMBERED - m->n;

    ch_jw_kbegin(w, "allowed", '[');
    for (size_t i = 0; i < m->n; i++)
        write_digest(w, m->digests[(oldest + i) % CH_LIMIT_REMEMBERED]);
    ch_jw_end(w, ']');
}

static void write_hash(struct ch_jw *w, const char *name, uint64_t hash) {
    char hex[CH_PART_HEX];

    ch_part_id_write(hash, hex);
    ch_jw_kcstr(w, name, hex);
}

static void write_prefix(struct ch_jw *w, const struct ch_epoch_prefix *p) {
    write_hash(w, "service", p->service);
    write_hash(w, "system", p->system);
    write_hash(w, "tools", p->tools);
}

void ch_run_journal_epoch(chela_run *run, const char *reason) {
    struct ch_run_journal *k = ch_run_journal_of(run);
    const struct ch_epoch *e = &run->session->epoch;

    if (!k)
        return;
    struct ch_jw w = run_journal_begin(k, run);
    ch_jw_kint(&w, "n", e->n);
    ch_jw_kcstr(&w, "reason", reason);
    ch_jw_kint(&w, "unbound", (int64_t)e->unbound);
    ch_jw_kint(&w, "stale", (int64_t)e->stale);
    write_prefix(&w, &e->prefix);
    ch_jw_kbegin(&w, "bound", '{');
    write_prefix(&w, &e->bound);
    ch_jw_end(&w, '}');
    run_journal_append(run->session, &w, CH_REC_EPOCH, CH_SYNC_LATER);
}

void ch_run_journal_dropped(chela_run *run) {
    struct ch_run_journal *k = ch_run_journal_of(run);

    if (!k)
        return;
    struct ch_jw w = run_journal_begin(k, run);
    ch_jw_kint(&w, "messages", (int64_t)run->session->transcript.n);
    /* synced with the end of the run */
    run_journal_append(run->session, &w, CH_REC_DROPPED, CH_SYNC_LATER);
}

static struct ch_jw begin_rewrite(chela_run *run, const struct ch_run_journal_rewrite *how) {
    struct ch_jw w = run_journal_begin(ch_run_journal_of(run), run);
    ch_jw_kcstr(&w, "strategy", how->strategy);
    ch_jw_kint(&w, "tokens_before", (int64_t)how->tokens_before);
    ch_jw_kint(&w, "tokens_after", (int64_t)how->tokens_after);
    return w;
}

static void write_condensed(chela_run *run, const struct ch_run_journal_rewrite *how) {
    struct ch_jw w = begin_rewrite(run, how);
    if (how->item) {
        run_journal_write_usage(&w, &how->usage);
        ch_jw_kint(&w, "at", (int64_t)how->at);
        ch_jw_key(&w, "message");
        ch_msg_write(how->item, &w);
    }
    run_journal_append(run->session, &w, CH_REC_COMPACTION, CH_SYNC_COMMIT);
    if (how->item && !run->m.by_hand)
        ch_run_journal_state(run, CH_REPLAY_RUNNING, CH_SYNC_COMMIT);
}

void ch_run_journal_rewritten(chela_run *run, const struct ch_run_journal_rewrite *how) {
    struct ch_run_journal *k = ch_run_journal_of(run);
    const struct ch_transcript *t = &run->session->transcript;

    if (!k)
        return;
    if (how->condensed) {
        write_condensed(run, how);
        return;
    }
    bool known = run->record->start_seq || run->m.by_hand; /* otherwise another process began the
                                                              run */
    uint64_t needed = first_needed(run);
    struct ch_jw w = begin_rewrite(run, how);
    ch_jw_kint(&w, "keep", known ? (int64_t)needed : 1);
    run_journal_write_usage(&w, &how->usage);
    write_lasting(&w, run->session);
    ch_jw_kbegin(&w, "messages", '[');
    for (size_t i = 0; i < t->n; i++)
        ch_msg_write(t->msgs[i], &w);
    ch_jw_end(&w, ']');
    uint64_t seq = run_journal_append(run->session, &w, CH_REC_COMPACTION, CH_SYNC_COMMIT);
    if (known)
        ops(run->session)
            ->note(k->log, &(struct chela_store_head){.window = needed ? needed : seq});
    if (!run->m.by_hand)
        ch_run_journal_state(run, CH_REPLAY_RUNNING, CH_SYNC_COMMIT);
}
