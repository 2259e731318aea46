/* env.c -- the only place of the program that asks the environment. */
#include "cli/support/env.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

const struct ch_env_help ch_env_help[] = {
    {"CHELA_TRACE", "Areas to trace on standard error, such as \"net,run\", or \"all\"."},
    {"XDG_CONFIG_HOME", "Where chela/chela.yaml is looked for; ~/.config when it is not set."},
    {"XDG_STATE_HOME", "Where chela/chela.db, the store of sessions, is kept when no other is "
                       "chosen, and chela/history; ~/.local/state when it is not set."},
    {"XDG_CACHE_HOME", "Where chela/vectors, what embedding models made of notes, is kept; "
                       "~/.cache when it is not set."},
    {"PAGER", "Shows listings that are longer than the terminal; less when it is not set, none "
              "when it is \"cat\" or empty."},
    {"NO_COLOR", "Set to anything: no colour, as with --no-color."},
    {"TERM", "\"dumb\" turns colour and the status line off."},
    {NULL, NULL},
};

static const char *get(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static const char *get_pager(void) {
    const char *pager = getenv("PAGER");
    if (!pager)
        return "command -v less >/dev/null || exit 127; less"; /* not every system has it */
    return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

struct ch_env ch_env_read(void) {
    const char *config_home = get("XDG_CONFIG_HOME");
    const char *state_home = get("XDG_STATE_HOME");
    const char *term = get("TERM");
    return (struct ch_env){
        .trace = get("CHELA_TRACE"),
        /* the XDG specification: a relative path is to be ignored */
        .config_home = config_home && *config_home == '/' ? config_home : NULL,
        .state_home = state_home && *state_home == '/' ? state_home : NULL,
        .home = get("HOME"),
        .pager = get_pager(),
        .no_color = get("NO_COLOR") != NULL,
        .dumb = !term || strcmp(term, "dumb") == 0,
    };
}

int64_t ch_wall_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
