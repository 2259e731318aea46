/* executable.c -- see executable.h. */
#include "tool/process/executable.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin"

/* --- finding a program ------------------------------------------------------ */

static bool is_executable(const char *file) {
    struct stat st;

    return stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0;
}

const char *ch_executable_find(struct ch_arena *arena, const char *name, const char *path,
                               const char *cwd) {
    struct ch_sv rest = ch_sv_str(path ? path : USUAL_PATH);

    if (strchr(name, '/')) {
        const char *file = *name == '/' ? ch_arena_str(arena, ch_sv_str(name))
                                        : ch_arena_printf(arena, "%s/%s", cwd, name);
        return is_executable(file) ? file : NULL;
    }
    while (*name && rest.n) {
        struct ch_sv dir = ch_sv_split(&rest, ':');
        if (!ch_sv_starts(dir, "/"))
            continue;
        const char *file = ch_arena_printf(arena, "%.*s/%s", CH_SV_FMT(dir), name);
        if (is_executable(file))
            return file;
    }
    return NULL;
}

/* --- programs that run others ------------------------------------------------- */

/* clang-format off */
/* Names without a version suffix: python3.11 is python. */
static const char *const runners[] = {
    /* shells */
    "ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "posh", "pwsh",
    "rbash", "rksh", "rzsh", "sh", "tcsh", "xonsh", "yash", "zsh",
    /* languages */
    "awk", "bc", "bun", "bunx", "clojure", "dc", "deno", "elixir", "erl", "expect", "gawk",
    "ghci", "groovy", "guile", "iex", "ipython", "irb", "java", "jjs", "jshell", "julia",
    "jython", "lua", "luajit", "mawk", "nawk", "node", "nodejs", "ocaml", "osascript", "perl",
    "php", "pypy", "python", "pythonw", "qjs", "r", "racket", "rscript", "ruby", "runghc",
    "scala", "sed", "swift", "tclsh", "ts-node", "tsx", "wish",
    /* run the command in their arguments */
    "at", "batch", "busybox", "bwrap", "capsh", "cgexec", "chpst", "chroot", "chrt", "command",
    "corepack", "cpulimit", "crontab", "dbus-run-session", "doas", "docker", "dotnet",
    "eatmydata", "entr", "env", "envdir", "eval", "exec", "fakeroot", "firejail", "flatpak",
    "flock", "gdb", "gdbserver", "gosu", "ionice", "kubectl", "lldb", "logsave", "ltrace",
    "lxc", "machinectl", "nerdctl", "nice", "nix", "nix-shell", "nohup", "npx", "nsenter",
    "numactl", "parallel", "perf", "pipx", "pkexec", "pnpx", "podman", "prlimit", "proot",
    "proxychains", "rlwrap", "rsh", "rsync", "run", "run-parts", "runcon", "runuser", "screen",
    "script", "sem", "setarch", "setpriv", "setsid", "setuidgid", "sg", "softlimit", "ssh",
    "sshpass", "start-stop-daemon", "stdbuf", "strace", "su", "sudo", "sudoedit",
    "systemd-nspawn", "systemd-run", "taskset", "time", "timeout", "tini", "tmux", "torify",
    "torsocks", "toybox", "trickle", "tsocks", "unbuffer", "unshare", "uv", "uvx", "valgrind",
    "watch", "watchexec", "xargs", "xvfb-run",
    /* have a shell escape, or read and write arbitrary files */
    "ed", "emacs", "emacsclient", "ex", "ftp", "less", "lftp", "mail", "mailx", "man", "more",
    "mutt", "mysql", "nano", "nvim", "pico", "psql", "rview", "rvim", "scp", "sftp", "sqlite",
    "telnet", "vi", "view", "vim", "vimdiff", "vipw", "visudo", "w3m",
};
/* clang-format on */

/* Programs that run the commands that files of the project name. */
static const struct {
    const char *name, *reads;
} project_runners[] = {
    {"ant", "build.xml"},
    {"bazel", "WORKSPACE, BUILD files and .bazelrc"},
    {"bundle", "Gemfile and .bundle/config"},
    {"cargo", "Cargo.toml, build.rs and .cargo/config.toml"},
    {"cmake", "CMakeLists.txt and the files that it includes"},
    {"composer", "composer.json"},
    {"gmake", "the Makefile and the files that it includes"},
    {"go", "go.mod and the sources"},
    {"gradle", "build.gradle, settings.gradle and gradle.properties"},
    {"gradlew", "build.gradle, settings.gradle and gradle.properties"},
    {"just", "the justfile"},
    {"make", "the Makefile and the files that it includes"},
    {"meson", "meson.build"},
    {"mvn", "pom.xml and .mvn"},
    {"ninja", "build.ninja"},
    {"npm", "package.json and .npmrc"},
    {"pnpm", "package.json, .npmrc and .pnpmfile.cjs"},
    {"pre-commit", ".pre-commit-config.yaml"},
    {"pytest", "conftest.py, the test files and pyproject.toml"},
    {"rake", "the Rakefile"},
    {"sbt", "build.sbt and project/"},
    {"tox", "tox.ini and pyproject.toml"},
    {"yarn", "package.json, .yarnrc.yml and .yarn"},
    {"yarnpkg", "package.json, .yarnrc.yml and .yarn"},
};

/* Options of programs, separated by blanks: a word that begins so, an abbreviation of this long
 * option, or a group of short options with this letter. */
struct program_options {
    const char *program, *options;
};

