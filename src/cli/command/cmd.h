/* cmd.h -- a command: its name, help, flags and function. */
#ifndef CH_CLI_CMD_H
#define CH_CLI_CMD_H
#include <stdbool.h>
#include <stdio.h>

#include "cli/setup/args.h"
#include "cli/term/console.h"
#include "cli/support/env.h"

struct ch_cmd {
    const char *name;    /* one word, or group and word: "tools list" */
    const char *args;    /* arguments after the flags, for the usage line */
    const char *summary; /* one line, for the list of commands */
    const char *about;   /* paragraphs, separated by blank lines */
    const struct ch_opt *opts;
    const char *const *later; /* flags not supported in this version; may be NULL */
    /* argv: the arguments after the name. Returns the exit code. */
    int (*run)(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv);
};

extern const struct ch_cmd ch_cmd_run, ch_cmd_chat, ch_cmd_init, ch_cmd_completion, ch_cmd_doctor,
    ch_cmd_help, ch_cmd_serve, ch_cmd_trust, ch_cmd_acp, ch_cmd_attach, ch_cmd_diff, ch_cmd_apply,
    ch_cmd_login;
extern const struct ch_cmd ch_cmd_sessions_list, ch_cmd_sessions_show, ch_cmd_sessions_resume,
    ch_cmd_sessions_fork, ch_cmd_sessions_export, ch_cmd_sessions_import, ch_cmd_sessions_delete,
    ch_cmd_sessions_erase, ch_cmd_sessions_recover,
    ch_cmd_sessions_search, ch_cmd_sessions_compact, ch_cmd_replay,
    ch_cmd_trace, ch_cmd_usage, ch_cmd_why;
extern const struct ch_cmd ch_cmd_channels_list;
extern const struct ch_cmd ch_cmd_channels_test;
extern const struct ch_cmd ch_cmd_pairing_list, ch_cmd_pairing_approve, ch_cmd_pairing_remove;
extern const struct ch_cmd ch_cmd_skills_list, ch_cmd_skills_show, ch_cmd_skills_add,
    ch_cmd_skills_remove;
extern const struct ch_cmd ch_cmd_prompt_list, ch_cmd_prompt_show, ch_cmd_prompt_render,
    ch_cmd_prompt_test, ch_cmd_prompt_history, ch_cmd_prompt_diff;
extern const struct ch_cmd ch_cmd_tools_list, ch_cmd_tools_show, ch_cmd_tools_call;
extern const struct ch_cmd ch_cmd_tools_select;
extern const struct ch_cmd ch_cmd_schema_check, ch_cmd_schema_validate, ch_cmd_schema_clean;
extern const struct ch_cmd ch_cmd_models_list, ch_cmd_models_probe, ch_cmd_models_update;
extern const struct ch_cmd ch_cmd_heartbeat_simulate, ch_cmd_heartbeat_compare;
extern const struct ch_cmd ch_cmd_schedule_list, ch_cmd_schedule_add, ch_cmd_schedule_remove,
    ch_cmd_schedule_next, ch_cmd_schedule_run;
extern const struct ch_cmd ch_cmd_mcp_list, ch_cmd_mcp_tools, ch_cmd_mcp_skills, ch_cmd_mcp_call,
    ch_cmd_mcp_doctor, ch_cmd_mcp_add, ch_cmd_mcp_remove, ch_cmd_mcp_login, ch_cmd_mcp_serve;
extern const struct ch_cmd ch_cmd_eval, ch_cmd_eval_add, ch_cmd_eval_import;
extern const struct ch_cmd ch_cmd_wire_decode, ch_cmd_wire_encode;
extern const struct ch_cmd ch_cmd_config_check, ch_cmd_config_show, ch_cmd_config_schema;

/* Argument handling of all commands but `run`: prints the help on --help, prints an error, also
 * for words after a command that takes none.
 * Returns the exit code in these cases, or -1 to continue. Release args in every case. */
int ch_cmd_parse(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv,
                 void *into, struct ch_args *args);

#endif
