/* pinned.c -- see pinned.h. */
#include "tool/process/pinned.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "tool/process/executable.h"
#include "tool/process/program.h"
#include "tool/process/sandbox_policy.h"

#define HEAD 512      /* bytes that tell a text from data */
#define SETTLED_SEC 2 /* a change within the tick of a clock can have the same time */

/* --- which words are program files ----------------------------------------------- */

static bool has_suffix_of_language(const char *file) {
    static const char *const suffixes[] = {
        ".awk", ".bash", ".cjs", ".clj", ".coffee", ".csx",  ".exs", ".fish", ".groovy", ".jar",
        ".jl",  ".js",   ".jsx", ".ksh", ".kts",    ".lua",  ".mjs", ".php",  ".pl",     ".ps1",
        ".py",  ".pyc",  ".pyz", ".r",   ".R",      ".rb",   ".sed", ".sh",   ".so",     ".tcl",
        ".ts",  ".mts",  ".cts", ".tsx", ".wasm",   ".zsh"};
    const char *slash = strrchr(file, '/'), *dot = strrchr(slash ? slash : file, '.');

    for (size_t i = 0; dot && i < CH_LEN(suffixes); i++)
        if (strcmp(dot, suffixes[i]) == 0)
            return true;
    return false;
}

static size_t read_head(const char *file, char head[HEAD]) {
    int fd = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, head, HEAD);

    if (fd >= 0)
        close(fd);
    return n > 0 ? (size_t)n : 0;
}

