/* leak.c -- see leak.h.
 *
 * Files .env, .env.NAME and NAME.env of the workspace are read, those near its top first, within
 * limits. Most lines of such files are settings. A value is a secret if its name says so, if it
 * is the password of a URL, or if it does not look like words, numbers, a path or an address. A
 * value of words that .env.example, .env.sample, .env.template or .env.dist contains too is none; a
 * value that looks random stays one, because a model can write such a file. */
#include "guard/leak.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/chars.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "guard/secrets.h"

/* --- values */

/* Letters with at most two digits at an end, or a few digits: a word, a number, a version. */
static bool leak_is_word(struct ch_sv s) {
    size_t head = 0, tail = 0;
    while (head < s.n && s.p[head] >= '0' && s.p[head] <= '9')
        head++;
    if (head == s.n)
        return s.n <= 5;
    while (s.p[s.n - 1 - tail] >= '0' && s.p[s.n - 1 - tail] <= '9')
        tail++;
    for (size_t i = head; i < s.n - tail; i++)
        if (s.p[i] >= '0' && s.p[i] <= '9')
            return false;
    return s.n <= 20 && head <= 2 && tail <= 2;
}

static bool leak_is_setting(struct ch_sv value) {
    for (size_t i = 0, n; i < value.n; i += n + 1) {
        n = ch_char_run(ch_sv(value.p + i, value.n - i), CH_CHAR_ALNUM);
        if (n && !leak_is_word(ch_sv(value.p + i, n)))
            return false;
    }
    return true;
}

/* The password of scheme://user:password@host; n 0: none. */
static struct ch_sv leak_password(struct ch_sv value) {
    const char *from = memmem(value.p, value.n, "://", 3), *end = value.p + value.n;
    const char *at = from ? memrchr(from + 3, '@', (size_t)(end - from) - 3) : NULL;
    const char *colon = at ? memchr(from + 3, ':', (size_t)(at - from) - 3) : NULL;
    return colon ? ch_sv(colon + 1, (size_t)(at - colon) - 1) : ch_sv("", 0);
}

/* --- lines of a file */

struct leak_pair {
    const char *name; /* "DB_PASSWORD (sub/.env)" */
    struct ch_sv value;
    bool named; /* the name says that the value is secret */
};

struct leak_pairs {
    struct ch_arena arena;
    struct leak_pair of[CH_LIMIT_SECRETS];
    size_t n;
    struct ch_sv shown[CH_LIMIT_SECRETS]; /* values of examples */
    size_t nshown;
};

static bool leak_is_name(struct ch_sv name) {
    return name.n && name.n <= 64 &&
           ch_char_run(name, CH_CHAR_WORD | CH_CHAR_DASH | CH_CHAR_DOT) == name.n;
}

static void leak_add(struct leak_pairs *p, struct ch_sv name, struct ch_sv value, const char *file,
                     bool example) {
    value = ch_sv_trim(value);
    if (value.n < CH_SECRET_LEAST || !leak_is_name(name))
        return;
    if (example && p->nshown < CH_LEN(p->shown))
        p->shown[p->nshown++] = ch_arena_sv(&p->arena, value);
    if (example || p->n == CH_LEN(p->of))
        return;
    p->of[p->n++] = (struct leak_pair){
        ch_arena_printf(&p->arena, "%.*s (%s)", CH_SV_FMT(name), file),
        ch_arena_sv(&p->arena, value), ch_secret_is_named(name)};
}

/* `export NAME="value"`; a quoted value may have several lines. */
static void leak_read_lines(struct leak_pairs *p, struct ch_sv rest, const char *file,
                            bool example) {
    while (rest.p && rest.n) {
        struct ch_sv after = rest, line = ch_sv_split(&after, '\n'), name = ch_sv_trim(line);
        if (ch_sv_starts(name, "export "))
            name = ch_sv_trim(ch_sv(name.p + 7, name.n - 7));
        const char *is = name.n && name.p[0] != '#' ? memchr(name.p, '=', name.n) : NULL;
        rest = after;
        if (!is)
            continue;
        struct ch_sv value = ch_sv_trim(ch_sv(is + 1, (size_t)(name.p + name.n - is) - 1));
        name = ch_sv_trim(ch_sv(name.p, (size_t)(is - name.p)));
        char quote = value.n ? value.p[0] : 0;
        if (quote == '"' || quote == '\'') {
            const char *from = value.p + 1, *end = line.p + line.n;
            end = after.p ? after.p + after.n : end;
            const char *close = memchr(from, quote, (size_t)(end - from));
            if (close && close > line.p + line.n)
                rest = ch_sv(close + 1, (size_t)(end - close) - 1);
            value = close ? ch_sv(from, (size_t)(close - from)) : ch_sv(from, value.n - 1);
        } else {
            const char *comment = memmem(value.p, value.n, " #", 2);
            value = comment ? ch_sv(value.p, (size_t)(comment - value.p)) : value;
        }
        leak_add(p, name, value, file, example);
    }
}

