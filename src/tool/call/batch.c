/* batch.c -- see batch.h.
 *
 * All callbacks are made by batch_pump(), which runs as a deferred task. Every event (a
 * call ended; the owner skipped, cancelled or answered) changes the calls and schedules the
 * pump. Therefore no callback runs inside a ch_batch_* call, and the owner may call any
 * ch_batch_* function from a callback, including ch_batch_close.
 *
 * Calls are started in order; at most `parallel` run at once, and a sequential call runs
 * alone. Two kinds of calls are deferred while later calls start: a call that needs a
 * person's approval waits until all others have ended; a call that conflicts with an
 * earlier call (resource_locks.h) waits until that call has ended. In a sequence
 * (ch_batch_opts.in_sequence) a call is not even prepared before its predecessors have
 * succeeded. `ended` is the queue of calls that have a result not yet reported. */
#include "tool/call/batch.h"

#include <assert.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "json/writer.h"
#include "tool/call/call.h"
#include "tool/call/consent.h"
#include "tool/call/early_reads.h"
#include "tool/call/question.h"
#include "tool/call/state.h"
#include "tool/call/wait.h"

struct ch_batch {
    struct ch_call_env env; /* shared by all calls */
    struct ch_session_state own_state; /* used if the owner provides no state */
    const struct ch_batch_ops *ops;
    void *user;
    unsigned parallel;
    size_t max_calls;
    bool in_sequence;

    const struct ch_msg *reply; /* borrowed */
    struct ch_early_reads *early; /* owned; NULL: no call began before the batch */
    size_t begun;                 /* calls that batch_tell_begun has looked at */
    chela_call **calls; /* owned references, in call order; `ended` is behind them, in this block */
    size_t n;           /* 0: the calls are not made yet (batch_make_calls) */
    size_t next;        /* first call neither started nor deferred */
    size_t running;     /* started, no result yet */
    size_t waiting;     /* waiting for the host's answer or a person's approval */
    chela_call **ended; /* queue, at most n entries in total; borrowed */
    size_t nended, announced;
    bool alone; /* a sequential call runs */
    bool result_held; /* the hook after a call has not decided about the oldest result */
    struct ch_batch_totals totals;

    struct ch_task task;
    bool held;
    bool paused;    /* `over` was called with waiting calls */
    bool told_over; /* `over` was called with none waiting */
    bool pumping, closed;
};

static void hold_loop(struct ch_batch *b) {
    if (!b->held)
        ch_loop_hold(b->env.loop);
    b->held = true;
}

static void release_loop(struct ch_batch *b) {
    if (b->held)
        ch_loop_release(b->env.loop);
    b->held = false;
}

static void batch_wake(struct ch_batch *b) {
    if (!b->paused)
        ch_task_defer(b->env.loop, &b->task);
}

/* Calls are made when the first one is needed. In a process with many runs, the replies of a
 * thousand runs may wait for the pump, and a batch without calls needs a fifth of the memory. */
static void batch_make_calls(struct ch_batch *b) {
    const struct ch_block *blocks = b->reply->blocks;

    if (b->n)
        return;
    for (size_t i = 0; i < b->reply->nblocks; i++)
        if (blocks[i].type == CH_BLOCK_TOOL_CALL) {
            chela_call *early = ch_early_reads_take(b->early, b->n, &blocks[i], &b->env, b);
            b->calls[b->n] = early ? early : ch_call_new(&b->env, b, &blocks[i], b->n);
            b->n++;
            if (early && early->state == CH_CALL_ENDED)
                b->ended[b->nended++] = early;
        }
}

/* A call of a batch that was started just before. */
static chela_call *batch_call(struct ch_batch *b, size_t index) {
    batch_make_calls(b);
    return b->calls[index];
}

/* --- services for calls -------------------------------------------------- */

static enum ch_before on_before(chela_call *call, char **arguments, char **feedback) {
    struct ch_batch *b = call->owner;

    return b->ops->before(call->block, arguments, feedback, b->user);
}

static enum ch_before on_invalid(chela_call *call, const char *problem, char **name,
                                 char **arguments, char **feedback) {
    struct ch_batch *b = call->owner;

    return b->ops->invalid(call->block, problem, name, arguments, feedback, b->user);
}

static enum chela_decision batch_on_ask(chela_call *call, const struct ch_ask *ask, char **reason) {
    struct ch_batch *b = call->owner;

    return b->ops->ask(call->block, ask, reason, b->user);
}

