/* recover.c -- continues a run that an earlier process began.
 *
 * The session's replayed journal (journal_replay.h) has the state of the run. The machine is
 * set to that state and gets the missing input:
 *
 *   calls without result   a batch of all calls: known results are kept, `once`
 *                          calls that had started count as interrupted, the
 *                          others run with the idempotency keys they had
 *   all calls answered     the results go to the machine
 *   else                   the model is called
 *
 * A paused run knows the seq of its next event. The run emits no event before STATE running is
 * committed. If STATE cannot be stored, the events that report the failure have a run id of their
 * own (driver.c). A run that was cut off skips to a seq above every one that the earlier process
 * can have used. So no seq is used twice.
 *
 * Each attempt is counted and stored before it does anything. After
 * CH_LIMIT_RECOVERIES attempts without a model reply in this run or a child, the run
 * is parked. */
#include "agent/run/recover.h"

#include <stdio.h>

#include "agent/handle/run_origin.h"
#include "agent/journal/journal_replay.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/principal.h"
#include "agent/machine/queue.h"
#include "agent/machine/run.h"
#include "agent/run/act.h"
#include "agent/run/driver.h"
#include "agent/run/feature.h"
#include "agent/run/think.h"
#include "base/error.h"
#include "base/limits.h"
#include "tool/call/consent.h"
#include "tool/call/delivery.h"

/* --- state of the run ---------------------------------------------------------- */

static void refill(chela_run *run) {
    for (CH_LIST_EACH(k, &run->past->notes)) {
        struct ch_replay_note *n = CH_CONTAINER(k, struct ch_replay_note, link);
        if (n->alone || !n->msg->nblocks) /* messages outside of any run wait in input_queue.c */
            continue;
        struct ch_queue *q = n->follow_up ? &run->follow_ups : &run->steering;
        ch_queue_restore(q, CH_TAKE(n->msg));
        ch_queue_mark(q, n->seq);
        ch_queue_keep(q, n->answer_to);
        ch_queue_set_origin(q, &n->origin);
    }
}

/* Text that a `message` call delivered must not be sent again as the answer. */
static void recall_deliveries(chela_run *run) {
    struct ch_session_state *state = &run->session->state;
    struct ch_sv rest = ch_buf_sv(&run->past->delivered);
    char id[24];

    for (unsigned i = 0; rest.n; i++) {
        struct ch_sv text = ch_sv_split(&rest, '\0');
        snprintf(id, sizeof(id), "earlier-%u", i);
        ch_delivery_begin(state, run->id, ch_sv_str(id), text);
        ch_delivery_done(state, run->id, ch_sv_str(id));
    }
}

static void set_machine(chela_run *run) {
    const struct ch_journal_replay *p = run->past;
    bool waits = p->status == CH_REPLAY_PAUSED && p->reply; /* an imported journal may be
                                                               inconsistent */

    ch_run_restore(&run->m, &p->m, waits, p->reply || p->results);
    if (p->reply) {
        ch_think_reopen(run, p->turn.n, p->turn.stop);
        run->m.turn.usage = p->turn.usage;
        run->m.turn.cost = p->turn.cost;
    }
    if (p->status == CH_REPLAY_RUNNING)
        run->m.seq += CH_LIMIT_UNSTORED; /* skip numbers that the earlier process may have used */
}

/* --- continuing the run ----------------------------------------------------------- */

/* Counts successes and failures of results. A denied call counts as neither. */
static void count_results(const struct ch_msg *m, struct ch_input *in) {
    for (uint32_t i = 0; i < m->nblocks; i += 1u + m->blocks[i].span) {
        if (m->blocks[i].type != CH_BLOCK_TOOL_RESULT || m->blocks[i].flags & CH_F_DENIED)
            continue;
        bool failed = m->blocks[i].flags & CH_F_ERROR;
        in->any_ok |= !failed;
        in->trailing_errors = failed ? in->trailing_errors + 1 : 0;
    }
}

/* Tells the features about calls that have their result already. */
static void tell_settled(chela_run *run, const struct ch_msg *reply,
                         const struct ch_msg *results) {
    uint32_t at = 0;

    for (uint32_t i = 0; i < reply->nblocks; i++) {
        if (reply->blocks[i].type != CH_BLOCK_TOOL_CALL)
            continue;
        while (at < results->nblocks && results->blocks[at].type != CH_BLOCK_TOOL_RESULT)
            at++;
        if (at < results->nblocks)
            ch_features_call(run, &reply->blocks[i], CH_PHASE_SETTLED,
                             ch_result_failed(&results->blocks[at++]));
    }
}