/* --- files of a workspace */

static bool leak_ends(struct ch_sv s, const char *end) {
    size_t n = strlen(end);
    return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

static bool leak_is_env_file(struct ch_sv name) {
    return ch_sv_is(name, ".env") || ch_sv_starts(name, ".env.") || leak_ends(name, ".env");
}

static bool leak_is_example(struct ch_sv name) {
    static const char *const ends[] = {".example", ".sample", ".template", ".dist",
                                       ".example.env", ".sample.env"};
    for (size_t i = 0; i < CH_LEN(ends); i++)
        if (leak_ends(name, ends[i]))
            return true;
    return false;
}

/* Neither a pipe nor a device blocks. */
static void leak_read_file(struct leak_pairs *p, int dir, const char *name, const char *shown) {
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    CH_AUTOFREE char *text = NULL;
    struct stat st;
    ssize_t n = 0;
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        text = ch_malloc(CH_LIMIT_DOTENV_FILE);
        n = read(fd, text, CH_LIMIT_DOTENV_FILE);
    }
    close(fd);
    if (n > 0)
        leak_read_lines(p, ch_sv(text, (size_t)n), shown, leak_is_example(ch_sv_str(name)));
}

struct leak_walk {
    struct leak_pairs *pairs;
    const char *dirs[CH_LIMIT_DOTENV_DIRS]; /* relative paths; "": the workspace */
    size_t n, files, entries;
};

static bool leak_is_searched(const char *name) {
    return name[0] != '.' && strcmp(name, "node_modules") != 0 && strcmp(name, "vendor") != 0 &&
           strcmp(name, "target") != 0;
}

static void leak_visit(struct leak_walk *w, int dir, const char *below, const struct dirent *e) {
    struct ch_arena *a = &w->pairs->arena;
    const char *path = *below ? ch_arena_printf(a, "%s/%s", below, e->d_name)
                              : ch_arena_str(a, ch_sv_str(e->d_name));
    if (leak_is_env_file(ch_sv_str(e->d_name)) && e->d_type != DT_DIR) {
        if (w->files++ < CH_LIMIT_DOTENV_FILES)
            leak_read_file(w->pairs, dir, e->d_name, path);
        return;
    }
    struct stat st;
    bool folder = e->d_type == DT_DIR ||
                  (e->d_type == DT_UNKNOWN && leak_is_searched(e->d_name) &&
                   fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode));
    if (folder && w->n < CH_LEN(w->dirs) && leak_is_searched(e->d_name))
        w->dirs[w->n++] = path;
}

