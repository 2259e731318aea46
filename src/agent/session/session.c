/* session.c -- sessions: the transcript of a conversation and one run at a time. */
#include "agent/session/session.h"

#include "agent/context/context.h"
#include "agent/handle/lookup.h"
#include "agent/handle/run.h"
#include "agent/handle/run_origin.h"
#include "agent/handle/session.h"
#include "agent/journal/emit.h"
#include "agent/journal/inbox.h"
#include "agent/journal/journal_replay.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/principal.h"
#include "agent/machine/queue.h"
#include "agent/machine/run.h"
#include "agent/run/run_layer.h"
#include "agent/run/driver.h"
#include "agent/run/parent.h"
#include "agent/run/recover.h"
#include "agent/run/takeover.h"
#include "agent/session/children.h"
#include "agent/session/input_queue.h"
#include "agent/session/restore.h"
#include "chela/channel.h"
#include "base/choice.h"
#include "base/random_id.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/opts.h"
#include "base/utf8.h"
#include "io/loop_entry.h"
#include "json/writer.h"
#include "model/codec/encoder.h"
#include "model/message/message_json.h"
#include "tool/process/jobs.h"

/* --- events without a request */

const struct ch_msg *ch_session_tell(chela_session *s, struct ch_sv text) {
    struct ch_msg *m =
        ch_msg_text(CH_MSG_EVENT, text, ch_now_ms(ch_loop_clock(s->agent->rt->loop)));
    if (ch_queue_push(&s->events, m) == 0)
        return m;
    ch_msg_free(m);
    ch_log(CH_LOG_WARN, "session", "%s: too many events wait: one is lost", s->key);
    return NULL;
}

/* A background program ended. A run in progress delivers the event itself; a paused run
 * gets the answers to its calls first. */
static void on_job_end(const struct ch_job_end *end, void *user) {
    chela_session *s = user;
    CH_BUF_AUTO text = {0};
    if (s->closed || end->killed) /* the program was killed on request */
        return;
    ch_job_end_text(end, &text);
    if (!ch_session_tell(s, ch_buf_sv(&text)))
        return;
    if (s->on_wake && (!s->run || s->run->over))
        s->on_wake(s, s->wake_user);
}

void chela_session_on_wake(chela_session *s, chela_wake_fn *fn, void *user) {
    CH_ENTER_OR(s, s->agent->rt->loop, NULL, );
    s->on_wake = fn;
    s->wake_user = user;
}

/* --- life */

/* Most sessions have no channel, and share this one. */
static const struct chela_channel no_channel;

int ch_session_open(chela_agent *agent, const char *key, bool kept, chela_session **out,
                    struct chela_error *err) {
    char fresh[24];
    *out = NULL;
    if (agent->closed)
        return ch_fail(err, CHELA_ESTATE, "agent %s is closed", agent->id);
    if (key && ch_session_find(agent->rt, ch_sv_str(key)))
        return ch_fail(err, CHELA_EEXIST, "session '%s' is open already", key);
    if (!key)
        ch_random_id("s_", fresh);
    struct ch_sv name = ch_sv_str(key ? key : fresh);
    chela_session *s = ch_alloc(sizeof(*s) + name.n + 1);
    s->owner = &ch_input_queue_owner;
    s->agent = agent;
    s->apply = agent->apply;
    s->key = memcpy(s + 1, name.p, name.n);
    s->channel = &no_channel;
    s->jobs = ch_jobs_new(agent->rt->loop, agent->rt->workers, on_job_end, s);
    ch_queue_init(&s->events);
    ch_list_init(&s->background);
    ch_list_add(&agent->sessions, &s->link);
    ch_key_table_add(&agent->rt->sessions, &s->by_key, s->key);
    if (kept)
        ch_restore_open(s);
    *out = s;
    return 0;
}

