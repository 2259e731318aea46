/* tool_choice.h -- selects the tools that the requests of a session describe. */
#ifndef CH_AGENT_TOOL_CHOICE_H
#define CH_AGENT_TOOL_CHOICE_H
#include "agent/handle/run.h"

/* The session's selection, made on first use. */
struct ch_selection *ch_tool_choice_selection(chela_session *s);

/* Chooses the tools, by the first input of the history; once per run, follows the policy of the
 * run. */
void ch_tool_choice_select(chela_run *run);
/* The next request chooses again: the history was rewritten, or another agent goes on. */
void ch_tool_choice_renew(chela_session *s);

#endif
