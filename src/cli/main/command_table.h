/* command_table.h -- every command of the program. */
#ifndef CH_CLI_COMMAND_TABLE_H
#define CH_CLI_COMMAND_TABLE_H
#include "cli/main/commands.h"

extern const struct ch_cmd *const ch_command_table[];

#endif
