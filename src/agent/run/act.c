/* act.c -- the tool calls of one reply, from start to results. */
#include <stdio.h>

#include "agent/feature/heartbeat/beat.h"
#include "agent/feature/team/delegate.h"
#include "agent/feature/team/handoff.h"
#include "agent/journal/run_journal.h"
#include "agent/context/tool_embedding.h"
#include "agent/feature/mode/mode.h"
#include "tool/call/delivery.h"

void ch_act_tell(chela_run *run, enum chela_event_type type, const struct ch_block *call) {
    struct chela_event ev = {.type = type,
                             .call = {.id = ch_str(call->id),
                                      .name = ch_str(call->name),
                                      .arguments = ch_str(call->text)}};
    ch_emit(run, &ev);
}

size_t ch_act_index(const chela_run *run, const struct ch_block *call) {
    size_t n = 0;
    for (const struct ch_block *b = run->reply->blocks; b < call; b++)
        n += b->type == CH_BLOCK_TOOL_CALL;
    return n;
}

static char *dup_opt(const char *s) {
    return s ? ch_strdup(s) : NULL;
}

static enum ch_before before(const struct ch_block *call, char **arguments, char **feedback,
                             void *user) {
    chela_run *run = user;
    struct chela_before_tool b = {
        .id = ch_str(call->id), .name = ch_str(call->name), .arguments = ch_str(call->text)};
    if (run->dead || !ch_hook_before_tool(run, &b))
        return CH_BEFORE_STOP;
    if (b.action == CHELA_TOOL_SKIP) {
        *feedback = ch_strdup(b.feedback ? b.feedback : "This call was not allowed to run.");
        return CH_BEFORE_SKIP;
    }
    *arguments = dup_opt(b.new_arguments);
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
        *name = dup_opt(c.new_name);
        *arguments = dup_opt(c.new_arguments);
    }
    return CH_BEFORE_RUN;
}

bool ch_emit_approval(chela_run *run, const struct chela_approval *a) {
    struct chela_event ev = {.type = CHELA_EV_APPROVAL_REQUIRED,
                             .approval = {.approval_id = a->approval_id,
                                          .id = a->id,
                                          .name = a->name,
                                          .arguments = a->arguments,
                                          .summary = a->summary,
                                          .can_remember = a->can_remember}};
    return ch_emit(run, &ev);
}

/* Most decisions are about the call alone. */
static enum chela_decision heed(chela_run *run, enum chela_decision d, const char *words) {
    if (d == CHELA_TAKE_OVER)
        ch_take_over(run, words ? words : "");
    return d;
}

/* Everybody is told, and may decide there and then (chela_session_approve);
 * then the hooks are asked. */
static enum chela_decision ask(const struct ch_block *call, const struct ch_ask *asked,
                               char **reason, void *user) {
    chela_run *run = user;
    struct chela_approval a = {.approval_id = ch_str(ch_sv_str(asked->approval_id)),
                               .id = ch_str(call->id),
                               .name = ch_str(call->name),
                               .arguments = ch_str(asked->arguments),
                               .summary = ch_str(asked->summary),
                               .can_remember = !asked->obstacle};
    size_t index = ch_act_index(run, call);
    const struct ch_past_call *known = run->past ? &run->past->calls[index] : NULL;
    bool same = known && known->approval && strcmp(known->approval, asked->approval_id) == 0;
    bool denied = known && known->decision == CHELA_DENY; /* whatever it would run by now */
    if (denied || (same && known->decision != CHELA_UNDECIDED)) {
        *reason = dup_opt(known->reason);
        return heed(run, known->decision, known->reason);
    }
    if (!same)
        ch_keep_asked(run, index, &a, asked->digest);
    const struct ch_clock *clock = ch_loop_clock(run->loop);
    int64_t before = ch_mono_ms(clock);
    if (ch_stops(run) || !ch_emit_approval(run, &a))
        return CHELA_UNDECIDED;
    bool go = ch_hook_approve(run, &a);
    if (go && !run->dead && a.decision == CHELA_UNDECIDED)
        ch_child_ask(run, &a, asked->digest);
    if (run->dead)
        return CHELA_UNDECIDED;
    ch_run_extend(run, ch_mono_ms(clock) - before);
    if (!go) { /* the run ends; so does this call, with all others */
        ch_stop(run);
        return CHELA_UNDECIDED;
    }
    *reason = dup_opt(a.reason);
    if (a.decision != CHELA_UNDECIDED)
        ch_keep_answered(run->session, asked->approval_id, a.decision, a.reason);
    return heed(run, a.decision, a.reason);
}

