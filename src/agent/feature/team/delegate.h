/* delegate.h -- runs below a run: an agent as a tool of another, and a step of a
 * plan that is a run of its own.
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
#include "agent/handle/driver.h"

struct ch_spent {
    struct ch_usage usage;
    double cost;
    unsigned turns, tool_calls;
};

struct ch_child;

struct ch_child_kind { /* static */
    bool level; /* an agent that was called: a level of delegation, and told of as such */
    void (*write_task)(const struct ch_child *c, struct ch_buf *out); /* what it is to do */
};

struct ch_child {
    struct ch_link link;    /* in its caller's children */
    const struct ch_child_kind *kind;
    chela_run *run;         /* the caller; a reference; NULL once the child is closed */
    chela_call *call;       /* likewise */
    chela_session *session; /* owned: the child's */
    struct ch_spent spent;  /* by it and all below; in the caller's machine already */
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

/* --- child.c */
/* Key of the session of a call of this tool, in the arena; NULL: its calls are no
 * runs. */
const char *ch_child_key(const char *session, const struct ch_tool *t, const char *call_key,
                         struct ch_arena *a);

/* For the ch_tool_ops of calls that are runs, which wind down. In `start`: open
 * one, or go on with the one that call->doing is. Each leads to a result. */
void ch_child_open(const struct ch_child_kind *kind, chela_call *call, chela_run *run,
                   chela_agent *to);
void ch_child_go_on(chela_call *call);
void ch_child_refuse(chela_call *call, const char *type, const char *why);
void ch_child_cancel(chela_call *call);
void ch_child_abandon(chela_call *call);

/* Nobody who is bound above is less bound below. */
void ch_child_bind(const chela_run *above, chela_run *run);
void ch_child_free(chela_session *s); /* what s knows of its caller */

/* --- delegate.c */
/* Tools that the child must not have, after those that are `denied` (NULL: none):
 * who must not call others is not told that it could. */
void ch_delegate_withhold(const struct ch_child *c, const char *denied, struct ch_buf *out);
/* It counts for who called it from now on. Those at work are counted where they are
 * found: one that is taken up again after a crash is still one. */
void ch_delegate_ended(const struct ch_child *c);

/* --- parent.c */
/* Before a step: no more than what is left above. */
void ch_child_bound(chela_run *run);
/* What live children used is not the run's yet, as far as the journal goes: they
 * bring it along when they are found again. */
struct ch_spent ch_children_spent(const chela_run *run);

/* The model answered the run, which is progress of all above: whatever is cut off from
 * here on is cut off at another point (recover.c). */
void ch_child_moved_on(chela_run *run);

/* An event from below is told to whoever hears those of `run`. */
void ch_child_tell(chela_run *run, const struct chela_event *ev);
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

#endif
