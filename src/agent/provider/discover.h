/* discover.h -- the model to use when nobody names one. */
#ifndef CH_AGENT_DISCOVER_H
#define CH_AGENT_DISCOVER_H
#include "chela/session.h"

char *ch_discover_model(chela_runtime *rt, const char **why); /* owned by the caller */

#endif
