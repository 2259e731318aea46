/* prompt_cmd.h -- what the commands of `chela prompt` share. */
#ifndef CH_CLI_PROMPT_CMD_H
#define CH_CLI_PROMPT_CMD_H
#include "cli/command/cmd.h"
#include "cli/setup/setup.h"

struct ch_prompt_flags {
    struct ch_setup_flags setup;
    const char *dir, *model, *session;
    struct ch_texts vars;
    const char *values;
    bool json;
    /* of `test` */
    const char *base_url, *api_key_env, *cases, *compare, *junit, *results, *record, *replay;
    int64_t runs, parallel;
    struct ch_real threshold, temperature;
    bool dry_run;
};

struct ch_prompt_cmd {
    struct ch_prompt_flags flags;
    struct ch_args args;
    struct ch_console console;
    struct ch_setup setup; /* with a runtime that has the prompts */
};

/* Rows that all of them have. */
#define CH_PROMPT_OPTS                                                                          \
    CH_SETUP_OPTS_CONFIG(struct ch_prompt_flags),                                               \
        {"dir", 0, CH_OPT_TEXT, offsetof(struct ch_prompt_flags, dir), "DIR", 0, 0,             \
         "Configuration", "prompt files to read beside those of the configuration file"}

/* Parse, open, call body, close. Returns the exit code. */
int ch_prompt_cmd_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv,
                      int (*body)(struct ch_prompt_cmd *p));

/* err on stderr; returns the exit code. */
int ch_prompt_cmd_failed(struct ch_prompt_cmd *p, const struct chela_error *err);

/* "NAME" or "NAME@VERSION" in two; *version NULL without one. Free *name. */
void ch_prompt_split(const char *word, char **name, const char **version);

/* A member of a JSON text, "" for null and what is not there; free it. */
char *ch_prompt_member(const char *json, const char *pointer);

/* Keep a report below dir, by its fingerprint, and read the last one kept. */
int ch_prompt_keep(const char *dir, const char *report, struct chela_error *err);
char *ch_prompt_last(const char *dir, const char *fingerprint); /* NULL: none; free it */
/* Where reports are kept unless somebody says otherwise; NULL: nowhere. */
char *ch_prompt_results_dir(const struct ch_env *env);

/* The report as JUnit XML, another <testsuite>. */
void ch_prompt_junit(FILE *out, const char *report);
/* As a table, with what went wrong below it. */
void ch_prompt_table(FILE *out, const char *report);
void ch_prompt_compared(FILE *out, const char *compare, const char *a, const char *b);

#endif
