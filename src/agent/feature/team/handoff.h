/* handoff.h -- hands a conversation over to another agent in the middle of a run.
 *
 * The tool `handoff` only notes the next agent. When every call of the reply has a
 * result, the session is moved: the next model call uses that agent's prompt, tools,
 * model and limits. The usage of the run so far still counts. Every STATE record from
 * then on names the agent, so that the session is restored with it. */
#ifndef CH_AGENT_HANDOFF_H
#define CH_AGENT_HANDOFF_H
#include "agent/run/feature.h"

#define CH_HANDOFF_TOOL "handoff"

extern const struct ch_feature ch_handoff_feature;

#endif
