/* driver.c -- the core of a run: step, event log, interruption, end.
 *
 *   ch_driver_step(input) -> ch_run_step -> events of the changes -> perform action
 *
 * think.c and act.c perform the two long actions and call ch_driver_step with their
 * outcome. Every run sends exactly one RUN_END (one more for each time it is
 * resumed), and only driver_finish(), pause_run() and leave_run() send it. */
#include "agent/run/driver.h"

#include "agent/context/context.h"
#include "agent/context/context_budget.h"
#include "agent/context/recall.h"
#include "agent/context/reply_directives.h"
#include "agent/handle/hooks.h"
#include "agent/handle/run.h"
#include "agent/handle/run_origin.h"
#include "agent/handle/run_outcome.h"
#include "agent/handle/session.h"
#include "agent/journal/journal_replay.h"
#include "agent/journal/outbox.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/ending.h"
#include "agent/machine/event.h"
#include "agent/machine/loop_detector.h"
#include "agent/machine/output.h"
#include "agent/machine/principal.h"
#include "agent/machine/queue.h"
#include "agent/machine/run.h"
#include "agent/machine/run_counters.h"
#include "agent/run/act.h"
#include "agent/run/feature.h"
#include "agent/handle/run_cooldown.h"
#include "agent/run/takeover.h"
#include "agent/run/spoken.h"
#include "agent/run/think.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>

#include "agent/handle/lookup.h"
#include "agent/journal/emit.h"
#include "agent/run/parent.h"
#include "agent/run/run_layer.h"
#include "base/choice.h"
#include "base/random_id.h"
#include "base/limits.h"
#include "io/loop_entry.h"
#include "model/codec/errors.h"
#include "tool/builtin/chat/message.h"
#include "tool/call/delivery.h"

#define PART(size) (((size) + 7) & ~(size_t)7)

struct ch_control {
    chela_run *run;
    bool idle;            /* not counted in rt->running */
    bool begun;           /* RUN_START was sent by this process */
    bool silent;          /* a feature marked the end as silent */
    atomic_bool asked;     /* chela_cancel was called */
    atomic_bool cancelled; /* cancel_reason is set, and the run was not interrupted yet */
    atomic_bool left;      /* chela_run_leave was called */
    enum ch_in interrupt; /* interruption that waits for the tool calls to end; CH_IN_INPUT: none */
    size_t began;         /* index of the run's first message in the transcript; SIZE_MAX:
                           * unknown */
    const struct ch_msg *mailed; /* the last message of the answer that was sent before a
                                    follow-up; compared only; NULL: none */
    uint64_t admit_seq;   /* the run begins when this position is committed; 0: does not wait */
    uint64_t end_seq;     /* RUN_END is sent when this position is committed; 0: does not wait */
    void (*take_up)(chela_run *run); /* continues a recovered run from run->past */
    struct ch_timer deadline, retry;
    struct ch_task begin;
    struct ch_post cancel; /* posted once `cancelled` is set */
    char *cancel_reason;
    struct ch_post leave; /* posted once `left` is set */
};

void ch_run_listen(chela_run *run, chela_event_fn *fn, void *user) {
    run->on_event = fn;
    run->user = user;
}

bool ch_run_begun(const chela_run *run) {
    return run->control->begun;
}

enum ch_in ch_run_interruption(const chela_run *run) {
    return run->control->interrupt;
}

void ch_run_interrupted(chela_run *run) {
    run->control->interrupt = CH_IN_INPUT;
}

bool ch_run_parent_paused(const chela_run *run) {
    const chela_run *above = ch_parent_of(run);
    return above && above->m.state == CH_RUN_WAITING &&
           above->control->interrupt == CH_IN_INPUT;
}

void ch_run_recalled(chela_run *run, size_t began, size_t mailed,
                     void (*take_up)(chela_run *run)) {
    const struct ch_transcript *t = &run->session->transcript;
    run->control->began = began;
    if (mailed - 1 < t->n) /* an imported journal may be inconsistent */
        run->control->mailed = t->msgs[mailed - 1];
    run->control->take_up = take_up;
}

static chela_runtime *runtime(const chela_run *run) {
    return run->session->agent->rt;
}

/* --- events */

const char *ch_run_prompt(chela_run *run) {
    const char *given = ch_run_origin_prompt(run);
    return given ? given : ch_context_fingerprint(run);
}

static bool emit_start(chela_run *run) {
    const chela_agent *a = run->session->agent;
    run->control->begun = true;
    struct chela_event ev = {
        .type = CHELA_EV_RUN_START,
        .start = {run->session->key, a->id, a->targets[run->m.model]->spec,
                  (enum chela_mode)ch_choice_of(CHELA_CHOICE_MODE, ch_run_mode(run)),
                  ch_run_prompt(run)}};
    return ch_emit(run, &ev);
}