static bool batch_on_said(const chela_call *call, struct ch_sv url) {
    const struct ch_batch *b = call->owner;

    return b->ops->said(url, b->user);
}

static void batch_on_progress(chela_call *call, struct ch_sv text) {
    struct ch_batch *b = call->owner;

    if (b->ops->progress)
        b->ops->progress(call->block, text, b->user);
}

static void on_used(chela_call *call, int64_t tokens) {
    struct ch_batch *b = call->owner;

    if (b->ops->used)
        b->ops->used(tokens, b->user);
}

static void on_ended(chela_call *call) {
    struct ch_batch *b = call->owner;

    b->ended[b->nended++] = call;
    batch_wake(b);
}

static void batch_on_rested(chela_call *call) {
    batch_wake(call->owner);
}

static void batch_on_checkpoint(chela_call *call, const char *state) {
    struct ch_batch *b = call->owner;

    if (b->ops->checkpoint)
        b->ops->checkpoint(call->block, call->tool->effect, call->key, state, b->user);
}

static bool batch_on_timer(const chela_call *call, int64_t ms) {
    const struct ch_batch *b = call->owner;

    return b->ops->timer(ms, b->user);
}

/* --- reporting results --------------------------------------------------- */

static struct ch_result batch_result_of(const chela_call *call) {
    const struct ch_outcome *o = &call->outcome;

    return (struct ch_result){
        .id = call->block->id,
        .name = call->block->name,
        .content = ch_buf_sv(&o->content),
        .details = ch_buf_sv(&o->details),
        .is_error = o->is_error,
        .truncated = o->truncated,
        .denied = o->denied,
        .failed = o->failed,
        .error_type = o->error_type,
        .retryable = o->retryable,
        .attempts = call->attempts,
        .labels = &call->labels,
        .duration_ms = call->duration_ms,
    };
}

static void batch_count(struct ch_batch *b, const chela_call *call) {
    const struct ch_outcome *o = &call->outcome;
    struct ch_batch_totals *t = &b->totals;

    if (o->denied)
        t->denied++;
    else if (o->is_error)
        t->errors++;
    else
        t->ok++;
    t->ran += call->ran;
    t->stop |= call->stop_run;
    if (call->ran && !o->is_error && call->tool && (call->tool->flags & CHELA_TOOL_TERMINATES))
        t->terminated = true;
}

/* False: the hook has not decided yet. */
static bool let_hook_rewrite(struct ch_batch *b, chela_call *call) {
    struct ch_buf *content = &call->outcome.content;
    struct ch_result r = batch_result_of(call);
    char *text = (char *)r.content.p;

    if (!b->ops->after)
        return true;
    bool decided = b->ops->after(call->block, &r, &text, b->user);
    if (!decided || b->closed || !text || text == r.content.p)
        return decided;
    ch_buf_clear(content);
    ch_buf_add_str(content, text);
    ch_free(text);
    return true;
}

/* Add a note for the model: a person changed the arguments. */
static void tell_edit(chela_call *call) {
    struct ch_sv shown = ch_utf8_cut(call->arguments, CH_LIMIT_ROLE_RESULT);

    if (ch_sv_eq(ch_buf_sv(&call->outcome.content), call->arguments))
        return; /* the result mentions the change itself */
    ch_buf_addf(&call->outcome.content,
                "\n[A person changed the arguments of this call before it was made, to %.*s]",
                CH_SV_FMT(shown));
}

/* Report the oldest unreported result to the owner. */
static bool batch_announce(struct ch_batch *b) {
    if (b->announced == b->nended || b->result_held)
        return false;
    chela_call *call = b->ended[b->announced];
    if (call->settled) {
        b->announced++;
        batch_count(b, call);
        return true;
    }
    if (call->edited && !call->edit_told)
        tell_edit(call);
    call->edit_told = true;
    if (!let_hook_rewrite(b, call)) {
        b->result_held = !b->closed;
        return false;
    }
    b->announced++;
    batch_count(b, call);
    if (!b->closed && b->ops->finished) {
        struct ch_result r = batch_result_of(call);
        b->ops->finished(call->block, &r, b->user);
    }
    return true;
}

/* --- starting ------------------------------------------------------------ */

static bool is_sequential(const chela_call *call) {
    return call->tool->flags & CHELA_TOOL_SEQUENTIAL;
}

static bool may_start(const struct ch_batch *b, const chela_call *call) {
    return b->running == 0 || !(is_sequential(call) || b->alone);
}

static bool is_waiting(const chela_call *call) {
    return call->state == CH_CALL_CLIENT || call->state == CH_CALL_ASKING ||
           call->state == CH_CALL_RESTING;
}