int ch_session_key_check(struct ch_sv key, struct chela_error *err) {
    if (key.n >= 1 && key.n <= CH_LIMIT_SESSION_KEY && ch_utf8_valid(key))
        return 0;
    return ch_fail(err, CHELA_EINVAL, "a session key must be UTF-8 of 1 to %d bytes",
                   CH_LIMIT_SESSION_KEY);
}

int chela_session_new(chela_agent *agent, const char *key, chela_session **out,
                      struct chela_error *err) {
    CH_NEEDS_ARG(out, err);
    *out = NULL;
    CH_ENTER(agent, agent->rt->loop, err);
    int rc = key ? ch_session_key_check(ch_sv_str(key), err) : 0;
    return rc < 0 ? rc : ch_session_open(agent, key, true, out, err);
}

/* --- being stored */

/* Adds messages that the superseded run did not deliver to the transcript, before the input
 * of the new run. Messages of another principal go back to the input queue, so that no
 * message is processed with the rights of another sender. */
static void deliver_notes(chela_session *s, const chela_run *run) {
    for (CH_LIST_EACH(i, &s->journal->past->notes)) {
        struct ch_replay_note *n = CH_CONTAINER(i, struct ch_replay_note, link);
        if (n->alone || !n->msg || n->msg->nblocks == 0)
            continue;
        if (!ch_principal_same(&n->principal, ch_run_origin_principal(run), s->agent->policies)) {
            ch_input_queue_recall(s, n);
            continue;
        }
        ch_run_journal_taken(s, n->seq);
        ch_transcript_add(&s->transcript, CH_TAKE(n->msg));
    }
}

/* Replaces a run that an earlier process left unfinished. Opens the journal again if it had
 * failed. */
static void supersede(chela_session *s, const chela_run *run) {
    struct ch_run_journal *k = s->journal;
    struct ch_msg *results =
        k && k->past
            ? ch_journal_replay_close(k->past, ch_now_ms(ch_loop_clock(s->agent->rt->loop)))
            : NULL;
    if (results)
        ch_transcript_add_results(&s->transcript, results);
    if (k && k->past)
        deliver_notes(s, run);
    ch_run_journal_forget(s);
    if (k && k->state == CH_RUN_JOURNAL_FAILED)
        ch_restore_open(s);
}

static int fail_paused(const chela_session *s, struct chela_error *err) {
    struct ch_batch_waits w = s->run && s->run->batch ? ch_run_waits(s->run)
                                                      : (struct ch_batch_waits){0};
    return ch_fail(err, CHELA_ESTATE, "session '%s' waits for %s", s->key,
                   w.approvals || w.answers || !w.timers ? "answers to its tool calls"
                                                         : "a time that a tool call has set");
}

/* Checks, once the journal is read, whether a run that was started before may begin:
 * another run may be unfinished. */
static bool may_begin(chela_session *s) {
    struct chela_error err = {0};
    if (!s->journal->past || (!ch_run_origin_input(s->run) && !ch_run_origin_compacts(s->run)))
        return true;
    if (ch_run_origin_compacts(s->run)) {
        ch_fail(&err, CHELA_ESTATE, "session '%s' has an unfinished run", s->key);
        ch_run_lost(s->run, &err);
        return false;
    }
    if (s->journal->past->status != CH_REPLAY_PAUSED) {
        supersede(s, s->run);
        return true;
    }
    fail_paused(s, &err);
    ch_run_lost(s->run, &err);
    return false;
}

void ch_session_opened(chela_session *s) {
    bool waits = s->run && !s->run->over && !ch_run_begun(s->run);
    if (waits && may_begin(s))
        ch_run_admit(s->run);
    if (s->on_ready && !s->closed) /* the end of the run may have closed the session */
        s->on_ready(s, s->journal->log ? NULL : &s->journal->err, s->ready_user);
}

void chela_session_on_ready(chela_session *s, chela_ready_fn *fn, void *user) {
    CH_ENTER_OR(s, s->agent->rt->loop, NULL, );
    s->on_ready = fn;
    s->ready_user = user;
}

