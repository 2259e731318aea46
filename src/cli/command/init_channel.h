/* init_channel.h -- the part of `chela init` that sets up a chat service. */
#ifndef CH_CLI_INIT_CHANNEL_H
#define CH_CLI_INIT_CHANNEL_H
#include "chela.h"
#include "cli/support/env.h"
#include "cli/term/ask.h"

/* Show the steps in the console of the service, ask for the values, keep secrets in files of the
 * user or leave them to the environment, and return the options of channels.NAME for chela.yaml,
 * one a line, indented by four spaces; the caller frees it. Without a person the values are left
 * open. NULL: see err. */
char *ch_init_channel(chela_runtime *rt, const struct ch_env *env, struct ch_asker *asker,
                      const char *name, struct chela_error *err);

#endif
