/* git_identity.c -- see git_identity.h. */
#include "tool/process/git_identity.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/sv.h"

#define MOST_FILES 16 /* that are read, included ones among them */
#define VALUE_MAX 1000

struct reading {
    struct ch_arena *arena;
    const char *home, *workspace;
    struct ch_git_identity *out;
    unsigned files; /* that may still be read */
};

static bool read_text(const char *path, struct ch_buf *out) {
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    ssize_t n = -1;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        char *at = ch_buf_reserve(out, CH_LIMIT_GIT_CONFIG);
        n = at ? read(fd, at, CH_LIMIT_GIT_CONFIG) : -1;
        ch_buf_commit(out, n > 0 ? (size_t)n : 0);
    }
    close(fd);
    return n > 0;
}

/* The text of a value: without quotes, escapes and a comment. */
static const char *value_of(struct ch_arena *a, struct ch_sv text) {
    CH_BUF_AUTO out = {0};
    bool quoted = false;
    size_t end = 0; /* after the last character that is no blank, or is quoted */

    text = ch_sv_trim(text);
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '"') {
            quoted = !quoted;
            continue;
        }
        if (!quoted && (c == '#' || c == ';'))
            break;
        if (c == '\\' && i + 1 < text.n)
            c = text.p[++i];
        ch_buf_addc(&out, c);
        if (quoted || (c != ' ' && c != '\t'))
            end = out.n;
    }
    return end && end <= VALUE_MAX ? ch_arena_str(a, ch_sv(out.p, end)) : NULL;
}

/* A path of a configuration file: below the home directory, or beside the file. */
static const char *path_of(struct reading *r, const char *file, const char *path) {
    const char *slash = strrchr(file, '/');

    if (path[0] == '~' && path[1] == '/')
        return r->home ? ch_arena_printf(r->arena, "%s%s", r->home, path + 1) : NULL;
    return path[0] == '/' ? path
                          : ch_arena_printf(r->arena, "%.*s/%s", (int)(slash - file), file, path);
}

/* gitdir:PATTERN for a repository at the top of the workspace; a slash at the end: below. */
static bool condition_holds(struct reading *r, const char *file, struct ch_sv condition) {
    bool no_case = ch_sv_starts(condition, "gitdir/i:");
    size_t skip = no_case ? 9 : 7;

    if (!no_case && !ch_sv_starts(condition, "gitdir:"))
        return false;
    const char *pattern = ch_arena_str(r->arena, ch_sv(condition.p + skip, condition.n - skip));
    if (pattern[0] != '/' && pattern[0] != '~' && strncmp(pattern, "./", 2) != 0)
        pattern = ch_arena_printf(r->arena, "*/%s", pattern);
    else
        pattern = path_of(r, file, strncmp(pattern, "./", 2) == 0 ? pattern + 2 : pattern);
    size_t n = pattern ? strlen(pattern) : 0;
    if (n && pattern[n - 1] == '/')
        pattern = ch_arena_printf(r->arena, "%s*", pattern);
    return n && fnmatch(pattern, ch_arena_printf(r->arena, "%s/.git", r->workspace),
                        no_case ? FNM_CASEFOLD : 0) == 0;
}

enum section { OTHER, USER, INCLUDE };

static enum section section_of(struct reading *r, const char *file, struct ch_sv line) {
    struct ch_sv inner = ch_sv(line.p + 1, line.n - 2);

    if (ch_sv_eq_nocase(inner, CH_SV("user")))
        return USER;
    if (ch_sv_eq_nocase(inner, CH_SV("include")))
        return INCLUDE;
    struct ch_sv word = ch_sv_split(&inner, ' ');
    inner = ch_sv_trim(inner);
    return ch_sv_eq_nocase(word, CH_SV("includeIf")) && inner.n > 2 && inner.p[0] == '"' &&
                   inner.p[inner.n - 1] == '"' &&
                   condition_holds(r, file, ch_sv(inner.p + 1, inner.n - 2))
               ? INCLUDE
               : OTHER;
}

/* Later settings take precedence, as in Git. */
static void read_config(struct reading *r, const char *file) {
    CH_BUF_AUTO text = {0};
    enum section section = OTHER;

    if (!file || r->files == 0 || !read_text(file, &text))
        return;
    r->files--;
    for (struct ch_sv rest = ch_buf_sv(&text); rest.n;) {
        struct ch_sv value = ch_sv_trim(ch_sv_split(&rest, '\n'));
        if (value.n > 2 && value.p[0] == '[' && value.p[value.n - 1] == ']') {
            section = section_of(r, file, value);
            continue;
        }
        struct ch_sv key = ch_sv_trim(ch_sv_split(&value, '='));
        const char *set = section == OTHER ? NULL : value_of(r->arena, value);
        if (set && section == USER && ch_sv_eq_nocase(key, CH_SV("name")))
            r->out->name = set;
        else if (set && section == USER && ch_sv_eq_nocase(key, CH_SV("email")))
            r->out->email = set;
        else if (set && section == INCLUDE && ch_sv_eq_nocase(key, CH_SV("path")))
            read_config(r, path_of(r, file, set));
    }
}

void ch_git_identity(struct ch_arena *arena, const char *home, const char *workspace,
                     struct ch_git_identity *out) {
    struct reading r = {arena, home, workspace, out, MOST_FILES};
    const char *global = getenv("GIT_CONFIG_GLOBAL"), *xdg = getenv("XDG_CONFIG_HOME");

    *out = (struct ch_git_identity){0};
    if (global && *global == '/') {
        read_config(&r, global);
        return;
    }
    if (xdg && *xdg)
        read_config(&r, ch_arena_printf(arena, "%s/git/config", xdg));
    else if (home)
        read_config(&r, ch_arena_printf(arena, "%s/.config/git/config", home));
    if (home)
        read_config(&r, ch_arena_printf(arena, "%s/.gitconfig", home));
}
