/* git_outside.c -- see git_outside.h.
 *
 * Git itself checks these references in the same way before it removes a worktree:
 * WORKTREE/.git names COMMON/worktrees/NAME, whose file gitdir names WORKTREE/.git; and
 * MODULE/.git names a directory whose core.worktree is MODULE. */
#include "tool/process/git_outside.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/sv.h"

/* The real path that text names, seen from dir; NULL: there is none. */
static const char *outside_path(struct ch_arena *a, const char *dir, struct ch_sv text) {
    char real[PATH_MAX];

    text = ch_sv_trim(text);
    if (!text.n || memchr(text.p, '\0', text.n))
        return NULL;
    const char *path = text.p[0] == '/' ? ch_arena_str(a, text)
                                        : ch_arena_printf(a, "%s/%.*s", dir, CH_SV_FMT(text));
    return realpath(path, real) ? ch_arena_str(a, ch_sv_str(real)) : NULL;
}

static bool outside_load(struct ch_arena *a, const char *dir, const char *file,
                         struct ch_buf *out) {
    const char *path = ch_arena_printf(a, "%s/%s", dir, file);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe does not block */
    int rc = fd < 0 ? fd : ch_file_load_open(fd, path, CH_LIMIT_GIT_CONFIG, out, NULL);

    if (fd >= 0)
        close(fd);
    return rc >= 0;
}

/* The path that a small file of dir names. */
static const char *outside_named(struct ch_arena *a, const char *dir, const char *file) {
    CH_BUF_AUTO text = {0};
    struct ch_sv s;

    if (!outside_load(a, dir, file, &text))
        return NULL;
    s = ch_buf_sv(&text);
    if (strcmp(file, ".git") == 0) {
        if (!ch_sv_starts(s, "gitdir:"))
            return NULL;
        s = ch_sv(s.p + 7, s.n - 7);
    }
    return outside_path(a, dir, s);
}

static bool outside_is_below(const char *path, const char *dir) {
    size_t n = strlen(dir);

    return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

static bool outside_is_repository(struct ch_arena *a, const char *dir) {
    static const char *const parts[] = {"HEAD", "objects", "refs"};

    for (size_t i = 0; i < CH_LEN(parts); i++)
        if (access(ch_arena_printf(a, "%s/%s", dir, parts[i]), F_OK) < 0)
            return false;
    return true;
}

static const char *outside_worktree(struct ch_arena *a, const char *git, const char *workspace) {
    const char *back = outside_named(a, git, "gitdir");
    const char *common = back ? outside_named(a, git, "commondir") : NULL;

    const char *name = strrchr(git, '/') + 1;

    return common && strcmp(back, ch_arena_printf(a, "%s/.git", workspace)) == 0 &&
                   strcmp(git, ch_arena_printf(a, "%s/worktrees/%s", common, name)) == 0
               ? common
               : NULL;
}

/* core.worktree of the configuration of a submodule. */
static const char *outside_module(struct ch_arena *a, const char *git, const char *workspace) {
    CH_BUF_AUTO text = {0};
    const char *tree = NULL;
    bool core = false;

    if (!outside_load(a, git, "config", &text))
        return NULL;
    for (struct ch_sv rest = ch_buf_sv(&text); rest.n;) {
        struct ch_sv value = ch_sv_trim(ch_sv_split(&rest, '\n'));
        if (value.n && value.p[0] == '[') {
            core = ch_sv_eq_nocase(value, CH_SV("[core]"));
            continue;
        }
        struct ch_sv key = ch_sv_trim(ch_sv_split(&value, '='));
        if (core && ch_sv_eq_nocase(key, CH_SV("worktree")))
            tree = outside_path(a, git, value);
    }
    return tree && strcmp(tree, workspace) == 0 ? git : NULL;
}

const char *ch_git_outside(struct ch_arena *arena, const char *workspace) {
    const char *top = workspace ? outside_path(arena, "/", ch_sv_str(workspace)) : NULL;
    const char *git = top ? outside_named(arena, top, ".git") : NULL;

    if (!git || outside_is_below(git, top)) /* a command could write what it says in return */
        return NULL;
    const char *found = outside_worktree(arena, git, top);
    if (!found)
        found = outside_module(arena, git, top);
    return found && outside_is_repository(arena, found) && !outside_is_below(top, found) ? found
                                                                                         : NULL;
}
