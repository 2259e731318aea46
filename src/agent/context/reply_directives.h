/* reply_directives.h -- what a reply says to the channel of its session.
 *
 * In a session with a channel a model may put directives among its words
 * (prompt/directive.h). They are taken out of what is shown while it streams and
 * of the run's answer, and are told in RUN_END. What is attached is a URL or a
 * file of the workspace: anything else is left out, with a warning. The history
 * keeps the reply as it was. Without a channel words are words. */
#ifndef CH_AGENT_REPLY_DIRECTIVES_H
#define CH_AGENT_REPLY_DIRECTIVES_H
#include "agent/handle/run.h"

/* A reply begins. */
void ch_reply_directives_begin(chela_run *run);
/* A piece of its text; false: nothing of it can be shown yet. */
bool ch_reply_directives_piece(chela_run *run, struct chela_event *ev);
/* It is complete: what was held back is shown, run->text is made clean. */
void ch_reply_directives_end(chela_run *run);
void ch_reply_directives_tell(const chela_run *run, struct chela_event *end);
void ch_reply_directives_release(chela_run *run);

#endif
