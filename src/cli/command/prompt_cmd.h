/* prompt_cmd.h -- shared by the commands of `chela prompt`. */
#ifndef CH_CLI_PROMPT_CMD_H
#define CH_CLI_PROMPT_CMD_H
#include "cli/command/cmd.h"
#include "cli/report/prompt_report.h"
#include "cli/setup/setup.h"

struct ch_prompt_flags {
    struct ch_setup_flags setup;
    const char *dir, *model, *session;
    struct ch_texts vars;
    const char *values;
    bool json;
    /* flags of `test` */
    const char *base_url, *api_key_env, *cases, *compare, *junit, *results, *record, *replay;
    int64_t runs, parallel;
    struct ch_real threshold, temperature;
    bool dry_run;
};

struct ch_prompt_cmd {
    struct ch_prompt_flags flags;
    struct ch_args args;
    struct ch_console console;
    struct ch_setup setup; /* its runtime has the prompts */
};

/* Option rows of all these commands. */
#define CH_PROMPT_OPTS                                                                             \
    CH_SETUP_OPTS_CONFIG(struct ch_prompt_flags),                                                  \
        {"dir", 0, CH_OPT_TEXT, offsetof(struct ch_prompt_flags, dir), "DIR", 0, 0,                \
         "Configuration", "directory of further prompt files, besides prompts.dir of the "         \
                          "configuration file"}

#endif
