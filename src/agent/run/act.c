/* act.c -- executes the tool calls of one reply. */
#include "agent/run/act.h"

#include <stdio.h>

#include "agent/context/context.h"
#include "agent/context/context_budget.h"
#include "agent/context/tool_choice.h"
#include "agent/context/tool_embedding.h"
#include "agent/handle/hooks.h"
#include "agent/handle/listener.h"
#include "agent/handle/run.h"
#include "agent/handle/run_outcome.h"
#include "agent/journal/emit.h"
#include "agent/journal/journal_replay.h"
#include "agent/journal/run_journal.h"
#include "agent/journal/timer.h"
#include "agent/machine/event.h"
#include "agent/machine/loop_detector.h"
#include "agent/machine/output.h"
#include "agent/machine/run.h"
#include "agent/machine/run_counters.h"
#include "model/provider/target.h"
#include "agent/run/driver.h"
#include "agent/run/feature.h"
#include "agent/run/parent.h"
#include "agent/run/run_layer.h"
#include "agent/run/said.h"
#include "agent/run/takeover.h"
#include "agent/run/spoken.h"
#include "agent/run/think.h"
#include "tool/call/call_by_name.h"
#include "tool/call/delivery.h"
#include "tool/call/early_reads.h"

#define LATE_MS 250 /* interval at which an overdue lease is checked again */

struct ch_acting {
    uint64_t *gates; /* owned, by call: journal position that must be committed before the call
                        runs; 0: none */
    chela_run *run;  /* set while `late` runs */
    uint64_t safe;   /* committed journal position, as far as the gates are concerned */
    struct ch_timer late;
    struct ch_early_reads *early; /* owned: calls of the reply that is received; NULL: none */
    struct ch_loop_detector detector;
    struct ch_labels labels; /* sources of the results that the model has not seen */
    bool written; /* a feature wrote the reply, not a model */
    bool unfit;   /* the final answer did not match its schema */
};

const size_t ch_acting_size = sizeof(struct ch_acting);

void ch_act_heard(chela_run *run) {
    run->acting->detector = (struct ch_loop_detector){0};
}

void ch_act_written(chela_run *run, bool by_feature) {
    run->acting->written = by_feature;
}

bool ch_act_by_feature(const chela_run *run) {
    return run->acting->written;
}

void ch_act_drop(chela_run *run) {
    ch_labels_release(&run->acting->labels);
    ch_batch_close(CH_TAKE(run->batch));
    ch_act_drop_early(run);
    ch_free(CH_TAKE(run->acting->gates));
    ch_timer_stop(run->loop, &run->acting->late);
    ch_journal_replay_free(CH_TAKE(run->past));
}

static bool gate_is_open(const chela_run *run, size_t i) {
    const struct ch_acting *a = run->acting;
    return run->batch && a->gates && i < ch_batch_totals(run->batch).calls && a->gates[i] &&
           a->gates[i] <= a->safe;
}

static void act_on_late(struct ch_timer *t) {
    const struct ch_acting *a = CH_CONTAINER(t, struct ch_acting, late);
    ch_act_committed(a->run, a->safe);
}

/* A process that was stopped for a while may have lost the session without knowing: nothing
 * with an effect begins before the lease was renewed. False: the lease is not held; if it is
 * late, a timer tries again. */
static bool act_check_lease(chela_run *run) {
    enum ch_lease lease = ch_run_journal_lease(run);
    run->acting->run = run;
    if (lease == CH_LEASE_LATE)
        ch_timer_start(run->loop, &run->acting->late, LATE_MS, act_on_late);
    return lease == CH_LEASE_HELD;
}

void ch_act_committed(chela_run *run, uint64_t seq) {
    run->acting->safe = seq;
    ch_sending_committed(ch_think_sending(run), seq);
    for (size_t i = 0; run->batch && i < ch_batch_totals(run->batch).calls; i++) {
        if (!gate_is_open(run, i))
            continue;
        if (!act_check_lease(run))
            return;
        run->acting->gates[i] = 0;
        ch_batch_pass(run->batch, i);
    }
}

