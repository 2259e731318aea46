/* hooks.h -- the feature that runs the programs of hooks (hook_list.h).
 *
 *   sessionStart, prompt   before the first model call of a run; the call waits
 *   beforeTool             before a call is checked for approval; the call waits
 *   afterTool              after a call that ran; its result waits
 *   compaction             before the conversation is shortened; the shortening waits
 *   stop                   after an answer; the end of the run waits
 *   notification           a run waits for a person; nothing waits for the program
 *   sessionEnd             a session with a run is closed; nothing waits for the program
 *
 * An interruption of the run kills the programs that it waits for. */
#ifndef CH_AGENT_HOOKS_H
#define CH_AGENT_HOOKS_H
#include "agent/run/feature.h"

extern const struct ch_feature ch_hooks_feature;

#endif
