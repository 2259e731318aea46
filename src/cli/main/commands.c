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

/* A misspelt first word is compared with first words: "tols" means "tools". */
int ch_cmd_unknown(struct ch_console *c, ch_commands all, const char *name) {
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