/* Nothing that changes the world begins before it is stored that it will. */
static bool gate(const struct ch_block *call, enum chela_effect effect, const char *key,
                 void *user) {
    chela_run *run = user;
    size_t index = ch_act_index(run, call);
    if (run->dead) /* being closed: nothing begins any more */
        return false;
    if (!ch_kept(run))
        return true;
    if (!run->gates)
        run->gates = ch_alloc(ch_batch_totals(run->batch).calls * sizeof(*run->gates));
    run->gates[index] = ch_keep_started(run, index, call, effect, key);
    return false;
}

static void started(const struct ch_block *call, void *user) {
    ch_act_tell(user, CHELA_EV_TOOL_START, call);
    ch_mode_call(user, call, false, false);
}

static void progress(const struct ch_block *call, struct ch_sv text, void *user) {
    struct chela_event ev = {.type = CHELA_EV_TOOL_PROGRESS,
                             .note = {.text = ch_str(text), .id = ch_str(call->id)}};
    ch_emit(user, &ev);
}

static void used(int64_t tokens, void *user) {
    ch_meaning_charge(user, tokens);
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

static void after(const struct ch_result *r, char **content, void *user) {
    chela_run *run = user;
    if (run->dead)
        return;
    struct chela_event ev = result_event(r);
    struct chela_after_tool a = {.result = &ev};
    ch_hook_after_tool(run, &a);
    *content = dup_opt(a.content);
}

/* The final answer, when it is given by a tool. */
static void note_answer(chela_run *run, const struct ch_block *call, const struct ch_result *r) {
    if (!run->session->agent->output || !ch_sv_is(r->name, CH_OUTPUT_TOOL))
        return;
    run->unfit = r->is_error;
    ch_buf_clear(r->is_error ? &run->complaint : &run->text);
    if (r->is_error)
        snprintf(run->error, sizeof(run->error), "%s: the answer does not fit its schema",
                 run->target->spec);
    else
        ch_buf_add_sv(&run->text, r->details.n ? r->details : call->text);
}

static void store_result(chela_run *run, const struct ch_block *call, const struct ch_result *r) {
    const chela_agent *a = run->session->agent;
    size_t index = ch_act_index(run, call);
    if (run->dead || !ch_kept(run))
        return;
    const struct ch_tool *tool = ch_registry_find(&a->registry, call->name);
    struct ch_keep_done how = {.ran = r->attempts > 0 || (tool && !tool->ops),
                               .refused = index >= ch_run_calls_left(&run->m),
                               .effect = tool && tool->effect != CHELA_EFFECT_READ,
                               .delivered = ch_delivery_text(&run->session->state, run->id, r->id)};
    how.terminates =
        how.ran && !r->is_error && tool && (tool->flags & CHELA_TOOL_TERMINATES);
    struct ch_msg *m = ch_batch_result(run->batch, index, ch_run_now(run));
    ch_keep_done(run, index, m, &how);
    ch_msg_free(m);
}

static bool was_child(const chela_run *run, const struct ch_block *call) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_registry *tools = &run->session->agent->registry;
    return !run->dead && ch_child_key("", ch_registry_find(tools, call->name), "", &arena);
}

static void finished(const struct ch_block *call, const struct ch_result *r, void *user) {
    chela_run *run = user;
    struct chela_event ev = result_event(r);
    note_answer(run, call, r);
    if (r->is_error)
        ch_course_failed(&run->course, run->m.turns, r->name, r->error_type, r->content);
    if (!r->is_error)
        ch_delivery_done(&run->session->state, run->id, r->id);
    store_result(run, call, r);
    if (was_child(run, call)) /* what it used is the run's from now on */
        ch_keep_acting(run, CH_SYNC_LATER);
    if (ch_emit(run, &ev))
        ch_mode_call(run, call, true, r->is_error || r->denied);
}

/* The host may answer there and then, after asking a person. */
static void left_to_host(const struct ch_block *call, void *user) {
    chela_run *run = user;
    const struct ch_clock *clock = ch_loop_clock(run->loop);
    int64_t before = ch_mono_ms(clock);
    ch_act_tell(run, CHELA_EV_CLIENT_TOOL_REQUIRED, call);
    if (!run->dead)
        ch_child_left(run, call);
    if (!run->dead)
        ch_run_extend(run, ch_mono_ms(clock) - before);
}

static void over(size_t waiting, void *user) {
    chela_run *run = user;
    if (run->dead)
        return;
    struct ch_batch_waits waits = ch_run_waits(run);
    if (waiting)
        ch_drive(run, &(struct ch_input){.kind = CH_IN_UNANSWERED,
                                         .approvals = waits.approvals > 0,
                                         .questions = waits.questions == waits.answers});
    else
        ch_act_done(run);
}

static const struct ch_batch_ops ops = {
    .before = before,
    .invalid = invalid,
    .ask = ask,
    .gate = gate,
    .started = started,
    .progress = progress,
    .used = used,
    .after = after,
    .finished = finished,
    .client = left_to_host,
    .over = over,
};