static bool emit_states(chela_run *run, enum ch_run_state from) {
    for (unsigned i = 0; i < run->m.npath; i++) {
        struct chela_event ev = {
            .type = CHELA_EV_STATE,
            .state = {(enum chela_state)from, (enum chela_state)run->m.path[i]}};
        from = run->m.path[i];
        if (!ch_emit(run, &ev))
            return false;
    }
    return true;
}

static bool is_delivered(chela_run *run) {
    return ch_delivery_has(&run->session->state, run->id, ch_buf_sv(&run->text));
}

/* Index of the run's first message; SIZE_MAX: unknown, because a compaction has moved it. */
static size_t first_message(const chela_run *run) {
    return ch_run_did(run, CH_RUN_REWROTE) ? SIZE_MAX : run->control->began;
}

int64_t ch_run_began(const chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    size_t first = first_message(run);
    return first < t->n ? t->msgs[first]->ts : 0;
}

/* Index of the first message of the answer that was not sent yet. */
static size_t first_unmailed(const chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    for (size_t i = run->control->mailed ? t->n : 0; i > 0; i--)
        if (t->msgs[i - 1] == run->control->mailed)
            return i;
    return first_message(run);
}

static const char *ending_of(const chela_run *run) {
    bool silent = run->control->silent && run->m.reason == CH_REASON_COMPLETED;
    bool chat = run->session->channel->name != NULL;
    return ch_ending_say(run->m.reason, run->m.warn_empty && !silent,
                         chat ? CH_ENDING_CHAT : CH_ENDING_ANYWHERE, ch_run_language(run));
}

/* from: the first message whose files the event names; SIZE_MAX: the files of the run. */
static struct chela_event end_event(chela_run *run, size_t from) {
    struct chela_event ev = {.type = CHELA_EV_RUN_END,
                             .end = {
                                 .status = (enum chela_status)ch_reason_status(run->m.reason),
                                 .reason = (enum chela_reason)run->m.reason,
                                 .text = ch_str(ch_buf_sv(&run->text)),
                                 .error = ch_str(ch_sv_str(ch_run_error(run))),
                                 .turns = run->m.turns + run->m.below.turns,
                                 .tool_calls = run->m.tool_calls + run->m.below.tool_calls,
                                 .delivered = is_delivered(run),
                                 .usage = ch_public_usage(&run->m.usage,
                                                       run->m.cost_unknown ? -1 : run->m.cost),
                             }};
    ev.end.citations = ch_str(ch_think_citations(run));
    ev.end.ending = ch_str(ch_sv_str(ending_of(run)));
    ch_reply_directives_tell(run, from, &ev);
    return ev;
}

/* A hook may resume a paused run for another listener; the first one still gets the end. */
static void emit_end(chela_run *run) {
    chela_event_fn *fn = run->on_event;
    void *user = run->user;
    struct chela_event ev = end_event(run, first_message(run));
    ev.end.review = ch_run_layer_down(run);
    ev.end.silent |= run->control->silent && run->m.reason == CH_REASON_COMPLETED;
    ch_hook_run_end(run, &ev);
    ch_emit_to(run, &ev, fn, user);
}

/* --- counting runs in progress */

static void set_active(chela_run *run, bool active) {
    if (run->control->idle == !active)
        return;
    run->control->idle = !active;
    ch_runtime_busy(runtime(run), active);
}

static void on_deadline(struct ch_timer *t) {
    chela_run *run = CH_CONTAINER(t, struct ch_control, deadline)->run;
    ch_run_outcome_error(run, "the run took longer than %g s (limits.timeoutSec)",
                         (double)run->session->agent->timeout_ms / 1000);
    ch_driver_interrupt(run, CH_IN_DEADLINE, "the run's time is up");
}

void ch_run_extend(chela_run *run, int64_t ms) {
    for (; run && ms > 0; run = ch_parent_of(run)) {
        int64_t left = run->control->deadline.due - ch_mono_ms(ch_loop_clock(run->loop));
        if (ch_timer_armed(&run->control->deadline))
            ch_timer_start(run->loop, &run->control->deadline, CH_MAX(left + ms, 0), on_deadline);
    }
}

static void activate(chela_run *run) {
    int64_t ms = run->session->agent->timeout_ms;
    run->over = false;
    set_active(run, true);
    if (ms >= 0)
        ch_timer_start(run->loop, &run->control->deadline, ms, on_deadline);
}

/* Stops the timers and releases the loop. A paused run keeps its batch. */
static void deactivate(chela_run *run) {
    ch_timer_stop(run->loop, &run->control->deadline);
    ch_timer_stop(run->loop, &run->control->retry);
    run->over = true;
    set_active(run, false);
}

static void drop_work(chela_run *run) {
    ch_think_abort(run);
    ch_features_close(run);
    ch_think_drop(run);
    ch_act_drop(run);
    assert(ch_list_empty(&run->children)); /* closing the batch closed the children */
    ch_arena_release(&run->arena);
}

/* --- actions */

