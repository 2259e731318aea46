/* help.c -- see help.h. */
#include "cli/main/help.h"

#include <stdlib.h>

#include "cli/command/command_help.h"
#include "cli/support/draft.h"

static void command_row(FILE *out, const struct ch_cmd *cmd) {
    char *name = ch_format("  %s", cmd->name);
    ch_command_help_row(out, name, cmd->summary);
    free(name);
}

static void write_group(FILE *out, ch_commands all, const char *group) {
    fprintf(out, "usage: chela %s COMMAND [flags]\n\nCommands:\n", group);
    for (ch_commands c = all; *c; c++)
        if (ch_cmd_in_group(*c, group))
            command_row(out, *c);
    fprintf(out, "\n'chela %s COMMAND --help' describes one command.\n", group);
}

static void help_write_all(FILE *out, ch_commands all) {
    fputs("usage: chela COMMAND [flags]\n\nRuns LLM agents: a model, its tools, and the loop "
          "between them.\n\nCommands:\n",
          out);
    for (ch_commands c = all; *c; c++)
        command_row(out, *c);
    fputs("\nFlags:\n", out);
    ch_command_help_row(out, "  -h, --help", "show this text");
    ch_command_help_row(out, "  -V, --version", "print the version");
    fputs("\n'chela COMMAND --help' describes one command.\n", out);
}

void ch_help_write(FILE *out, ch_commands all, const char *name) {
    const struct ch_cmd *cmd = name ? ch_cmd_find(all, name) : NULL;
    if (cmd)
        ch_command_help_write(out, cmd);
    else if (name)
        write_group(out, all, name);
    else
        help_write_all(out, all);
}

void ch_help_print(struct ch_console *c, ch_commands all, const char *name) {
    struct ch_draft d;
    ch_draft_init(&d);
    ch_help_write(d.f, all, name);
    ch_draft_finish(&d);
    ch_console_print(c, d.p, d.n);
    free(d.p);
}
