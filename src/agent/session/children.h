/* children.h -- sessions of child runs: forwards decisions and answers to them, and closes
 * them. */
#ifndef CH_AGENT_CHILDREN_H
#define CH_AGENT_CHILDREN_H
#include "agent/run/parent.h"

/* For a call of a child: the first child that knows the call takes the decision or the
 * result. CHELA_ENOENT: no child knows it. */
int ch_children_approve(chela_run *run, const char *approval_id, enum chela_decision decision,
                        const char *reason, struct chela_error *err);
int ch_children_answer(chela_run *run, const char *call_id, struct ch_sv content, bool is_error,
                       struct chela_error *err);
/* 0 if a child takes an answer of n bytes, else the errors of ch_session_may_answer. */
int ch_children_may_answer(const chela_run *run, const char *call_id, size_t n,
                           struct chela_error *err);

/* Releases the references to the parent run and its call, which a child holds until it is
 * closed. */
void ch_children_detach(struct ch_child_run *c);
void ch_children_free(chela_session *s); /* frees the link of s to its parent */

#endif