/* Emits RUN_END. A listener may close the session or start another run. */
static void come_to_rest(chela_run *run) {
    chela_session *s = run->session;
    deactivate(run);
    emit_end(run);
    if (!s->closed)
        s->owner->rested(s);
}

/* Stores the end or the pause first. RUN_END follows when the record is committed. */
static void store_end(chela_run *run, enum ch_replay_status status) {
    run->m.seq++; /* the record counts RUN_END itself */
    /* A run that never began stores nothing: an earlier run may be unfinished. */
    bool idle = ch_run_origin_compacts(run) && !ch_run_did(run, CH_RUN_REWROTE);
    bool traceless = ch_run_origin_input(run) || idle;
    const char *ending = ending_of(run);
    run->control->end_seq = traceless ? 0 : ch_run_journal_end(run, status, ending);
    run->m.seq--;
    if (!run->control->end_seq)
        come_to_rest(run);
}

/* Empties a queue that the run did not deliver. Messages of chela_session_send go back to
 * the session, others are dropped. Returns the number of dropped ones. */
static size_t empty_queue(chela_run *run, struct ch_queue *q) {
    size_t dropped = 0;
    while (q->n > 0) {
        if (ch_queue_stays(q)) {
            run->session->owner->take_back(run, q);
            continue;
        }
        ch_run_journal_delivered(run, ch_queue_seq(q), true);
        ch_msg_free(ch_queue_pop(q));
        dropped++;
    }
    return dropped;
}

/* No message of a user or of the system followed the run's first message. */
static bool is_alone(const chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    for (size_t i = run->control->began + 1; i < t->n; i++)
        if (t->msgs[i]->kind != CH_MSG_ASSISTANT && t->msgs[i]->kind != CH_MSG_RESULTS)
            return false;
    return true;
}

/* Removes the messages of a run whose answer equals drop_if, or whose input was erased. Later
 * requests have the same bytes as if the run had not happened. */
static bool drop_if_asked(chela_run *run) {
    const char *words = ch_run_origin_drop_if(run);
    bool asked = words && run->m.reason == CH_REASON_COMPLETED &&
                 ch_sv_is(ch_sv_trim(ch_buf_sv(&run->text)), words);
    if (!(asked || ch_run_origin_is_erased(run)) || ch_run_did(run, CH_RUN_REWROTE) ||
        !is_alone(run))
        return false;
    ch_transcript_cut(&run->session->transcript, run->control->began);
    ch_context_budget_rewritten(run->session);
    ch_run_journal_dropped(run);
    run->reply = NULL;
    return true;
}

static void driver_finish(chela_run *run) {
    ch_timer_stop(run->loop, &run->control->deadline); /* the store may take longer */
    ch_run_outcome_limit(run);
    if (run->m.warn_empty)
        ch_emit_warning(run, "the model gave no answer");
    if (run->dead)
        return;
    size_t unread = empty_queue(run, &run->steering) + empty_queue(run, &run->follow_ups);
    if (unread)
        ch_emit_warning(run, "%zu queued message%s not delivered: the run ended first", unread,
                        unread == 1 ? " was" : "s were");
    if (run->dead)
        return;
    struct chela_event end = end_event(run, first_unmailed(run));
    bool mail = ch_features_end(run, &end);
    run->control->silent = end.end.silent;
    drop_work(run);
    bool dropped = drop_if_asked(run);
    if (mail && !ch_run_origin_input(run) && !dropped)
        ch_outbox_answer(run, run->m.turns, &end);
    store_end(run, CH_REPLAY_IDLE);
}

static void pause_run(chela_run *run) {
    store_end(run, CH_REPLAY_PAUSED);
}

static void on_retry(struct ch_timer *t) {
    ch_think(CH_CONTAINER(t, struct ch_control, retry)->run);
}

/* Shortens a delay by up to a quarter, so that clients do not retry in step. A delay that
 * the server asked for is never shortened. */
static int64_t with_jitter(int64_t ms, bool asked_for) {
    unsigned char dice = 0;
    if (!asked_for && getrandom(&dice, 1, GRND_NONBLOCK) == 1)
        ms -= ms * dice / (4 * 255);
    return ms;
}

/* --- calling a model */

static bool emit_fallback(chela_run *run) {
    const chela_agent *a = run->session->agent;
    const struct ch_target *from = a->targets[run->m.before];
    CH_BUF_AUTO reason = {0};
    if (run->m.passed_over) {
        struct ch_cooling c = ch_run_cooldown_of(run, from);
        ch_run_cooldown_describe(from, &c, &reason);
    } else {
        ch_buf_add_str(&reason, ch_run_error(run));
    }
    struct chela_event ev = {
        .type = CHELA_EV_FALLBACK,
        .fallback = {from->spec, a->targets[run->m.model]->spec, ch_str(ch_buf_sv(&reason))}};
    return ch_emit(run, &ev);
}

