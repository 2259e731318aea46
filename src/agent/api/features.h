/* features.h -- the list of all features. */
#ifndef CH_AGENT_FEATURES_H
#define CH_AGENT_FEATURES_H
#include "agent/run/feature.h"

extern const struct ch_feature *const ch_features[]; /* NULL-terminated */

/* Finds the feature of a mode; *out NULL: the mode needs none. CHELA_EINVAL: unknown mode. */
int ch_features_find_mode(const char *name, const struct ch_feature **out,
                          struct chela_error *err);

#endif
