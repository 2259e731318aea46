/* features.h -- the features that agents of a runtime can have. */
#ifndef CH_AGENT_FEATURES_H
#define CH_AGENT_FEATURES_H
#include "agent/run/feature.h"

extern const struct ch_feature *const ch_features[]; /* NULL-terminated */

/* The feature that is the mode of this name; *out NULL: the mode needs none.
 * CHELA_EINVAL: there is no such mode. */
int ch_features_find_mode(const char *name, const struct ch_feature **out,
                          struct chela_error *err);

#endif
