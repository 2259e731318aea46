/* secret_source.h -- secrets of a configuration: their sources, and headers with their values. */
#ifndef CH_CONFIG_SECRET_SOURCE_H
#define CH_CONFIG_SECRET_SOURCE_H
#include "config/conf.h"

#define CH_SECRET_HEADERS 4 /* headers of secrets in one request */

/* Appends the source of a secret as JSON, as ch_secret_refs_add reads it. */
void ch_secret_source_write(const struct ch_conf_secret_source *c, struct ch_buf *out);

/* The headers of an MCP server at url: `lines`, "Name: value" or NULL, with the values in place of
 * {{secret:NAME}}, and the headers of the secrets that the host owns. In the arena of cfg. Fails if
 * a line names a secret that the host does not own. Blocks while the values are read. */
int ch_secret_source_headers(const chela_config *cfg, chela_runtime *rt, const char *url,
                             const char *const *lines, const char *const **out,
                             struct chela_error *err);

#endif