/* Count the running calls from their states, which are the only record. */
static void recount(struct ch_batch *b) {
    b->running = b->waiting = 0;
    b->alone = false;
    for (size_t i = 0; i < b->n; i++) {
        b->waiting += is_waiting(b->calls[i]);
        if (b->calls[i]->state != CH_CALL_RUNNING && b->calls[i]->state != CH_CALL_GATED)
            continue;
        b->running++;
        b->alone |= is_sequential(b->calls[i]);
    }
}

static void batch_refuse(struct ch_batch *b, chela_call *call) {
    b->totals.refused++;
    ch_call_end_error(call, "cancelled",
                      "The limit of tool calls for this run is reached, so this call was not "
                      "made. Answer with what you have.");
}

/* Suspended work counts as started, and so does work after which a question remains. */
static bool is_unstarted(const chela_call *call) {
    if (call->suspended || call->aftermath)
        return false;
    if (call->wait.sleeps && call->wait.due)
        return call->state != CH_CALL_ENDED;
    if (call->attempts) /* between two attempts */
        return false;
    return call->state == CH_CALL_NEW || call->state == CH_CALL_HELD ||
           call->state == CH_CALL_ASKING || call->state == CH_CALL_READY ||
           call->state == CH_CALL_GATED;
}

void ch_batch_skip(struct ch_batch *b, const char *why) {
    batch_make_calls(b);
    for (size_t i = 0; i < b->n; i++) {
        if (!is_unstarted(b->calls[i]))
            continue;
        ch_call_end_error(b->calls[i], "cancelled", why);
        b->calls[i]->outcome.denied = true;
    }
}

static void stop_rest(struct ch_batch *b) {
    static const char why[] = "The run was stopped before this call was made.";

    ch_batch_skip(b, why);
    for (size_t i = 0; i < b->n; i++) {
        chela_call *call = b->calls[i];
        /* A call in the state NEW may have had attempts in an earlier process. */
        if (call->suspended || call->wait.due || call->state == CH_CALL_NEW ||
            call->state == CH_CALL_HELD)
            ch_call_cancel(call, why);
    }
}

/* The reply makes too many calls. The run goes on, so the result does not count as an error
 * of the tool. */
static void refuse_surplus(struct ch_batch *b, size_t i) {
    CH_BUF_AUTO why = {0};

    b->totals.surplus++;
    ch_buf_addf(&why,
                "One reply may make at most %d tool calls. This was call %zu of %zu, so it was not "
                "made. Make it in a later reply if it is still needed.",
                CH_LIMIT_CALLS_PER_REPLY, i + 1, b->n);
    ch_call_end_error(b->calls[i], "cancelled", ch_buf_str(&why));
    b->calls[i]->outcome.denied = true;
}

static void batch_prepare(struct ch_batch *b, size_t i) {
    chela_call *call = b->calls[i];

    if (i >= CH_LIMIT_CALLS_PER_REPLY) {
        refuse_surplus(b, i);
        return;
    }
    if (i >= b->max_calls) {
        batch_refuse(b, call);
        return;
    }
    ch_call_prepare(call);
    if (b->closed)
        return;
    if (call->stop_run)
        stop_rest(b);
    if (call->state == CH_CALL_CLIENT && b->ops->client)
        b->ops->client(call->block, b->user);
}

/* Effect "read" needs no gate; other calls ask the gate once. */
static bool batch_ask_gate(struct ch_batch *b, chela_call *call) {
    if (call->passed || !b->ops->gate || call->tool->effect == CHELA_EFFECT_READ)
        return true;
    call->passed = true;
    call->state = CH_CALL_GATED;
    if (!b->ops->gate(call->block, call->tool->effect, call->key, ch_wait_next_state(call),
                     b->user))
        return false;
    if (!b->closed && call->state == CH_CALL_GATED)
        call->state = CH_CALL_READY;
    return !b->closed;
}

static void batch_tell_started(struct ch_batch *b, chela_call *call) {
    bool first = !call->announced;

    call->announced = true;
    if (b->ops->started && first)
        b->ops->started(call->block, b->user);
}

/* Report the first call that began before the batch and was not reported yet. */
static bool batch_tell_begun(struct ch_batch *b) {
    for (; b->early && b->begun < b->n; b->begun++) {
        chela_call *call = b->calls[b->begun];
        if (!call->attempts || call->announced)
            continue;
        batch_tell_started(b, call);
        struct ch_sv progress = ch_early_reads_progress(b->early, b->begun);
        if (progress.n && !b->closed)
            batch_on_progress(call, progress);
        return true;
    }
    return false;
}

