/* cmd.h -- a command: its name, its help, its flags, its function.
 *
 * The table ch_cmds is all there is to know about the commands: dispatch,
 * help and the manual read it. */
#ifndef CH_CLI_CMD_H
#define CH_CLI_CMD_H
#include <stdbool.h>
#include <stdio.h>

#include "cli/setup/args.h"
#include "cli/term/console.h"
#include "cli/support/env.h"

struct ch_cmd {
    const char *name;    /* one word, or group and word: "tools list" */
    const char *args;    /* what follows the flags, for the usage line */
    const char *summary; /* one line, for the list of commands */
    const char *about;   /* paragraphs, separated by blank lines */
    const struct ch_opt *opts;
    const char *const *later; /* flags not supported in this version; may be NULL */
    /* argv: what follows the name. Returns the exit code. */
    int (*run)(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv);
};

/* Ended by NULL, in the order help lists them; a group's are neighbours. */
extern const struct ch_cmd *const ch_cmds[];

extern const struct ch_cmd ch_cmd_run, ch_cmd_chat, ch_cmd_init, ch_cmd_completion, ch_cmd_doctor,
    ch_cmd_help, ch_cmd_serve;
extern const struct ch_cmd ch_cmd_sessions_list, ch_cmd_sessions_show, ch_cmd_sessions_resume,
    ch_cmd_sessions_fork, ch_cmd_sessions_export, ch_cmd_sessions_import, ch_cmd_sessions_delete,
    ch_cmd_sessions_search, ch_cmd_sessions_compact, ch_cmd_replay, ch_cmd_trace, ch_cmd_usage;
extern const struct ch_cmd ch_cmd_pairing_list, ch_cmd_pairing_approve, ch_cmd_pairing_remove;
extern const struct ch_cmd ch_cmd_skills_list, ch_cmd_skills_show;
extern const struct ch_cmd ch_cmd_prompt_list, ch_cmd_prompt_show, ch_cmd_prompt_render,
    ch_cmd_prompt_test;
extern const struct ch_cmd ch_cmd_tools_list, ch_cmd_tools_show, ch_cmd_tools_call;
extern const struct ch_cmd ch_cmd_tools_select;
extern const struct ch_cmd ch_cmd_schema_check, ch_cmd_schema_validate, ch_cmd_schema_clean;
extern const struct ch_cmd ch_cmd_models_list, ch_cmd_models_probe;
extern const struct ch_cmd ch_cmd_heartbeat_simulate, ch_cmd_heartbeat_compare;
extern const struct ch_cmd ch_cmd_schedule_list, ch_cmd_schedule_add, ch_cmd_schedule_remove,
    ch_cmd_schedule_next, ch_cmd_schedule_run;
extern const struct ch_cmd ch_cmd_wire_decode, ch_cmd_wire_encode;
extern const struct ch_cmd ch_cmd_config_check, ch_cmd_config_show, ch_cmd_config_schema;

/* What all commands but `run` do with argv: on --help print the help, on a
 * problem print it. Returns the exit code then, or -1 to go on. Release args
 * in every case. */
int ch_cmd_parse(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv,
                 void *into, struct ch_args *args);

/* By name; NULL if there is none. A group is the first word of names that have
 * two, such as "tools". */
const struct ch_cmd *ch_cmd_find(const char *name);
bool ch_cmd_is_group(const char *word);
bool ch_cmd_in_group(const struct ch_cmd *cmd, const char *group);

/* Says that there is no such command, and which one may have been meant.
 * Returns the exit code. */
int ch_cmd_unknown(struct ch_console *c, const char *name);

/* Help on a command, a group, or (NULL) all commands; to any stream. */
void ch_help_write(FILE *out, const char *name);
/* The same on stdout. */
void ch_help_print(struct ch_console *c, const char *name);

/* The manual page, in roff (man.c), and docs/reference.md (reference.c). */
void ch_man_write(FILE *out);
void ch_reference_write(FILE *out);

/* One row per exit code, for both; ended by a NULL code. */
struct ch_exit_help {
    const char *code, *meaning;
};
extern const struct ch_exit_help ch_exit_help[];

#endif
