/* command_help.c -- see command_help.h. */
#include "cli/command/command_help.h"

#include <stdlib.h>
#include <string.h>

#include "cli/support/draft.h"

enum { WIDTH = 80, INDENT = 30 };

/* --- layout ----------------------------------------------------------------------- */

/* A line that begins with blanks is an example and printed unchanged. Returns the text
 * after it. */
static const char *example(FILE *out, const char *line, unsigned indent) {
    size_t n = strcspn(line, "\n");
    fprintf(out, "\n%*s%.*s", (int)indent, "", (int)n, line);
    return line + n;
}

static bool is_example(const char *line) {
    return strncmp(line, "    ", 4) == 0;
}

/* Wrap text from column `at` on; later lines are indented. */
static void wrap(FILE *out, const char *text, unsigned at, unsigned indent) {
    bool first = true;
    while (*text) {
        size_t n = strcspn(text, " \n");
        if (!first && at + 1 + n > WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            fputc(' ', out);
            at++;
        }
        fwrite(text, 1, n, out);
        at += (unsigned)n;
        first = false;
        text += n;
        while (*text == ' ' || *text == '\n') {
            if (*text == '\n' && is_example(text + 1)) {
                text = example(out, text + 1, indent);
                at = WIDTH;
                continue;
            }
            if (*text == '\n' && text[1] == '\n') { /* a blank line ends a paragraph */
                fputs(is_example(text + 2) ? "\n" : "\n\n", out);
                fprintf(out, "%*s", (int)indent, "");
                at = indent;
                first = true;
            }
            text++;
        }
    }
    fputc('\n', out);
}

/* A row of two columns; a long first column gets its own line. */
void ch_command_help_row(FILE *out, const char *name, const char *text) {
    int n = fprintf(out, "%s", name);
    if (n > INDENT - 2)
        fputc('\n', out);
    fprintf(out, "%*s", n > INDENT - 2 ? INDENT : INDENT - n, "");
    wrap(out, text, INDENT, INDENT);
}

static void option_row(FILE *out, const struct ch_opt *o) {
    char *name =
        ch_format("  %c%c%c --%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
                  o->letter ? ',' : ' ', o->name, o->value ? " " : "", o->value ? o->value : "");
    ch_command_help_row(out, name, o->help);
    free(name);
}

static void write_options(FILE *out, const struct ch_opt *opts) {
    const char *group = NULL;
    for (; opts->name; opts++) {
        if (!group || strcmp(group, opts->group) != 0)
            fprintf(out, "\n%s:\n", opts->group);
        group = opts->group;
        option_row(out, opts);
    }
    fputc('\n', out);
    ch_command_help_row(out, "  -h, --help", "show this text");
}

void ch_command_help_write(FILE *out, const struct ch_cmd *cmd) {
    fprintf(out, "usage: chela %s %s%s%s\n\n", cmd->name, cmd->opts->name ? "[flags]" : "",
            cmd->opts->name && *cmd->args ? " " : "", cmd->args);
    wrap(out, cmd->about, 0, 0);
    write_options(out, cmd->opts);
}

void ch_command_help_print(struct ch_console *c, const struct ch_cmd *cmd) {
    struct ch_draft d;
    ch_draft_init(&d);
    ch_command_help_write(d.f, cmd);
    ch_draft_finish(&d);
    ch_console_print(c, d.p, d.n);
    free(d.p);
}
