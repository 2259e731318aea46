/* patch.h -- chela.yaml changed by a program, one option at a time.
 *
 * What may be changed is a list of its own: how agents work, never what they may
 * do. A change is made in the text, so that comments stay; it counts if the new
 * text is a good configuration and differs from the old one in that option alone. */
#ifndef CH_CONFIG_PATCH_H
#define CH_CONFIG_PATCH_H
#include "config/conf.h"

/* key as chela_config_show names it: "gateway.drainSec", "agents.defaults.model",
 * "agents.list[coder].limits.maxTurns". */

/* Append what is known about the options whose keys begin with this, or with `key` in
 * any mapping: a line each. The number of them. */
size_t ch_config_explain(struct ch_sv key, struct ch_buf *out);

/* Append text with that option set; null: as if it were not there. file is for
 * messages. CHELA_ENOENT: there is no such option. CHELA_EPERM: the option may not be
 * changed. Further errors are those of the text and the value. */
int ch_config_patch(struct ch_sv text, const char *file, struct ch_sv key,
                    const struct ch_json *value, struct ch_buf *out, struct chela_error *err);

#endif
