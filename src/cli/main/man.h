/* man.h -- the manual page in roff, generated from the tables of commands and options. */
#ifndef CH_CLI_MAN_H
#define CH_CLI_MAN_H
#include <stdio.h>

#include "cli/main/commands.h"

void ch_man_write(FILE *out, ch_commands all);

/* One row per exit code; ended by a NULL code. reference.c prints them too. */
struct ch_exit_help {
    const char *code, *meaning;
};
extern const struct ch_exit_help ch_exit_help[];

#endif
