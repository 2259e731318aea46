/* cmd_prompt.h -- `chela prompt list|show|render`. `chela prompt test` is in
 * cmd_prompt_test.c. */
#ifndef CH_CLI_CMD_PROMPT_H
#define CH_CLI_CMD_PROMPT_H
#include "cli/command/prompt_cmd.h"

/* Parse, open, call body, close. Returns the exit code. */
int ch_prompt_cmd_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv,
                      int (*body)(struct ch_prompt_cmd *p));

/* Print err on stderr; returns the exit code. */
int ch_prompt_cmd_failed(struct ch_prompt_cmd *p, const struct chela_error *err);

/* Split "NAME" or "NAME@VERSION"; *version is NULL without one. The caller frees *name. */
void ch_prompt_split(const char *word, char **name, const char **version);

#endif
