/* bound_files.c -- see bound_files.h. */
#include "tool/call/bound_files.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/limits.h"

#define MOST_TEXT (64 * CH_KB) /* bytes of a file that are searched for words */
#define MOST_WORD 512
#define MOST_WORDS 20000 /* of all texts together: each is looked up */

struct bound_search {
    struct ch_arena *arena;
    const char *cwd, *workspace;
    struct ch_bound_files *out;
    size_t words;
};

/* Files that build tools read in a directory without being told. */
static const char *const project_files[] = {
    "Makefile",      "makefile",     "GNUmakefile",    "package.json", "Cargo.toml",
    "build.rs",      "setup.py",     "setup.cfg",      "pyproject.toml", "tox.ini",
    "noxfile.py",    "conftest.py",  "CMakeLists.txt", "configure",    "build.gradle",
    "build.gradle.kts", "gradlew",   "pom.xml",        "justfile",     "Justfile",
    "Rakefile",      "Gemfile",      "Taskfile.yml",   "build.xml",    "build.ninja",
    "meson.build",   "WORKSPACE",    "BUILD",          "Dockerfile",   "composer.json",
};

static bool is_below(const char *path, const char *dir) {
    size_t n = strlen(dir);

    return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

static bool is_listed(const struct ch_bound_files *l, const char *path) {
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i], path) == 0)
            return true;
    return false;
}

static void add_project_files(struct bound_search *s, const char *dir);

/* A path is kept as it is written, because a link may be redirected later. */
static void add_bound(struct bound_search *s, const char *dir, struct ch_sv word) {
    const char *path = word.p[0] == '/'
                           ? ch_arena_str(s->arena, word)
                           : ch_arena_printf(s->arena, "%s/%.*s", dir, CH_SV_FMT(word));
    struct stat st;

    if (s->out->n == CH_LIMIT_BOUND_FILES || stat(path, &st) < 0)
        return;
    char *real = realpath(path, NULL);
    bool inside = real && is_below(real, s->workspace);
    free(real);
    if (inside && S_ISREG(st.st_mode) && !is_listed(s->out, path))
        s->out->v[s->out->n++] = path;
    else if (inside && S_ISDIR(st.st_mode) && strcmp(dir, path) != 0 && word.n > 2)
        add_project_files(s, path);
}

static void add_project_files(struct bound_search *s, const char *dir) {
    for (size_t i = 0; i < CH_LEN(project_files); i++)
        add_bound(s, dir, ch_sv_str(project_files[i]));
}

static bool is_word(char c) {
    return (unsigned char)c > ' ' && !strchr(";|&<>()`\"'={}$,[]*?!#\\:", c);
}

/* Directories of the words: that of the command, and that of the file. */
static void search_words(struct bound_search *s, struct ch_sv text, const char *dir) {
    for (size_t i = 0; i < text.n && s->words < MOST_WORDS;) {
        size_t n = 0;
        while (i + n < text.n && is_word(text.p[i + n]))
            n++;
        struct ch_sv word = ch_sv(text.p + i, n);
        i += n + 1;
        if (!n || n > MOST_WORD)
            continue;
        s->words++;
        add_bound(s, s->cwd, word);
        if (dir)
            add_bound(s, dir, word);
    }
}

static const char *directory_of(struct ch_arena *a, const char *path) {
    return ch_arena_str(a, ch_sv(path, (size_t)(strrchr(path, '/') - path)));
}

void ch_bound_files_find(struct ch_arena *a, struct ch_sv command, const char *cwd,
                         const char *workspace, struct ch_bound_files *out) {
    char *top = realpath(workspace, NULL);
    struct bound_search s = {.arena = a, .cwd = cwd, .workspace = top, .out = out};

    *out = (struct ch_bound_files){.v = NULL};
    if (!top || !is_below(cwd, top)) {
        free(top);
        return;
    }
    out->v = ch_arena_alloc(a, CH_LIMIT_BOUND_FILES * sizeof(*out->v));
    search_words(&s, command, NULL);
    add_project_files(&s, cwd);
    for (size_t i = 0; i < out->n; i++) {
        CH_BUF_AUTO text = {0};
        if (ch_file_load(out->v[i], MOST_TEXT, &text, NULL) == 0 &&
            !memchr(ch_buf_str(&text), '\0', text.n))
            search_words(&s, ch_buf_sv(&text), directory_of(a, out->v[i]));
    }
    free(top);
}
