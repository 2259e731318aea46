/* cmd_completion.c -- `chela completion`: shell completion scripts, generated from the
 * tables of commands and options, so that they stay up to date. */
#include <stdlib.h>
#include <string.h>

#include "cli/main/commands.h"
#include "cli/support/draft.h"
#include "cli/support/problem.h"

/* --- bash, and zsh by way of its bashcompinit ------------------------------------------ */

/* The length of a command's name up to the first blank. */
static size_t first_word(const struct ch_cmd *cmd) {
    return strcspn(cmd->name, " ");
}

static bool same_group(const struct ch_cmd *a, const struct ch_cmd *b) {
    size_t n = first_word(a);
    return b && first_word(b) == n && memcmp(a->name, b->name, n) == 0;
}

/* The words that may follow `group`, or the first words (NULL). */
static void subcommands(FILE *out, ch_commands all, const char *group) {
    for (ch_commands c = all; *c; c++) {
        if (group && ch_cmd_in_group(*c, group))
            fprintf(out, " %s", (*c)->name + strlen(group) + 1);
        else if (!group && (c == all || !same_group(*c, c[-1])))
            fprintf(out, " %.*s", (int)first_word(*c), (*c)->name);
    }
}

static void bash_groups(FILE *out, ch_commands all) {
    fputs("    case $cmd in\n    '') words=\"", out);
    subcommands(out, all, NULL);
    fputs(" --help --version\" ;;\n", out);
    for (ch_commands c = all; *c; c++) {
        if (!strchr((*c)->name, ' ') || (c != all && same_group(*c, c[-1])))
            continue;
        char *group = ch_format("%.*s", (int)first_word(*c), (*c)->name);
        fprintf(out, "    %s) words=\"", group);
        subcommands(out, all, group);
        fputs("\" ;;\n", out);
        free(group);
    }
}

/* The words that the command takes, if it takes one of a few, as "a|b". */
static bool takes_choice(const struct ch_cmd *cmd) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz|";
    return cmd->args && strchr(cmd->args, '|') && !cmd->args[strspn(cmd->args, letters)];
}

static void put_choices(FILE *out, const char *choices) {
    for (const char *p = choices; *p; p++)
        fputc(*p == '|' ? ' ' : *p, out);
}

static void bash_command(FILE *out, const struct ch_cmd *cmd) {
    fprintf(out, "    '%s')\n        case $prev in\n", cmd->name);
    for (const struct ch_opt *o = cmd->opts; o && o->name; o++) {
        if (o->kind == CH_OPT_SWITCH)
            continue;
        fprintf(out, "        --%s) ", o->name);
        if (o->kind == CH_OPT_CHOICE) {
            fputs("COMPREPLY=($(compgen -W \"", out);
            put_choices(out, o->value);
            fputs("\" -- \"$cur\")); return ;;\n", out);
        } else {
            fputs("COMPREPLY=(); return ;;\n", out); /* the shell's default: file names */
        }
    }
    fputs("        esac\n        words=\"", out);
    for (const struct ch_opt *o = cmd->opts; o && o->name; o++)
        fprintf(out, " --%s", o->name);
    fputs(" --help\"", out);
    if (takes_choice(cmd)) {
        fputs("\n        choices=\"", out);
        put_choices(out, cmd->args);
        fputc('"', out);
    }
    fputs(" ;;\n", out);
}

static void bash(FILE *out, ch_commands all) {
    fputs("# Completion for chela. In ~/.bashrc: source <(chela completion bash)\n"
          "_chela() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local cmd='' words='' choices='' i at=1\n"
          "    COMPREPLY=()\n"
          "    if ((COMP_CWORD > 1)) && [ \"${COMP_WORDS[1]}\" = help ]; then at=2; fi\n"
          "    for ((i = at; i < COMP_CWORD && i < at + 2; i++)); do\n"
          "        case ${COMP_WORDS[i]} in -*) break ;; esac\n"
          "        case \" $_chela_groups \" in\n"
          "        *\" ${COMP_WORDS[at]} \"*) cmd=${cmd:+$cmd }${COMP_WORDS[i]} ;;\n"
          "        *) cmd=${COMP_WORDS[at]}; break ;;\n"
          "        esac\n"
          "    done\n",
          out);
    bash_groups(out, all);
    for (ch_commands c = all; *c; c++)
        bash_command(out, *c);
    fputs("    esac\n"
          "    case $cur,$cmd in\n"
          "    -*,* | *,'') COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
          "    *) case \" $_chela_groups \" in *\" $cmd \"*)"
          " COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;"
          " *) COMPREPLY=($(compgen -W \"$choices\" -- \"$cur\")) ;; esac ;;\n"
          "    esac\n"
          "}\n_chela_groups=\"",
          out);
    for (ch_commands c = all; *c; c++)
        if (strchr((*c)->name, ' ') && (c == all || !same_group(*c, c[-1])))
            fprintf(out, " %.*s", (int)first_word(*c), (*c)->name);
    fputs(" \"\ncomplete -o default -F _chela chela\n", out);
}

