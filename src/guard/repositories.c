/* repositories.c -- see repositories.h.
 *
 * Before a command, directories are visited breadth first, so that a limit cuts off the deepest.
 * Directories that hold thousands of packages come last. After a command, all directories are
 * visited, depth first, so that few wait. */
#include "guard/repositories.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/entry_type.h"
#include "base/limits.h"
#include "base/mem.h"
#include "guard/file_kind.h"
#include "guard/repositories_private.h"


/* --- the search ------------------------------------------------------------------ */

struct place {
    struct place *next;
    size_t size;        /* of this object */
    size_t top;         /* length of the path of the directory where the search began */
    bool in_git; /* in a directory .git */
    bool has_data; /* a repository in a directory .git: objects and the like are skipped */
    bool in_packages;   /* in packages or a special directory at the top: no special files below */
    const char *why;    /* in a special directory: of that directory; NULL elsewhere */
    char path[];
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
    size_t waiting; /* bytes of both queues */
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

static struct place *search_next(struct search *s) {
    struct place *p = queue_take(&s->soon);

    p = p ? p : queue_take(&s->late);
    s->waiting -= p ? p->size : 0;
    return p;
}

static struct place *queue_add(struct search *s, struct queue *q, const char *path,
                               const struct place *above) {
    size_t n = strlen(path) + 1;
    struct place *p = ch_alloc(sizeof(*p) + n);

    if (above)
        *p = *above;
    memcpy(p->path, path, n);
    p->size = sizeof(*p) + n;
    s->waiting += p->size;
    p->next = NULL;
    if (s->since && q->first) {
        p->next = q->first;
        q->first = p;
    } else {
        *q->last = p;
        q->last = &p->next;
    }
    return p;
}

/* One directory is enough: it is named, and no further command runs. */
static void set_unsearched(struct search *s, const char *path, int error) {
    if (s->out->unsearched)
        return;
    s->out->unsearched = ch_arena_str(s->arena, ch_sv_str(path));
    s->out->unsearched_error = error;
}

static int by_path(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The list must be complete, and therefore sorted. */
const char **ch_repositories_has(const struct ch_repositories *r, const char *path) {
    return r->n ? bsearch(&path, r->paths, r->n, sizeof(*r->paths), by_path) : NULL;
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
bool ch_guard_read_small(int dir, const char *name, struct ch_buf *out) {
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    ssize_t n = -1;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        char *at = ch_buf_reserve(out, CH_GUARD_FILE_MAX + 1);
        n = at ? read(fd, at, CH_GUARD_FILE_MAX + 1) : -1;
        ch_buf_commit(out, n > 0 ? (size_t)n : 0);
    }
    close(fd);
    return n >= 0;
}

bool ch_guard_is_below_any(const char *path, const char *const *tops) {
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

    if (!ch_guard_read_small(fd, name, &text))
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
    if (realpath(ch_buf_str(&path), real) && ch_guard_is_below_any(real, s->tops))
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
    CH_BUF_AUTO text = {0};
    ch_buf_addf(&text, "%s/%s", p->path, name);
    const char *path = ch_buf_str(&text);

    if (ch_file_is_dot_git(name)) {
        record(s, ch_arena_str(s->arena, ch_buf_sv(&text)));
        queue_add(s, &s->soon, path, p)->in_git |= strcmp(name, ".git") == 0;
    } else if (!p->has_data || !is_one_of(name, data)) {
        bool large = is_one_of(name, packages), at_top = p->path[p->top] == '\0';
        struct place *below = queue_add(s, large ? &s->late : &s->soon, path, p);
        below->in_packages = p->in_packages || large || (why && at_top);
        below->why = why;
    }
}

bool ch_guard_is_at_or_after(const struct timespec *time, const struct timespec *since) {
    return time->tv_sec > since->tv_sec ||
           (time->tv_sec == since->tv_sec && time->tv_nsec >= since->tv_nsec);
}

/* Add permissions for the user to an open directory. */
bool ch_guard_permit(int fd, mode_t more) {
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
    if (closed >= 0 && fstat(closed, &st) == 0 && ch_guard_is_at_or_after(&st.st_ctim, s->since) &&
        ch_guard_permit(closed, S_IRWXU))
        fd = open(path, O_RDONLY | flags);
    if (closed >= 0)
        close(closed);
    return fd;
}

/* True if the command could write neither to the directory nor below it: the directory belongs to
 * another user, and is closed to this one. */
static bool is_out_of_reach(const char *path) {
    struct stat st;

    return lstat(path, &st) == 0 && st.st_uid != geteuid() &&
           faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0 &&
           faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0;
}

/* A directory that has gone, or that was no directory, is no failure. */
static void visit_failed(struct search *s, const char *path, int error) {
    if (!s->since || error == ENOENT || error == ENOTDIR || error == ELOOP ||
        (error == EACCES && is_out_of_reach(path)))
        return;
    set_unsearched(s, path, error);
}

static void visit(struct search *s, struct place *p) {
    int fd = search_open(s, p->path);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);

    if (!d) {
        visit_failed(s, p->path, errno);
        if (fd >= 0)
            close(fd);
        return;
    }
    bool is_repository = ch_file_is_repository(fd, NULL);
    p->has_data = p->in_git && is_repository;
    if (is_repository) {
        record(s, ch_arena_str(s->arena, ch_sv_str(p->path)));
        follow(s, p->path, fd, "commondir");
    }
    for (struct dirent *e; errno = 0, (e = readdir(d));) {
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
    if (errno)
        visit_failed(s, p->path, errno);
    closedir(d);
}

/* Files of a repository from which Git takes commands. */
const char *const ch_repository_parts[CH_REPOSITORY_PARTS] = {"config", "config.worktree",
                                                              "commondir", "hooks"};

/* Sets r->linked and r->lacks for one repository. */
static void look_at_parts(struct ch_repositories *r, size_t at) {
    int dir = open(r->paths[at], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    for (size_t i = 0; dir >= 0 && i < CH_REPOSITORY_PARTS; i++) {
        r->linked |= has_names(dir, ch_repository_parts[i]);
        if (faccessat(dir, ch_repository_parts[i], F_OK, AT_SYMLINK_NOFOLLOW) < 0)
            r->lacks[at] |= (unsigned char)(1u << i);
    }
    if (dir >= 0)
        close(dir);
    r->linked |= has_names(AT_FDCWD, r->paths[at]);
}

int ch_special_by_path(const void *a, const void *b) {
    return strcmp(((const struct ch_special *)a)->path, ((const struct ch_special *)b)->path);
}

static void search_sort(struct search *s) {
    struct ch_repositories *r = s->out;
    size_t n = 0;

    if (r->n)
        qsort(r->paths, r->n, sizeof(*r->paths), by_path);
    r->lacks = ch_arena_zalloc(s->arena, r->n + 1);
    for (size_t i = 0; i < r->n && !s->since; i++)
        look_at_parts(r, i);
    if (r->nspecial)
        qsort(r->special, r->nspecial, sizeof(*r->special), ch_special_by_path);
    r->fixed = ch_arena_zalloc(s->arena, (r->nspecial + 1) * sizeof(*r->fixed));
    for (size_t i = 0; i < r->nspecial; i++)
        if (r->special[i].at_top)
            r->fixed[n++] = r->special[i].path;
}

void ch_repositories_search(struct ch_arena *arena, const char *const *tops,
                            enum ch_file_kind least, const struct timespec *since,
                            struct ch_repositories *out) {
    static const char *none[] = {NULL};
    struct search s = {.arena = arena,
                       .out = out,
                       .directories = since ? SIZE_MAX : CH_LIMIT_SCAN_BEFORE,
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
    for (struct place *p; (p = search_next(&s)); ch_free(p)) {
        if (since && s.waiting > CH_LIMIT_SCAN_BYTES)
            set_unsearched(&s, p->path, E2BIG);
        else if (s.directories == 0)
            out->cut = true;
        else
            visit(&s, p);
        s.directories -= s.directories > 0;
    }
    search_sort(&s);
}

void ch_repositories_find(struct ch_arena *arena, const char *const *tops,
                          enum ch_file_kind least, struct ch_repositories *out) {
    ch_repositories_search(arena, tops, least, NULL, out);
}

static const char **copy_paths(struct ch_arena *arena, const char *const *paths) {
    size_t n = 0;

    while (paths && paths[n])
        n++;
    const char **copy = ch_arena_zalloc(arena, (n + 1) * sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        copy[i] = ch_arena_str(arena, ch_sv_str(paths[i]));
    return copy;
}

struct ch_repositories *ch_repositories_copy(struct ch_arena *arena,
                                             const struct ch_repositories *before) {
    struct ch_repositories *copy = CH_ARENA_NEW(arena, struct ch_repositories);

    *copy = *before;
    copy->paths = copy_paths(arena, before->paths);
    copy->sockets = copy->fixed = NULL;
    copy->kept = copy_paths(arena, before->kept);
    copy->hidden = copy_paths(arena, before->hidden);
    copy->absent = copy_paths(arena, before->absent);
    copy->absent_hidden = copy_paths(arena, before->absent_hidden);
    copy->lacks = ch_arena_zalloc(arena, before->n + 1);
    if (before->lacks)
        memcpy(copy->lacks, before->lacks, before->n);
    copy->special = ch_arena_alloc(arena, (before->nspecial + 1) * sizeof(*copy->special));
    for (size_t i = 0; i < before->nspecial; i++) {
        copy->special[i] = before->special[i];
        copy->special[i].path = ch_arena_str(arena, ch_sv_str(before->special[i].path));
    }
    return copy;
}

/* --- paths that a command may not write ------------------------------------------------ */

static const char **new_list(struct ch_arena *arena, const char *const *like) {
    size_t n = 0;

    while (like && like[n])
        n++;
    return ch_arena_zalloc(arena, (n + 1) * sizeof(*like));
}

/* "name?" below top: its absolute path, without the mark. */
static const char *plain_path(struct ch_arena *arena, const char *top, const char *path) {
    size_t n = strlen(path);

    n -= n && path[n - 1] == '?';
    return *path == '/' ? ch_arena_str(arena, ch_sv(path, n))
                        : ch_arena_printf(arena, "%s/%.*s", top ? top : "", (int)n, path);
}

const char *const *ch_repositories_kept(struct ch_arena *arena, const char *top,
                                        const char *const *paths) {
    const char **kept = new_list(arena, paths);
    char real[PATH_MAX];

    for (size_t n = 0; paths && *paths; paths++) {
        const char *path = plain_path(arena, top, *paths);
        if (realpath(path, real) && strcmp(path, real) == 0)
            kept[n++] = path;
    }
    return kept;
}

/* Links of the part that exists are resolved. */
static const char *absent_path(struct ch_arena *arena, const char *path) {
    char real[PATH_MAX], *there = ch_arena_str(arena, ch_sv_str(path));
    size_t n = strlen(there);

    while (n && !realpath(there, real)) {
        while (n && path[--n] != '/')
            ;
        there[n] = '\0';
    }
    return n ? ch_arena_printf(arena, "%s%s", real, path + n) : path;
}

const char *const *ch_repositories_absent(struct ch_arena *arena, const char *top,
                                          const char *const *paths) {
    const char **absent = new_list(arena, paths);
    struct stat st;

    for (size_t n = 0; paths && *paths; paths++) {
        const char *path = plain_path(arena, top, *paths);
        if (lstat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
            absent[n++] = absent_path(arena, path);
    }
    return absent;
}
