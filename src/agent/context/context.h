/* context.h -- the system prompt, and the note at the end of a request.
 *
 * The system prompt is made for the first request of a session and then kept. A new one is
 * made only if the agent's rights, the channel, or the size class of the model change.
 * Other changes, and what holds for one request only, go into a note at the end of the
 * request; later requests do not repeat the note. */
#ifndef CH_AGENT_CONTEXT_H
#define CH_AGENT_CONTEXT_H
#include "agent/handle/run.h"

/* Reads the prompt options of an agent; texts are copied to its arena. */
int ch_context_configure(chela_agent *a, const struct ch_agent_opts *o,
                         struct chela_error *err);

/* The system prompt, borrowed from the session. Increments the session's revision if the
 * text changed. NULL: the run was closed meanwhile. */
const char *ch_context_system(chela_run *run);
/* Fingerprint of the same text, "system@VERSION#...", borrowed. Emits no event. */
const char *ch_context_fingerprint(chela_run *run);
/* The note, in the run's arena; may be empty. */
struct ch_sv ch_context_note(chela_run *run);

/* Prepares a text from a channel as input of a run: "/skill NAME ..." of a sender who may
 * read files loads that skill. CHELA_EINVAL, CHELA_ENOENT: err is a text for the sender. */
int ch_context_words(const chela_agent *a, const char *channel, const char *sender,
                     struct ch_sv text, struct ch_buf *out, struct chela_error *err);

void ch_context_release(struct ch_context *c);
void ch_context_forget(chela_agent *a); /* releases what configure made */

#endif
