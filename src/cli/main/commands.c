/* commands.c -- see commands.h. */
#include "cli/main/commands.h"

#include <string.h>

#include "cli/support/problem.h"
#include "cli/support/suggest.h"

const struct ch_cmd *ch_cmd_find(ch_commands all, const char *name) {
    for (ch_commands c = all; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

bool ch_cmd_in_group(const struct ch_cmd *cmd, const char *group) {
    size_t n = strlen(group);
    return strncmp(cmd->name, group, n) == 0 && cmd->name[n] == ' ';
}

bool ch_cmd_is_group(ch_commands all, const char *word) {
    for (ch_commands c = all; *c; c++)
        if (ch_cmd_in_group(*c, word))
            return true;
    return false;
}

/* Commands and flags of other programs, and the command that does the same here. */
static const struct {
    const char *theirs, *ours;
} elsewhere[] = {
    {"exec", "chela run PROMPT"},
    {"ask", "chela run PROMPT"},
    {"-p", "chela run PROMPT"},
    {"--print", "chela run PROMPT"},
    {"agent", "chela run PROMPT"},
    {"prompt", "chela run PROMPT"},
    {"tui", "chela chat"},
    {"--continue", "chela chat --continue"},
    {"-c", "chela chat --continue"},
    {"continue", "chela chat --continue"},
    {"resume", "chela chat --resume"},
    {"--resume", "chela chat --resume"},
    {"-r", "chela chat --resume"},
    {"--model", "chela chat --model PROVIDER/MODEL"},
    {"-m", "chela chat --model PROVIDER/MODEL"},
    {"login", "chela init"},
    {"setup", "chela init"},
    {"onboard", "chela init"},
    {"configure", "chela init"},
    {"gateway", "chela serve"},
    {"server", "chela serve"},
    {"version", "chela --version"},
    {"-v", "chela --version"},
    {"logs", "chela trace SESSION"},
    {"session list", "chela sessions list"},
    {"mcp get", "chela mcp list"},
    {"config get", "chela config show"},
    {"config set", "chela.yaml, then chela config check"},
    {"config edit", "chela.yaml, then chela config check"},
    {"skills install", "chela skills add"},
    {"cron", "chela schedule list"},
};

const char *ch_cmd_elsewhere(const char *name) {
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
        if (strcmp(elsewhere[i].theirs, name) == 0)
            return elsewhere[i].ours;
    return NULL;
}

/* A misspelt first word is compared with first words: "tols" means "tools". */
int ch_cmd_unknown(struct ch_console *c, ch_commands all, const char *name) {
    const char *use = ch_cmd_elsewhere(name);
    if (use) {
        ch_console_error(c, "unknown command '%s' (use '%s')", name, use);
        return CH_EXIT_USAGE;
    }
    struct ch_suggest near;
    ch_suggest_init(&near, name, strlen(name));
    for (ch_commands k = all; *k; k++)
        ch_suggest_try(&near, (*k)->name, strcspn((*k)->name, strchr(name, ' ') ? "" : " "));
    if (near.best)
        ch_console_error(c, "unknown command '%s' (did you mean '%.*s'?)", name, (int)near.best_n,
                         near.best);
    else
        ch_console_error(c, "unknown command '%s' ('chela --help' lists them)", name);
    return CH_EXIT_USAGE;
}
