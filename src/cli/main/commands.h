/* commands.h -- lists of commands, for dispatch, help and the manual. */
#ifndef CH_CLI_COMMANDS_H
#define CH_CLI_COMMANDS_H
#include "cli/command/cmd.h"

/* A NULL-terminated list of commands in the order of the help; the commands of a group are
 * adjacent. main.c has the full list; `help` and `completion`, which are in it, get the
 * list from struct ch_env. */
typedef const struct ch_cmd *const *ch_commands;

/* Find by name; NULL if unknown. A group is the first word of two-word names, such as
 * "tools". */
const struct ch_cmd *ch_cmd_find(ch_commands all, const char *name);
bool ch_cmd_is_group(ch_commands all, const char *word);
bool ch_cmd_in_group(const struct ch_cmd *cmd, const char *group);

/* The command that corresponds to this word or flag of another program; NULL: none. */
const char *ch_cmd_elsewhere(const char *name);
/* Report an unknown command and suggest a similar one. Returns the exit code. */
int ch_cmd_unknown(struct ch_console *c, ch_commands all, const char *name);

#endif
