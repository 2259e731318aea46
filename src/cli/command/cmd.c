/* cmd.c -- the table of commands, and what all of them do alike. */
#include "cli/command/cmd.h"

#include <string.h>

#include "cli/support/problem.h"
#include "cli/support/suggest.h"

const struct ch_cmd *const ch_cmds[] = {
    &ch_cmd_run,
    &ch_cmd_chat,
    &ch_cmd_init,
    &ch_cmd_serve,
    &ch_cmd_schedule_list,
    &ch_cmd_schedule_add,
    &ch_cmd_schedule_remove,
    &ch_cmd_schedule_next,
    &ch_cmd_schedule_run,
    &ch_cmd_sessions_list,
    &ch_cmd_sessions_show,
    &ch_cmd_sessions_resume,
    &ch_cmd_sessions_fork,
    &ch_cmd_sessions_export,
    &ch_cmd_sessions_import,
    &ch_cmd_sessions_delete,
    &ch_cmd_sessions_search,
    &ch_cmd_sessions_compact,
    &ch_cmd_replay,
    &ch_cmd_trace,
    &ch_cmd_usage,
    &ch_cmd_tools_list,
    &ch_cmd_tools_show,
    &ch_cmd_tools_call,
    &ch_cmd_tools_select,
    &ch_cmd_pairing_list,
    &ch_cmd_pairing_approve,
    &ch_cmd_pairing_remove,
    &ch_cmd_skills_list,
    &ch_cmd_skills_show,
    &ch_cmd_prompt_list,
    &ch_cmd_prompt_show,
    &ch_cmd_prompt_render,
    &ch_cmd_prompt_test,
    &ch_cmd_schema_check,
    &ch_cmd_schema_validate,
    &ch_cmd_schema_clean,
    &ch_cmd_models_list,
    &ch_cmd_models_probe,
    &ch_cmd_heartbeat_simulate,
    &ch_cmd_heartbeat_compare,
    &ch_cmd_wire_decode,
    &ch_cmd_wire_encode,
    &ch_cmd_config_check,
    &ch_cmd_config_show,
    &ch_cmd_config_schema,
    &ch_cmd_doctor,
    &ch_cmd_completion,
    &ch_cmd_help,
    NULL,
};

const struct ch_cmd *ch_cmd_find(const char *name) {
    for (const struct ch_cmd *const *c = ch_cmds; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

bool ch_cmd_in_group(const struct ch_cmd *cmd, const char *group) {
    size_t n = strlen(group);
    return strncmp(cmd->name, group, n) == 0 && cmd->name[n] == ' ';
}

bool ch_cmd_is_group(const char *word) {
    for (const struct ch_cmd *const *c = ch_cmds; *c; c++)
        if (ch_cmd_in_group(*c, word))
            return true;
    return false;
}

/* A misspelt first word is compared with first words: "tols" means "tools". */
int ch_cmd_unknown(struct ch_console *c, const char *name) {
    struct ch_suggest near;
    ch_suggest_init(&near, name, strlen(name));
    for (const struct ch_cmd *const *k = ch_cmds; *k; k++)
        ch_suggest_try(&near, (*k)->name, strcspn((*k)->name, strchr(name, ' ') ? "" : " "));
    if (near.best)
        ch_console_error(c, "unknown command '%s' (did you mean '%.*s'?)", name, (int)near.best_n,
                         near.best);
    else
        ch_console_error(c, "unknown command '%s' ('chela --help' lists them)", name);
    return CH_EXIT_USAGE;
}

int ch_cmd_parse(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv,
                 void *into, struct ch_args *args) {
    struct ch_console console;
    struct chela_error err = {0};
    int code = -1;

    ch_console_init(&console, env, CH_NORMAL, false);
    int rc = ch_args_parse(cmd->opts, cmd->later, argc, argv, into, args, &err);
    if (args->help) {
        ch_help_print(&console, cmd->name);
        code = ch_console_exit(&console, CH_EXIT_DONE);
    } else if (rc < 0) {
        ch_console_error(&console, "%s", err.message);
        code = CH_EXIT_USAGE;
    }
    ch_console_release(&console);
    return code;
}
