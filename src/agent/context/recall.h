/* recall.h -- what is written down about a run's input, told with it.
 *
 * If the operator set room for it, notes and past turns are looked through for
 * what the user says, before the first model call and beside the loop. What is
 * found stands at the end of the requests of that run, with its sources, and
 * never becomes history. */
#ifndef CH_AGENT_RECALL_H
#define CH_AGENT_RECALL_H
#include "agent/handle/run.h"
#include "tool/registry/settings.h"

/* The agent has a memory, and the operator set room for what is found in it. */
static inline bool ch_recall_wanted(const chela_run *run) {
    const struct ch_tool_settings *s = run->session->agent->settings;
    return s && s->memory && s->memory_inject > 0;
}

/* False: it is being looked for; done follows, never from inside. Only if wanted. */
bool ch_recall_ready(chela_run *run, void (*done)(chela_run *run));
/* Only while run->recall is set: */
void ch_recall_abort(chela_run *run);
void ch_recall_free(chela_run *run);
/* What was found; empty: nothing. */
struct ch_sv ch_recall_text(const chela_run *run);

#endif