static int wait_until_open(chela_session *s, struct chela_error *err) {
    struct ch_run_journal_wait wait = {.over = false};
    if (!s->agent->rt->own_loop)
        return ch_fail(err, CHELA_ESTATE, "session '%s' is still being opened", s->key);
    s->journal->wait = &wait;
    int rc = ch_loop_run(s->agent->rt->loop, &wait.over);
    if (wait.closed)
        return ch_fail(err, CHELA_ECANCELED, "the session was closed");
    s->journal->wait = NULL;
    if (rc < 0)
        ch_fail(err, rc, "session '%s' could not be opened: %s", s->key, chela_error_text(rc));
    return rc;
}

int chela_session_wait(chela_session *s, struct chela_error *err) {
    CH_ENTER(s, s->agent->rt->loop, err);
    struct ch_run_journal *k = s->journal;
    if (!k)
        return 0;
    int rc = k->state == CH_RUN_JOURNAL_OPENING ? wait_until_open(s, err) : 0;
    if (rc < 0)
        return rc;
    if (k->state == CH_RUN_JOURNAL_FAILED && err)
        *err = k->err;
    return k->state == CH_RUN_JOURNAL_FAILED ? k->err.code : 0;
}

bool ch_session_sleeps(const chela_session *s) {
    const struct ch_journal_replay *past = s->journal ? s->journal->past : NULL;
    const struct ch_run *m = past ? &past->m : s->run ? &s->run->m : NULL;
    return m && chela_session_status(s) == CHELA_SESSION_PAUSED && m->reason == CH_REASON_TIMER;
}

enum chela_session_status chela_session_status(const chela_session *s) {
    CH_ENTER_OR(s, s->agent->rt->loop, NULL, 0);
    const struct ch_journal_replay *past = s->journal ? s->journal->past : NULL;
    if (s->run && (!s->run->over || s->run->m.reason == CH_REASON_INTERRUPTED))
        return CHELA_SESSION_RUNNING;
    if (s->run && s->run->m.state == CH_RUN_WAITING)
        return CHELA_SESSION_PAUSED;
    return past ? (enum chela_session_status)past->status : CHELA_SESSION_IDLE;
}

/* May be called from the session's own callbacks: all work stops now, and
 * ch_runtime_free_closed frees the memory. */
void chela_session_close(chela_session *s) {
    CH_ENTER_OR(s, s->agent->rt->loop, NULL, );
    chela_runtime *rt = s->agent->rt;
    if (s->agent->own == s)
        s->agent->own = NULL;
    if (s->run)
        ch_run_close(s->run);
    if (s->beside_ops)
        s->beside_ops->close(s);
    ch_input_queue_free(s);
    ch_run_journal_close(s);
    s->closed = true;
    ch_key_table_del(&rt->sessions, &s->by_key);
    ch_list_del(&s->link);
    ch_list_add(&rt->closed.sessions, &s->link);
    ch_runtime_free_soon(rt);
}

static void free_channel(const struct chela_channel *c) {
    if (c == &no_channel)
        return;
    ch_free((char *)c->name);
    ch_free((char *)c->conversation);
    ch_free((struct chela_channel *)c);
}

void ch_session_free(chela_session *s) {
    ch_list_del(&s->link);
    if (s->holder)
        *s->holder = NULL;
    if (s->run)
        ch_run_part(s->run);
    if (s->beside_ops)
        s->beside_ops->free(s);
    ch_jobs_close(s->jobs);
    ch_session_layers_free(s);
    ch_queue_release(&s->events);
    ch_transcript_release(&s->transcript);
    ch_encoder_release(&s->encoder);
    ch_free(s->answers_to);
    ch_memory_release(&s->memory);
    ch_labels_release(&s->labels);
    ch_selection_free(s->selection);
    ch_session_state_release(&s->state);
    free_channel(s->channel);
    ch_context_release(&s->context);
    ch_children_free(s);
    ch_run_journal_free(s);
    ch_free(s->system);
    ch_free(s);
}

