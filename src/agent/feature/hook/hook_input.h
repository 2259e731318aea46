/* hook_input.h -- what the program of a hook gets on standard input, in the form of Claude Code's
 * hooks, so that programs made for them work.
 *
 * Built-in tools have their names of Claude Code there ("Bash", "Edit"), tools of MCP servers begin
 * with "mcp__", and the member `tool` has chela's own name. Arguments that have another name there
 * are given under both names, paths of files absolute. */
#ifndef CH_AGENT_HOOK_INPUT_H
#define CH_AGENT_HOOK_INPUT_H
#include "agent/feature/hook/hook_list.h"
#include "agent/handle/run.h"
#include "tool/call/batch.h"

/* The name of a tool for the programs, in the arena. */
const char *ch_hook_tool_name(struct ch_arena *a, struct ch_sv tool);

/* Writes the members that every event has into a new object, which the caller ends. */
void ch_hook_input_begin(struct ch_jw *w, const chela_session *s, const chela_run *run,
                         enum ch_hook_event event);

/* The call: tool_name, tool, tool_use_id, tool_input. */
void ch_hook_input_call(struct ch_jw *w, const chela_session *s, struct ch_sv id, struct ch_sv name,
                        struct ch_sv arguments);
/* The result: tool_response. */
void ch_hook_input_result(struct ch_jw *w, const struct ch_result *r, struct ch_sv arguments);

#endif
