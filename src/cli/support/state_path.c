/* state_path.c -- see state_path.h. */
#include "cli/support/state_path.h"

#include <string.h>
#include <sys/stat.h>

#include "cli/support/draft.h"

char *ch_state_path(const struct ch_env *env, const char *name) {
    const char *base = env->state_home ? env->state_home : env->home;
    return base ? ch_format("%s%s/chela/%s", base, env->state_home ? "" : "/.local/state", name)
                : NULL;
}

void ch_state_make_parents(char *path) {
    for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}