static void batch_start(struct ch_batch *b, chela_call *call) {
    if (ch_question_is_open(call)) { /* known from before a restart */
        call->state = CH_CALL_RESTING;
        call->suspended = true;
        return;
    }
    if (ch_wait_goes_on(call))
        return;
    if (ch_wait_is_late(call)) {
        ch_call_end_error(call, "timeout", "the deadline of the retry policy has passed");
        return;
    }
    if (!batch_ask_gate(b, call))
        return;
    batch_tell_started(b, call);
    /* the owner cancelled or closed in the callback */
    if (b->closed || call->state != CH_CALL_READY)
        return;
    ch_call_run(call);
}

/* True if an unfinished earlier call conflicts with call i. */
static bool is_in_the_way(const struct ch_batch *b, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (b->calls[k]->state != CH_CALL_ENDED &&
            ch_uses_collide(&b->calls[k]->uses, &b->calls[i]->uses))
            return true;
    return false;
}

/* Start the first deferred call without a conflict. */
static bool batch_take_back(struct ch_batch *b) {
    for (size_t i = 0; i < b->next; i++) {
        chela_call *call = b->calls[i];
        if (call->state != CH_CALL_READY || !may_start(b, call) || is_in_the_way(b, i))
            continue;
        batch_start(b, call);
        return true;
    }
    return false;
}

/* True if the next call is sequential and waits for approval; later calls wait too. */
static bool stands_still(const struct ch_batch *b) {
    const chela_call *call = b->next < b->n ? b->calls[b->next] : NULL;

    return call && call->state == CH_CALL_ASKING && is_sequential(call);
}

/* The next call waits for its hook, or the hook after a call has not decided. */
static bool batch_is_held(const struct ch_batch *b) {
    return b->result_held || (b->next < b->n && b->calls[b->next]->state == CH_CALL_HELD);
}

void ch_batch_unhold(struct ch_batch *b, struct ch_sv id) {
    for (size_t i = 0; i < b->n; i++)
        if (ch_sv_eq(b->calls[i]->block->id, id))
            ch_call_unhold(b->calls[i]);
    b->result_held = false;
    batch_wake(b);
}

/* --- sequences ------------------------------------------------------------ */

/* True: the call only reads, so its order does not matter to other reads. */
static bool only_reads(const struct ch_batch *b, const chela_call *call) {
    const struct ch_tool *t = call->tool;

    if (!t)
        t = ch_registry_find(b->env.registry, call->block->name);
    return t && t->effect == CHELA_EFFECT_READ && !(t->flags & CHELA_TOOL_ACTION);
}

static bool has_succeeded(const chela_call *call) {
    const struct ch_outcome *o = &call->outcome;

    return call->state == CH_CALL_ENDED && !o->is_error && !o->denied && !o->failed;
}

/* The first call that call i of a sequence must follow and that has not succeeded; NULL: none. */
static const chela_call *batch_predecessor(const struct ch_batch *b, size_t i) {
    bool reads = !b->in_sequence || only_reads(b, b->calls[i]);

    for (size_t k = 0; b->in_sequence && k < i; k++)
        if (!has_succeeded(b->calls[k]) && !(reads && only_reads(b, b->calls[k])))
            return b->calls[k];
    return NULL;
}

/* The next call waits for a call before it. */
static bool batch_is_queued(const struct ch_batch *b) {
    const chela_call *before = NULL;

    if (b->next < b->n && b->calls[b->next]->state == CH_CALL_NEW)
        before = batch_predecessor(b, b->next);
    return before && before->state != CH_CALL_ENDED;
}

/* Counts as denied, because the call itself did not fail. */
static void batch_leave_out(chela_call *call, const chela_call *before) {
    const char *type = before->outcome.error_type;
    CH_BUF_AUTO why = {0};

    ch_buf_addf(&why, "This was not done, because %s, which comes before it in the same reply, %s.",
                before->name,
                type && strcmp(type, "timeout") == 0       ? "took too long"
                : type && strcmp(type, "interrupted") == 0 ? "has no known outcome"
                : before->outcome.denied                   ? "was refused"
                                                           : "failed");
    ch_call_end_error(call, "cancelled", ch_buf_str(&why));
    call->outcome.denied = true;
}

/* True if nothing runs and nothing can be started. */
static bool has_run_dry(struct ch_batch *b) {
    recount(b);
    return !b->running && !batch_is_held(b) &&
           (b->next == b->n || stands_still(b) || batch_is_queued(b));
}

