/* show.h -- walk over the options of a parsed configuration, and their values as
 * text. */
#ifndef CH_CONFIG_SHOW_H
#define CH_CONFIG_SHOW_H
#include "base/buf.h"
#include "config/conf.h"
#include "config/option.h"

/* One option: at is its member in the struct of its scope, key its full name,
 * "agents.list[coder].limits.maxTurns"; item: in an entry of a list, whose
 * defaults are elsewhere. Both are borrowed for the call. */
typedef void ch_conf_each_fn(const struct ch_option *o, const void *at, const char *key, bool item,
                             void *user);

/* Call fn for every option, set or not, in the order of the table. */
void ch_conf_each(const struct ch_conf *conf, ch_conf_each_fn *fn, void *user);

/* Append the value as users would write it; nothing if it is not set. Secrets
 * are not hidden. */
void ch_conf_show_value(struct ch_buf *out, const struct ch_option *o, const void *at);

#endif
