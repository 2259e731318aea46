/* discover.h -- the model to use when nobody names one. */
#ifndef CH_AGENT_DISCOVER_H
#define CH_AGENT_DISCOVER_H
#include "agent/provider/providers.h"

char *ch_discover_model(struct ch_providers *ps, const char **why); /* owned by the caller */

#endif