/* Start the next call; false if there is none or it has to wait. */
static bool batch_advance(struct ch_batch *b) {
    recount(b);
    if (b->running >= b->parallel || batch_is_held(b))
        return false;
    if (batch_take_back(b))
        return !b->closed;
    if (b->next == b->n)
        return false;
    chela_call *call = b->calls[b->next];
    if (batch_is_queued(b))
        return false;
    const chela_call *before = call->state == CH_CALL_NEW ? batch_predecessor(b, b->next) : NULL;
    if (before)
        batch_leave_out(call, before);
    else if (call->state == CH_CALL_NEW)
        batch_prepare(b, b->next);
    if (b->closed || stands_still(b) || batch_is_held(b))
        return false;
    if (call->state != CH_CALL_READY || is_in_the_way(b, b->next)) {
        b->next++;
        return true;
    }
    if (!may_start(b, call))
        return false;
    b->next++;
    batch_start(b, call);
    return !b->closed;
}

/* --- approvals ------------------------------------------------------------ */

/* Continue an approved call. */
static void batch_take_up(struct ch_batch *b, size_t i) {
    if (b->calls[i]->state == CH_CALL_NEW)
        b->next = CH_MIN(b->next, i);
}

/* Ask only when all other calls have ended: they may be faster than a person, and their
 * changes become part of the approved digest. */
static bool batch_ask(struct ch_batch *b) {
    bool asked = false;

    if (!has_run_dry(b))
        return false;
    for (size_t i = 0; i < b->n && !b->closed; i++) {
        chela_call *call = b->calls[i];
        if (call->state != CH_CALL_ASKING || call->approval_id)
            continue;
        asked = true;
        ch_call_ask(call);
        if (!b->closed)
            batch_take_up(b, i);
    }
    return asked;
}

/* --- questions ------------------------------------------------------------ */

static bool batch_put_question(struct ch_batch *b) {
    for (size_t i = 0; i < b->n; i++) {
        chela_call *call = b->calls[i];
        struct ch_question *q = call->question;
        if (call->state != CH_CALL_RESTING || !q || q->told)
            continue;
        struct ch_block block = {.type = CH_BLOCK_TOOL_CALL,
                                 .id = ch_sv_str(q->id),
                                 .name = CH_SV(CH_QUESTION_TOOL),
                                 .text = ch_sv_str(q->arguments)};
        q->told = true;
        b->ops->question(call->block, &block, q->state, b->user);
        return true;
    }
    return false;
}

static chela_call *find_question(const struct ch_batch *b, struct ch_sv id) {
    for (size_t i = 0; i < b->n; i++)
        if (b->calls[i]->question && b->calls[i]->state != CH_CALL_ENDED &&
            ch_sv_is(id, b->calls[i]->question->id))
            return b->calls[i];
    return NULL;
}

bool ch_batch_asks(const struct ch_batch *b, struct ch_sv id) {
    const chela_call *call = find_question(b, id);

    return call && ch_question_is_open(call);
}

void ch_batch_continue(struct ch_batch *b, size_t index, const struct ch_batch_question *known) {
    chela_call *call = batch_call(b, index);

    call->questions = known->asked;
    if (!known->id)
        return;
    struct ch_question *q = CH_ARENA_NEW(&call->arena, struct ch_question);
    *q = (struct ch_question){
        .id = ch_arena_str(&call->arena, ch_sv_str(known->id)),
        .arguments = ch_arena_str(&call->arena, ch_sv_str(known->arguments)),
        .state = known->state ? ch_arena_str(&call->arena, ch_sv_str(known->state)) : NULL,
        .answer = known->answer ? ch_arena_str(&call->arena, ch_sv_str(known->answer)) : NULL,
        .is_error = known->is_error,
    };
    call->question = q;
}

void ch_batch_restore(struct ch_batch *b, size_t index, const char *state) {
    chela_call *call = batch_call(b, index);

    if (!ch_wait_restore(call, ch_sv_str(state)))
        call->left = ch_arena_str(&call->arena, ch_sv_str(state));
}

/* --- the pump ------------------------------------------------------------ */

static void tell_over(struct ch_batch *b) {
    if (!has_run_dry(b) || b->announced < b->nended || b->told_over)
        return;
    *(b->waiting ? &b->paused : &b->told_over) = true;
    release_loop(b);
    if (b->ops->over)
        b->ops->over(b->waiting, b->user);
}

