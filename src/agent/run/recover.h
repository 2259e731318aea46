/* recover.h -- continues a run that an earlier process began. */
#ifndef CH_AGENT_RECOVER_H
#define CH_AGENT_RECOVER_H
#include "agent/handle/run.h"
#include "tool/call/batch.h"

int ch_recover_new(chela_session *s, const struct chela_run_opts *opts, chela_run **out,
                   struct chela_error *err);
/* The calls for which a stored run that paused waits, without those that wait for a time. */
struct ch_batch_waits ch_recover_waits(const chela_session *s);
/* Functions for a stored run that was not resumed yet. _may_answer returns 0 if the call takes an
 * answer of n bytes. _answer and _approve store the answer or the decision, which takes effect when
 * the run is resumed. */
int ch_recover_may_answer(const chela_session *s, struct ch_sv call_id, size_t n,
                          struct chela_error *err);
int ch_recover_answer(chela_session *s, struct ch_sv call_id, struct ch_sv content, bool is_error,
                      struct chela_error *err);
int ch_recover_approve(chela_session *s, const char *approval_id, enum chela_decision decision,
                       const char *reason, struct chela_error *err);

#endif
