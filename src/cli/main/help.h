/* help.h -- help texts, generated from the tables of commands and options. */
#ifndef CH_CLI_HELP_H
#define CH_CLI_HELP_H
#include "cli/main/commands.h"

/* Help on a command of the list, a group, or (NULL) all commands; to any stream. */
void ch_help_write(FILE *out, ch_commands all, const char *name);
/* Print it on stdout. */
void ch_help_print(struct ch_console *c, ch_commands all, const char *name);

#endif
