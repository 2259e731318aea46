/* children.h -- the sessions of runs below a run: decisions and answers that people
 * give to the run above, and the end of a child's session. */
#ifndef CH_AGENT_CHILDREN_H
#define CH_AGENT_CHILDREN_H
#include "agent/run/parent.h"

/* A call that is not the run's own: the first of its children that knows the call
 * takes the decision, or the result. CHELA_ENOENT: none knows it. */
int ch_children_approve(chela_run *run, const char *approval_id, enum chela_decision decision,
                        const char *reason, struct chela_error *err);
int ch_children_answer(chela_run *run, const char *call_id, struct ch_sv content, bool is_error,
                       struct chela_error *err);

/* The child is closed: it holds its caller's run and its call until then. */
void ch_children_detach(struct ch_child_run *c);
void ch_children_free(chela_session *s); /* what s knows of its caller */

#endif