static void resume_with_results(chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    size_t last = t->n - 1; /* messages may follow the results */
    struct ch_input in = {.kind = CH_IN_RESULTS,
                          .calls = run->past->answered,
                          .over_limit = run->past->refused > 0,
                          .terminated = run->past->terminated};

    while (last > 0 && t->msgs[last]->kind != CH_MSG_RESULTS)
        last--;
    count_results(t->msgs[last], &in);
    if (last > 0)
        tell_settled(run, t->msgs[last - 1], t->msgs[last]);
    ch_journal_replay_free(CH_TAKE(run->past));
    if (ch_features_results(run, &in))
        ch_driver_step(run, &in);
}

static bool ends_with_reply(const struct ch_transcript *t) {
    return t->n > 0 && t->msgs[t->n - 1]->kind == CH_MSG_ASSISTANT;
}

static void take_up(chela_run *run) {
    struct ch_sending *sending = ch_think_sending(run);
    sending->known_job = CH_TAKE(run->past->job.id);
    sending->known_model = CH_TAKE(run->past->job.model);
    run->reply = run->past->reply;
    run->target = run->session->agent->targets[run->m.model];
    if (run->m.state == CH_RUN_WAITING && run->reply) {
        ch_driver_step(run, &(struct ch_input){.kind = CH_IN_RESUMED});
    } else if (run->reply) {
        ch_act(run);
    } else if (run->past->results) {
        resume_with_results(run);
    } else {
        ch_journal_replay_free(CH_TAKE(run->past));
        ch_think_follow_up(run, ends_with_reply(&run->session->transcript));
        ch_driver_step(run, &(struct ch_input){.kind = CH_IN_INPUT});
    }
}

/* --- creating the run --------------------------------------------------------------- */

static int park(chela_session *s, chela_run *run, struct chela_error *err) {
    struct ch_run_counters *counters = ch_run_journal_counters(run);
    ch_run_journal_state(run, CH_REPLAY_PARKED, CH_SYNC_COMMIT);
    run->past->status = CH_REPLAY_PARKED;
    run->past->counters = *counters;
    *counters = (struct ch_run_counters){0};
    s->journal->past = CH_TAKE(run->past);
    ch_run_unref(run);
    return ch_fail(err, CHELA_ESTATE,
                   "session '%s' is parked: its run was cut off %d times at the same point", s->key,
                   CH_LIMIT_RECOVERIES + 1);
}

int ch_recover_new(chela_session *s, const struct chela_run_opts *opts, chela_run **out,
                   struct chela_error *err) {
    struct ch_journal_replay *p = s->journal->past;
    chela_run *run;

    if (p->status == CH_REPLAY_PARKED && !opts->insist)
        return ch_fail(err, CHELA_ESTATE,
                       "session '%s' is parked: its run was cut off too often", s->key);
    struct chela_run_opts bound = *opts;
    ch_principal_apply(&p->principal, &bound); /* with the principal that the run began with */
    if (opts->approve)
        bound.approve = opts->approve;
    int rc = ch_features_recall(s->agent, p->saved, err);
    if (rc == 0)
        rc = ch_run_new(s, &bound, p->saved, &run, err);
    if (rc < 0)
        return rc;
    run->past = CH_TAKE(s->journal->past);
    snprintf(run->id, sizeof(run->id), "%s", p->run);
    unsigned times = p->status == CH_REPLAY_PARKED ? 1 : p->recoveries;
    times += p->status == CH_REPLAY_RUNNING;
    ch_run_journal_recovered(run, times);
    run->nchildren = p->called;
    ch_run_recalled(run, p->began, p->mailed, take_up);
    set_machine(run);
    ch_run_journal_recall(run, p);
    if (times > CH_LIMIT_RECOVERIES)
        return park(s, run, err);
    ch_run_origin_recall(run, CH_TAKE(p->answer_to),
                         p->began == SIZE_MAX ? NULL : CH_TAKE(p->drop_if));
    ch_run_origin_answers(run, &p->origin, NULL);
    recall_deliveries(run);
    refill(run);
    *out = run;
    return 0;
}

struct ch_batch_waits ch_recover_waits(const chela_session *s) {
    struct ch_journal_replay *p = s->journal ? s->journal->past : NULL;
    struct ch_batch_waits w = {0};

    if (!p || p->status != CH_REPLAY_PAUSED)
        return w;
    for (size_t i = 0; i < p->ncalls; i++) {
        const struct ch_replay_call *c = &p->calls[i];
        bool asks = c->approval && c->decision == CHELA_UNDECIDED;
        bool lacks = !c->approval && !c->started && !c->state && !c->child;
        const struct ch_tool *tool =
            ch_registry_find(&s->agent->registry, ch_journal_replay_block(p, i)->name);
        w.approvals += !c->result && asks;
        w.answers += !c->result && lacks;
        w.questions += !c->result && lacks && tool && tool->flags & CHELA_TOOL_HUMAN;
    }
    for (const struct ch_replay_below *b = p->below; b; b = b->next) {
        bool waits = !b->answer && b->decision == CHELA_UNDECIDED;
        w.approvals += waits && b->approval;
        w.answers += waits && !b->approval;
        w.questions += waits && !b->approval;
    }
    return w;
}