const char *chela_session_key(const chela_session *s) {
    CH_ENTER_OR(s, s->agent->rt->loop, NULL, NULL);
    return s->key;
}

char *chela_session_last_text(const chela_session *s) {
    CH_ENTER_OR(s, s->agent->rt->loop, NULL, NULL);
    struct ch_buf out = {0};
    size_t n = s->transcript.n;
    while (n > 0 && s->transcript.msgs[n - 1]->kind != CH_MSG_ASSISTANT)
        n--;
    const struct ch_msg *m = n ? s->transcript.msgs[n - 1] : NULL;
    for (uint32_t i = 0; m && i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_TEXT)
            ch_buf_add_sv(&out, m->blocks[i].text);
    return out.p ? ch_buf_take(&out) : ch_strdup("");
}

char *chela_session_messages_json(const chela_session *s) {
    CH_ENTER_OR(s, s->agent->rt->loop, NULL, NULL);
    return chela_session_recent_json(s, s->transcript.n);
}

char *chela_session_recent_json(const chela_session *s, size_t n) {
    CH_ENTER_OR(s, s->agent->rt->loop, NULL, NULL);
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '[');
    for (size_t i = s->transcript.n - CH_MIN(n, s->transcript.n); i < s->transcript.n; i++)
        ch_msg_write(s->transcript.msgs[i], &w);
    ch_jw_end(&w, ']');
    return ch_buf_take(&out);
}

/* --- runs */

static bool is_paused(const chela_run *run) {
    return run && run->over && !run->retired && run->m.state == CH_RUN_WAITING;
}

int chela_session_channel(chela_session *s, const struct chela_channel *given,
                          struct chela_error *err) {
    CH_ENTER(s, s->agent->rt->loop, err);
    struct chela_channel c;
    int rc = CH_OPTS_READ(chela_channel, &c, given, err);
    if (rc == 0)
        rc = ch_choice_check(CHELA_CHOICE_LANGUAGE, (int)c.language, err);
    if (rc < 0)
        return rc;
    if (s->run && (!s->run->over || is_paused(s->run)))
        return ch_fail(err, CHELA_EBUSY, "session '%s' is busy with a run", s->key);
    if (given && (!c.name || !*c.name))
        return ch_fail(err, CHELA_EINVAL, "a channel needs a name");
    if (given && !c.send && !c.reply && !c.react)
        return ch_fail(err, CHELA_EINVAL, "channel %s can do nothing", c.name);
    if (!c.name != !s->channel->name)
        s->revision++; /* the channel changes the tools of a request */
    c.name = ch_strdup(c.name);
    c.conversation = ch_strdup(c.conversation);
    free_channel(s->channel);
    s->channel = given ? ch_memdup(&c, sizeof(c)) : &no_channel;
    return 0;
}

int ch_session_run_opts(const struct chela_run_opts *given, struct chela_run_opts *out,
                        struct chela_error *err) {
    struct chela_inbound in;
    struct chela_group group;
    int rc = CH_OPTS_READ(chela_run_opts, out, given, err);
    if (rc == 0)
        rc = ch_choice_check(CHELA_CHOICE_PERMISSION, out->permission, err);
    if (rc == 0)
        rc = ch_choice_check(CHELA_CHOICE_APPROVE, out->approve, err);
    if (rc == 0 && (out->kind < CHELA_INPUT_USER || out->kind > CHELA_INPUT_WEBHOOK))
        rc = ch_fail(err, CHELA_EINVAL, "there is no kind of input %d", (int)out->kind);
    if (rc == 0)
        rc = CH_OPTS_READ(chela_inbound, &in, out->inbound, err);
    if (rc == 0)
        rc = CH_OPTS_READ(chela_group, &group, in.group, err);
    if (rc == 0 && !out->sender)
        out->sender = in.sender_id; /* policies use the sender of the options */
    return rc;
}

static void hand_out(chela_run *run, chela_run **out) {
    if (out)
        *out = run ? ch_run_ref(run) : NULL;
}

