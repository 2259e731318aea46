/* context.h -- the system prompt, and the note of the runtime in a message.
 *
 * The system prompt is made for the first request of a session and then kept. A new one is
 * made only if the agent's rights, the channel, or the size class of the model change.
 * Other changes, rules that fit the input and the reminder go into a note, which becomes a
 * part of the newest message and stays there. */
#ifndef CH_AGENT_CONTEXT_H
#define CH_AGENT_CONTEXT_H
#include "agent/handle/run.h"

/* Reads the prompt options of an agent; texts are copied to its arena. */
int ch_context_configure(chela_agent *a, const struct ch_agent_opts *o,
                         struct chela_error *err);

/* The system prompt, borrowed from the session. Increments the session's revision if the
 * text changed. NULL: the run was closed meanwhile. */
struct ch_sv ch_context_system(chela_run *run);
/* Appends the text that also applies to a role that works for the run's agent: rules,
 * safety, the guide of the project, and the agent's instructions if asked for. */
void ch_context_constraints(chela_run *run, bool instructions, struct ch_buf *out);
/* Fingerprint of the same text, "system@VERSION#...", borrowed. Emits no event. */
const char *ch_context_fingerprint(chela_run *run);
/* Appends the rules that fit the last input, of those that the system prompt does not hold, and the
 * reminder; one line each. */
void ch_context_reminders(chela_run *run, struct ch_buf *out);
/* The note for a new input or, with in_loop, the note that repeats the rules during a long
 * series of tool calls; in the run's arena, may be empty. A change of files is mentioned
 * once. */
struct ch_sv ch_context_note(chela_run *run, bool in_loop);

/* A file tool was called with these arguments: appends the instructions (AGENTS.md) of
 * directories below the workspace that this session has not seen yet. */
void ch_context_visit(chela_run *run, struct ch_sv arguments, struct ch_buf *out);

/* Prepares a text from a channel as input of a run: "/skill NAME ..." of a sender who may
 * read files loads that skill. CHELA_EINVAL, CHELA_ENOENT: err is a text for the sender. */
int ch_context_words(const chela_agent *a, const char *channel, const char *sender,
                     struct ch_sv text, struct ch_buf *out, struct chela_error *err);

void ch_context_release(struct ch_context *c);
void ch_context_forget(chela_agent *a); /* releases the memory that configure allocated */

#endif