/* --- answers before the run continues --------------------------------------------------- */

/* Finds the call that takes an answer of n bytes: the call *index of the run or, if *below is set,
 * a call of a run below. */
static int recover_find(struct ch_journal_replay *p, struct ch_sv id, size_t n, size_t *index,
                        struct ch_replay_below **below, struct chela_error *err) {
    bool answered = false;

    *below = NULL;
    for (size_t i = 0; i < p->ncalls; i++) {
        *index = i;
        if (!ch_sv_eq(ch_journal_replay_block(p, i)->id, id))
            continue;
        const struct ch_replay_call *c = &p->calls[i];
        bool asks = c->approval && c->decision == CHELA_UNDECIDED; /* waits for consent */
        answered |= c->result != NULL;
        if (!c->result && !c->started && !asks)
            return 0;
    }
    *below = ch_journal_replay_left(p, id);
    if (*below && !(*below)->answer && n <= CH_LIMIT_TOOL_OUTPUT)
        return 0;
    if (answered || *below)
        return ch_fail(err, CHELA_EEXIST, "call %.*s has a result already", CH_SV_FMT(id));
    return ch_fail(err, CHELA_ENOENT, "no call %.*s waits for a result", CH_SV_FMT(id));
}

int ch_recover_may_answer(const chela_session *s, struct ch_sv id, size_t n,
                          struct chela_error *err) {
    struct ch_replay_below *below;
    size_t index;
    return recover_find(s->journal->past, id, n, &index, &below, err);
}

int ch_recover_answer(chela_session *s, struct ch_sv id, struct ch_sv content, bool is_error,
                      struct chela_error *err) {
    struct ch_journal_replay *p = s->journal->past;
    struct ch_replay_below *below;
    size_t i = 0;
    int rc = recover_find(p, id, content.n, &i, &below, err);

    if (rc < 0)
        return rc;
    if (below) {
        CH_AUTOFREE char *call_id = ch_strndup(id.p, id.n);
        below->answer = ch_strndup(content.p, content.n);
        below->is_error = is_error;
        ch_run_journal_answered_below(s, call_id, content, is_error);
        return 0;
    }
    const struct ch_block *call = ch_journal_replay_block(p, i);
    struct ch_block b = {.type = CH_BLOCK_TOOL_RESULT,
                         .flags = is_error ? CH_F_ERROR : 0,
                         .id = call->id,
                         .name = call->name,
                         .text = content};
    p->calls[i].result =
        ch_msg_new(CH_MSG_RESULTS, &b, 1, ch_now_ms(ch_loop_clock(s->agent->rt->loop)));
    p->calls[i].ran = true;
    ch_run_journal_answer(s, i, p->calls[i].result);
    return 0;
}

/* Validates edited arguments, if the tool is known here. */
static int check_edit(const chela_session *s, struct ch_sv tool, const char *arguments,
                      struct chela_error *err) {
    return ch_consent_fits(ch_registry_find(&s->agent->registry, tool), arguments, err);
}

int ch_recover_approve(chela_session *s, const char *approval_id, enum chela_decision decision,
                       const char *reason, struct chela_error *err) {
    struct ch_journal_replay *p = s->journal->past;

    for (size_t i = 0; i < p->ncalls; i++) {
        struct ch_replay_call *c = &p->calls[i];
        if (!c->approval || strcmp(c->approval, approval_id) != 0)
            continue;
        if (c->decision != CHELA_UNDECIDED || c->result)
            return ch_fail(err, CHELA_EEXIST, "approval %s was decided before", approval_id);
        if (decision == CHELA_ALLOW_ALWAYS && !c->remember)
            return ch_fail(err, CHELA_EPERM, "this call cannot be allowed always");
        if (decision == CHELA_EDIT && check_edit(s, ch_sv_str(c->name), reason, err) < 0)
            return CHELA_EINVAL;
        c->decision = decision;
        c->reason = ch_strdup(reason);
        ch_run_journal_answered(s, approval_id, decision, reason);
        return 0;
    }
    struct ch_replay_below *b = ch_journal_replay_asked(p, ch_sv_str(approval_id));
    if (!b)
        return ch_fail(err, CHELA_ENOENT, "no call waits for approval %s", approval_id);
    if (b->decision != CHELA_UNDECIDED)
        return ch_fail(err, CHELA_EEXIST, "approval %s was decided before", approval_id);
    if (decision == CHELA_ALLOW_ALWAYS && !b->remember)
        return ch_fail(err, CHELA_EPERM, "this call cannot be allowed always");
    if (decision == CHELA_EDIT && ch_consent_fits(NULL, reason, err) < 0)
        return CHELA_EINVAL;
    b->decision = decision;
    b->reason = ch_strdup(reason);
    ch_run_journal_answered(s, approval_id, decision, reason);
    return 0;
}
