/* parent.h -- the link between a run (child) and the run whose tool call it is (parent).
 *
 * Limits and cancellation go down; usage, questions and extensions of the deadline go up. A
 * child is limited to the remaining limits of every run above it. The rest is computed
 * before each step of the child, so parallel children share the limits. The run of a role
 * (feature/mode/role.h) is no child, but shares the budgets in the same way.
 *
 * Every run above a child asks the child's questions and stores them: a person who answers
 * need not know about the child. */
#ifndef CH_AGENT_PARENT_H
#define CH_AGENT_PARENT_H
#include "agent/handle/run.h"

struct ch_child_run;

struct ch_child_kind { /* static */
    bool level; /* a delegated agent: counts as a level, and emits child events */
    void (*write_task)(const struct ch_child_run *c, struct ch_buf *out); /* the child's input */
};

struct ch_child_run {
    struct ch_link link;    /* in its caller's children */
    const struct ch_child_kind *kind;
    chela_run *run;         /* the caller; a reference; NULL once the child is closed */
    chela_call *call;       /* the caller's call; NULL once the child is closed */
    chela_session *session; /* owned: the child's */
    bool brought_turn;      /* spent includes the turn of the child that is open */
    struct ch_spent spent;  /* by the child and all runs below it; already counted by the
                             * caller's machine */
};

/* The parent of the run; NULL: none. */
static inline chela_run *ch_parent_of(const chela_run *run) {
    return run->session->child ? run->session->child->run : NULL;
}
/* The session at the top, which people see. */
static inline chela_session *ch_parent_root(const chela_run *run) {
    while (ch_parent_of(run))
        run = ch_parent_of(run);
    return run->session;
}

/* Applies the parent's consent settings to the child, where they are stricter. */
void ch_parent_bind(const chela_run *above, chela_run *run);

/* Lowers the limits of a child to the remaining limits of the runs above. For a role's run,
 * `above` is the run that asks; the role shares its budgets. */
void ch_parent_bound_child(chela_run *run, chela_run *above);
/* Before a step of a run: lowers its limits to the remaining limits of the runs above, or to
 * the host's limit. */
static inline void ch_parent_bound(chela_run *run) {
    struct ch_spending *spending = run->session->spending;
    chela_run *above = run->session->asks_for ? run->session->asks_for : ch_parent_of(run);
    if (above)
        ch_parent_bound_child(run, above);
    else if (spending)
        spending->bound(spending, run);
}
void ch_parent_child_ended(chela_run *run); /* counts a child that has ended */
/* The usage of live children. The run's STATE record leaves it out, because the children
 * report it again when they are recovered. */
struct ch_spent ch_parent_spent_below(const chela_run *run);

/* A model answered a run below `run`. The answer is progress of `run` and of all runs above,
 * so their counts of recoveries (recover.c) restart at zero. */
void ch_parent_moved_on(chela_run *run);

/* Passes an event of a child to the listener of `run`. */
void ch_parent_tell(chela_run *run, const struct chela_event *ev);
/* The usage that an event reports; false: none. */
bool ch_parent_used(const struct chela_event *ev, struct ch_spent *out);
/* Charges usage of the child to every run above it. */
void ch_parent_charge(struct ch_child_run *c, const struct ch_spent *s);

/* A call of the run needs consent: every run above gets the event and may decide at once.
 * Returns a run above that a hook stopped; NULL: none. */
chela_run *ch_parent_ask(chela_run *run, struct chela_approval *a,
                         const unsigned char digest[CH_SHA256_SIZE]);
/* A call of the run is left to the host: every run above gets the event. */
void ch_parent_left(chela_run *run, const struct ch_block *call);

/* Number of answers that the run and its children wait for. */
struct ch_batch_waits ch_run_waits(const chela_run *run);

#endif
