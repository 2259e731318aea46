/* cmd_help.c -- `chela help`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/main/help.h"
#include "cli/main/man.h"
#include "cli/main/reference.h"
#include "cli/support/draft.h"
#include "cli/support/problem.h"

/* For the build, not for people: `make man`. */
static const struct {
    const char *flag;
    void (*write)(FILE *out, ch_commands all);
} papers[] = {{"--man", ch_man_write}, {"--reference", ch_reference_write}};

static void print_paper(struct ch_console *c, ch_commands all,
                        void (*write)(FILE *out, ch_commands all)) {
    struct ch_draft d;
    ch_draft_init(&d);
    write(d.f, all);
    ch_draft_finish(&d);
    ch_console_print(c, d.p, d.n);
    free(d.p);
}

/* "tools" "list" as one name; NULL for none. Owned. */
static char *help_joined(const struct ch_args *args) {
    if (args->n == 0)
        return NULL;
    return ch_format("%s%s%s", args->words[0], args->n > 1 ? " " : "",
                     args->n > 1 ? args->words[1] : "");
}

static int help_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    struct ch_args args;
    struct ch_console console;
    void (*paper)(FILE *out, ch_commands all) = NULL;
    for (size_t i = 0; argc == 1 && i < sizeof(papers) / sizeof(papers[0]); i++)
        if (strcmp(argv[0], papers[i].flag) == 0)
            paper = papers[i].write;
    int code = ch_cmd_parse(cmd, env, paper ? 0 : argc, argv, NULL, &args);

    if (code < 0) {
        char *name = help_joined(&args);
        ch_console_init(&console, env, CH_NORMAL, false);
        code = CH_EXIT_DONE;
        if (paper)
            print_paper(&console, env->commands, paper);
        else if (name && !ch_cmd_find(env->commands, name) &&
                 !ch_cmd_is_group(env->commands, name))
            code = ch_cmd_unknown(&console, env->commands, name);
        else
            ch_help_print(&console, env->commands, name);
        code = ch_console_exit(&console, code);
        ch_console_release(&console);
        free(name);
    }
    ch_args_release(&args);
    return code;
}

static const struct ch_opt opts[] = {{.name = NULL}};

const struct ch_cmd ch_cmd_help = {
    .name = "help",
    .args = "[COMMAND]",
    .summary = "show help on a command",
    .about = "Prints the list of commands, or the help of one command.",
    .opts = opts,
    .run = help_run,
};
