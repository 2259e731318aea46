/* parent.c -- see parent.h. */
#include "agent/run/parent.h"

#include "agent/handle/hooks.h"
#include "agent/journal/emit.h"
#include "agent/journal/journal_replay.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/event.h"
#include "agent/machine/run.h"
#include "tool/call/call.h"

/* --- limits ------------------------------------------------------------------------ */

/* The limit of a child's counter: its own limit, or `counted` plus the rest of the parent's limit,
 * if that is smaller. counted: the child's use that used_above includes. Negative: no limit. */
static int64_t tighter(int64_t own, int64_t counted, int64_t above, int64_t used_above) {
    if (above < 0)
        return own;
    int64_t most = counted + CH_MAX(above - used_above, 0);
    return own < 0 ? most : CH_MIN(own, most);
}

static double tighter_cost(double own, double counted, double above, double used_above) {
    if (above < 0)
        return own;
    double most = counted + CH_MAX(above - used_above, 0);
    return own < 0 ? most : CH_MIN(own, most);
}

void ch_parent_bind(const chela_run *above, chela_run *run) {
    run->permit.ask_means = CH_MAX(run->permit.ask_means, above->permit.ask_means);
    run->permit.forgets |= above->permit.forgets;
}

static int64_t tokens(const struct ch_usage *u) {
    return u->input + u->output;
}

void ch_parent_bound_child(chela_run *run, chela_run *above) {
    const struct ch_run_limits *own = &run->session->agent->limits;
    struct ch_run *m = &run->m;
    ch_parent_bound(above); /* twice CH_LIMIT_DELEGATE_DEPTH deep at most, and a role */
    const struct ch_run *up = &above->m;
    const struct ch_child_run *child = run->session->child;
    const struct ch_spent role = {.usage = m->usage, .cost = m->cost};
    const struct ch_spent *counted = child ? &child->spent : &role;
    m->limits.token_budget = tighter(own->token_budget, tokens(&counted->usage),
                                     up->limits.token_budget, tokens(&up->usage));
    m->limits.cost_budget =
        tighter_cost(own->cost_budget, counted->cost, up->limits.cost_budget, up->cost);
    if (!child) /* turns of a role are not counted */
        return;
    m->limits.max_turns = tighter(own->max_turns, counted->turns, up->limits.max_turns,
                                  (int64_t)up->turns + up->below.turns);
    m->limits.max_tool_calls =
        tighter(own->max_tool_calls, counted->tool_calls, up->limits.max_tool_calls,
                (int64_t)up->tool_calls + up->below.tool_calls);
}

static void add_spent(struct ch_spent *to, const struct ch_spent *s) {
    ch_run_add_usage(&to->usage, &s->usage);
    to->cost += CH_MAX(s->cost, 0);
    to->turns += s->turns;
    to->tool_calls += s->tool_calls;
}

static void charge(chela_run *run, const struct ch_spent *s) {
    ch_run_spend(&run->m, &s->usage, s->cost);
    run->m.below.turns += s->turns;
    run->m.below.tool_calls += s->tool_calls;
}

void ch_parent_charge(struct ch_child_run *c, const struct ch_spent *s) {
    for (; c && c->run; c = c->run->session->child) {
        charge(c->run, s);
        add_spent(&c->spent, s);
    }
}

bool ch_parent_used(const struct chela_event *ev, struct ch_spent *out) {
    *out = (struct ch_spent){0};
    if (ev->type == CHELA_EV_TOOL_RESULT)
        out->tool_calls = 1;
    else if (ev->type == CHELA_EV_TURN_END)
        *out = (struct ch_spent){.usage = ch_own_usage(&ev->turn.usage),
                                 .cost = ev->turn.usage.cost_usd,
                                 .turns = 1};
    return out->turns || out->tool_calls;
}

void ch_parent_child_ended(chela_run *run) {
    run->nchildren++;
}

struct ch_spent ch_parent_spent_below(const chela_run *run) {
    struct ch_spent all = {0};
    for (CH_LIST_EACH(k, &run->children))
        add_spent(&all, &CH_CONTAINER(k, struct ch_child_run, link)->spent);
    return all;
}

