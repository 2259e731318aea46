/* man.c -- the manual page, generated from the same tables as the help texts. */
#include "cli/main/man.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "chela/session.h"
#include "cli/support/env.h"

const struct ch_exit_help ch_exit_help[] = {
    {"0", "Success."},
    {"1", "The run failed with an error of the model or of the program."},
    {"2", "Invalid usage or configuration."},
    {"3", "A limit stopped the run; the reason is printed."},
    {"4", "The run was cancelled."},
    {"5", "The run is paused and waits for an approval, an answer or a result."},
    {"6", "The run was declined: refused by the model or by its service's filter, handed back to a "
          "person, or answered by a question back; the reason is printed."},
    {NULL, NULL},
};

static const struct {
    const char *about, *command;
} examples[] = {
    {"Ask a question about a file:", "chela run \"what does this do?\" < main.c"},
    {"Let the model work in a directory, with reading tools only:",
     "chela run --workspace src --tools read,ls \"find the parser\""},
    {"Print all events, for a program:", "chela run --output jsonl hello"},
    {"Run one tool:", "chela tools call ls --args '{\"path\": \".\"}'"},
    {"Decode a recorded reply:", "chela wire decode --api openai reply.sse"},
};

/* Write text with roff's special characters escaped. */
static void man_put(FILE *out, const char *text) {
    bool start = true;
    for (; *text; text++) {
        if (*text == '\n' && text[1] == '\n') {
            fputs("\n.PP\n", out);
            text++;
            start = true;
            continue;
        }
        if (start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        start = *text == '\n';
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\'')
            fputs("\\(aq", out);
        else
            fputc(*text, out);
    }
}

static void put_macro(FILE *out, const char *macro, const char *text) {
    fprintf(out, ".%s ", macro);
    man_put(out, text);
    fputc('\n', out);
}

static void man_heading(FILE *out, const char *text) {
    fputs(".SH ", out);
    for (; *text; text++)
        fputc(toupper((unsigned char)*text), out);
    fputc('\n', out);
}

static void tagged(FILE *out, const char *tag, const char *text) {
    fputs(".TP\n", out);
    put_macro(out, "B", tag);
    man_put(out, text);
    fputc('\n', out);
}

static void option(FILE *out, const struct ch_opt *o) {
    fputs(".TP\n", out);
    if (o->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", out);
    man_put(out, o->name);
    fputs("\\fR", out);
    if (o->value) {
        fputs(" \\fI", out);
        man_put(out, o->value);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    man_put(out, o->help);
    fputs(".\n", out);
}

static void man_usage(FILE *out, const struct ch_cmd *cmd) {
    fputs("\\fBchela ", out);
    man_put(out, cmd->name);
    fputs("\\fR", out);
    if (cmd->opts->name)
        fputs(" [\\fIflags\\fR]", out);
    if (*cmd->args) {
        fputs(" \\fI", out);
        man_put(out, cmd->args);
        fputs("\\fR", out);
    }
    fputc('\n', out);
}

static void man_command(FILE *out, const struct ch_cmd *cmd) {
    const char *group = NULL;
    fputs(".SS ", out);
    man_usage(out, cmd);
    man_put(out, cmd->about);
    fputc('\n', out);
    for (const struct ch_opt *o = cmd->opts; o->name; o++) {
        if (!group || strcmp(group, o->group) != 0) {
            fputs(".PP\n", out);
            put_macro(out, "I", o->group);
        }
        group = o->group;
        option(out, o);
    }
}

static void write_commands(FILE *out, ch_commands all) {
    man_heading(out, "synopsis");
    for (ch_commands c = all; *c; c++) {
        man_usage(out, *c);
        fputs(".br\n", out);
    }
    fputs("\\fBchela\\fR \\fB\\-\\-version\\fR | \\fB\\-\\-help\\fR\n", out);
    man_heading(out, "description");
    man_put(out,
            "chela runs LLM agents: it sends a task to a model, runs the tools the model asks for, "
            "and goes on until there is an answer.\n"
            "Long flags take \"--flag value\" and \"--flag=value\"; every command has --help.\n");
    man_heading(out, "commands");
    for (ch_commands c = all; *c; c++)
        man_command(out, *c);
}

void ch_man_write(FILE *out, ch_commands all) {
    fprintf(out, ".TH CHELA 1 \"\" \"chela %s\" \"User commands\"\n", chela_version());
    man_heading(out, "name");
    fputs("chela \\- run LLM agents from the command line\n", out);
    write_commands(out, all);
    man_heading(out, "environment");
    for (const struct ch_env_help *e = ch_env_help; e->name; e++)
        tagged(out, e->name, e->help);
    tagged(out, "ANTHROPIC_API_KEY, OPENAI_API_KEY, ...",
           "Keys of model services; a message names the one that is missing. The first that is set "
           "chooses the model when neither a flag nor the configuration does.");
    man_heading(out, "files");
    tagged(out, "./chela.yaml", "The configuration, when it is there and --config names no other.");
    tagged(out, "~/.config/chela/chela.yaml", "The user's configuration, tried next.");
    man_heading(out, "exit status");
    for (const struct ch_exit_help *e = ch_exit_help; e->code; e++)
        tagged(out, e->code, e->meaning);
    man_heading(out, "examples");
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        fputs(".PP\n", out);
        man_put(out, examples[i].about);
        fputs("\n.PP\n.RS\n.nf\n", out);
        man_put(out, examples[i].command);
        fputs("\n.fi\n.RE\n", out);
    }
}
