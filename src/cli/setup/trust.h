/* trust.h -- the question whether the configuration file of a directory is believed.
 *
 * The record of trusted files is the library's (chela/trust.h); it is kept in the user's
 * state directory. The gate below is passed by every command that reads a configuration
 * (setup.c). */
#ifndef CH_CLI_TRUST_H
#define CH_CLI_TRUST_H
#include "chela/trust.h"
#include "cli/setup/setup.h"

/* The directory of the record; NULL: HOME is not set. The caller frees it. `create`: its
 * parent directories are created. */
char *ch_trust_directory(const struct ch_env *env, bool create);

/* Record the configuration as trusted. */
int ch_trust_add(const struct ch_env *env, const chela_config *cfg, struct chela_error *err);

/* Agents of this workspace (NULL: the current directory) may grant tools to skills, if the user
 * trusts the directory. Called before they are created. */
void ch_trust_skills(const struct ch_setup *s, const char *workspace);

/* Decide about s->config, which came with the current directory. If the user trusts the
 * file, nothing changes. If not, and the command depends on sensitive settings of the
 * file, the user is asked at the terminal. Without a terminal that is
 * CHELA_ECONFIG. Otherwise only the harmless settings of the file count, above those of
 * the user's own file `own_path` (NULL: there is none), and a line says so. */
int ch_trust_gate(struct ch_setup *s, const char *own_path, struct chela_error *err);

/* A program changed the trusted file, whose configuration was `before`: trust the file
 * again if it gives the same rights. */
void ch_trust_renew(const struct ch_env *env, const char *path, const chela_config *before);

/* Write the sensitive settings of the file, one a line: all of them, or those
 * that differ from the record if the file was trusted before. Returns their number. */
size_t ch_trust_write(FILE *out, const struct ch_env *env, const chela_config *cfg);

#endif
