/* cmd_eval.h -- running cases from the command line: flags, agents and files that `chela eval` and
 * its relatives share. */
#ifndef CH_CLI_CMD_EVAL_H
#define CH_CLI_CMD_EVAL_H
#include "cli/command/cmd.h"
#include "cli/command/eval_files.h"
#include "cli/setup/setup.h"
#include "cli/support/signal.h"

struct ch_eval_flags {
    struct ch_setup_flags setup;
    struct ch_texts agents, models;
    const char *base_url, *api_key_env, *system, *judge, *record, *replay;
    const char *against, *out, *junit, *html, *fail_under, *no_worse_than;
    int64_t n, jobs, max_turns;
    struct ch_real seed, budget, temperature, timeout;
    bool json;
};

struct ch_eval_cmd {
    struct ch_eval_flags flags;
    struct ch_args args;
    struct ch_console console;
    struct ch_setup setup;
    struct ch_signals *signals;
    struct ch_eval_files files;
    struct ch_cli_input against, no_worse_than, system, stamp;
    char *scratch, *kept; /* owned */
    const char *demo;     /* model that is used because none was chosen; NULL: one was */
};

/* Runs the cases with opts, whose other members are filled in. NULL: see err. */
char *ch_eval_cmd_run(struct ch_eval_cmd *c, struct chela_eval_opts *opts,
                      struct chela_error *err);

#endif
