/* login_keys.h -- API keys that `chela login` keeps for the user.
 *
 * A key is a file named like the environment variable that it stands in for, readable for its owner
 * alone, in the folder secrets of the user's configuration. A variable of the environment wins. A
 * file that others can read is not used. */
#ifndef CH_CLI_LOGIN_KEYS_H
#define CH_CLI_LOGIN_KEYS_H
#include "cli/support/env.h"

struct ch_login_keys;

/* env: borrowed. */
struct ch_login_keys *ch_login_keys_new(const struct ch_env *env);
void ch_login_keys_free(struct ch_login_keys *keys);

/* The key for a variable, valid until ch_login_keys_free; NULL: none is kept. */
const char *ch_login_keys_find(struct ch_login_keys *keys, const char *variable);

/* The path of the file; the caller frees it. NULL: HOME is not set, or the name is no variable. */
char *ch_login_keys_path(const struct ch_env *env, const char *variable);
/* Keep the key; an earlier one is replaced in one step. */
int ch_login_keys_write(const struct ch_env *env, const char *variable, const char *key,
                  struct chela_error *err);
/* CHELA_ENOENT: none is kept. */
int ch_login_keys_remove(const struct ch_env *env, const char *variable, struct chela_error *err);

#endif
