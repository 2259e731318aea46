/* recover.c -- going on with a run that an earlier process began.
 *
 * What is known is in the session's past (journal_replay.h); the machine is set to where
 * it was and fed with what is missing:
 *
 *   calls without result   a batch of all calls: known results are settled,
 *                          `once` calls that had begun are interrupted, the
 *                          others run, with the idempotency keys they had
 *   all calls answered     the results go to the machine
 *   else                   the model is asked
 *
 * The number of its next event is known if it was paused. If it was cut off it
 * is one above all that the earlier life can have told: none is given out twice.
 *
 * Each attempt is counted before it does anything. After CH_LIMIT_RECOVERIES
 * without a reply of the model in between, here or below, the run is parked. */
#include <stdio.h>

#include "agent/feature/heartbeat/beat.h"
#include "agent/feature/team/handoff.h"
#include "agent/journal/run_journal.h"
#include "agent/feature/mode/mode.h"
#include "base/error.h"
#include "base/limits.h"
#include "tool/call/consent.h"
#include "tool/call/delivery.h"

/* --- taking it up -------------------------------------------------------------- */

static void refill(chela_run *run) {
    for (CH_LIST_EACH(k, &run->past->notes)) {
        struct ch_past_note *n = CH_CONTAINER(k, struct ch_past_note, link);
        if (n->alone || !n->msg->nblocks) /* the former waits in the session, input_queue.c */
            continue;
        struct ch_queue *q = n->follow_up ? &run->follow_ups : &run->steering;
        if (ch_queue_push(q, n->msg) < 0)
            continue; /* it waits in the journal */
        n->msg = NULL;
        ch_queue_mark(q, n->seq);
        ch_queue_keep(q, n->answer_to);
        ch_queue_about(q, &n->about);
    }
}

/* What it said through `message` is not said once more as its answer. */
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
    const struct ch_past *p = run->past;
    struct ch_run_limits limits = run->m.limits;

    run->m = p->m;
    run->m.limits = limits;
    if (p->status == CH_PAST_RUNNING)
        run->m.seq += CH_LIMIT_UNSTORED; /* past all that may have been told by then */
    if (run->m.model >= limits.models)
        run->m.model = 0;
    if (run->m.state == CH_RUN_THINK && run->m.turns > 0)
        run->m.turns--; /* the machine counts the call when it is made again */
    if (p->status != CH_PAST_PAUSED || run->m.state != CH_RUN_WAITING) /* an import may lie */
        run->m.state = p->reply || p->results ? CH_RUN_ACT : CH_RUN_OBSERVE;
    run->m.reason = CH_REASON_NONE;
}

static int park(chela_session *s, chela_run *run, struct chela_error *err) {
    ch_keep_state(run, CH_PAST_PARKED, CH_SYNC_COMMIT);
    run->past->status = CH_PAST_PARKED;
    s->keep->past = CH_TAKE(run->past);
    ch_run_unref(run);
    return ch_fail(err, CHELA_ESTATE,
                   "session '%s' is parked: its run was cut off %d times at the same point", s->key,
                   CH_LIMIT_RECOVERIES + 1);
}

int ch_recover_new(chela_session *s, const struct chela_run_opts *opts, chela_run **out,
                   struct chela_error *err) {
    struct ch_past *p = s->keep->past;
    chela_run *run;

    if (p->status == CH_PAST_PARKED && !opts->insist)
        return ch_fail(err, CHELA_ESTATE,
                       "session '%s' is parked: its run was cut off too often", s->key);
    struct chela_run_opts bound = *opts;
    ch_behalf_apply(&p->behalf, &bound); /* as it began */
    if (opts->approve)
        bound.approve = opts->approve;
    enum ch_mode mode;
    int rc = ch_mode_recall(s->agent, ch_buf_str(&p->mode), p->asks_plans, &mode, err);
    if (rc == 0)
        rc = ch_run_new(s, &bound, &run, err);
    if (rc < 0)
        return rc;
    run->mode = mode;
    run->past = CH_TAKE(s->keep->past);
    snprintf(run->id, sizeof(run->id), "%s", p->run);
    run->told = p->status;
    run->answer_to = CH_TAKE(p->answer_to);
    run->drop_if = p->began == SIZE_MAX ? NULL : CH_TAKE(p->drop_if);
    run->began = p->began;
    ch_about_move(&run->about, &p->about);
    run->recoveries = p->status == CH_PAST_PARKED ? 1 : p->recoveries;
    run->recoveries += p->status == CH_PAST_RUNNING;
    run->nchildren = p->called;
    run->handoffs = p->handoffs;
    set_machine(run);
    recall_deliveries(run);
    run->course = run->past->course;
    run->past->course = (struct ch_course){0};
    run->plan = run->past->plan;
    run->past->plan = (struct ch_buf){0};
    if (run->recoveries > CH_LIMIT_RECOVERIES)
        return park(s, run, err);
    refill(run);
    *out = run;
    return 0;
}

