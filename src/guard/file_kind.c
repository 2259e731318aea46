/* file_kind.c -- see file_kind.h. */
#include "guard/file_kind.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/sv.h"

/* --- names that a file system takes for .git -------------------------------- */

/* HFS+ ignores these characters in names: U+200C..F, U+202A..E, U+206A..F, U+FEFF. Returns
 * the length of such a character, or 0. */
static size_t ignored_on_hfs(const char *s) {
    const unsigned char *p = (const unsigned char *)s;

    if (p[0] == 0xe2 && p[1] == 0x80)
        return (p[2] >= 0x8c && p[2] <= 0x8f) || (p[2] >= 0xaa && p[2] <= 0xae) ? 3 : 0;
    if (p[0] == 0xe2 && p[1] == 0x81)
        return p[2] >= 0xaa && p[2] <= 0xaf ? 3 : 0;
    return p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf ? 3 : 0;
}

/* NTFS knows ".git" also as "git~1", ignores dots and blanks at the end of a name, and takes
 * the text after a colon for the name of a stream. */
bool ch_file_is_dot_git(const char *name) {
    char plain[8];
    size_t n = 0;

    while (*name && *name != ':') {
        size_t skip = ignored_on_hfs(name);
        if (!skip && n == sizeof(plain) - 1 && *name != ' ' && *name != '.')
            return false;
        if (!skip && n < sizeof(plain) - 1)
            plain[n++] = *name;
        name += skip ? skip : 1;
    }
    while (n > 0 && (plain[n - 1] == ' ' || plain[n - 1] == '.'))
        n--;
    plain[n] = '\0';
    return strcasecmp(plain, ".git") == 0 ||
           (n == 5 && strncasecmp(plain, "git~", 4) == 0 && plain[4] >= '1' && plain[4] <= '9');
}

