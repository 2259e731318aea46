/* hold.c -- sets files aside after a command, see repositories.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "guard/file_in_use.h"
#include "guard/repositories.h"
#include "guard/repositories_private.h"

#define HELD_ENTRIES 200 /* entries of a directory that was set aside, compared before it is put
                          * back */

/* --- files set aside while commands run -------------------------------------------------- */

/* Process-wide, because commands of several runtimes may run in one directory. */
static struct {
    pthread_mutex_t lock;
    unsigned commands; /* that run */
    struct aside {
        char *path;
        struct timespec at;
    } *v;
    size_t n, cap;
} asides = {.lock = PTHREAD_MUTEX_INITIALIZER};

void ch_holds_begin(void) {
    pthread_mutex_lock(&asides.lock);
    asides.commands++;
    pthread_mutex_unlock(&asides.lock);
}

void ch_holds_end(void) {
    pthread_mutex_lock(&asides.lock);
    if (--asides.commands == 0) {
        for (size_t i = 0; i < asides.n; i++)
            ch_free(asides.v[i].path);
        ch_free(asides.v);
        asides.v = NULL;
        asides.n = asides.cap = 0;
    }
    pthread_mutex_unlock(&asides.lock);
}

static void remember_aside(const char *dir, const char *name) {
    CH_BUF_AUTO path = {0};

    pthread_mutex_lock(&asides.lock);
    if (asides.commands > 1) {
        CH_GROW(asides.v, asides.n, asides.cap, 16);
        struct aside *one = &asides.v[asides.n++];
        ch_buf_addf(&path, "%s/%s", dir, name);
        one->path = ch_buf_take(&path);
        clock_gettime(CLOCK_REALTIME_COARSE, &one->at);
    }
    pthread_mutex_unlock(&asides.lock);
}

static void forget_aside(const char *dir, const char *name) {
    CH_BUF_AUTO path = {0};

    ch_buf_addf(&path, "%s/%s", dir, name);
    pthread_mutex_lock(&asides.lock);
    for (size_t i = 0; i < asides.n; i++)
        if (strcmp(asides.v[i].path, ch_buf_str(&path)) == 0) {
            ch_free(asides.v[i].path);
            asides.v[i--] = asides.v[--asides.n];
        }
    pthread_mutex_unlock(&asides.lock);
}

/* The paths of files that were set aside at or after this time. */
static const char *const *asides_since(struct ch_arena *arena, const struct timespec *since) {
    size_t n = 0;

    pthread_mutex_lock(&asides.lock);
    const char **list = ch_arena_zalloc(arena, (asides.n + 1) * sizeof(*list));
    for (size_t i = 0; i < asides.n; i++)
        if (ch_guard_is_at_or_after(&asides.v[i].at, since))
            list[n++] = ch_arena_str(arena, ch_sv_str(asides.v[i].path));
    pthread_mutex_unlock(&asides.lock);
    return list;
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
                         ch_guard_is_at_or_after(&st.st_ctim, h->since));
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
        if (rc == -EACCES && (i > 3 || !ch_guard_permit(dir, S_IRWXU)))
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
    remember_aside(path, name);
    if (l->n == CH_LIMIT_HELD) {
        l->more++;
        move_aside(h, dir, name);
        return;
    }
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
    if (!ch_guard_read_small(dir, name, &text))
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
    if (ch_guard_read_small(dir, name, &text)) {
        struct ch_sv to = ch_buf_sv(&text);
        if (ch_sv_starts(to, "gitdir:"))
            to = ch_sv(to.p + 7, to.n - 7);
        to = ch_sv_trim(to);
        if (to.n && to.p[0] != '/')
            ch_buf_addf(&target, "%s/", path);
        ch_buf_add_sv(&target, to);
        if (to.n && !memchr(to.p, '\0', to.n) && realpath(ch_buf_str(&target), real) &&
            (ch_repositories_has(h->before, real) || ch_repositories_has(h->now, real)))
            return;
    }
    hold_of_git(h, dir, path, name, "it names a directory that is not a repository here");
}

/* In a repository that was there, no program of Git makes this file: it puts another repository in
 * place of this one. */
static void judge_new_reference(struct holder *h, int dir, const char *path, const char *name) {
    if (repositories_there(dir, name))
        hold_of_git(h, dir, path, name, "it names another repository");
}

/* parts: a bit for each of ch_repository_parts; fixed: these are new in a known repository */
static void judge_directory(struct holder *h, const char *path, unsigned parts, bool fixed) {
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (dir < 0)
        return;
    for (size_t i = 0; i < CH_REPOSITORY_PARTS; i++)
        if (!(parts >> i & 1))
            continue;
        else if (strcmp(ch_repository_parts[i], "commondir") == 0)
            (fixed ? judge_new_reference : judge_reference)(h, dir, path, ch_repository_parts[i]);
        else if (strcmp(ch_repository_parts[i], "hooks") == 0)
            judge_hooks(h, dir, path);
        else
            judge_config(h, dir, path, ch_repository_parts[i]);
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
    bool changed = lstat(path, &st) == 0 && ch_guard_is_at_or_after(&st.st_ctim, since);

    for (size_t i = 0; !changed && i < CH_REPOSITORY_PARTS; i++) {
        CH_BUF_AUTO file = {0};
        ch_buf_addf(&file, "%s/%s", path, ch_repository_parts[i]);
        changed = lstat(ch_buf_str(&file), &st) == 0 && ch_guard_is_at_or_after(&st.st_ctim, since);
    }
    return changed;
}