/* --- going on --------------------------------------------------------------------- */

/* What was denied is neither a success nor a failure. */
static void count_results(const struct ch_msg *m, struct ch_input *in) {
    for (uint32_t i = 0; i < m->nblocks; i += 1u + m->blocks[i].span) {
        if (m->blocks[i].flags & CH_F_DENIED)
            continue;
        bool failed = m->blocks[i].flags & CH_F_ERROR;
        in->any_ok |= !failed;
        in->trailing_errors = failed ? in->trailing_errors + 1 : 0;
    }
}

/* A reply that handed the conversation over may have been its agent's last. */
static void recall_handoff(chela_run *run, const struct ch_msg *reply,
                           const struct ch_msg *results) {
    uint32_t at = 0;

    for (uint32_t i = 0; i < reply->nblocks; i++) {
        if (reply->blocks[i].type != CH_BLOCK_TOOL_CALL)
            continue;
        while (at < results->nblocks && results->blocks[at].type != CH_BLOCK_TOOL_RESULT)
            at++;
        if (at < results->nblocks)
            ch_handoff_settled(run, &reply->blocks[i], results->blocks[at++].flags);
    }
}

static void resume_with_results(chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    size_t last = t->n - 1; /* messages may have been delivered behind them */
    struct ch_input in = {.kind = CH_IN_RESULTS,
                          .calls = run->past->answered,
                          .over_limit = run->past->refused > 0,
                          .terminated = run->past->terminated && ch_beat_ends(run)};

    while (last > 0 && t->msgs[last]->kind != CH_MSG_RESULTS)
        last--;
    count_results(t->msgs[last], &in);
    if (last > 0)
        recall_handoff(run, t->msgs[last - 1], t->msgs[last]);
    ch_past_free(CH_TAKE(run->past));
    if (ch_handoff(run))
        ch_drive(run, &in);
}

static bool ends_with_reply(const struct ch_transcript *t) {
    return t->n > 0 && t->msgs[t->n - 1]->kind == CH_MSG_ASSISTANT;
}

void ch_recover_begin(chela_run *run) {
    run->reply = run->past->reply;
    run->target = run->session->agent->targets[run->m.model];
    if (run->m.state == CH_RUN_WAITING && run->reply) {
        ch_drive(run, &(struct ch_input){.kind = CH_IN_RESUMED});
    } else if (run->reply) {
        ch_act(run);
    } else if (run->past->results) {
        run->m.state = CH_RUN_ACT;
        resume_with_results(run);
    } else {
        ch_past_free(CH_TAKE(run->past));
        run->m.state = CH_RUN_OBSERVE;
        run->deliver_follow_up = ends_with_reply(&run->session->transcript);
        ch_drive(run, &(struct ch_input){.kind = CH_IN_INPUT});
    }
}

static const struct ch_block *block_of(const struct ch_past *p, size_t index) {
    for (uint32_t i = 0; i < p->reply->nblocks; i++)
        if (p->reply->blocks[i].type == CH_BLOCK_TOOL_CALL && index-- == 0)
            return &p->reply->blocks[i];
    CH_UNREACHABLE();
}

void ch_recover_batch(chela_run *run) {
    const struct ch_past *p = run->past;

    for (size_t i = 0; i < p->ncalls; i++) {
        const struct ch_past_call *c = &p->calls[i];
        if (c->result) {
            ch_batch_settle(run->batch, i, c->result, c->ran);
            if (c->result->nblocks)
                ch_handoff_settled(run, block_of(p, i), c->result->blocks[0].flags);
        } else if (c->started && c->once) {
            ch_batch_interrupt(run->batch, i);
        } else if (c->approval) {
            ch_batch_recall(run->batch, i, c->approval, c->digest);
        }
    }
}

