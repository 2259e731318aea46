/* beat_tools.h -- the actions of a companion. */
#ifndef CH_AGENT_BEAT_TOOLS_H
#define CH_AGENT_BEAT_TOOLS_H
#include "agent/feature/heartbeat/beat_private.h"

int ch_beat_tools_add(chela_agent *a, struct chela_error *err);

#endif
