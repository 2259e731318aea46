/* cmd_help.c -- `chela help`. */
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/draft.h"
#include "cli/mem.h"
#include "cli/problem.h"

static void print_man(struct ch_console *c) {
    struct ch_draft d;
    ch_draft_init(&d);
    ch_man_write(d.f);
    ch_draft_finish(&d);
    ch_console_print(c, d.p, d.n);
    free(d.p);
}

/* "tools" "list" as one name; NULL for none. Owned. */
static char *joined(const struct ch_args *args) {
    if (args->n == 0)
        return NULL;
    return ch_format("%s%s%s", args->words[0], args->n > 1 ? " " : "",
                     args->n > 1 ? args->words[1] : "");
}

static int run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    struct ch_args args;
    struct ch_console console;
    bool man = argc == 1 && strcmp(argv[0], "--man") == 0; /* for the build, not for people */
    int code = ch_cmd_parse(cmd, env, man ? 0 : argc, argv, NULL, &args);

    if (code < 0) {
        char *name = joined(&args);
        ch_console_init(&console, env, CH_NORMAL, false);
        code = CH_EXIT_DONE;
        if (man)
            print_man(&console);
        else if (name && !ch_cmd_find(name) && !ch_cmd_is_group(name))
            code = ch_cmd_unknown(&console, name);
        else
            ch_help_print(&console, name);
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
    .summary = "help on a command",
    .about = "Prints the list of commands, or what one of them does.",
    .opts = opts,
    .run = run,
};