/* --- answers before it goes on ---------------------------------------------------------- */

int ch_recover_answer(chela_session *s, struct ch_sv id, struct ch_sv content, bool is_error,
                      struct chela_error *err) {
    struct ch_past *p = s->keep->past;
    bool answered = false;

    for (size_t i = 0; i < p->ncalls; i++) {
        const struct ch_block *call = block_of(p, i);
        if (!ch_sv_eq(call->id, id))
            continue;
        answered |= p->calls[i].result != NULL;
        if (p->calls[i].result || p->calls[i].started)
            continue;
        struct ch_block b = {.type = CH_BLOCK_TOOL_RESULT,
                             .flags = is_error ? CH_F_ERROR : 0,
                             .id = call->id,
                             .name = call->name,
                             .text = content};
        p->calls[i].result = ch_msg_new(CH_MSG_RESULTS, &b, 1, NULL, CH_SV(""),
                                        ch_now_ms(ch_loop_clock(s->agent->rt->loop)));
        p->calls[i].ran = true;
        ch_keep_answer(s, i, p->calls[i].result);
        return 0;
    }
    struct ch_past_below *b = ch_past_left(p, id);
    if (b && !b->answer && content.n <= CH_LIMIT_TOOL_OUTPUT) {
        CH_AUTOFREE char *call_id = ch_strndup(id.p, id.n);
        b->answer = ch_strndup(content.p, content.n);
        b->is_error = is_error;
        ch_keep_answered_below(s, call_id, content, is_error);
        return 0;
    }
    if (answered || b)
        return ch_fail(err, CHELA_EEXIST, "call %.*s has a result already", CH_SV_FMT(id));
    return ch_fail(err, CHELA_ENOENT, "no call %.*s waits for a result", CH_SV_FMT(id));
}

/* As far as it is known here which tool is meant. */
static int check_edit(const chela_session *s, struct ch_sv tool, const char *arguments,
                      struct chela_error *err) {
    return ch_consent_fits(ch_registry_find(&s->agent->registry, tool), arguments, err);
}

int ch_recover_approve(chela_session *s, const char *approval_id, enum chela_decision decision,
                       const char *reason, struct chela_error *err) {
    struct ch_past *p = s->keep->past;

    for (size_t i = 0; i < p->ncalls; i++) {
        struct ch_past_call *c = &p->calls[i];
        if (!c->approval || strcmp(c->approval, approval_id) != 0)
            continue;
        if (c->decision != CHELA_UNDECIDED || c->result)
            return ch_fail(err, CHELA_EEXIST, "approval %s was decided before", approval_id);
        if (decision == CHELA_ALLOW_ALWAYS && !c->remember)
            return ch_fail(err, CHELA_EPERM, "this call cannot be allowed always");
        if (decision == CHELA_EDIT && check_edit(s, ch_sv_str(c->name), reason, err) < 0)
            return CHELA_EINVAL;
        c->decision = decision;
        c->reason = reason ? ch_strdup(reason) : NULL;
        ch_keep_answered(s, approval_id, decision, reason);
        return 0;
    }
    struct ch_past_below *b = ch_past_asked(p, ch_sv_str(approval_id));
    if (!b)
        return ch_fail(err, CHELA_ENOENT, "nobody asked for approval %s", approval_id);
    if (b->decision != CHELA_UNDECIDED)
        return ch_fail(err, CHELA_EEXIST, "approval %s was decided before", approval_id);
    if (decision == CHELA_ALLOW_ALWAYS && !b->remember)
        return ch_fail(err, CHELA_EPERM, "this call cannot be allowed always");
    if (decision == CHELA_EDIT && ch_consent_fits(NULL, reason, err) < 0)
        return CHELA_EINVAL;
    b->decision = decision;
    b->reason = reason ? ch_strdup(reason) : NULL;
    ch_keep_answered(s, approval_id, decision, reason);
    return 0;
}
