/* cmd.c -- see cmd.h. */
#include "cli/command/cmd.h"

#include "cli/command/command_help.h"
#include "cli/support/problem.h"

int ch_cmd_parse(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv,
                 void *into, struct ch_args *args) {
    struct ch_console console;
    struct chela_error err = {0};
    int code = -1;

    ch_console_init(&console, env, CH_NORMAL, false);
    int rc = ch_args_parse(cmd->opts, cmd->later, argc, argv, into, args, &err);
    if (args->help) {
        ch_command_help_print(&console, cmd);
        code = ch_console_exit(&console, CH_EXIT_DONE);
    } else if (rc < 0) {
        ch_console_error(&console, "%s", err.message);
        code = CH_EXIT_USAGE;
    } else if (args->n > 0 && !*cmd->args) {
        ch_console_error(&console, "'%s': %s takes no words ('chela %s --help')", args->words[0],
                         cmd->name, cmd->name);
        code = CH_EXIT_USAGE;
    }
    ch_console_release(&console);
    return code;
}