static void batch_destroy(struct ch_batch *b) {
    for (size_t i = 0; i < b->n; i++)
        ch_call_abandon(b->calls[i]);
    ch_early_reads_close(b->early);
    ch_session_state_release(&b->own_state);
    ch_free(b);
}

static void batch_pump(struct ch_task *t) {
    struct ch_batch *b = CH_CONTAINER(t, struct ch_batch, task);

    if (b->paused) /* woken before the pause took effect */
        return;
    b->pumping = true;
    batch_make_calls(b);
    while (!b->closed &&
           (batch_tell_begun(b) || batch_announce(b) || batch_advance(b) ||
            batch_put_question(b) || batch_ask(b)))
        ;
    if (!b->closed)
        tell_over(b);
    b->pumping = false;
    if (b->closed)
        batch_destroy(b);
}

/* --- calls from the owner ------------------------------------------------ */

static size_t batch_count_calls(const struct ch_msg *reply) {
    size_t n = 0;

    for (size_t i = 0; i < reply->nblocks; i++)
        n += reply->blocks[i].type == CH_BLOCK_TOOL_CALL;
    return n;
}

static struct ch_call_env batch_make_env(const struct ch_batch_opts *opts) {
    struct ch_call_env env = ch_call_env_of(opts);

    env.ask = opts->ops->ask ? batch_on_ask : NULL;
    env.before = opts->ops->before ? on_before : NULL;
    env.invalid = opts->ops->invalid ? on_invalid : NULL;
    env.said = opts->ops->said ? batch_on_said : NULL;
    env.ended = on_ended;
    env.rested = batch_on_rested;
    env.checkpoint = batch_on_checkpoint;
    env.timer = opts->ops->timer ? batch_on_timer : NULL;
    env.puts_questions = opts->ops->question != NULL;
    env.progress = batch_on_progress;
    env.used = on_used;
    return env;
}

struct ch_batch *ch_batch_start(const struct ch_msg *reply, const struct ch_batch_opts *opts) {
    size_t calls = batch_count_calls(reply);

    assert(calls > 0);
    struct ch_batch *b = ch_alloc(sizeof(*b) + 2 * calls * sizeof(*b->calls));
    b->calls = (chela_call **)(b + 1);
    b->ended = b->calls + calls;
    b->env = batch_make_env(opts);
    if (!b->env.state)
        b->env.state = &b->own_state;
    b->reply = reply;
    b->early = opts->early;
    b->ops = opts->ops;
    b->user = opts->user;
    b->parallel = opts->parallel ? opts->parallel : CH_DEFAULT_PARALLEL;
    b->max_calls = opts->max_calls;
    b->in_sequence = opts->in_sequence;
    b->totals.calls = calls;
    b->task.fn = batch_pump;
    hold_loop(b);
    batch_wake(b);
    return b;
}

void ch_batch_pass(struct ch_batch *b, size_t index) {
    if (b->calls[index]->state != CH_CALL_GATED) /* cancelled in between */
        return;
    b->calls[index]->state = CH_CALL_READY;
    batch_wake(b);
}

static void batch_take_media(struct ch_outcome *o, const struct ch_block *blocks, size_t n) {
    o->media = ch_alloc((n + 1) * sizeof(*o->media));
    for (size_t i = 0; i < n; i++)
        o->media[o->nmedia++] =
            (struct ch_media){.type = ch_strndup(blocks[i].name.p, blocks[i].name.n),
                              .data = ch_strndup(blocks[i].text.p, blocks[i].text.n),
                              .n = blocks[i].text.n};
}

void ch_batch_settle(struct ch_batch *b, size_t index, const struct ch_msg *result, bool ran) {
    chela_call *call = batch_call(b, index);
    const struct ch_block *r = &result->blocks[0];
    struct ch_outcome o = {.is_error = r->flags & CH_F_ERROR,
                           .denied = r->flags & CH_F_DENIED,
                           .failed = r->flags & CH_F_FAILED};

    ch_buf_add_sv(&o.content, r->text);
    batch_take_media(&o, r + 1, r->span);
    call->settled = true;
    call->ran = ran;
    ch_call_end(call, &o);
}

void ch_batch_recall(struct ch_batch *b, size_t index, const char *approval_id,
                     const unsigned char digest[CH_SHA256_SIZE]) {
    chela_call *call = batch_call(b, index);

    call->known_id = ch_arena_str(&call->arena, ch_sv_str(approval_id));
    memcpy(call->known_digest, digest, CH_SHA256_SIZE);
}