static enum ch_before before(const struct ch_block *call, char **arguments, char **feedback,
                             void *user) {
    chela_run *run = user;
    const char *given = *arguments;
    enum ch_before verdict =
        run->dead ? CH_BEFORE_STOP : ch_features_before_call(run, call, arguments, feedback);
    if (run->dead || verdict != CH_BEFORE_RUN)
        return run->dead ? CH_BEFORE_STOP : verdict;
    struct chela_before_tool b = {.id = ch_str(call->id),
                                  .name = ch_str(call->name),
                                  .arguments = ch_str(ch_sv_str(*arguments))};
    if (!ch_hook_before_tool(run, &b))
        return CH_BEFORE_STOP;
    if (b.action != CHELA_TOOL_RUN && b.action != CHELA_TOOL_HAND_OVER) {
        *feedback = ch_strdup(b.feedback ? b.feedback : "This call was not allowed to run.");
        return CH_BEFORE_SKIP;
    }
    if (b.new_arguments) {
        if (*arguments != given)
            ch_free(*arguments);
        *arguments = ch_strdup(b.new_arguments);
    }
    return b.action == CHELA_TOOL_HAND_OVER ? CH_BEFORE_CLIENT : CH_BEFORE_RUN;
}

static enum ch_before invalid(const struct ch_block *call, const char *problem, char **name,
                              char **arguments, char **feedback, void *user) {
    chela_run *run = user;
    struct chela_invalid_call c = {.id = ch_str(call->id),
                                   .name = ch_str(call->name),
                                   .arguments = ch_str(call->text),
                                   .problem = problem};
    if (run->dead || !ch_hook_invalid(run, &c))
        return CH_BEFORE_STOP;
    if (c.action == CHELA_INVALID_FEEDBACK && c.feedback) {
        *feedback = ch_strdup(c.feedback);
        return CH_BEFORE_SKIP;
    }
    if (c.action == CHELA_INVALID_REPAIR) {
        *name = ch_strdup(c.new_name);
        *arguments = ch_strdup(c.new_arguments);
    }
    return CH_BEFORE_RUN;
}

/* Applies a decision that concerns the whole run: a take-over. */
static enum chela_decision heed(chela_run *run, enum chela_decision d, const char *words) {
    if (d == CHELA_TAKE_OVER)
        ch_takeover_request(run, words ? words : "");
    return d;
}

/* Asks until somebody decides: listeners get the event first and may decide at once
 * (chela_session_approve), then the hooks are asked, then the parent runs. False: the run is over,
 * or ends. */
static bool ask_around(chela_run *run, struct chela_approval *a, const struct ch_ask *asked) {
    const struct ch_clock *clock = ch_loop_clock(run->loop);
    int64_t before = ch_mono_ms(clock);
    if (ch_run_stops(run) || !ch_emit_approval(run, a))
        return false;
    ch_features_wait(run, "permission_prompt", ch_sv(a->summary.p, a->summary.n));
    bool go = ch_hook_approve(run, a);
    chela_run *stopped = NULL;
    if (go && !run->dead && a->decision == CHELA_UNDECIDED)
        stopped = ch_parent_ask(run, a, asked->digest);
    if (stopped)
        ch_driver_stop(stopped);
    if (run->dead)
        return false;
    ch_run_extend(run, ch_mono_ms(clock) - before);
    if (!go) /* the run ends, and this call with all others */
        ch_driver_stop(run);
    return go;
}