static void call_later(chela_run *run, int64_t ms, const char *reason) {
    struct chela_event ev = {.type = CHELA_EV_RETRY,
                             .retry = {run->m.attempt, ms, ch_str(ch_sv_str(reason))}};
    bool played = ch_cassette_plays(runtime(run)->cassette); /* a replay need not wait */
    if (ch_emit(run, &ev))
        ch_timer_start(run->loop, &run->control->retry, played ? 0 : ms, on_retry);
}

static void call_model(chela_run *run, const struct ch_input *in) {
    const struct ch_target *t = run->session->agent->targets[run->m.model];
    if (run->m.fell_back && !emit_fallback(run))
        return;
    struct ch_cooling c = ch_run_cooldown_of(run, t);
    if (in->mended) {
        call_later(run, 0, ch_run_error(run));
    } else if (run->m.delay_ms > 0) {
        call_later(run, with_jitter(run->m.delay_ms, in->retry_after_ms > 0), ch_run_error(run));
    } else if (c.asked_ms > 0) { /* the server asked another run to wait */
        CH_BUF_AUTO reason = {0};
        ch_run_cooldown_describe(t, &c, &reason);
        call_later(run, CH_MIN(c.asked_ms, CH_LIMIT_RETRY_AFTER), ch_buf_str(&reason));
    } else {
        ch_think(run);
    }
}

void ch_driver_take_turn(chela_run *run) {
    if (!ch_features_take_turn(run))
        call_model(run, &(struct ch_input){.kind = CH_IN_INPUT});
}

/* A retry, with this model or the next, is part of the same turn. */
static bool is_same_turn(const struct ch_input *in) {
    return in->kind == CH_IN_FAILED || in->kind == CH_IN_COMPACTED;
}

static void perform(chela_run *run, enum ch_do todo, const struct ch_input *in) {
    switch (todo) {
    case CH_DO_NOTHING:
        return;
    case CH_DO_CALL_MODEL:
        if (is_same_turn(in) || !ch_features_take_turn(run))
            call_model(run, in);
        return;
    case CH_DO_CALL_TOOLS:
        ch_act(run);
        return;
    case CH_DO_COMPACT:
        ch_think_compact(run);
        return;
    case CH_DO_ASK_HOST:
        pause_run(run);
        return;
    case CH_DO_RESUME_TOOLS:
        if (run->batch)
            ch_batch_resume(run->batch);
        else
            ch_act(run); /* the run was paused by another process */
        return;
    case CH_DO_FINISH:
        driver_finish(run);
        return;
    }
}

/* A turn is one model call and the tool calls of its reply. */
static bool turn_is_over(enum ch_do todo, const struct ch_input *in) {
    return todo == CH_DO_FINISH || (todo == CH_DO_CALL_MODEL && !is_same_turn(in));
}

/* A follow-up comes next, so the answer so far is sent now. */
static void mail_so_far(chela_run *run, unsigned turn) {
    struct chela_event end = end_event(run, first_unmailed(run));
    if (!ch_features_keep_words(run))
        ch_outbox_answer(run, turn, &end);
    run->control->mailed = run->reply;
}

/* A take-over is pending, so the step is not performed. A reply with calls is still
 * executed so that each call gets a result. */
static bool is_overtaken(const chela_run *run, const struct ch_input *in) {
    return run->stop == CH_IN_TAKEN_OVER && !ch_run_over(&run->m) &&
           !(in->kind == CH_IN_REPLY && in->calls);
}

void ch_run_limit_spending(chela_run *run, int64_t tokens, double cost) {
    struct ch_run_limits limits = run->session->agent->limits;
    ch_run_limits_bound(&limits, &run->session->bounds);
    if (tokens >= 0 && (limits.token_budget < 0 || limits.token_budget > tokens))
        limits.token_budget = tokens;
    if (cost >= 0 && (limits.cost_budget < 0 || limits.cost_budget > cost))
        limits.cost_budget = cost;
    run->m.limits.token_budget = limits.token_budget;
    run->m.limits.cost_budget = limits.cost_budget;
}

/* False: the run was closed. */
static bool note_spending(chela_run *run) {
    struct ch_spending *s = run->session->spending;
    if (s)
        s->count(s, run);
    if (s && (run->m.reason == CH_REASON_TOKEN_BUDGET || run->m.reason == CH_REASON_COST_BUDGET)) {
        char error[CHELA_ERROR_MAX] = "";
        s->stopped(s, run, error);
        if (*error)
            ch_run_outcome_error(run, "%s", error);
    }
    return !run->dead;
}

static void note_failure(chela_run *run, const struct ch_input *in) {
    if (in->kind == CH_IN_FAILED && run->target && run->record)
        ch_run_counters_failed(ch_run_journal_counters(run), run->m.turns,
                               ch_sv_str(run->target->spec), ch_error_class_name(in->cls),
                               ch_sv_str(ch_run_error(run)));
}

