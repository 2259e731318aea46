/* env.c -- the only reader of environment variables. */
#include "cli/support/env.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

const struct ch_env_help ch_env_help[] = {
    {"CHELA_TRACE", "Areas to trace on standard error, such as \"net,run\", or \"all\"."},
    {"CHELA_DEBUGGABLE", "1: chela may write a core file, and a debugger of the same user may "
                         "attach; otherwise neither, since the memory holds keys."},
    {"XDG_CONFIG_HOME", "Directory of chela/chela.yaml; default: ~/.config."},
    {"XDG_STATE_HOME", "Directory of chela/chela.db, the default store of sessions, and of "
                       "chela/history; default: ~/.local/state."},
    {"XDG_CACHE_HOME", "Directory of chela/vectors, the cached embedding vectors of notes, and of "
                       "chela/refusals.json, what services have refused; default: ~/.cache."},
    {"PAGER", "Program that shows output longer than the terminal; default: less; \"cat\" or "
              "empty: no pager."},
    {"VISUAL, EDITOR", "Editor of Ctrl-G in chela chat, the first that is set; default: vi."},
    {"SHELL", "Shell of !COMMAND in chela chat; default: /bin/sh."},
    {"LC_ALL, LC_MESSAGES, LANG", "The first that is set is the language in which run and chat say "
                                  "how a run ended, with `language: auto`: zh is Chinese, C the "
                                  "language of the message, others are English."},
    {"NO_COLOR", "If set, no colors are used, as with --no-color."},
    {"TERM", "\"dumb\" turns colors and the status line off."},
    {NULL, NULL},
};

static const char *env_get(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* "zh_CN.UTF-8" is Chinese; "C.UTF-8" and "POSIX" name no language. */
static enum chela_language get_language(void) {
    static const char *const names[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
    const char *locale = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !locale; i++)
        locale = env_get(names[i]);
    size_t n = locale ? strcspn(locale, "_-.@") : 0;
    if (n == 0 || (n == 1 && *locale == 'C') || (n == 5 && memcmp(locale, "POSIX", n) == 0))
        return CHELA_LANGUAGE_AUTO;
    return n == 2 && memcmp(locale, "zh", n) == 0 ? CHELA_LANGUAGE_ZH : CHELA_LANGUAGE_EN;
}

static const char *get_pager(void) {
    const char *pager = getenv("PAGER");
    if (!pager)
        return "command -v less >/dev/null || exit 127; less"; /* not every system has less */
    return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

struct ch_env ch_env_read(void) {
    const char *config_home = env_get("XDG_CONFIG_HOME");
    const char *state_home = env_get("XDG_STATE_HOME");
    const char *term = env_get("TERM"), *shell = env_get("SHELL"), *home = env_get("HOME");
    return (struct ch_env){
        .trace = env_get("CHELA_TRACE"),
        /* per the XDG specification, relative paths are ignored */
        .config_home = config_home && *config_home == '/' ? config_home : NULL,
        .state_home = state_home && *state_home == '/' ? state_home : NULL,
        .home = home && *home == '/' ? home : NULL,
        .pager = get_pager(),
        .editor = env_get("VISUAL") ? env_get("VISUAL") : env_get("EDITOR"),
        .shell = shell && *shell == '/' ? shell : NULL,
        .language = get_language(),
        .no_color = env_get("NO_COLOR") != NULL,
        .dumb = !term || strcmp(term, "dumb") == 0,
    };
}

int64_t ch_wall_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
