/* channels.h -- the list of chat services. */
#ifndef CH_CHANNEL_CHANNELS_H
#define CH_CHANNEL_CHANNELS_H
#include "channel/channel.h"

/* The service with this name: one of the library, or the module "channel-NAME". search_path:
 * of modules, may be NULL. CHELA_ENOENT: no such service; err is not set. CHELA_EMODULE: the
 * module cannot be used. */
int ch_channel_find(const char *name, const char *search_path, const struct chela_channel_ops **out,
                    struct chela_error *err);

/* The name of service number i, from 0, of the library or its modules; NULL: i is too large. */
const char *ch_channel_name(size_t i);
/* Service number i of the library and its modules, from 0; NULL: i is too large. Modules
 * that are not installed are skipped. */
const struct chela_channel_ops *ch_channel_listed(size_t i, const char *search_path);

/* Keeps the secrets of a channel out of logs. ops may be NULL. */
void ch_channel_redact(const struct chela_channel_ops *ops, const struct chela_channel_opts *o);

#endif