/* Stores the state of a run that goes on after a reply, of its own model or of a role. turn: of
 * the reply. */
static void store_progress(chela_run *run, enum ch_do todo, enum ch_in kind, unsigned turn) {
    if (todo == CH_DO_FINISH)
        return;
    if (kind == CH_IN_REPLY) {
        if (todo == CH_DO_CALL_MODEL && ch_think_follows_up(run) && run->follow_ups.n > 0)
            mail_so_far(run, turn);
        ch_run_journal_state(run, CH_REPLAY_RUNNING, CH_SYNC_SOON);
    } else if (kind == CH_IN_ROLE) {
        ch_run_journal_state(run, CH_REPLAY_RUNNING, CH_SYNC_LATER);
    }
}

void ch_driver_step(chela_run *run, const struct ch_input *given) {
    enum ch_run_state from = run->m.state;
    unsigned turn = run->m.turns;
    struct ch_input input = *given, *in = &input;
    if (is_overtaken(run, in)) {
        ch_driver_stop(run);
        return;
    }
    if (in->kind == CH_IN_TAKEN_OVER && !ch_takeover_apply(run))
        return;
    note_failure(run, in);
    if (in->kind != CH_IN_REPLY || !ch_act_by_feature(run))
        ch_run_cooldown_report(run, in, ch_think_key(run));
    in->mended |= ch_run_cooldown_change_key(run, in, ch_think_key(run));
    in->cooling = ch_run_cooldown_models(run);
    ch_parent_bound(run);
    enum ch_do todo = ch_run_step(&run->m, in);
    ch_run_cooldown_give_up(run, in, todo, ch_think_key(run));
    if (!note_spending(run))
        return;
    store_progress(run, todo, in->kind, turn);
    if (turn_is_over(todo, in) && !ch_think_close(run))
        return;
    if (!emit_states(run, from))
        return;
    if (todo != CH_DO_FINISH && ch_driver_stops(run)) {
        ch_driver_stop(run);
        return;
    }
    perform(run, todo, in);
}

/* --- interruption */

/* True if the last reply is in the transcript, but its calls are not being executed: a
 * callback interrupted the step, or an earlier process made the reply, which then becomes
 * run->reply. */
static bool take_open_calls(chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    if (run->past && run->past->reply && !run->batch) {
        run->reply = run->past->reply;
        run->target = run->session->agent->targets[run->m.model];
        return true;
    }
    if (run->batch || run->m.state != CH_RUN_ACT || !t->n || t->msgs[t->n - 1] != run->reply)
        return false;
    for (uint32_t i = 0; i < run->reply->nblocks; i++)
        if (run->reply->blocks[i].type == CH_BLOCK_TOOL_CALL)
            return true;
    return false;
}

bool ch_driver_cancelled(const chela_run *run) {
    return atomic_load_explicit(&run->control->cancelled, memory_order_acquire);
}

bool ch_driver_stops(chela_run *run) {
    if (!ch_run_stops(run) && ch_driver_cancelled(run))
        run->stop = CH_IN_CANCEL;
    return ch_run_stops(run);
}

void ch_driver_stop(chela_run *run) {
    if (!ch_run_stops(run))
        return;
    ch_driver_interrupt(run, run->stop,
                        run->stop == CH_IN_TAKEN_OVER ? CH_TAKEOVER_RESULT
                        : ch_driver_cancelled(run)    ? run->control->cancel_reason
                                                      : "stopped by a hook");
}

/* True for a run that is paused or whose pause is being stored, and that has not continued. Its
 * next event follows the commit of STATE running: another process that finds the run paused would
 * use the seq of earlier events again. */
static bool waits_for_admission(const chela_run *run) {
    const struct ch_control *c = run->control;
    return run->m.seq > 0 && (run->over || !c->begun || c->end_seq || c->admit_seq);
}

/* The interruption takes effect in driver_begin. The RUN_END of a pause that is being stored is
 * not sent. */
static void interrupt_when_admitted(chela_run *run, const char *why) {
    struct ch_control *c = run->control;
    bool pausing = c->end_seq;
    if (!atomic_exchange(&c->asked, true)) {
        c->cancel_reason = ch_strdup(why);
        atomic_store(&c->cancelled, true);
    }
    c->end_seq = 0;
    if (run->over)
        ch_run_begin(run);
    else if (pausing)
        ch_run_admit(run);
}

