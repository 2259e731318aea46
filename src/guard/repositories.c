/* repositories.c -- see repositories.h.
 *
 * Directories are visited breadth first, so that a limit cuts off the deepest. Directories
 * that hold thousands of packages come last. */
#include "guard/repositories.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/entry_type.h"
#include "base/limits.h"
#include "guard/file_kind.h"

#define FILE_MAX_BYTES (64 * CH_KB)
#define HELD_ENTRIES 200 /* entries of a directory that was set aside, compared before it is put
                          * back */

/* --- the search ------------------------------------------------------------------ */

struct place {
    struct place *next;
    const char *path;
    size_t top;         /* length of the path of the directory where the search began */
    bool in_git; /* in a directory .git */
    bool has_data; /* a repository in a directory .git: objects and the like are skipped */
    bool in_packages;   /* in packages or a special directory at the top: no special files below */
    const char *why;    /* in a special directory: of that directory; NULL elsewhere */
};

struct queue {
    struct place *first, **last;
};

struct search {
    struct ch_arena *arena;
    struct ch_repositories *out;
    size_t cap, special_cap;
    /* how many more may be visited, recorded */
    size_t directories, repositories, sockets, specials;
    enum ch_file_kind least;
    const char *const *tops;
    const struct timespec *since; /* after a command: when the command started; NULL: before */
    struct queue soon, late;
};

static void queue_init(struct queue *q) {
    *q = (struct queue){.last = &q->first};
}

static struct place *queue_take(struct queue *q) {
    struct place *p = q->first;

    if (p && !(q->first = p->next))
        q->last = &q->first;
    return p;
}

static struct place *queue_add(struct search *s, struct queue *q, const char *path,
                               const struct place *above) {
    struct place *p = CH_ARENA_NEW(s->arena, struct place);

    if (above)
        *p = *above;
    p->next = NULL;
    p->path = path;
    *q->last = p;
    q->last = &p->next;
    return p;
}

