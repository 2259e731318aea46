/* context.h -- what a request says beside its messages and tools.
 *
 * The beginning, the system prompt, is made when a session makes its first
 * request and then stays as it is: only a change of what the agent may do, of
 * the channel, or from a large model to a small one makes another. What has
 * changed since, and what holds for one request alone, is told at its end, by a
 * note that no later request has. */
#ifndef CH_AGENT_CONTEXT_H
#define CH_AGENT_CONTEXT_H
#include "agent/handle/run.h"

/* How an agent's prompts are made; texts in its arena. */
int ch_context_configure(chela_agent *a, const struct chela_agent_opts *o,
                         struct chela_error *err);

/* Borrowed from the session. Raises its revision when it is another one than
 * before. NULL: the run was closed meanwhile. */
const char *ch_context_system(chela_run *run);
/* Of the same text, "system@VERSION#..."; likewise borrowed. Says nothing. */
const char *ch_context_fingerprint(chela_run *run);
/* In the run's arena; may be empty. */
struct ch_sv ch_context_note(chela_run *run);

/* What somebody wrote in a channel, as a run takes it: "/skill NAME ..." of one who
 * may have files read asks for that skill. CHELA_EINVAL, CHELA_ENOENT: for the
 * writer to read. */
int ch_context_words(const chela_agent *a, const char *channel, const char *sender,
                     struct ch_sv text, struct ch_buf *out, struct chela_error *err);

void ch_context_release(struct ch_context *c);
void ch_context_forget(chela_agent *a); /* what configure made */

#endif