static bool has(int dir, const char *entry, const char *name) {
    return (name && strcasecmp(name, entry) == 0) ||
           faccessat(dir, entry, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool ch_file_is_repository(int dir, const char *name) {
    return has(dir, "HEAD", name) &&
           (has(dir, "commondir", name) || (has(dir, "objects", name) && has(dir, "refs", name)));
}

/* --- the table ---------------------------------------------------------------- */

#define SHELL "a shell executes it when it starts or ends"
#define EDITOR "an editor executes commands from it when the folder is opened"
#define DIRENV "direnv and similar programs execute it when a shell enters the directory"
#define SYSTEMD "systemd or the desktop starts programs from it"
#define PACKAGES "a package manager or build tool runs the programs that it names"
#define HOOKS "Git runs commands from it through a hook manager"
#define DEBUGGER "a debugger executes it when it starts"
#define INTERPRETER "an interpreter executes it when it starts in the directory"
#define MAIL "mail programs run the commands that it names"
#define PYTHON "Python executes it at every start"
#define AGENTS "another agent takes commands, servers or permissions from it"
#define CHELA "chela takes endpoints, commands and permissions from it"
#define OBEYED "a later run obeys it"

/* "name": a file of this name; "*text": a name with this ending; "name/": everything below a
 * directory of this name; "a/b": one below the other; "/a": at the top of the workspace.
 * Files that a person runs on purpose (Makefile, package.json, scripts) are not listed:
 * writing them is ordinary work, and nothing runs them unasked.
 *  */
static const struct row {
    const char *pattern;
    enum ch_file_kind kind;
    const char *why;
} rows[] = {
    {"chela.yaml", CH_KIND_EXECUTED, CHELA},
    {".config/chela/", CH_KIND_EXECUTED, CHELA},
    {".local/state/chela/", CH_KIND_EXECUTED, CHELA},
    {".mcp.json", CH_KIND_EXECUTED, "agents start the servers that it names"},
    {".claude/", CH_KIND_EXECUTED, AGENTS},
    {".codex/", CH_KIND_EXECUTED, AGENTS},
    {".cursor/", CH_KIND_EXECUTED, AGENTS},
    {".gemini/", CH_KIND_EXECUTED, AGENTS},
    {".qwen/", CH_KIND_EXECUTED, AGENTS},
    {".opencode/", CH_KIND_EXECUTED, AGENTS},
    {"opencode.json", CH_KIND_EXECUTED, AGENTS},
    {"opencode.jsonc", CH_KIND_EXECUTED, AGENTS},
    {".windsurf/", CH_KIND_EXECUTED, AGENTS},
    {".kiro/", CH_KIND_EXECUTED, AGENTS},
    {".continue/", CH_KIND_EXECUTED, AGENTS},
    {".roo/", CH_KIND_EXECUTED, AGENTS},
    {".aider.conf.yml", CH_KIND_EXECUTED, AGENTS},
    {".amazonq/", CH_KIND_EXECUTED, AGENTS},
    {"crush.json", CH_KIND_EXECUTED, AGENTS},
    {".crush.json", CH_KIND_EXECUTED, AGENTS},
    {".factory/", CH_KIND_EXECUTED, AGENTS},
    {".junie/", CH_KIND_EXECUTED, AGENTS},
    {".kilocode/", CH_KIND_EXECUTED, AGENTS},
    {".trae/", CH_KIND_EXECUTED, AGENTS},

    {".bashrc", CH_KIND_EXECUTED, SHELL},
    {".bash_profile", CH_KIND_EXECUTED, SHELL},
    {".bash_login", CH_KIND_EXECUTED, SHELL},
    {".bash_logout", CH_KIND_EXECUTED, SHELL},
    {".bash_aliases", CH_KIND_EXECUTED, SHELL},
    {".profile", CH_KIND_EXECUTED, SHELL},
    {".zshrc", CH_KIND_EXECUTED, SHELL},
    {".zshenv", CH_KIND_EXECUTED, SHELL},
    {".zprofile", CH_KIND_EXECUTED, SHELL},
    {".zlogin", CH_KIND_EXECUTED, SHELL},
    {".zlogout", CH_KIND_EXECUTED, SHELL},
    {".kshrc", CH_KIND_EXECUTED, SHELL},
    {".mkshrc", CH_KIND_EXECUTED, SHELL},
    {".shrc", CH_KIND_EXECUTED, SHELL},
    {".cshrc", CH_KIND_EXECUTED, SHELL},
    {".tcshrc", CH_KIND_EXECUTED, SHELL},
    {".login", CH_KIND_EXECUTED, SHELL},
    {".logout", CH_KIND_EXECUTED, SHELL},
    {".inputrc", CH_KIND_EXECUTED, SHELL},
    {".pam_environment", CH_KIND_EXECUTED, SHELL},
    {".xinitrc", CH_KIND_EXECUTED, SHELL},
    {".xprofile", CH_KIND_EXECUTED, SHELL},
    {".xsession", CH_KIND_EXECUTED, SHELL},
    {".xsessionrc", CH_KIND_EXECUTED, SHELL},
    {".config/fish/", CH_KIND_EXECUTED, SHELL},
    {".config/nushell/", CH_KIND_EXECUTED, SHELL},
    {".xonshrc", CH_KIND_EXECUTED, SHELL},
    {".tmux.conf", CH_KIND_EXECUTED, SHELL},
    {".config/tmux/", CH_KIND_EXECUTED, SHELL},
    {".screenrc", CH_KIND_EXECUTED, SHELL},

    {".Rprofile", CH_KIND_EXECUTED, INTERPRETER},
    {".ghci", CH_KIND_EXECUTED, INTERPRETER},
    {".ocamlinit", CH_KIND_EXECUTED, INTERPRETER},
    {".irbrc", CH_KIND_EXECUTED, INTERPRETER},
    {".pryrc", CH_KIND_EXECUTED, INTERPRETER},
    {".pdbrc", CH_KIND_EXECUTED, INTERPRETER},
    {".iex.exs", CH_KIND_EXECUTED, INTERPRETER},
    {".erlang", CH_KIND_EXECUTED, INTERPRETER},
    {".octaverc", CH_KIND_EXECUTED, INTERPRETER},
    {".perldb", CH_KIND_EXECUTED, INTERPRETER},
    {".ipython/", CH_KIND_EXECUTED, INTERPRETER},
    {".psqlrc", CH_KIND_EXECUTED, INTERPRETER},
    {".sqliterc", CH_KIND_EXECUTED, INTERPRETER},
    {".gnuplot", CH_KIND_EXECUTED, INTERPRETER},
    {".latexmkrc", CH_KIND_EXECUTED, INTERPRETER},
    {"latexmkrc", CH_KIND_EXECUTED, INTERPRETER},

    {".forward", CH_KIND_EXECUTED, MAIL},
    {".procmailrc", CH_KIND_EXECUTED, MAIL},
    {".mailcap", CH_KIND_EXECUTED, MAIL},
    {".muttrc", CH_KIND_EXECUTED, MAIL},
    {".lessfilter", CH_KIND_EXECUTED, "less executes it to show a file"},

    {".envrc", CH_KIND_EXECUTED, DIRENV},
    {".direnv/", CH_KIND_EXECUTED, DIRENV},
    {".mise.toml", CH_KIND_EXECUTED, DIRENV},
    {"mise.toml", CH_KIND_EXECUTED, DIRENV},
    {".mise/", CH_KIND_EXECUTED, DIRENV},
    {".rtx.toml", CH_KIND_EXECUTED, DIRENV},
    {".mise.local.toml", CH_KIND_EXECUTED, DIRENV},
    {"mise.local.toml", CH_KIND_EXECUTED, DIRENV},
    {".config/mise/", CH_KIND_EXECUTED, DIRENV},
    {".config/mise.toml", CH_KIND_EXECUTED, DIRENV},
    {".shadowenv.d/", CH_KIND_EXECUTED, DIRENV},
    {".autoenv.zsh", CH_KIND_EXECUTED, DIRENV},
    {"devbox.json", CH_KIND_EXECUTED, DIRENV},

    {".vscode/", CH_KIND_EXECUTED, EDITOR},
    {"*.code-workspace", CH_KIND_EXECUTED, EDITOR},
    {".idea/", CH_KIND_EXECUTED, EDITOR},
    {".fleet/", CH_KIND_EXECUTED, EDITOR},
    {".zed/", CH_KIND_EXECUTED, EDITOR},
    {".vs/", CH_KIND_EXECUTED, EDITOR},
    {".nova/", CH_KIND_EXECUTED, EDITOR},
    {".devcontainer/", CH_KIND_EXECUTED, EDITOR},
    {".devcontainer.json", CH_KIND_EXECUTED, EDITOR},
    {"*.sublime-project", CH_KIND_EXECUTED, EDITOR},
    {".vimrc", CH_KIND_EXECUTED, EDITOR},
    {".gvimrc", CH_KIND_EXECUTED, EDITOR},
    {".exrc", CH_KIND_EXECUTED, EDITOR},
    {".nvimrc", CH_KIND_EXECUTED, EDITOR},
    {".nvim.lua", CH_KIND_EXECUTED, EDITOR},
    {".vim/", CH_KIND_EXECUTED, EDITOR},
    {".lvimrc", CH_KIND_EXECUTED, EDITOR},
    {".config/nvim/", CH_KIND_EXECUTED, EDITOR},
    {".emacs", CH_KIND_EXECUTED, EDITOR},
    {".emacs.d/", CH_KIND_EXECUTED, EDITOR},
    {".config/emacs/", CH_KIND_EXECUTED, EDITOR},
    {".dir-locals.el", CH_KIND_EXECUTED, EDITOR},
    {".dir-locals-2.el", CH_KIND_EXECUTED, EDITOR},
    {".helix/", CH_KIND_EXECUTED, EDITOR},

    {".config/systemd/", CH_KIND_EXECUTED, SYSTEMD},
    {".config/autostart/", CH_KIND_EXECUTED, SYSTEMD},
    {".config/environment.d/", CH_KIND_EXECUTED, SYSTEMD},
    {".local/share/systemd/", CH_KIND_EXECUTED, SYSTEMD},
    {".local/share/applications/", CH_KIND_EXECUTED, SYSTEMD},
    {".local/bin/", CH_KIND_EXECUTED, "shells look for programs there"},
    {"LaunchAgents/", CH_KIND_EXECUTED, SYSTEMD},

    {".npmrc", CH_KIND_EXECUTED, PACKAGES},
    {".yarnrc", CH_KIND_EXECUTED, PACKAGES},
    {".yarnrc.yml", CH_KIND_EXECUTED, PACKAGES},
    {".pnpmfile.cjs", CH_KIND_EXECUTED, PACKAGES},
    {".pnpmfile.mjs", CH_KIND_EXECUTED, PACKAGES},
    {"bunfig.toml", CH_KIND_EXECUTED, PACKAGES},
    {"pip.conf", CH_KIND_EXECUTED, PACKAGES},
    {".pip/", CH_KIND_EXECUTED, PACKAGES},
    {".pypirc", CH_KIND_EXECUTED, PACKAGES},
    {".gemrc", CH_KIND_EXECUTED, PACKAGES},
    {".mvn/", CH_KIND_EXECUTED, PACKAGES},
    {".gradle/init.d/", CH_KIND_EXECUTED, PACKAGES},
    {".condarc", CH_KIND_EXECUTED, PACKAGES},
    {".bazelrc", CH_KIND_EXECUTED, PACKAGES},

    {".husky/", CH_KIND_EXECUTED, HOOKS},
    {".githooks/", CH_KIND_EXECUTED, HOOKS},
    {".pre-commit-config.yaml", CH_KIND_EXECUTED, HOOKS},
    {"lefthook.yml", CH_KIND_EXECUTED, HOOKS},
    {".lefthook.yml", CH_KIND_EXECUTED, HOOKS},
    {"lefthook.yaml", CH_KIND_EXECUTED, HOOKS},
    {".lefthook.yaml", CH_KIND_EXECUTED, HOOKS},
    {"lefthook.toml", CH_KIND_EXECUTED, HOOKS},
    {".lefthook.toml", CH_KIND_EXECUTED, HOOKS},
    {"lefthook.json", CH_KIND_EXECUTED, HOOKS},
    {".lefthook.json", CH_KIND_EXECUTED, HOOKS},
    {"lefthook-local.yml", CH_KIND_EXECUTED, HOOKS},
    {".lefthook-local.yml", CH_KIND_EXECUTED, HOOKS},
    {".lefthook/", CH_KIND_EXECUTED, HOOKS},
    {".gitconfig", CH_KIND_EXECUTED, "Git runs the commands that it names"},
    {".config/git/", CH_KIND_EXECUTED, "Git runs the commands that it names"},
    {".hgrc", CH_KIND_EXECUTED, "Mercurial runs the commands that its configuration names"},

    {".gdbinit", CH_KIND_EXECUTED, DEBUGGER},
    {".lldbinit", CH_KIND_EXECUTED, DEBUGGER},
    {"sitecustomize.py", CH_KIND_EXECUTED, PYTHON},
    {"usercustomize.py", CH_KIND_EXECUTED, PYTHON},

    {"AGENTS.md", CH_KIND_INSTRUCTIONS, OBEYED},
    {"AGENTS.override.md", CH_KIND_INSTRUCTIONS, OBEYED},
    {"CLAUDE.md", CH_KIND_INSTRUCTIONS, OBEYED},
    {"CLAUDE.local.md", CH_KIND_INSTRUCTIONS, OBEYED},
    {"GEMINI.md", CH_KIND_INSTRUCTIONS, OBEYED},
    {"SKILL.md", CH_KIND_INSTRUCTIONS, OBEYED},
    {"/SOUL.md", CH_KIND_INSTRUCTIONS, OBEYED},
    {"/TOOLS.md", CH_KIND_INSTRUCTIONS, OBEYED},
    {"/USER.md", CH_KIND_INSTRUCTIONS, OBEYED},
    {"/HEARTBEAT.md", CH_KIND_INSTRUCTIONS, OBEYED},
    {"/skills/", CH_KIND_INSTRUCTIONS, OBEYED},
    {".agents/", CH_KIND_INSTRUCTIONS, OBEYED},
    {".cursorrules", CH_KIND_INSTRUCTIONS, OBEYED},
    {".windsurfrules", CH_KIND_INSTRUCTIONS, OBEYED},
    {".clinerules", CH_KIND_INSTRUCTIONS, OBEYED},
    {".github/copilot-instructions.md", CH_KIND_INSTRUCTIONS, OBEYED},
};

/* Directories and names that commands also use for data, such as the history in .hg. For the
 * file tools all of their content is special; for commands only the executed part is. */
static const struct row tool_rows[] = {
    {"*.desktop", CH_KIND_EXECUTED, SYSTEMD},
    {".yarn/", CH_KIND_EXECUTED, PACKAGES},
    {".cargo/", CH_KIND_EXECUTED, PACKAGES},
    {".bundle/", CH_KIND_EXECUTED, PACKAGES},
    {".hg/", CH_KIND_EXECUTED, "Mercurial runs the commands that its configuration names"},
    {".jj/", CH_KIND_EXECUTED, "Jujutsu runs the commands that its configuration names"},
    {"*.pth", CH_KIND_EXECUTED, PYTHON},
};
static const struct row command_rows[] = {
    {".yarn/releases/", CH_KIND_EXECUTED, PACKAGES},
    {".yarn/plugins/", CH_KIND_EXECUTED, PACKAGES},
    {".cargo/config.toml", CH_KIND_EXECUTED, PACKAGES},
    {".cargo/config", CH_KIND_EXECUTED, PACKAGES},
    {".bundle/config", CH_KIND_EXECUTED, PACKAGES},
    {".hg/hgrc", CH_KIND_EXECUTED, "Mercurial runs the commands that its configuration names"},
    {".jj/repo/config.toml", CH_KIND_EXECUTED,
     "Jujutsu runs the commands that its configuration names"},
};

/* --- matching -------------------------------------------------------------------- */

static bool component_matches(struct ch_sv pattern, struct ch_sv name) {
    if (pattern.n && pattern.p[0] == '*') {
        pattern = ch_sv(pattern.p + 1, pattern.n - 1);
        if (name.n <= pattern.n)
            return false;
        name = ch_sv(name.p + name.n - pattern.n, pattern.n);
    }
    return ch_sv_eq_nocase(pattern, name);
}

/* True if path begins with the components of pattern and ends where the pattern does; a
 * pattern with a slash at its end needs a component below. */
static bool matches_here(struct ch_sv pattern, struct ch_sv path) {
    while (pattern.n) {
        struct ch_sv want = ch_sv_split(&pattern, '/');
        if (!path.n || !component_matches(want, ch_sv_split(&path, '/')))
            return false;
        if (pattern.p && !pattern.n) /* "name/" */
            return path.n > 0;
    }
    return path.n == 0;
}

static bool pattern_matches(const char *pattern, struct ch_sv path) {
    if (pattern[0] == '/')
        return matches_here(ch_sv_str(pattern + 1), path);
    while (path.n) {
        if (matches_here(ch_sv_str(pattern), path))
            return true;
        ch_sv_split(&path, '/');
    }
    return false;
}

static bool is_below_dot_git(struct ch_sv path) {
    while (path.n) {
        struct ch_sv name = ch_sv_split(&path, '/');
        char copy[64];
        if (name.n >= sizeof(copy))
            continue;
        memcpy(copy, name.p, name.n);
        copy[name.n] = '\0';
        if (ch_file_is_dot_git(copy))
            return true;
    }
    return false;
}

static const struct row *find_row(const struct row *list, size_t n, const char *path) {
    for (size_t i = 0; i < n; i++)
        if (pattern_matches(list[i].pattern, ch_sv_str(path)))
            return &list[i];
    return NULL;
}

enum ch_file_kind ch_file_kind(const char *path, const char **why) {
    const char *unused;

    why = why ? why : &unused;
    *why = "it belongs to a Git repository";
    if (is_below_dot_git(ch_sv_str(path)))
        return CH_KIND_REPOSITORY;
    const struct row *r = find_row(rows, CH_LEN(rows), path);
    r = r ? r : find_row(tool_rows, CH_LEN(tool_rows), path);
    *why = r ? r->why : NULL;
    return r ? r->kind : CH_KIND_PLAIN;
}

/* --- files that commands leave ------------------------------------------------------ */

/* True if a pattern of the list begins with this name. */
static bool begins_pattern(const struct row *list, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++) {
        struct ch_sv pattern = ch_sv_str(list[i].pattern + (list[i].pattern[0] == '/'));
        if (pattern.p[0] != '*' && (pattern.p[0] | 32) != (name[0] | 32))
            continue;
        if (component_matches(ch_sv_split(&pattern, '/'), ch_sv_str(name)))
            return true;
    }
    return false;
}

/* At the top, the names are common words (tools.md), so that case counts. */
static bool is_exact(const struct row *r, const char *path) {
    return r->pattern[0] != '/' || strncmp(r->pattern + 1, path, strlen(r->pattern + 1)) == 0;
}

/* True if the pattern names something below path. */
static bool leads_below(struct ch_sv pattern, struct ch_sv path) {
    while (path.n)
        if (!pattern.n ||
            !component_matches(ch_sv_split(&pattern, '/'), ch_sv_split(&path, '/')))
            return false;
    return pattern.p != NULL;
}

/* A link may replace a directory of any pattern. */
static const struct row *find_link(const struct row *list, size_t n, struct ch_sv path) {
    for (; path.n; ch_sv_split(&path, '/'))
        for (size_t i = 0; i < n; i++)
            if (list[i].pattern[0] != '/' && leads_below(ch_sv_str(list[i].pattern), path))
                return &list[i];
    return NULL;
}

enum ch_file_kind ch_file_kind_left(const char *dir, const char *name, enum ch_left_form form,
                                    const char **why) {
    CH_BUF_AUTO path = {0};

    /* most names are decided here; patterns of several names begin with a dot */
    if (!begins_pattern(rows, CH_LEN(rows), name) &&
        !begins_pattern(command_rows, CH_LEN(command_rows), name) && dir[0] != '.' &&
        !strstr(dir, "/."))
        return CH_KIND_PLAIN;
    ch_buf_addf(&path, "%s%s%s%s", dir, *dir ? "/" : "", name,
                form == CH_LEFT_DIRECTORY ? "/." : "");
    const struct row *r = find_row(rows, CH_LEN(rows), ch_buf_str(&path));
    if (!r || !is_exact(r, ch_buf_str(&path)))
        r = find_row(command_rows, CH_LEN(command_rows), ch_buf_str(&path));
    if (!r && form == CH_LEFT_LINK)
        r = find_link(rows, CH_LEN(rows), ch_buf_sv(&path));
    if (!r && form == CH_LEFT_LINK)
        r = find_link(command_rows, CH_LEN(command_rows), ch_buf_sv(&path));
    if (!r && form == CH_LEFT_LINK && strcmp(ch_buf_str(&path), "skills") == 0)
        r = find_row(rows, CH_LEN(rows), "skills/.");
    if (r)
        *why = r->why;
    return r ? r->kind : CH_KIND_PLAIN;
}