/* Asks for consent, unless the journal has the decision. */
static enum chela_decision act_ask(const struct ch_block *call, const struct ch_ask *asked,
                                   char **reason, void *user) {
    chela_run *run = user;
    struct chela_approval a = {.approval_id = ch_str(ch_sv_str(asked->approval_id)),
                               .id = ch_str(call->id),
                               .name = ch_str(call->name),
                               .arguments = ch_str(asked->arguments),
                               .summary = ch_str(asked->summary),
                               .can_remember = !asked->obstacle};
    size_t index = ch_msg_call_index(run->reply, call);
    const struct ch_replay_call *known = run->past ? &run->past->calls[index] : NULL;
    bool same = known && known->approval && strcmp(known->approval, asked->approval_id) == 0;
    bool denied = known && known->decision == CHELA_DENY; /* a denial holds even if the call
                                                             would do something else by now */
    if (denied || (same && known->decision != CHELA_UNDECIDED)) {
        *reason = ch_strdup(known->reason);
        return heed(run, known->decision, known->reason);
    }
    if (!same)
        ch_run_journal_asked(run, index, &a, asked->digest);
    if (!ask_around(run, &a, asked))
        return CHELA_UNDECIDED;
    *reason = ch_strdup(a.reason);
    if (a.decision != CHELA_UNDECIDED)
        ch_run_journal_answered(run->session, asked->approval_id, a.decision, a.reason);
    return heed(run, a.decision, a.reason);
}

/* A call with an effect starts only after its STARTED record is committed. */
static bool act_gate(const struct ch_block *call, enum chela_effect effect, const char *key,
                     const char *state, void *user) {
    chela_run *run = user;
    size_t index = ch_msg_call_index(run->reply, call);
    if (run->dead || ch_driver_cancelled(run)) /* no call starts any more */
        return false;
    if (!ch_run_journal_of(run))
        return true;
    struct ch_acting *a = run->acting;
    if (!a->gates)
        a->gates = ch_alloc(ch_batch_totals(run->batch).calls * sizeof(*a->gates));
    a->gates[index] = ch_run_journal_started(run, index, call, effect, key, state);
    return false;
}

/* Interrupts the run, or a run above it, that a callback has cancelled: the calls that have not
 * begun do not begin. */
static bool act_stops(chela_run *run) {
    chela_run *r = run;
    while (r && !ch_driver_cancelled(r))
        r = ch_parent_of(r);
    if (!r || run->dead)
        return run->dead;
    ch_driver_stops(r);
    ch_driver_stop(r);
    return true;
}

static void started(const struct ch_block *call, void *user) {
    if (act_stops(user))
        return;
    ch_emit_call(user, CHELA_EV_TOOL_START, call);
    ch_features_call(user, call, CH_PHASE_STARTED, false);
    act_stops(user);
}

static void progress(const struct ch_block *call, struct ch_sv text, void *user) {
    struct chela_event ev = {.type = CHELA_EV_TOOL_PROGRESS,
                             .note = {.text = ch_str(text), .id = ch_str(call->id)}};
    ch_emit(user, &ev);
}

static void act_used(int64_t tokens, void *user) {
    ch_tool_embedding_charge(user, tokens);
}

static struct chela_event result_event(const struct ch_result *r) {
    return (struct chela_event){.type = CHELA_EV_TOOL_RESULT,
                                .result = {.id = ch_str(r->id),
                                           .name = ch_str(r->name),
                                           .is_error = r->is_error,
                                           .retryable = r->retryable,
                                           .truncated = r->truncated,
                                           .error_type = r->error_type,
                                           .content = ch_str(r->content),
                                           .details = ch_str(r->details),
                                           .attempts = r->attempts,
                                           .duration_ms = r->duration_ms}};
}

static const struct ch_block *act_find_call(const chela_run *run, struct ch_sv id) {
    for (size_t i = 0; run->reply && i < run->reply->nblocks; i++) {
        const struct ch_block *b = &run->reply->blocks[i];
        if (b->type == CH_BLOCK_TOOL_CALL && ch_sv_eq(b->id, id))
            return b;
    }
    return NULL;
}

/* Instructions for the directory of a file follow the first result about the directory. */
static void act_add_instructions(chela_run *run, const struct ch_result *r, struct ch_buf *more) {
    const struct ch_block *call = r->is_error ? NULL : act_find_call(run, r->id);
    if (call)
        ch_context_visit(run, call->text, more);
}

