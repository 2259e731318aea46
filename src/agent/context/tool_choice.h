/* tool_choice.h -- selects the tools that the requests of a session describe. */
#ifndef CH_AGENT_TOOL_CHOICE_H
#define CH_AGENT_TOOL_CHOICE_H
#include "agent/handle/run.h"

/* The session's selection, made on first use. */
struct ch_selection *ch_tool_choice_selection(chela_session *s);

/* Adds tools for the run's input to the selection, once per run. */
void ch_tool_choice_select(chela_run *run);

#endif
