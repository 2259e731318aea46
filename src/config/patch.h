/* patch.h -- change one option of chela.yaml by a program.
 *
 * Only listed options may change: options for how agents work, never for what
 * they may do. The text is edited in place, so that comments stay. A change is
 * accepted if the new text is a valid configuration and differs from the old
 * one only in that option. */
#ifndef CH_CONFIG_PATCH_H
#define CH_CONFIG_PATCH_H
#include "config/conf.h"
#include "config/option.h"

/* key as in chela_config_show: "gateway.drainSec", "agents.defaults.model",
 * "agents.list[coder].limits.maxTurns". */

/* Whether a program may change the option. */
bool ch_config_may_patch(const struct ch_option *o);
/* The same for a key. */
bool ch_config_key_may_change(struct ch_sv key);

/* Append one line about each option whose key begins with `key`, in any
 * mapping; returns the number of options. */
size_t ch_config_explain(struct ch_sv key, struct ch_buf *out);

/* Where a text is from. */
struct ch_config_place {
    const char *file;        /* for messages */
    const char *module_path; /* search path of channel modules; may be NULL */
};

/* Append text with the option set; null removes the option. CHELA_ENOENT: no such option.
 * CHELA_EPERM: the option may not be changed. Other errors concern the text or the value. */
int ch_config_patch(struct ch_sv text, const struct ch_config_place *at, struct ch_sv key,
                    const struct ch_json *value, struct ch_buf *out, struct chela_error *err);

#endif
