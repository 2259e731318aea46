/* recall.h -- searches memory for a run's input.
 *
 * If the operator gave memory a share of the request, notes and past turns are searched for
 * the user's text before the first model call, on a worker thread. The matches and their
 * sources become part of the note at the end of the run's requests, and never of the
 * history. */
#ifndef CH_AGENT_RECALL_H
#define CH_AGENT_RECALL_H
#include "agent/handle/run.h"
#include "tool/registry/settings.h"

/* The agent has a memory, and the operator gave it a share of the request. */
static inline bool ch_recall_wanted(const chela_run *run) {
    const struct ch_tool_settings *s = run->session->agent->settings;
    return s && s->memory && s->memory_inject > 0;
}

/* False: a search is running; done is called later. Only if wanted. */
bool ch_recall_ready(chela_run *run, void (*done)(chela_run *run));
/* Only while run->recall is set: */
void ch_recall_abort(chela_run *run);
void ch_recall_free(chela_run *run);
/* The text of the search results, in the run's arena; returned once. Empty: nothing was
 * found. */
struct ch_sv ch_recall_take(chela_run *run);

#endif