static int by_path(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The list must be complete, and therefore sorted. */
static bool repositories_has(const struct ch_repositories *r, const char *path) {
    return r->n && bsearch(&path, r->paths, r->n, sizeof(*r->paths), by_path);
}

/* A repository may be recorded twice. */
static void record(struct search *s, const char *path) {
    struct ch_repositories *r = s->out;

    if (s->repositories == 0) {
        r->cut = true;
        return;
    }
    s->repositories--;
    if (r->n + 1 >= s->cap) {
        const char **more = ch_arena_zalloc(s->arena, 2 * (s->cap + 8) * sizeof(*more));
        if (r->n)
            memcpy(more, r->paths, r->n * sizeof(*more));
        s->cap = 2 * (s->cap + 8);
        r->paths = more;
    }
    r->paths[r->n++] = path;
    r->paths[r->n] = NULL;
}

static bool is_one_of(const char *name, const char *const *list) {
    for (; *list; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

/* Contents of a small regular file; false: there is none. Links are not followed. */
static bool read_small(int dir, const char *name, struct ch_buf *out) {
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    ssize_t n = -1;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        char *at = ch_buf_reserve(out, FILE_MAX_BYTES + 1);
        n = at ? read(fd, at, FILE_MAX_BYTES + 1) : -1;
        ch_buf_commit(out, n > 0 ? (size_t)n : 0);
    }
    close(fd);
    return n >= 0;
}

static bool is_below_any(const char *path, const char *const *tops) {
    for (; *tops; tops++) {
        size_t n = strlen(*tops);
        if (strncmp(path, *tops, n) == 0 && (path[n] == '/' || !path[n]))
            return true;
    }
    return false;
}

/* Record the place that a .git file or a commondir file names, wherever it hides. */
static void follow(struct search *s, const char *dir, int fd, const char *name) {
    CH_BUF_AUTO text = {0}, path = {0};
    char real[PATH_MAX];

    if (!read_small(fd, name, &text))
        ch_buf_add_str(&text, name); /* perhaps a link */
    struct ch_sv target = ch_buf_sv(&text);
    if (ch_sv_starts(target, "gitdir:"))
        target = ch_sv(target.p + 7, target.n - 7);
    target = ch_sv_trim(target);
    if (!target.n || memchr(target.p, '\0', target.n))
        return;
    if (target.p[0] != '/')
        ch_buf_addf(&path, "%s/", dir);
    ch_buf_add_sv(&path, target);
    if (realpath(ch_buf_str(&path), real) && is_below_any(real, s->tops))
        record(s, ch_arena_str(s->arena, ch_sv_str(real)));
}

static const char *const packages[] = {"node_modules", ".venv",  "venv",   "site-packages",
                                       "target",       "vendor", ".cache", NULL};

static void identify(int dir, const char *name, uint64_t id[4], bool *link) {
    struct stat own = {0}, target = {0};

    *link = fstatat(dir, name, &own, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(own.st_mode);
    if (*link)
        fstatat(dir, name, &target, 0);
    id[0] = (uint64_t)own.st_ino;
    id[1] = (uint64_t)own.st_ctim.tv_sec * 1000000000u + (uint64_t)own.st_ctim.tv_nsec;
    id[2] = (uint64_t)target.st_ino;
    id[3] = (uint64_t)target.st_ctim.tv_sec * 1000000000u + (uint64_t)target.st_ctim.tv_nsec;
    if (S_ISDIR(own.st_mode)) /* its entries are recorded for themselves */
        id[1] = 0;
}

/* True if a file has several names: a command can write it under another one, where the
 * sandbox does not keep it read-only. */
static bool has_names(int dir, const char *name) {
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) &&
           st.st_nlink > 1;
}

static void record_special(struct search *s, const struct place *p, int dir, const char *name,
                           const char *why) {
    struct ch_repositories *r = s->out;
    struct ch_special *one;
    bool link;

    if (s->specials == 0) {
        r->cut = true;
        return;
    }
    s->specials--;
    if (r->nspecial == s->special_cap) {
        size_t cap = 2 * (s->special_cap + 8);
        struct ch_special *more = ch_arena_alloc(s->arena, cap * sizeof(*more));
        if (r->nspecial)
            memcpy(more, r->special, r->nspecial * sizeof(*more));
        r->special = more;
        s->special_cap = cap;
    }
    one = &r->special[r->nspecial++];
    *one = (struct ch_special){.path = ch_arena_printf(s->arena, "%s/%s", p->path, name),
                               .why = why};
    identify(dir, name, one->id, &link);
    one->at_top = !link && p->path[p->top] == '\0';
    one->linked = has_names(dir, name);
}

/* Record an entry of a special kind. Returns the effect of the entry on other programs, or
 * NULL. */
static const char *visit_special(struct search *s, const struct place *p, int dir,
                                 const char *name, enum ch_left_form form) {
    const char *rel = p->path + p->top, *why = p->why;

    if (p->in_packages)
        return NULL;
    if (!why && ch_file_kind_left(*rel == '/' ? rel + 1 : rel, name, form, &why) < s->least)
        return NULL;
    record_special(s, p, dir, name, why);
    return why;
}

/* A directory that only looks like a repository is searched like any other, because a
 * command can make one to hide files in it. */
static void visit_directory(struct search *s, const struct place *p, const char *name,
                            const char *why) {
    static const char *const data[] = {"objects", "refs", "logs", "lfs", "hooks", "info", NULL};
    const char *path = ch_arena_printf(s->arena, "%s/%s", p->path, name);

    if (ch_file_is_dot_git(name)) {
        record(s, path);
        queue_add(s, &s->soon, path, p)->in_git |= strcmp(name, ".git") == 0;
    } else if (!p->has_data || !is_one_of(name, data)) {
        bool large = is_one_of(name, packages), at_top = p->path[p->top] == '\0';
        struct place *below = queue_add(s, large ? &s->late : &s->soon, path, p);
        below->in_packages = p->in_packages || large || (why && at_top);
        below->why = why;
    }
}

static bool is_at_or_after(const struct timespec *time, const struct timespec *since) {
    return time->tv_sec > since->tv_sec ||
           (time->tv_sec == since->tv_sec && time->tv_nsec >= since->tv_nsec);
}

/* Add permissions for the user to an open directory. */
static bool permit(int fd, mode_t more) {
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return fstat(fd, &st) == 0 && chmod(path, (st.st_mode & 07777) | more) == 0;
}

/* Open a directory. A command may have removed the read permission of a directory that it
 * wrote. */
static int search_open(const struct search *s, const char *path) {
    const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = open(path, O_RDONLY | flags);
    struct stat st;

    if (fd >= 0 || errno != EACCES || !s->since)
        return fd;
    int closed = open(path, O_PATH | flags);
    if (closed >= 0 && fstat(closed, &st) == 0 && is_at_or_after(&st.st_ctim, s->since) &&
        permit(closed, S_IRWXU))
        fd = open(path, O_RDONLY | flags);
    if (closed >= 0)
        close(closed);
    return fd;
}

static void visit(struct search *s, struct place *p) {
    int fd = search_open(s, p->path);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);

    if (!d) {
        if (fd >= 0)
            close(fd);
        s->out->cut |= errno != ENOENT && errno != ENOTDIR && errno != ELOOP && s->since;
        return;
    }
    bool is_repository = ch_file_is_repository(fd, NULL);
    p->has_data = p->in_git && is_repository;
    if (is_repository) {
        record(s, p->path);
        follow(s, p->path, fd, "commondir");
    }
    for (struct dirent *e; (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        unsigned char type = ch_entry_type(fd, e);
        enum ch_left_form form = type == DT_DIR   ? CH_LEFT_DIRECTORY
                                 : type == DT_LNK ? CH_LEFT_LINK
                                                  : CH_LEFT_FILE;
        const char *why = visit_special(s, p, fd, e->d_name, form);
        if (form == CH_LEFT_DIRECTORY) {
            visit_directory(s, p, e->d_name, why);
        } else if (type == DT_SOCK && s->sockets) {
            s->sockets--;
            s->out->sockets[s->out->nsockets++] =
                ch_arena_printf(s->arena, "%s/%s", p->path, e->d_name);
        } else if (ch_file_is_dot_git(e->d_name)) {
            record(s, ch_arena_printf(s->arena, "%s/%s", p->path, e->d_name));
            follow(s, p->path, fd, e->d_name);
        }
    }
    closedir(d);
}

/* Files of a repository from which Git takes commands. */
static const char *const commanding[] = {"config", "config.worktree", "commondir", "hooks"};

static bool is_linked(const char *path) {
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool linked = false;

    for (size_t i = 0; dir >= 0 && i < CH_LEN(commanding); i++)
        linked |= has_names(dir, commanding[i]);
    if (dir >= 0)
        close(dir);
    return linked || has_names(AT_FDCWD, path);
}

static int by_special_path(const void *a, const void *b) {
    return strcmp(((const struct ch_special *)a)->path, ((const struct ch_special *)b)->path);
}

static void search_sort(struct search *s) {
    struct ch_repositories *r = s->out;
    size_t n = 0;

    if (r->n)
        qsort(r->paths, r->n, sizeof(*r->paths), by_path);
    for (size_t i = 0; i < r->n && !s->since; i++)
        r->linked |= is_linked(r->paths[i]);
    if (r->nspecial)
        qsort(r->special, r->nspecial, sizeof(*r->special), by_special_path);
    r->fixed = ch_arena_zalloc(s->arena, (r->nspecial + 1) * sizeof(*r->fixed));
    for (size_t i = 0; i < r->nspecial; i++)
        if (r->special[i].at_top)
            r->fixed[n++] = r->special[i].path;
}

static void search(struct ch_arena *arena, const char *const *tops, enum ch_file_kind least,
                   const struct timespec *since, struct ch_repositories *out) {
    static const char *none[] = {NULL};
    struct search s = {.arena = arena,
                       .out = out,
                       .directories = since ? CH_LIMIT_SCAN_AFTER : CH_LIMIT_SCAN_BEFORE,
                       .repositories = since ? SIZE_MAX : CH_LIMIT_REPOSITORIES,
                       .specials = since ? SIZE_MAX : CH_LIMIT_SPECIALS,
                       .least = least,
                       .tops = tops,
                       .since = since};

    *out = (struct ch_repositories){.paths = none};
    s.sockets = CH_LIMIT_SOCKETS;
    out->sockets = ch_arena_zalloc(arena, (CH_LIMIT_SOCKETS + 1) * sizeof(*out->sockets));
    queue_init(&s.soon);
    queue_init(&s.late);
    for (; *tops; tops++)
        queue_add(&s, &s.soon, *tops, NULL)->top = strlen(*tops);
    for (struct place *p; (p = queue_take(&s.soon)) || (p = queue_take(&s.late));) {
        if (s.directories-- == 0) {
            out->cut = true;
            break;
        }
        visit(&s, p);
    }
    search_sort(&s);
}

void ch_repositories_find(struct ch_arena *arena, const char *const *tops,
                          enum ch_file_kind least, struct ch_repositories *out) {
    search(arena, tops, least, NULL, out);
}

/* --- configuration ------------------------------------------------------------------ */

/* Settings that make Git run nothing and read no other file. A section with a dot at its end
 * has a name: [remote "origin"]. */
static const struct {
    const char *section, *keys; /* separated by blanks */
} plain[] = {
    {"core", "repositoryformatversion filemode bare logallrefupdates ignorecase symlinks "
             "precomposeunicode autocrlf eol safecrlf abbrev quotepath compression longpaths "
             "protecthfs protectntfs trustctime checkstat sharedrepository commentchar"},
    {"user", "name email useconfigonly"},
    {"author", "name email"},
    {"committer", "name email"},
    {"init", "defaultbranch"},
    {"extensions", "objectformat refstorage worktreeconfig compatobjectformat"},
    {"remote.", "url fetch push pushurl tagopt prune mirror"},
    {"branch.", "remote merge rebase description pushremote"},
    {"submodule.", "url active branch"},
    {"submodule", "active recurse"},
    {"push", "default autosetupremote followtags"},
    {"pull", "rebase ff"},
    {"fetch", "prune"},
    {"merge", "ff conflictstyle"},
    {"rebase", "autostash autosquash"},
    {"status", "short branch showuntrackedfiles"},
    {"color", "ui"},
    {"gc", "auto autodetach"},
    {"advice", "detachedhead"},
    {"index", "version"},
    {"feature", "manyfiles"},
};

static bool is_plain_key(struct ch_sv section, struct ch_sv key) {
    for (size_t i = 0; i < CH_LEN(plain); i++) {
        struct ch_sv rest = ch_sv_str(plain[i].keys);
        if (!ch_sv_eq_nocase(section, ch_sv_str(plain[i].section)))
            continue;
        while (rest.n)
            if (ch_sv_eq_nocase(ch_sv_split(&rest, ' '), key))
                return true;
    }
    return false;
}

/* "[core]" or "[remote \"x\"]": the section, with a dot if it has a name; p NULL: neither. */
static struct ch_sv read_section(struct ch_sv line, char out[32]) {
    if (line.n < 2)
        return ch_sv(NULL, 0);
    struct ch_sv inner = ch_sv(line.p + 1, line.n - 2);
    struct ch_sv word = ch_sv_split(&inner, ' ');
    bool named = inner.p != NULL;

    inner = ch_sv_trim(inner);
    if (word.n > 30 || line.p[line.n - 1] != ']')
        return ch_sv(NULL, 0);
    for (size_t i = 0; i < word.n; i++) /* "[core]\tfsmonitor=x]" is no name */
        if (!isalnum((unsigned char)word.p[i]) && word.p[i] != '-')
            return ch_sv(NULL, 0);
    if (named && (inner.n < 2 || inner.p[0] != '"' || inner.p[inner.n - 1] != '"' ||
                  memchr(inner.p + 1, '"', inner.n - 2) || memchr(inner.p, '\\', inner.n) ||
                  memchr(inner.p, ']', inner.n)))
        return ch_sv(NULL, 0);
    int n = snprintf(out, 32, "%.*s%s", CH_SV_FMT(word), named ? "." : "");
    return ch_sv(out, (size_t)n);
}

/* A value that is a word of text; a transport helper ("ext::sh -c ...") or an option is not. */
static bool is_plain_value(struct ch_sv value) {
    value = ch_sv_trim(value);
    return !(value.n && (value.p[0] == '-' || value.p[value.n - 1] == '\\')) &&
           !(value.n && memchr(value.p, '"', value.n)) && !ch_sv_contains_nocase(value, "::");
}

bool ch_git_config_is_plain(struct ch_sv text, struct ch_buf *why) {
    char buffer[32];
    struct ch_sv section = ch_sv(NULL, 0);

    ch_buf_add_str(why, "unusual text");
    if (text.n > FILE_MAX_BYTES || (text.n && memchr(text.p, '\0', text.n)))
        return false;
    while (text.n) {
        struct ch_sv value = ch_sv_trim(ch_sv_split(&text, '\n'));
        if (!value.n || value.p[0] == '#' || value.p[0] == ';')
            continue;
        if (value.p[0] == '[') {
            section = read_section(value, buffer);
            if (!section.p)
                return false;
            continue;
        }
        struct ch_sv key = ch_sv_trim(ch_sv_split(&value, '='));
        if (section.p && is_plain_key(section, key) && is_plain_value(value))
            continue;
        ch_buf_clear(why);
        ch_buf_addf(why, "%.*s%s%.*s", CH_SV_FMT(section),
                    section.n && section.p[section.n - 1] == '.' ? "" : ".",
                    (int)CH_MIN(key.n, (size_t)60), key.p);
        return false;
    }
    ch_buf_clear(why);
    return true;
}

/* --- setting aside --------------------------------------------------------------------- */

struct holder {
    struct ch_arena *arena;
    struct ch_held_list *out;
    const struct ch_repositories *before, *now;
    const struct timespec *since; /* files unchanged since this time are not set aside; NULL: all
                                   * are checked */
};

static bool is_new(const struct holder *h, int dir, const char *name) {
    struct stat st;

    return !h->since || (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                         is_at_or_after(&st.st_ctim, h->since));
}

/* A number that changes when the file changes; for a directory also when an entry below it
 * changes, as far as the budget allows. */
static uint64_t identity(int dir, const char *name, unsigned *budget) {
    struct stat st = {0};
    uint64_t id;

    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW);
    id = (uint64_t)st.st_ino * 0x9e3779b97f4a7c15u ^
         ((uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec);
    int fd = S_ISDIR(st.st_mode)
                 ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                 : -1;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *e; d && *budget && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            --*budget;
            id += identity(fd, e->d_name, budget) * 31; /* the order of entries does not count */
        }
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    return id;
}

static int rename_new(int dir, const char *name, const char *to) {
    int rc = renameat2(dir, name, dir, to, RENAME_NOREPLACE) < 0 ? -errno : 0;

    if (rc == -EINVAL) /* this file system does not support the flag */
        rc = faccessat(dir, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? -EEXIST
             : renameat(dir, name, dir, to) < 0                 ? -errno
                                                                : 0;
    return rc;
}

/* The new name of a file that was set aside; NULL: it could not be renamed. A command may have
 * taken the usual names, made the name too long for more, or the directory read-only. */
static const char *move_aside(struct holder *h, int dir, const char *name) {
    const char *to = NULL;
    int rc = -EEXIST;

    for (unsigned i = 0; i < 10 && rc < 0; i++) {
        uint64_t random = 0;
        if (rc == -EACCES && (i > 3 || !permit(dir, S_IRWXU)))
            return NULL;
        if (i < 2 && rc != -ENAMETOOLONG)
            to = ch_arena_printf(h->arena, i ? "%s.held%u" : "%s.held", name, i);
        else if (getrandom(&random, sizeof(random), 0) == (ssize_t)sizeof(random))
            to = ch_arena_printf(h->arena, "%.*s-%016llx.held", (int)CH_MIN(strlen(name), 64u),
                                 name, (unsigned long long)random);
        rc = rename_new(dir, name, to);
    }
    return rc < 0 ? NULL : to;
}

static void hold(struct holder *h, int dir, const char *path, const char *name, const char *why) {
    struct ch_held_list *l = h->out;

    if (faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (l->n == l->cap) {
        struct ch_held *more = ch_arena_alloc(h->arena, 2 * (l->cap + 4) * sizeof(*more));
        if (l->n)
            memcpy(more, l->v, l->n * sizeof(*more));
        l->cap = 2 * (l->cap + 4);
        l->v = more;
    }
    const char *now = move_aside(h, dir, name);
    unsigned budget = HELD_ENTRIES;
    l->v[l->n++] = (struct ch_held){.dir = path,
                                    .name = ch_arena_str(h->arena, ch_sv_str(name)),
                                    .now = now,
                                    .why = why,
                                    .id = now ? identity(dir, now, &budget) : 0};
}

static bool repositories_there(int dir, const char *name) {
    return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void hold_of_git(struct holder *h, int dir, const char *path, const char *name,
                        const char *why) {
    hold(h, dir, path, name, ch_arena_printf(h->arena, "Git runs commands from it (%s)", why));
}

static void judge_config(struct holder *h, int dir, const char *path, const char *name) {
    CH_BUF_AUTO text = {0}, why = {0};

    if (!repositories_there(dir, name) || !is_new(h, dir, name))
        return;
    if (!read_small(dir, name, &text))
        hold_of_git(h, dir, path, name, "no regular file");
    else if (!ch_git_config_is_plain(ch_buf_sv(&text), &why))
        hold_of_git(h, dir, path, name, ch_buf_str(&why));
}

static bool is_sample(const char *name) {
    size_t n = strlen(name);

    return n > 7 && strcmp(name + n - 7, ".sample") == 0;
}

static void judge_hooks(struct holder *h, int dir, const char *path) {
    int fd = openat(dir, "hooks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    CH_BUF_AUTO why = {0};

    if (!d && fd >= 0)
        close(fd);
    if (!d && repositories_there(dir, "hooks") && is_new(h, dir, "hooks"))
        ch_buf_add_str(&why, "hooks that cannot be read");
    for (struct dirent *e; d && !why.n && (e = readdir(d));)
        if (e->d_name[0] != '.' && !is_sample(e->d_name) &&
            (is_new(h, dir, "hooks") || is_new(h, fd, e->d_name)))
            ch_buf_addf(&why, "hooks/%s", e->d_name);
    if (d)
        closedir(d);
    if (why.n)
        hold_of_git(h, dir, path, "hooks", ch_buf_str(&why));
}

/* A file that names another directory is harmless if that directory is a known repository,
 * which is judged separately. */
static void judge_reference(struct holder *h, int dir, const char *path, const char *name) {
    CH_BUF_AUTO text = {0}, target = {0};
    char real[PATH_MAX];

    if (!repositories_there(dir, name) || !is_new(h, dir, name))
        return;
    if (read_small(dir, name, &text)) {
        struct ch_sv to = ch_buf_sv(&text);
        if (ch_sv_starts(to, "gitdir:"))
            to = ch_sv(to.p + 7, to.n - 7);
        to = ch_sv_trim(to);
        if (to.n && to.p[0] != '/')
            ch_buf_addf(&target, "%s/", path);
        ch_buf_add_sv(&target, to);
        if (to.n && !memchr(to.p, '\0', to.n) && realpath(ch_buf_str(&target), real) &&
            (repositories_has(h->before, real) || repositories_has(h->now, real)))
            return;
    }
    hold_of_git(h, dir, path, name, "it names a directory that is not a repository here");
}

static void judge_directory(struct holder *h, const char *path) {
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (dir < 0)
        return;
    judge_config(h, dir, path, "config");
    judge_config(h, dir, path, "config.worktree");
    judge_reference(h, dir, path, "commondir");
    judge_hooks(h, dir, path);
    close(dir);
}

static void judge_file(struct holder *h, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *dir = ch_arena_str(h->arena, ch_sv(path, (size_t)(slash - path)));
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return;
    judge_reference(h, fd, dir, slash + 1);
    close(fd);
}

/* True if a file of the repository changed at or after this time. The kernel sets the time
 * of a change, and a program cannot set it back. */
static bool changed_since(const char *path, const struct timespec *since) {
    struct stat st;
    bool changed = lstat(path, &st) == 0 && is_at_or_after(&st.st_ctim, since);

    for (size_t i = 0; !changed && i < CH_LEN(commanding); i++) {
        CH_BUF_AUTO file = {0};
        ch_buf_addf(&file, "%s/%s", path, commanding[i]);
        changed = lstat(ch_buf_str(&file), &st) == 0 && is_at_or_after(&st.st_ctim, since);
    }
    return changed;
}

/* True if a special file is unchanged since before the command. */
static bool is_untouched(const struct ch_special *now, const struct ch_repositories *before,
                         const struct timespec *since) {
    const struct ch_special *old =
        before->nspecial ? bsearch(now, before->special, before->nspecial, sizeof(*now),
                                   by_special_path)
                         : NULL;
    struct stat st;

    if (old)
        return (old->at_top && !old->linked && !before->loose) ||
               memcmp(old->id, now->id, sizeof(now->id)) == 0;
    return before->cut && lstat(now->path, &st) == 0 && !is_at_or_after(&st.st_ctim, since);
}

static bool is_above_any(struct ch_sv path, const char *const *list) {
    for (; list && *list; list++)
        if (strncmp(*list, path.p, path.n) == 0 && (*list)[path.n] == '/')
            return true;
    return false;
}

/* True if the command could not write the file. A directory above such a file is not set aside
 * as a whole, but its other entries are judged. */
static bool is_kept(const struct ch_special *one, const struct ch_repositories *before) {
    if (before->hidden && is_below_any(one->path, before->hidden))
        return true;
    if (before->kept && !before->loose && !one->linked && is_below_any(one->path, before->kept))
        return true;
    return is_above_any(ch_sv_str(one->path), before->hidden);
}

/* A new directory is set aside as a whole. */
static void judge_specials(struct holder *h, const struct timespec *since) {
    struct ch_sv aside = {0};

    for (size_t i = 0; i < h->now->nspecial; i++) {
        const struct ch_special *one = &h->now->special[i];
        struct ch_sv path = ch_sv_str(one->path);
        if (aside.n && path.n > aside.n && path.p[aside.n] == '/' &&
            memcmp(path.p, aside.p, aside.n) == 0)
            continue;
        if (is_kept(one, h->before) || is_untouched(one, h->before, since))
            continue;
        const char *slash = strrchr(one->path, '/');
        const char *dir = ch_arena_str(h->arena, ch_sv(one->path, (size_t)(slash - one->path)));
        int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            continue;
        hold(h, fd, dir, slash + 1, one->why);
        close(fd);
        aside = path;
    }
}

/* An existing repository is judged by its changed files. Its files are read-only in the
 * sandbox, but may have other names. */
static void judge_repository(struct holder *h, const char *path, const struct timespec *since) {
    const struct ch_repositories *before = h->before;
    bool known = repositories_has(before, path);
    struct stat st;

    if ((known && !before->linked && !before->loose) ||
        ((known || before->cut) && !changed_since(path, since)))
        return;
    h->since = known || before->unknown ? since : NULL;
    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
        judge_directory(h, path);
    else
        judge_file(h, path);
}

void ch_repositories_hold(struct ch_arena *arena, const char *const *tops,
                          enum ch_file_kind least, const struct ch_repositories *before,
                          const struct timespec *since, struct ch_held_list *out) {
    struct ch_repositories now;
    struct holder h = {.arena = arena, .out = out, .before = before, .now = &now};

    *out = (struct ch_held_list){0};
    search(arena, tops, least, since, &now);
    out->cut = now.cut;
    judge_specials(&h, since);
    for (size_t i = 0; i < now.n; i++)
        judge_repository(&h, now.paths[i], since);
}

const char *const *ch_repositories_kept(struct ch_arena *arena, const char *top,
                                        const char *const *paths) {
    size_t n = 0;
    while (paths && paths[n])
        n++;
    const char **kept = ch_arena_zalloc(arena, (n + 1) * sizeof(*kept));
    char real[PATH_MAX];

    for (n = 0; paths && *paths; paths++) {
        const char *path = **paths == '/' ? *paths
                                          : ch_arena_printf(arena, "%s/%s", top ? top : "", *paths);
        size_t length = strlen(path);
        path = ch_arena_str(arena, ch_sv(path, length - (path[length - 1] == '?')));
        if (realpath(path, real) && strcmp(path, real) == 0)
            kept[n++] = path;
    }
    return kept;
}

int ch_held_restore(const struct ch_held *h) {
    int dir = open(h->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int rc = dir < 0 ? -errno : 0;
    unsigned budget = HELD_ENTRIES;

    if (rc == 0 && h->now && identity(dir, h->now, &budget) != h->id)
        rc = -ESTALE;
    if (rc == 0 && h->now)
        rc = rename_new(dir, h->now, h->name);
    if (dir >= 0)
        close(dir);
    return rc;
}