/* --- progress ---------------------------------------------------------------------- */

void ch_parent_moved_on(chela_run *run) {
    for (; run; run = ch_parent_of(run)) {
        if (!ch_run_journal_recoveries(run) || run->m.state != CH_RUN_ACT || run->dead)
            continue;
        ch_run_journal_recovered(run, 0);
        ch_run_journal_acting(run, CH_SYNC_COMMIT); /* its next record may be far off */
    }
}

/* --- events ------------------------------------------------------------------------ */

void ch_parent_tell(chela_run *run, const struct chela_event *ev) {
    if (!run->dead && run->on_event)
        run->on_event(ev, run->user);
}

/* --- questions ---------------------------------------------------------------------- */

static size_t index_of(const struct ch_child_run *c) {
    return ch_msg_call_index(c->run->reply, c->call->block);
}

/* A decision that was made before the parent was resumed. */
static bool recall_decision(const chela_run *above, struct chela_approval *a) {
    const struct ch_replay_below *b =
        above->past ? ch_journal_replay_asked(above->past, ch_unstr(a->approval_id)) : NULL;
    if (!b || b->decision == CHELA_UNDECIDED)
        return false;
    a->decision = b->decision;
    a->reason = b->reason;
    return true;
}

static void settle_above(const chela_run *run, const struct chela_approval *a) {
    CH_AUTOFREE char *id = ch_strndup(a->approval_id.p, a->approval_id.n);
    for (const chela_run *r = ch_parent_of(run); r; r = ch_parent_of(r))
        ch_run_journal_answered(r->session, id, a->decision, a->reason);
}

/* A plan's step has the same hooks as its parent, so they were asked already. */
static bool hooks_asked(const struct ch_child_run *c) {
    return c->session->agent->base == c->run->session->agent;
}

chela_run *ch_parent_ask(chela_run *run, struct chela_approval *a,
                         const unsigned char digest[CH_SHA256_SIZE]) {
    for (struct ch_child_run *c = run->session->child; c; c = c->run->session->child) {
        chela_run *above = c->run;
        if (above->dead || recall_decision(above, a))
            return NULL;
        ch_run_journal_asked_below(above, index_of(c), c->session->key, a, digest);
        if (!ch_emit_approval(above, a))
            return NULL;
        if (!hooks_asked(c) && !ch_hook_approve(above, a))
            return above;
        if (a->decision != CHELA_UNDECIDED) {
            settle_above(run, a);
            return NULL;
        }
    }
    return NULL;
}

void ch_parent_left(chela_run *run, const struct ch_block *call) {
    for (struct ch_child_run *c = run->session->child; c; c = c->run->session->child) {
        chela_run *above = c->run;
        const struct ch_replay_below *b =
            above->past ? ch_journal_replay_left(above->past, call->id) : NULL;
        if (b && b->answer) {
            ch_batch_answer(run->batch, call->id, ch_sv_str(b->answer), b->is_error, NULL);
            return;
        }
        ch_run_journal_left_below(above, index_of(c), c->session->key, call);
        ch_emit_call(above, CHELA_EV_CLIENT_TOOL_REQUIRED, call);
        if (above->dead)
            return;
    }
}

/* --- answers -------------------------------------------------------------------------- */

struct ch_batch_waits ch_run_waits(const chela_run *run) {
    struct ch_batch_waits all = {0};
    if (ch_run_stops(run)) /* an interrupted run ends without answers */
        return all;
    if (run->batch)
        all = ch_batch_waits(run->batch);
    for (CH_LIST_EACH(k, &run->children)) {
        const struct ch_child_run *c = CH_CONTAINER(k, struct ch_child_run, link);
        if (!c->session->run)
            continue;
        struct ch_batch_waits w = ch_run_waits(c->session->run);
        all.answers += w.answers;
        all.approvals += w.approvals;
        all.questions += w.questions;
        if (w.timers)
            all.due = all.timers ? CH_MIN(all.due, w.due) : w.due;
        all.timers += w.timers;
    }
    return all;
}