void ch_driver_interrupt(chela_run *run, enum ch_in kind, const char *why) {
    if (ch_run_over(&run->m) || run->dead || run->retired || run->control->interrupt != CH_IN_INPUT)
        return;
    if (kind == CH_IN_CANCEL && !*ch_run_error(run))
        ch_run_outcome_error(run, "%s", why ? why : "cancelled");
    run->stop = kind; /* no delta follows */
    if (ch_run_parent_paused(run)) /* takes effect when the parent is resumed */
        return;
    if (waits_for_admission(run)) {
        interrupt_when_admitted(run, why);
        return;
    }
    run->control->admit_seq = 0; /* a run that has not begun will not begin */
    ch_task_cancel(run->loop, &run->control->begin);
    ch_task_cancel(run->loop, &run->stop_soon);
    ch_timer_stop(run->loop, &run->control->retry);
    bool speaking = kind == CH_IN_CANCEL && ch_think_in_flight(run);
    ch_think_stop(run, kind != CH_IN_LOST);
    if (speaking && !ch_think_keep_said(run))
        return;
    run->stop = CH_IN_INPUT;
    atomic_store(&run->control->cancelled, false);
    if (!run->control->begun && !emit_start(run)) /* cancelled before its input is stored */
        return;
    if (take_open_calls(run))
        ch_act(run);
    if (!run->batch) {
        ch_think_stopped(run, CHELA_STOP_CANCELLED);
        ch_driver_step(run, &(struct ch_input){.kind = kind});
        return;
    }
    run->control->interrupt = kind; /* act.c continues once every call has a result */
    ch_batch_cancel(run->batch, why ? why : "the run was cancelled");
}

void ch_driver_break(chela_run *run, const struct chela_error *err) {
    if (ch_run_over(&run->m)) /* the end has its own error, or none */
        return;
    ch_run_outcome_error(run, "%s", err->message);
    ch_driver_interrupt(run, CH_IN_BROKEN, err->message);
}

/* chela_cancel may be called from any thread: the first call posts the run, with a
 * reference, to its loop. */
static void driver_on_cancel(struct ch_post *post) {
    chela_run *run = CH_CONTAINER(post, struct ch_control, cancel)->run;
    ch_driver_interrupt(run, CH_IN_CANCEL, run->control->cancel_reason);
    ch_run_unref(run);
}

void chela_cancel(chela_run *run, const char *reason) {
    if (!run || atomic_exchange(&run->control->asked, true))
        return;
    run->control->cancel_reason = ch_strdup(reason);
    atomic_store(&run->control->cancelled, true);
    run->control->cancel.fn = driver_on_cancel;
    ch_run_ref(run);
    ch_loop_post(run->loop, &run->control->cancel);
}

/* Stops the run as a crash would, but sends RUN_END. Nothing more is written: a later
 * process continues from the journal. */
static void leave_run(chela_run *run) {
    if (run->over || run->dead || ch_run_over(&run->m))
        return; /* RUN_END follows when the end is committed */
    if (!ch_run_journal_of(run)) {
        ch_driver_interrupt(run, CH_IN_CANCEL, "interrupted");
        return;
    }
    ch_task_cancel(run->loop, &run->control->begin);
    run->control->admit_seq = run->control->end_seq = 0;
    if (!run->control->begun && !emit_start(run))
        return;
    ch_run_journal_leave(run->session);
    run->session->owner->lost(run->session);
    drop_work(run);
    run->m.reason = CH_REASON_INTERRUPTED;
    run->retired = true; /* a cancel or a take-over comes too late */
    deactivate(run);
    emit_end(run);
}

static void on_leave(struct ch_post *post) {
    chela_run *run = CH_CONTAINER(post, struct ch_control, leave)->run;
    leave_run(run);
    ch_run_unref(run);
}

void chela_run_leave(chela_run *run) {
    if (!run || atomic_exchange(&run->control->left, true))
        return;
    run->control->leave.fn = on_leave;
    ch_run_ref(run);
    ch_loop_post(run->loop, &run->control->leave);
}

/* --- life */

static int driver_bound(chela_run *run, const chela_agent *a, const struct chela_run_opts *o,
                        struct chela_error *err) {
    run->permit.ask_means = a->ask_means;
    if (o->approve && ch_consent_read(o->approve, &run->permit.ask_means, err) < 0)
        return CHELA_EINVAL;
    struct ch_who who = {o->channel, o->sender};
    enum ch_consent means = ch_policies_consent(a->policies, who, CH_CONSENT_AUTO);
    run->permit.ask_means = CH_MAX(run->permit.ask_means, means);
    run->permit.forgets = means == CH_CONSENT_DENY;
    int rc = ch_policy_init(&run->permit.policy, o->allow, o->deny, o->permission, err);
    run->permit.bounds =
        ch_policies_bound(a->policies, who, &a->policy, &run->permit.policy.within);
    run->permit.own_policy =
        run->permit.bounds || o->allow || o->deny || o->permission != CHELA_PERM_ADMIN;
    run->permit.policy.always = a->output ? CH_OUTPUT_TOOL : NULL;
    run->permit.policy.own = ch_features_own_tools(a);
    run->permit.policy.absent = run->session->channel->name ? NULL : ch_channel_tool(&a->registry);
    return rc;
}

