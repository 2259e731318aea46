/* beat_tools.h -- the actions of a companion. */
#ifndef CH_AGENT_BEAT_TOOLS_H
#define CH_AGENT_BEAT_TOOLS_H
#include "agent/feature/heartbeat/beat.h"

#define CH_BEAT_ACTIONS CH_SEND_ACTION "," CH_REACT_ACTION "," CH_SILENT_ACTION

int ch_beat_tools_add(chela_agent *a, struct chela_error *err);

#endif
