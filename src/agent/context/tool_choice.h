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

/* The definitions for a request, without those that the vendor's tools replace: of the tools that
 * a hook named, or of the selected ones (only NULL). out has room for all tools of the registry
 * and CH_SELECTION_OWN more. */
size_t ch_tool_choice_defs(const chela_run *run, const char *only,
                           const struct ch_model_request *req, struct ch_tool_def *out);
/* The vendor's tools for the service that is asked, as JSON in the run's arena; empty: none. */
struct ch_sv ch_tool_choice_vendors(chela_run *run);
/* Who may call a tool beside the model, as JSON in the arena; empty: nobody. */
struct ch_sv ch_tool_choice_callers(const chela_run *run, struct ch_arena *a, struct ch_sv name);
/* Puts a choice into a request: "auto", "any", "none", or the name of a tool. NULL: none. */
void ch_tool_choice_read(const char *choice, struct ch_model_request *req);

#endif
