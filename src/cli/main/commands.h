/* commands.h -- lists of commands, for dispatch, help and the manual. */
#ifndef CH_CLI_COMMANDS_H
#define CH_CLI_COMMANDS_H
#include "cli/command/cmd.h"

/* A list of commands, ended by NULL, in the order in which help shows them; the
 * commands of a group are neighbours. main.c has the list of all; `help` and
 * `completion`, which are in it, get the list from struct ch_env. */
typedef const struct ch_cmd *const *ch_commands;

/* By name; NULL if there is none. A group is the first word of names that have
 * two, such as "tools". */
const struct ch_cmd *ch_cmd_find(ch_commands all, const char *name);
bool ch_cmd_is_group(ch_commands all, const char *word);
bool ch_cmd_in_group(const struct ch_cmd *cmd, const char *group);

/* Says that there is no such command, and which one may have been meant.
 * Returns the exit code. */
int ch_cmd_unknown(struct ch_console *c, ch_commands all, const char *name);

#endif
