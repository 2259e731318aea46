/* beat_private.h -- shared by beat.c and beat_tools.c only. */
#ifndef CH_AGENT_BEAT_PRIVATE_H
#define CH_AGENT_BEAT_PRIVATE_H
#include "agent/feature/heartbeat/beat.h"

#define CH_BEAT_ACTIONS CH_SEND_ACTION "," CH_REACT_ACTION "," CH_SILENT_ACTION

/* --- beat.c: the run is one of a companion; an action reached the chat */
bool ch_beat_spoke(chela_run *run);

#endif