/* True if a special file is unchanged since before the command. */
static bool is_untouched(const struct ch_special *now, const struct ch_repositories *before,
                         const struct timespec *since) {
    const struct ch_special *old =
        before->nspecial ? bsearch(now, before->special, before->nspecial, sizeof(*now),
                                   ch_special_by_path)
                         : NULL;
    struct stat st;

    if (old)
        return (old->at_top && !old->linked && !before->loose) ||
               memcmp(old->id, now->id, sizeof(now->id)) == 0;
    return before->cut && lstat(now->path, &st) == 0 &&
           !ch_guard_is_at_or_after(&st.st_ctim, since);
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
    if (before->hidden && ch_guard_is_below_any(one->path, before->hidden))
        return true;
    if (before->kept && !before->loose && !one->linked &&
        ch_guard_is_below_any(one->path, before->kept))
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

/* An existing repository is judged by its new and changed files. Existing files are read-only in
 * the sandbox, but may have other names. */
static void judge_repository(struct holder *h, const char *path, const struct timespec *since) {
    const struct ch_repositories *before = h->before;
    const char **known = ch_repositories_has(before, path);
    unsigned lacked = known ? before->lacks[known - before->paths] : 0;
    bool fixed = known && !before->linked && !before->loose;
    struct stat st;

    if (fixed ? !lacked : (known || before->cut) && !changed_since(path, since))
        return;
    h->since = (known && !fixed) || before->unknown ? since : NULL;
    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
        judge_directory(h, path, fixed ? lacked : ~0u, fixed);
    else
        judge_file(h, path);
}

/* --- paths that did not exist ---------------------------------------------------------- */

/* Judge a path below an open directory. A link on the way was made by the command, too. */
static void judge_below(struct holder *h, int top, struct ch_sv dir, struct ch_sv rest,
                        bool hidden) {
    int at = fcntl(top, F_DUPFD_CLOEXEC, 0);

    while (at >= 0 && rest.n) {
        struct stat st;
        const char *path = ch_arena_str(h->arena, dir);
        const char *name = ch_arena_str(h->arena, ch_sv_split(&rest, '/'));
        if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            break;
        if (!rest.n || S_ISLNK(st.st_mode)) {
            if (!hidden || !ch_file_in_use(at, name))
                hold(h, at, path, name, hidden ? "chela keeps data of its own there"
                                               : "other programs trust the file");
            break;
        }
        int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(at);
        at = next;
        dir = ch_sv(dir.p, (size_t)(rest.p - dir.p) - 1);
    }
    if (at >= 0)
        close(at);
}

static void judge_absent(struct holder *h, const char *const *tops, const char *const *paths,
                         bool hidden) {
    for (; paths && *paths; paths++)
        for (const char *const *top = tops; *top; top++) {
            size_t n = strlen(*top);
            if (strncmp(*paths, *top, n) != 0 || (*paths)[n] != '/')
                continue;
            int fd = open(*top, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (fd >= 0)
                judge_below(h, fd, ch_sv(*paths, n), ch_sv_str(*paths + n + 1), hidden);
            if (fd >= 0)
                close(fd);
        }
}

void ch_repositories_hold(struct ch_arena *arena, const char *const *tops,
                          enum ch_file_kind least, const struct ch_repositories *before,
                          const struct timespec *since, struct ch_held_list *out) {
    struct ch_repositories now;
    struct holder h = {.arena = arena, .out = out, .before = before, .now = &now};

    *out = (struct ch_held_list){0};
    ch_repositories_search(arena, tops, least, since, &now);
    out->unsearched = now.unsearched;
    out->unsearched_error = now.unsearched_error;
    judge_specials(&h, since);
    for (size_t i = 0; i < now.n; i++)
        judge_repository(&h, now.paths[i], since);
    judge_absent(&h, tops, before->absent, false);
    judge_absent(&h, tops, before->absent_hidden, true);
    judge_absent(&h, tops, asides_since(arena, since), false);
}

int ch_held_restore(const struct ch_held *h) {
    int dir = open(h->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int rc = dir < 0 ? -errno : 0;
    unsigned budget = HELD_ENTRIES;

    if (rc == 0 && h->now && identity(dir, h->now, &budget) != h->id)
        rc = -ESTALE;
    if (rc == 0 && h->now)
        rc = rename_new(dir, h->now, h->name);
    if (rc == 0)
        forget_aside(h->dir, h->name);
    if (dir >= 0)
        close(dir);
    return rc;
}
