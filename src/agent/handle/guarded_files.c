/* guarded_files.c -- see guarded_files.h. */
#include "agent/handle/guarded_files.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/handle/runtime.h"
#include "base/buf.h"
#include "tool/process/executable.h"
#include "tool/process/sandbox_policy.h"

static const char *real_path(struct ch_arena *a, const char *path) {
    char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    CH_BUF_AUTO full = {0};
    ch_buf_addf(&full, "%s%s%s", here ? here : "", here ? "/" : "", path);
    free(here);
    return ch_sandbox_resolve(a, ch_buf_str(&full));
}

/* real: a path without links, found once for all agents */
static void hide_real(chela_runtime *rt, const char *real) {
    size_t n = 0;
    while (rt->hidden && rt->hidden[n])
        n++;
    rt->hidden = ch_realloc(rt->hidden, (n + 2) * sizeof(*rt->hidden));
    rt->hidden[n] = ch_strdup(real);
    rt->hidden[n + 1] = NULL;
    for (CH_LIST_EACH(i, &rt->agents)) {
        chela_agent *a = CH_CONTAINER(i, chela_agent, link);
        if (a->sandbox)
            ch_sandbox_add_hidden(&a->arena, a->sandbox, rt->hidden[n]);
    }
}

void ch_runtime_hide_file(chela_runtime *rt, const char *path) {
    CH_ARENA_AUTO arena = {0};
    hide_real(rt, real_path(&arena, path));
}

/* SQLite follows a link to the database, and its other files are beside the file that it
 * finds. */
void ch_runtime_hide_database(chela_runtime *rt, const char *path) {
    static const char *const parts[] = {"", "-wal", "-shm", "-journal"};
    CH_ARENA_AUTO arena = {0};
    const char *real = real_path(&arena, path);
    for (size_t i = 0; i < CH_LEN(parts); i++) {
        CH_BUF_AUTO file = {0};
        ch_buf_addf(&file, "%s%s", real, parts[i]);
        hide_real(rt, ch_buf_str(&file));
    }
}

void ch_runtime_release_hidden(chela_runtime *rt) {
    for (size_t i = 0; rt->hidden && rt->hidden[i]; i++)
        ch_free(rt->hidden[i]);
    ch_free(rt->hidden);
    rt->hidden = NULL;
}

void ch_agent_hide_files(chela_agent *a) {
    for (char **path = a->rt->hidden; path && *path; path++)
        ch_sandbox_add_hidden(&a->arena, a->sandbox, *path);
}

/* True if the folder `outer` is the folder `inner`, or holds it. Both are paths without links. */
static bool holds(const char *outer, const char *inner) {
    size_t n = strlen(outer);
    return n == 1 || (strncmp(outer, inner, n) == 0 && (!inner[n] || inner[n] == '/'));
}

void ch_agent_guard_program(chela_agent *a, const char *const *argv, const char *cwd) {
    CH_ARENA_AUTO arena = {0};
    bool scripts = ch_executable_runs_others(argv[0], NULL);
    const char *workspace = ch_sandbox_resolve(&arena, a->workspace);
    const char *here = cwd ? ch_sandbox_resolve(&arena, cwd) : workspace;
    for (size_t i = 0; argv[i]; i++) {
        const char *path = *argv[i] == '/' ? argv[i] : ch_arena_printf(&arena, "%s/%s", here,
                                                                       argv[i]);
        bool named = strchr(argv[i], '/') != NULL;
        if (!named && (i == 0 || !scripts || access(path, F_OK) < 0))
            continue; /* a program of PATH, an argument that is data, or no file */
        path = ch_sandbox_resolve(&arena, path);
        if (!holds(path, here) && !holds(path, workspace))
            ch_sandbox_add_ask(&a->arena, a->sandbox, path);
    }
}
