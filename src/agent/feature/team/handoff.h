/* handoff.h -- a conversation changes hands: the session goes on under another
 * agent, with all that was said, in the middle of a run.
 *
 * The tool `handoff` only notes who is to take it. Once every call of the reply
 * has its result, the session is moved: the next model call is that agent's, with
 * its prompt, tools, model and limits; what the run used so far counts on. Every
 * state that is stored from then on names the agent, so that whoever opens the
 * session finds it in the same hands. */
#ifndef CH_AGENT_HANDOFF_H
#define CH_AGENT_HANDOFF_H
#include "agent/run/feature.h"

#define CH_HANDOFF_TOOL "handoff"

extern const struct ch_feature ch_handoff_feature;

#endif