int ch_run_rebind(chela_run *run, struct chela_error *err) {
    const chela_agent *a = run->session->agent;
    struct chela_run_opts o = CHELA_RUN_OPTS(.user = NULL);
    ch_principal_apply(ch_run_origin_principal(run), &o);
    ch_policy_release(&run->permit.policy);
    ch_free(CH_TAKE(run->permit.bounds));
    run->m.limits = a->limits;
    ch_run_limits_bound(&run->m.limits, &run->session->bounds);
    run->m.model = 0;
    run->target = NULL;
    run->did &= ~(unsigned)(CH_RUN_SELECTED | CH_RUN_LOOKED);
    int rc = driver_bound(run, a, &o, err);
    if (ch_parent_of(run))
        ch_parent_bind(ch_parent_of(run), run);
    ch_features_free(run);
    return rc < 0 ? rc : ch_features_open(run, NULL, NULL, err);
}

/* Allocates a run and its parts as one block. */
static chela_run *alloc_run(bool stored) {
    size_t record = stored ? PART(ch_run_journal_size) : 0;
    chela_run *run = ch_alloc(PART(sizeof(*run)) + PART(sizeof(struct ch_control)) +
                              PART(ch_think_size) + PART(ch_acting_size) + record);
    char *at = (char *)run + PART(sizeof(*run));
    run->control = (void *)at;
    run->turn = (void *)(at += PART(sizeof(struct ch_control)));
    run->acting = (void *)(at += PART(ch_think_size));
    run->record = stored ? (void *)(at + PART(ch_acting_size)) : NULL;
    run->control->run = run;
    return run;
}

int ch_run_new(chela_session *s, const struct chela_run_opts *given, const struct ch_json *state,
               chela_run **out, struct chela_error *err) {
    chela_run *run = alloc_run(s->journal);
    struct chela_run_opts own = *given;
    const struct chela_run_opts *opts = &own;
    if (!own.channel)
        own.channel = s->channel->name;
    atomic_init(&run->refs, 1);
    atomic_init(&run->control->asked, false);
    atomic_init(&run->control->cancelled, false);
    atomic_init(&run->control->left, false);
    run->session = s;
    run->loop = s->agent->rt->loop;
    run->on_event = opts->on_event;
    run->user = opts->user;
    run->control->idle = true;
    run->control->interrupt = run->stop = CH_IN_INPUT;
    ch_think_init(run, opts->may_redo);
    ch_random_id("run_", run->id);
    ch_run_init(&run->m, &s->agent->limits);
    ch_run_limits_bound(&run->m.limits, &s->bounds);
    ch_queue_init(&run->steering);
    ch_queue_init(&run->follow_ups);
    ch_list_init(&run->children);
    ch_run_origin_init(run, opts);
    ch_labels_read_text(&s->labels, ch_sv_str(ch_run_origin_principal(run)->labels));
    int rc = driver_bound(run, s->agent, opts, err);
    if (rc == 0)
        rc = ch_features_open(run, opts, state, err);
    if (rc < 0)
        ch_run_unref(run);
    else
        *out = run;
    return rc;
}

static void driver_begin(struct ch_task *task) {
    chela_run *run = CH_CONTAINER(task, struct ch_control, begin)->run;
    bool resumed = run->m.state == CH_RUN_WAITING;
    if (ch_run_parent_paused(run)) { /* the parent paused after this run was taken over */
        deactivate(run);
        return;
    }
    if (!run->control->begun && !emit_start(run))
        return;
    ch_run_layer_up(run);
    if (ch_driver_stops(run))
        ch_driver_stop(run);
    else if (run->past)
        run->control->take_up(run);
    else
        ch_driver_step(run, &(struct ch_input){.kind = resumed ? CH_IN_RESUMED : CH_IN_INPUT,
                                               .compact = ch_run_origin_compacts(run)});
}

static void begin_soon(chela_run *run) {
    run->control->begin.fn = driver_begin;
    ch_task_defer(run->loop, &run->control->begin);
}

static void fail_soon(struct ch_task *task) {
    chela_run *run = CH_CONTAINER(task, struct ch_control, begin)->run;
    ch_run_lost(run, &run->session->journal->err);
}

void ch_run_begin(chela_run *run) {
    activate(run);
    run->control->begun = false;
    ch_run_admit(run);
}

/* Stores the input of the run; the run begins when the record is committed. */
void ch_run_admit(chela_run *run) {
    const struct ch_run_journal *k = run->session->journal;
    if (k && k->state == CH_RUN_JOURNAL_OPENING)
        return;
    if (k && k->state == CH_RUN_JOURNAL_FAILED) {
        run->control->begin.fn = fail_soon;
        ch_task_defer(run->loop, &run->control->begin);
        return;
    }
    if (ch_run_origin_input(run)) {
        const struct ch_msg *input = ch_run_origin_input(run);
        if (run->record)
            ch_run_counters_goal(ch_run_journal_counters(run), input);
        run->control->began = run->session->transcript.n;
        const char *prompt = ch_run_journal_of(run) ? ch_run_prompt(run) : NULL;
        run->control->admit_seq = ch_run_journal_inbound(run, input, prompt);
        if (ch_transcript_add(&run->session->transcript, ch_run_origin_take_input(run)) < 0)
            ch_run_outcome_error(run, "the session's history is full");
    } else if (!ch_run_origin_compacts(run)) { /* a compaction is not continued by a later
                                                  process */
        run->control->admit_seq = ch_run_journal_state(run, CH_REPLAY_RUNNING, CH_SYNC_COMMIT);
    }
    if (!run->control->admit_seq)
        begin_soon(run);
}

