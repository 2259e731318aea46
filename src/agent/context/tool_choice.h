/* tool_choice.h -- the tools that the requests of a session describe. */
#ifndef CH_AGENT_TOOL_CHOICE_H
#define CH_AGENT_TOOL_CHOICE_H
#include "agent/handle/run.h"

/* The session's selection, made on first use. */
struct ch_selection *ch_tool_choice_selection(chela_session *s);

/* Add the tools for the run's input to the selection, once a run. */
void ch_tool_choice_select(chela_run *run);

#endif