static enum ch_msg_kind message_kind(enum chela_input_kind kind) {
    switch (kind) {
    case CHELA_INPUT_EVENT:
        return CH_MSG_EVENT;
    case CHELA_INPUT_TIMER:
        return CH_MSG_TIMER;
    case CHELA_INPUT_WEBHOOK:
        return CH_MSG_WEBHOOK;
    case CHELA_INPUT_USER:
        break;
    }
    return CH_MSG_USER;
}

/* Makes `run` the session's run; the previous one has ended. */
static void use_run(chela_session *s, chela_run *run) {
    if (s->run)
        ch_run_retire(s->run);
    s->run = run;
}

static int check_idle(const chela_session *s, struct chela_error *err) {
    if (s->run && !s->run->over)
        return ch_fail(err, CHELA_EBUSY, "session '%s' is busy with a run", s->key);
    if (chela_session_status(s) == CHELA_SESSION_PAUSED)
        return fail_paused(s, err);
    return 0;
}

/* Begins a run with the input; NULL: none. */
static void begin_run(chela_session *s, chela_run *run, struct ch_msg *input,
                      const struct chela_run_opts *opts) {
    ch_run_origin_message(run, input, opts);
    if (opts->answer_to) { /* answer_to may point to the old text */
        char *to = ch_strdup(opts->answer_to);
        ch_free(s->answers_to);
        s->answers_to = to;
    }
    supersede(s, run);
    use_run(s, run);
    ch_run_begin(run);
}

int ch_session_start(chela_session *s, struct ch_msg *input, const struct chela_run_opts *given,
                     chela_run **out, struct chela_error *err) {
    struct chela_run_opts opts;
    chela_run *run = NULL;
    int rc = ch_session_run_opts(given, &opts, err);
    if (rc == 0)
        rc = check_idle(s, err);
    if (rc == 0 && s->transcript.bytes + input->size > CH_LIMIT_HISTORY)
        rc = ch_fail(err, CHELA_ELIMIT, "session '%s' is full", s->key);
    if (rc == 0)
        rc = ch_inbox_check(s, &opts, err);
    if (rc == 0)
        rc = ch_run_new(s, &opts, NULL, &run, err);
    if (rc < 0) {
        ch_msg_free(input);
        return rc;
    }
    begin_run(s, run, input, &opts);
    hand_out(run, out);
    return 0;
}

int ch_session_refuse(chela_session *s, const struct chela_run_opts *given,
                      const struct chela_error *why) {
    struct chela_run_opts opts = CHELA_RUN_OPTS(
            .on_event = given->on_event, .user = given->user, .channel = given->channel,
            .sender = given->sender, .answer_to = given->answer_to);
    chela_run *run;
    int rc = ch_run_new(s, &opts, NULL, &run, NULL);
    if (rc < 0)
        return rc;
    begin_run(s, run, NULL, &opts);
    if (s->on_begun)
        s->on_begun(s, s->begun_user);
    ch_driver_break(run, why);
    return 0;
}

int chela_run_start(chela_session *s, const char *text, size_t len,
                    const struct chela_run_opts *given, chela_run **out, struct chela_error *err) {
    hand_out(NULL, out);
    CH_ENTER(s, s->agent->rt->loop, err);
    struct chela_run_opts opts;
    struct ch_msg *input;
    int rc = ch_session_run_opts(given, &opts, err);
    if (rc == 0)
        rc = check_idle(s, err);
    if (rc < 0)
        return rc;
    rc = ch_input_queue_message(s, message_kind(opts.kind), ch_sv(text, len), &opts, &input, err);
    return rc < 0 ? rc : ch_session_start(s, input, given, out, err);
}

