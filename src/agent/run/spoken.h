/* spoken.h -- the language in which the person of a run is spoken to. */
#ifndef CH_AGENT_SPOKEN_H
#define CH_AGENT_SPOKEN_H
#include "agent/handle/run.h"
#include "chela/choice.h"

/* The language of the channel or of the runtime, if it is set, else the one in which the person
 * wrote last; never AUTO. */
enum chela_language ch_run_language(const chela_run *run);

#endif
