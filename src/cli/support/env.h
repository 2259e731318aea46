/* env.h -- everything that the program reads from the environment, and the time.
 *
 * API keys of model services are read by the library, not here. */
#ifndef CH_CLI_ENV_H
#define CH_CLI_ENV_H
#include <stdbool.h>
#include <stdint.h>

#include "chela/choice.h"

struct ch_cmd;

struct ch_env {
    const struct ch_cmd *const *commands; /* all commands, NULL-terminated (main/commands.h) */
    const char *trace;       /* CHELA_TRACE: areas to trace, NULL when unset */
    const char *config_home; /* XDG_CONFIG_HOME, NULL when unset or not absolute */
    const char *state_home;  /* XDG_STATE_HOME, NULL when unset or not absolute */
    const char *home;        /* HOME, NULL when unset */
    const char *pager;       /* PAGER as a command, less when unset; NULL: no pager */
    const char *editor;      /* VISUAL or EDITOR as a command, NULL when unset */
    const char *shell;       /* SHELL, NULL when unset or not absolute */
    enum chela_language language; /* of LC_ALL, LC_MESSAGES or LANG; AUTO: they name none */
    bool no_color;           /* NO_COLOR is set to anything but "" */
    bool dumb;               /* TERM is unset or "dumb" */
};

/* One row per variable above, for the manual; ended by a NULL name. */
struct ch_env_help {
    const char *name, *help;
};
extern const struct ch_env_help ch_env_help[];

/* Texts are borrowed from the environment. */
struct ch_env ch_env_read(void);

/* The wall clock, Unix epoch. */
int64_t ch_wall_ms(void);

#endif