void ch_batch_interrupt(struct ch_batch *b, size_t index) {
    chela_call *call = batch_call(b, index);

    ch_call_end_error(call, "interrupted",
                      "The program was stopped after this call had begun and before its result "
                      "was known. Whether it took effect is unknown, and it was not made again. "
                      "Find out before you repeat it.");
    /* counts as denied, because the call itself did not fail */
    call->outcome.denied = true;
}

void ch_batch_cancel(struct ch_batch *b, const char *why) {
    batch_make_calls(b);
    for (size_t i = 0; i < b->n; i++)
        ch_call_cancel(b->calls[i], why);
    ch_batch_resume(b);
}

void ch_batch_resume(struct ch_batch *b) {
    if (!b->paused)
        return;
    for (size_t i = 0; i < b->n; i++)
        if (b->calls[i]->state == CH_CALL_RESTING && !ch_question_is_open(b->calls[i]))
            b->calls[i]->state = CH_CALL_READY;
    b->paused = false;
    hold_loop(b);
    batch_wake(b);
}

/* The waiting call with this id; else any call with this id, for the error message. */
static chela_call *batch_find(const struct ch_batch *b, struct ch_sv id) {
    chela_call *found = NULL;

    for (size_t i = 0; i < b->n; i++) {
        if (!ch_sv_eq(b->calls[i]->block->id, id))
            continue;
        if (b->calls[i]->state == CH_CALL_CLIENT)
            return b->calls[i];
        found = b->calls[i];
    }
    return found;
}

/* Finds the call that takes an answer of n bytes: in CH_CALL_CLIENT, else with a question. */
static int batch_find_taker(const struct ch_batch *b, struct ch_sv id, size_t n, chela_call **out,
                            struct chela_error *err) {
    *out = find_question(b, id);
    if (*out && ch_question_is_open(*out))
        return n > CH_LIMIT_TOOL_OUTPUT
                   ? ch_fail(err, CHELA_ELIMIT, "the answer has %zu bytes", n)
                   : 0;
    *out = batch_find(b, id);
    if (*out && (*out)->state == CH_CALL_ENDED)
        return ch_fail(err, CHELA_EEXIST, "call %.*s has a result already", CH_SV_FMT(id));
    if (!*out || (*out)->state != CH_CALL_CLIENT)
        return ch_fail(err, CHELA_ENOENT, "no call %.*s waits for a result", CH_SV_FMT(id));
    return 0;
}

int ch_batch_may_answer(const struct ch_batch *b, struct ch_sv id, size_t n,
                        struct chela_error *err) {
    chela_call *taker;
    return batch_find_taker(b, id, n, &taker, err);
}

int ch_batch_answer(struct ch_batch *b, struct ch_sv id, struct ch_sv content, bool is_error,
                    struct chela_error *err) {
    chela_call *call;
    struct ch_outcome o = {.is_error = is_error, .error_type = is_error ? "internal" : NULL};
    int rc = batch_find_taker(b, id, content.n, &call, err);

    if (rc < 0)
        return rc;
    if (call->state != CH_CALL_CLIENT) {
        ch_question_answer(call, content, is_error);
        batch_wake(b);
        return 0;
    }
    struct ch_shape how = call->answer.shape;
    how.workspace = NULL; /* do not block the loop thread */
    o.truncated = ch_shape_text(&how, content, 0, &o.content);
    call->ran = true;
    ch_call_end(call, &o);
    return 0;
}

static bool has_approval_id(const chela_call *call, struct ch_sv id) {
    return call->approval_id && ch_sv_is(id, call->approval_id);
}

int ch_batch_approve(struct ch_batch *b, struct ch_sv approval_id, enum chela_decision decision,
                     const char *reason, struct chela_error *err) {
    size_t i = 0;

    while (i < b->n && !has_approval_id(b->calls[i], approval_id))
        i++;
    if (i == b->n)
        return ch_fail(err, CHELA_ENOENT, "unknown approval id %.*s", CH_SV_FMT(approval_id));
    if (b->calls[i]->state != CH_CALL_ASKING)
        return ch_fail(err, CHELA_EEXIST, "approval %.*s was decided before",
                       CH_SV_FMT(approval_id));
    int rc = ch_call_consent(b->calls[i], decision, reason, err);
    if (rc < 0)
        return rc;
    batch_take_up(b, i);
    batch_wake(b);
    return 0;
}

struct ch_batch_waits ch_batch_waits(const struct ch_batch *b) {
    struct ch_batch_waits w = {0};

