/* state_path.c -- see state_path.h. */
#include "cli/support/state_path.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/support/draft.h"
#include "cli/support/problem.h"

char *ch_state_path(const struct ch_env *env, const char *name) {
    const char *base = env->state_home ? env->state_home : env->home;
    return base ? ch_format("%s%s/chela/%s", base, env->state_home ? "" : "/.local/state", name)
                : NULL;
}

int ch_state_make_parents(char *path, struct chela_error *err) {
    int why = 0, last = 0; /* errors of the first directory that failed, and of the last one */
    for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        last = mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : errno;
        why = why ? why : last;
        *slash = '/';
    }
    if (!last || !err)
        return CHELA_OK;
    return ch_problem(err, CHELA_EPERM,
                      "the directory of %s cannot be created: %s (set HOME, or XDG_STATE_HOME and "
                      "XDG_CONFIG_HOME, to directories that you can write)",
                      path, strerror(why));
}