/* Without a change *content stays as it is. */
static bool after(const struct ch_block *call, const struct ch_result *r, char **content,
                  void *user) {
    chela_run *run = user;
    CH_BUF_AUTO more = {0}, all = {0};
    if (run->dead)
        return true;
    if (!ch_features_after_call(run, call, r, &more))
        return false;
    if (run->dead)
        return true;
    struct chela_event ev = result_event(r);
    struct chela_after_tool a = {.result = &ev};
    ch_hook_after_tool(run, &a);
    if (!a.content)
        act_add_instructions(run, r, &more);
    if (!a.content && !more.n)
        return true;
    ch_buf_add_sv(&all, a.content ? ch_sv_str(a.content) : r->content);
    ch_buf_add_sv(&all, ch_buf_sv(&more));
    *content = ch_strdup(ch_buf_str(&all));
    return true;
}

void ch_act_unhold(chela_run *run, struct ch_sv id) {
    if (run->batch && !run->dead)
        ch_batch_unhold(run->batch, id);
}

/* Takes the final answer from the arguments of the output tool. */
static void note_answer(chela_run *run, const struct ch_block *call, const struct ch_result *r) {
    if (!run->session->agent->output || !ch_sv_is(r->name, CH_OUTPUT_TOOL))
        return;
    run->acting->unfit = r->is_error;
    ch_buf_clear(r->is_error ? ch_think_complaint(run) : &run->text);
    if (r->is_error)
        ch_run_outcome_error(run, "%s: the answer does not fit its schema",
                             run->target->spec);
    else
        ch_buf_add_sv(&run->text, r->details.n ? r->details : call->text);
}

static void store_result(chela_run *run, const struct ch_block *call, const struct ch_result *r) {
    const chela_agent *a = run->session->agent;
    size_t index = ch_msg_call_index(run->reply, call);
    if (run->dead || !ch_run_journal_of(run))
        return;
    const struct ch_tool *tool = ch_registry_find(&a->registry, call->name);
    struct ch_run_journal_done how = {.ran = r->attempts > 0 || (tool && !tool->ops),
                                      .refused = ch_batch_refuses(run->batch, index),
                                      .attempts = r->attempts,
                                      .labels = r->labels,
                                      .effect = tool && tool->effect != CHELA_EFFECT_READ,
                                      .delivered =
                                          ch_delivery_text(&run->session->state, run->id, r->id)};
    how.terminates =
        how.ran && !r->is_error && !r->failed && tool &&
        (tool->flags & CHELA_TOOL_TERMINATES ||
         (tool->flags & CHELA_TOOL_ACTION && ch_features_end_by(run, call)));
    struct ch_msg *m = ch_batch_result(run->batch, index, ch_run_now(run));
    ch_run_journal_done(run, index, m, &how);
    ch_msg_free(m);
}

static bool stored_child(const chela_run *run, const struct ch_block *call) {
    const struct ch_registry *tools = &run->session->agent->registry;
    return run->record && !run->dead && ch_tool_is_run(ch_registry_find(tools, call->name));
}

static void act_finished(const struct ch_block *call, const struct ch_result *r, void *user) {
    chela_run *run = user;
    struct chela_event ev = result_event(r);
    note_answer(run, call, r);
    if (r->is_error && run->record)
        ch_run_counters_failed(ch_run_journal_counters(run), run->m.turns, r->name, r->error_type,
                               r->content);
    if (!r->is_error)
        ch_delivery_done(&run->session->state, run->id, r->id);
    ch_labels_join(&run->acting->labels, r->labels);
    store_result(run, call, r);
    if (stored_child(run, call)) /* the child's usage has become part of the run's usage */
        ch_run_journal_acting(run, CH_SYNC_LATER);
    if (ch_emit(run, &ev))
        ch_features_call(run, call, CH_PHASE_ENDED, r->is_error || r->denied || r->failed);
}

/* A call that the host executes. The host may answer inside the event. Time that it spends
 * there does not count. */
static void left_to_host(const struct ch_block *call, void *user) {
    chela_run *run = user;
    const struct ch_clock *clock = ch_loop_clock(run->loop);
    int64_t before = ch_mono_ms(clock);
    ch_emit_call(run, CHELA_EV_CLIENT_TOOL_REQUIRED, call);
    if (!run->dead)
        ch_parent_left(run, call);
    if (!run->dead)
        ch_run_extend(run, ch_mono_ms(clock) - before);
}

