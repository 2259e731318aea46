/* delegate.h -- an agent as a tool of another: runs below a run.
 *
 *   run --- calls `researcher` ---> child session, a run of the same machine
 *    ^                                | events, questions, what it used: up
 *    |<---- result of the call -------' cancel, answers, budgets: down
 *
 * A child has a session of its own whose key is made from the call's, so that a
 * call which is made again after a crash finds the child where it stood, goes on
 * with it, or takes the answer that it gave. It may use what is left of the
 * limits of everybody above it, looked at before each of its steps, so that
 * children side by side share them too.
 *
 * A child that waits for people lets its call rest (ch_call_rest), and its caller
 * waits in turn. What it asks is asked in the name of every run above it, and
 * stored there: whoever answers need not know that there is a child. */
#ifndef CH_AGENT_DELEGATE_H
#define CH_AGENT_DELEGATE_H
#include "agent/driver.h"

struct ch_spent {
    struct ch_usage usage;
    double cost;
    unsigned turns, tool_calls;
};

struct ch_child {
    struct ch_link link;    /* in its caller's children */
    chela_run *run;         /* the caller */
    chela_call *call;
    chela_session *session; /* owned: the child's */
    struct ch_spent spent;  /* by it and all below; in the caller's machine already */
    bool resting;
};

/* Who called the run; NULL: nobody. */
static inline chela_run *ch_run_above(const chela_run *run) {
    return run->session->child ? run->session->child->run : NULL;
}
/* The conversation that people see. */
static inline chela_session *ch_run_root(const chela_run *run) {
    while (ch_run_above(run))
        run = ch_run_above(run);
    return run->session;
}

/* Key of the session of a call of this tool, in the arena; NULL: it is no agent. */
const char *ch_child_key(const char *session, const struct ch_tool *t, const char *call_key,
                         struct ch_arena *a);

/* Nobody who is bound above is less bound below. */
void ch_child_bind(const chela_run *above, chela_run *run);
/* Before a step: no more than what is left above. */
void ch_child_bound(chela_run *run);
/* What live children used is not the run's yet, as far as the journal goes: they
 * bring it along when they are found again. */
struct ch_spent ch_children_spent(const chela_run *run);

/* An event from below is told to whoever hears those of `run`. */
void ch_child_tell(chela_run *run, const struct chela_event *ev);
/* The same for a run that another one is a part of (role.c): what the event says
 * was used counts for it and all above it. */
void ch_child_heard(chela_run *run, const struct chela_event *ev);
/* What an event says was used; false: nothing. */
bool ch_child_used(const struct chela_event *ev, struct ch_spent *out);
/* The child used it: it counts for all above. */
void ch_child_charge(struct ch_child *c, const struct ch_spent *s);

/* The call of a run waits: everybody above is told, and may answer at once. */
void ch_child_ask(chela_run *run, struct chela_approval *a,
                  const unsigned char digest[CH_SHA256_SIZE]);
void ch_child_left(chela_run *run, const struct ch_block *call);

/* What the run and those below it wait for. */
struct ch_batch_waits ch_run_waits(const chela_run *run);

/* For a call that is not the run's own: the first of its children that knows it.
 * CHELA_ENOENT: none does. */
int ch_children_approve(chela_run *run, const char *approval_id, enum chela_decision decision,
                        const char *reason, struct chela_error *err);
int ch_children_answer(chela_run *run, const char *call_id, struct ch_sv content, bool is_error,
                       struct chela_error *err);

void ch_child_free(chela_session *s); /* what s knows of its caller */

#endif
