/* discover.h -- selects a model if neither options nor configuration name one. */
#ifndef CH_MODEL_DISCOVER_H
#define CH_MODEL_DISCOVER_H
#include "model/provider/providers.h"

char *ch_discover_model(struct ch_providers *ps, const char **why); /* owned by the caller */

#endif