/* A call asks a person a question. The question is stored once, and asked again after a
 * restart. */
static void act_question(const struct ch_block *call, const struct ch_block *question,
                         const char *state, void *user) {
    chela_run *run = user;
    if (run->dead)
        return;
    if (!run->past || !ch_journal_replay_left(run->past, question->id))
        ch_run_journal_question(run, ch_msg_call_index(run->reply, call), question, state);
    left_to_host(question, run);
}

/* The work of the call continues elsewhere: from now on the outcome is found through the
 * stored state. */
static void act_checkpoint(const struct ch_block *call, enum chela_effect effect, const char *key,
                           const char *state, void *user) {
    chela_run *run = user;
    if (run->dead)
        return;
    ch_run_journal_started(run, ch_msg_call_index(run->reply, call), call, effect, key, state);
    ch_listeners_checkpoint(run, call, state);
}

/* While a child is paused, its parent is paused. Time that a call waits does not count. */
static bool act_timer(int64_t ms, void *user) {
    chela_run *run = user;
    if (run->dead)
        return false;
    if (ch_timer_is_kept(run->session) && ch_timer_is_kept(ch_parent_root(run)))
        return true;
    ch_run_extend(run, ms);
    return false;
}

/* Every call has a result: adds them to the transcript and tells the machine. */
static void act_done(chela_run *run);

static void act_over(size_t waiting, void *user) {
    chela_run *run = user;
    if (run->dead)
        return;
    if (!waiting) {
        run->stamp = ch_run_now(run);
        act_done(run);
        run->stamp = 0;
        return;
    }
    struct ch_batch_waits waits = ch_run_waits(run);
    if (waits.timers && ch_parent_root(run) == run->session)
        ch_timer_set(run->session, waits.due);
    ch_driver_step(run, &(struct ch_input){.kind = CH_IN_UNANSWERED,
                                           .approvals = waits.approvals > 0,
                                           .timers = waits.timers && !waits.answers,
                                           .questions = waits.questions == waits.answers});
}

static bool act_said(struct ch_sv url, void *user) {
    const chela_run *run = user;
    return ch_said(run, url);
}

static const struct ch_batch_ops ops = {
    .before = before,
    .said = act_said,
    .invalid = invalid,
    .ask = act_ask,
    .gate = act_gate,
    .started = started,
    .progress = progress,
    .used = act_used,
    .after = after,
    .finished = act_finished,
    .client = left_to_host,
    .question = act_question,
    .checkpoint = act_checkpoint,
    .timer = act_timer,
    .over = act_over,
};

/* A call that asked a person continues from the state that was stored with the question. */
static void recall_question(chela_run *run, size_t index, const struct ch_replay_call *c) {
    const struct ch_replay_below *b = c->question && c->question->state ? c->question : NULL;
    struct ch_batch_question q = {.asked = c->nquestions};

    if (b)
        q = (struct ch_batch_question){.asked = c->nquestions,
                                       .id = b->id,
                                       .arguments = b->arguments,
                                       .state = b->state,
                                       .answer = b->answer,
                                       .is_error = b->is_error};
    ch_batch_continue(run->batch, index, &q);
}

/* Applies the journal's records about calls that an earlier process started. */
static void recall_calls(chela_run *run) {
    const struct ch_journal_replay *p = run->past;

    for (size_t i = 0; i < p->ncalls; i++) {
        const struct ch_replay_call *c = &p->calls[i];
        if (c->result) {
            ch_batch_settle(run->batch, i, c->result, c->ran);
            if (c->result->nblocks)
                ch_features_call(run, ch_journal_replay_block(p, i), CH_PHASE_SETTLED,
                                 ch_result_failed(&c->result->blocks[0]));
        } else if (c->started && c->once && !c->state && !(c->question && c->question->state)) {
            ch_batch_interrupt(run->batch, i);
        } else {
            if (c->state)
                ch_batch_restore(run->batch, i, c->state);
            if (c->approval)
                ch_batch_recall(run->batch, i, c->approval, c->digest);
            recall_question(run, i, c);
        }
    }
}