void ch_run_committed(chela_run *run, uint64_t seq) {
    if (run->control->admit_seq && seq >= run->control->admit_seq) {
        run->control->admit_seq = 0;
        begin_soon(run);
    }
    ch_act_committed(run, seq);
    if (run->control->end_seq && seq >= run->control->end_seq) {
        run->control->end_seq = 0;
        come_to_rest(run);
    }
}

/* Nothing can be stored. A run that another process finds as it was before the resumption
 * would use the seq of these events again, so these events belong to a run of their own. */
static bool emit_start_unstored(chela_run *run) {
    if (run->m.seq > 0) {
        ch_random_id("run_", run->id);
        run->m.seq = 0;
    }
    return emit_start(run);
}

/* The record of the end or pause may be stored nevertheless. The record counts RUN_END, so no other
 * event follows: another process that finds the run paused would use its seq again. */
static void end_unstored(chela_run *run) {
    ch_run_step(&run->m, &(struct ch_input){.kind = CH_IN_LOST});
    run->m.reason = CH_REASON_STORE;
    drop_work(run);
    come_to_rest(run);
}

void ch_run_lost(chela_run *run, const struct chela_error *err) {
    if (run->over || run->dead)
        return;
    ch_run_outcome_error(run, "%s", err->message);
    struct ch_control *c = run->control;
    bool rests = c->begun && (c->end_seq || c->admit_seq) &&
                 (ch_run_over(&run->m) || !ch_run_parent_paused(run));
    c->admit_seq = c->end_seq = 0;
    ch_task_cancel(run->loop, &c->begin);
    if (!c->begun && !emit_start_unstored(run))
        return;
    if (rests) { /* the run had ended or paused; only RUN_END is missing */
        end_unstored(run);
        return;
    }
    ch_driver_interrupt(run, CH_IN_LOST, err->message);
}

/* Stops all work of the run. May be called from callbacks of the run, so no memory is freed
 * here. */
void ch_run_close(chela_run *run) {
    ch_task_cancel(run->loop, &run->control->begin);
    ch_task_cancel(run->loop, &run->stop_soon);
    ch_timer_stop(run->loop, &run->control->deadline);
    ch_timer_stop(run->loop, &run->control->retry);
    ch_think_stop(run, !ch_run_journal_of(run));
    set_active(run, false);
    run->dead = true;
}

/* The session starts another run, perhaps inside RUN_END of this one. */
void ch_run_retire(chela_run *run) {
    chela_runtime *rt = runtime(run);
    run->retired = true;
    ch_list_add(&rt->closed.runs, &run->link);
    ch_runtime_free_soon(rt);
}

void ch_run_part(chela_run *run) {
    ch_list_del(&run->link);
    ch_task_cancel(run->loop, &run->stop_soon);
    drop_work(run);
    if (ch_loop_unpost(run->loop, &run->control->cancel))
        ch_run_unref(run);
    if (ch_loop_unpost(run->loop, &run->control->leave))
        ch_run_unref(run);
    run->session = NULL;
    ch_run_unref(run);
}

chela_run *ch_run_ref(chela_run *run) {
    atomic_fetch_add(&run->refs, 1);
    return run;
}

void ch_run_unref(chela_run *run) {
    if (atomic_fetch_sub(&run->refs, 1) != 1)
        return;
    ch_queue_release(&run->steering);
    ch_queue_release(&run->follow_ups);
    ch_run_origin_free(run);
    ch_act_drop(run);
    ch_buf_release(&run->text);
    ch_free(run->error);
    ch_run_journal_release(run);
    ch_reply_directives_release(run);
    ch_features_free(run);
    ch_think_release(run);
    ch_policy_release(&run->permit.policy);
    ch_free(run->permit.bounds);
    ch_free(run->control->cancel_reason);
    ch_free(run->last_words);
    if (run->recall)
        ch_recall_free(run);
    ch_free(run);
}

int chela_run_wait(chela_run *run) {
    CH_ENTER(run, run->loop, NULL);
    if (run->control->idle)
        return 0;
    int rc = ch_loop_may_run(run->loop, NULL);
    return rc < 0 ? rc : ch_loop_run(run->loop, &run->control->idle);
}

void chela_run_free(chela_run *run) {
    CH_ENTER_OR(run, run->loop, NULL, );
    if (run)
        ch_run_unref(run);
}