/* Programs that run others with certain options or words. */
static const struct program_options running_options[] = {
    {"find", "-exec -ok"},
    {"fd", "-x -X --exec"},
    {"rg", "--hostname-bin --pre"},
    {"sort", "--compress-program"},
    {"split", "--filter"},
    {"tar", "-F -I --checkpoint-action --info-script --new-volume-script --rmt-command "
            "--rsh-command --to-command --use-compress-program"},
    {"git", "-c -O -x --config-env --exec --ext-diff --extcmd --open-files-in-pager "
            "--receive-pack --upload-pack bisect difftool filter-branch foreach mergetool"},
    {"zip", "-T --unzip-command"},
};

/* The last path component, lower case, without a version: "python". */
static void executable_base_name(const char *file, char out[64]) {
    const char *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file;
    size_t n = 0;

    while (name[n] && n < 63) {
        out[n] = name[n] >= 'A' && name[n] <= 'Z' ? (char)(name[n] + 32) : name[n];
        n++;
    }
    while (n > 1 &&
           ((out[n - 1] >= '0' && out[n - 1] <= '9') || out[n - 1] == '.' || out[n - 1] == '-'))
        n--;
    out[n] = '\0';
}

/* ld-linux-x86-64.so.2, ld-musl-aarch64.so.1, ld.so: loaders, which run the program in
 * their first argument. */
static bool is_loader(const char *name) {
    return strncmp(name, "ld", 2) == 0 && strstr(name, ".so");
}

static bool says(const char *word, struct ch_sv option) {
    size_t n = strcspn(word, "=");

    if (strncmp(word, option.p, option.n) == 0)
        return true;
    return n > 2 && strncmp(word, "--", 2) == 0 && n < option.n && strncmp(word, option.p, n) == 0;
}

/* bare: the first word is a group of options also without a dash. */
static bool has_option(const char *const *words, struct ch_sv option, bool bare) {
    bool letter = option.n == 2 && option.p[0] == '-';

    for (size_t i = 1; words && words[0] && words[i]; i++) {
        bool dash = words[i][0] == '-';
        bool group = (dash && words[i][1] != '-') || (!dash && bare && i == 1);
        if (letter ? group && strchr(words[i], option.p[1]) : says(words[i], option))
            return true;
    }
    return false;
}

static bool has_any(const struct program_options *list, size_t n, const char *name,
                    const char *const *words) {
    for (size_t i = 0; i < n; i++) {
        struct ch_sv rest = ch_sv_str(list[i].options);
        bool same = strcmp(list[i].program, name) == 0;
        while (same && rest.n)
            if (has_option(words, ch_sv_split(&rest, ' '), strcmp(name, "tar") == 0))
                return true;
    }
    return false;
}

bool ch_executable_runs_project(const char *file) {
    char name[64];

    executable_base_name(file, name);
    for (size_t i = 0; i < CH_LEN(project_runners); i++)
        if (strcmp(project_runners[i].name, name) == 0)
            return true;
    return false;
}

const char *ch_executable_reads(const char *file) {
    char name[64];

    executable_base_name(file, name);
    for (size_t i = 0; i < CH_LEN(project_runners); i++)
        if (strcmp(project_runners[i].name, name) == 0)
            return project_runners[i].reads;
    if (strcmp(name, "git") == 0)
        return "the repository with its configuration, attributes and hooks";
    return "the files that its arguments name";
}

bool ch_executable_runs_others(const char *file, const char *const *words) {
    char name[64];

    executable_base_name(file, name);
    if (ch_executable_runs_project(file))
        return true;
    for (size_t i = 0; i < CH_LEN(runners); i++)
        if (strcmp(runners[i], name) == 0)
            return true;
    if (has_any(running_options, CH_LEN(running_options), name, words))
        return true;
    return is_loader(name);
}

/* --- programs that only read --------------------------------------------------- */

/* clang-format off */
/* No option of these programs writes a file. */
static const char *const readers[] = {
    "b2sum", "base32", "base64", "basename", "cat", "cksum", "cmp", "comm", "cut", "date", "df",
    "diff", "dirname", "du", "echo", "egrep", "expand", "false", "fgrep", "file", "find", "fold",
    "grep", "groups", "head", "hexdump", "id", "join", "jq", "ls", "md5sum", "nl", "nproc",
    "numfmt", "od", "paste", "printenv", "pwd", "readlink", "realpath", "rev", "rg", "seq",
    "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "sleep", "sort", "stat",
    "strings", "sum", "tac", "tail", "tr", "true", "uname", "unexpand", "uptime", "wc", "which",
    "who", "whoami",
};
/* clang-format on */

/* Exceptions: options of readers that write. */
static const struct program_options writing_options[] = {
    {"date", "-s --set"},
    {"file", "-C --compile"},
    {"find", "-delete -fprint -fls"},
    {"sort", "-o --output"},
};

bool ch_executable_only_reads(const char *const *words) {
    const char *slash = strrchr(words[0], '/');
    const char *name = slash ? slash + 1 : words[0];
    size_t dir = slash ? (size_t)(slash - words[0]) : 0;
    bool standard = !slash || (dir == strlen("/bin") && strncmp(words[0], "/bin", dir) == 0) ||
                    (dir == strlen("/usr/bin") && strncmp(words[0], "/usr/bin", dir) == 0);

    if (!standard || ch_executable_runs_others(name, words) ||
        has_any(writing_options, CH_LEN(writing_options), name, words))
        return false;
    for (size_t i = 0; i < CH_LEN(readers); i++)
        if (strcmp(readers[i], name) == 0)
            return true;
    return false;
}