void ch_act(chela_run *run) {
    chela_session *s = run->session;
    const chela_agent *a = s->agent;
    struct ch_batch_opts opts = {.loop = run->loop,
                                 .workers = a->rt->workers,
                                 .registry = &a->registry,
                                 .workspace = a->workspace,
                                 .session = s->key,
                                 .run = run->id,
                                 .turn = run->m.turns,
                                 .parallel = a->parallel,
                                 .max_calls = ch_run_calls_left(&run->m),
                                 .policy = &run->policy,
                                 .approvals = a->approvals,
                                 .ask_means = run->ask_means,
                                 .memory = run->forgets ? NULL : &ch_run_root(run)->memory,
                                 .sandbox = a->sandbox,
                                 .jobs = s->jobs,
                                 .window = ch_target_window(run->target),
                                 .state = &s->state,
                                 .channel = s->channel.name ? &s->channel : NULL,
                                 .finder = ch_selection_finder(s->selection),
                                 .ops = &ops,
                                 .user = run};
    run->batch = ch_batch_start(run->reply, &opts);
    if (run->past)
        ch_recover_batch(run);
    if (run->steering.n > 0)
        ch_batch_skip(run->batch, "Skipped: a new message from the user came first.");
}

/* A hook's halt, a cancel and the deadline all wait for this moment, so that
 * the transcript has a result for every call. */
static enum ch_in what_ended_it(chela_run *run, const struct ch_batch_totals *t) {
    if (run->interrupt != CH_IN_INPUT)
        return run->interrupt;
    if (ch_stops(run))
        return run->stop;
    return t->stop ? CH_IN_CANCEL : CH_IN_RESULTS;
}

static struct ch_sv said(const struct ch_msg *reply) {
    for (uint32_t i = 0; i < reply->nblocks; i++)
        if (reply->blocks[i].type == CH_BLOCK_TEXT)
            return reply->blocks[i].text;
    return CH_SV("");
}

/* The guard sees calls and results in the order of the calls. */
static enum ch_guard_verdict watch(chela_run *run, const struct ch_msg *results) {
    const struct ch_registry *tools = &run->session->agent->registry;
    struct ch_sv last = CH_SV("");
    uint32_t at = 0;
    for (uint32_t i = 0; i < run->reply->nblocks; i++) {
        const struct ch_block *call = &run->reply->blocks[i];
        if (call->type != CH_BLOCK_TOOL_CALL)
            continue;
        while (at < results->nblocks && results->blocks[at].type != CH_BLOCK_TOOL_RESULT)
            at++;
        struct ch_sv result = at < results->nblocks ? results->blocks[at++].text : CH_SV("");
        last = call->name;
        ch_guard_call(&run->guard, last, call->text, result, !ch_registry_find(tools, last));
    }
    enum ch_guard_verdict v = ch_guard_turn(&run->guard, said(run->reply));
    if (v == CH_GUARD_FINE)
        return v;
    ch_buf_clear(&run->complaint);
    ch_buf_addf(&run->complaint, "%s: ", ch_loop_name(run->guard.kind));
    ch_guard_describe(&run->guard, last, &run->complaint);
    if (v == CH_GUARD_END)
        snprintf(run->error, sizeof(run->error), "%s", ch_buf_str(&run->complaint));
    return v;
}

void ch_act_done(chela_run *run) {
    struct ch_batch_totals totals = ch_batch_totals(run->batch);
    struct ch_msg *m = ch_batch_message(run->batch, ch_run_now(run));
    struct ch_input in = {.kind = what_ended_it(run, &totals),
                          .calls = (unsigned)(totals.calls - totals.refused),
                          .any_ok = totals.ok > 0,
                          .trailing_errors = (unsigned)totals.trailing_errors,
                          .over_limit = totals.refused > 0,
                          .terminated = totals.terminated && ch_beat_ends(run),
                          .unfit = run->unfit};
    if (in.kind == CH_IN_RESULTS && !ch_mode_acts(run)) /* a plan has an end by itself */
        in.loop = watch(run, m);
    run->unfit = false;
    ch_batch_close(run->batch);
    run->batch = NULL;
    ch_free(CH_TAKE(run->gates));
    ch_past_free(CH_TAKE(run->past));
    run->stop = run->interrupt = CH_IN_INPUT;
    if (ch_transcript_add(&run->session->transcript, m) < 0) {
        run->reply = NULL; /* its calls are not made once more */
        ch_break(run, &(struct chela_error){.message = "the session's history is full"});
        return;
    }
    if (in.kind == CH_IN_CANCEL && !run->error[0])
        snprintf(run->error, sizeof(run->error), "stopped by a hook");
    if (in.loop == CH_GUARD_NOTE)
        ch_warn(run, "%s", ch_buf_str(&run->complaint));
    if (in.kind == CH_IN_RESULTS && !run->dead && !ch_handoff(run))
        return;
    if (!run->dead)
        ch_drive(run, &in);
}
