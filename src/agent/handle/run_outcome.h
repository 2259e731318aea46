/* run_outcome.h -- the answer and the error text that a run ends with. */
#ifndef CH_AGENT_RUN_OUTCOME_H
#define CH_AGENT_RUN_OUTCOME_H
#include "agent/handle/run.h"

/* Replace the answer so far. */
static inline void ch_run_outcome_text(chela_run *run, struct ch_sv text) {
    ch_buf_clear(&run->text);
    ch_buf_add_sv(&run->text, text);
}
/* Replace the answer so far by the visible text of a reply, or by a refusal's text if it has no
 * other. False: m, which may be NULL, has no text, and the answer stays. */
bool ch_run_outcome_take_text(chela_run *run, const struct ch_msg *m);
/* Append to the answer so far. */
static inline void ch_run_outcome_add(chela_run *run, struct ch_sv text) {
    ch_buf_add_sv(&run->text, text);
}
/* Replace the error. Later errors are written to the same memory, so a pointer to the text
 * stays valid as long as the run. */
void ch_run_outcome_error(chela_run *run, const char *fmt, ...) CHELA_PRINTF(2, 3);
void ch_run_outcome_clear_error(chela_run *run);
/* If a limit of the run is its reason, the error names the limit and its option, unless there is
 * an error already. */
void ch_run_outcome_limit(chela_run *run);

#endif
