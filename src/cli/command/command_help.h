/* command_help.h -- the help text of one command, generated from its table of options. */
#ifndef CH_CLI_COMMAND_HELP_H
#define CH_CLI_COMMAND_HELP_H
#include "cli/command/cmd.h"

void ch_command_help_write(FILE *out, const struct ch_cmd *cmd);
/* Print it on stdout. */
void ch_command_help_print(struct ch_console *c, const struct ch_cmd *cmd);

/* A row of two columns; a name wider than its column gets its own line. */
void ch_command_help_row(FILE *out, const char *name, const char *text);

#endif
