/* driver.c -- the middle of a run: step, event log, interruption, end.
 *
 *   ch_drive(input) -> ch_run_step -> events of what changed -> perform action
 *
 * think.c and act.c perform the two long actions and call ch_drive with their
 * outcome. Every run sends exactly one RUN_END (one more for each time it is
 * resumed), and only finish(), pause_run() and leave_run() send it. */
#include "agent/feature/heartbeat/beat.h"
#include "agent/context/context.h"
#include "agent/feature/team/delegate.h"
#include "agent/context/context_budget.h"
#include "agent/journal/run_journal.h"
#include "agent/feature/mode/mode.h"
#include "agent/context/reply_directives.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>

#include "agent/journal/mailbox.h"
#include "base/limits.h"
#include "base/log.h"
#include "model/codec/decoder.h"
#include "model/codec/errors.h"
#include "tool/builtin/chat/message.h"
#include "tool/call/delivery.h"

static chela_runtime *runtime(const chela_run *run) {
    return run->session->agent->rt;
}

int64_t ch_run_now(const chela_run *run) {
    return ch_now_ms(ch_loop_clock(run->loop));
}

/* --- events */

/* What was told and not stored is not known after a crash. It is told again
 * under higher numbers (recover.c), so there must not be too much of it. */
static void bound_unstored(chela_run *run) {
    if (run->m.seq < run->stored_events + CH_LIMIT_UNSTORED / 2 || ch_run_over(&run->m))
        return;
    run->stored_events = run->m.seq;
    ch_keep_state(run, CH_PAST_RUNNING, CH_SYNC_COMMIT);
}

static bool emit_to(chela_run *run, struct chela_event *ev, chela_event_fn *fn, void *user) {
    if (run->dead)
        return false;
    bound_unstored(run);
    ev->run = run->id;
    ev->seq = run->m.seq++;
    ev->ts = run->stamp ? run->stamp : ch_run_now(run);
    if (fn)
        fn(ev, user);
    return !run->dead;
}

bool ch_emit(chela_run *run, struct chela_event *ev) {
    return emit_to(run, ev, run->on_event, run->user);
}

