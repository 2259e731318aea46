/* man.c -- the manual page, made from the same tables as the help texts. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "chela/session.h"
#include "cli/command/cmd.h"
#include "cli/support/env.h"

const struct ch_exit_help ch_exit_help[] = {
    {"0", "Done."},
    {"1", "The run ended in an error of the model or of the program."},
    {"2", "Bad usage or configuration."},
    {"3", "The run was stopped by a limit; the reason is printed."},
    {"4", "The run was cancelled."},
    {"5", "The run is paused: it waits for something outside."},
    {NULL, NULL},
};

static const struct {
    const char *about, *command;
} examples[] = {
    {"Ask a question about a file:", "chela run \"what does this do?\" < main.c"},
    {"Let the model work in a directory, with reading tools only:",
     "chela run --workspace src --tools read,ls \"find the parser\""},
    {"All events, for a program:", "chela run --output jsonl hello"},
    {"A tool by itself:", "chela tools call ls --args '{\"path\": \".\"}'"},
    {"A recorded reply as one message:", "chela wire decode --api openai reply.sse"},
};

/* Text with what roff would take for its own made plain. */
static void put(FILE *out, const char *text) {
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
    put(out, text);
    fputc('\n', out);
}

static void heading(FILE *out, const char *macro, const char *text) {
    fprintf(out, ".%s ", macro);
    for (; *text; text++)
        fputc(strcmp(macro, "SH") == 0 ? toupper((unsigned char)*text) : *text, out);
    fputc('\n', out);
}

static void tagged(FILE *out, const char *tag, const char *text) {
    fputs(".TP\n", out);
    put_macro(out, "B", tag);
    put(out, text);
    fputc('\n', out);
}

static void option(FILE *out, const struct ch_opt *o) {
    fputs(".TP\n", out);
    if (o->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", out);
    put(out, o->name);
    fputs("\\fR", out);
    if (o->value) {
        fputs(" \\fI", out);
        put(out, o->value);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put(out, o->help);
    fputs(".\n", out);
}

static void usage(FILE *out, const struct ch_cmd *cmd) {
    fputs("\\fBchela ", out);
    put(out, cmd->name);
    fputs("\\fR", out);
    if (cmd->opts->name)
        fputs(" [\\fIflags\\fR]", out);
    if (*cmd->args) {
        fputs(" \\fI", out);
        put(out, cmd->args);
        fputs("\\fR", out);
    }
    fputc('\n', out);
}

static void command(FILE *out, const struct ch_cmd *cmd) {
    const char *group = NULL;
    fputs(".SS ", out);
    usage(out, cmd);
    put(out, cmd->about);
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

static void write_commands(FILE *out) {
    heading(out, "SH", "synopsis");
    for (const struct ch_cmd *const *c = ch_cmds; *c; c++) {
        usage(out, *c);
        fputs(".br\n", out);
    }
    fputs("\\fBchela\\fR \\fB\\-\\-version\\fR | \\fB\\-\\-help\\fR\n", out);
    heading(out, "SH", "description");
    put(out,
        "chela runs LLM agents: it sends a task to a model, runs the tools the model asks for, "
        "and goes on until there is an answer.\n"
        "Long flags take \"--flag value\" and \"--flag=value\"; every command has --help.\n");
    heading(out, "SH", "commands");
    for (const struct ch_cmd *const *c = ch_cmds; *c; c++)
        command(out, *c);
}

void ch_man_write(FILE *out) {
    fprintf(out, ".TH CHELA 1 \"\" \"chela %s\" \"User commands\"\n", chela_version());
    heading(out, "SH", "name");
    fputs("chela \\- run LLM agents from the command line\n", out);
    write_commands(out);
    heading(out, "SH", "environment");
    for (const struct ch_env_help *e = ch_env_help; e->name; e++)
        tagged(out, e->name, e->help);
    tagged(out, "ANTHROPIC_API_KEY, OPENAI_API_KEY, ...",
           "Keys of model services; a message names the one that is missing. The first that is set "
           "chooses the model when neither a flag nor the configuration does.");
    heading(out, "SH", "files");
    tagged(out, "./chela.yaml", "The configuration, when it is there and --config names no other.");
    tagged(out, "~/.config/chela/chela.yaml", "The user's configuration, tried next.");
    heading(out, "SH", "exit status");
    for (const struct ch_exit_help *e = ch_exit_help; e->code; e++)
        tagged(out, e->code, e->meaning);
    heading(out, "SH", "examples");
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        fputs(".PP\n", out);
        put(out, examples[i].about);
        fputs("\n.PP\n.RS\n.nf\n", out);
        put(out, examples[i].command);
        fputs("\n.fi\n.RE\n", out);
    }
}
