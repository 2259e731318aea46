/* parent.h -- a run and the run whose call it is.
 *
 * Limits and cancellation go down; usage, questions and extensions of the deadline go
 * up. A child may use what is left of the limits of every run above it; that is
 * computed before each of its steps, so children side by side share the limits.
 *
 * Questions of a child are asked in the name of every run above it, and stored there:
 * whoever answers need not know that there is a child. */
#ifndef CH_AGENT_PARENT_H
#define CH_AGENT_PARENT_H
#include "agent/handle/run.h"

struct ch_child_run;

struct ch_child_kind { /* static */
    bool level; /* an agent that was called: a level of delegation, and told of as such */
    void (*write_task)(const struct ch_child_run *c, struct ch_buf *out); /* what it is to do */
};

struct ch_child_run {
    struct ch_link link;    /* in its caller's children */
    const struct ch_child_kind *kind;
    chela_run *run;         /* the caller; a reference; NULL once the child is closed */
    chela_call *call;       /* likewise */
    chela_session *session; /* owned: the child's */
    struct ch_spent spent;  /* by it and all below; in the caller's machine already */
};

/* Who called the run; NULL: nobody. */
static inline chela_run *ch_parent_of(const chela_run *run) {
    return run->session->child ? run->session->child->run : NULL;
}
/* The conversation that people see. */
static inline chela_session *ch_parent_root(const chela_run *run) {
    while (ch_parent_of(run))
        run = ch_parent_of(run);
    return run->session;
}

/* Nobody who is bound above is less bound below. */
void ch_parent_bind(const chela_run *above, chela_run *run);

/* Before a step: no more than what is left above. */
void ch_parent_bound(chela_run *run);
void ch_parent_child_ended(chela_run *run); /* one more agent that the run called */
/* What live children used is not the run's yet, as far as the journal goes: they
 * bring it along when they are found again. */
struct ch_spent ch_parent_spent_below(const chela_run *run);

/* A model answered a run below `run`. That is progress of `run` and of all above it, so
 * their counts of recoveries (recover.c) begin anew. */
void ch_parent_moved_on(chela_run *run);

/* An event from below is told to whoever hears those of `run`. */
void ch_parent_tell(chela_run *run, const struct chela_event *ev);
/* What an event says was used; false: nothing. */
bool ch_parent_used(const struct chela_event *ev, struct ch_spent *out);
/* The child used it: it counts for all above. */
void ch_parent_charge(struct ch_child_run *c, const struct ch_spent *s);

/* The call of a run waits: everybody above is told, and may answer at once. Returns the
 * run above that a hook stops; NULL: none. */
chela_run *ch_parent_ask(chela_run *run, struct chela_approval *a,
                         const unsigned char digest[CH_SHA256_SIZE]);
void ch_parent_left(chela_run *run, const struct ch_block *call);

/* What the run and those below it wait for. */
struct ch_batch_waits ch_run_waits(const chela_run *run);

#endif
