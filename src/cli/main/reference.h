/* reference.h -- docs/reference.md, generated from the code's tables. */
#ifndef CH_CLI_REFERENCE_H
#define CH_CLI_REFERENCE_H
#include <stdio.h>

#include "cli/main/commands.h"

void ch_reference_write(FILE *out, ch_commands all);

#endif