/* Directories near the top come first. */
static void leak_walk(struct leak_pairs *p, int top) {
    struct leak_walk *w = ch_alloc(sizeof(*w));
    w->pairs = p;
    w->dirs[w->n++] = "";
    for (size_t i = 0; i < w->n; i++) {
        const char *below = w->dirs[i];
        int fd = openat(top, *below ? below : ".",
                        O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        DIR *d = fd < 0 ? NULL : fdopendir(fd);
        if (fd >= 0 && !d)
            close(fd);
        if (d) /* before the files that somebody put around it */
            leak_read_file(p, fd, ".env", ch_arena_printf(&p->arena, "%s%s.env", below,
                                                          *below ? "/" : ""));
        for (const struct dirent *e; d && w->entries < CH_LIMIT_DOTENV_ENTRIES &&
                                     (e = readdir(d));) {
            w->entries++;
            leak_visit(w, fd, below, e);
        }
        if (d)
            closedir(d);
    }
    ch_free(w);
}

static bool leak_is_shown(const struct leak_pairs *p, struct ch_sv value) {
    for (size_t i = 0; i < p->nshown; i++)
        if (ch_sv_eq(p->shown[i], value))
            return true;
    return false;
}

static void leak_fill(struct ch_secrets *set, const struct leak_pairs *p) {
    for (size_t i = 0; i < p->n; i++) {
        const struct leak_pair *is = &p->of[i];
        struct ch_sv password = leak_password(is->value);
        bool setting = leak_is_setting(is->value);
        if (setting && leak_is_shown(p, is->value))
            continue;
        bool found = password.n && ch_secrets_put(set, is->name, password);
        if (is->named || (password.n ? !found : !setting))
            ch_secrets_put(set, is->name, is->value);
    }
}

static struct ch_secrets *leak_read(const char *workspace) {
    struct leak_pairs *p = ch_alloc(sizeof(*p));
    struct ch_secrets *set = ch_secrets_new();
    int top = open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top >= 0) {
        leak_walk(p, top);
        close(top);
    }
    leak_fill(set, p);
    ch_arena_release(&p->arena);
    ch_free(p);
    return set;
}

/* --- the search */

static struct {
    pthread_mutex_t lock;
    char *workspace; /* owned: whose files were read; NULL: none */
    struct ch_secrets *set;
    int64_t at; /* monotonic time of reading */
} last = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct ch_secrets *leak_of(const char *workspace, int64_t max_age_ms) {
    int64_t now = ch_mono_ms(&ch_clock_system);
    if (last.set && strcmp(last.workspace, workspace) == 0 && now - last.at < max_age_ms)
        return last.set;
    ch_secrets_free(last.set);
    ch_free(last.workspace);
    last.workspace = ch_strdup(workspace);
    last.set = leak_read(workspace);
    last.at = now;
    return last.set;
}

void ch_leak_forget(void) {
    pthread_mutex_lock(&last.lock);
    ch_secrets_free(CH_TAKE(last.set));
    ch_free(CH_TAKE(last.workspace));
    pthread_mutex_unlock(&last.lock);
}

/* What was read is not kept for others. */
static bool leak_find_now(const char *workspace, struct ch_sv text, struct ch_buf *name) {
    struct ch_secrets *set = leak_read(workspace);
    const char *found = ch_secrets_find(set, text);
    if (found)
        ch_buf_add_str(name, found);
    ch_secrets_free(set);
    return found != NULL;
}

bool ch_leak_find(const char *workspace, int64_t max_age_ms, struct ch_sv text,
                  struct ch_buf *name) {
    if (text.n < CH_SECRET_LEAST)
        return false;
    if (ch_secret_find(text, name))
        return true;
    if (!workspace || !*workspace)
        return false;
    if (max_age_ms == 0)
        return leak_find_now(workspace, text, name);
    pthread_mutex_lock(&last.lock);
    const char *found = ch_secrets_find(leak_of(workspace, max_age_ms), text);
    if (found)
        ch_buf_add_str(name, found);
    pthread_mutex_unlock(&last.lock);
    return found != NULL;
}

bool ch_leak_mask(const char *workspace, struct ch_sv text, struct ch_buf *out,
                  struct ch_buf *name) {
    CH_BUF_AUTO own = {0}, all = {0}, ignored = {0};
    if (!ch_leak_find(workspace, 0, text, &ignored)) {
        ch_buf_add_sv(out, text);
        return true;
    }
    ch_secret_mask(text, &own);
    if (workspace && *workspace) {
        struct ch_secrets *set = leak_read(workspace);
        ch_secrets_mask(set, ch_buf_sv(&own), &all);
        ch_secrets_free(set);
    } else {
        ch_buf_add_sv(&all, ch_buf_sv(&own));
    }
    if (ch_leak_find(workspace, 0, ch_buf_sv(&all), name))
        return false;
    ch_buf_add_sv(out, ch_buf_sv(&all));
    return true;
}

void ch_leak_explain(struct ch_buf *out, const char *name) {
    ch_buf_addf(out,
                "Nothing was sent: the text holds a secret, %s, plain or encoded, and secrets do "
                "not leave this machine. Send it without the secret; do not try another encoding.",
                name);
}