    for (size_t i = 0; i < b->n; i++) {
        bool resting = b->calls[i]->state == CH_CALL_RESTING;
        bool question = resting && ch_question_is_open(b->calls[i]);
        bool answer = b->calls[i]->state == CH_CALL_CLIENT;
        w.answers += answer || question;
        w.questions +=
            question || (answer && (b->calls[i]->tool->flags & CHELA_TOOL_HUMAN));
        w.approvals += b->calls[i]->state == CH_CALL_ASKING;
        int64_t due = b->calls[i]->state == CH_CALL_ENDED ? 0 : b->calls[i]->wait.due;
        if (due)
            w.due = w.timers++ ? CH_MIN(w.due, due) : due;
    }
    return w;
}

bool ch_batch_refuses(const struct ch_batch *b, size_t index) {
    return index >= b->max_calls && index < CH_LIMIT_CALLS_PER_REPLY;
}

struct ch_batch_totals ch_batch_totals(const struct ch_batch *b) {
    struct ch_batch_totals t = b->totals;

    for (size_t i = 0; i < b->n; i++) {
        const chela_call *call = b->calls[i];
        if (call->state == CH_CALL_ENDED && !call->outcome.denied)
            t.trailing_errors = call->outcome.is_error ? t.trailing_errors + 1 : 0;
    }
    return t;
}

static enum ch_block_type media_block(const char *type) {
    struct ch_sv t = ch_sv_str(type);

    return ch_sv_starts(t, "image/")   ? CH_BLOCK_IMAGE
           : ch_sv_starts(t, "audio/") ? CH_BLOCK_AUDIO
                                       : CH_BLOCK_DOCUMENT;
}

static size_t fill_blocks(struct ch_block *at, const chela_call *call) {
    const struct ch_outcome *o = &call->outcome;

    at[0] = (struct ch_block){
        .type = CH_BLOCK_TOOL_RESULT,
        .flags = (o->is_error ? CH_F_ERROR : 0) | (o->denied ? CH_F_DENIED : 0) |
                 (o->failed ? CH_F_FAILED : 0),
        .span = (uint16_t)o->nmedia,
        .text = ch_buf_sv(&o->content),
        .id = call->block->id,
        .name = call->written,
    };
    for (size_t i = 0; i < o->nmedia; i++)
        at[1 + i] = (struct ch_block){
            .type = media_block(o->media[i].type),
            .text = ch_sv(o->media[i].data, o->media[i].n),
            .name = ch_sv_str(o->media[i].type),
        };
    return 1 + o->nmedia;
}

struct ch_msg *ch_batch_result(struct ch_batch *b, size_t index, int64_t ts) {
    const chela_call *call = b->calls[index];
    CH_AUTOFREE struct ch_block *blocks =
        ch_malloc((1 + call->outcome.nmedia) * sizeof(*blocks));

    assert(call->state == CH_CALL_ENDED);
    size_t n = fill_blocks(blocks, call);
    return ch_msg_new(CH_MSG_RESULTS, blocks, n, ts);
}

struct ch_msg *ch_batch_message(struct ch_batch *b, int64_t ts) {
    char room[256]; /* most replies make few calls */
    CH_ARENA_AUTO parts = CH_ARENA_IN(room);
    size_t n = 0;

    for (size_t i = 0; i < b->n; i++)
        n += 1 + b->calls[i]->outcome.nmedia;
    struct ch_block *blocks = ch_arena_alloc(&parts, n * sizeof(*blocks));
    n = 0;
    for (size_t i = 0; i < b->n; i++)
        if (b->calls[i]->state == CH_CALL_ENDED)
            n += fill_blocks(blocks + n, b->calls[i]);
    return ch_msg_new(CH_MSG_RESULTS, blocks, n, ts);
}

void ch_result_write(const struct ch_result *r, struct ch_jw *w) {
    ch_jw_kstr(w, "name", r->name);
    ch_jw_kbool(w, "is_error", r->is_error);
    ch_jw_kcstr(w, "error_type", r->error_type);
    ch_jw_kbool(w, "retryable", r->retryable);
    ch_jw_kstr(w, "content", r->content);
    ch_jw_kraw(w, "details", r->details.n ? r->details : CH_SV("null"));
    ch_jw_kbool(w, "truncated", r->truncated);
    ch_jw_kint(w, "duration_ms", r->duration_ms);
}

void ch_batch_close(struct ch_batch *b) {
    if (!b)
        return;
    b->closed = true;
    release_loop(b);
    ch_task_cancel(b->env.loop, &b->task);
    if (!b->pumping)
        batch_destroy(b);
}