int chela_session_compact(chela_session *s, const char *focus, const struct chela_run_opts *given,
                          chela_run **out, struct chela_error *err) {
    hand_out(NULL, out);
    CH_ENTER(s, s->agent->rt->loop, err);
    struct chela_run_opts opts;
    enum chela_session_status status = chela_session_status(s);
    int rc = ch_session_run_opts(given, &opts, err);
    if (rc < 0)
        return rc;
    if (s->run && !s->run->over)
        return ch_fail(err, CHELA_EBUSY, "session '%s' is busy with a run", s->key);
    if (status != CHELA_SESSION_IDLE)
        return ch_fail(err, CHELA_ESTATE, "session '%s' has an unfinished run (%s)", s->key,
                       chela_session_status_name(status));
    chela_run *run;
    rc = ch_run_new(s, &opts, NULL, &run, err);
    if (rc < 0)
        return rc;
    ch_run_origin_compact(run, focus);
    if (s->journal && s->journal->state == CH_RUN_JOURNAL_FAILED)
        ch_restore_open(s);
    use_run(s, run);
    hand_out(run, out);
    ch_run_begin(run);
    return 0;
}

int chela_run_wake(chela_session *s, const struct chela_run_opts *given, chela_run **out,
                   struct chela_error *err) {
    hand_out(NULL, out);
    CH_ENTER(s, s->agent->rt->loop, err);
    struct chela_run_opts opts;
    int rc = ch_session_run_opts(given, &opts, err);
    if (rc < 0)
        return rc;
    if (!s->events.n)
        return ch_fail(err, CHELA_ENOENT, "nothing happened in session '%s'", s->key);
    opts.kind = CHELA_INPUT_EVENT;
    struct ch_sv text = ch_queue_text(&s->events);
    rc = chela_run_start(s, text.p, text.n, &opts, out, err);
    if (rc == 0)
        ch_msg_free(ch_queue_pop(&s->events));
    return rc;
}

int chela_run_resume(chela_session *s, const struct chela_run_opts *given, chela_run **out,
                     struct chela_error *err) {
    hand_out(NULL, out);
    CH_ENTER(s, s->agent->rt->loop, err);
    struct chela_run_opts opts;
    int rc = ch_session_run_opts(given, &opts, err);
    if (rc < 0)
        return rc;
    if (s->run && !s->run->over)
        return ch_fail(err, CHELA_ESTATE, "session '%s' is busy with a run", s->key);
    if (s->journal && s->journal->past) {
        chela_run *run;
        rc = ch_recover_new(s, &opts, &run, err);
        if (rc < 0)
            return rc;
        use_run(s, run);
        hand_out(run, out);
        ch_run_begin(run);
        return 0;
    }
    if (!is_paused(s->run))
        return ch_fail(err, CHELA_ESTATE, "session '%s' has no paused run", s->key);
    struct ch_batch_waits waits = ch_run_waits(s->run);
    if (waits.answers + waits.approvals > 0)
        return ch_fail(err, CHELA_ESTATE, "session '%s' still waits for %s", s->key,
                       waits.approvals ? "approval" : "answers");
    if (given) {
        ch_run_listen(s->run, opts.on_event, opts.user);
    }
    hand_out(s->run, out);
    ch_run_begin(s->run);
    return 0;
}

static int answer_own(chela_session *s, const char *call_id, const char *content, size_t len,
                      int is_error, struct chela_error *err) {
    if (s->journal && s->journal->past)
        return ch_recover_answer(s, ch_sv_str(call_id), ch_sv(content, len), is_error, err);
    if (!s->run || !s->run->batch)
        return ch_fail(err, CHELA_ENOENT, "no call '%s' waits for an answer", call_id);
    bool question = ch_batch_asks(s->run->batch, ch_sv_str(call_id));
    int rc = ch_batch_answer(s->run->batch, ch_sv_str(call_id), ch_sv(content, len), is_error, err);
    if (rc == 0 && question)
        ch_run_journal_answered_below(s, call_id, ch_sv(content, len), is_error);
    if (rc == CHELA_ENOENT && !ch_list_empty(&s->run->children))
        rc = ch_children_answer(s->run, call_id, ch_sv(content, len), is_error, err);
    return rc;
}

