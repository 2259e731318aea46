/* state_path.h -- files of the user's state directory. */
#ifndef CH_CLI_STATE_PATH_H
#define CH_CLI_STATE_PATH_H
#include "chela/error.h"
#include "cli/support/env.h"

/* The path of a file or directory `name` in the state directory of chela; NULL: HOME is not set.
 * The caller frees it. Nothing is created. */
char *ch_state_path(const struct ch_env *env, const char *name);

/* Create the missing parent directories of any path, accessible by the user alone. Without err a
 * failure is reported when the file is opened. */
int ch_state_make_parents(char *path, struct chela_error *err);

#endif