static struct ch_batch_opts act_batch_opts(chela_run *run) {
    chela_session *s = run->session;
    const chela_agent *a = s->agent;
    return (struct ch_batch_opts){.loop = run->loop,
                                  .workers = a->rt->workers,
                                  .registry = &a->registry,
                                  .workspace = ch_run_workspace(run),
                                  .layer = ch_run_layer(run),
                                  .session = s->key,
                                  .run = run->id,
                                  .turn = run->m.turns,
                                  .language = ch_run_language(run),
                                  .parallel = a->parallel,
                                  .max_calls = ch_run_calls_left(&run->m),
                                  .in_sequence = ch_features_end_by_actions(run),
                                  .policy = &run->permit.policy,
                                  .approvals = a->approvals,
                                  .granted = run->permit.forgets ? NULL : s->granted,
                                  .ask_means = run->permit.ask_means,
                                  .memory =
                                      run->permit.forgets ? NULL : &ch_parent_root(run)->memory,
                                  .sandbox = a->sandbox,
                                  .egress = a->settings->egress,
                                  .flow = &a->settings->flow,
                                  .labels = &s->labels,
                                  .jobs = s->jobs,
                                  .buffers = ch_parent_root(run)->agent->buffers,
                                  .window = ch_target_window(run->target),
                                  .state = &s->state,
                                  .channel = s->channel->name ? s->channel : NULL,
                                  .own = ch_selection_own(s->selection),
                                  .listener = &a->rt->listener,
                                  .ops = &ops,
                                  .user = run};
}

/* A hook before a call gets the calls of complete replies only. Calls of a sequence, and calls
 * that a new message makes needless, do not begin. */
static bool may_read_early(const chela_run *run) {
    return !ch_run_stops(run) && !run->dead && !run->batch && run->steering.n == 0 &&
           run->m.closing == CH_REASON_NONE && !ch_hook_awaits_tools(run) &&
           !ch_features_await_calls(run) && !ch_features_end_by_actions(run);
}

void ch_act_read_early(chela_run *run, size_t index, const struct ch_block *call) {
    struct ch_acting *a = run->acting;
    if (!may_read_early(run))
        return;
    struct ch_batch_opts opts = act_batch_opts(run);
    if (!a->early)
        a->early = ch_early_reads_new(&opts);
    ch_early_reads_offer(a->early, index, call);
}

void ch_act_drop_early(chela_run *run) {
    ch_early_reads_close(CH_TAKE(run->acting->early));
}

bool ch_act_tell(chela_run *run, const struct ch_msg *m, unsigned *calls) {
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (b->type != CH_BLOCK_TOOL_CALL)
            continue;
        ++*calls;
        bool whole = !(b->flags & (CH_F_CUT | CH_F_INVALID));
        CH_ARENA_AUTO arena = {0};
        struct ch_block named;
        if (ch_call_by_name(ch_selection_own(run->session->selection), b, &arena, &named))
            b = &named;
        struct chela_event ev = {.type = CHELA_EV_TOOL_CALL,
                                 .call = {.index = *calls - 1,
                                          .id = ch_str(b->id),
                                          .name = ch_str(b->name),
                                          .arguments = ch_str(whole ? b->text : CH_SV("{}"))}};
        if (b->flags & CH_F_REPAIRED)
            ch_emit_warning(run, "the arguments of call %u were not JSON: chela repaired them",
                            *calls);
        if (!ch_emit(run, &ev))
            return false;
    }
    return true;
}

void ch_act(chela_run *run) {
    ch_tool_choice_select(run); /* calls of an earlier process may need call_tool */
    struct ch_batch_opts opts = act_batch_opts(run);
    opts.early = CH_TAKE(run->acting->early);
    run->batch = ch_batch_start(run->reply, &opts);
    if (run->past)
        recall_calls(run);
    if (run->steering.n > 0)
        ch_batch_skip(run->batch, "Skipped: a new message from the user came first.");
}

struct ch_msg *ch_act_results(chela_run *run) {
    return run->batch ? ch_batch_message(run->batch, ch_run_now(run)) : NULL;
}