int ch_session_may_answer(const chela_session *s, const char *call_id, size_t n,
                          struct chela_error *err) {
    int rc;
    if (s->journal && s->journal->past)
        rc = ch_recover_may_answer(s, ch_sv_str(call_id), n, err);
    else if (!s->run || !s->run->batch)
        rc = ch_fail(err, CHELA_ENOENT, "no call '%s' waits for an answer", call_id);
    else if ((rc = ch_batch_may_answer(s->run->batch, ch_sv_str(call_id), n, err)) == CHELA_ENOENT)
        rc = ch_children_may_answer(s->run, call_id, n, err);
    bool beside = rc == CHELA_ENOENT && s->beside_ops && s->beside_ops->may_answer(s, call_id, n);
    return beside ? 0 : rc;
}

int chela_session_answer(chela_session *s, const char *call_id, const char *content, size_t len,
                         int is_error, struct chela_error *err) {
    CH_ENTER(s, s->agent->rt->loop, err);
    int rc = answer_own(s, call_id, content, len, is_error, err);
    if (rc == CHELA_ENOENT && s->beside_ops)
        rc = s->beside_ops->answer(s, call_id, ch_sv(content, len), is_error, err);
    return rc;
}

static int approve_own(chela_session *s, const char *approval_id, enum chela_decision decision,
                       const char *reason, struct chela_error *err) {
    if (s->journal && s->journal->past)
        return ch_recover_approve(s, approval_id, decision, reason, err);
    if (!s->run || !s->run->batch)
        return ch_fail(err, CHELA_ENOENT, "no call waits for approval %s", approval_id);
    int rc = ch_batch_approve(s->run->batch, ch_sv_str(approval_id), decision, reason, err);
    if (rc == 0)
        ch_run_journal_answered(s, approval_id, decision, reason);
    if (rc == 0 && decision == CHELA_TAKE_OVER)
        ch_takeover_request(s->run, reason);
    else if (rc == CHELA_ENOENT && !ch_list_empty(&s->run->children))
        rc = ch_children_approve(s->run, approval_id, decision, reason, err);
    return rc;
}

int chela_session_approve(chela_session *s, const char *approval_id, enum chela_decision decision,
                          const char *reason, struct chela_error *err) {
    CH_ENTER(s, s->agent->rt->loop, err);
    if (decision < CHELA_DENY || decision > CHELA_TAKE_OVER)
        return ch_fail(err, CHELA_EINVAL, "approval %s: no decision", approval_id);
    if (decision >= CHELA_EDIT && !(reason && *reason))
        return ch_fail(err, CHELA_EINVAL, "approval %s: to %s takes a text", approval_id,
                       ch_decision_name(decision));
    int rc = approve_own(s, approval_id, decision, reason, err);
    if (rc == CHELA_ENOENT && s->beside_ops)
        rc = s->beside_ops->approve(s, approval_id, decision, reason, err);
    return rc;
}

int ch_session_enqueue(chela_run *run, bool follow_up, struct ch_msg *m,
                       const struct ch_inbound_origin *from) {
    struct ch_queue *q = follow_up ? &run->follow_ups : &run->steering;
    if (run->over || run->dead || ch_run_over(&run->m))
        return CHELA_ESTATE;
    if (ch_input_queue_is_full(run->session))
        return CHELA_ELIMIT; /* what earlier runs did not deliver comes first */
    int rc = ch_queue_push(q, m);
    if (rc < 0)
        return rc;
    if (from) {
        ch_queue_keep(q, from->to);
        if (from->event)
            ch_queue_from_inbox(q);
        ch_queue_set_origin(q, from->origin);
    }
    if (run->session->journal && !ch_run_origin_input(run)) { /* otherwise the delivery stores it */
        static const struct ch_inbound_origin nowhere;
        ch_queue_mark(q, ch_run_journal_queued(run, m, follow_up, from ? from : &nowhere));
    }
    /* The pause is being stored: a call that nobody is asked about any more would never go on. */
    struct ch_batch_waits waits = ch_run_waits(run);
    bool asks = run->m.state == CH_RUN_WAITING && waits.answers + waits.approvals > 0;
    if (!follow_up && run->batch && !asks)
        ch_batch_skip(run->batch, "Skipped: a new message from the user came first.");
    return 0;
}

