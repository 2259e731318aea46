/* flow.h -- what a call brings into a conversation, and whether it may carry data out.
 *
 * The rule of two: once a conversation holds text of a source that nobody vouched for and data that
 * is private, a call that could carry data out needs a person, whatever else allows it. The tool
 * declares what its calls do (ch_tool.flow); the sources are kept by the session
 * (egress/labels.h). Data that goes back to the server it came from does not leave, nor does an
 * address that stands word for word in what was said or found. */
#ifndef CH_TOOL_CALL_FLOW_H
#define CH_TOOL_CALL_FLOW_H
#include "tool/call/call.h"

/* What met: one source of each kind. Texts in the arena of the call or of the session's labels;
 * source NULL: nothing met. */
struct ch_flow_met {
    const char *source; /* "web:example.com" */
    const char *data;   /* "file:.env" */
};

/* The call has a result: adds the sources of the result to call->labels. */
void ch_flow_label(chela_call *call);

/* Whether the call could carry private data to where a source that is not trusted may have asked
 * for. Called like ch_tool.plan. */
struct ch_flow_met ch_flow_judge(chela_call *call);

/* The same for the network of a command, whose own reading counts. */
struct ch_flow_met ch_flow_judge_command(chela_call *call);

/* True: the rule of the agent refuses such a call instead of asking. */
bool ch_flow_denies(const chela_call *call);

/* Append where the data would go, such as "mcp:github"; part of the consent to it. */
void ch_flow_add_target(const chela_call *call, struct ch_buf *out);

/* The flags of enum chela_tool_flags for the words reads, ingests, sends; NULL: not declared. */
unsigned ch_flow_flags(const char *words);

#endif
