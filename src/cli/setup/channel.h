/* channel.h -- a channel of the configuration with its secrets, from files and from the
 * environment. */
#ifndef CHELA_CLI_CHANNEL_H
#define CHELA_CLI_CHANNEL_H
#include "chela/config.h"
#include "chela/gateway.h"

struct ch_setup_channel {
    struct chela_channel_opts opts;
    const char **settings; /* owned: the array that opts.settings points to */
    char *missing;         /* owned: "A, B": variables that are not set; NULL: none */
    const char *place;     /* of the first of them in the file */
};

/* Channel number i, from 0. CHELA_ENOENT: i is too large; err is not set. */
int ch_setup_channel(const chela_config *config, size_t i, struct ch_setup_channel *out,
                     struct chela_error *err);
void ch_setup_channel_release(struct ch_setup_channel *c);

#endif