static int enqueue_text(chela_run *run, bool follow_up, struct ch_sv text) {
    if (text.n > CH_LIMIT_INPUT)
        return CHELA_ELIMIT;
    struct ch_msg *m = ch_msg_text(CH_MSG_USER, text, ch_run_now(run));
    int rc = ch_session_enqueue(run, follow_up, m, NULL);
    if (rc < 0)
        ch_msg_free(m);
    return rc;
}

int chela_run_steer(chela_run *run, const char *text, size_t len) {
    CH_ENTER(run, run->loop, NULL);
    return enqueue_text(run, false, ch_sv(text, len));
}

int chela_run_follow_up(chela_run *run, const char *text, size_t len) {
    CH_ENTER(run, run->loop, NULL);
    return enqueue_text(run, true, ch_sv(text, len));
}

static bool has_ended(const chela_run *run) {
    return run->over || run->dead;
}

enum chela_status chela_run_status(const chela_run *run) {
    CH_ENTER_OR(run, run->loop, NULL, 0);
    if (run->dead && !run->over)
        return CHELA_STATUS_CANCELLED;
    return run->over ? (enum chela_status)ch_reason_status(run->m.reason) : CHELA_STATUS_RUNNING;
}

enum chela_reason chela_run_reason(const chela_run *run) {
    CH_ENTER_OR(run, run->loop, NULL, 0);
    if (run->dead && !run->over)
        return CHELA_REASON_CANCELLED;
    return run->over ? (enum chela_reason)run->m.reason : CHELA_REASON_NONE;
}

const char *chela_run_text(const chela_run *run) {
    CH_ENTER_OR(run, run->loop, NULL, NULL);
    return has_ended(run) ? ch_buf_str(&run->text) : NULL;
}

const char *chela_run_error(const chela_run *run) {
    CH_ENTER_OR(run, run->loop, NULL, NULL);
    return has_ended(run) ? ch_run_error(run) : NULL;
}

/* --- one question, one answer */

static int code_of(const chela_run *run) {
    switch (chela_run_status(run)) {
    case CHELA_STATUS_STOPPED:
        return CHELA_ELIMIT;
    case CHELA_STATUS_CANCELLED:
        return CHELA_ECANCELED;
    case CHELA_STATUS_PAUSED:
        return CHELA_ESTATE;
    default:
        return CHELA_EMODEL;
    }
}

char *chela_ask(chela_agent *agent, const char *text, struct chela_error *err) {
    if (!agent && err && err->code < 0) /* err states why the agent could not be made */
        return NULL;
    CH_ENTER_OR(agent, agent->rt->loop, err, NULL);
    chela_run *run;
    if (!text) {
        ch_entry_null_arg(__func__, "text", err);
        return NULL;
    }
    if (ch_loop_may_run(agent->rt->loop, err) < 0)
        return NULL;
    if (agent->untold) {
        agent->untold = false;
        ch_fail(err, agent->failed.code, "%s", agent->failed.message);
        return NULL;
    }
    if (!agent->own && chela_session_new(agent, NULL, &agent->own, err) < 0)
        return NULL;
    if (chela_run_start(agent->own, text, strlen(text), NULL, &run, err) < 0)
        return NULL;
    int rc = chela_run_wait(run);
    char *answer = NULL;
    if (rc < 0)
        ch_fail(err, rc, "the run did not end: %s", chela_error_text(rc));
    else if (ch_reason_answers(run->m.reason) && !run->dead)
        answer = ch_strndup(ch_buf_str(&run->text), run->text.n);
    else
        ch_fail(err, code_of(run), "%s: %s", chela_reason_name(chela_run_reason(run)),
                run->dead ? "the agent was closed" : ch_run_error(run));
    chela_run_free(run);
    return answer;
}