/* *first: no text file was given so far; the language has no other file to run. */
static bool is_program(const char *file, bool language, bool *first) {
    char head[HEAD];
    struct stat st;

    if (stat(file, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    size_t n = read_head(file, head);
    bool text = !memchr(head, '\0', n), begins = *first && text;
    *first &= !text;
    return (st.st_mode & 0111) || (n > 1 && head[0] == '#' && head[1] == '!') ||
           has_suffix_of_language(file) || (language && begins);
}

static bool is_below(const char *path, const char *dir) {
    size_t n = strlen(dir);

    return strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* The name as given may lie below the directories, or the file that a link leads to. */
static bool is_below_one(struct ch_arena *a, const char *file, const char *const *below) {
    const char *slash = strrchr(file, '/');
    const char *dir = ch_arena_str(a, ch_sv(file, (size_t)(slash - file) + 1));
    const char *named = ch_arena_printf(a, "%s%s", ch_sandbox_resolve(a, dir), slash);
    const char *real = ch_sandbox_resolve(a, file);

    for (; below && *below; below++)
        if (is_below(named, *below) || is_below(real, *below))
            return true;
    return false;
}

static const char *search_path(struct ch_arena *a) {
    char *env[CH_PROGRAM_ENV + 1];
    const char *path = NULL;

    ch_program_env(env);
    for (size_t i = 0; env[i]; i++)
        if (strncmp(env[i], "PATH=", 5) == 0)
            path = ch_arena_str(a, ch_sv_str(env[i] + 5));
    ch_program_env_free(env);
    return path;
}

struct words {
    struct ch_arena *arena;
    const char *const *argv;
    const char *cwd;
    bool language, first;
};

/* The file of word i; NULL: no program file. Called for each word in turn. */
static const char *file_of(struct words *w, size_t i) {
    const char *word = w->argv[i];

    if (i == 0 && !strchr(word, '/'))
        return ch_executable_find(w->arena, word, search_path(w->arena), w->cwd);
    const char *file =
        *word == '/' ? word : ch_arena_printf(w->arena, "%s/%s", w->cwd, word);
    if (i == 0)
        return file;
    return *word && *word != '-' && is_program(file, w->language, &w->first) ? file : NULL;
}

static struct words words_of(struct ch_arena *a, const char *const *argv, const char *cwd) {
    return (struct words){a, argv, cwd, ch_executable_runs_others(argv[0], NULL), true};
}

/* --- content --------------------------------------------------------------------- */

static bool identify(const char *file, uint64_t id[6], struct timespec *changed) {
    struct stat st;

    if (stat(file, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    const uint64_t all[6] = {(uint64_t)st.st_dev,         (uint64_t)st.st_ino,
                             (uint64_t)st.st_size,        st.st_mode,
                             (uint64_t)st.st_ctim.tv_sec, (uint64_t)st.st_ctim.tv_nsec};
    memcpy(id, all, sizeof(all));
    *changed = st.st_ctim;
    return true;
}

/* A file that cannot be read, or is very large, has its identity instead of its content. */
static void digest_content(const char *file, const uint64_t id[6],
                           unsigned char out[CH_SHA256_SIZE]) {
    struct ch_sha256 h;
    char *block = ch_alloc(CH_LIMIT_PINNED_BLOCK);
    size_t all = 0;
    ssize_t n = 0;
    int fd = id[2] > CH_LIMIT_PINNED ? -1 : open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    ch_sha256_init(&h);
    while (fd >= 0 && all <= CH_LIMIT_PINNED &&
           ((n = read(fd, block, CH_LIMIT_PINNED_BLOCK)) > 0 || (n < 0 && errno == EINTR))) {
        if (n > 0)
            ch_sha256_add(&h, block, (size_t)n);
        all += n > 0 ? (size_t)n : 0;
    }
    if (fd < 0 || n < 0)
        ch_sha256_add(&h, id, 6 * sizeof(*id));
    if (fd >= 0)
        close(fd);
    ch_sha256_end(&h, out);
    ch_free(block);
}

static void take(struct ch_pin *pin, const char *file) {
    struct timespec changed, now;

    pin->file = file;
    if (!identify(file, pin->identity, &changed))
        return; /* the digest of no file */
    digest_content(file, pin->identity, pin->digest);
    clock_gettime(CLOCK_REALTIME, &now);
    pin->settled = now.tv_sec - changed.tv_sec > SETTLED_SEC;
}

static bool is_same(const struct ch_pin *pin, const char *file) {
    unsigned char digest[CH_SHA256_SIZE] = {0};
    uint64_t id[6] = {0};
    struct timespec changed;

    if (!pin->file)
        return false;
    bool there = identify(file, id, &changed);
    if (there && pin->settled && memcmp(id, pin->identity, sizeof(id)) == 0)
        return true;
    if (there)
        digest_content(file, id, digest);
    return ch_sha256_equal(digest, pin->digest);
}

/* --- taking and comparing ----------------------------------------------------------- */

void ch_pins_take(struct ch_arena *a, const char *const *argv, const char *cwd,
                  const char *const *below, const char *config, struct ch_pins *out) {
    CH_ARENA_AUTO scratch = {0};
    struct words w = words_of(&scratch, argv, cwd);
    size_t n = 0;

    while (argv[n])
        n++;
    struct ch_pin *pins = ch_arena_zalloc(a, (n + 1) * sizeof(*pins));
    for (size_t i = 0; i < n; i++) {
        const char *file = file_of(&w, i);
        if (file && is_below_one(&scratch, file, below))
            take(&pins[i], ch_arena_str(a, ch_sv_str(file)));
    }
    *out = (struct ch_pins){.config = config, .below = below, .n = n, .words = pins};
}

/* A word that was a program file must be one of the files that were agreed to; a word that was
 * none must not have become one. */
static bool is_agreed(struct ch_arena *a, const struct ch_pins *pins, size_t i, const char *file) {
    bool pinned = false;

    for (const struct ch_pins *p = pins; p; p = p->more) {
        if (i < p->n && p->words[i].file && is_same(&p->words[i], file))
            return true;
        pinned |= i < p->n && p->words[i].file;
    }
    return !pinned && !is_below_one(a, file, pins->below);
}

const char *ch_pins_changed(struct ch_arena *a, const struct ch_pins *pins,
                            const char *const *argv, const char *cwd) {
    struct words w = words_of(a, argv, cwd);

    if (pins && pins->refused)
        return argv[0];
    for (size_t i = 0; pins && argv[i]; i++) {
        const char *file = file_of(&w, i);
        if (!file && i < pins->n && pins->words[i].file)
            file = *argv[i] == '/' ? argv[i] : ch_arena_printf(a, "%s/%s", cwd, argv[i]);
        if (file && !is_agreed(a, pins, i, file))
            return file;
    }
    return NULL;
}

const struct ch_pins *ch_pins_copy(struct ch_arena *a, const struct ch_pins *pins) {
    if (!pins)
        return NULL;
    struct ch_pins *copy = ch_arena_alloc(a, sizeof(*copy));
    struct ch_pin *words = ch_arena_alloc(a, (pins->n + 1) * sizeof(*words));
    for (size_t i = 0; i < pins->n; i++) {
        words[i] = pins->words[i];
        if (words[i].file)
            words[i].file = ch_arena_str(a, ch_sv_str(words[i].file));
    }
    *copy = (struct ch_pins){.config = ch_arena_str(a, ch_sv_str(pins->config)),
                             .below = ch_sandbox_copy_list(a, pins->below),
                             .n = pins->n,
                             .words = words,
                             .refused = pins->refused,
                             .more = ch_pins_copy(a, pins->more)};
    return copy;
}
