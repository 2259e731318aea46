/* eval_files.h -- reads the files of cases that a command line names, and writes results. */
#ifndef CH_CLI_EVAL_FILES_H
#define CH_CLI_EVAL_FILES_H
#include "chela/eval.h"
#include "cli/setup/args.h"

struct ch_eval_files { /* zeroed: none */
    struct chela_eval_file *list; /* owned, with the texts */
    struct ch_cli_input *texts;
    char **names;
    size_t n;
};

/* Reads each word: a file, or all files of a folder that end with .yaml, .yml or .json, in order of
 * their names. Release in every case. */
int ch_eval_files_read(struct ch_eval_files *f, const struct ch_args *args,
                       struct chela_error *err);
void ch_eval_files_release(struct ch_eval_files *f);

/* Replaces a file in one step. "-" is standard output. */
int ch_eval_file_write(const char *path, const char *text, struct chela_error *err);

/* A new folder for the workspaces of trials; the caller frees the path and removes the folder with
 * ch_eval_scratch_remove. */
char *ch_eval_scratch_new(struct chela_error *err);
void ch_eval_scratch_remove(char *folder);

#endif
