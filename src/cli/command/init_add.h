/* init_add.h -- replaces a configuration file, or adds a section to it. */
#ifndef CH_CLI_INIT_ADD_H
#define CH_CLI_INIT_ADD_H
#include "chela.h"
#include "cli/support/env.h"
#include "cli/term/console.h"

/* Give an existing file a new text. After a failure the file has its old text. */
int ch_init_replace(const char *path, const char *text, struct chela_error *err);

/* Whether the file configures or mentions the channel. CHELA_EEXIST: yes. */
int ch_init_has_channel(const char *path, const char *name, struct chela_error *err);

/* Add channel `name` to the file. section: lines of options, each indented by four spaces. The
 * rest of the file keeps its text. A file that was trusted stays trusted. A file whose layout does
 * not permit the change is left alone: the lines to paste are printed, and the result is
 * CHELA_ECONFIG. */
int ch_init_add_channel(const struct ch_env *env, struct ch_console *console, const char *path,
                        const char *name, const char *section, struct chela_error *err);

#endif
