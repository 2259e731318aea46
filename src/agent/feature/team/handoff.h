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
#include "agent/handle/driver.h"

#define CH_HANDOFF_TOOL "handoff"

/* The calls are answered: move the session, if one of them asked for that. False:
 * the run is over or gone. */
bool ch_handoff(chela_run *run);
/* A call that ended in an earlier life, perhaps before the session was moved; flags:
 * of its result. */
void ch_handoff_settled(chela_run *run, const struct ch_block *call, unsigned flags);
/* The journal of a session says whose it is; "": whoever opened it. */
void ch_handoff_recall(chela_session *s, const char *agent);

#endif