void ch_warn(chela_run *run, const char *fmt, ...) {
    char text[CHELA_ERROR_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    struct chela_event ev = {.type = CHELA_EV_WARNING, .note.text = ch_str(ch_sv_str(text))};
    ch_emit(run, &ev);
}

static struct chela_usage public_usage(const struct ch_usage *u, double cost) {
    return (struct chela_usage){
        .input = u->input,
        .output = u->output,
        .cache_read = u->cache_read,
        .cache_write = u->cache_write,
        .reasoning = u->reasoning,
        .cost_usd = cost,
    };
}

const char *ch_run_prompt(chela_run *run) {
    return run->prompt ? run->prompt : ch_context_fingerprint(run);
}

static bool emit_start(chela_run *run) {
    const chela_agent *a = run->session->agent;
    run->begun = true;
    struct chela_event ev = {
        .type = CHELA_EV_RUN_START,
        .start = {run->session->key, a->id, a->targets[run->m.model]->spec,
                  ch_mode_name(run->mode), ch_run_prompt(run)}};
    return ch_emit(run, &ev);
}

static bool emit_turn_end(chela_run *run) {
    if (!run->turn_open)
        return true;
    struct chela_event ev = {
        .type = CHELA_EV_TURN_END,
        .turn = {run->turn_open, run->stop_reason,
                 public_usage(&run->turn_usage, run->turn_cost)}};
    run->turn_open = 0;
    run->turn_usage = (struct ch_usage){0};
    run->turn_cost = 0;
    ch_hook_after_model(run, &ev);
    return ch_emit(run, &ev);
}

static bool emit_states(chela_run *run, enum ch_run_state from) {
    for (unsigned i = 0; i < run->m.npath; i++) {
        struct chela_event ev = {
            .type = CHELA_EV_STATE,
            .state = {ch_run_state_name(from), ch_run_state_name(run->m.path[i])}};
        from = run->m.path[i];
        if (!ch_emit(run, &ev))
            return false;
    }
    return true;
}

static bool is_delivered(chela_run *run) {
    return ch_delivery_has(&run->session->state, run->id, ch_buf_sv(&run->text));
}

/* A hook may resume a paused run for somebody else: its pause is still told to whom
 * it was run for. */
static void emit_end(chela_run *run) {
    chela_event_fn *fn = run->on_event;
    void *user = run->user;
    struct chela_event ev = {.type = CHELA_EV_RUN_END,
                             .end = {
                                 .status = ch_status_name(ch_reason_status(run->m.reason)),
                                 .reason = ch_reason_name(run->m.reason),
                                 .text = ch_str(ch_buf_sv(&run->text)),
                                 .error = ch_str(ch_sv_str(run->error)),
                                 .turns = run->m.turns + run->m.below.turns,
                                 .tool_calls = run->m.tool_calls + run->m.below.tool_calls,
                                 .delivered = is_delivered(run),
                                 .usage = public_usage(&run->m.usage,
                                                       run->m.cost_unknown ? -1 : run->m.cost),
                             }};
    ch_said_tell(run, &ev);
    ev.end.silent |= ch_beat_silent(run);
    ch_hook_run_end(run, &ev);
    emit_to(run, &ev, fn, user);
}

/* --- counting runs in progress */

static void set_active(chela_run *run, bool active) {
    if (run->active == active)
        return;
    run->active = active;
    ch_runtime_busy(runtime(run), active);
}

static void on_deadline(struct ch_timer *t) {
    chela_run *run = CH_CONTAINER(t, chela_run, deadline);
    snprintf(run->error, sizeof(run->error), "the run took longer than %lld s",
             (long long)run->session->agent->timeout_ms / 1000);
    ch_interrupt(run, CH_IN_DEADLINE, "the run's time is up");
}

void ch_run_extend(chela_run *run, int64_t ms) {
    for (; run && ms > 0; run = ch_run_above(run)) {
        int64_t left = run->deadline.due - ch_mono_ms(ch_loop_clock(run->loop));
        if (ch_timer_armed(&run->deadline))
            ch_timer_start(run->loop, &run->deadline, CH_MAX(left + ms, 0), on_deadline);
    }
}

static void activate(chela_run *run) {
    int64_t ms = run->session->agent->timeout_ms;
    run->over = false;
    set_active(run, true);
    if (ms >= 0)
        ch_timer_start(run->loop, &run->deadline, ms, on_deadline);
}

/* Nothing more happens until the host acts. What a paused run still needs
 * (its batch) is kept. */
static void deactivate(chela_run *run) {
    ch_timer_stop(run->loop, &run->deadline);
    ch_timer_stop(run->loop, &run->retry);
    run->over = true;
    set_active(run, false);
}

static void drop_work(chela_run *run) {
    ch_think_abort(run);
    ch_mode_free(run);
    if (run->decoding)
        ch_decoder_release(&run->decoder);
    run->decoding = false;
    ch_batch_close(run->batch);
    run->batch = NULL;
    assert(ch_list_empty(&run->children)); /* a call that ends closes its child */
    ch_free(CH_TAKE(run->gates));
    ch_past_free(CH_TAKE(run->past));
    ch_arena_release(&run->arena);
}

/* --- actions */

/* Whoever hears of the end may close the session or begin another run. */
static void come_to_rest(chela_run *run) {
    chela_session *s = run->session;
    deactivate(run);
    emit_end(run);
    if (!s->closed)
        ch_inflow_rested(s);
}

/* Nobody hears that a run has ended or paused before that is stored. */
static void store_end(chela_run *run, enum ch_past_status status) {
    run->m.seq++; /* RUN_END's own */
    /* One that never began leaves no trace: an earlier run may still wait. */
    bool traceless = run->input || (run->compacts && !run->rewrote);
    run->end_seq = traceless ? 0 : ch_keep_end(run, status);
    run->m.seq--;
    if (!run->end_seq)
        come_to_rest(run);
}

/* What the run does not get to: what was sent to the session waits there, what
 * was meant for the run alone is dropped. How many were. */
static size_t empty_queue(chela_run *run, struct ch_queue *q) {
    size_t dropped = 0;
    while (q->n > 0) {
        if (ch_queue_stays(q)) {
            ch_inflow_return(run, q);
            continue;
        }
        ch_keep_delivered(run, ch_queue_seq(q), true);
        ch_msg_free(ch_queue_pop(q));
        dropped++;
    }
    return dropped;
}

/* Nobody but the run itself said anything meanwhile. */
static bool is_alone(const chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    for (size_t i = run->began + 1; i < t->n; i++)
        if (t->msgs[i]->kind != CH_MSG_ASSISTANT && t->msgs[i]->kind != CH_MSG_RESULTS)
            return false;
    return true;
}

/* It had nothing to say: later requests begin with the same bytes as if it had
 * never been. */
static bool drop_if_asked(chela_run *run) {
    struct ch_sv answer = ch_sv_trim(ch_buf_sv(&run->text));
    if (!run->drop_if || run->m.reason != CH_REASON_COMPLETED || run->rewrote ||
        !ch_sv_is(answer, run->drop_if) || !is_alone(run))
        return false;
    ch_transcript_cut(&run->session->transcript, run->began);
    ch_fill_rewritten(run->session);
    ch_keep_dropped(run);
    run->reply = NULL;
    return true;
}

static void finish(chela_run *run) {
    if (run->m.warn_empty)
        ch_warn(run, "the model gave no answer");
    if (run->dead)
        return;
    size_t unread = empty_queue(run, &run->steering) + empty_queue(run, &run->follow_ups);
    if (unread)
        ch_warn(run, "%zu queued message%s not delivered: the run ended first", unread,
                unread == 1 ? " was" : "s were");
    if (run->dead)
        return;
    drop_work(run);
    bool dropped = drop_if_asked(run);
    if (!run->input && !dropped)
        ch_outbox_answer(run, run->m.turns, is_delivered(run));
    store_end(run, CH_PAST_IDLE);
}

static void pause_run(chela_run *run) {
    store_end(run, CH_PAST_PAUSED);
}

static void on_retry(struct ch_timer *t) {
    ch_think(CH_CONTAINER(t, chela_run, retry));
}

/* Up to a quarter less than planned, so that many clients do not come back in
 * step. What a server asked for is never undercut. */
static int64_t with_jitter(int64_t ms, bool asked_for) {
    unsigned char dice = 0;
    if (!asked_for && getrandom(&dice, 1, GRND_NONBLOCK) == 1)
        ms -= ms * dice / (4 * 255);
    return ms;
}

/* --- models that cool down */

static struct ch_cooling cooling_of(const chela_run *run, const struct ch_target *t) {
    const char *key;
    return ch_target_cooling(t, &runtime(run)->cooldowns, ch_mono_ms(ch_loop_clock(run->loop)),
                             &key);
}

static uint32_t cooling_models(const chela_run *run) {
    const chela_agent *a = run->session->agent;
    uint32_t mask = 0;
    for (size_t i = 0; runtime(run)->cooldowns.n && i < a->ntargets; i++)
        mask |= (uint32_t)(cooling_of(run, a->targets[i]).ms > 0) << i;
    return mask;
}

static void note_outcome(chela_run *run, const struct ch_input *in) {
    const struct ch_target *t = run->target;
    struct ch_cooldowns *c = &runtime(run)->cooldowns;
    if (!t)
        return;
    if (in->kind == CH_IN_FAILED)
        ch_course_failed(&run->course, run->m.turns, ch_sv_str(t->spec),
                         ch_error_class_name(in->cls), ch_sv_str(run->error));
    struct ch_endpoint ep = ch_target_with_key(t, run->key);
    if (in->kind == CH_IN_REPLY)
        ch_cooldown_clear(c, &ep, ch_sv_str(t->model));
    else if (in->kind == CH_IN_FAILED)
        ch_cooldown_failed(c, &ep, ch_sv_str(t->model), in->cls, in->retry_after_ms,
                           ch_mono_ms(ch_loop_clock(run->loop)));
}

static void give_up(chela_run *run, enum ch_error_class cls) {
    struct ch_endpoint ep = ch_target_with_key(run->target, run->key);
    ch_cooldown_gave_up(&runtime(run)->cooldowns, &ep, ch_sv_str(run->target->model), cls,
                        ch_mono_ms(ch_loop_clock(run->loop)));
}

static bool has_free_key(const chela_run *run) {
    const struct ch_target *t = run->target;
    for (size_t i = 0; i < t->nkeys; i++) {
        struct ch_endpoint ep = ch_target_with_key(t, t->keys[i]);
        if (t->keys[i] != run->key &&
            ch_cooldown_of(&runtime(run)->cooldowns, &ep, ch_sv_str(t->model),
                           ch_mono_ms(ch_loop_clock(run->loop)))
                    .ms == 0)
            return true;
    }
    return false;
}

/* A key that is refused or at its limit rests while another one is used. Each
 * is left at most once, since it is not free then. */
static bool change_key(chela_run *run, const struct ch_input *in) {
    bool of_key = in->cls == CH_ERR_AUTH || in->cls == CH_ERR_BILLING ||
                  in->cls == CH_ERR_RATE_LIMIT;
    if (in->kind != CH_IN_FAILED || !of_key || !run->target || in->output_shown ||
        !has_free_key(run))
        return false;
    give_up(run, in->cls);
    return true;
}

static void note_giving_up(chela_run *run, const struct ch_input *in, enum ch_do todo) {
    if (in->kind == CH_IN_FAILED && run->target && (todo == CH_DO_FINISH || run->m.fell_back))
        give_up(run, in->cls);
}

static void describe_cooling(const struct ch_target *t, const struct ch_cooling *c,
                             struct ch_buf *out) {
    ch_buf_addf(out, "%s: left alone for %lld s more (%s)", t->spec,
                (long long)(c->ms + 999) / 1000, ch_error_class_name(c->cls));
}

/* --- calling a model */

static bool emit_fallback(chela_run *run) {
    const chela_agent *a = run->session->agent;
    const struct ch_target *from = a->targets[run->m.before];
    CH_BUF_AUTO reason = {0};
    if (run->m.passed_over) {
        struct ch_cooling c = cooling_of(run, from);
        describe_cooling(from, &c, &reason);
    } else {
        ch_buf_add_str(&reason, run->error);
    }
    struct chela_event ev = {
        .type = CHELA_EV_FALLBACK,
        .fallback = {from->spec, a->targets[run->m.model]->spec, ch_str(ch_buf_sv(&reason))}};
    return ch_emit(run, &ev);
}

static void call_later(chela_run *run, int64_t ms, const char *reason) {
    struct chela_event ev = {.type = CHELA_EV_RETRY,
                             .retry = {run->m.attempt, ms, ch_str(ch_sv_str(reason))}};
    bool played = ch_cassette_plays(runtime(run)->cassette); /* nobody to wait for */
    if (ch_emit(run, &ev))
        ch_timer_start(run->loop, &run->retry, played ? 0 : ms, on_retry);
}

static void call_model(chela_run *run, const struct ch_input *in) {
    const struct ch_target *t = run->session->agent->targets[run->m.model];
    if (run->m.fell_back && !emit_fallback(run))
        return;
    struct ch_cooling c = cooling_of(run, t);
    if (in->mended) {
        call_later(run, 0, run->error);
    } else if (run->m.delay_ms > 0) {
        call_later(run, with_jitter(run->m.delay_ms, in->retry_after_ms > 0), run->error);
    } else if (c.asked_ms > 0) { /* another run was told to wait */
        CH_BUF_AUTO reason = {0};
        describe_cooling(t, &c, &reason);
        call_later(run, CH_MIN(c.asked_ms, CH_LIMIT_RETRY_AFTER), ch_buf_str(&reason));
    } else {
        ch_think(run);
    }
}

/* Trying a model call again, with this model or the next, is still its turn. */
static bool is_same_turn(const struct ch_input *in) {
    return in->kind == CH_IN_FAILED || in->kind == CH_IN_COMPACTED;
}

static void perform(chela_run *run, enum ch_do todo, const struct ch_input *in) {
    switch (todo) {
    case CH_DO_NOTHING:
        return;
    case CH_DO_CALL_MODEL:
        if (is_same_turn(in) || !ch_mode_turn(run))
            call_model(run, in);
        return;
    case CH_DO_CALL_TOOLS:
        ch_act(run);
        return;
    case CH_DO_COMPACT:
        run->session->agent->compact(run);
        return;
    case CH_DO_ASK_HOST:
        pause_run(run);
        return;
    case CH_DO_RESUME_TOOLS:
        if (run->batch)
            ch_batch_resume(run->batch);
        else
            ch_act(run); /* it was paused in another process */
        return;
    case CH_DO_FINISH:
        finish(run);
        return;
    }
}

/* A turn is a model call and the tools it asked for. */
static bool turn_is_over(enum ch_do todo, const struct ch_input *in) {
    return todo == CH_DO_FINISH || (todo == CH_DO_CALL_MODEL && !is_same_turn(in));
}

/* The answer is a person's, who was told so, and not what the step would have led to.
 * A reply with calls is acted on, so that each has its result. */
static bool is_overtaken(const chela_run *run, const struct ch_input *in) {
    return run->stop == CH_IN_TAKEN_OVER && !ch_run_over(&run->m) &&
           !(in->kind == CH_IN_REPLY && in->calls);
}

void ch_drive(chela_run *run, const struct ch_input *given) {
    enum ch_run_state from = run->m.state;
    unsigned turn = run->m.turns;
    struct ch_input input = *given, *in = &input;
    if (is_overtaken(run, in)) {
        ch_stop(run);
        return;
    }
    if (in->kind == CH_IN_TAKEN_OVER && !ch_taken_over(run))
        return;
    note_outcome(run, in);
    in->mended |= change_key(run, in);
    in->cooling = cooling_models(run);
    ch_child_bound(run);
    enum ch_do todo = ch_run_step(&run->m, in);
    note_giving_up(run, in, todo);
    if (in->kind == CH_IN_REPLY && todo != CH_DO_FINISH) {
        if (todo == CH_DO_CALL_MODEL && run->deliver_follow_up && run->follow_ups.n > 0)
            ch_outbox_answer(run, turn, is_delivered(run)); /* what follows is another matter */
        ch_keep_state(run, CH_PAST_RUNNING, CH_SYNC_COMMIT);
    } else if (in->kind == CH_IN_ROLE && todo != CH_DO_FINISH) {
        ch_keep_state(run, CH_PAST_RUNNING, CH_SYNC_LATER);
    }
    if (turn_is_over(todo, in) && !emit_turn_end(run))
        return;
    if (!emit_states(run, from))
        return;
    if (ch_stops(run) && todo != CH_DO_FINISH) {
        ch_stop(run);
        return;
    }
    perform(run, todo, in);
}

/* --- interruption */

/* The reply was kept, and its calls are not under way: a callback came between, or an
 * earlier process had them. */
static bool has_open_calls(chela_run *run) {
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

void ch_stop(chela_run *run) {
    if (!ch_stops(run))
        return;
    ch_interrupt(run, run->stop,
                 run->stop == CH_IN_TAKEN_OVER ? CH_TAKEN_OVER : "stopped by a hook");
}

void ch_interrupt(chela_run *run, enum ch_in kind, const char *why) {
    if (ch_run_over(&run->m) || run->dead || run->retired || run->interrupt != CH_IN_INPUT)
        return;
    run->stop = CH_IN_INPUT;
    run->end_seq = 0; /* a pause that was not told yet is none */
    if (kind == CH_IN_CANCEL && !run->error[0])
        snprintf(run->error, sizeof(run->error), "%s", why ? why : "cancelled");
    run->admit_seq = 0; /* one that had not begun never will */
    ch_task_cancel(run->loop, &run->begin);
    ch_task_cancel(run->loop, &run->stop_soon);
    ch_timer_stop(run->loop, &run->retry);
    ch_think_abort(run);
    bool silent = run->over || !run->begun; /* no RUN_START precedes its end yet */
    if (run->over) /* paused: it comes back to life for its last words */
        activate(run);
    if (silent && !emit_start(run))
        return;
    if (has_open_calls(run))
        ch_act(run);
    if (!run->batch) {
        run->stop_reason = "cancelled";
        ch_drive(run, &(struct ch_input){.kind = kind});
        return;
    }
    run->interrupt = kind; /* act.c goes on once every call has its result */
    ch_batch_cancel(run->batch, why ? why : "the run was cancelled");
}

void ch_break(chela_run *run, const struct chela_error *err) {
    snprintf(run->error, sizeof(run->error), "%s", err->message);
    ch_interrupt(run, CH_IN_BROKEN, err->message);
}

/* Cancelling is the one thing other threads may do: the first call posts the
 * run to its loop, with a reference. */
static void on_cancel(struct ch_post *post) {
    chela_run *run = CH_CONTAINER(post, chela_run, cancel);
    ch_interrupt(run, CH_IN_CANCEL, run->cancel_reason);
    ch_run_unref(run);
}

void chela_cancel(chela_run *run, const char *reason) {
    if (!run || atomic_exchange(&run->cancelled, true))
        return;
    run->cancel_reason = reason ? ch_strdup(reason) : NULL;
    run->cancel.fn = on_cancel;
    ch_run_ref(run);
    ch_loop_post(run->loop, &run->cancel);
}

/* As if the process had died here, except that its host hears of it. Nothing more
 * is written: what is in the journal is what the run goes on from. */
static void leave_run(chela_run *run) {
    if (run->over || run->dead || ch_run_over(&run->m))
        return; /* an end that is being stored is told soon */
    if (!ch_kept(run)) {
        ch_interrupt(run, CH_IN_CANCEL, "interrupted");
        return;
    }
    ch_task_cancel(run->loop, &run->begin);
    run->admit_seq = run->end_seq = 0;
    if (!run->begun && !emit_start(run))
        return;
    ch_keep_leave(run->session);
    drop_work(run);
    run->m.reason = CH_REASON_INTERRUPTED;
    deactivate(run);
    emit_end(run);
}

static void on_leave(struct ch_post *post) {
    chela_run *run = CH_CONTAINER(post, chela_run, leave);
    leave_run(run);
    ch_run_unref(run);
}

void chela_run_leave(chela_run *run) {
    if (!run || atomic_exchange(&run->left, true))
        return;
    run->leave.fn = on_leave;
    ch_run_ref(run);
    ch_loop_post(run->loop, &run->leave);
}

/* --- life */

static int bound(chela_run *run, const chela_agent *a, const struct chela_run_opts *o,
                 struct chela_error *err) {
    run->ask_means = a->ask_means;
    if (o->approve && ch_consent_read(o->approve, &run->ask_means, err) < 0)
        return CHELA_EINVAL;
    struct ch_who who = {o->channel, o->sender};
    enum ch_consent means = ch_policies_consent(a->policies, who, CH_CONSENT_AUTO);
    run->ask_means = CH_MAX(run->ask_means, means);
    run->forgets = means == CH_CONSENT_DENY;
    int rc = ch_policy_init(&run->policy, o->allow, o->deny, o->permission, err);
    run->bounds = ch_policies_bound(a->policies, who, &a->policy, &run->policy.within);
    run->own_policy =
        run->bounds || o->allow || o->deny || o->permission != CHELA_PERM_ADMIN;
    run->policy.always = a->output ? CH_OUTPUT_TOOL : NULL;
    run->policy.own = ch_mode_own(a);
    run->policy.absent = run->session->channel.name ? NULL : ch_channel_tool(&a->registry);
    return rc;
}

int ch_run_rebind(chela_run *run, struct chela_error *err) {
    const chela_agent *a = run->session->agent;
    struct chela_run_opts o = CHELA_RUN_OPTS(.user = NULL);
    ch_behalf_apply(&run->behalf, &o);
    ch_policy_release(&run->policy);
    ch_free(CH_TAKE(run->bounds));
    run->m.limits = a->limits;
    run->mode = a->mode;
    ch_bounds_apply(&run->session->bounds, &run->m.limits);
    run->m.model = 0;
    run->target = NULL;
    run->selected = run->looked = false;
    int rc = bound(run, a, &o, err);
    if (ch_run_above(run))
        ch_child_bind(ch_run_above(run), run);
    return rc;
}

int ch_run_new(chela_session *s, const struct chela_run_opts *given, chela_run **out,
               struct chela_error *err) {
    chela_run *run = ch_alloc(sizeof(*run));
    struct chela_run_opts own = *given;
    const struct chela_run_opts *opts = &own;
    if (!own.channel)
        own.channel = s->channel.name;
    atomic_init(&run->refs, 1);
    atomic_init(&run->cancelled, false);
    atomic_init(&run->left, false);
    run->session = s;
    run->loop = s->agent->rt->loop;
    run->mode = s->agent->mode;
    run->on_event = opts->on_event;
    run->user = opts->user;
    run->may_redo = opts->may_redo;
    run->prompt = opts->prompt ? ch_strdup(opts->prompt) : NULL;
    run->interrupt = run->stop = CH_IN_INPUT;
    run->stop_reason = "error";
    run->willingness = opts->urge ? opts->urge->willingness : -1;
    run->unasked = opts->urge && opts->urge->reason == CHELA_URGE_WILLING;
    ch_random_id("run_", run->id);
    ch_run_init(&run->m, &s->agent->limits);
    ch_bounds_apply(&s->bounds, &run->m.limits);
    ch_guard_init(&run->guard, &s->agent->loop_guard);
    ch_queue_init(&run->steering);
    ch_queue_init(&run->follow_ups);
    ch_list_init(&run->children);
    run->behalf = ch_behalf_of(opts);
    int rc = bound(run, s->agent, opts, err);
    if (rc < 0)
        ch_run_unref(run);
    else
        *out = run;
    return rc;
}

static void begin(struct ch_task *task) {
    chela_run *run = CH_CONTAINER(task, chela_run, begin);
    bool resumed = run->m.state == CH_RUN_WAITING;
    if (!emit_start(run))
        return;
    if (ch_stops(run))
        ch_stop(run);
    else if (run->past)
        ch_recover_begin(run);
    else
        ch_drive(run, &(struct ch_input){.kind = resumed ? CH_IN_RESUMED : CH_IN_INPUT,
                                         .compact = run->compacts});
}

static void begin_soon(chela_run *run) {
    run->begin.fn = begin;
    ch_task_defer(run->loop, &run->begin);
}

static void fail_soon(struct ch_task *task) {
    chela_run *run = CH_CONTAINER(task, chela_run, begin);
    ch_run_lost(run, &run->session->keep->err);
}

void ch_run_begin(chela_run *run) {
    activate(run);
    run->begun = false;
    ch_run_admit(run);
}

/* What a run begins with is stored before anything comes of it. */
void ch_run_admit(chela_run *run) {
    const struct ch_keep *k = run->session->keep;
    if (k && k->state == CH_KEEP_OPENING)
        return;
    if (k && k->state == CH_KEEP_FAILED) {
        run->begin.fn = fail_soon;
        ch_task_defer(run->loop, &run->begin);
        return;
    }
    if (run->input) {
        ch_course_aim(&run->course, run->input);
        run->began = run->session->transcript.n;
        run->admit_seq = ch_keep_inbound(run, run->input);
        if (ch_transcript_add(&run->session->transcript, CH_TAKE(run->input)) < 0)
            snprintf(run->error, sizeof(run->error), "the session's history is full");
    } else if (!run->compacts) { /* that one is not to be gone on with */
        run->admit_seq = ch_keep_state(run, CH_PAST_RUNNING, CH_SYNC_COMMIT);
    }
    if (!run->admit_seq)
        begin_soon(run);
}

void ch_run_committed(chela_run *run, uint64_t seq) {
    if (run->admit_seq && seq >= run->admit_seq) {
        run->admit_seq = 0;
        begin_soon(run);
    }
    for (size_t i = 0; run->batch && run->gates && i < ch_batch_totals(run->batch).calls; i++) {
        if (!run->gates[i] || run->gates[i] > seq)
            continue;
        run->gates[i] = 0;
        ch_batch_pass(run->batch, i);
    }
    if (run->end_seq && seq >= run->end_seq) {
        run->end_seq = 0;
        come_to_rest(run);
    }
}

void ch_run_lost(chela_run *run, const struct chela_error *err) {
    if (run->over || run->dead)
        return;
    snprintf(run->error, sizeof(run->error), "%s", err->message);
    run->admit_seq = 0;
    ch_task_cancel(run->loop, &run->begin);
    if (!run->begun && !emit_start(run))
        return;
    bool ended = run->end_seq && ch_run_over(&run->m);
    run->end_seq = 0; /* of a pause too: it cannot be relied on */
    if (ended) { /* it had its end; that is all that is missing */
        run->m.reason = CH_REASON_STORE;
        come_to_rest(run);
        return;
    }
    ch_interrupt(run, CH_IN_LOST, err->message);
}

/* Stop everything at once; called from anywhere, also from our own callbacks,
 * so no memory is freed here. */
void ch_run_close(chela_run *run) {
    ch_task_cancel(run->loop, &run->begin);
    ch_task_cancel(run->loop, &run->stop_soon);
    ch_timer_stop(run->loop, &run->deadline);
    ch_timer_stop(run->loop, &run->retry);
    ch_think_abort(run);
    set_active(run, false);
    run->dead = true;
}

/* The next run may begin inside the last event of this one. */
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
    if (ch_loop_unpost(run->loop, &run->cancel))
        ch_run_unref(run);
    if (ch_loop_unpost(run->loop, &run->leave))
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
    ch_msg_free(run->input);
    ch_free(run->event);
    ch_free(run->answer_to);
    ch_free(run->drop_if);
    ch_past_free(run->past);
    ch_free(run->gates);
    ch_buf_release(&run->text);
    ch_buf_release(&run->plan);
    ch_course_release(&run->course);
    ch_said_release(run);
    ch_mode_free(run);
    ch_buf_release(&run->complaint);
    ch_policy_release(&run->policy);
    ch_free(run->bounds);
    ch_behalf_release(&run->behalf);
    ch_free(run->cancel_reason);
    ch_free(run->prompt);
    ch_free(run->last_words);
    ch_free(run->handoff);
    ch_buf_release(&run->handoff_note);
    ch_free(run->focus);
    ch_buf_release(&run->recalled);
    ch_free(run);
}

void chela_run_free(chela_run *run) {
    if (run)
        ch_run_unref(run);
}