static void zsh(FILE *out, ch_commands all) {
    fputs("# Completion for chela. In ~/.zshrc: source <(chela completion zsh)\n"
          "autoload -U +X compinit && compinit\n"
          "autoload -U +X bashcompinit && bashcompinit\n",
          out);
    bash(out, all);
}

/* --- fish ------------------------------------------------------------------------------ */

static void fish_quoted(FILE *out, const char *text) {
    fputc('\'', out);
    for (; *text && *text != ';'; text++)
        fprintf(out, *text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('\'', out);
}

/* The condition for offering a command's flags. */
static void fish_condition(FILE *out, const struct ch_cmd *cmd) {
    size_t n = first_word(cmd);
    fprintf(out, "-n '__fish_seen_subcommand_from %.*s", (int)n, cmd->name);
    if (cmd->name[n])
        fprintf(out, "; and __fish_seen_subcommand_from %s", cmd->name + n + 1);
    fputc('\'', out);
}

static void fish_name(FILE *out, const struct ch_cmd *cmd, const struct ch_cmd *before) {
    size_t n = first_word(cmd);
    bool group = cmd->name[n];
    if (!before || !same_group(cmd, before)) {
        fprintf(out, "complete -c chela -n __fish_use_subcommand -f -a %.*s", (int)n, cmd->name);
        if (!group) {
            fputs(" -d ", out);
            fish_quoted(out, cmd->summary);
        }
        fputc('\n', out);
    }
    if (!group)
        return;
    fprintf(out, "complete -c chela -f -n '__fish_seen_subcommand_from %.*s' -a %s -d ", (int)n,
            cmd->name, cmd->name + n + 1);
    fish_quoted(out, cmd->summary);
    fputc('\n', out);
}

static void fish_flag(FILE *out, const struct ch_cmd *cmd, const struct ch_opt *o) {
    fputs("complete -c chela ", out);
    fish_condition(out, cmd);
    fprintf(out, " -l %s", o->name);
    if (o->letter)
        fprintf(out, " -s %c", o->letter);
    if (o->kind == CH_OPT_CHOICE) {
        fputs(" -x -a '", out);
        put_choices(out, o->value);
        fputc('\'', out);
    } else if (o->kind != CH_OPT_SWITCH) {
        fputs(" -r", out);
    }
    fputs(" -d ", out);
    fish_quoted(out, o->help);
    fputc('\n', out);
}

static void fish(FILE *out, ch_commands all) {
    fputs("# Completion for chela. chela completion fish >~/.config/fish/completions/chela.fish\n",
          out);
    for (ch_commands c = all; *c; c++) {
        fish_name(out, *c, c == all ? NULL : c[-1]);
        if (takes_choice(*c)) {
            fputs("complete -c chela -f ", out);
            fish_condition(out, *c);
            fputs(" -a '", out);
            put_choices(out, (*c)->args);
            fputs("'\n", out);
        }
        for (const struct ch_opt *o = (*c)->opts; o && o->name; o++)
            fish_flag(out, *c, o);
    }
}

/* --- the command ------------------------------------------------------------------------ */

static const struct {
    const char *name;
    void (*write)(FILE *out, ch_commands all);
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

static int completion_print(struct ch_console *c, ch_commands all, const struct ch_args *args) {
    for (size_t i = 0; args->n == 1 && i < sizeof(shells) / sizeof(shells[0]); i++) {
        struct ch_draft d;
        if (strcmp(shells[i].name, args->words[0]) != 0)
            continue;
        ch_draft_init(&d);
        shells[i].write(d.f, all);
        ch_draft_finish(&d);
        ch_console_print(c, d.p, d.n);
        free(d.p);
        return CH_EXIT_DONE;
    }
    ch_console_error(c, "usage: chela completion bash|zsh|fish");
    return CH_EXIT_USAGE;
}

static int completion_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                          char **argv) {
    struct ch_args args;
    struct ch_console console;
    int code = ch_cmd_parse(cmd, env, argc, argv, NULL, &args);
    if (code < 0) {
        ch_console_init(&console, env, CH_NORMAL, false);
        code = ch_console_exit(&console, completion_print(&console, env->commands, &args));
        ch_console_release(&console);
    }
    ch_args_release(&args);
    return code;
}

static const struct ch_opt opts[] = {{.name = NULL}};

const struct ch_cmd ch_cmd_completion = {
    .name = "completion",
    .args = "bash|zsh|fish",
    .summary = "print a completion script for a shell",
    .about = "Prints a completion script. For bash, put 'source <(chela completion bash)' into "
             "~/.bashrc; for zsh, the same with zsh into ~/.zshrc; for fish, write the output of "
             "'chela completion fish' to ~/.config/fish/completions/chela.fish.",
    .opts = opts,
    .run = completion_run,
};