/* The input that the batch ends with. A halt, a cancel and the deadline wait until every
 * call has a result, so that the transcript stays valid. */
static enum ch_in what_ended_it(chela_run *run, const struct ch_batch_totals *t) {
    if (ch_run_interruption(run) != CH_IN_INPUT)
        return ch_run_interruption(run);
    if (ch_run_stops(run))
        return run->stop;
    return t->stop ? CH_IN_CANCEL : CH_IN_RESULTS;
}

/* Tells the loop detector the calls and their results, in the order of the calls. */
static enum ch_loop_verdict watch(chela_run *run, const struct ch_msg *results) {
    const struct ch_registry *tools = &run->session->agent->registry;
    const struct ch_registry *own = ch_selection_own(run->session->selection);
    struct ch_loop_detector *detector = &run->acting->detector;
    struct ch_sv last = CH_SV("");
    uint32_t at = 0;
    for (uint32_t i = 0; i < run->reply->nblocks; i++) {
        const struct ch_block *call = &run->reply->blocks[i];
        if (call->type != CH_BLOCK_TOOL_CALL)
            continue;
        while (at < results->nblocks && results->blocks[at].type != CH_BLOCK_TOOL_RESULT)
            at++;
        struct ch_sv result = at < results->nblocks ? results->blocks[at++].text : CH_SV("");
        struct ch_block named;
        if (ch_call_by_name(own, call, &run->arena, &named))
            call = &named;
        last = call->name;
        bool unknown =
            !ch_registry_find(tools, last) && !(own && ch_registry_find(own, last));
        ch_loop_detector_call(detector, last, call->text, result, unknown);
    }
    enum ch_loop_verdict v = ch_loop_detector_turn(detector, &run->session->agent->loop_guard,
                                                   ch_msg_words(run->reply));
    if (v == CH_LOOP_VERDICT_FINE)
        return v;
    ch_buf_clear(ch_think_complaint(run));
    ch_buf_addf(ch_think_complaint(run), "%s: ", ch_loop_kind_name(detector->kind));
    ch_loop_detector_describe(detector, last, ch_think_complaint(run));
    if (v == CH_LOOP_VERDICT_END)
        ch_run_outcome_error(run, "%s", ch_buf_str(ch_think_complaint(run)));
    return v;
}

static void act_done(chela_run *run) {
    struct ch_batch_totals totals = ch_batch_totals(run->batch);
    struct ch_msg *m = ch_batch_message(run->batch, ch_run_now(run));
    ch_run_layer_note(run);
    struct ch_input in = {.kind = what_ended_it(run, &totals),
                          .calls = (unsigned)(totals.calls - totals.refused - totals.surplus),
                          .any_ok = totals.ok > 0,
                          .trailing_errors = (unsigned)totals.trailing_errors,
                          .over_limit = totals.refused > 0,
                          .terminated = totals.terminated,
                          .unfit = run->acting->unfit};
    if (in.kind == CH_IN_RESULTS && !run->acting->written) /* plans end by themselves and are not
                                                              watched for loops */
        in.loop = watch(run, m);
    run->acting->unfit = false;
    ch_labels_join(&run->session->labels, &run->acting->labels); /* for the next reply */
    ch_act_drop(run);
    run->stop = CH_IN_INPUT;
    ch_run_interrupted(run);
    if (ch_transcript_add_results(&run->session->transcript, m) < 0) {
        ch_context_budget_rewritten(run->session);
        run->reply = NULL; /* prevents a second execution of the calls */
        ch_driver_break(run, &(struct chela_error){.message = "the session's history is full"});
        return;
    }
    if (in.kind == CH_IN_CANCEL && !*ch_run_error(run))
        ch_run_outcome_error(run, "stopped by a hook");
    if (in.loop == CH_LOOP_VERDICT_NOTE)
        ch_emit_warning(run, "%s", ch_buf_str(ch_think_complaint(run)));
    if (in.kind == CH_IN_RESULTS && !run->dead && !ch_features_results(run, &in))
        return;
    if (!run->dead)
        ch_driver_step(run, &in);
}
